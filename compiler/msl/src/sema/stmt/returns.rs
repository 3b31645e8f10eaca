//! `return`, and deducing the type of a result from it.

use crate::ast::{self, ExprKind as Ast};
use crate::hir::{Expr, ExprKind, QualTy, Stmt, StmtKind, Ty};
use crate::sema::checker::Checker;
use crate::sema::fn_context::{AutoReturn, Returns};
use crate::sema::init::Memberwise;
use anymetal_diagnostics::Span;

impl<'a> Checker<'a> {
    pub(super) fn return_stmt(&mut self, value: Option<&'a ast::Expr>, span: Span, out: &mut Vec<Stmt>) {
        let Some(value) = value else {
            if let Returns::Type(ty) = self.function.returns
                && ty.ty != Ty::VOID
            {
                let shown = self.show(ty);
                self.error("missing-result", span, format!("`return` needs a value of type `{shown}` here"));
            }
            if let Returns::Auto(known @ None) = &mut self.function.returns {
                *known = Some(QualTy::plain(Ty::VOID));
            }
            Self::push(out, StmtKind::Return(None), span);
            return;
        };
        let result = match self.function.returns {
            Returns::Auto(Some(ty)) if ty.ty.is_error() => {
                self.expr(value);
                None
            }
            Returns::Type(ty) | Returns::Auto(Some(ty)) => self.returned(value, ty),
            Returns::Auto(None) => self.deduced_return(value),
        };
        let Some(result) = result else { return };
        if result.ty.ty == Ty::VOID {
            Self::push(out, StmtKind::Expr(result), span);
            Self::push(out, StmtKind::Return(None), span);
        } else {
            Self::push(out, StmtKind::Return(Some(result)), span);
        }
    }

    fn returned(&mut self, value: &'a ast::Expr, ty: QualTy) -> Option<Expr> {
        if let Ast::InitList(clauses) = &value.kind {
            let result = self.list_value(clauses, ty, value.span);
            return (!result.ty.ty.is_error()).then_some(result);
        }
        let checked = self.expr(value);
        if checked.ty.ty.is_error() {
            return None;
        }
        if ty.ty == Ty::VOID {
            if checked.ty.ty != Ty::VOID {
                self.error("excess-result", value.span, "a `void` function cannot return a value");
                return None;
            }
            return Some(checked);
        }
        self.converted_result(checked, ty)
    }

    fn converted_result(&mut self, value: Expr, ty: QualTy) -> Option<Expr> {
        let value = match value.kind {
            ExprKind::Local(local) if value.ty.ty == ty.ty => {
                if local.0 < self.function.params {
                    // A parameter is moved, or copied if its class moves no objects.
                    let moves = self.copies_by_code(Memberwise::Construct, ty.ty);
                    if moves { self.values().as_xvalue(value) } else { value }
                } else if !self.check_returned_copy(&value) {
                    return None;
                } else {
                    // Clang makes the variable where the result is wanted, without a copy.
                    self.values().rvalue(value)
                }
            }
            _ => value,
        };
        let result = self.convert(value, ty, "for the function's result");
        (!result.ty.ty.is_error()).then_some(result)
    }

    /// C++ wants a constructor that moves or copies the variable even where neither is done.
    fn check_returned_copy(&mut self, variable: &Expr) -> bool {
        let moved = self.values().as_xvalue(variable.clone());
        self.check_copying(Memberwise::Construct, &moved)
    }

    fn deduced_return(&mut self, value: &'a ast::Expr) -> Option<Expr> {
        let checked = self.expr(value);
        if checked.ty.ty.is_error() {
            // Not `void`, as without `return`: uses of the result are not in error themselves.
            self.function.returns = Returns::Auto(Some(QualTy::plain(Ty::ERROR)));
            return None;
        }
        let ty = if checked.ty.ty == Ty::VOID {
            QualTy::plain(Ty::VOID)
        } else {
            self.deduced_result_type(value, &checked)
        };
        self.function.returns = Returns::Auto(Some(ty));
        if ty.ty == Ty::VOID {
            return Some(checked);
        }
        self.converted_result(checked, ty)
    }

    fn deduced_result_type(&mut self, written: &'a ast::Expr, value: &Expr) -> QualTy {
        if self.function.auto_return == Some(AutoReturn::Decltype) {
            let ty = self.decltype_of_value(written, value);
            return self.initialised_type(ty);
        }
        if let Some(written) = self.function.auto_return
            && let Some(pointer) = self.auto_return_type(&written, value)
        {
            return pointer;
        }
        self.decayed_value(value.ty).unqualified()
    }

    /// `auto&` and `auto*` as result types.
    fn auto_return_type(&mut self, written: &AutoReturn, value: &Expr) -> Option<QualTy> {
        match written {
            AutoReturn::Reference { is_const } if value.is_place => {
                let mut to = value.ty;
                to.is_const |= is_const;
                Some(QualTy::plain(self.types.reference(to, false)))
            }
            _ => None,
        }
    }
}
