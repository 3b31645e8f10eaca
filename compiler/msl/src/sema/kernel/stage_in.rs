//! Stage-in data: the structure of a parameter with `[[stage_in]]` (MSL specification 5.2.4).
//!
//! Each member has a number (`[[attribute(n)]]`), by which the host says where its data are, and a function
//! of the header `<anymetal_stage_input>` that fetches and converts them. Invariant: members are scalars and
//! vectors that such a function gives, and no two have one number.

use super::indices;
use crate::ast::{self, ItemKind};
use crate::hir::{
    FieldInfo, FuncId, KernelParam, KernelParamKind, RecordId, ScalarTy, StageInMember, TyKind, Types,
};
use crate::sema::checker::Checker;
use crate::sema::diagnostics::Diagnostics;
use crate::sema::entities::Found;
use crate::sema::stage::Attributed;
use crate::sema::{call, function, lookup, record};
use crate::token::Name;
use anymetal_abi::stage_input::MAX_ATTRIBUTES;
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

/// The functions that fill in a parameter before the kernel's code runs.
pub(in crate::sema) fn fetches(kind: &KernelParamKind) -> impl Iterator<Item = FuncId> {
    let members = match kind {
        KernelParamKind::StageIn { members } => members.as_slice(),
        _ => &[],
    };
    members.iter().map(|member| member.fetch)
}

pub(super) fn param<'a>(cx: &mut Checker<'a>, param: &Attributed<'a>) -> Option<KernelParamKind> {
    let ty = param.ty;
    let Some(record) = cx.types.as_record(ty.ty).filter(|&record| !cx.types.record(record).is_union) else {
        let message = format!("stage-in data are a structure, not `{}`", cx.show(ty));
        cx.error("stage-in", param.span, message);
        return None;
    };
    if !record::complete_type(cx, ty.ty, param.span) {
        return None;
    }
    let errors = cx.diagnostics.error_count();
    let mut members: Vec<StageInMember> = Vec::new();
    for (field, declared) in stage_in_members(cx, record, param.span) {
        let Some((attribute, elem, len)) = stage_in_attribute(cx, record, &field, declared) else { continue };
        let Some(fetch) = stage_in_function(cx, elem, declared.span) else { continue };
        let (name, offset, span) = (field.name, field.offset, declared.span);
        let member = StageInMember { name, attribute, elem, len, offset, fetch };
        if members.iter().any(|other| other.attribute == member.attribute) {
            let message = format!("attribute {} is given to two members", member.attribute);
            cx.error("duplicate-index", span, message);
        }
        members.push(member);
    }
    (cx.diagnostics.error_count() == errors).then_some(KernelParamKind::StageIn { members })
}

/// The members of a structure in its own body, as laid out and as declared.
pub(in crate::sema) fn stage_in_members<'a>(
    cx: &mut Checker<'a>,
    record: RecordId,
    used: Span,
) -> Vec<(FieldInfo, &'a ast::Field)> {
    let items = cx.records.get(record).ast.and_then(|ast| ast.members.as_ref());
    let declared = |name: Name| {
        items.into_iter().flatten().find_map(|item| match &item.kind {
            ItemKind::Field(field) if field.name == Some(name) => Some(&**field),
            _ => None,
        })
    };
    let mut members = Vec::new();
    for field in cx.types.record(record).fields.clone() {
        match declared(field.name) {
            Some(declared) => members.push((field, declared)),
            None => {
                let message = "stage-in data have no members of a base class, and none without a name";
                cx.error("stage-in", used, message);
            }
        }
    }
    members
}

/// The number of `[[attribute(n)]]`, and the type, of a member that is fetched per vertex or per thread.
pub(in crate::sema) fn stage_in_attribute<'a>(
    cx: &mut Checker<'a>,
    record: RecordId,
    field: &FieldInfo,
    declared: &'a ast::Field,
) -> Option<(u32, ScalarTy, u8)> {
    let (elem, len) = stage_in_type(&cx.types, &mut cx.diagnostics, field, declared.span)?;
    let has = |name: Name| declared.attributes.iter().find(|attribute| attribute.name == name);
    let scope = cx.records.get(record).scope;
    if let Some(attribute) = has(cx.names.function_constant) {
        cx.in_scope(scope, |cx| indices::condition(cx, attribute));
        cx.unsupported(attribute.span, "members of stage-in data with `function_constant` are not supported");
    }
    let Some(attribute) = has(cx.names.attribute) else {
        let message = format!("member `{}` of stage-in data has no attribute number", field.name);
        let hint = format!("write `{} [[attribute(n)]]`", field.name);
        cx.report(Diagnostic::error("stage-in", declared.span, message).with_hint(hint));
        return None;
    };
    let index = cx.in_scope(scope, |cx| indices::attribute_index(cx, attribute, MAX_ATTRIBUTES - 1))?;
    Some((index, elem, len))
}

/// The scalar or vector that a member is.
fn stage_in_type(
    types: &Types,
    diagnostics: &mut Diagnostics,
    field: &FieldInfo,
    span: Span,
) -> Option<(ScalarTy, u8)> {
    use ScalarTy::{BF16, Bool, I64, U64};
    let found = match *types.kind(field.ty.ty) {
        _ if field.is_reference || field.bits.is_some() => None,
        TyKind::Scalar(elem) => Some((elem, 1)),
        TyKind::Vector { elem, len: len @ 2..=4, packed: false } => Some((elem, len)),
        _ => None,
    };
    let found = found.filter(|(elem, _)| !matches!(elem, Bool | I64 | U64 | BF16));
    if found.is_none() {
        let shown = types.display_qual(field.ty);
        let message = format!("member `{}` of type `{shown}` cannot be stage-in data", field.name);
        let hint = "members are numbers of 8 to 32 bits, or vectors of 2 to 4 of them that are not packed";
        diagnostics.report(Diagnostic::error("stage-in", span, message).with_hint(hint));
    }
    found
}

/// The function of the Metal library that fetches members with components of that type.
fn stage_in_function(cx: &mut Checker<'_>, elem: ScalarTy, span: Span) -> Option<FuncId> {
    let name = match elem {
        ScalarTy::I8 => "__lib_stage_in_char",
        ScalarTy::U8 => "__lib_stage_in_uchar",
        ScalarTy::I16 => "__lib_stage_in_short",
        ScalarTy::U16 => "__lib_stage_in_ushort",
        ScalarTy::I32 => "__lib_stage_in_int",
        ScalarTy::U32 => "__lib_stage_in_uint",
        ScalarTy::F16 => "__lib_stage_in_half",
        _ => "__lib_stage_in_float",
    };
    // Without the Metal library there are no such functions.
    let metal = call::metal_namespace(cx)?;
    let Some(Found::Functions(decls)) = lookup::in_namespace(cx, metal, Name::new(name)) else {
        return None;
    };
    function::instantiate(cx, *decls.first()?, Rc::from([]), span)
}

/// Refuses a second parameter of stage-in data.
pub(super) fn check_one_stage_in(diagnostics: &mut Diagnostics, params: &[KernelParam]) {
    let is_stage_in = |param: &&KernelParam| matches!(param.kind, KernelParamKind::StageIn { .. });
    if let Some(second) = params.iter().filter(is_stage_in).nth(1) {
        diagnostics.error("stage-in", second.span, "a kernel has one argument with stage-in data");
    }
}
