//! Declaration specifiers and type names.

use super::attribute::Attributes;
use super::declaration_rules::Word;
use super::qualified_name::Expected;
use super::scope::NameKind;
use super::{Parser, attribute, declarator, enumeration, expr, function, qualified_name, record};
use crate::ast::{AddressSpace, BuiltinType, FunctionSpecifiers, GraphicsStage, Qualifiers, Type, TypeKind};
use crate::token::{Kw, Punct, TokenKind};
use anymetal_diagnostics::Diagnostic;

/// What stands in front of declarators.
pub(super) struct Specifiers {
    /// `None` for constructors, destructors, conversion operators.
    pub(super) ty: Option<Type>,
    pub(super) function: FunctionSpecifiers,
    pub(super) is_typedef: bool,
    pub(super) is_extern: bool,
    pub(super) attributes: Attributes,
    /// The words that are not part of the type.
    pub(super) words: Vec<Word>,
    /// [`Parser::unmodelled_spaces`] before them.
    unmodelled_before: usize,
}

impl Specifiers {
    /// Those of the function that is declared, once all of its declaration is read.
    pub(super) fn of_function(&self, p: &Parser<'_>) -> FunctionSpecifiers {
        let names_unmodelled_space = p.unmodelled_spaces > self.unmodelled_before;
        FunctionSpecifiers { names_unmodelled_space, has_c_linkage: p.has_c_linkage, ..self.function }
    }
}

/// Type words seen so far.
#[derive(Default)]
struct Words {
    base: Option<BuiltinType>,
    signed: Option<bool>,
    short: bool,
    long: bool,
}

impl Words {
    fn any(&self) -> bool {
        self.base.is_some() || self.signed.is_some() || self.short || self.long
    }

    fn combine(&self) -> BuiltinType {
        use BuiltinType as B;
        let unsigned = self.signed == Some(false);
        match self.base {
            Some(B::Char) => match self.signed {
                Some(false) => B::UChar,
                Some(true) => B::SChar,
                None => B::Char,
            },
            Some(base) if base != B::Int => base,
            _ if self.short => [B::Short, B::UShort][usize::from(unsigned)],
            _ if self.long => [B::Long, B::ULong][usize::from(unsigned)],
            _ => [B::Int, B::UInt][usize::from(unsigned)],
        }
    }
}

/// Takes a word for an address space.
pub(super) fn address_space(p: &mut Parser<'_>) -> Option<AddressSpace> {
    let word = p.peek();
    let space = match word {
        TokenKind::Keyword(Kw::Device) => Some(AddressSpace::Device),
        TokenKind::Keyword(Kw::Constant) => Some(AddressSpace::Constant),
        // A pointer into an imageblock comes from the block, and no function with one runs.
        TokenKind::Keyword(Kw::Threadgroup | Kw::ThreadgroupImageblock) => Some(AddressSpace::Threadgroup),
        // Payloads are of functions that do not run; their spaces are not told from `thread`.
        TokenKind::Keyword(Kw::Thread | Kw::ObjectData | Kw::RayData) => Some(AddressSpace::Thread),
        _ => return None,
    };
    let is_unmodelled =
        matches!(word, TokenKind::Keyword(Kw::ObjectData | Kw::RayData | Kw::ThreadgroupImageblock));
    p.unmodelled_spaces += usize::from(is_unmodelled);
    p.advance();
    space
}

/// Takes one qualifier, if there is one.
pub(super) fn qualifier(p: &mut Parser<'_>, quals: &mut Qualifiers) -> bool {
    let span = p.span();
    if let Some(space) = address_space(p) {
        // `thread` is where things are anyway: Metal lets it stand beside another space, which counts.
        match quals.space {
            Some(old) if space == AddressSpace::Thread && old != space => {}
            Some(old) if old != space && old != AddressSpace::Thread => {
                p.error("two-address-spaces", span, "a type has one address space only");
            }
            _ => quals.space = Some(space),
        }
        return true;
    }
    match p.peek() {
        TokenKind::Keyword(Kw::Const) => quals.is_const = true,
        TokenKind::Keyword(Kw::Volatile) => quals.is_volatile = true,
        TokenKind::Keyword(Kw::Restrict) => {}
        TokenKind::Ident(name) if name.as_str() == "coherent" && coherent_is_qualifier(p) => {
            quals.is_coherent = true;
            p.advance();
            if p.eat(Punct::LParen) {
                while !p.is(Punct::RParen) && !p.at_end() {
                    p.advance();
                }
                p.expect(Punct::RParen, "to end `coherent(…)`");
            }
            return true;
        }
        // GNU's word that silences pedantic warnings, and clang's about null pointers.
        TokenKind::Ident(name)
            if matches!(name.as_str(), "__extension__" | "_Nonnull" | "_Nullable" | "_Null_unspecified") => {}
        _ => return false,
    }
    p.advance();
    true
}

/// `coherent device int*`, `coherent(system) device …`: a word only in front of a type.
fn coherent_is_qualifier(p: &Parser<'_>) -> bool {
    match p.peek_at(1) {
        TokenKind::Keyword(_) => true,
        TokenKind::Punct(Punct::LParen) => {
            matches!(p.peek_at(2), TokenKind::Ident(_) | TokenKind::Keyword(Kw::Device | Kw::Threadgroup))
                && p.next_is(3, Punct::RParen)
                && matches!(p.peek_at(4), TokenKind::Keyword(_) | TokenKind::Ident(_))
        }
        TokenKind::Ident(_) => true,
        _ => false,
    }
}

/// Could a type begin here? Names that are known to be values cannot.
pub(super) fn may_start_type(p: &Parser<'_>) -> bool {
    match p.peek() {
        TokenKind::Keyword(kw) => is_type_keyword(kw),
        TokenKind::Ident(name) => match p.classify(name) {
            NameKind::Type | NameKind::TypeTemplate | NameKind::Namespace => true,
            NameKind::Value | NameKind::ValueTemplate => p.next_is(1, Punct::ColonColon),
            // `__is_same(T, U)` is a type trait, not a function type.
            NameKind::Unknown => !(p.next_is(1, Punct::LParen) && name.as_str().starts_with("__is_")),
        },
        TokenKind::Punct(Punct::ColonColon) => true,
        _ => false,
    }
}

/// Parses everything in front of a declarator. `declares` is false for plain type names.
pub(super) fn parse(p: &mut Parser<'_>, declares: bool) -> Option<Specifiers> {
    let start = p.span();
    let mut specs = Specifiers {
        ty: None,
        function: FunctionSpecifiers::default(),
        is_typedef: false,
        is_extern: false,
        attributes: Attributes::default(),
        words: Vec::new(),
        unmodelled_before: p.unmodelled_spaces,
    };
    let mut quals = Qualifiers::default();
    let mut words = Words::default();
    let mut kind: Option<TypeKind> = None;
    loop {
        if attribute::at(p) {
            attribute::attributes(p, &mut specs.attributes);
        } else if qualifier(p, &mut quals)
            || (declares && declaration_word(p, &mut specs))
            || (kind.is_none() && type_word(p, &mut words))
        {
            continue;
        } else if kind.is_none() && !words.any() && at_type_specifier(p, &specs, declares) {
            kind = Some(type_specifier(p)?);
        } else {
            break;
        }
    }
    let is_number =
        matches!(words.base, None | Some(BuiltinType::Char | BuiltinType::Int | BuiltinType::Double));
    if words.signed.is_some() && !is_number {
        p.rule_error("missing-type", p.since(start), "this type cannot be signed or unsigned");
    }
    if words.any() {
        kind = Some(TypeKind::Builtin(words.combine()));
    }
    specs.function.is_kernel |= specs.attributes.has("kernel");
    specs.function.graphics = specs.function.graphics.or(specs.attributes.graphics_stage());
    if kind.is_none() && quals.is_const && specs.function.is_constexpr {
        kind = Some(TypeKind::Error);
    }
    specs.ty = kind.map(|kind| Type { kind, quals, span: p.since(start) });
    specs.ty = specs.ty.take().map(|ty| attribute::vector_of(&mut specs.attributes, ty));
    Some(specs)
}

/// `static`, `inline`, `typedef`, `kernel` and the like.
fn declaration_word(p: &mut Parser<'_>, specs: &mut Specifiers) -> bool {
    let span = p.span();
    let function = &mut specs.function;
    match p.peek() {
        TokenKind::Keyword(Kw::Static) => function.is_static = true,
        TokenKind::Keyword(Kw::Inline) => function.is_inline = true,
        TokenKind::Keyword(Kw::Constexpr) => function.is_constexpr = true,
        TokenKind::Keyword(Kw::Explicit) => function.is_explicit = true,
        TokenKind::Keyword(Kw::Kernel) => function.is_kernel = true,
        TokenKind::Keyword(Kw::Vertex) => function.graphics = Some(GraphicsStage::Vertex),
        TokenKind::Keyword(Kw::Fragment) => function.graphics = Some(GraphicsStage::Fragment),
        TokenKind::Keyword(Kw::Extern) => specs.is_extern = true,
        TokenKind::Keyword(Kw::Typedef) => specs.is_typedef = true,
        TokenKind::Keyword(Kw::Friend) => function.is_friend = true,
        TokenKind::Keyword(Kw::Mutable | Kw::Register | Kw::ThreadLocal) => {}
        TokenKind::Keyword(Kw::Virtual) => {
            p.error("unsupported-feature", p.span(), "MSL has no virtual functions");
        }
        TokenKind::Ident(name) if matches!(name.as_str(), "mesh" | "object") => {
            // Stage words only in front of a type: `mesh void f()`.
            if !matches!(p.peek_at(1), TokenKind::Keyword(Kw::Void)) {
                return false;
            }
            function.graphics = GraphicsStage::of_attribute(name.as_str());
        }
        _ => return false,
    }
    if let TokenKind::Keyword(word) = p.advance() {
        specs.words.push((word, span));
    }
    true
}

fn type_word(p: &mut Parser<'_>, words: &mut Words) -> bool {
    use BuiltinType as B;
    let TokenKind::Keyword(keyword) = p.peek() else { return false };
    let base = match keyword {
        Kw::Void => B::Void,
        Kw::Bool => B::Bool,
        Kw::Char => B::Char,
        Kw::Int => B::Int,
        Kw::Half => B::Half,
        Kw::Bfloat => B::Bfloat,
        Kw::Float => B::Float,
        Kw::Double => B::Double,
        Kw::Signed => {
            words.signed = Some(true);
            p.advance();
            return true;
        }
        Kw::Unsigned => {
            words.signed = Some(false);
            p.advance();
            return true;
        }
        Kw::Short => {
            words.short = true;
            p.advance();
            return true;
        }
        Kw::Long => {
            words.long = true;
            p.advance();
            return true;
        }
        _ => return false,
    };
    if words.base.is_some() {
        return false;
    }
    words.base = Some(base);
    p.advance();
    true
}

/// Is the current token the type of this declaration, and not already its name?
fn at_type_specifier(p: &Parser<'_>, specs: &Specifiers, declares: bool) -> bool {
    match p.peek() {
        TokenKind::Keyword(
            Kw::Struct
            | Kw::Class
            | Kw::Union
            | Kw::Enum
            | Kw::Typename
            | Kw::Decltype
            | Kw::Typeof
            | Kw::Auto,
        ) => true,
        TokenKind::Punct(Punct::ColonColon) => true,
        TokenKind::Ident(_) if declares && function::at_qualified_constructor_name(p) => specs.is_typedef,
        TokenKind::Ident(name) => match p.classify(name) {
            NameKind::Value | NameKind::ValueTemplate => p.next_is(1, Punct::ColonColon),
            // A constructor: the class's own name, followed by its parameters.
            NameKind::Type | NameKind::TypeTemplate if declares && function::at_constructor_name(p) => {
                specs.is_typedef
            }
            _ => true,
        },
        _ => false,
    }
}

fn type_specifier(p: &mut Parser<'_>) -> Option<TypeKind> {
    match p.peek() {
        TokenKind::Keyword(Kw::Auto) => {
            p.advance();
            Some(TypeKind::Auto)
        }
        TokenKind::Keyword(Kw::Decltype)
            if p.next_is(1, Punct::LParen) && p.peek_at(2) == TokenKind::Keyword(Kw::Auto) =>
        {
            for _ in 0..3 {
                p.advance();
            }
            p.expect(Punct::RParen, "to end `decltype(auto)`");
            Some(TypeKind::DecltypeAuto)
        }
        TokenKind::Keyword(Kw::Decltype) => {
            let expr = Box::new(decltype_operand(p));
            Some(TypeKind::Decltype(expr))
        }
        TokenKind::Keyword(Kw::Typeof) => Some(typeof_operand(p)),
        TokenKind::Keyword(Kw::Struct | Kw::Class | Kw::Union) => record::parse(p),
        TokenKind::Keyword(Kw::Enum) => enumeration::parse(p),
        TokenKind::Keyword(Kw::Typename) => {
            p.advance();
            if p.is_kw(Kw::Decltype) {
                let expr = Box::new(decltype_operand(p));
                p.expect(Punct::ColonColon, "after `typename decltype(…)`");
                return Some(TypeKind::DecltypePath(expr, qualified_name::path(p, Expected::Type)?.path));
            }
            let path = qualified_name::path(p, Expected::Type)?.path;
            Some(TypeKind::Path(crate::ast::Path { is_typename: true, ..path }))
        }
        TokenKind::Ident(name) if name.as_str() == "__underlying_type" && p.next_is(1, Punct::LParen) => {
            p.advance();
            let Some(inner) = expr::parenthesised_type(p) else {
                p.error(
                    "expected-type",
                    p.span(),
                    "expected a type in parentheses after `__underlying_type`",
                );
                return None;
            };
            Some(TypeKind::Underlying(Box::new(inner)))
        }
        _ => {
            let parsed = qualified_name::path(p, Expected::Type)?;
            if parsed.kind == NameKind::Value {
                let diagnostic =
                    Diagnostic::error("not-a-type", parsed.path.span, "this names a value, not a type");
                let is_member = p.scopes.in_class_body() && p.is(Punct::Semi);
                p.report(match is_member {
                    true => diagnostic.with_hint("a using-declaration begins with `using`"),
                    false => diagnostic,
                });
                return None;
            }
            Some(TypeKind::Path(parsed.path))
        }
    }
}

/// `decltype(e)`
pub(super) fn decltype_operand(p: &mut Parser<'_>) -> crate::ast::Expr {
    p.advance();
    p.expect(Punct::LParen, "after `decltype`");
    let expr = expr::parenthesised(p);
    p.expect(Punct::RParen, "to end `decltype`");
    expr
}

/// `__typeof__(e)`, or `__typeof__(T)`, which is `T`.
fn typeof_operand(p: &mut Parser<'_>) -> TypeKind {
    p.advance();
    if let Some(ty) = expr::parenthesised_type(p) {
        return ty.kind;
    }
    p.expect(Punct::LParen, "after `__typeof__`");
    let expr = expr::parenthesised(p);
    p.expect(Punct::RParen, "to end `__typeof__`");
    TypeKind::Typeof(Box::new(expr))
}

/// A type without a name: in casts, template arguments, aliases.
pub(super) fn type_id(p: &mut Parser<'_>) -> Option<Type> {
    p.nested(
        |p| {
            if !may_start_type(p) {
                return None;
            }
            let specs = parse(p, false)?;
            attribute::ignore_layout(p, &specs.attributes);
            let base = specs.ty?;
            declarator::parse_abstract(p, base)
        },
        |_| None,
    )
}

pub(super) fn is_type_keyword(keyword: Kw) -> bool {
    matches!(
        keyword,
        Kw::Void
            | Kw::Bool
            | Kw::Char
            | Kw::Short
            | Kw::Int
            | Kw::Long
            | Kw::Signed
            | Kw::Unsigned
            | Kw::Half
            | Kw::Bfloat
            | Kw::Float
            | Kw::Double
            | Kw::Const
            | Kw::Volatile
            | Kw::Device
            | Kw::Constant
            | Kw::Threadgroup
            | Kw::ThreadgroupImageblock
            | Kw::Thread
            | Kw::ObjectData
            | Kw::RayData
            | Kw::Struct
            | Kw::Class
            | Kw::Union
            | Kw::Enum
            | Kw::Typename
            | Kw::Decltype
            | Kw::Typeof
            | Kw::Auto
    )
}
