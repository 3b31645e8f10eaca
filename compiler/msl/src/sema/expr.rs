//! Expressions: the dispatcher, literals, names, and the small constructors everything else uses.

use super::checker::Checker;
use super::collect::ProgramData;
use super::construct::ConstructArgs;
use super::entities::{Found, LocalDecl, TArg};
use super::path::{Miss, Target};
use super::{
    assign, call, cast, class_deduction, compiler_builtin, construct, convert, evaluate, fold,
    function_pointer, lambda, member, noexcept, odr_use, operator, path, resolve_type, spelling,
    template_args, traits, variable, walk,
};
use crate::ast::{self, ExprKind as Ast};
use crate::hir::{ConstValue, Expr, ExprKind, QualTy, ScalarTy, Ty, TyKind, Types};
use crate::token::FloatSuffix;
use anymetal_diagnostics::Span;
use anymetal_ir::Scalar;

/// Checks an expression. After an error the result is poison.
pub(super) fn check<'a>(cx: &mut Checker<'a>, expr: &'a ast::Expr) -> Expr {
    let span = expr.span;
    match cx.deeper(span, |cx| check_kind(cx, expr)) {
        Some(value) => value,
        None => cx.poison(span),
    }
}

fn check_kind<'a>(cx: &mut Checker<'a>, expr: &'a ast::Expr) -> Expr {
    let span = expr.span;
    match &expr.kind {
        Ast::Int { value, unsigned, long, decimal } => int_literal(*value, *unsigned, *long, *decimal, span),
        Ast::Float { value, suffix } => float_literal(*value, *suffix, span),
        Ast::Bool(value) => bool_const(*value, span),
        Ast::Char(code) => scalar_const(ScalarTy::I8, u64::from(*code) & 0xff, span),
        Ast::Str(text) => text_literal(&mut cx.types, &mut cx.data, text.as_str(), span),
        Ast::Nullptr => Expr::value(ExprKind::Const(ConstValue::Null), Ty::NULLPTR, span),
        Ast::This => check_this(cx, span),
        Ast::Path(path) => check_path(cx, path),
        Ast::DecltypePath(inner, path) => {
            let outer = resolve_type::decltype(cx, inner);
            match path::resolve_in_type(cx, outer, &path.segments) {
                Ok(target) => target_value(cx, target, path),
                Err(miss) => {
                    path::report_miss(&cx.scopes, &cx.records, &mut cx.diagnostics, miss, "name");
                    cx.poison(span)
                }
            }
        }
        Ast::Paren(inner) => check(cx, inner),
        Ast::Unary(op, inner) => operator::check_unary(cx, *op, inner, span),
        Ast::Postfix(op, inner) => {
            let decrement = matches!(op, ast::PostfixOp::Decrement);
            assign::check_increment(cx, inner, decrement, true, span)
        }
        Ast::Binary(..) => operator::check_chain(cx, expr),
        Ast::Assign(op, lhs, rhs) => assign::check(cx, *op, lhs, rhs, span),
        Ast::Conditional(cond, a, b) => operator::check_conditional(cx, cond, a, b, span),
        Ast::Call(callee, args) => call::check(cx, callee, args, span),
        Ast::Index(base, index) => member::check_index(cx, base, index, span),
        Ast::Member { base, arrow, member } => member::check(cx, base, *arrow, member, span),
        Ast::Cast(kind, ty, inner) => cast::check(cx, *kind, ty, inner, span),
        Ast::Construct { ty, args, braced } => check_construct(cx, ty, args, *braced, span),
        Ast::InitList(_) => {
            cx.error("init-list", span, "an initialiser list cannot stand here");
            cx.poison(span)
        }
        Ast::SizeofType(_)
        | Ast::SizeofExpr(_)
        | Ast::SizeofPack(_)
        | Ast::AlignofType(_)
        | Ast::TypeTrait(..) => traits::check(cx, expr),
        Ast::Noexcept(operand) => noexcept::check(cx, operand, span),
        Ast::Lambda(lambda) => lambda::check(cx, lambda, span),
        Ast::Fold(fold) => fold::check(cx, fold, span),
        Ast::BitCast(ty, inner) => compiler_builtin::check_bit_cast(cx, ty, inner, span),
        Ast::PackElement(inner, n) => cx.with_pack_index(*n, |cx| check(cx, inner)),
        Ast::PackExpansion(_) => {
            cx.error("pack-expansion", span, "a pack cannot be expanded here");
            cx.poison(span)
        }
        Ast::Error => {
            // The parser has reported it; keep the program from looking fine.
            cx.poison(span)
        }
    }
}

fn check_construct<'a>(
    cx: &mut Checker<'a>,
    ty: &'a ast::Type,
    args: &'a [ast::InitClause],
    braced: bool,
    span: Span,
) -> Expr {
    if let ast::TypeKind::Path(path) = &ty.kind
        && let Some(template) = class_deduction::bare_template(cx, path)
    {
        let Some(args) = call::clause_args(cx, args) else { return cx.poison(span) };
        return class_deduction::construct(cx, &template, args, span);
    }
    let ty = resolve_type::resolve(cx, ty);
    if ty.ty.is_error() {
        return cx.poison(span);
    }
    if braced {
        return construct::object(cx, ty, ConstructArgs::Brace(args), span);
    }
    let Some(args) = call::clause_args(cx, args) else { return cx.poison(span) };
    construct::object(cx, ty, ConstructArgs::Paren(args), span)
}

// --- names

fn check_path<'a>(cx: &mut Checker<'a>, path: &'a ast::Path) -> Expr {
    match path::resolve(cx, path) {
        Ok(target) => target_value(cx, target, path),
        Err(miss) => missed(cx, miss, path.span),
    }
}

/// What stands for a name that names nothing: that of the function around it, or an error.
pub(super) fn missed(cx: &mut Checker<'_>, miss: Miss, span: Span) -> Expr {
    match miss {
        Miss::Unknown { name, within: None, .. } if is_function_name(name.as_str()) => {
            let name = cx.function.name.clone();
            text_literal(&mut cx.types, &mut cx.data, &name, span)
        }
        miss => {
            path::report_miss(&cx.scopes, &cx.records, &mut cx.diagnostics, miss, "name");
            cx.poison(span)
        }
    }
}

/// A string literal: an array of characters with an end.
fn text_literal(types: &mut Types, data: &mut ProgramData, text: &str, span: Span) -> Expr {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    let ty = types.array(Ty::scalar(ScalarTy::I8), bytes.len() as u64);
    variable::constant_table(data, ty, bytes, span)
}

/// The value (usually a place) that a resolved path stands for.
pub(super) fn target_value<'a>(cx: &mut Checker<'a>, target: Target<'a>, path: &'a ast::Path) -> Expr {
    let span = path.span;
    let not_value = match target.found {
        Found::Local(decl) => return local_value(cx, &decl, span),
        Found::TArg(TArg::Value(ty, value)) => return argument_value(cx, ty, value, span),
        Found::Enumerator(ty, value) => return Expr::value(ExprKind::Const(value), ty, span),
        Found::Variable(decl) => {
            let args = target.args.map(|args| template_args::explicit(cx, args));
            return match variable::global_of(cx, decl, args, span) {
                Some(global) => variable::global_value(cx, global, span),
                None => cx.poison(span),
            };
        }
        Found::Field(record, _) => {
            let Some(object) = call::this_object(cx, span) else {
                return field_without_object(cx, record, target.found, span);
            };
            let object = member::as_naming_class(cx, object, path);
            return member::value_of(cx, object, target.found, span);
        }
        Found::Error | Found::Ambiguous(_) => return cx.poison(span),
        Found::TArg(TArg::Pack(_)) => "an unexpanded parameter pack",
        Found::TArg(TArg::Template(_)) => "a template",
        Found::TArg(TArg::Function(function)) => {
            return function_pointer::pointer_to(cx, function, span);
        }
        Found::Functions(decls) => return function_pointer::named_function(cx, &decls, target.args, span),
        Found::TArg(TArg::Type(_)) | Found::Type(_) | Found::Injected(_) => "a type",
        Found::BuiltinTemplate(_) | Found::ClassTemplate(_) | Found::AliasTemplate(_) => "a template",
        Found::Namespace(_) => "a namespace",
    };
    cx.error("not-a-value", span, format!("`{}` is {not_value}, not a value", spelling::path(path)));
    cx.poison(span)
}

/// A member named without an object: fine in `decltype` and `sizeof`.
fn field_without_object<'a>(
    cx: &mut Checker<'a>,
    record: crate::hir::RecordId,
    found: Found<'a>,
    span: Span,
) -> Expr {
    if cx.function.unevaluated == 0 {
        cx.error("no-object", span, "a data member cannot be used without an object");
        return cx.poison(span);
    }
    let ty = QualTy::plain(cx.records.get(record).ty);
    let object = Expr::place(ExprKind::Undef, ty, span);
    member::value_of(cx, object, found, span)
}

pub(super) fn local_value(cx: &mut Checker<'_>, decl: &LocalDecl, span: Span) -> Expr {
    match decl {
        LocalDecl::Variable { local, ty, function } => {
            if *function != cx.function.serial && cx.function.unevaluated == 0 {
                let known = cx.local_constants.get(*function, *local).cloned();
                if let Some(value) = known.filter(|value| !evaluate::has_address(&cx.types, ty.ty, value)) {
                    if let Some(place) = odr_use::outer_constant(cx, *ty, &value, span) {
                        return place;
                    }
                    return constant_expr(&mut cx.data, ty.ty, value, span);
                }
                // A constant of a template is not known without arguments, and needs no capture.
                let is_open = cx.diagnostics.in_template() && (ty.is_const || cx.is_dependent(ty.ty));
                // A variable in error is reported.
                if !is_open && !ty.ty.is_error() {
                    lambda::report_not_captured(&mut cx.diagnostics, span);
                }
                return cx.poison(span);
            }
            cx.values().variable_place(*local, *ty, span)
        }
        LocalDecl::Capture { field, record, ty, .. } => {
            match lambda::capture_value(cx, *record, *field, *ty, span) {
                Some(value) => value,
                None => cx.poison(span),
            }
        }
        LocalDecl::Threadgroup(var, ty) => Expr::place(ExprKind::Threadgroup(*var), *ty, span),
        LocalDecl::Global(global) => variable::global_value(cx, *global, span),
        LocalDecl::Enumerator(ty, value) => Expr::value(ExprKind::Const(value.clone()), *ty, span),
        LocalDecl::Binding { element, function } => {
            if *function != cx.function.serial && cx.function.unevaluated == 0 {
                cx.error("not-captured", span, "a structured binding cannot be captured by a lambda");
                return cx.poison(span);
            }
            Expr { span, ..Expr::clone(element) }
        }
        LocalDecl::Type(_) => {
            cx.error("not-a-value", span, "a type is not a value");
            cx.poison(span)
        }
        LocalDecl::Pack(_) => {
            cx.error("unexpanded-pack", span, "a parameter pack must be expanded with `...`");
            cx.poison(span)
        }
    }
}

fn check_this(cx: &mut Checker<'_>, span: Span) -> Expr {
    match call::this_object(cx, span) {
        Some(object) => {
            let pointer = cx.types.pointer(object.ty);
            Expr::value(ExprKind::AddressOf(Box::new(object)), pointer, span)
        }
        None => {
            cx.error("no-this", span, "`this` is only meaningful inside of a method");
            cx.poison(span)
        }
    }
}

// --- literals

fn float_literal(value: f64, suffix: FloatSuffix, span: Span) -> Expr {
    let (scalar, ir) = match suffix {
        FloatSuffix::None | FloatSuffix::Float | FloatSuffix::Long => (ScalarTy::F32, Scalar::F32),
        FloatSuffix::Half => (ScalarTy::F16, Scalar::F16),
        FloatSuffix::Bfloat => (ScalarTy::BF16, Scalar::Bf16),
    };
    let bits = match ir {
        Scalar::F16 => u64::from(half::f16::from_f64(value).to_bits()),
        Scalar::Bf16 => u64::from(half::bf16::from_f64(value).to_bits()),
        _ => u64::from((value as f32).to_bits()),
    };
    scalar_const(scalar, bits, span)
}

pub(super) fn bool_const(value: bool, span: Span) -> Expr {
    scalar_const(ScalarTy::Bool, u64::from(value), span)
}

/// A constant of any type as an expression: tables become globals.
pub(super) fn constant_expr(data: &mut ProgramData, ty: Ty, value: ConstValue, span: Span) -> Expr {
    match value {
        ConstValue::Bytes(bytes) => variable::constant_table(data, ty, bytes, span),
        value => Expr::value(ExprKind::Const(value), ty, span),
    }
}

/// A template argument as an expression; a reference designates what it refers to.
fn argument_value(cx: &mut Checker<'_>, ty: Ty, value: ConstValue, span: Span) -> Expr {
    match cx.types.referent(ty) {
        Some(to) => {
            let pointer = Expr::value(ExprKind::Const(value), cx.types.pointer(to), span);
            Expr::place(ExprKind::Deref(Box::new(pointer)), to, span)
        }
        None => constant_expr(&mut cx.data, ty, value, span),
    }
}

// --- small constructors

/// A value as a place: a temporary.
pub(super) fn materialize(value: Expr) -> Expr {
    if value.is_place || value.ty.ty.is_error() {
        return value;
    }
    let (ty, span) = (value.ty.ty, value.span);
    Expr::place(ExprKind::Materialize(Box::new(value)), QualTy::plain(ty), span)
}

/// Converts to `bool` for a condition.
pub(super) fn condition(cx: &mut Checker<'_>, expr: Expr) -> Expr {
    let span = expr.span;
    if expr.ty.ty.is_error() {
        return expr;
    }
    let is_wide = matches!(cx.types.kind(expr.ty.ty), TyKind::Vector { .. } | TyKind::Matrix { .. });
    if is_wide {
        let shown = cx.show(expr.ty);
        cx.error(
            "vector-condition",
            span,
            format!("a value of type `{shown}` is not a condition; use `any` or `all`"),
        );
        return cx.poison(span);
    }
    let expr = convert::cast_by_operator(cx, &expr, Ty::BOOL).unwrap_or(expr);
    convert::to_type(cx, expr, QualTy::plain(Ty::BOOL), "for a condition")
}

/// A value that is known without evaluating the expression that it is of, which is evaluated for its effects.
pub(super) fn known_constant(expr: Expr, value: ConstValue, ty: Ty) -> Expr {
    let constant = Expr::value(ExprKind::Const(value), ty, expr.span);
    after(expr, constant)
}

/// The second expression, after the effects of the first.
pub(super) fn after(first: Expr, then: Expr) -> Expr {
    if !walk::has_effects(&first) {
        return then;
    }
    let (ty, is_place, span) = (then.ty, then.is_place, then.span);
    Expr { kind: ExprKind::Comma(Box::new(first), Box::new(then)), ty, is_place, span }
}

/// A scalar constant.
pub(super) fn scalar_const(scalar: ScalarTy, bits: u64, span: Span) -> Expr {
    Expr::value(ExprKind::Const(ConstValue::Scalar(bits)), Ty::scalar(scalar), span)
}

/// An integer literal has the first of the types it fits.
fn int_literal(value: u64, unsigned: bool, long: bool, decimal: bool, span: Span) -> Expr {
    let fits = |limit: u64| value <= limit;
    let scalar = if !long && !unsigned && fits(i32::MAX as u64) {
        ScalarTy::I32
    } else if !long && (unsigned || !decimal) && fits(u64::from(u32::MAX)) {
        ScalarTy::U32
    } else if !unsigned && fits(i64::MAX as u64) {
        ScalarTy::I64
    } else {
        ScalarTy::U64
    };
    scalar_const(scalar, value, span)
}

/// The predefined variables that hold the name of the function around them.
fn is_function_name(name: &str) -> bool {
    matches!(name, "__func__" | "__FUNCTION__" | "__PRETTY_FUNCTION__")
}
