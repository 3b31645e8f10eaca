//! Types as patterns: opened by one level, so that they can be compared with structured ones.

use super::{ArgPat, Pat, TemplatePat, ValuePat, quals_of};
use crate::hir::{QualTy, Ty, TyKind, Types};
use crate::sema::entities::TArg;
use crate::sema::evaluate::integer_of;
use crate::sema::record::Records;

/// A fixed pattern opened by one level, so that it can be compared with a structured one.
pub(in crate::sema) fn open_pattern<'a>(types: &Types, records: &Records<'a>, pat: &Pat<'a>) -> Pat<'a> {
    let Pat::Fixed(ty) = *pat else { return pat.clone() };
    let quals = quals_of(ty);
    match *types.kind(ty.ty) {
        TyKind::Pointer(pointee) => Pat::Pointer(Box::new(Pat::Fixed(pointee))),
        TyKind::Reference { to, rvalue } => Pat::Reference { to: Box::new(Pat::Fixed(to)), rvalue },
        TyKind::Array(elem, len) => {
            Pat::Array(Box::new(Pat::Fixed(ty.with_ty(elem))), ValuePat::Fixed(i128::from(len)))
        }
        TyKind::Vector { elem, len, packed } => Pat::Vector {
            elem: Box::new(Pat::Fixed(QualTy::plain(Ty::scalar(elem)))),
            len: ValuePat::Fixed(i128::from(len)),
            packed,
            quals,
        },
        TyKind::Matrix { elem, cols, rows } => Pat::Matrix {
            elem: Box::new(Pat::Fixed(QualTy::plain(Ty::scalar(elem)))),
            cols: ValuePat::Fixed(i128::from(cols)),
            rows: ValuePat::Fixed(i128::from(rows)),
            quals,
        },
        TyKind::Function { ret, ref params, form } => Pat::Function {
            form,
            ret: Box::new(Pat::Fixed(ret)),
            params: params.iter().map(|&param| ArgPat::Type(Pat::Fixed(param))).collect(),
        },
        TyKind::Record(id) => match records.get(id).template.clone() {
            Some(template) => {
                let args = records.get(id).args.clone();
                let args = args.iter().map(|arg| fixed_arg(types, arg)).collect();
                Pat::Class { template, args, quals }
            }
            None => Pat::Fixed(ty),
        },
        _ => Pat::Fixed(ty),
    }
}

fn fixed_arg<'a>(types: &Types, arg: &TArg) -> ArgPat<'a> {
    match arg {
        TArg::Type(ty) => ArgPat::Type(Pat::Fixed(*ty)),
        TArg::Value(ty, value) => {
            ArgPat::Value(integer_of(types, *ty, value).map_or(ValuePat::Opaque, ValuePat::Fixed))
        }
        TArg::Template(id) => ArgPat::Template(TemplatePat::Fixed(*id)),
        TArg::Function(_) | TArg::Pack(_) => ArgPat::Value(ValuePat::Opaque),
    }
}
