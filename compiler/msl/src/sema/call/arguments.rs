//! Arguments: checked for themselves first, converted to parameter types later, completed by defaults.

use super::Arg;
use crate::ast::{self, ExprKind as AstKind, InitClause, UnaryOp};
use crate::hir::{Expr, FuncId, QualTy};
use crate::sema::checker::Checker;
use crate::sema::function::Origin;
use crate::sema::lookup::Found;
use crate::sema::path::Target;
use anymetal_diagnostics::Span;

impl<'a> Checker<'a> {
    /// Checks arguments, expanding packs. `None` if one is in error (all are checked).
    pub(in crate::sema) fn call_args(
        &mut self,
        args: impl IntoIterator<Item = &'a ast::Expr>,
    ) -> Option<Vec<Arg<'a>>> {
        let mut out = Vec::new();
        for arg in args {
            if let AstKind::PackExpansion(inner) = &arg.kind {
                for n in 0..self.scopes.pack_length_of_expr(inner).unwrap_or(0) {
                    out.push(self.with_pack_index(n, |s| s.call_arg(inner)));
                    if self.diagnostics.gave_up() {
                        return None;
                    }
                }
            } else {
                out.push(self.call_arg(arg));
            }
        }
        out.iter().all(is_fine).then_some(out)
    }

    /// The clauses of a braced list as plain arguments. `None` after an error.
    pub(in crate::sema) fn clause_args(&mut self, clauses: &'a [InitClause]) -> Option<Vec<Arg<'a>>> {
        self.call_args(clauses.iter().map(|clause| &clause.value))
    }

    pub(in crate::sema) fn call_arg(&mut self, arg: &'a ast::Expr) -> Arg<'a> {
        match &arg.kind {
            AstKind::InitList(clauses) => Arg::List(clauses, arg.span),
            AstKind::Path(path) => match self.resolve_path(path) {
                Ok(Target { found: Found::Functions(decls), args, .. }) => {
                    Arg::Functions(decls, args, path.span)
                }
                Ok(target) => Arg::Expr(self.target_value(target, path)),
                Err(miss) => Arg::Expr(self.missed(miss, arg.span)),
            },
            AstKind::Unary(UnaryOp::AddressOf, inner) => match self.functions_named(inner) {
                Some(functions) => functions,
                None => Arg::Expr(self.expr(arg)),
            },
            _ => Arg::Expr(self.expr(arg)),
        }
    }

    /// The functions that an expression names: with `&` before it they are the same.
    fn functions_named(&mut self, expr: &'a ast::Expr) -> Option<Arg<'a>> {
        match &expr.kind {
            AstKind::Paren(inner) => self.functions_named(inner),
            // What is wrong with it is told when it is checked as an expression.
            AstKind::Path(path) => match self.quietly(|s| s.resolve_path(path)) {
                Ok(Ok(Target { found: Found::Functions(decls), args, .. })) => {
                    Some(Arg::Functions(decls, args, path.span))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Converts an argument to its parameter's type.
    pub(in crate::sema) fn convert_arg(&mut self, arg: Arg<'a>, to: QualTy) -> Expr {
        match arg {
            Arg::Expr(expr) => self.convert(expr, to, "for this argument"),
            Arg::List(clauses, span) => self.list_value(clauses, to, span),
            Arg::Functions(decls, args, span) => self.function_of_pointer(&decls, args, to, span),
        }
    }

    /// Adds default arguments for the parameters that have no argument yet.
    pub(in crate::sema) fn default_arguments(&mut self, func: FuncId, values: &mut Vec<Expr>, span: Span) {
        let Origin::Decl(decl) = self.functions.inst(func).origin else { return };
        let params = self.functions.inst(func).params.clone();
        let ast = self.functions.decl(decl).ast;
        let scope = self.functions.inst(func).scope;
        while values.len() < params.len() {
            let n = values.len();
            let Some(default) = ast.params.get(n).and_then(|param| param.default.as_ref()) else {
                let message =
                    format!("`{}` takes {} arguments, not {n}", self.functions.inst(func).name, params.len());
                self.error("argument-count", span, message);
                return;
            };
            let value = self.in_scope(scope, |s| {
                let arg = s.call_arg(default);
                s.convert_arg(arg, params[n])
            });
            values.push(value);
        }
    }
}

fn is_fine(arg: &Arg<'_>) -> bool {
    !matches!(arg, Arg::Expr(expr) if expr.ty.ty.is_error())
}
