//! Tables of visible functions: `visible_function_table<T>`.
//!
//! The Metal library declares the type; a record is one by the name of its first member, which programs
//! cannot use: the memory of the entries. An entry has a function's number in its low 32 bits and the number
//! of entries in the others ([`anymetal_abi::functions`]).

use super::checker::{Checker, TArg};
use crate::ast;
use crate::hir::{CastKind, Expr, ExprKind, QualTy, Ty, TyKind};
use anymetal_diagnostics::Span;

impl<'a> Checker<'a> {
    /// Whether a type is that of tables.
    pub(super) fn is_function_table(&self, ty: Ty) -> bool {
        let first = self.types.as_record(ty).and_then(|record| self.types.record(record).fields.first());
        first.is_some_and(|first| first.name == self.names.function_table)
    }

    /// The type of the pointers that a table gives.
    fn table_pointer(&mut self, table: Ty, span: Span) -> Option<Ty> {
        let record = self.types.as_record(table)?;
        let signature = match self.records.get(record).args.first() {
            Some(TArg::Type(ty)) => *ty,
            _ => return None,
        };
        if self.types.pointed_function(signature.ty).is_some() {
            let function = self.types.pointed_function(signature.ty)?;
            return Some(self.types.pointer(QualTy::plain(function)));
        }
        if !matches!(self.types.kind(signature.ty), TyKind::Function { .. }) {
            let message = format!("a table of `{}` has no functions", self.show(signature));
            self.error("not-a-function-type", span, message);
            return None;
        }
        Some(self.types.pointer(QualTy::plain(signature.ty)))
    }

    /// `table[index]`.
    pub(super) fn function_of_table(&mut self, table: Expr, index: &'a ast::Expr, span: Span) -> Expr {
        let index = self.expr(index);
        let index = self.builtin_operand(index);
        let index = self.values().rvalue(index);
        if index.ty.ty.is_error() {
            return index;
        }
        if self.types.scalar_repr(index.ty.ty).is_none_or(|scalar| scalar.is_float()) {
            let shown = self.types.display(index.ty.ty);
            self.error("bad-index", index.span, format!("an index must be an integer, not a `{shown}`"));
            return self.poison(span);
        }
        let Some(pointer) = self.table_pointer(table.ty.ty, span) else { return self.poison(span) };
        let entry = self.table_entry(table, index, span);
        // The number is the low half.
        let number = self.values().cast_value(CastKind::Convert, entry, Ty::UINT, span);
        let number = self.values().cast_value(CastKind::Convert, number, Ty::ULONG, span);
        self.values().cast_value(CastKind::Bitcast, number, pointer, span)
    }

    /// The entry of a table, an unsigned integer of 64 bits.
    fn table_entry(&mut self, table: Expr, index: Expr, span: Span) -> Expr {
        let place = self.materialize(table);
        let Some(record) = self.types.as_record(place.ty.ty) else { return self.poison(span) };
        let entries = self.values().raw_field(place, record, 0, span);
        let entries = self.values().rvalue(entries);
        let Some(element) = self.types.pointee(entries.ty.ty) else { return self.poison(span) };
        let ty = entries.ty.ty;
        let index = self.values().cast_value(CastKind::Convert, index, Ty::LONG, span);
        let at = Expr::value(ExprKind::PointerAdd(Box::new(entries), Box::new(index)), ty, span);
        let entry = Expr::place(ExprKind::Deref(Box::new(at)), element, span);
        Expr::value(ExprKind::Load(Box::new(entry)), element.ty, span)
    }
}
