//! Qualified names and template argument lists: `a::b<c, 4>::template d<e>`.

use super::scope::{Entry, NameKind, ScopeId};
use super::{Parser, expr, operator_name, postfix, specifier};
use crate::ast::{ExprKind, Path, PathSegment, TemplateArg, Type, TypeKind};
use crate::token::{Kw, Name, Punct, TokenKind};
use anymetal_diagnostics::Span;

/// A path and what is known of what it names.
pub(super) struct ParsedPath {
    pub(super) path: Path,
    pub(super) kind: NameKind,
    /// The scope of the class or namespace that it names.
    pub(super) scope: Option<ScopeId>,
}

/// What the grammar expects a path to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// After `typename`, or where only a type can stand.
    Type,
    /// Where an expression stands.
    Value,
}

/// Parses a path at an identifier, `::` or `operator`.
pub(super) fn path(p: &mut Parser<'_>, expected: Expected) -> Option<ParsedPath> {
    let start = p.span();
    let global = p.eat(Punct::ColonColon);
    path_after(p, expected, start, global, global)
}

/// Parses the rest of a path after `A::`, of which nothing is known.
pub(super) fn path_in_class(p: &mut Parser<'_>, expected: Expected) -> Option<ParsedPath> {
    let start = p.span();
    path_after(p, expected, start, false, true)
}

fn path_after(
    p: &mut Parser<'_>,
    expected: Expected,
    start: Span,
    global: bool,
    mut after_scope: bool,
) -> Option<ParsedPath> {
    // Most paths are one name, and there are many.
    let mut segments = Vec::with_capacity(1);
    let mut looked_in: Option<ScopeId> = global.then(|| p.scopes.root());
    // Once a template-id or unknown name was passed, nothing is known of what follows.
    let mut dependent = after_scope && !global;
    loop {
        let template_kw = after_scope && p.eat_kw(Kw::Template);
        let (segment, entry) = path_segment(p, looked_in, after_scope, dependent, template_kw, expected)?;
        let has_args = segment.args.is_some();
        let is_operator = segment.operator.is_some();
        segments.push(segment);
        let more = p.is(Punct::ColonColon)
            && !is_operator
            && matches!(p.peek_at(1), TokenKind::Ident(_) | TokenKind::Keyword(Kw::Template | Kw::Operator));
        if !more {
            let kind = match entry {
                _ if is_operator => NameKind::Value,
                Some(Entry { kind: NameKind::TypeTemplate, .. }) if has_args => NameKind::Type,
                Some(Entry { kind: NameKind::ValueTemplate, .. }) if has_args => NameKind::Value,
                Some(entry) => entry.kind,
                None if expected == Expected::Type => NameKind::Unknown,
                None => NameKind::Unknown,
            };
            let path = Path { global, segments, tag: None, is_typename: false, span: p.since(start) };
            return Some(ParsedPath { path, kind, scope: entry.and_then(|entry| entry.scope) });
        }
        p.advance();
        after_scope = true;
        looked_in = entry.and_then(|entry| entry.scope);
        dependent = looked_in.is_none();
    }
}

fn path_segment(
    p: &mut Parser<'_>,
    looked_in: Option<ScopeId>,
    after_scope: bool,
    dependent: bool,
    template_kw: bool,
    expected: Expected,
) -> Option<(PathSegment, Option<Entry>)> {
    let start = p.span();
    if p.is_kw(Kw::Operator) {
        let operator = operator_name::parse(p)?;
        let args = if p.is(Punct::Less) { p.attempt(|p| template_args(p)) } else { None };
        let span = p.since(start);
        let name = Name::new("operator");
        return Some((
            PathSegment { name, operator: Some(operator), args, has_template_word: template_kw, span },
            None,
        ));
    }
    let (name, _) = p.ident("a name")?;
    let entry = match (after_scope, looked_in) {
        (true, Some(scope)) => p.scopes.lookup_in(scope, name),
        (true, None) => None,
        (false, _) => p.scopes.lookup(name),
    };
    let mut args = None;
    if p.is(Punct::Less) {
        args = match entry.map(|entry| entry.kind) {
            Some(NameKind::TypeTemplate | NameKind::ValueTemplate) => Some(template_args(p)?),
            // The injected class name of a template is a type, and still a template.
            Some(NameKind::Type) => p.attempt(|p| template_args(p)),
            Some(NameKind::Value | NameKind::Namespace) => None,
            _ if template_kw || (dependent && expected == Expected::Type) => Some(template_args(p)?),
            _ if dependent && !pending_template_call(p) => None,
            _ => p.attempt(|p| template_args(p).filter(|_| may_follow_template_args(p))),
        };
    }
    let span = p.since(start);
    if template_kw && args.is_none() && p.is(Punct::LParen) {
        p.error("expected-token", span, "expected template arguments after a name with `template`");
    }
    Some((PathSegment { name, operator: None, args, has_template_word: template_kw, span }, entry))
}

/// `T::name < …`: without `template` C++ says less-than; real code that means a template call
/// closes the list right before `(` or `::`.
fn pending_template_call(p: &mut Parser<'_>) -> bool {
    let start = p.checkpoint();
    let found = p
        .attempt(|p| {
            template_args(p)?;
            (p.is(Punct::LParen) || p.is(Punct::ColonColon)).then_some(())
        })
        .is_some();
    p.rewind(start);
    found
}

/// After `unknown<…>`, does what follows make sense only if it was a template?
fn may_follow_template_args(p: &Parser<'_>) -> bool {
    matches!(
        p.peek(),
        TokenKind::Punct(
            Punct::LParen
                | Punct::ColonColon
                | Punct::LBrace
                | Punct::Greater
                | Punct::Shr
                | Punct::Comma
                | Punct::RParen
                | Punct::Semi
                | Punct::Star
                | Punct::Amp
                | Punct::Ellipsis
        ) | TokenKind::Ident(_)
            | TokenKind::Eof
    )
}

/// Parses `<…>`.
pub(super) fn template_args(p: &mut Parser<'_>) -> Option<Vec<TemplateArg>> {
    if !p.expect(Punct::Less, "to begin template arguments") {
        return None;
    }
    let outer = std::mem::replace(&mut p.angle, true);
    let args = p.nested(|p| template_arg_list(p), |_| None);
    p.angle = outer;
    args
}

fn template_arg_list(p: &mut Parser<'_>) -> Option<Vec<TemplateArg>> {
    let mut args = Vec::new();
    if !p.is_greater() {
        loop {
            args.push(template_arg(p)?);
            if !p.eat(Punct::Comma) {
                break;
            }
        }
    }
    p.expect_greater().then_some(args)
}

fn template_arg(p: &mut Parser<'_>) -> Option<TemplateArg> {
    let ends = |p: &Parser<'_>| p.is(Punct::Comma) || p.is_greater() || p.is(Punct::Ellipsis);
    if specifier::may_start_type(p)
        && !at_dependent_call(p)
        && let Some(ty) = p.attempt(|p| specifier::type_id(p).filter(|_| ends(p)))
    {
        return Some(TemplateArg::Type(pack_type(p, ty)));
    }
    let expr = expr::conditional(p);
    if matches!(expr.kind, ExprKind::Error) {
        return None;
    }
    Some(TemplateArg::Expr(postfix::pack_expansion(p, expr)))
}

/// `T::f(`: without `typename` a name in a type that is not known yet is a value's, so this is a call and
/// no type of functions.
fn at_dependent_call(p: &mut Parser<'_>) -> bool {
    if !at_qualified_call(p) {
        return false;
    }
    let start = p.checkpoint();
    let kind = p.attempt(|p| path(p, Expected::Type).map(|parsed| parsed.kind));
    p.rewind(start);
    kind == Some(NameKind::Unknown)
}

/// Whether the tokens look like `A::b(`, with or without template arguments.
fn at_qualified_call(p: &Parser<'_>) -> bool {
    let (mut open, mut is_qualified) = (0u32, false);
    for ahead in 0..64 {
        match p.peek_at(ahead) {
            TokenKind::Punct(Punct::Less) => open += 1,
            TokenKind::Punct(Punct::Greater) if open > 0 => open -= 1,
            TokenKind::Punct(Punct::ColonColon) => is_qualified |= open == 0,
            TokenKind::Punct(Punct::LParen) if open == 0 => return is_qualified && ahead > 0,
            TokenKind::Ident(_) => {}
            _ if open > 0 => {}
            _ => return false,
        }
    }
    false
}

/// Wraps a type followed by `...`.
pub(super) fn pack_type(p: &mut Parser<'_>, ty: Type) -> Type {
    if p.is(Punct::Ellipsis) {
        p.advance();
        let span = p.since(ty.span);
        return Type { kind: TypeKind::Pack(Box::new(ty)), quals: Default::default(), span };
    }
    ty
}

/// Parses the scope of a namespace path, for `using namespace` and aliases.
pub(super) fn namespace_scope(parsed: &ParsedPath) -> Option<ScopeId> {
    (parsed.kind == NameKind::Namespace).then_some(parsed.scope).flatten()
}
