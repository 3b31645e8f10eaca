//! Declarators: the part of a declaration around a name, `*const p[4]`, `(&vals)[N]`, `f(int x)`.
//!
//! A declarator is read into a list of modifiers, innermost last, and then applied to the base type.

use super::attribute::Attributes;
use super::declaration_rules::{self, Word};
use super::qualified_name::Expected;
use super::scope::NameKind;
use super::specifier::is_type_keyword;
use super::{Parser, attribute, expr, function, init_list, qualified_name, specifier};
use crate::ast::{
    Expr, FunctionName, MethodQualifiers, Param, Path, Qualifiers, TemplateArg, Type, TypeKind,
};
use crate::token::{Kw, Name, Punct, TokenKind};
use anymetal_diagnostics::Span;

/// The largest number of nested pointers and arrays in one declarator.
const MAX_MODIFIERS: usize = 64;

enum Modifier {
    /// `...` in front of the name.
    Pack,
    /// With the place of `*`.
    Pointer(Qualifiers, Span),
    Reference {
        rvalue: bool,
        quals: Qualifiers,
        /// Of `&` or `&&`.
        at: Span,
    },
    /// With the place of `[`.
    Array(Option<Expr>, Span),
    Function {
        params: Vec<Param>,
        is_variadic: bool,
        method: MethodQualifiers,
        /// The type after `->`.
        trailing: Option<Type>,
    },
}

/// What a declarator says.
pub(super) struct ParsedDeclarator {
    pub(super) name: Option<DeclaratorName>,
    pub(super) ty: Type,
    /// For functions: the parameters, when the outermost part of the declarator is a function.
    pub(super) params: Option<(Vec<Param>, bool)>,
    pub(super) attributes: Attributes,
    pub(super) span: Span,
}

/// The name in a declarator.
pub(super) struct DeclaratorName {
    pub(super) name: FunctionName,
    pub(super) scope: Option<Path>,
    pub(super) args: Option<Vec<TemplateArg>>,
    /// Where `template` stands in it.
    pub(super) template_word: Option<Span>,
}

impl DeclaratorName {
    /// A name without a scope or arguments.
    pub(super) fn plain(name: FunctionName) -> Self {
        Self { name, scope: None, args: None, template_word: None }
    }

    /// The simple name, unless it is an operator.
    pub(super) fn simple(&self) -> Option<Name> {
        match self.name {
            FunctionName::Name(name) | FunctionName::Constructor(name) => Some(name),
            _ => None,
        }
    }
}

/// Where a declarator stands decides what a parenthesis after the name means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// At namespace or class scope: parameters.
    Namespace,
    /// In a function: an initialiser.
    Block,
    /// A parameter or type name.
    Param,
}

pub(super) fn parse_abstract(p: &mut Parser<'_>, base: Type) -> Option<Type> {
    let declarator = parse(p, base, Place::Param, false)?;
    attribute::ignore_layout(p, &declarator.attributes);
    Some(declarator.ty)
}

/// Parses a declarator over `base`. With `named` false, a name is not looked for.
pub(super) fn parse(p: &mut Parser<'_>, base: Type, place: Place, named: bool) -> Option<ParsedDeclarator> {
    let start = base.span;
    let mut attributes = Attributes::default();
    let mut mods = Vec::new();
    let mut params = None;
    let (name, span) = parts(p, place, named, &mut mods, &mut params, &mut attributes)?;
    let mut ty = base;
    for modifier in mods {
        // A pointer's type ends at its operator, at which what is wrong with it is reported.
        let span = match &modifier {
            Modifier::Pointer(_, at) | Modifier::Reference { at, .. } | Modifier::Array(_, at) => {
                start.to(*at)
            }
            Modifier::Pack | Modifier::Function { .. } => p.since(start),
        };
        ty = apply(ty, modifier, span);
    }
    attribute::attributes(p, &mut attributes);
    let ty = attribute::vector_of(&mut attributes, ty);
    Some(ParsedDeclarator { name, ty, params, attributes, span })
}

fn parts(
    p: &mut Parser<'_>,
    place: Place,
    named: bool,
    mods: &mut Vec<Modifier>,
    params: &mut Option<(Vec<Param>, bool)>,
    attributes: &mut Attributes,
) -> Option<(Option<DeclaratorName>, Span)> {
    pointer_operators(p, mods)?;
    attribute::attributes(p, attributes);
    let is_pack = p.eat(Punct::Ellipsis);
    if is_pack {
        mods.push(Modifier::Pack);
    }
    let nested =
        p.is(Punct::LParen) && (at_nested_declarator(p) || (named && at_parenthesised_name(p, place)));
    let mut inner = Vec::new();
    let mut name = None;
    let mut span = p.span();
    let mut inner_params = None;
    if nested {
        p.advance();
        let found =
            p.nested(|p| parts(p, place, named, &mut inner, &mut inner_params, attributes), |_| None)?;
        (name, span) = found;
        p.expect(Punct::RParen, "to end the declarator");
    } else if named {
        (name, span) = name_of(p)?;
        attribute::attributes(p, attributes);
    }
    let before = mods.len();
    // Parentheses around a mere name mean nothing: `S (f)(int)` declares a function.
    let is_inner = !inner.is_empty() || inner_params.is_some();
    let may_be_function = name.is_some() || nested || !named || place == Place::Param;
    suffixes(p, place, may_be_function, is_inner, mods, params)?;
    for modifier in &mut mods[before..] {
        let Modifier::Function { params, trailing, .. } = modifier else { continue };
        declaration_rules::check_type_parameters(p, params);
        if let Some(auto) = trailing.as_mut().filter(|ty| !named && matches!(ty.kind, TypeKind::Auto)) {
            p.rule_error("auto-not-allowed", auto.span, "`auto` not allowed in function return type");
            auto.kind = TypeKind::Error;
        }
    }
    // Of `int (*f(int))(float)`, a function whose result is a pointer.
    if inner_params.is_some() {
        *params = inner_params;
    }
    mods.extend(inner);
    Some((name, span))
}

fn pointer_operators(p: &mut Parser<'_>, mods: &mut Vec<Modifier>) -> Option<()> {
    loop {
        let modifier = match p.peek() {
            TokenKind::Punct(Punct::Star) => Some(false),
            TokenKind::Punct(Punct::Amp | Punct::AndAnd) => Some(true),
            // `device float* thread& x`: a space between pointer operators belongs to the left one.
            _ => return Some(()),
        };
        let (rvalue, at) = (p.is(Punct::AndAnd), p.span());
        if let (Some(true), Some(Modifier::Reference { .. })) = (modifier, mods.last()) {
            p.rule_error("reference-to-reference", at, "there are no references to references");
        }
        p.advance();
        let mut quals = Qualifiers::default();
        while specifier::qualifier(p, &mut quals) {}
        if modifier == Some(true) && (quals.is_const || quals.is_volatile) {
            let word = if quals.is_const { "const" } else { "volatile" };
            let message = format!("`{word}` qualifier may not be applied to a reference");
            p.rule_error("qualified-reference", at, &message);
        }
        mods.push(match modifier {
            Some(true) => Modifier::Reference { rvalue, quals, at },
            _ => Modifier::Pointer(quals, at),
        });
        if mods.len() > MAX_MODIFIERS {
            p.error("too-deep", p.span(), "too many pointer operators");
            return None;
        }
    }
}

/// `(*p)`, `(&a)`, `(thread &a)`, `(&)` in an abstract one.
fn at_nested_declarator(p: &Parser<'_>) -> bool {
    let mut ahead = 1;
    while matches!(
        p.peek_at(ahead),
        TokenKind::Keyword(Kw::Device | Kw::Constant | Kw::Threadgroup | Kw::Thread | Kw::Const)
    ) {
        ahead += 1;
    }
    matches!(p.peek_at(ahead), TokenKind::Punct(Punct::Star | Punct::Amp | Punct::AndAnd))
}

/// `(name)`: needless parentheses, common in typedefs of function types. In those of a parameter, the name of
/// a type is that of a parameter's type.
fn at_parenthesised_name(p: &Parser<'_>, place: Place) -> bool {
    let open = (0..MAX_MODIFIERS).take_while(|&n| p.next_is(n, Punct::LParen)).count();
    let Some(end) = function::after_name(p, open) else { return false };
    let follows_list = p.next_is(end + open, Punct::LParen) || p.next_is(end + open, Punct::LBracket);
    let is_type = matches!(p.peek_at(open), TokenKind::Ident(name) if p.classify(name) == NameKind::Type);
    (0..open).all(|n| p.next_is(end + n, Punct::RParen))
        && (follows_list || place != Place::Param || !is_type)
}

fn name_of(p: &mut Parser<'_>) -> Option<(Option<DeclaratorName>, Span)> {
    let span = p.span();
    match p.peek() {
        TokenKind::Ident(_) | TokenKind::Punct(Punct::ColonColon) | TokenKind::Keyword(Kw::Operator) => {}
        TokenKind::Punct(Punct::Tilde) => {
            p.advance();
            let (name, at) = p.ident("the class's name")?;
            if p.scopes.class_name.is_some_and(|class| class != name) {
                let message = "expected the class name after `~` to name the enclosing class";
                p.rule_error("expected-name", at, message);
            }
            return Some((Some(DeclaratorName::plain(FunctionName::Destructor)), span));
        }
        _ => return Some((None, span)),
    }
    let mut path = qualified_name::path(p, Expected::Value)?.path;
    if p.is(Punct::ColonColon) && p.next_is(1, Punct::Tilde) {
        p.advance();
        p.advance();
        let (_, span) = p.ident("the class's name")?;
        let name = DeclaratorName { scope: Some(path), ..DeclaratorName::plain(FunctionName::Destructor) };
        return Some((Some(name), span));
    }
    let template_word = path.segments.iter().find(|segment| segment.has_template_word).map(|with| with.span);
    let last = path.segments.pop()?;
    let span = last.span;
    let scope = (!path.segments.is_empty()).then_some(path);
    let name = match last.operator {
        Some(operator) => FunctionName::Operator(operator),
        None => FunctionName::Name(last.name),
    };
    Some((Some(DeclaratorName { name, scope, args: last.args, template_word }), span))
}

fn suffixes(
    p: &mut Parser<'_>,
    place: Place,
    may_be_function: bool,
    is_inner: bool,
    mods: &mut Vec<Modifier>,
    params: &mut Option<(Vec<Param>, bool)>,
) -> Option<()> {
    let mut arrays = Vec::new();
    loop {
        if p.is(Punct::LBracket) && !p.next_is(1, Punct::LBracket) {
            let at = p.span();
            p.advance();
            let angle = std::mem::replace(&mut p.angle, false);
            let len = if p.is(Punct::RBracket) { None } else { Some(expr::conditional(p)) };
            p.angle = angle;
            p.expect(Punct::RBracket, "to end the array bound");
            arrays.push((len, at));
            if arrays.len() > MAX_MODIFIERS {
                p.error("too-deep", p.span(), "too many array dimensions");
                return None;
            }
        } else if p.is(Punct::LParen) && may_be_function && arrays.is_empty() {
            let has_parameters = match place {
                Place::Block if !is_inner => p.next_is(1, Punct::RParen) || at_typed_parameter(p),
                Place::Block | Place::Param => true,
                Place::Namespace => is_inner || at_parameters(p),
            };
            if !has_parameters {
                break;
            }
            let (list, variadic) = parameters(p)?;
            if is_inner || place == Place::Param {
                let method = function::type_qualifiers(p);
                let trailing = if p.eat(Punct::Arrow) { Some(specifier::type_id(p)?) } else { None };
                mods.push(Modifier::Function { params: list, is_variadic: variadic, method, trailing });
            } else {
                *params = Some((list, variadic));
            }
            break;
        } else {
            break;
        }
    }
    mods.extend(arrays.into_iter().rev().map(|(len, at)| Modifier::Array(len, at)));
    Some(())
}

/// In a block: does a parameter follow whose type begins with a keyword, as in `f(int y)`? All else is an
/// initialiser's argument.
fn at_typed_parameter(p: &Parser<'_>) -> bool {
    let is_type = |token| match token {
        TokenKind::Keyword(keyword) => is_type_keyword(keyword),
        TokenKind::Ident(name) => matches!(p.classify(name), NameKind::Type),
        TokenKind::Punct(punct) => matches!(punct, Punct::Star | Punct::Amp),
        _ => false,
    };
    if !matches!(p.peek_at(1), TokenKind::Keyword(_)) {
        return false;
    }
    let types = (1..MAX_MODIFIERS).take_while(|&n| is_type(p.peek_at(n))).count();
    let after = p.peek_at(1 + types);
    let ends = matches!(after, TokenKind::Ident(_) | TokenKind::Punct(Punct::Comma | Punct::RParen));
    types > 0 && ends
}

/// At namespace or class scope: do parameters follow, or an initialiser's arguments?
fn at_parameters(p: &mut Parser<'_>) -> bool {
    let may_construct = matches!(
        p.peek_at(2),
        TokenKind::Punct(Punct::LParen | Punct::LBrace | Punct::Less | Punct::ColonColon)
    );
    if may_construct && matches!(p.peek_at(1), TokenKind::Keyword(_) | TokenKind::Ident(_)) {
        // `T x(U(1))` and `T x(n::value)` begin like parameters.
        let start = p.checkpoint();
        // The names of the parameters are forgotten with the attempt: they may hide types that follow.
        let scopes = p.scopes.len();
        let outer = p.scopes.enter();
        let parameters = p.attempt(|p| parameters(p)).is_some();
        p.scopes.set_current(outer);
        p.scopes.truncate(scopes);
        p.rewind(start);
        return parameters;
    }
    match p.peek_at(1) {
        TokenKind::Punct(Punct::RParen | Punct::Ellipsis | Punct::LBracket) => true,
        TokenKind::Keyword(Kw::This | Kw::True | Kw::False | Kw::Nullptr | Kw::Sizeof) => false,
        TokenKind::Keyword(_) => true,
        TokenKind::Punct(Punct::ColonColon) => true,
        TokenKind::Ident(name) => !matches!(p.classify(name), NameKind::Value),
        _ => false,
    }
}

/// Parses `(…)` of a function; the flag says whether it ends in `...`.
pub(super) fn parameters(p: &mut Parser<'_>) -> Option<(Vec<Param>, bool)> {
    p.expect(Punct::LParen, "to begin the parameters");
    let angle = std::mem::replace(&mut p.angle, false);
    let mut params = Vec::new();
    let mut variadic = false;
    while !p.is(Punct::RParen) && !p.at_end() {
        if p.eat(Punct::Ellipsis) {
            variadic = true;
            break;
        }
        params.push(p.nested(parameter, |_| None)?);
        if !p.eat(Punct::Comma) {
            break;
        }
    }
    p.angle = angle;
    if !p.expect(Punct::RParen, "to end the parameters") {
        return None;
    }
    let only_void = params.len() == 1
        && !variadic
        && params[0].name.is_none()
        && matches!(params[0].ty.kind, TypeKind::Builtin(crate::ast::BuiltinType::Void));
    if only_void {
        params.clear();
    }
    let is_void = |param: &&Param| {
        param.name.is_none() && matches!(param.ty.kind, TypeKind::Builtin(crate::ast::BuiltinType::Void))
    };
    if let Some(void) = params.iter().find(is_void) {
        p.rule_error(
            "void-variable",
            void.ty.span,
            "`void` must be the first and only parameter if specified",
        );
    }
    Some((params, variadic))
}

/// Words of other declarations at the front of a parameter.
fn declaration_words(p: &mut Parser<'_>) -> Vec<Word> {
    let mut words = Vec::new();
    while let TokenKind::Keyword(
        word @ (Kw::Static
        | Kw::Extern
        | Kw::Inline
        | Kw::Constexpr
        | Kw::Explicit
        | Kw::Typedef
        | Kw::Friend
        | Kw::Mutable
        | Kw::Register),
    ) = p.peek()
    {
        words.push((word, p.span()));
        p.advance();
    }
    words
}

fn parameter(p: &mut Parser<'_>) -> Option<Param> {
    let start = p.span();
    let words = declaration_words(p);
    let specs = specifier::parse(p, false)?;
    declaration_rules::check_parameter(p, &words);
    let Some(base) = specs.ty else {
        let found = p.peek();
        p.error("expected-type", start, format!("expected a parameter's type, found {found}"));
        return None;
    };
    let declarator = parse(p, base, Place::Param, true)?;
    let mut attributes = specs.attributes.list;
    attributes.extend(declarator.attributes.list);
    let name = declarator.name.as_ref().and_then(DeclaratorName::simple);
    if declarator.name.is_some() && name.is_none() {
        p.rule_error("expected-name", declarator.span, "an operator cannot be the name of a parameter");
    }
    if let Some(name) = name {
        p.scopes.declare(name, NameKind::Value);
    }
    let default = if p.eat(Punct::Assign) {
        if matches!(declarator.ty.kind, TypeKind::Pack(_)) {
            p.rule_error(
                "default-argument",
                declarator.span,
                "parameter pack cannot have a default argument",
            );
        }
        Some(Box::new(if p.is(Punct::LBrace) { init_list::parse(p) } else { expr::assignment(p) }))
    } else {
        None
    };
    Some(Param { name, ty: declarator.ty, default, attributes, span: declarator.span })
}

fn apply(base: Type, modifier: Modifier, span: Span) -> Type {
    let (kind, quals) = match modifier {
        Modifier::Pointer(quals, _) => (TypeKind::Pointer(Box::new(base)), quals),
        Modifier::Reference { rvalue, quals, .. } => {
            (TypeKind::Reference { referent: Box::new(base), rvalue }, quals)
        }
        Modifier::Pack => (TypeKind::Pack(Box::new(base)), Qualifiers::default()),
        Modifier::Array(len, _) => {
            (TypeKind::Array(Box::new(base), len.map(Box::new)), Qualifiers::default())
        }
        Modifier::Function { params, is_variadic, method, trailing } => {
            let params = params.into_iter().map(|param| param.ty).collect();
            let ret = Box::new(trailing.unwrap_or(base));
            (TypeKind::Function { ret, params, is_variadic, method }, Qualifiers::default())
        }
    };
    Type { kind, quals, span }
}
