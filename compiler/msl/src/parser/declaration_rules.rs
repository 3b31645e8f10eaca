//! Which words may stand before which declaration (C++14 [dcl.stc], [dcl.fct.spec], [dcl.constexpr]).
//!
//! The parser takes the words in any order and number; what they exclude is reported here, once the
//! declaration is known.

use super::scope::NameKind;
use super::{Parser, operator_rules};
use crate::ast::{
    Attribute, BuiltinType, Function, FunctionBody, FunctionName, Item, ItemKind, OperatorName, Param, Path,
    Qualifiers, TemplateParam, TemplateParamKind, TemplateParams, Type, TypeKind,
};
use crate::sema::ast_names::{self, Visitor};
use crate::token::{Kw, Name, TokenKind};
use anymetal_diagnostics::Span;

/// A word such as `static`, and where it stands.
pub(super) type Word = (Kw, Span);

/// The declarations that the words differ for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Declared {
    Alias,
    Field,
    Variable,
    StaticMember,
    Function,
    Method,
    /// A constructor or conversion function in its class.
    Converting,
    Destructor,
    /// A class or an enumeration alone.
    Tag,
    /// A type that is not declared here.
    Type,
}

impl Declared {
    fn name(self) -> &'static str {
        match self {
            Self::Alias => "a type alias",
            Self::Field => "a data member",
            Self::Variable => "a variable",
            Self::StaticMember => "a static data member",
            Self::Function => "a function",
            Self::Method => "a member function",
            Self::Converting => "a constructor or conversion function",
            Self::Destructor => "a destructor",
            Self::Tag => "a class or an enumeration without declarators",
            Self::Type => "a type without declarators",
        }
    }

    /// Whether the word may stand before it.
    fn takes(self, word: Kw) -> bool {
        match word {
            Kw::Typedef => true,
            // Destructors may be `constexpr` from C++20 on.
            Kw::Constexpr => {
                !matches!(self, Self::Alias | Self::Field | Self::Tag | Self::Type | Self::Destructor)
            }
            Kw::Inline => !matches!(self, Self::Alias | Self::Field | Self::Tag),
            Kw::Explicit => self == Self::Converting,
            Kw::Mutable => self == Self::Field,
            Kw::Static => !matches!(self, Self::Tag | Self::Converting | Self::Destructor),
            Kw::Extern => matches!(self, Self::Alias | Self::Variable | Self::Function | Self::Type),
            Kw::Register => matches!(self, Self::Alias | Self::Variable | Self::Tag | Self::Type),
            _ => true,
        }
    }
}

/// What an item of the parser's is for these rules.
pub(super) fn declared(kind: &ItemKind, in_class: bool) -> Option<Declared> {
    Some(match kind {
        ItemKind::Alias(_) => Declared::Alias,
        ItemKind::Field(_) => Declared::Field,
        ItemKind::Variable(_) if in_class => Declared::StaticMember,
        ItemKind::Variable(_) => Declared::Variable,
        ItemKind::Function(function) if in_class => match function.name {
            FunctionName::Constructor(_) => Declared::Converting,
            FunctionName::Operator(OperatorName::Conversion(_)) if !function.specifiers.is_static => {
                Declared::Converting
            }
            FunctionName::Destructor => Declared::Destructor,
            _ => Declared::Method,
        },
        ItemKind::Function(_) => Declared::Function,
        _ => return None,
    })
}

/// Reports the words that a declaration cannot have, and those that exclude each other.
pub(super) fn check(p: &mut Parser<'_>, words: &[Word], declared: Declared) {
    for &(word, span) in words {
        if !declared.takes(word) {
            let shown = TokenKind::Keyword(word);
            p.error("misplaced-specifier", span, format!("{shown} cannot stand before {}", declared.name()));
        }
    }
    let is_storage =
        |word: Kw| matches!(word, Kw::Static | Kw::Extern | Kw::Typedef | Kw::Mutable | Kw::Register);
    let mut storage = words.iter().filter(|(word, _)| is_storage(*word));
    if let Some(&(first, _)) = storage.next()
        && let Some(&(second, span)) = storage.find(|(word, _)| *word != first)
    {
        let (first, second) = (TokenKind::Keyword(first), TokenKind::Keyword(second));
        p.error("misplaced-specifier", span, format!("{second} cannot stand beside {first}"));
    }
    let friend = words.iter().any(|(word, _)| *word == Kw::Friend);
    if friend && declared == Declared::Function {
        let span = words.first().map_or(Span::NONE, |(_, span)| *span);
        p.error("misplaced-specifier", span, "`friend` outside of a class");
    }
    let storage = words.iter().find(|(word, _)| is_storage(*word));
    if let (true, Some(&(word, span))) = (friend, storage) {
        let shown = TokenKind::Keyword(word);
        p.error("misplaced-specifier", span, format!("{shown} cannot stand before a friend"));
    }
}

/// Reports qualifiers after the parameters of a function that has no object.
pub(super) fn check_qualifiers(p: &mut Parser<'_>, function: &Function, in_class: bool) {
    let method = function.method;
    let is_special = matches!(function.name, FunctionName::Constructor(_) | FunctionName::Destructor);
    // Objects are created in a space (MSL 4.1).
    let is_qualified = method.is_const
        || method.is_volatile
        || (method.space.is_some() && !is_special)
        || method.reference.is_some();
    let is_member = in_class && !function.specifiers.is_friend;
    let has_object = (is_member || function.scope.is_some()) && !is_special;
    let is_static = function.specifiers.is_static;
    if is_qualified && (!has_object || is_static) {
        let what = match () {
            () if is_special => "a constructor or destructor",
            () if is_static => "a static function",
            () => "a function that is not a member",
        };
        p.error("misplaced-specifier", function.span, format!("{what} cannot have qualifiers"));
    }
}

/// Reports `template` in a declared name, whose scope is always known.
pub(super) fn refuse_template_word(p: &mut Parser<'_>, span: Span) {
    p.error("misplaced-specifier", span, "`template` cannot stand in the name of what is declared");
}

/// Reports qualifiers of a type that is declared a friend, and `friend` after the type.
pub(super) fn check_friend_type(p: &mut Parser<'_>, ty: &Type, first: TokenKind) {
    if ty.quals.is_const || ty.quals.is_volatile {
        p.error("bad-friend", ty.span, "a friend that is a type has no qualifiers");
    }
    if first != TokenKind::Keyword(Kw::Friend) {
        p.error("bad-friend", ty.span, "`friend` must come first before a type");
    }
}

/// Reports what no template can be: a using-declaration, an enumeration, several variables.
pub(super) fn check_templated(p: &mut Parser<'_>, params: &TemplateParams, items: &[Item], is_using: bool) {
    let Some(first) = items.first() else { return };
    let problem = match &first.kind {
        _ if items.len() > 1
            && items.iter().all(|item| !matches!(item.kind, ItemKind::UsingDeclaration(_))) =>
        {
            "a template declares one thing only"
        }
        ItemKind::UsingDeclaration(_) => "a using-declaration cannot be a template",
        ItemKind::Alias(_) if !is_using => "typedef cannot be a template",
        ItemKind::Field(_) if params.params.is_empty() => "a data member cannot be a specialisation",
        ItemKind::UsingNamespace(_) => "a using-directive cannot be a template",
        ItemKind::Enum(_) if !params.params.is_empty() => "an enumeration cannot be a template",
        ItemKind::Function(function)
            if matches!(function.name, FunctionName::Destructor) && function.scope.is_none() =>
        {
            "a destructor cannot be a template"
        }
        ItemKind::Function(function) if function.specifiers.is_friend && params.params.is_empty() => {
            "cannot declare an explicit specialization in a friend"
        }
        ItemKind::Friend(ty) => match friend_problem(params, ty) {
            Some(problem) => problem,
            None => return,
        },
        _ => return,
    };
    p.error("bad-template", first.span, problem);
}

/// Why a class cannot be a friend that is a template (C++14 [temp.friend]).
fn friend_problem(params: &TemplateParams, ty: &Type) -> Option<&'static str> {
    let (has_args, has_tag) = match &ty.kind {
        TypeKind::Path(path) => {
            (path.segments.last().is_some_and(|last| last.args.is_some()), path.tag.is_some())
        }
        TypeKind::Record(record) => (record.specialisation.is_some(), true),
        _ => (false, true),
    };
    match (params.params.is_empty(), has_args) {
        (true, true) => Some("template specialization declaration cannot be a friend"),
        (true, false) => Some("extraneous `template<>` in the declaration of a class"),
        (false, _) if !has_tag => Some("friend type templates must use an elaborated type"),
        (false, true) => Some("partial specialization cannot be declared as a friend"),
        (false, false) => None,
    }
}

/// Reports heads of templates that the declared name has no use for: each class around it with arguments
/// takes one, and the declared thing itself takes one.
pub(super) fn check_heads(p: &mut Parser<'_>, item: &Item) {
    let is_partial = item.template.as_ref().is_some_and(|head| !head.params.is_empty());
    if let ItemKind::Function(function) = &item.kind
        && function.specialisation.is_some()
        && !function.specifiers.is_friend
        && is_partial
    {
        p.error("bad-template", function.span, "function template partial specialization is not allowed");
    }
    let scope = match &item.kind {
        ItemKind::Record(record) => &record.scope,
        ItemKind::Variable(variable) => &variable.declarator.scope,
        ItemKind::Function(function) => &function.scope,
        _ => return,
    };
    let is_template = match &item.kind {
        ItemKind::Record(record) => record.specialisation.is_some(),
        ItemKind::Variable(variable) => variable.declarator.specialisation.is_some(),
        _ => true,
    };
    let has_params = item.template.as_ref().is_some_and(|template| !template.params.is_empty());
    let segments = scope.iter().flat_map(|scope| &scope.segments);
    // A name without arguments may be an alias of a class with some.
    let may_have_args = |name| p.classify(name) != NameKind::Namespace;
    if segments.clone().any(|segment| segment.args.is_none() && may_have_args(segment.name)) {
        return;
    }
    let of_scope = segments.filter(|segment| segment.args.is_some()).count();
    let most = of_scope + usize::from(is_template || (has_params && p.template_heads.len() > of_scope));
    if p.template_heads.len() > most.max(1)
        && let Some(&extra) = p.template_heads.get(of_scope)
    {
        p.error("bad-template", extra, "this `template<>` belongs to nothing that is declared");
    }
}

/// Reports a specialisation that is declared without `template<>`.
pub(super) fn require_template_head(p: &mut Parser<'_>, span: Span) {
    if p.template_heads.is_empty() {
        p.error("bad-template", span, "a specialisation is declared with `template<>`");
    }
}

/// Reports a member with a qualified name in its class.
pub(super) fn refuse_qualified_member(p: &mut Parser<'_>, span: Span) {
    p.error("misplaced-qualification", span, "a member cannot have a qualified name in its class");
}

/// Reports a using-declaration with template arguments.
pub(super) fn check_using(p: &mut Parser<'_>, path: &Path, is_typename: bool) {
    if is_typename && path.segments.last().is_some_and(|last| last.operator.is_some()) {
        p.error("using-declaration", path.span, "`typename` cannot stand before the name of an operator");
    }
    if path.segments.last().is_some_and(|last| last.args.is_some()) {
        let message = "a using-declaration cannot name a specialisation of a template";
        p.error("using-declaration", path.span, message);
    }
}

/// Reports the words that no parameter can have.
pub(super) fn check_parameter(p: &mut Parser<'_>, words: &[Word]) {
    for &(word, span) in words {
        if word != Kw::Register {
            let shown = TokenKind::Keyword(word);
            p.error("misplaced-specifier", span, format!("{shown} cannot stand before a parameter"));
        }
    }
}

/// Reports what only parameters of a declared function can have, of parameters of a function type
/// (C++14 [dcl.fct.default.3], [dcl.attr.depend.1]).
pub(super) fn check_type_parameters(p: &mut Parser<'_>, params: &[Param]) {
    for param in params {
        if let Some(default) = &param.default {
            let message = "default arguments can only be specified for parameters in a function declaration";
            p.rule_error("default-argument", default.span, message);
        }
        let depends = |attribute: &&Attribute| attribute.name.as_str() == "carries_dependency";
        if let Some(attribute) = param.attributes.iter().find(depends) {
            let message = "`carries_dependency` is only allowed on a parameter in a function declaration";
            p.rule_error("attribute-placement", attribute.span, message);
        }
    }
}

/// Reports parameters of a destructor, and default arguments of operators other than a call
/// (C++14 [class.dtor.2], [over.oper.8]).
pub(super) fn check_parameters(p: &mut Parser<'_>, function: &Function) {
    let span = function.span;
    match &function.name {
        FunctionName::Destructor if !function.params.is_empty() => {
            p.error("misplaced-specifier", span, "destructor cannot have any parameters");
        }
        FunctionName::Operator(OperatorName::Literal(_)) => check_literal_operator(p, function),
        FunctionName::Operator(name) if !matches!(name, OperatorName::Call) => {
            operator_rules::check_operands(p, function, name, p.scopes.in_class_body());
            if let Some(param) = function.params.iter().find(|param| param.default.is_some()) {
                let message = "parameter of an overloaded operator cannot have a default argument";
                p.error("default-argument", param.span, message);
            }
        }
        _ => {}
    }
}

/// Reports a literal operator with parameters that no literal is passed to (C++14 [over.literal]).
fn check_literal_operator(p: &mut Parser<'_>, function: &Function) {
    let is_char = |ty: &Type| matches!(ty.kind, TypeKind::Builtin(BuiltinType::Char)) && ty.quals.is_const;
    let is_text = |param: &Param| matches!(&param.ty.kind, TypeKind::Pointer(to) if is_char(to));
    let is_value = |param: &Param| {
        !matches!(param.ty.kind, TypeKind::Pointer(_) | TypeKind::Reference { .. } | TypeKind::Array(..))
    };
    let is_template = p.template_depth > 0;
    let problem = if p.has_c_linkage {
        Some("literal operator must have C++ linkage")
    } else if is_template && !function.params.is_empty() {
        Some("literal operator template cannot have any parameters")
    } else if function.params.iter().any(|param| param.default.is_some()) {
        Some("literal operator cannot have a default argument")
    } else {
        match function.params.as_slice() {
            [] => (!is_template).then_some("non-template literal operator must have one or two parameters"),
            [only] if is_text(only) || is_value(only) => None,
            [text, length] if is_text(text) && is_value(length) => None,
            _ => Some("invalid literal operator parameter type"),
        }
    };
    if let Some(message) = problem {
        p.error("literal-operator", function.span, message);
    }
}

/// Reports the head of a template of a literal operator other than `<char...>`.
pub(super) fn check_literal_template(p: &mut Parser<'_>, params: &TemplateParams, item: &Item) {
    let ItemKind::Function(function) = &item.kind else { return };
    let is_literal = matches!(function.name, FunctionName::Operator(OperatorName::Literal(_)));
    let is_chars = |param: &TemplateParam| {
        let is_char = |ty: &Type| matches!(ty.kind, TypeKind::Builtin(BuiltinType::Char));
        param.is_pack && matches!(&param.kind, TemplateParamKind::Value(ty, _) if is_char(ty))
    };
    // GNU's `<typename T, T...>` is for string literals.
    let is_gnu = |params: &[TemplateParam]| {
        matches!(params, [first, second]
            if matches!(first.kind, TemplateParamKind::Type(_)) && !first.is_pack && second.is_pack)
    };
    let fits = matches!(params.params.as_slice(), [only] if is_chars(only)) || is_gnu(&params.params);
    if is_literal && !fits && !params.params.is_empty() && !p.has_c_linkage && function.params.is_empty() {
        let message = "template parameter list for literal operator must be `char...`";
        p.error("literal-operator", function.span, message);
    }
}

/// Reports the parts of a friend's declaration that only members and variables have (C++14 [class.friend]).
pub(super) fn check_friend_variable(p: &mut Parser<'_>, ty: &Type, span: Span) {
    // An alias may name the type of a function.
    if !matches!(ty.kind, TypeKind::Path(_) | TypeKind::Decltype(_) | TypeKind::Typeof(_)) {
        p.error("bad-friend", span, "friends can only be classes or functions");
    }
}

/// Reports a friend that is a constructor or conversion function without its class
/// (C++14 [class.friend.9]).
pub(super) fn check_special_friend(p: &mut Parser<'_>, function: &Function) {
    if function.specifiers.is_friend && function.scope.is_none() {
        let what = match function.name {
            FunctionName::Constructor(_) => "a constructor",
            FunctionName::Operator(OperatorName::Conversion(_)) => "a conversion operator",
            _ => return,
        };
        let message = format!("must use a qualified name when declaring {what} as a friend");
        p.error("bad-friend", function.span, message);
    }
}

/// Reports `inline` in a block (C++17 [dcl.inline.4]).
pub(super) fn refuse_inline_in_block(p: &mut Parser<'_>, words: &[Word]) {
    if let Some(&(_, span)) = words.iter().find(|(word, _)| *word == Kw::Inline) {
        p.error("misplaced-specifier", span, "inline declaration not allowed in block scope");
    }
}

/// Reports `static` on a member that is defined outside of its class (C++14 [class.static.5]).
pub(super) fn check_static_member(p: &mut Parser<'_>, words: &[Word], scope: Option<&Path>) {
    let is_class = |path: &&Path| {
        path.segments
            .last()
            .is_some_and(|last| last.args.is_some() || p.classify(last.name) == NameKind::Type)
    };
    let is_storage = |word: Kw| matches!(word, Kw::Static | Kw::Extern);
    if let (Some(_), Some(&(word, span))) =
        (scope.filter(is_class), words.iter().find(|(word, _)| is_storage(*word)))
    {
        let shown = TokenKind::Keyword(word);
        let message = format!("{shown} cannot be specified where a member is defined outside of its class");
        p.error("misplaced-specifier", span, message);
    }
}

/// Reports a trailing result type after another type than `auto` (C++14 [dcl.fct.2]).
pub(super) fn check_trailing_result(p: &mut Parser<'_>, written: Option<&Type>, span: Span) {
    let is_plain =
        |ty: &Type| matches!(ty.kind, TypeKind::Auto | TypeKind::Error) && ty.quals == Qualifiers::default();
    if written.is_some_and(|ty| !is_plain(ty)) {
        let message = "function with trailing return type must specify return type `auto`";
        p.error("misplaced-specifier", span, message);
    }
}

/// The name of a class, alias or variable template.
pub(super) fn template_name(declared: &ItemKind) -> Option<Name> {
    match declared {
        ItemKind::Record(record) => record.name,
        ItemKind::Alias(alias) => Some(alias.name),
        ItemKind::Variable(variable) => Some(variable.declarator.name),
        _ => None,
    }
}

/// Whether a declaration of a class, alias or variable template is of the template itself.
pub(super) fn is_primary(declared: &ItemKind) -> bool {
    match declared {
        ItemKind::Record(record) => record.specialisation.is_none() && record.scope.is_none(),
        ItemKind::Alias(_) => true,
        ItemKind::Variable(variable) => {
            variable.declarator.specialisation.is_none() && variable.declarator.scope.is_none()
        }
        _ => false,
    }
}

/// Whether a pack of parameters expands packs of the templates around, whose arguments decide how many there
/// are.
fn is_expansion(p: &Parser<'_>, param: &TemplateParam) -> bool {
    let mut found = false;
    let mut look = |name| found |= p.packs_around.contains(&name);
    let mut names = Visitor::all(&mut look);
    match &param.kind {
        TemplateParamKind::Type(_) => {}
        TemplateParamKind::Value(ty, _) => ast_names::in_type(ty, &mut names),
        TemplateParamKind::Template(list, _) => {
            list.value_types().for_each(|ty| ast_names::in_type(ty, &mut names));
        }
    }
    found
}

/// Reports parameters of a class, alias or variable template that no argument can be given for: those after a
/// default argument or a pack.
pub(super) fn check_template_params(p: &mut Parser<'_>, params: &TemplateParams, declared: &ItemKind) {
    if !is_primary(declared) {
        return refuse_defaults(p, params, declared);
    }
    let mut after_default = false;
    for (n, param) in params.params.iter().enumerate() {
        if param.is_pack && n + 1 < params.params.len() && !is_expansion(p, param) {
            let message = "a template parameter pack must be the last template parameter";
            p.error("template-parameter", param.span, message);
        }
        let own = param.has_default();
        if after_default && !own && !param.is_pack {
            let message = "a template parameter after one with a default argument needs one too";
            p.error("template-parameter", param.span, message);
        }
        after_default |= own;
    }
}

/// Reports default arguments where they have no effect: in partial specialisations, in definitions outside of
/// a class template, and in friends that are only declared (C++14 [temp.param.9]).
fn refuse_defaults(p: &mut Parser<'_>, params: &TemplateParams, declared: &ItemKind) {
    let of_class = |scope: &Option<Path>| {
        scope.as_ref().and_then(|path| path.segments.last()).is_some_and(|last| last.args.is_some())
    };
    let problem = match declared {
        ItemKind::Record(record) if of_class(&record.scope) => OUTSIDE,
        ItemKind::Variable(variable) if of_class(&variable.declarator.scope) => OUTSIDE,
        ItemKind::Function(function) if of_class(&function.scope) => OUTSIDE,
        ItemKind::Record(record) if record.specialisation.is_some() => PARTIAL,
        ItemKind::Variable(variable) if variable.declarator.specialisation.is_some() => PARTIAL,
        ItemKind::Function(function)
            if function.specifiers.is_friend && matches!(function.body, FunctionBody::None) =>
        {
            "default template argument not permitted on a friend template"
        }
        _ => return,
    };
    for param in params.params.iter().filter(|param| param.has_default()) {
        p.error("template-parameter", param.span, problem);
    }
}

const OUTSIDE: &str =
    "cannot add a default template argument to the definition of a member of a class template";
const PARTIAL: &str = "default template argument in a partial specialization";

/// Whether a declaration without declarators declares something.
pub(super) fn is_tag(kind: &TypeKind) -> bool {
    matches!(kind, TypeKind::Record(_) | TypeKind::Enum(_))
}
