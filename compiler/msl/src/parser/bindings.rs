//! Structured bindings: `auto [a, b] = e;`, `const auto& [x, y]{e};`, and those of a range-based `for`.

use super::Parser;
use super::declarator::Place;
use super::scope::NameKind;
use super::specifier::Specifiers;
use crate::ast::{Access, Bindings, Declarator, Item, ItemKind, Type, TypeKind, Variable};
use crate::token::{Name, Punct, TokenKind};
use anymetal_diagnostics::Span;

impl Parser<'_> {
    /// After the specifiers: `[`, `&[` or `&&[` after `auto`.
    pub(super) fn at_bindings(&self, specs: &Specifiers) -> bool {
        if !matches!(specs.ty, Some(Type { kind: TypeKind::Auto, .. })) {
            return false;
        }
        let ahead = usize::from(self.is(Punct::Amp) || self.is(Punct::AndAnd));
        self.next_is(ahead, Punct::LBracket) && !self.next_is(ahead + 1, Punct::LBracket)
    }

    /// The unnamed variable and the names, without the initialiser.
    pub(super) fn bindings_head(&mut self, specs: Specifiers) -> Option<Bindings> {
        let mut ty = specs.ty?;
        let start = ty.span;
        if self.is(Punct::Amp) || self.is(Punct::AndAnd) {
            let rvalue = self.is(Punct::AndAnd);
            self.advance();
            let kind = TypeKind::Reference { referent: Box::new(ty), rvalue };
            ty = Type { kind, quals: Default::default(), span: self.since(start) };
        }
        let span = self.span();
        self.advance();
        let names = self.binding_names()?;
        let variable = Variable {
            id: self.ids.fresh(),
            declarator: Declarator { name: Name::EMPTY, specialisation: None, scope: None },
            ty,
            init: None,
            is_constexpr: specs.function.is_constexpr,
            is_static: specs.function.is_static,
            is_extern: specs.is_extern,
            attributes: specs.attributes.list,
            span: self.since(span),
        };
        Some(Bindings { variable, names })
    }

    fn binding_names(&mut self) -> Option<Vec<(Name, Span)>> {
        let mut names = Vec::new();
        loop {
            let (name, span) = self.ident("a name to bind")?;
            names.push((name, span));
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.expect(Punct::RBracket, "to end the names").then_some(())?;
        for &(name, _) in &names {
            self.scopes.declare(name, NameKind::Value);
        }
        Some(names)
    }

    /// A declaration of structured bindings, up to its semicolon.
    pub(super) fn bindings_declaration(&mut self, place: Place, specs: Specifiers, start: Span) -> Vec<Item> {
        let Some(mut bindings) = self.bindings_head(specs) else {
            self.skip_statement();
            return Vec::new();
        };
        bindings.variable.init = self.initialiser();
        let span = self.since(start);
        if place != Place::Block {
            self.error("unsupported-feature", span, "structured bindings stand inside of functions only");
        }
        if bindings.variable.is_static || bindings.variable.is_constexpr || bindings.variable.is_extern {
            self.error("bad-bindings", span, "structured bindings take no storage class and no `constexpr`");
        }
        if bindings.variable.init.is_none() && !matches!(self.peek(), TokenKind::Eof) {
            self.error("bad-bindings", span, "structured bindings need an initialiser");
        }
        self.end_at_semicolon("the declaration");
        vec![Item {
            kind: ItemKind::Bindings(Box::new(bindings)),
            template: None,
            access: Access::Public,
            span,
        }]
    }
}
