//! Parameter packs: how many elements an expansion has, and lists with expansions.

use super::arena::MadeSyntax;
use super::ast_names::{self, Visitor};
use super::scopes::Scopes;
use crate::ast::{self, ExprKind, InitClause};
use crate::token::Name;
use std::rc::Rc;
use std::sync::Arc;

impl Scopes<'_> {
    pub(super) fn pack_length_of_type(&self, ty: &ast::Type) -> Option<usize> {
        let mut names = Vec::new();
        ast_names::in_type(ty, &mut Visitor::unexpanded(&mut |name| names.push(name)));
        self.first_pack(&names)
    }

    pub(super) fn pack_length_of_expr(&self, expr: &ast::Expr) -> Option<usize> {
        let mut names = Vec::new();
        ast_names::in_expr(expr, &mut Visitor::unexpanded(&mut |name| names.push(name)));
        self.first_pack(&names)
    }

    pub(super) fn pack_length_of_path(&self, path: &ast::Path) -> Option<usize> {
        let mut names = Vec::new();
        ast_names::in_path(path, &mut Visitor::unexpanded(&mut |name| names.push(name)));
        self.first_pack(&names)
    }

    /// Whether a type expands a pack with an unknown number of elements.
    pub(super) fn expands_unknown_type(&self, ty: &ast::Type) -> bool {
        let mut is_unknown = false;
        let mut look = |name| is_unknown |= self.is_unknown_pack(name);
        ast_names::in_type(ty, &mut Visitor::unexpanded(&mut look));
        is_unknown
    }

    /// As [`Self::expands_unknown_type`], for an expression.
    pub(super) fn expands_unknown_expr(&self, expr: &ast::Expr) -> bool {
        let mut is_unknown = false;
        let mut look = |name| is_unknown |= self.is_unknown_pack(name);
        ast_names::in_expr(expr, &mut Visitor::unexpanded(&mut look));
        is_unknown
    }

    fn first_pack(&self, names: &[Name]) -> Option<usize> {
        names.iter().find_map(|&name| self.pack_length(name))
    }

    /// The number of values in a clause of a list.
    fn clause_length(&self, clause: &InitClause) -> usize {
        match &clause.value.kind {
            ExprKind::PackExpansion(inner) => self.pack_length_of_expr(inner).unwrap_or(0),
            _ => 1,
        }
    }
}

impl<'a> MadeSyntax<'a> {
    /// The clauses of a list with those of packs written out: `{f(xs)...}`.
    pub(super) fn expanded_clauses(
        &mut self,
        scopes: &Scopes<'a>,
        clauses: &'a [InitClause],
    ) -> &'a [InitClause] {
        let has_expansion =
            clauses.iter().any(|clause| matches!(clause.value.kind, ExprKind::PackExpansion(_)));
        let Some(first) = clauses.first().filter(|_| has_expansion) else { return clauses };
        let lengths: Rc<[usize]> = clauses.iter().map(|clause| scopes.clause_length(clause)).collect();
        if let Some(known) = self.list(first.id, &lengths) {
            return known;
        }
        let mut expanded = Vec::new();
        for (clause, &length) in clauses.iter().zip(lengths.iter()) {
            let ExprKind::PackExpansion(inner) = &clause.value.kind else {
                expanded.push(clause.clone());
                continue;
            };
            let inner = Arc::new(ast::Expr::clone(inner));
            for n in 0..length {
                let kind = ExprKind::PackElement(inner.clone(), n);
                let value = ast::Expr { kind, ..clause.value.clone() };
                expanded.push(InitClause { id: clause.id, designators: clause.designators.clone(), value });
            }
        }
        self.add_list(first.id, lengths, expanded)
    }
}
