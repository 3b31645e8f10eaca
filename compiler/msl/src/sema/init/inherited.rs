//! Constructors that a class takes over from a base by `using B::B;`.
//!
//! Invariant: the class's constructors include the base's declarations, and [`constructed`] replaces
//! calls of them by calls of constructors synthesised for the class.

use super::synthesised::{Synthesised, assigned};
use super::{constructor, synthesised};
use crate::hir::{Expr, ExprKind, FuncId, RecordId, Stmt, StmtKind, Ty};
use crate::sema::checker::Checker;
use crate::sema::entities::FnDeclId;
use crate::sema::function::Functions;
use crate::sema::record::Records;
use crate::sema::{call, special};
use anymetal_diagnostics::Span;

/// Adds the constructors of the base that a using-declaration names.
pub(in crate::sema) fn inherit_constructors(cx: &mut Checker<'_>, record: RecordId, base: Ty, span: Span) {
    let bases = &cx.records.get(record).bases;
    let found = cx.types.as_record(base).filter(|base| bases.iter().any(|(known, _)| known == base));
    let Some(base) = found else {
        let (class, shown) = (cx.types.record(record).name.clone(), cx.types.display(base));
        let message = format!("`{shown}` is not a direct base of `{class}`, which inherits its constructors");
        return cx.error("bad-base", span, message);
    };
    for decl in cx.records.get(base).constructors.clone() {
        // Default, copy and move constructors are the class's own.
        if !special::is_special_constructor(cx, decl, base) {
            let inst = cx.records.get_mut(record);
            inst.constructors.push(decl);
            inst.inherited.push((decl, base));
        }
    }
}

/// The constructors that the class itself declares.
pub(in crate::sema) fn own_constructors(
    records: &Records<'_>,
    functions: &Functions<'_>,
    record: RecordId,
) -> Vec<FnDeclId> {
    let inst = records.get(record);
    let is_own = |decl: &&FnDeclId| functions.decl(**decl).owner == Some(record);
    inst.constructors.iter().filter(is_own).copied().collect()
}

/// An object of a class, made by one of its constructors.
pub(in crate::sema) fn constructed(
    cx: &mut Checker<'_>,
    func: FuncId,
    args: Vec<Expr>,
    ty: Ty,
    span: Span,
) -> Expr {
    if !special::check_usable(cx, func, None, span) {
        return cx.poison(span);
    }
    let own = cx.functions.inst(func).this.is_none_or(|this| this.ty == ty);
    let func = match cx.types.as_record(ty).filter(|_| !own) {
        Some(record) => {
            if let Some(deletion) = special::default_deletion(&cx.types, &cx.records, &cx.functions, record) {
                special::report_deletion(
                    &cx.types,
                    &mut cx.diagnostics,
                    "inherited constructor",
                    ty,
                    deletion,
                    span,
                );
                return cx.poison(span);
            }
            synthesised::synthesise(cx, Synthesised::Inherited(record, func), span)
        }
        None => func,
    };
    Expr::value(ExprKind::Construct(func, args), ty, span)
}

/// What an inherited constructor does: the base's, and the other members as declared.
pub(super) fn inherited_stmts(
    cx: &mut Checker<'_>,
    record: RecordId,
    func: FuncId,
    args: Vec<Expr>,
    stmts: &mut Vec<Stmt>,
    span: Span,
) {
    constructor::clear_bit_fields(cx, record, stmts, span);
    let decl = cx.functions.inst(func).origin.decl();
    let inst = cx.records.get(record);
    let base = inst.inherited.iter().find(|(known, _)| Some(*known) == decl);
    let (_, base) = *base.expect("the constructor is inherited from a base");
    let field = inst.bases.iter().find(|(known, _)| *known == base).and_then(|(_, field)| *field);
    let base_ty = cx.records.get(base).ty;
    let value = constructed(cx, func, args, base_ty, span);
    match (field, call::this_object(cx, span)) {
        (Some(field), Some(object)) => {
            let place = cx.values().raw_field(object, record, field, span);
            stmts.push(Stmt { kind: StmtKind::Expr(assigned(place, value, span)), span });
        }
        // An empty base has no member: the arguments count only.
        _ => stmts.push(Stmt { kind: StmtKind::Expr(value), span }),
    }
    constructor::construct_empty_bases(cx, record, &[base], stmts, span);
    for index in 0..cx.types.record(record).fields.len() as u32 {
        if Some(index) != field {
            constructor::default_field(cx, record, index, stmts, span);
        }
    }
}
