//! Qualified names and template argument lists: `a::b<c, 4>::template d<e>`.

use super::Parser;
use super::scope::{Entry, NameKind, ScopeId};
use crate::ast::{ExprKind, Path, PathSegment, TemplateArg, Type, TypeKind};
use crate::token::{Kw, Name, Punct, TokenKind};

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

impl Parser<'_> {
    /// Parses a path at an identifier, `::` or `operator`.
    pub(super) fn path(&mut self, expected: Expected) -> Option<ParsedPath> {
        let start = self.span();
        let global = self.eat(Punct::ColonColon);
        // Most paths are one name, and there are many.
        let mut segments = Vec::with_capacity(1);
        let mut looked_in: Option<ScopeId> = global.then(|| self.scopes.root());
        let mut after_scope = global;
        // Once a template-id or unknown name was passed, nothing is known of what follows.
        let mut dependent = false;
        loop {
            let template_kw = after_scope && self.eat_kw(Kw::Template);
            let (segment, entry) =
                self.path_segment(looked_in, after_scope, dependent, template_kw, expected)?;
            let has_args = segment.args.is_some();
            let is_operator = segment.operator.is_some();
            segments.push(segment);
            let more = self.is(Punct::ColonColon)
                && !is_operator
                && matches!(
                    self.peek_at(1),
                    TokenKind::Ident(_) | TokenKind::Keyword(Kw::Template | Kw::Operator)
                );
            if !more {
                let kind = match entry {
                    _ if is_operator => NameKind::Value,
                    Some(Entry { kind: NameKind::TypeTemplate, .. }) if has_args => NameKind::Type,
                    Some(Entry { kind: NameKind::ValueTemplate, .. }) if has_args => NameKind::Value,
                    Some(entry) => entry.kind,
                    None if expected == Expected::Type => NameKind::Unknown,
                    None => NameKind::Unknown,
                };
                let path = Path { global, segments, span: self.since(start) };
                return Some(ParsedPath { path, kind, scope: entry.and_then(|entry| entry.scope) });
            }
            self.advance();
            after_scope = true;
            looked_in = entry.and_then(|entry| entry.scope);
            dependent = looked_in.is_none();
        }
    }

    fn path_segment(
        &mut self,
        looked_in: Option<ScopeId>,
        after_scope: bool,
        dependent: bool,
        template_kw: bool,
        expected: Expected,
    ) -> Option<(PathSegment, Option<Entry>)> {
        let start = self.span();
        if self.is_kw(Kw::Operator) {
            let operator = self.operator_name()?;
            let args = if self.is(Punct::Less) { self.attempt(|p| p.template_args()) } else { None };
            let span = self.since(start);
            let name = Name::new("operator");
            return Some((PathSegment { name, operator: Some(operator), args, span }, None));
        }
        let (name, _) = self.ident("a name")?;
        let entry = match (after_scope, looked_in) {
            (true, Some(scope)) => self.scopes.lookup_in(scope, name),
            (true, None) => None,
            (false, _) => self.scopes.lookup(name),
        };
        let mut args = None;
        if self.is(Punct::Less) {
            args = match entry.map(|entry| entry.kind) {
                Some(NameKind::TypeTemplate | NameKind::ValueTemplate) => Some(self.template_args()?),
                // The injected class name of a template is a type, and still a template.
                Some(NameKind::Type) => self.attempt(|p| p.template_args()),
                Some(NameKind::Value | NameKind::Namespace) => None,
                _ if template_kw || (dependent && expected == Expected::Type) => Some(self.template_args()?),
                _ if dependent && !self.pending_template_call() => None,
                _ => self.attempt(|p| p.template_args().filter(|_| p.may_follow_template_args())),
            };
        }
        Some((PathSegment { name, operator: None, args, span: self.since(start) }, entry))
    }

    /// `T::name < …`: without `template` C++ says less-than; real code that means a template call
    /// closes the list right before `(` or `::`.
    fn pending_template_call(&mut self) -> bool {
        let start = self.checkpoint();
        let found = self
            .attempt(|p| {
                p.template_args()?;
                (p.is(Punct::LParen) || p.is(Punct::ColonColon)).then_some(())
            })
            .is_some();
        self.rewind(start);
        found
    }

    /// After `unknown<…>`, does what follows make sense only if it was a template?
    fn may_follow_template_args(&self) -> bool {
        matches!(
            self.peek(),
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
    pub(super) fn template_args(&mut self) -> Option<Vec<TemplateArg>> {
        if !self.expect(Punct::Less, "to begin template arguments") {
            return None;
        }
        let outer = std::mem::replace(&mut self.angle, true);
        let args = self.nested(|p| p.template_arg_list(), |_| None);
        self.angle = outer;
        args
    }

    fn template_arg_list(&mut self) -> Option<Vec<TemplateArg>> {
        let mut args = Vec::new();
        if !self.is_greater() {
            loop {
                args.push(self.template_arg()?);
                if !self.eat(Punct::Comma) {
                    break;
                }
            }
        }
        self.expect_greater().then_some(args)
    }

    fn template_arg(&mut self) -> Option<TemplateArg> {
        let ends = |p: &Self| p.is(Punct::Comma) || p.is_greater() || p.is(Punct::Ellipsis);
        if self.may_start_type()
            && !self.at_dependent_call()
            && let Some(ty) = self.attempt(|p| p.type_id().filter(|_| ends(p)))
        {
            return Some(TemplateArg::Type(self.pack_type(ty)));
        }
        let expr = self.conditional_expr();
        if matches!(expr.kind, ExprKind::Error) {
            return None;
        }
        Some(TemplateArg::Expr(self.pack_expansion(expr)))
    }

    /// `T::f(`: without `typename` a name in a type that is not known yet is a value's, so this is a call and
    /// no type of functions.
    fn at_dependent_call(&mut self) -> bool {
        if !self.at_qualified_call() {
            return false;
        }
        let start = self.checkpoint();
        let kind = self.attempt(|p| p.path(Expected::Type).map(|parsed| parsed.kind));
        self.rewind(start);
        kind == Some(NameKind::Unknown)
    }

    /// Whether the tokens look like `A::b(`, with or without template arguments.
    fn at_qualified_call(&self) -> bool {
        let (mut open, mut is_qualified) = (0u32, false);
        for ahead in 0..64 {
            match self.peek_at(ahead) {
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
    pub(super) fn pack_type(&mut self, ty: Type) -> Type {
        if self.is(Punct::Ellipsis) {
            self.advance();
            let span = self.since(ty.span);
            return Type { kind: TypeKind::Pack(Box::new(ty)), quals: Default::default(), span };
        }
        ty
    }

    /// Parses the scope of a namespace path, for `using namespace` and aliases.
    pub(super) fn namespace_scope(&self, parsed: &ParsedPath) -> Option<ScopeId> {
        (parsed.kind == NameKind::Namespace).then_some(parsed.scope).flatten()
    }
}
