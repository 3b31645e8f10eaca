//! Tells declarations from expressions where both may stand.
//!
//! Invariant: whatever is tried here is taken back; nothing is consumed and nothing reported.

use super::scope::NameKind;
use super::{Parser, attribute, specifier};
use crate::ast::{BuiltinType, TypeKind};
use crate::token::{Kw, Punct, TokenKind};

/// Does a declaration begin here (and not an expression)?
pub(super) fn may_start_declaration(p: &mut Parser<'_>) -> bool {
    if attribute::at(p) {
        return true;
    }
    match p.peek() {
        TokenKind::Keyword(
            Kw::Static
            | Kw::Constexpr
            | Kw::Const
            | Kw::Volatile
            | Kw::Extern
            | Kw::Inline
            | Kw::Device
            | Kw::Constant
            | Kw::Threadgroup
            | Kw::ThreadgroupImageblock
            | Kw::ObjectData
            | Kw::RayData
            | Kw::Thread
            | Kw::Auto
            | Kw::Register,
        ) => true,
        TokenKind::Keyword(_) | TokenKind::Ident(_) | TokenKind::Punct(Punct::ColonColon) => {
            specifier::may_start_type(p) && type_then_name(p)
        }
        _ => false,
    }
}

/// A type followed by something that can only be a declarator.
fn type_then_name(p: &mut Parser<'_>) -> bool {
    let unknown = matches!(p.peek(), TokenKind::Ident(name) if p.classify(name) == NameKind::Unknown);
    let start = p.checkpoint();
    let found = p.attempt(|p| {
        let ty = specifier::parse(p, false)?.ty?;
        let is_known = match &ty.kind {
            TypeKind::Builtin(builtin) => *builtin != BuiltinType::Void,
            TypeKind::Path(path) => match path.segments.as_slice() {
                [only] => only.args.is_none() && p.classify(only.name) == NameKind::Type,
                _ => false,
            },
            _ => false,
        };
        at_declarator(p, unknown, is_known).then_some(())
    });
    p.rewind(start);
    found.is_some()
}

/// What stands after array bounds, if there are any there: how many tokens ahead.
fn after_bounds(p: &Parser<'_>, from: usize) -> usize {
    /// Longer bounds are taken for no bounds.
    const MAX_TOKENS: usize = 64;
    let (mut at, mut depth) = (from, 0usize);
    while at < from + MAX_TOKENS {
        match p.peek_at(at) {
            TokenKind::Punct(Punct::LBracket) => depth += 1,
            TokenKind::Punct(Punct::RBracket) if depth > 0 => depth -= 1,
            _ if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    from
}

/// After a type: a name, or `*name`, `&name`, `(&name)[…]`.
fn at_declarator(p: &Parser<'_>, unknown_type: bool, is_known: bool) -> bool {
    let mut ahead = 0;
    let nested = p.next_is(0, Punct::LParen);
    if nested {
        ahead = 1;
    }
    let mut operators = 0;
    loop {
        match p.peek_at(ahead) {
            TokenKind::Punct(Punct::Star | Punct::Amp | Punct::AndAnd) => operators += 1,
            TokenKind::Keyword(
                Kw::Device
                | Kw::Constant
                | Kw::Threadgroup
                | Kw::ThreadgroupImageblock
                | Kw::ObjectData
                | Kw::RayData
                | Kw::Thread
                | Kw::Const
                | Kw::Volatile
                | Kw::Restrict,
            ) => {}
            TokenKind::Ident(_) => break,
            _ => return false,
        }
        ahead += 1;
    }
    if nested {
        let after = after_bounds(p, ahead + 1);
        // `(*p[n])` is a value, `(*p[n])(int)` an array of pointers to functions.
        let is_array = after > ahead + 1;
        if operators == 0 {
            // `T(x) = e;`, `T(x);`
            let ends = matches!(p.peek_at(after + 1), TokenKind::Punct(Punct::Assign | Punct::Semi));
            return is_known && p.next_is(after, Punct::RParen) && ends;
        }
        return operators > 0
            && p.next_is(after, Punct::RParen)
            && (!is_array || p.next_is(after + 1, Punct::LParen));
    }
    // `a * b;` with an unknown `a` is a product, `Unknown x` a declaration.
    if unknown_type && operators > 0 {
        return matches!(p.peek_at(ahead + 1), TokenKind::Punct(Punct::Assign));
    }
    true
}
