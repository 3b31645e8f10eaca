//! Structured bindings: `auto [a, b] = e;`, `const auto& [x, y]{e};`, and those of a range-based `for`.

use super::declarator::Place;
use super::scope::NameKind;
use super::specifier::Specifiers;
use super::{Parser, variable};
use crate::ast::{Access, Bindings, Declarator, Item, ItemKind, Type, TypeKind, Variable};
use crate::token::{Name, Punct, TokenKind};
use anymetal_diagnostics::Span;

/// After the specifiers: `[`, `&[` or `&&[` after `auto`.
pub(super) fn at(p: &Parser<'_>, specs: &Specifiers) -> bool {
    if !matches!(specs.ty, Some(Type { kind: TypeKind::Auto, .. })) {
        return false;
    }
    let ahead = usize::from(p.is(Punct::Amp) || p.is(Punct::AndAnd));
    p.next_is(ahead, Punct::LBracket) && !p.next_is(ahead + 1, Punct::LBracket)
}

/// The unnamed variable and the names, without the initialiser.
pub(super) fn head(p: &mut Parser<'_>, specs: Specifiers) -> Option<Bindings> {
    let mut ty = specs.ty?;
    let start = ty.span;
    if p.is(Punct::Amp) || p.is(Punct::AndAnd) {
        let rvalue = p.is(Punct::AndAnd);
        p.advance();
        let kind = TypeKind::Reference { referent: Box::new(ty), rvalue };
        ty = Type { kind, quals: Default::default(), span: p.since(start) };
    }
    let span = p.span();
    p.advance();
    let names = names(p)?;
    let variable = Variable {
        id: p.ids.fresh(),
        declarator: Declarator { name: Name::EMPTY, specialisation: None, scope: None },
        ty,
        init: None,
        is_constexpr: specs.function.is_constexpr,
        is_static: specs.function.is_static,
        is_extern: specs.is_extern,
        is_inline: specs.function.is_inline,
        align: specs.attributes.align,
        attributes: specs.attributes.list,
        span: p.since(span),
    };
    Some(Bindings { variable, names })
}

fn names(p: &mut Parser<'_>) -> Option<Vec<(Name, Span)>> {
    let mut names = Vec::new();
    loop {
        let (name, span) = p.ident("a name to bind")?;
        names.push((name, span));
        if !p.eat(Punct::Comma) {
            break;
        }
    }
    p.expect(Punct::RBracket, "to end the names").then_some(())?;
    for &(name, _) in &names {
        p.scopes.declare(name, NameKind::Value);
    }
    Some(names)
}

/// A declaration of structured bindings, up to its semicolon.
pub(super) fn declaration(p: &mut Parser<'_>, place: Place, specs: Specifiers, start: Span) -> Vec<Item> {
    let Some(mut bindings) = head(p, specs) else {
        p.skip_statement();
        return Vec::new();
    };
    bindings.variable.init = variable::initialiser(p);
    let span = p.since(start);
    if place != Place::Block {
        p.error("unsupported-feature", span, "structured bindings stand inside of functions only");
    }
    if bindings.variable.is_static || bindings.variable.is_constexpr || bindings.variable.is_extern {
        p.error("bad-bindings", span, "structured bindings take no storage class and no `constexpr`");
    }
    if bindings.variable.init.is_none() && !matches!(p.peek(), TokenKind::Eof) {
        p.error("bad-bindings", span, "structured bindings need an initialiser");
    }
    p.end_at_semicolon("the declaration");
    vec![Item { kind: ItemKind::Bindings(Box::new(bindings)), template: None, access: Access::Public, span }]
}
