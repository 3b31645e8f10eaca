//! Calls of the functions beneath the library (`__am_*`), by the rules of their rows.

use super::call::Arg;
use super::checker::Checker;
use super::diagnostics::Diagnostics;
use super::{call, convert, expr, template_args};
use crate::ast;
use crate::builtins::{self, ArgRule, BuiltinId, BuiltinOp, RetRule};
use crate::hir::{Expr, ExprKind, MAX_METAL_VECTOR_LEN, QualTy, ScalarTy, Ty, TyKind, Types};
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;

/// What the arguments seen so far say about the types of the others.
#[derive(Clone, Copy, Debug, Default)]
struct Bound {
    /// "T" of the rules.
    ty: Option<Ty>,
    pointee: Option<Ty>,
}

pub(super) fn call<'a>(
    cx: &mut Checker<'a>,
    name: &'a ast::PathSegment,
    args: &'a [ast::Expr],
    span: Span,
) -> Expr {
    let text = name.name.as_str();
    let Some(id) = builtins::find(text) else {
        let mut diagnostic =
            Diagnostic::error("unknown-builtin", name.span, format!("unknown builtin `{text}`"));
        if let Some(near) = anymetal_diagnostics::suggest(text, builtins::names()) {
            diagnostic = diagnostic.with_hint(format!("did you mean `{near}`?"));
        }
        cx.report(diagnostic);
        return cx.poison(span);
    };
    let builtin = id.get();
    let explicit = name.args.as_ref().map(|args| template_args::explicit(cx, args));
    let explicit = match explicit.as_deref() {
        Some([super::template_args::ExplicitArg::Type(ty)]) => Some(ty.ty),
        Some([super::template_args::ExplicitArg::Error]) => return cx.poison(span),
        _ => None,
    };
    let Some(args) = call::check_args(cx, args) else { return cx.poison(span) };
    if args.len() != builtin.args.len() {
        let message = format!("`{text}` takes {} arguments, not {}", builtin.args.len(), args.len());
        cx.error("argument-count", span, message);
        return cx.poison(span);
    }
    let mut bound = Bound::default();
    let mut values = Vec::with_capacity(args.len());
    for (arg, &rule) in args.into_iter().zip(builtin.args) {
        let Some(value) = argument(cx, arg, rule, &mut bound, text, span) else {
            return cx.poison(span);
        };
        values.push(value);
    }
    let Some(ty) = result_type(&mut cx.types, builtin.ret, &values, &bound, explicit) else {
        cx.error("builtin-result", span, format!("`{text}` needs a template argument that says its type"));
        return cx.poison(span);
    };
    if builtin.op == BuiltinOp::Bitcast {
        return bit_cast(cx, id, values.remove(0), ty, span);
    }
    Expr::value(ExprKind::Builtin(id, values), ty, span)
}

/// The same bits as another type. A vector of three components has the size of four, of which the last one is
/// arbitrary (MSL 2.21: `as_type<float3>(float4)`); it is zero here.
fn bit_cast(cx: &mut Checker<'_>, id: BuiltinId, value: Expr, to: Ty, span: Span) -> Expr {
    if !check_bits(&cx.types, &mut cx.diagnostics, &value, to, span) {
        return cx.poison(span);
    }
    if bits_size(&cx.types, value.ty.ty) == bits_size(&cx.types, to) {
        return Expr::value(ExprKind::Builtin(id, vec![value]), to, span);
    }
    let value = match padded_vector(&cx.types, value.ty.ty) {
        Some(elem) => {
            let four = cx.types.vector(elem, 4);
            let last = Expr::value(ExprKind::Zero, Ty::scalar(elem), span);
            Expr::value(ExprKind::Vector(vec![value, last]), four, span)
        }
        None => value,
    };
    match padded_vector(&cx.types, to) {
        Some(elem) => {
            let four = cx.types.vector(elem, 4);
            let bits = Expr::value(ExprKind::Builtin(id, vec![value]), four, span);
            Expr::value(ExprKind::Swizzle(Box::new(bits), vec![0, 1, 2]), to, span)
        }
        None => Expr::value(ExprKind::Builtin(id, vec![value]), to, span),
    }
}

/// The element of a vector that has more bytes than its components: one of three that is not packed.
fn padded_vector(types: &Types, ty: Ty) -> Option<ScalarTy> {
    match *types.kind(ty) {
        TyKind::Vector { elem, len: 3, .. } if types.layout(ty).size != bits_size(types, ty)? => Some(elem),
        _ => None,
    }
}

/// Whether `as_type` can see a value as another type: numbers, vectors and classes of one size. Reported,
/// if not.
fn check_bits(types: &Types, diagnostics: &mut Diagnostics, value: &Expr, to: Ty, span: Span) -> bool {
    let from = value.ty.ty;
    if to.is_error() {
        return false;
    }
    let bytes = bits_size(types, from).zip(bits_size(types, to));
    let is_padded = padded_vector(types, from).is_some() || padded_vector(types, to).is_some();
    if is_padded && bytes.is_some() && types.layout(from).size == types.layout(to).size {
        return true;
    }
    let (from, to) = (types.display(from), types.display(to));
    let message = match bytes {
        Some((a, b)) if a == b => return true,
        Some((a, b)) => {
            format!("`as_type` needs types of one size: `{from}` has {a} bytes, `{to}` has {b}")
        }
        None => format!("`as_type` takes numbers and vectors, and cannot make `{to}` of `{from}`"),
    };
    // `as_type` is a template of the library: the mistake is where it is called.
    let span = diagnostics.requested_at().unwrap_or(span);
    diagnostics.error("bad-bit-cast", span, message);
    false
}

/// The bytes that count when a value is seen as another type; `None` for types that cannot be.
fn bits_size(types: &Types, ty: Ty) -> Option<u64> {
    match *types.kind(ty) {
        TyKind::Scalar(_) | TyKind::Enum(_) | TyKind::Record(_) => Some(types.layout(ty).size),
        TyKind::Vector { elem, len, .. } => Some(u64::from(elem.size()) * u64::from(len)),
        _ => None,
    }
}

fn argument<'a>(
    cx: &mut Checker<'a>,
    arg: Arg<'a>,
    rule: ArgRule,
    bound: &mut Bound,
    name: &str,
    span: Span,
) -> Option<Expr> {
    let Arg::Expr(value) = arg else {
        cx.error(
            "invalid-argument",
            span,
            format!("`{name}` takes values, not initialiser lists or functions"),
        );
        return None;
    };
    let value = if rule == ArgRule::Any { value } else { convert::builtin_operand(cx, value) };
    let value = cx.values().rvalue(value);
    if value.ty.ty.is_error() {
        return None;
    }
    let to = match rule {
        ArgRule::Any => return Some(value),
        ArgRule::Arith | ArgRule::Float | ArgRule::Int | ArgRule::Bool => match bound.ty {
            Some(ty) => ty,
            None => return first_argument(cx, value, rule, bound, name),
        },
        ArgRule::Pointer => {
            let Some(pointee) = cx.types.pointee(value.ty.ty) else {
                return bad_argument(&cx.types, &mut cx.diagnostics, &value, name, "a pointer");
            };
            bound.pointee = Some(pointee.ty);
            return Some(value);
        }
        ArgRule::Pointee => bound.pointee.unwrap_or(Ty::ERROR),
        ArgRule::Elem => bound.ty.and_then(|ty| cx.types.element(ty)).map_or(Ty::ERROR, Ty::scalar),
        ArgRule::IntLike => shaped(&mut cx.types, bound.ty, ScalarTy::I32),
        ArgRule::BoolLike => shaped(&mut cx.types, bound.ty, ScalarTy::Bool),
        ArgRule::I32 => Ty::INT,
        ArgRule::U32 => Ty::UINT,
        ArgRule::U64 => Ty::ULONG,
        ArgRule::Flag => Ty::BOOL,
    };
    if cx.types.as_vector(value.ty.ty).is_some() && cx.types.as_vector(to).is_some() {
        // `select` takes any vector as its condition.
        let same_length = cx.types.as_vector(value.ty.ty).map(|v| v.1) == cx.types.as_vector(to).map(|v| v.1);
        if same_length && rule != ArgRule::Arith {
            let at = value.span;
            return Some(cx.values().cast_value(crate::hir::CastKind::Convert, value, to, at));
        }
    }
    let value = convert::to_type(cx, value, QualTy::plain(to), "for this argument");
    (!value.ty.ty.is_error()).then_some(value)
}

/// The argument that decides what "T" is.
fn first_argument(
    cx: &mut Checker<'_>,
    value: Expr,
    rule: ArgRule,
    bound: &mut Bound,
    name: &str,
) -> Option<Expr> {
    let value = cx.values().unpack(value);
    let is_wide = cx.types.as_vector(value.ty.ty).is_some_and(|(_, len)| len > MAX_METAL_VECTOR_LEN);
    let is_plain = !is_wide && cx.types.as_matrix(value.ty.ty).is_none();
    let elem = cx.types.element(value.ty.ty).filter(|_| is_plain);
    let fits = elem.is_some_and(|elem| match rule {
        ArgRule::Float => elem.is_float(),
        ArgRule::Int => elem.is_integer(),
        ArgRule::Bool => elem == ScalarTy::Bool,
        _ => true,
    });
    if !fits {
        let what = match rule {
            ArgRule::Float => "a float or a vector of floats",
            ArgRule::Int => "an integer or a vector of integers",
            ArgRule::Bool => "a bool or a vector of bools",
            _ => "a number or a vector",
        };
        return bad_argument(&cx.types, &mut cx.diagnostics, &value, name, what);
    }
    bound.ty = Some(value.ty.ty);
    Some(value)
}

fn bad_argument(
    types: &Types,
    diagnostics: &mut Diagnostics,
    value: &Expr,
    name: &str,
    what: &str,
) -> Option<Expr> {
    let shown = types.display_qual(value.ty);
    diagnostics.error("invalid-argument", value.span, format!("`{name}` takes {what} here, not a `{shown}`"));
    None
}

fn shaped(types: &mut Types, like: Option<Ty>, elem: ScalarTy) -> Ty {
    match like.and_then(|ty| types.as_vector(ty)) {
        Some((_, len)) => types.vector(elem, len),
        None => Ty::scalar(elem),
    }
}

fn buffer_pointer(types: &mut Types, pointee: Ty, space: Space) -> Ty {
    types.pointer(QualTy::in_space(pointee, space))
}

fn result_type(
    types: &mut Types,
    rule: RetRule,
    values: &[Expr],
    bound: &Bound,
    explicit: Option<Ty>,
) -> Option<Ty> {
    let first = values.first().map(|value| value.ty.ty);
    match rule {
        RetRule::Void => Some(Ty::VOID),
        RetRule::Arg(n) => values.get(n).map(|value| value.ty.ty),
        RetRule::Elem => first.and_then(|ty| types.element(ty)).map(Ty::scalar),
        RetRule::BoolLike => Some(shaped(types, first, ScalarTy::Bool)),
        RetRule::IntLike => Some(shaped(types, first, ScalarTy::I32)),
        RetRule::Bool => Some(Ty::BOOL),
        RetRule::U32 => Some(Ty::UINT),
        RetRule::U64 => Some(Ty::ULONG),
        RetRule::Pointee => bound.pointee,
        RetRule::DeviceWords => Some(buffer_pointer(types, Ty::UINT, Space::Device)),
        RetRule::DeviceBytes => Some(buffer_pointer(types, Ty::scalar(ScalarTy::U8), Space::Device)),
        RetRule::ConstantBytes => Some(buffer_pointer(types, Ty::scalar(ScalarTy::U8), Space::Constant)),
        RetRule::Explicit => explicit,
    }
}

/// `is_function_constant_defined(name)`.
pub(super) fn function_constant_defined<'a>(cx: &mut Checker<'a>, args: &'a [ast::Expr], span: Span) -> Expr {
    if let [only] = args {
        let value = expr::check(cx, only);
        match value.kind {
            ExprKind::FunctionConstant(id) => {
                return Expr::value(ExprKind::FunctionConstantDefined(id), Ty::BOOL, span);
            }
            _ if value.ty.ty.is_error() => return value,
            _ => {}
        }
    }
    cx.error("function-constant-expected", span, "`is_function_constant_defined` takes a function constant");
    cx.poison(span)
}
