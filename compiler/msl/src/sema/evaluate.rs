//! Constant evaluation: the entrance to the machine in `machine`, and constants as bytes.

mod arithmetic;
mod builtin;
mod call;
mod machine;
mod memory;
mod place;
mod value;

use super::checker::Checker;
use super::diagnostics::Diagnostics;
use super::{convert, declaration_order, expr, function, init, narrowing};
use crate::hir::{
    self, BinaryOp, CompareOp, ConstValue, Expr, ExprKind, QualTy, ScalarTy, Ty, TyKind, Types, UnaryOp,
};
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::{BinOp, CastOp, CmpOp, Scalar, UnOp, eval};
use machine::{Calls, Facts, Fail, Machine};
use memory::Address;

/// Why an expression has no constant value.
#[derive(Clone, Debug)]
pub(super) struct NotConstant {
    pub(super) span: Span,
    pub(super) message: String,
}

impl NotConstant {
    fn new(span: Span, message: &str) -> Self {
        Self { span, message: message.to_owned() }
    }
}

/// The most steps that one evaluation may repeat, each time after it found a function that was not checked.
const MAX_REPEATED_STEPS: u64 = 4 * machine::MAX_CONSTANT_STEPS;

/// The value of an expression, if it can be computed now.
pub(super) fn value_of(cx: &mut Checker<'_>, expr: &Expr) -> Result<ConstValue, NotConstant> {
    value_by(cx, expr, Calls::All)
}

/// The value of a constant expression.
pub(super) fn strict_value_of(cx: &mut Checker<'_>, expr: &Expr) -> Result<ConstValue, NotConstant> {
    value_by(cx, expr, Calls::Constexpr)
}

fn value_by(cx: &mut Checker<'_>, expr: &Expr, calls: Calls) -> Result<ConstValue, NotConstant> {
    if let ExprKind::Const(value) = &expr.kind {
        return Ok(value.clone());
    }
    let mut repeated = 0;
    let applies = calls == Calls::Constexpr && declaration_order::applies(cx, expr.span);
    let root = if applies { expr.span } else { Span::NONE };
    loop {
        let before = cx.limits.constant_steps;
        match machine(cx, calls, root).run(expr) {
            Ok(value) => return Ok(value),
            Err(Fail::NotConstant(problem)) => return Err(problem),
            Err(Fail::TooDeep(span)) => {
                cx.limits.report_too_deep(span, &mut cx.diagnostics);
                return Err(NotConstant::new(span, "constant evaluation nests too deeply"));
            }
            Err(Fail::NeedsBody(func)) => {
                // Repeated steps have a separate limit.
                repeated += cx.limits.constant_steps - before;
                cx.limits.constant_steps = before;
                if repeated > MAX_REPEATED_STEPS {
                    return Err(NotConstant::new(expr.span, "constant evaluation takes too many steps"));
                }
                function::ensure_body(cx, func);
            }
        }
    }
}

fn machine<'c, 'a>(cx: &'c mut Checker<'a>, calls: Calls, root: Span) -> Machine<'c, 'a> {
    let facts = Facts {
        functions: &cx.functions,
        numbers: &cx.linking.numbers,
        data: &cx.data,
        function: &cx.function,
        constants: &cx.local_constants,
        diagnostics: &cx.diagnostics,
        table: cx.table,
        calls,
        root,
    };
    Machine::new(facts, &mut cx.types, &mut cx.limits)
}

pub(super) fn report_not_constant(
    diagnostics: &mut Diagnostics,
    span: Span,
    message: impl Into<String>,
    problem: NotConstant,
) {
    let diagnostic = Diagnostic::error("not-constant", span, message);
    diagnostics.report(diagnostic.with_note(problem.span, problem.message));
}

/// The value of a constant expression; reported if it is none.
pub(super) fn constant(cx: &mut Checker<'_>, expr: Expr) -> Option<ConstValue> {
    if expr.ty.ty.is_error() {
        return None;
    }
    let span = expr.span;
    let value = cx.values().whole_value(expr);
    match strict_value_of(cx, &value) {
        Ok(value) => Some(value),
        Err(problem) => {
            report_not_constant(&mut cx.diagnostics, span, "this must be a constant expression", problem);
            None
        }
    }
}

/// The value of an integral constant expression; reported if it is none.
pub(super) fn constant_integer(cx: &mut Checker<'_>, expr: Expr) -> Option<i128> {
    let span = expr.span;
    let expr = convert::builtin_operand(cx, expr);
    let ty = expr.ty.ty;
    if ty.is_error() {
        return None;
    }
    if cx.types.scalar_repr(ty).is_none_or(ScalarTy::is_float) {
        let shown = cx.types.display(ty);
        cx.error("not-an-integer", span, format!("an integer constant is needed, not a `{shown}`"));
        return None;
    }
    let value = constant(cx, expr)?;
    integer_of(&cx.types, ty, &value)
}

/// The value of a constant expression converted to a type; reported if it is none.
pub(super) fn constant_of_type(cx: &mut Checker<'_>, expr: Expr, to: QualTy) -> Option<ConstValue> {
    narrowing::refuse_narrowing(cx, &expr, to.ty, "the template argument");
    let span = expr.span;
    let to = init::initialised_type(&cx.types, to);
    let converted = convert::to_type(cx, expr, to, "for a template argument");
    let value = constant(cx, converted)?;
    let is_variable = |id, offset| offset == 0 && !matches!(cx.data.global(id).name.as_str(), "");
    match value {
        ConstValue::Address(id, offset) if !is_variable(id, offset) => {
            let message =
                "a template argument is the address of a variable, not of a part of it or of a literal";
            cx.error("not-constant", span, message);
            None
        }
        value => Some(value),
    }
}

/// Whether an integer type has the value.
pub(super) fn holds(scalar: ScalarTy, value: i128) -> bool {
    let bits = scalar.size() * 8;
    if scalar == ScalarTy::Bool {
        (0..=1).contains(&value)
    } else if scalar.is_signed() {
        let half = 1i128 << (bits - 1);
        (-half..half).contains(&value)
    } else {
        (0..1i128 << bits).contains(&value)
    }
}

/// A condition that must be constant.
pub(super) fn constant_condition(cx: &mut Checker<'_>, expr: Expr) -> Option<bool> {
    let cond = expr::condition(cx, expr);
    let value = constant(cx, cond)?;
    value.as_scalar().map(|bits| bits != 0)
}

/// `static_assert(cond, "message")`.
pub(super) fn static_assert<'a>(
    cx: &mut Checker<'a>,
    cond: &'a crate::ast::Expr,
    message: Option<crate::token::Name>,
    span: Span,
) {
    let value = expr::check(cx, cond);
    if value.ty.ty.is_error() {
        return;
    }
    if constant_condition(cx, value) == Some(false) {
        let text = message.map_or_else(String::new, |text| format!(": {text}"));
        cx.diagnostics.error_of_caller(
            cx.table,
            "static-assert",
            span,
            format!("static assertion failed{text}"),
        );
    }
}

/// An integral constant as a number.
pub(super) fn integer_of(types: &Types, ty: Ty, value: &ConstValue) -> Option<i128> {
    let scalar = types.scalar_repr(ty).filter(|scalar| scalar.is_integral())?;
    let bits = value.as_scalar()?;
    Some(if scalar.is_signed() {
        i128::from(eval::sign_extend(scalar.into(), bits))
    } else {
        i128::from(bits)
    })
}

/// Whether arithmetic on integers has a value: no division by zero, no signed overflow, no shift by a
/// negative number or by more than the width (C++17 [expr.4], [expr.shift]).
pub(super) fn has_value(op: BinaryOp, scalar: ScalarTy, x: u64, y: u64) -> bool {
    if !scalar.is_integral() {
        return true;
    }
    let number = |bits: u64| match scalar.is_signed() {
        true => i128::from(eval::sign_extend(scalar.into(), bits)),
        false => i128::from(bits),
    };
    let (a, b) = (number(x), number(y));
    match op {
        BinaryOp::Div | BinaryOp::Rem => b != 0 && holds(scalar, a / b),
        BinaryOp::Add if scalar.is_signed() => holds(scalar, a + b),
        BinaryOp::Sub if scalar.is_signed() => holds(scalar, a - b),
        BinaryOp::Mul if scalar.is_signed() => a.checked_mul(b).is_some_and(|value| holds(scalar, value)),
        BinaryOp::Shl | BinaryOp::Shr => (0..i128::from(scalar.size() * 8)).contains(&b),
        _ => true,
    }
}

/// The IR's operation for arithmetic on a scalar type.
pub(super) fn ir_binary(op: BinaryOp, scalar: ScalarTy) -> BinOp {
    let signed = scalar.is_signed();
    if scalar.is_float() {
        return match op {
            BinaryOp::Sub => BinOp::FSub,
            BinaryOp::Mul => BinOp::FMul,
            BinaryOp::Div => BinOp::FDiv,
            BinaryOp::Rem => BinOp::FRem,
            _ => BinOp::FAdd,
        };
    }
    match op {
        BinaryOp::Add => BinOp::Add,
        BinaryOp::Sub => BinOp::Sub,
        BinaryOp::Mul => BinOp::Mul,
        BinaryOp::Div if signed => BinOp::SDiv,
        BinaryOp::Div => BinOp::UDiv,
        BinaryOp::Rem if signed => BinOp::SRem,
        BinaryOp::Rem => BinOp::URem,
        BinaryOp::Shl => BinOp::Shl,
        BinaryOp::Shr if signed => BinOp::AShr,
        BinaryOp::Shr => BinOp::LShr,
        BinaryOp::And => BinOp::And,
        BinaryOp::Or => BinOp::Or,
        BinaryOp::Xor => BinOp::Xor,
    }
}

/// The IR's operation for a unary operator on a scalar type.
pub(super) fn ir_unary(op: UnaryOp, scalar: ScalarTy) -> UnOp {
    match op {
        UnaryOp::Neg if scalar.is_float() => UnOp::FNeg,
        UnaryOp::Neg => UnOp::INeg,
        UnaryOp::BitNot | UnaryOp::Not => UnOp::Not,
    }
}

/// The IR's operation for a comparison of a scalar type.
pub(super) fn ir_compare(op: CompareOp, scalar: ScalarTy) -> CmpOp {
    let (float, signed) = (scalar.is_float(), scalar.is_signed());
    match op {
        CompareOp::Eq if float => CmpOp::FEq,
        CompareOp::Ne if float => CmpOp::FNe,
        CompareOp::Lt if float => CmpOp::FLt,
        CompareOp::Le if float => CmpOp::FLe,
        CompareOp::Gt if float => CmpOp::FGt,
        CompareOp::Ge if float => CmpOp::FGe,
        CompareOp::Eq => CmpOp::Eq,
        CompareOp::Ne => CmpOp::Ne,
        CompareOp::Lt if signed => CmpOp::SLt,
        CompareOp::Le if signed => CmpOp::SLe,
        CompareOp::Gt if signed => CmpOp::SGt,
        CompareOp::Ge if signed => CmpOp::SGe,
        CompareOp::Lt => CmpOp::ULt,
        CompareOp::Le => CmpOp::ULe,
        CompareOp::Gt => CmpOp::UGt,
        CompareOp::Ge => CmpOp::UGe,
    }
}

/// Converts the bits of a scalar.
pub(super) fn convert_scalar(from: ScalarTy, to: ScalarTy, bits: u64) -> u64 {
    if from == to {
        return bits;
    }
    let (a, b) = (from.into(), to.into());
    if to == ScalarTy::Bool {
        return u64::from(if from.is_float() {
            eval::eval_compare(CmpOp::FNe, a, bits, 0)
        } else {
            bits != 0
        });
    }
    let op = match (from.is_float(), to.is_float()) {
        (true, true) => CastOp::FCast,
        (true, false) if to.is_signed() => CastOp::FToS,
        (true, false) => CastOp::FToU,
        (false, true) if from.is_signed() => CastOp::SToF,
        (false, true) => CastOp::UToF,
        (false, false) => {
            let value = if from.is_signed() { eval::sign_extend(a, bits) as u64 } else { bits };
            return value & eval::mask(b);
        }
    };
    eval::eval_cast(op, a, b, bits)
}

fn read(bytes: &[u8], offset: usize, scalar: Scalar) -> Option<u64> {
    let size = scalar.size() as usize;
    let mut raw = [0u8; 8];
    raw[..size].copy_from_slice(bytes.get(offset..offset.checked_add(size)?)?);
    Some(u64::from_le_bytes(raw))
}

/// The constant that bytes hold.
pub(super) fn value_from_bytes(types: &Types, ty: Ty, bytes: &[u8]) -> Option<ConstValue> {
    match *types.kind(ty) {
        TyKind::Vector { elem, len, .. } => {
            let size = elem.size() as usize;
            (0..usize::from(len))
                .map(|n| read(bytes, n * size, elem.into()))
                .collect::<Option<_>>()
                .map(ConstValue::Vector)
        }
        TyKind::Pointer(_) | TyKind::Nullptr if types.pointed_function(ty).is_none() => {
            match Address::from_bits(read(bytes, 0, Scalar::I64)?) {
                Address::NULL => Some(ConstValue::Null),
                at => at.global().map(|global| ConstValue::Address(global, at.offset)),
            }
        }
        _ => match types.memory_scalar(ty) {
            Some(scalar) => read(bytes, 0, scalar.into()).map(ConstValue::Scalar),
            None => {
                bytes.get(..types.layout(ty).size as usize).map(|bytes| ConstValue::Bytes(bytes.to_vec()))
            }
        },
    }
}

/// A constant as bytes, `sizeof(ty)` of them.
pub(super) fn value_to_bytes(types: &Types, ty: Ty, value: &ConstValue) -> Vec<u8> {
    let mut bytes = match (value, types.element(ty).or_else(|| types.memory_scalar(ty))) {
        (ConstValue::Scalar(bits), Some(elem)) => bits.to_le_bytes()[..elem.size() as usize].to_vec(),
        (ConstValue::Vector(elements), Some(elem)) => {
            elements.iter().flat_map(|bits| bits.to_le_bytes()[..elem.size() as usize].to_vec()).collect()
        }
        (ConstValue::Bytes(bytes), _) => bytes.clone(),
        (ConstValue::Address(global, offset), _) => {
            Address::of_global(*global).plus(*offset).bits().to_le_bytes().to_vec()
        }
        _ => Vec::new(),
    };
    bytes.resize(types.layout(ty).size as usize, 0);
    bytes
}

/// Whether a value of a type contains the address of an object. The bytes of a constant in the program's
/// memory have none.
pub(super) fn has_address(types: &Types, ty: Ty, value: &ConstValue) -> bool {
    match value {
        ConstValue::Address(..) => true,
        ConstValue::Bytes(bytes) => {
            let mut found = false;
            memory::each_pointer(types, ty, bytes, &mut |at| found |= at != Address::NULL);
            found
        }
        ConstValue::Scalar(_) | ConstValue::Vector(_) | ConstValue::Null => false,
    }
}

/// An expression without places for a constant, whose parts may be addresses; `None` for parts that are known
/// as bytes only.
pub(super) fn written_out(types: &mut Types, ty: Ty, value: ConstValue, span: Span) -> Option<Expr> {
    let ConstValue::Bytes(bytes) = value else {
        return Some(Expr::value(ExprKind::Const(value), ty, span));
    };
    let part = |types: &mut Types, ty: Ty, offset: u64| {
        let value = value_from_bytes(types, ty, bytes.get(offset as usize..)?)?;
        written_out(types, ty, value, span)
    };
    let kind = match *types.kind(ty) {
        TyKind::Array(element, count) => {
            let size = types.layout(element).size;
            ExprKind::Array((0..count).map(|n| part(types, element, n * size)).collect::<Option<_>>()?)
        }
        TyKind::Record(record) if !types.record(record).is_union => {
            let fields = types.record(record).fields.clone();
            if fields.iter().any(|field| field.bits.is_some()) {
                return None;
            }
            let parts = fields.iter().map(|field| part(types, field.ty.ty, field.offset));
            ExprKind::Struct(parts.collect::<Option<_>>()?)
        }
        _ => return None,
    };
    Some(Expr::value(kind, ty, span))
}

/// Whether an expression mentions a function constant outside of called functions.
pub(super) fn mentions_function_constant(expr: &hir::Expr) -> bool {
    let mut found = false;
    super::walk::each_expr(expr, &mut |expr| {
        found |= matches!(expr.kind, ExprKind::FunctionConstant(_) | ExprKind::FunctionConstantDefined(_));
    });
    found
}
