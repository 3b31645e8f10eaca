//! Types: from syntax to interned types.

use super::checker::{Checker, space_of};
use super::diagnostics::Diagnostics;
use super::entities::LocalDecl;
use super::function::Functions;
use super::{enumeration, evaluate, expr, function, overload, path, record, rules};
use crate::ast::{self, BuiltinType, Qualifiers, TypeKind};
use crate::hir::{
    Expr, FuncId, FunctionForm, MAX_OBJECT_BYTES, MAX_VECTOR_LEN, QualTy, ScalarTy, Ty, TyKind, Types,
};
use anymetal_diagnostics::Span;
use anymetal_ir::Space;

/// Resolves a type; poison after an error.
pub(super) fn resolve<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type) -> QualTy {
    let base = cx.deeper(ty.span, |cx| resolve_kind(cx, ty)).unwrap_or(QualTy::plain(Ty::ERROR));
    qualify(&cx.types, &mut cx.diagnostics, base, ty.quals, ty.span)
}

/// Adds written qualifiers. An address space that contradicts the type's own is an error.
pub(super) fn qualify(
    types: &Types,
    diagnostics: &mut Diagnostics,
    mut ty: QualTy,
    quals: Qualifiers,
    span: Span,
) -> QualTy {
    if ty.ty.is_error() {
        return ty;
    }
    if matches!(types.kind(ty.ty), TyKind::Reference { .. }) {
        // Qualifiers on a reference that a template argument or alias brought in do nothing.
        return ty;
    }
    ty.is_const |= quals.is_const;
    ty.is_volatile |= quals.is_volatile;
    if let Some(space) = quals.space.map(space_of) {
        if ty.space != Space::Thread && ty.space != space {
            let message = format!(
                "`{}` is already in {} space, not {}",
                types.display_qual(ty),
                ty.space.name(),
                space.name()
            );
            diagnostics.error("conflicting-spaces", span, message);
            return QualTy::plain(Ty::ERROR);
        }
        ty.space = space;
    }
    ty
}

fn resolve_kind<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type) -> QualTy {
    let plain = QualTy::plain;
    match &ty.kind {
        TypeKind::Builtin(builtin) => plain(builtin_ty(&mut cx.diagnostics, *builtin, ty.span)),
        TypeKind::Path(path) => path::resolve_type(cx, path).unwrap_or(plain(Ty::ERROR)),
        TypeKind::Auto | TypeKind::DecltypeAuto => match cx.placeholders.auto_ty {
            Some(auto) => auto,
            None => {
                cx.error("auto-not-allowed", ty.span, "`auto` cannot be deduced here");
                plain(Ty::ERROR)
            }
        },
        TypeKind::Decltype(expr) => decltype(cx, expr),
        TypeKind::Typeof(expr) => {
            let ty = decltype(cx, expr);
            cx.types.referent(ty.ty).map_or(ty, |to| QualTy { space: Space::Thread, ..to })
        }
        TypeKind::DecltypePath(expr, path) => decltype_path_type(cx, expr, path),
        TypeKind::Underlying(inner) => underlying(cx, inner, ty.span),
        TypeKind::Record(record) => {
            let scope = cx.scopes.current();
            plain(record::plain(&mut cx.types, &mut cx.records, record, scope))
        }
        TypeKind::Enum(enumeration) => {
            let scope = cx.scopes.current();
            plain(enumeration::type_of(cx, enumeration, scope))
        }
        TypeKind::Pointer(inner) => {
            let pointee = resolve(cx, inner);
            if pointee.ty.is_error() && is_reference(inner) {
                cx.error("pointer-to-reference", ty.span.last(), "there are no pointers to references");
            }
            if is_qualified_function(&cx.types, pointee.ty) {
                refuse_qualified_function(cx, "pointer", pointee, ty.span);
                return plain(Ty::ERROR);
            }
            rules::address_spaces::require(cx, inner, pointee, "pointer");
            pointer_to(&mut cx.types, &mut cx.diagnostics, pointee, ty.span.last())
        }
        TypeKind::Reference { referent, rvalue } => {
            let to = resolve(cx, referent);
            if to.ty.is_error() {
                return to;
            }
            if to.ty == Ty::VOID {
                cx.error("reference-to-void", ty.span, "there are no references to void");
                return plain(Ty::ERROR);
            }
            if is_qualified_function(&cx.types, to.ty) {
                refuse_qualified_function(cx, "reference", to, ty.span);
                return plain(Ty::ERROR);
            }
            rules::address_spaces::require(cx, referent, to, "reference");
            plain(cx.types.reference(to, *rvalue))
        }
        TypeKind::Array(elem, len) => resolve_array(cx, elem, len.as_deref(), ty.span),
        TypeKind::ExtVector(elem, len) => resolve_ext_vector(cx, elem, len, ty.span),
        TypeKind::Function { ret, params, is_variadic, method } => {
            let ret = resolve(cx, ret);
            let mut types = Vec::with_capacity(params.len());
            // `T...` is `T, ...` where `T` names no pack.
            let is_pack = |cx: &Checker<'a>, param: &'a ast::Type| match &param.kind {
                TypeKind::Pack(inner) => cx.scopes.pack_length_of_type(inner).is_some(),
                _ => true,
            };
            let last = params.last().filter(|last| !is_pack(cx, last));
            let is_variadic = *is_variadic || last.is_some();
            let resolved = params.iter().all(|param| match (&param.kind, last) {
                (TypeKind::Pack(inner), Some(last)) if std::ptr::eq(param, last) => {
                    types.push(resolve_param(cx, inner));
                    true
                }
                _ => function::add_param_types(cx, param, param.span, &mut types),
            });
            if !resolved || ret.ty.is_error() || types.iter().any(|param| param.ty.is_error()) {
                return plain(Ty::ERROR);
            }
            let form = function_form(is_variadic, *method);
            plain(cx.types.intern(TyKind::Function { ret, params: types.into(), form }))
        }
        TypeKind::Pack(inner) => resolve(cx, inner),
        TypeKind::Error => plain(Ty::ERROR),
    }
}

/// Whether a type is written as a reference.
fn is_reference(ty: &ast::Type) -> bool {
    matches!(ty.kind, TypeKind::Reference { .. })
}

fn builtin_ty(diagnostics: &mut Diagnostics, builtin: BuiltinType, span: Span) -> Ty {
    let scalar = match builtin {
        BuiltinType::Void => return Ty::VOID,
        BuiltinType::Bool => ScalarTy::Bool,
        BuiltinType::Char | BuiltinType::SChar => ScalarTy::I8,
        BuiltinType::UChar => ScalarTy::U8,
        BuiltinType::Short => ScalarTy::I16,
        BuiltinType::UShort => ScalarTy::U16,
        BuiltinType::Int => ScalarTy::I32,
        BuiltinType::UInt => ScalarTy::U32,
        BuiltinType::Long => ScalarTy::I64,
        BuiltinType::ULong => ScalarTy::U64,
        BuiltinType::Half => ScalarTy::F16,
        BuiltinType::Bfloat => ScalarTy::BF16,
        BuiltinType::Float => ScalarTy::F32,
        BuiltinType::Double => {
            diagnostics.error("no-double", span, "`double` is not supported in Metal");
            return Ty::ERROR;
        }
    };
    Ty::scalar(scalar)
}

/// `__underlying_type(E)`
fn underlying<'a>(cx: &mut Checker<'a>, inner: &'a ast::Type, span: Span) -> QualTy {
    let ty = resolve(cx, inner);
    if let TyKind::Enum(id) = *cx.types.kind(ty.ty) {
        if !cx.enums.get(id).is_complete {
            cx.error("incomplete-type", span, "the enumeration is used before it is complete");
            return QualTy::plain(Ty::ERROR);
        }
        return QualTy::plain(Ty::scalar(cx.types.enumeration(id).underlying));
    }
    if !ty.ty.is_error() {
        let message = format!("`{}` is not an enumeration", cx.show(ty));
        cx.error("not-an-enumeration", span, message);
    }
    QualTy::plain(Ty::ERROR)
}

/// What follows the parameters of a written function type.
pub(super) fn function_form(is_variadic: bool, method: ast::MethodQualifiers) -> FunctionForm {
    FunctionForm {
        is_variadic,
        is_const: method.is_const,
        is_volatile: method.is_volatile,
        reference: method.reference.map(|reference| reference == ast::RefQualifier::Rvalue),
    }
}

/// The same of a declared function; qualifiers of a method are not part of the type of a call.
pub(super) fn form_of(functions: &Functions<'_>, function: FuncId) -> FunctionForm {
    let decl = functions.inst(function).origin.decl();
    let is_variadic = decl.is_some_and(|decl| functions.decl(decl).ast.is_variadic);
    FunctionForm { is_variadic, ..FunctionForm::default() }
}

fn is_qualified_function(types: &Types, ty: Ty) -> bool {
    matches!(types.kind(ty), TyKind::Function { form, .. } if form.is_qualified())
}

fn refuse_qualified_function(cx: &mut Checker<'_>, what: &str, ty: QualTy, span: Span) {
    let message = format!("there is no {what} to the type of a method, `{}`", cx.show(ty));
    cx.error("qualified-function", span, message);
}

fn pointer_to(types: &mut Types, diagnostics: &mut Diagnostics, pointee: QualTy, span: Span) -> QualTy {
    if pointee.ty.is_error() {
        return pointee;
    }
    if matches!(types.kind(pointee.ty), TyKind::Reference { .. }) {
        diagnostics.error("pointer-to-reference", span.last(), "there are no pointers to references");
        return QualTy::plain(Ty::ERROR);
    }
    QualTy::plain(types.pointer(pointee))
}

fn resolve_array<'a>(
    cx: &mut Checker<'a>,
    elem: &'a ast::Type,
    len: Option<&'a ast::Expr>,
    span: Span,
) -> QualTy {
    let written = elem;
    let elem = resolve(cx, elem);
    if elem.ty.is_error() {
        if is_reference(written) {
            cx.error("bad-array-element", span.last(), "there are no arrays of references");
        }
        return elem;
    }
    let bad =
        matches!(cx.types.kind(elem.ty), TyKind::Void | TyKind::Function { .. } | TyKind::Reference { .. });
    if bad {
        let message = format!("there are no arrays of `{}`", cx.show(elem));
        cx.error("bad-array-element", span.last(), message);
        return QualTy::plain(Ty::ERROR);
    }
    // A length of 0 stands for `[]`, which an initialiser completes or a parameter decays.
    let Some(len) = len else { return elem.with_ty(cx.types.array(elem.ty, 0)) };
    let value = expr::check(cx, len);
    if value.ty.ty.is_error() {
        return QualTy::plain(Ty::ERROR);
    }
    let Some(len_value) = evaluate::constant_integer(cx, value) else { return QualTy::plain(Ty::ERROR) };
    // Whether the element is complete matters to those that need the size of the array.
    let is_complete = cx.quietly(|cx| record::complete_type(cx, elem.ty, span)).is_ok();
    let size = if is_complete { cx.types.layout(elem.ty).size.max(1) } else { 1 };
    if len_value < 0 || (len_value == 0 && sink_is_strict()) {
        cx.error("array-length", len.span, format!("an array cannot have {len_value} elements"));
        return QualTy::plain(Ty::ERROR);
    }
    if len_value > i128::from(MAX_OBJECT_BYTES / size) {
        cx.error("array-length", len.span, format!("an array of {len_value} elements is too large"));
        return QualTy::plain(Ty::ERROR);
    }
    elem.with_ty(cx.types.array(elem.ty, len_value as u64))
}

/// `T __attribute__((ext_vector_type(n)))`
fn resolve_ext_vector<'a>(
    cx: &mut Checker<'a>,
    elem: &'a ast::Type,
    len: &'a ast::Expr,
    span: Span,
) -> QualTy {
    let elem = resolve(cx, elem);
    if elem.ty.is_error() {
        return elem;
    }
    let Some(scalar) = cx.types.as_scalar(elem.ty) else {
        let shown = cx.show(elem);
        let message = format!("the element of a vector must be an arithmetic type, not `{shown}`");
        cx.error("vector-element", span, message);
        return QualTy::plain(Ty::ERROR);
    };
    let value = expr::check(cx, len);
    let count = (!value.ty.ty.is_error()).then(|| evaluate::constant_integer(cx, value)).flatten();
    let Some(count) = count else { return QualTy::plain(Ty::ERROR) };
    match u8::try_from(count) {
        Ok(count) if (1..=MAX_VECTOR_LEN).contains(&count) => elem.with_ty(cx.types.vector(scalar, count)),
        _ => {
            let message = format!("a vector has 1 to {MAX_VECTOR_LEN} elements, not {count}");
            cx.error("vector-size", len.span, message);
            QualTy::plain(Ty::ERROR)
        }
    }
}

/// Clang accepts arrays of no elements as an extension; so do we.
fn sink_is_strict() -> bool {
    false
}

/// A parameter's type: arrays and functions become pointers, `const` of the parameter itself goes.
pub(super) fn resolve_param<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type) -> QualTy {
    let resolved = resolve(cx, ty);
    decayed_param(&mut cx.types, resolved)
}

/// The type a parameter of this declared type has.
pub(super) fn decayed_param(types: &mut Types, ty: QualTy) -> QualTy {
    match *types.kind(ty.ty) {
        TyKind::Array(elem, _) => {
            let pointee = ty.with_ty(elem);
            QualTy::plain(types.pointer(pointee))
        }
        TyKind::Function { .. } => QualTy::plain(types.pointer(ty)),
        _ => ty,
    }
}

/// `decltype(e)`: the declared type of a name or member, else the expression's type, a reference
/// for places.
pub(super) fn decltype<'a>(cx: &mut Checker<'a>, expr: &'a ast::Expr) -> QualTy {
    cx.function.unevaluated += 1;
    let ty = decltype_inner(cx, expr);
    cx.function.unevaluated -= 1;
    ty
}

fn decltype_inner<'a>(cx: &mut Checker<'a>, expr: &'a ast::Expr) -> QualTy {
    if let ast::ExprKind::Path(path) = &expr.kind {
        match path::resolve(cx, path) {
            Ok(target) => {
                if let super::entities::Found::Functions(decls) = &target.found {
                    let decls = decls.clone();
                    return decltype_of_function(cx, &decls, target.args, path.span);
                }
                if let super::entities::Found::Local(LocalDecl::Capture { declared, .. }) = &target.found {
                    return *declared;
                }
                if let super::entities::Found::Local(LocalDecl::Variable { ty, .. }) = &target.found
                    && cx.types.referent(ty.ty).is_some()
                {
                    return *ty;
                }
                let value = expr::target_value(cx, target, path);
                return if value.is_place { value.ty_as_declared() } else { value.ty };
            }
            Err(miss) => {
                // `__func__` is an array.
                let value = expr::missed(cx, miss, path.span);
                return if value.is_place { value.ty_as_declared() } else { value.ty };
            }
        }
    }
    let value = expr::check(cx, expr);
    decltype_of_value(cx, expr, &value)
}

/// `decltype(e)` of an expression that has been checked: only a name is looked up again.
pub(super) fn decltype_of_value<'a>(cx: &mut Checker<'a>, expr: &'a ast::Expr, value: &Expr) -> QualTy {
    if value.ty.ty.is_error() {
        return value.ty;
    }
    if matches!(expr.kind, ast::ExprKind::Path(_)) {
        return decltype(cx, expr);
    }
    if !value.is_place {
        return value.ty.unqualified();
    }
    if matches!(expr.kind, ast::ExprKind::Member { .. }) {
        return QualTy { space: Space::Thread, ..value.ty };
    }
    let rvalue = cx.functions.is_xvalue(&cx.types, value);
    QualTy::plain(cx.types.reference(value.ty, rvalue))
}

fn decltype_of_function<'a>(
    cx: &mut Checker<'a>,
    decls: &[super::entities::FnDeclId],
    args: Option<&'a [ast::TemplateArg]>,
    span: Span,
) -> QualTy {
    match overload::function_without_call(cx, decls, args, span) {
        Some(function) => {
            let inst = &cx.functions.inst(function);
            let params: std::sync::Arc<[QualTy]> = inst.params.iter().copied().collect();
            let ret = function::return_type(cx, function, span);
            let form = form_of(&cx.functions, function);
            QualTy::plain(cx.types.intern(TyKind::Function { ret, params, form }))
        }
        None => QualTy::plain(Ty::ERROR),
    }
}

fn decltype_path_type<'a>(cx: &mut Checker<'a>, expr: &'a ast::Expr, path: &'a ast::Path) -> QualTy {
    let outer = decltype(cx, expr);
    match path::resolve_in_type(cx, outer, &path.segments) {
        Ok(target) => match path::type_of_found(&cx.records, &target.found) {
            Some(ty) => ty,
            None => {
                cx.error("not-a-type", path.span, "this is not a type");
                QualTy::plain(Ty::ERROR)
            }
        },
        Err(miss) => {
            path::report_miss(&cx.scopes, &cx.records, &mut cx.diagnostics, miss, "type");
            QualTy::plain(Ty::ERROR)
        }
    }
}

impl Expr {
    /// A variable's declared type, without the space that its place implies.
    fn ty_as_declared(&self) -> QualTy {
        QualTy { space: Space::Thread, ..self.ty }
    }
}
