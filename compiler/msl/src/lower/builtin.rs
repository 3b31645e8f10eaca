//! Calls of the library's builtins.

use super::function::FunctionLowerer;
use crate::builtins::{ArithFn, BuiltinId, BuiltinOp};
use crate::hir::{self, ScalarTy};
use anymetal_ir as ir;

impl FunctionLowerer<'_, '_, '_> {
    /// Calls a builtin; gives its value, unless it has none.
    pub(super) fn builtin(
        &mut self,
        id: BuiltinId,
        args: &[hir::Expr],
        expr: &hir::Expr,
    ) -> Option<ir::Value> {
        // Where the operation depends on the type, its first argument is a number.
        let elem = args.first().and_then(|arg| self.types().element(arg.ty.ty)).unwrap_or(ScalarTy::I32);
        let op = id.get().op;
        if let (BuiltinOp::Bitcast, [arg]) = (op, args)
            && self.module.is_aggregate(arg.ty.ty)
        {
            return Some(self.bits_in_memory(arg, expr.ty.ty));
        }
        if op == BuiltinOp::LogMessage {
            self.log_message(args, expr.span);
            return None;
        }
        let values: Vec<_> = args.iter().map(|arg| self.value(arg)).collect();
        self.at(expr.span);
        let result = match op {
            BuiltinOp::Math(function, mode) => self.math_call(function, mode, values),
            BuiltinOp::Arith(function) => self.arith(function, elem, &values),
            BuiltinOp::Bitcast => {
                let to = self.value_type(expr.ty.ty);
                self.bitcast(values[0], to)
            }
            BuiltinOp::Select => self.b.infer(ir::Op::Select(values[2], values[1], values[0])),
            BuiltinOp::AnyOf => self.fold_bools(values[0], ir::BinOp::Or),
            BuiltinOp::AllOf => self.fold_bools(values[0], ir::BinOp::And),
            BuiltinOp::Simd(op) => self.b.infer(ir::Op::Simd(simd_op(op, elem), values)),
            BuiltinOp::Query(query) => self.b.query(query),
            BuiltinOp::LogMessage => unreachable!("messages are written above"),
            BuiltinOp::CommandMemory => self.command_memory(values[0]),
            BuiltinOp::ResourceAddress => self.resource_address(values[0]),
            BuiltinOp::TextureInfo => self.texture_info(values[0]),
            BuiltinOp::TextureTexels => self.texture_texels(values[0]),
            BuiltinOp::TextureFormat => self.texture_format(values[0]),
            BuiltinOp::Barrier(scope) => {
                let flags = self.module.for_sanitizer.then_some(values[0]);
                self.b.push(ir::Op::Barrier(scope, flags));
                return None;
            }
            BuiltinOp::Fence => {
                let operands = [values[0], values[1], values[2]];
                self.b.push(ir::Op::Fence(self.module.for_sanitizer.then_some(operands)));
                return None;
            }
            BuiltinOp::AtomicStore => {
                self.b.push(ir::Op::AtomicStore(values[0], values[1]));
                return None;
            }
            BuiltinOp::AtomicLoad => {
                let ty = self.value_type(expr.ty.ty);
                self.b.value(ir::Op::AtomicLoad(values[0]), ty)
            }
            BuiltinOp::AtomicRmw(op) => self.atomic(op, args, &values),
            BuiltinOp::AtomicCas => self.b.infer(ir::Op::AtomicCas(values[0], values[1], values[2])),
            BuiltinOp::MatrixStore { transpose } => {
                self.b.push(ir::Op::Matrix(ir::MatrixOp::Store { transpose }, values));
                return None;
            }
            BuiltinOp::MatrixLoad { transpose } => {
                let ty = self.value_type(expr.ty.ty);
                self.b.value(ir::Op::Matrix(ir::MatrixOp::Load { transpose }, values), ty)
            }
            BuiltinOp::MatrixMultiplyAccumulate => {
                self.b.infer(ir::Op::Matrix(ir::MatrixOp::MultiplyAccumulate, values))
            }
        };
        Some(result)
    }

    /// Builtins that give aggregates: there are none, but the result of a bit cast may be a record.
    pub(super) fn aggregate_builtin(
        &mut self,
        id: BuiltinId,
        args: &[hir::Expr],
        expr: &hir::Expr,
        ptr: ir::Value,
    ) {
        let value = match (id.get().op, args) {
            (BuiltinOp::Bitcast, [arg]) if self.module.is_aggregate(arg.ty.ty) => {
                self.into(arg, ptr);
                return;
            }
            (BuiltinOp::Bitcast, [arg]) => self.value(arg),
            _ => panic!("{} gives no `{}`", id.get().name, self.types().display(expr.ty.ty)),
        };
        self.b.store(ptr, value, 1);
    }

    fn math_call(
        &mut self,
        function: ir::MathFn,
        mode: Option<ir::FpMode>,
        values: Vec<ir::Value>,
    ) -> ir::Value {
        let outer = self.b.fp;
        self.b.fp = mode.unwrap_or(outer);
        let value = self.b.math(function, values);
        self.b.fp = outer;
        value
    }

    fn arith(&mut self, function: ArithFn, elem: ScalarTy, values: &[ir::Value]) -> ir::Value {
        use ir::BinOp as B;
        let (float, signed) = (elem.is_float(), elem.is_signed());
        let pick = |signed_op, unsigned_op| if signed { signed_op } else { unsigned_op };
        match function {
            ArithFn::Min if float => self.b.math(ir::MathFn::FMin, values.to_vec()),
            ArithFn::Max if float => self.b.math(ir::MathFn::FMax, values.to_vec()),
            ArithFn::Abs if float => self.b.math(ir::MathFn::FAbs, values.to_vec()),
            ArithFn::Min => self.b.binary(pick(B::SMin, B::UMin), values[0], values[1]),
            ArithFn::Max => self.b.binary(pick(B::SMax, B::UMax), values[0], values[1]),
            ArithFn::MulHi => self.b.binary(pick(B::SMulHi, B::UMulHi), values[0], values[1]),
            ArithFn::AddSat => self.b.binary(pick(B::SAddSat, B::UAddSat), values[0], values[1]),
            ArithFn::SubSat => self.b.binary(pick(B::SSubSat, B::USubSat), values[0], values[1]),
            ArithFn::Abs if !signed => values[0],
            ArithFn::Abs => {
                let negative = self.b.unary(ir::UnOp::INeg, values[0]);
                self.b.binary(B::SMax, values[0], negative)
            }
            ArithFn::PopCount => self.b.math(ir::MathFn::PopCount, values.to_vec()),
            ArithFn::Clz => self.b.math(ir::MathFn::Clz, values.to_vec()),
            ArithFn::Ctz => self.b.math(ir::MathFn::Ctz, values.to_vec()),
            ArithFn::ReverseBits => self.b.math(ir::MathFn::ReverseBits, values.to_vec()),
        }
    }

    fn fold_bools(&mut self, value: ir::Value, op: ir::BinOp) -> ir::Value {
        let lanes = self.b.func.ty(value).lanes();
        if lanes == 1 {
            return value;
        }
        let first = self.b.infer(ir::Op::Extract(value, 0));
        (1..lanes).fold(first, |folded, lane| {
            let element = self.b.infer(ir::Op::Extract(value, lane));
            self.b.binary(op, folded, element)
        })
    }

    fn atomic(&mut self, op: ir::AtomicOp, args: &[hir::Expr], values: &[ir::Value]) -> ir::Value {
        use ir::AtomicOp as A;
        let elem = self.element(args[1].ty.ty);
        let mut operand = values[1];
        let op = match op {
            A::Add if elem.is_float() => A::FAdd,
            A::Sub if elem.is_float() => {
                operand = self.b.unary(ir::UnOp::FNeg, operand);
                A::FAdd
            }
            A::UMin if elem.is_signed() => A::SMin,
            A::UMax if elem.is_signed() => A::SMax,
            other => other,
        };
        self.b.infer(ir::Op::AtomicRmw(op, values[0], operand))
    }
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
