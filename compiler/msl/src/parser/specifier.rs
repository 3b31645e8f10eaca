//! Declaration specifiers and type names.

use super::Parser;
use super::attribute::Attributes;
use super::qualified_name::Expected;
use super::scope::NameKind;
use crate::ast::{AddressSpace, BuiltinType, FunctionSpecifiers, Qualifiers, Type, TypeKind};
use crate::token::{Kw, Punct, TokenKind};

/// What stands in front of declarators.
pub(super) struct Specifiers {
    /// `None` for constructors, destructors, conversion operators.
    pub(super) ty: Option<Type>,
    pub(super) function: FunctionSpecifiers,
    pub(super) is_typedef: bool,
    pub(super) is_extern: bool,
    pub(super) attributes: Attributes,
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

impl Parser<'_> {
    /// The address space word at the current token.
    pub(super) fn address_space(&self) -> Option<AddressSpace> {
        match self.peek() {
            TokenKind::Keyword(Kw::Device) => Some(AddressSpace::Device),
            TokenKind::Keyword(Kw::Constant) => Some(AddressSpace::Constant),
            // A pointer into an image block comes from the block, which is refused.
            TokenKind::Keyword(Kw::Threadgroup | Kw::ThreadgroupImageblock) => {
                Some(AddressSpace::Threadgroup)
            }
            // The payload of object and mesh functions, none of which is compiled: their parameters parse.
            TokenKind::Keyword(Kw::Thread | Kw::ObjectData) => Some(AddressSpace::Thread),
            _ => None,
        }
    }

    /// Takes one qualifier, if there is one.
    pub(super) fn qualifier(&mut self, quals: &mut Qualifiers) -> bool {
        if let Some(space) = self.address_space() {
            // `thread` is where things are anyway: Metal lets it stand beside another space, which counts.
            match quals.space {
                Some(old) if space == AddressSpace::Thread && old != space => {}
                Some(old) if old != space && old != AddressSpace::Thread => {
                    self.error("two-address-spaces", self.span(), "a type has one address space only");
                }
                _ => quals.space = Some(space),
            }
            self.advance();
            return true;
        }
        match self.peek() {
            TokenKind::Keyword(Kw::Const) => quals.is_const = true,
            TokenKind::Keyword(Kw::Volatile) => quals.is_volatile = true,
            TokenKind::Keyword(Kw::Restrict) => {}
            TokenKind::Ident(name) if name.as_str() == "coherent" && self.coherent_is_qualifier() => {
                quals.is_coherent = true;
                self.advance();
                if self.eat(Punct::LParen) {
                    while !self.is(Punct::RParen) && !self.at_end() {
                        self.advance();
                    }
                    self.expect(Punct::RParen, "to end `coherent(…)`");
                }
                return true;
            }
            // GNU's word that silences pedantic warnings.
            TokenKind::Ident(name) if name.as_str() == "__extension__" => {}
            _ => return false,
        }
        self.advance();
        true
    }

    /// `coherent device int*`, `coherent(system) device …`: a word only in front of a type.
    fn coherent_is_qualifier(&self) -> bool {
        match self.peek_at(1) {
            TokenKind::Keyword(_) => true,
            TokenKind::Punct(Punct::LParen) => {
                matches!(
                    self.peek_at(2),
                    TokenKind::Ident(_) | TokenKind::Keyword(Kw::Device | Kw::Threadgroup)
                ) && self.next_is(3, Punct::RParen)
                    && matches!(self.peek_at(4), TokenKind::Keyword(_) | TokenKind::Ident(_))
            }
            TokenKind::Ident(_) => true,
            _ => false,
        }
    }

    /// Could a type begin here? Names that are known to be values cannot.
    pub(super) fn may_start_type(&self) -> bool {
        match self.peek() {
            TokenKind::Keyword(kw) => is_type_keyword(kw),
            TokenKind::Ident(name) => match self.classify(name) {
                NameKind::Type | NameKind::TypeTemplate | NameKind::Namespace => true,
                NameKind::Value | NameKind::ValueTemplate => self.next_is(1, Punct::ColonColon),
                // `__is_same(T, U)` is a type trait, not a function type.
                NameKind::Unknown => !(self.next_is(1, Punct::LParen) && name.as_str().starts_with("__is_")),
            },
            TokenKind::Punct(Punct::ColonColon) => true,
            _ => false,
        }
    }

    /// Parses everything in front of a declarator. `declares` is false for plain type names.
    pub(super) fn specifiers(&mut self, declares: bool) -> Option<Specifiers> {
        let start = self.span();
        let mut specs = Specifiers {
            ty: None,
            function: FunctionSpecifiers::default(),
            is_typedef: false,
            is_extern: false,
            attributes: Attributes::default(),
        };
        let mut quals = Qualifiers::default();
        let mut words = Words::default();
        let mut kind: Option<TypeKind> = None;
        loop {
            if self.at_attribute() {
                self.attributes(&mut specs.attributes);
            } else if self.qualifier(&mut quals)
                || (declares && self.declaration_word(&mut specs))
                || (kind.is_none() && self.type_word(&mut words))
            {
                continue;
            } else if kind.is_none() && !words.any() && self.at_type_specifier(&specs, declares) {
                kind = Some(self.type_specifier()?);
            } else {
                break;
            }
        }
        if words.any() {
            kind = Some(TypeKind::Builtin(words.combine()));
        }
        specs.function.is_kernel |= specs.attributes.has("kernel");
        specs.function.is_other_stage |= ["vertex", "fragment", "mesh", "object", "intersection"]
            .iter()
            .any(|stage| specs.attributes.has(stage));
        if kind.is_none() && quals.is_const && specs.function.is_constexpr {
            kind = Some(TypeKind::Error);
        }
        specs.ty = kind.map(|kind| Type { kind, quals, span: self.since(start) });
        specs.ty = specs.ty.take().map(|ty| self.vector_of(&mut specs.attributes, ty));
        Some(specs)
    }

    /// `static`, `inline`, `typedef`, `kernel` and the like.
    fn declaration_word(&mut self, specs: &mut Specifiers) -> bool {
        let function = &mut specs.function;
        match self.peek() {
            TokenKind::Keyword(Kw::Static) => function.is_static = true,
            TokenKind::Keyword(Kw::Inline) => function.is_inline = true,
            TokenKind::Keyword(Kw::Constexpr) => function.is_constexpr = true,
            TokenKind::Keyword(Kw::Explicit) => function.is_explicit = true,
            TokenKind::Keyword(Kw::Kernel) => function.is_kernel = true,
            TokenKind::Keyword(Kw::Vertex | Kw::Fragment) => function.is_other_stage = true,
            TokenKind::Keyword(Kw::Extern) => specs.is_extern = true,
            TokenKind::Keyword(Kw::Typedef) => specs.is_typedef = true,
            TokenKind::Keyword(Kw::Friend) => function.is_friend = true,
            TokenKind::Keyword(Kw::Mutable | Kw::Register | Kw::ThreadLocal) => {}
            TokenKind::Keyword(Kw::Virtual) => {
                self.error("unsupported-feature", self.span(), "MSL has no virtual functions");
            }
            TokenKind::Ident(name) if matches!(name.as_str(), "mesh" | "object") => {
                // Stage words only in front of a type: `mesh void f()`.
                if !matches!(self.peek_at(1), TokenKind::Keyword(Kw::Void)) {
                    return false;
                }
                function.is_other_stage = true;
            }
            _ => return false,
        }
        self.advance();
        true
    }

    fn type_word(&mut self, words: &mut Words) -> bool {
        use BuiltinType as B;
        let TokenKind::Keyword(keyword) = self.peek() else { return false };
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
                self.advance();
                return true;
            }
            Kw::Unsigned => {
                words.signed = Some(false);
                self.advance();
                return true;
            }
            Kw::Short => {
                words.short = true;
                self.advance();
                return true;
            }
            Kw::Long => {
                words.long = true;
                self.advance();
                return true;
            }
            _ => return false,
        };
        if words.base.is_some() {
            return false;
        }
        words.base = Some(base);
        self.advance();
        true
    }

    /// Is the current token the type of this declaration, and not already its name?
    fn at_type_specifier(&self, specs: &Specifiers, declares: bool) -> bool {
        match self.peek() {
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
            TokenKind::Ident(_) if declares && self.at_qualified_constructor_name() => specs.is_typedef,
            TokenKind::Ident(name) => match self.classify(name) {
                NameKind::Value | NameKind::ValueTemplate => self.next_is(1, Punct::ColonColon),
                // A constructor: the class's own name, followed by its parameters.
                NameKind::Type | NameKind::TypeTemplate if declares && self.at_constructor_name() => {
                    specs.is_typedef
                }
                _ => true,
            },
            _ => false,
        }
    }

    fn type_specifier(&mut self) -> Option<TypeKind> {
        match self.peek() {
            TokenKind::Keyword(Kw::Auto) => {
                self.advance();
                Some(TypeKind::Auto)
            }
            TokenKind::Keyword(Kw::Decltype)
                if self.next_is(1, Punct::LParen) && self.peek_at(2) == TokenKind::Keyword(Kw::Auto) =>
            {
                for _ in 0..3 {
                    self.advance();
                }
                self.expect(Punct::RParen, "to end `decltype(auto)`");
                Some(TypeKind::DecltypeAuto)
            }
            TokenKind::Keyword(Kw::Decltype) => {
                let expr = Box::new(self.decltype_operand());
                Some(TypeKind::Decltype(expr))
            }
            TokenKind::Keyword(Kw::Typeof) => Some(self.typeof_operand()),
            TokenKind::Keyword(Kw::Struct | Kw::Class | Kw::Union) => self.record_specifier(),
            TokenKind::Keyword(Kw::Enum) => self.enum_specifier(),
            TokenKind::Keyword(Kw::Typename) => {
                self.advance();
                if self.is_kw(Kw::Decltype) {
                    let expr = Box::new(self.decltype_operand());
                    self.expect(Punct::ColonColon, "after `typename decltype(…)`");
                    return Some(TypeKind::DecltypePath(expr, self.path(Expected::Type)?.path));
                }
                Some(TypeKind::Path(self.path(Expected::Type)?.path))
            }
            _ => {
                let parsed = self.path(Expected::Type)?;
                if parsed.kind == NameKind::Value {
                    return None;
                }
                Some(TypeKind::Path(parsed.path))
            }
        }
    }

    /// `decltype(e)`
    pub(super) fn decltype_operand(&mut self) -> crate::ast::Expr {
        self.advance();
        self.expect(Punct::LParen, "after `decltype`");
        let expr = self.parenthesised_expr();
        self.expect(Punct::RParen, "to end `decltype`");
        expr
    }

    /// `__typeof__(e)`, or `__typeof__(T)`, which is `T`.
    fn typeof_operand(&mut self) -> TypeKind {
        self.advance();
        if let Some(ty) = self.parenthesised_type() {
            return ty.kind;
        }
        self.expect(Punct::LParen, "after `__typeof__`");
        let expr = self.parenthesised_expr();
        self.expect(Punct::RParen, "to end `__typeof__`");
        TypeKind::Typeof(Box::new(expr))
    }

    /// A type without a name: in casts, template arguments, aliases.
    pub(super) fn type_id(&mut self) -> Option<Type> {
        self.nested(
            |p| {
                if !p.may_start_type() {
                    return None;
                }
                let specs = p.specifiers(false)?;
                p.refuse_layout(&specs.attributes, "a type");
                let base = specs.ty?;
                p.abstract_declarator(base)
            },
            |_| None,
        )
    }
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
