//! Constructors that a class takes over from a base by `using B::B;`.
//!
//! Invariant: the class's constructors include the base's declarations, and [`Checker::constructed`] replaces
//! calls of them by calls of constructors synthesised for the class.

use super::synthesised::{Synthesised, assigned};
use crate::hir::{Expr, ExprKind, FuncId, RecordId, Stmt, StmtKind, Ty};
use crate::sema::checker::{Checker, FnDeclId};
use anymetal_diagnostics::Span;

impl<'a> Checker<'a> {
    /// Adds the constructors of the base that a using-declaration names.
    pub(in crate::sema) fn inherit_constructors(&mut self, record: RecordId, base: Ty, span: Span) {
        let bases = &self.records.get(record).bases;
        let found = self.types.as_record(base).filter(|base| bases.iter().any(|(known, _)| known == base));
        let Some(base) = found else {
            let (class, shown) = (self.types.record(record).name.clone(), self.types.display(base));
            let message =
                format!("`{shown}` is not a direct base of `{class}`, which inherits its constructors");
            return self.error("bad-base", span, message);
        };
        for decl in self.records.get(base).constructors.clone() {
            // Default, copy and move constructors are the class's own.
            if !self.is_special_constructor(decl, base) {
                let inst = self.records.get_mut(record);
                inst.constructors.push(decl);
                inst.inherited.push((decl, base));
            }
        }
    }

    /// The constructors that the class itself declares.
    pub(in crate::sema) fn own_constructors(&self, record: RecordId) -> Vec<FnDeclId> {
        let inst = self.records.get(record);
        let is_own = |decl: &&FnDeclId| self.functions.decl(**decl).owner == Some(record);
        inst.constructors.iter().filter(is_own).copied().collect()
    }

    /// An object of a class, made by one of its constructors.
    pub(in crate::sema) fn constructed(&mut self, func: FuncId, args: Vec<Expr>, ty: Ty, span: Span) -> Expr {
        if !self.check_usable(func, None, span) {
            return self.poison(span);
        }
        let own = self.functions.inst(func).this.is_none_or(|this| this.ty == ty);
        let func = match self.types.as_record(ty).filter(|_| !own) {
            Some(record) => {
                if let Some(deletion) = self.default_deletion(record) {
                    self.report_deletion("inherited constructor", ty, deletion, span);
                    return self.poison(span);
                }
                self.synthesise(Synthesised::Inherited(record, func), span)
            }
            None => func,
        };
        Expr::value(ExprKind::Construct(func, args), ty, span)
    }

    /// What an inherited constructor does: the base's, and the other members as declared.
    pub(super) fn inherited_stmts(
        &mut self,
        record: RecordId,
        func: FuncId,
        args: Vec<Expr>,
        stmts: &mut Vec<Stmt>,
        span: Span,
    ) {
        self.clear_bit_fields(record, stmts, span);
        let decl = self.functions.inst(func).origin.decl();
        let inst = self.records.get(record);
        let base = inst.inherited.iter().find(|(known, _)| Some(*known) == decl);
        let (_, base) = *base.expect("the constructor is inherited from a base");
        let field = inst.bases.iter().find(|(known, _)| *known == base).and_then(|(_, field)| *field);
        let base_ty = self.records.get(base).ty;
        let value = self.constructed(func, args, base_ty, span);
        match (field, self.this_object(span)) {
            (Some(field), Some(object)) => {
                let place = self.values().raw_field(object, record, field, span);
                stmts.push(Stmt { kind: StmtKind::Expr(assigned(place, value, span)), span });
            }
            // An empty base has no member: the arguments count only.
            _ => stmts.push(Stmt { kind: StmtKind::Expr(value), span }),
        }
        for index in 0..self.types.record(record).fields.len() as u32 {
            if Some(index) != field {
                self.default_field(record, index, stmts, span);
            }
        }
    }
}
