//! Operations without effects: arithmetic, conversions, selections, vectors.
//!
//! Every component is computed in the form that its shape says. For affine results the rule is
//! always the same: a base is the operation applied to the operands' values in the first lane of
//! the segment, because patterns are kept zero there.

use anymetal_ir::{BinOp, CastOp, FpMode, Inst, MathFn, Op, Scalar, Type, Value};

use super::arith::{self, Arithmetic};
use super::cast;
use super::lane::{Lane, Width};
use super::{Emitter, zero_lane};
use crate::elementwise::constant;
use crate::llvm::{I32, IntPredicate, Opd, scalar_type};
use anymetal_analysis::divergence::{Affine, Shape, transfer};
use anymetal_simd::float_range;

impl Emitter<'_, '_> {
    /// Computes the result of an operation without effects.
    pub(super) fn pure(&mut self, inst: Inst, result: Value) {
        let lanes = match self.interior_lane(result) {
            Some(lane) => vec![lane],
            None => self.pure_lanes(inst, result),
        };
        self.define(result, lanes);
    }

    fn pure_lanes(&mut self, inst: Inst, result: Value) -> Vec<Lane> {
        let function = self.plan.facts.function;
        let data = function.inst(inst);
        let ty = function.ty(result);
        let count = usize::from(ty.lanes());
        match &data.op {
            Op::Const(bits) => vec![self.constant(ty, *bits)],
            Op::Undef => (0..count).map(|_| zero_lane(self.scalar(result))).collect(),
            Op::Query(query) => vec![self.query(*query, result)],
            Op::LocalAddr(_) | Op::ThreadgroupAddr(_) | Op::GlobalAddr(_) => {
                vec![Lane::known(Affine::known([0; 32]))]
            }
            Op::Splat(a) => vec![self.lane(*a, 0); count],
            Op::Compose(parts) => {
                let lanes_of = |part: &Value| usize::from(function.ty(*part).lanes());
                parts.iter().flat_map(|part| (0..lanes_of(part)).map(|k| self.lane(*part, k))).collect()
            }
            Op::Extract(a, k) => vec![self.lane(*a, usize::from(*k))],
            Op::Shuffle(a, b, picks) => {
                let n = usize::from(function.ty(*a).lanes());
                let pick = |&pick: &u8| {
                    let pick = usize::from(pick);
                    if pick < n { self.lane(*a, pick) } else { self.lane(*b, pick - n) }
                };
                picks.iter().map(pick).collect()
            }
            Op::Insert(a, k, s) => {
                let pick = |c| if c == usize::from(*k) { self.lane(*s, 0) } else { self.lane(*a, c) };
                (0..count).map(pick).collect()
            }
            Op::Cast(CastOp::Bitcast, a) => self.bitcast(*a, result),
            Op::Cast(CastOp::PtrToInt, a) => vec![self.addressed(*a)],
            Op::Cast(CastOp::IntToPtr, a) => {
                let bits = self.lane(*a, 0);
                vec![self.loaded_pointer(result, &bits)]
            }
            Op::ExtractDynamic(a, index) => vec![self.extract_dynamic(*a, *index, result)],
            Op::PtrAdd { .. } => vec![self.pointer_sum(inst, result)],
            Op::Select(c, a, b) if ty.is_ptr() => vec![self.select_pointer(*c, *a, *b, result)],
            _ => (0..count).map(|k| self.component(inst, result, k)).collect(),
        }
    }

    fn constant(&self, ty: Type, bits: u64) -> Lane {
        let opd = match ty.scalar() {
            Some(scalar @ (Scalar::F32 | Scalar::F16 | Scalar::Bf16)) => constant(scalar, bits),
            scalar => {
                let value = transfer::lane_of(scalar.unwrap_or(Scalar::I64), bits);
                return Lane::known(Affine::known([value; 32]));
            }
        };
        Lane::Affine { bases: vec![opd], shape: Affine::uniform(true), assumption: None }
    }

    /// One component of an elementwise operation.
    fn component(&mut self, inst: Inst, result: Value, k: usize) -> Lane {
        match self.shape(result, k) {
            Shape::Affine(shape) if shape.is_constant => Lane::known(shape),
            Shape::Affine(shape) => {
                let step = shape.segment_len();
                let bases = (0..shape.segments).map(|s| self.scalar_at(inst, k, s * step)).collect();
                let assumption = self.condition(inst, k, &shape);
                Lane::Affine { bases, shape, assumption }
            }
            _ => Lane::Varying(self.elementwise(inst, k, Width::All, None)),
        }
    }

    /// Whether the operation divides different lanes by the same 32-bit integer.
    fn divides_by_one(&self, op: BinOp, width: Width, divisor: Value, k: usize) -> bool {
        matches!(op, BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem)
            && width == Width::All
            && self.scalar(divisor) == Scalar::I32
            && self.shape(divisor, k).is_uniform()
    }

    fn scalar_at(&mut self, inst: Inst, k: usize, lane: usize) -> Opd {
        self.elementwise(inst, k, Width::One, Some(lane))
    }

    /// The operation on one lane's scalars, or on the vectors.
    pub(super) fn elementwise(&mut self, inst: Inst, k: usize, width: Width, lane: Option<usize>) -> Opd {
        let function = self.plan.facts.function;
        let data = function.inst(inst);
        let get = |this: &mut Self, value: Value, k: usize| match lane {
            Some(lane) => this.at(value, k, lane),
            None => this.vector(value, k),
        };
        match &data.op {
            Op::Unary(op, a) => {
                let (x, scalar) = (get(self, *a, k), self.scalar(*a));
                arith::unary(&mut self.t, width, *op, scalar, &x)
            }
            Op::Binary(op, a, b) => {
                let (x, y) = (get(self, *a, k), get(self, *b, k));
                let constant = self.shape(*b, k).affine().and_then(Affine::constant);
                if self.divides_by_one(*op, width, *b, k) && constant.is_none() {
                    let divisor = self.at(*b, k, 0);
                    return arith::division_by_one(&mut self.t, *op, &x, &divisor);
                }
                let how = Arithmetic { width, fp: data.fp, scalar: self.scalar(*a), constant };
                arith::binary(&mut self.t, &mut self.shared.library, how, *op, &x, &y)
            }
            Op::Compare(op, a, _) if self.is_pointer(*a) => self.compare_pointers(inst, *op, width, lane),
            Op::Compare(op, a, b) => {
                let (x, y, scalar) = (get(self, *a, k), get(self, *b, k), self.scalar(*a));
                arith::compare(&mut self.t, width, *op, scalar, &x, &y)
            }
            Op::Select(c, a, b) => {
                let (x, y) = (get(self, *a, k), get(self, *b, k));
                let condition = if usize::from(function.ty(*c).lanes()) == 1 { 0 } else { k };
                if self.shape(*c, condition).is_uniform() {
                    let c = self.uniform(*c, condition);
                    return self.t.select(&c, &x, &y);
                }
                let c = self.vector(*c, condition);
                self.t.select(&c, &x, &y)
            }
            Op::Cast(op, a) => {
                let (x, from) = (get(self, *a, k), self.scalar(*a));
                let to = self.scalar(data.result.expect("a conversion has a result"));
                let is_signed = *op == CastOp::FToS;
                if (is_signed || *op == CastOp::FToU) && float_range::fits(function, *a, to, is_signed) {
                    return cast::to_integer_within(&mut self.t, width, is_signed, (from, to), &x);
                }
                let saturates = self.shared.options.features.neon;
                cast::cast(&mut self.t, (width, saturates), *op, from, to, &x)
            }
            Op::Math(function, args) => {
                let args: Vec<Opd> = args.iter().map(|&arg| get(self, arg, k)).collect();
                self.math(inst, *function, width, &args)
            }
            Op::InsertDynamic(a, index, s) => {
                let (x, i, y) = (get(self, *a, k), get(self, *index, 0), get(self, *s, 0));
                let n = i64::from(function.ty(*a).lanes());
                let i = self.modulo(width, &i, n);
                let here = self.t.icmp(IntPredicate::Eq, &i, k as i64);
                self.t.select(&here, &y, &x)
            }
            op => unreachable!("{op:?} is not elementwise"),
        }
    }

    /// The index modulo the length of a vector (which the IR defines for any bits).
    fn modulo(&mut self, width: Width, index: &Opd, n: i64) -> Opd {
        assert!(n > 0, "a vector has components");
        let n = width.int(I32, n);
        self.t.urem(index, &n)
    }

    pub(super) fn math(&mut self, inst: Inst, function: MathFn, width: Width, args: &[Opd]) -> Opd {
        let data = self.plan.facts.function.inst(inst);
        let Op::Math(_, values) = &data.op else { unreachable!("{:?} is not a function", data.op) };
        assert_eq!(args.len(), values.len(), "each argument of {function:?} has an operand");
        let scalars: Vec<Scalar> = values.iter().map(|&value| self.scalar(value)).collect();
        let result = self.scalar(data.result.expect("a function has a result"));
        if function == MathFn::Fma && data.fp != FpMode::Safe && scalars[0] == Scalar::F32 {
            let operands: Vec<&Opd> = args.iter().collect();
            return self.t.intrinsic("fma", arith::flags(data.fp), &operands);
        }
        let count = width.count() as u32;
        let is_plain = (function, data.fp, scalars[0]) == (MathFn::Rsqrt, FpMode::Fast, Scalar::F32)
            && float_range::is_positive_normal(self.plan.facts.function, values[0]);
        let name = if is_plain {
            self.shared.library.require_rsqrt_of_positive_normal(count)
        } else {
            self.shared.library.require(function, scalars[0], data.fp, count).to_owned()
        };
        let outside = scalar_type;
        let mut operands = Vec::new();
        for (arg, &scalar) in args.iter().zip(&scalars) {
            let arg = self.t.reinterpret(arg, outside(scalar));
            operands.push(arg);
        }
        let ty = width.of(outside(result));
        let operands: Vec<&Opd> = operands.iter().collect();
        let value = self.t.call(ty, &name, &operands);
        self.t.reinterpret(&value, scalar_type(result))
    }

    fn bitcast(&mut self, a: Value, result: Value) -> Vec<Lane> {
        let function = self.plan.facts.function;
        let (from, to) = (self.scalar(a), self.scalar(result));
        let count = usize::from(function.ty(a).lanes());
        if from == to || from.is_int() && to.is_int() && from.size() == to.size() {
            return (0..count).map(|k| self.lane(a, k)).collect();
        }
        let width = if self.shape(result, 0).is_uniform() { Width::One } else { Width::All };
        let parts: Vec<Opd> = (0..count).map(|k| self.operand(width, a, k)).collect();
        let results = cast::bitcast(&mut self.t, width, from, &parts, to);
        results.into_iter().map(|opd| self.wrap(width, opd)).collect()
    }

    /// A computed operand as a component.
    pub(super) fn wrap(&self, width: Width, opd: Opd) -> Lane {
        match width {
            Width::One => Lane::uniform(opd),
            _ => Lane::Varying(opd),
        }
    }

    fn extract_dynamic(&mut self, a: Value, index: Value, result: Value) -> Lane {
        let width = if self.shape(result, 0).is_uniform() { Width::One } else { Width::All };
        let n = usize::from(self.function().ty(a).lanes());
        let index = self.operand(width, index, 0);
        let index = self.modulo(width, &index, n as i64);
        let mut chosen = self.operand(width, a, 0);
        for k in 1..n {
            let here = self.t.icmp(IntPredicate::Eq, &index, k as i64);
            let other = self.operand(width, a, k);
            chosen = self.t.select(&here, &other, &chosen);
        }
        self.wrap(width, chosen)
    }
}
