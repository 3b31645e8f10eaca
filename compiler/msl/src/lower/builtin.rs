//! Calls of the library's builtins.

use super::function::FunctionLowerer;
use super::{aggregate, convert, encoding, logging, textures, value, wide_vector};
use crate::builtins::{ArithFn, BuiltinId, BuiltinOp};
use crate::hir::{self, ScalarTy};
use anymetal_ir as ir;

/// Calls a builtin; gives its value, unless it has none.
pub(super) fn lower(
    f: &mut FunctionLowerer<'_, '_, '_>,
    id: BuiltinId,
    args: &[hir::Expr],
    expr: &hir::Expr,
) -> Option<ir::Value> {
    // Where the operation depends on the type, its first argument is a number.
    let elem = args.first().and_then(|arg| f.types().element(arg.ty.ty)).unwrap_or(ScalarTy::I32);
    let op = id.get().op;
    if let (BuiltinOp::Bitcast, [arg]) = (op, args)
        && f.module.is_aggregate(arg.ty.ty)
    {
        return Some(wide_vector::bits_in_memory(f, arg, expr.ty.ty));
    }
    if op == BuiltinOp::LogMessage {
        logging::message(f, args, expr.span);
        return None;
    }
    let values: Vec<_> = args.iter().map(|arg| value::lower(f, arg)).collect();
    f.at(expr.span);
    let result = match op {
        BuiltinOp::Math(function, mode) => math_call(f, function, mode, values),
        BuiltinOp::Arith(function) => arith(f, function, elem, &values),
        BuiltinOp::Bitcast => {
            let to = f.value_type(expr.ty.ty);
            convert::bitcast(f, values[0], to)
        }
        BuiltinOp::Select => f.b.infer(ir::Op::Select(values[2], values[1], values[0])),
        BuiltinOp::AnyOf => fold_bools(f, values[0], ir::BinOp::Or),
        BuiltinOp::AllOf => fold_bools(f, values[0], ir::BinOp::And),
        BuiltinOp::Simd(op) => f.b.infer(ir::Op::Simd(simd_op(op, elem), values)),
        BuiltinOp::Query(query) => f.b.query(query),
        BuiltinOp::LogMessage => unreachable!("messages are written above"),
        BuiltinOp::CommandMemory => encoding::command_memory(f, values[0]),
        BuiltinOp::ResourceAddress => encoding::resource_address(f, values[0]),
        BuiltinOp::TextureInfo => textures::info(f, values[0]),
        BuiltinOp::TextureTexels => textures::texels(f, values[0]),
        BuiltinOp::TextureFormat => textures::format(f, values[0]),
        BuiltinOp::Barrier(scope) => {
            let flags = f.module.for_sanitizer.then_some(values[0]);
            f.b.push(ir::Op::Barrier(scope, flags));
            return None;
        }
        BuiltinOp::Fence => {
            let operands = [values[0], values[1], values[2]];
            f.b.push(ir::Op::Fence(f.module.for_sanitizer.then_some(operands)));
            return None;
        }
        BuiltinOp::AtomicStore => {
            f.b.push(ir::Op::AtomicStore(values[0], values[1]));
            return None;
        }
        BuiltinOp::AtomicLoad => {
            let ty = f.value_type(expr.ty.ty);
            f.b.value(ir::Op::AtomicLoad(values[0]), ty)
        }
        BuiltinOp::AtomicRmw(op) => atomic(f, op, args, &values),
        BuiltinOp::AtomicCas => f.b.infer(ir::Op::AtomicCas(values[0], values[1], values[2])),
        BuiltinOp::MatrixStore { transpose } => {
            f.b.push(ir::Op::Matrix(ir::MatrixOp::Store { transpose }, values));
            return None;
        }
        BuiltinOp::MatrixLoad { transpose } => {
            let ty = f.value_type(expr.ty.ty);
            f.b.value(ir::Op::Matrix(ir::MatrixOp::Load { transpose }, values), ty)
        }
        BuiltinOp::MatrixMultiplyAccumulate => {
            f.b.infer(ir::Op::Matrix(ir::MatrixOp::MultiplyAccumulate, values))
        }
    };
    Some(result)
}

/// Builtins that give aggregates: there are none, but the result of a bit cast may be a record.
pub(super) fn lower_into(
    f: &mut FunctionLowerer<'_, '_, '_>,
    id: BuiltinId,
    args: &[hir::Expr],
    expr: &hir::Expr,
    ptr: ir::Value,
) {
    let value = match (id.get().op, args) {
        (BuiltinOp::Bitcast, [arg]) if f.module.is_aggregate(arg.ty.ty) => {
            aggregate::into(f, arg, ptr);
            return;
        }
        (BuiltinOp::Bitcast, [arg]) => value::lower(f, arg),
        _ => panic!("{} gives no `{}`", id.get().name, f.types().display(expr.ty.ty)),
    };
    f.b.store(ptr, value, 1);
}

fn math_call(
    f: &mut FunctionLowerer<'_, '_, '_>,
    function: ir::MathFn,
    mode: Option<ir::FpMode>,
    values: Vec<ir::Value>,
) -> ir::Value {
    let outer = f.b.fp;
    f.b.fp = mode.unwrap_or(outer);
    let value = f.b.math(function, values);
    f.b.fp = outer;
    value
}

fn arith(
    f: &mut FunctionLowerer<'_, '_, '_>,
    function: ArithFn,
    elem: ScalarTy,
    values: &[ir::Value],
) -> ir::Value {
    use ir::BinOp as B;
    let (float, signed) = (elem.is_float(), elem.is_signed());
    let pick = |signed_op, unsigned_op| if signed { signed_op } else { unsigned_op };
    match function {
        ArithFn::Min if float => f.b.math(ir::MathFn::FMin, values.to_vec()),
        ArithFn::Max if float => f.b.math(ir::MathFn::FMax, values.to_vec()),
        ArithFn::Abs if float => f.b.math(ir::MathFn::FAbs, values.to_vec()),
        ArithFn::Min => f.b.binary(pick(B::SMin, B::UMin), values[0], values[1]),
        ArithFn::Max => f.b.binary(pick(B::SMax, B::UMax), values[0], values[1]),
        ArithFn::MulHi => f.b.binary(pick(B::SMulHi, B::UMulHi), values[0], values[1]),
        ArithFn::AddSat => f.b.binary(pick(B::SAddSat, B::UAddSat), values[0], values[1]),
        ArithFn::SubSat => f.b.binary(pick(B::SSubSat, B::USubSat), values[0], values[1]),
        ArithFn::Abs if !signed => values[0],
        ArithFn::Abs => {
            let negative = f.b.unary(ir::UnOp::INeg, values[0]);
            f.b.binary(B::SMax, values[0], negative)
        }
        ArithFn::PopCount => f.b.math(ir::MathFn::PopCount, values.to_vec()),
        ArithFn::Clz => f.b.math(ir::MathFn::Clz, values.to_vec()),
        ArithFn::Ctz => f.b.math(ir::MathFn::Ctz, values.to_vec()),
        ArithFn::ReverseBits => f.b.math(ir::MathFn::ReverseBits, values.to_vec()),
    }
}

fn fold_bools(f: &mut FunctionLowerer<'_, '_, '_>, value: ir::Value, op: ir::BinOp) -> ir::Value {
    let lanes = f.b.func.ty(value).lanes();
    if lanes == 1 {
        return value;
    }
    let first = f.b.infer(ir::Op::Extract(value, 0));
    (1..lanes).fold(first, |folded, lane| {
        let element = f.b.infer(ir::Op::Extract(value, lane));
        f.b.binary(op, folded, element)
    })
}

fn atomic(
    f: &mut FunctionLowerer<'_, '_, '_>,
    op: ir::AtomicOp,
    args: &[hir::Expr],
    values: &[ir::Value],
) -> ir::Value {
    use ir::AtomicOp as A;
    let elem = value::pick_element(f, args[1].ty.ty);
    let mut operand = values[1];
    let op = match op {
        A::Add if elem.is_float() => A::FAdd,
        A::Sub if elem.is_float() => {
            operand = f.b.unary(ir::UnOp::FNeg, operand);
            A::FAdd
        }
        A::UMin if elem.is_signed() => A::SMin,
        A::UMax if elem.is_signed() => A::SMax,
        other => other,
    };
    f.b.infer(ir::Op::AtomicRmw(op, values[0], operand))
}

/// The operation on elements of that type; the table has the float minimum and maximum for all types.
fn simd_op(op: ir::SimdOp, elem: ScalarTy) -> ir::SimdOp {
    use ir::SimdOp as S;
    let pick = |signed, unsigned| if elem.is_signed() { signed } else { unsigned };
    match op {
        _ if elem.is_float() => op,
        S::FMin => pick(S::SMin, S::UMin),
        S::FMax => pick(S::SMax, S::UMax),
        S::QuadFMin => pick(S::QuadSMin, S::QuadUMin),
        S::QuadFMax => pick(S::QuadSMax, S::QuadUMax),
        _ => op,
    }
}
