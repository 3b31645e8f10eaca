//! Variables and their initialisers.

use super::attribute::Attributes;
use super::declarator::ParsedDeclarator;
use super::scope::{Entry, NameKind};
use super::{Parser, assembler, expr, init_list, postfix, template};
use crate::ast::{Declarator, FunctionSpecifiers, Initialiser, Variable};
use crate::token::{Kw, Name, Punct, TokenKind};

/// Declares the variable, then parses its initialiser, if one follows.
pub(super) fn rest(
    p: &mut Parser<'_>,
    declarator: ParsedDeclarator,
    specifiers: &FunctionSpecifiers,
    mut attributes: Attributes,
    is_extern: bool,
) -> Variable {
    attributes.list.extend(declarator.attributes.list);
    attributes.align.extend(declarator.attributes.align);
    let span = declarator.span;
    let name = declarator.name.as_ref().and_then(|name| name.simple());
    if name.is_none() {
        p.error("expected-name", span, "expected a variable's name");
    }
    let name = name.unwrap_or(Name::EMPTY);
    let (scope, specialisation) = declarator.name.map_or((None, None), |n| (n.scope, n.args));
    if scope.is_none() {
        let kind = if p.template_depth > 0 { NameKind::ValueTemplate } else { NameKind::Value };
        // Not in the scope of a variable template's own parameters.
        template::declare_outside_template(p, name, Entry { kind, scope: None });
    }
    if p.peek() == TokenKind::Keyword(Kw::Asm) {
        assembler::label(p);
    }
    let init = initialiser(p);
    Variable {
        id: p.ids.fresh(),
        declarator: Declarator { name, specialisation, scope },
        ty: declarator.ty,
        init,
        is_constexpr: specifiers.is_constexpr,
        is_static: specifiers.is_static,
        is_extern,
        is_inline: specifiers.is_inline,
        align: attributes.align,
        attributes: attributes.list,
        span,
    }
}

/// `= e`, `= {…}`, `(…)`, `{…}`.
pub(super) fn initialiser(p: &mut Parser<'_>) -> Option<Initialiser> {
    if p.eat(Punct::Assign) {
        let value = if p.is(Punct::LBrace) { init_list::parse(p) } else { expr::assignment(p) };
        return Some(Initialiser::Assign(value));
    }
    if p.is(Punct::LBrace) {
        return Some(Initialiser::Brace(init_list::brace_clauses(p)));
    }
    if p.eat(Punct::LParen) {
        let angle = std::mem::replace(&mut p.angle, false);
        let mut args = Vec::new();
        while !p.is(Punct::RParen) && !p.at_end() {
            let arg = if p.is(Punct::LBrace) { init_list::parse(p) } else { expr::assignment(p) };
            args.push(postfix::pack_expansion(p, arg));
            if !p.eat(Punct::Comma) {
                break;
            }
        }
        p.angle = angle;
        p.expect(Punct::RParen, "to end the initialiser");
        return Some(Initialiser::Paren(args));
    }
    None
}
