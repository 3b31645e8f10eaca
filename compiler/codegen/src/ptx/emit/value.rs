//! Operations that only compute a result, scalar by scalar.

use anymetal_ir::{BinOp, CastOp, CmpOp, FpMode, Inst, Op, Scalar, Type, UnOp, Value};

use super::{Emitter, zero_of};
use crate::elementwise::arith::{self, Arithmetic};
use crate::elementwise::{Width, cast};
use crate::llvm::{Binary, FLOAT, I8, I16, I32, IntPredicate, Opd, scalar_type, wrap_int};
use crate::tagged::saturation;
use anymetal_analysis::roots::Root;

impl Emitter<'_> {
    /// Everything that is no access, jump or exchange.
    pub(super) fn computation(&mut self, inst: Inst) {
        let data = self.input.function.inst(inst);
        let result = data.result.unwrap_or_else(|| unreachable!("{:?} computes nothing", data.op));
        let ty = self.ty(result);
        let parts = match &data.op {
            Op::Const(bits) => vec![constant(ty, *bits)],
            Op::Undef => vec![zero_of(ty); usize::from(ty.lanes())],
            Op::Query(query) => vec![self.query(*query)],
            Op::Unary(op, a) => self.unary(*op, *a),
            Op::Binary(op, a, b) => self.binary(*op, data.fp, *a, *b),
            Op::Compare(op, a, b) => self.compare(*op, *a, *b),
            Op::Select(condition, a, b) => self.choose(result, *condition, *a, *b),
            Op::Cast(op, a) => self.convert_value(*op, *a, ty),
            Op::Math(function, args) => self.math(*function, data.fp, args, ty),
            Op::LocalAddr(_) | Op::ThreadgroupAddr(_) | Op::GlobalAddr(_) => vec![Opd::i64(0)],
            Op::PtrAdd { base, index, scale, offset } => {
                vec![self.add_to_pointer(result, *base, *index, *scale, *offset)]
            }
            op => self.vector(op, ty),
        };
        self.define(inst, parts);
    }

    fn vector(&mut self, op: &Op, ty: Type) -> Vec<Opd> {
        match op {
            Op::Splat(a) => vec![self.one(*a); usize::from(ty.lanes())],
            Op::Compose(parts) => parts.iter().flat_map(|&part| self.parts(part)).collect(),
            Op::Extract(a, index) => vec![self.parts(*a)[usize::from(*index)].clone()],
            Op::Insert(a, index, b) => {
                let mut parts = self.parts(*a);
                parts[usize::from(*index)] = self.one(*b);
                parts
            }
            Op::Shuffle(a, b, picks) => {
                let mut all = self.parts(*a);
                all.extend(self.parts(*b));
                picks.iter().map(|&pick| all[usize::from(pick)].clone()).collect()
            }
            Op::ExtractDynamic(a, index) => {
                let (parts, index) = (self.parts(*a), self.index(*a, *index));
                let mut chosen = parts[0].clone();
                for (at, part) in parts.iter().enumerate().skip(1) {
                    let is_it = self.t.icmp(IntPredicate::Eq, &index, at as i64);
                    chosen = self.t.select(&is_it, part, &chosen);
                }
                vec![chosen]
            }
            Op::InsertDynamic(a, index, b) => {
                let (parts, index, new) = (self.parts(*a), self.index(*a, *index), self.one(*b));
                let insert = |(at, part): (usize, &Opd)| {
                    let is_it = self.t.icmp(IntPredicate::Eq, &index, at as i64);
                    self.t.select(&is_it, &new, part)
                };
                parts.iter().enumerate().map(insert).collect()
            }
            op => unreachable!("{op:?} does not operate on vectors"),
        }
    }

    /// An element's index, modulo the length.
    fn index(&mut self, vector: Value, index: Value) -> Opd {
        let (index, lanes) = (self.one(index), self.ty(vector).lanes());
        self.t.urem(&index, i64::from(lanes))
    }

    fn unary(&mut self, op: UnOp, a: Value) -> Vec<Opd> {
        let scalar = self.scalar(a);
        let parts = self.parts(a);
        parts.iter().map(|part| arith::unary(&mut self.t, Width::One, op, scalar, part)).collect()
    }

    fn binary(&mut self, op: BinOp, fp: FpMode, a: Value, b: Value) -> Vec<Opd> {
        let scalar = self.scalar(a);
        let (a, b) = (self.parts(a), self.parts(b));
        assert_eq!(a.len(), b.len(), "{op:?} takes operands of one type");
        a.iter().zip(&b).map(|(a, b)| self.binary_of(op, scalar, fp, a, b)).collect()
    }

    /// Two scalars.
    pub(super) fn binary_of(&mut self, op: BinOp, scalar: Scalar, fp: FpMode, a: &Opd, b: &Opd) -> Opd {
        if scalar.is_float()
            && let Some(result) = self.float_of(op, scalar, fp, a, b)
        {
            return result;
        }
        let constant = if let Opd::Int(_, value) = b { Some(*value) } else { None };
        let how = Arithmetic { width: Width::One, fp, scalar, constant };
        if (op, scalar) == (BinOp::UAddSat, Scalar::I8) {
            return self.add_saturating_bytes(a, b);
        }
        arith::binary(&mut self.t, &mut self.library, how, op, a, b)
    }

    /// Float operations that the GPU does in its own way: `half` natively, divisions by its estimate where
    /// deviations are allowed, `bfloat` rounded by one instruction.
    /// LLVM's NVPTX target adds bytes in 16 bits without the upper limit.
    fn add_saturating_bytes(&mut self, a: &Opd, b: &Opd) -> Opd {
        let [a, b] = [a, b].map(|byte| self.t.zext(byte, I32));
        let sum = self.t.add(&a, &b);
        let least = self.t.intrinsic("umin", "", &[&sum, &Opd::int(I32, 255)]);
        self.t.trunc(&least, I8)
    }

    fn float_of(&mut self, op: BinOp, scalar: Scalar, fp: FpMode, a: &Opd, b: &Opd) -> Option<Opd> {
        let name = match op {
            BinOp::FAdd => Binary::FAdd,
            BinOp::FSub => Binary::FSub,
            BinOp::FMul => Binary::FMul,
            BinOp::FDiv => Binary::FDiv,
            _ => return None,
        };
        if scalar == Scalar::F16 && op != BinOp::FDiv {
            let flags = arith::flags_of(fp, op, a, b);
            return Some(self.t.binary_with(name, flags, a, b));
        }
        let wide = |this: &mut Self, value: &Opd| arith::to_f32(&mut this.t, Width::One, scalar, value);
        let (x, y) = (wide(self, a), wide(self, b));
        let result = if op == BinOp::FDiv && fp != FpMode::Safe && !y.is_const() {
            self.approximate_quotient(&x, &y)
        } else {
            let flags = arith::flags_of(fp, op, &x, &y);
            self.t.binary_with(name, flags, &x, &y)
        };
        Some(self.round(scalar, &result))
    }

    /// Within 2 ulp over the whole range.
    pub(super) fn approximate_quotient(&mut self, a: &Opd, b: &Opd) -> Opd {
        self.t.asm(FLOAT, ("div.full.f32 $0, $1, $2;", "=f,f,f"), &[a, b], "")
    }

    /// A `float` rounded to the type, to nearest even.
    pub(super) fn round(&mut self, scalar: Scalar, value: &Opd) -> Opd {
        if scalar == Scalar::Bf16 && self.input.options.sm >= 80 {
            return self.t.asm(I16, ("cvt.rn.bf16.f32 $0, $1;", "=h,f"), &[value], "");
        }
        arith::from_f32(&mut self.t, Width::One, scalar, value)
    }

    fn compare(&mut self, op: CmpOp, a: Value, b: Value) -> Vec<Opd> {
        if op == CmpOp::Disjoint {
            return vec![self.are_disjoint(a, b)];
        }
        if self.ty(a).is_ptr() {
            let (x, y) = match self.root(a) == self.root(b) && !matches!(self.root(a), Root::Many) {
                true => (self.one(a), self.one(b)),
                false => (self.address_bits(a), self.address_bits(b)),
            };
            return vec![arith::compare(&mut self.t, Width::One, op, Scalar::I64, &x, &y)];
        }
        let scalar = self.scalar(a);
        let (a, b) = (self.parts(a), self.parts(b));
        assert_eq!(a.len(), b.len(), "{op:?} takes operands of one type");
        let pairs = a.iter().zip(&b);
        pairs.map(|(a, b)| arith::compare(&mut self.t, Width::One, op, scalar, a, b)).collect()
    }

    fn choose(&mut self, result: Value, condition: Value, a: Value, b: Value) -> Vec<Opd> {
        let conditions = self.parts(condition);
        let (x, y) = (self.in_form_of(result, a), self.in_form_of(result, b));
        assert!(conditions.len() == 1 || conditions.len() == x.len(), "a condition for all, or for each");
        assert_eq!(x.len(), y.len(), "a choice is between values of one type");
        let condition = |at: usize| conditions.get(at).unwrap_or(&conditions[0]);
        (0..x.len()).map(|at| self.t.select(condition(at), &x[at], &y[at])).collect()
    }

    /// A value as operands of the result's form: a pointer becomes tagged where the result is.
    pub(super) fn in_form_of(&mut self, result: Value, value: Value) -> Vec<Opd> {
        let is_tagged = self.ty(value).is_ptr() && self.root(result) == Root::Many;
        if is_tagged { vec![self.tagged(value)] } else { self.parts(value) }
    }

    fn add_to_pointer(
        &mut self,
        result: Value,
        base: Value,
        index: Option<Value>,
        scale: u32,
        offset: i64,
    ) -> Opd {
        let start = self.in_form_of(result, base).swap_remove(0);
        let mut sum = start.clone();
        if let Some(index) = index {
            let index = self.one(index);
            let bytes = self.t.mul(&index, i64::from(scale));
            sum = self.t.add(&sum, &bytes);
        }
        sum = self.t.add(&sum, offset);
        match self.root(result) {
            Root::Many if sum != start => saturation(index, offset)(&mut self.t, Width::One, &start, &sum),
            _ => sum,
        }
    }

    fn convert_value(&mut self, op: CastOp, a: Value, to: Type) -> Vec<Opd> {
        match op {
            CastOp::PtrToInt => return vec![self.addressed(a)],
            CastOp::IntToPtr => {
                let bits = self.one(a);
                return vec![self.loaded_pointer(to, bits)];
            }
            _ => {}
        }
        let (mut from, scalar) = (self.scalar(a), to.scalar().expect("pointers are not converted by value"));
        let mut parts = self.parts(a);
        if op == CastOp::Bitcast {
            if is_16_bit_float(from) && matches!(scalar, Scalar::I16 | Scalar::I8) {
                parts = parts.iter().map(|part| self.bits_of_16(from, part)).collect();
                from = Scalar::I16;
            }
            return cast::bitcast(&mut self.t, Width::One, from, &parts, scalar);
        }
        parts.iter().map(|part| self.convert_scalar(op, from, scalar, part)).collect()
    }

    /// The bits of a `half` or `bfloat` as an integer. NVIDIA's assembler (CUDA 12 and 13) takes a store of
    /// eight bits of a register that a conversion to such a type has written for one of the number, as an
    /// integer. So the bits go through a register of 32, where it sees an integer.
    pub(super) fn bits_of_16(&mut self, scalar: Scalar, part: &Opd) -> Opd {
        assert!(is_16_bit_float(scalar), "a {scalar:?} does not have 16 bits of a float");
        let bits = match scalar {
            Scalar::F16 => self.t.bitcast(part, I16),
            _ => part.clone(),
        };
        if bits.is_const() {
            return bits;
        }
        let wide = self.t.asm(I32, ("cvt.u32.u16 $0, $1;", "=r,h"), &[&bits], "");
        self.t.trunc(&wide, I16)
    }

    pub(super) fn convert_scalar(&mut self, op: CastOp, from: Scalar, to: Scalar, part: &Opd) -> Opd {
        if op == CastOp::FCast && to == Scalar::Bf16 && from != to {
            let wide = arith::to_f32(&mut self.t, Width::One, from, part);
            return self.round(to, &wide);
        }
        cast::cast(&mut self.t, (Width::One, true), op, from, to, part)
    }
}

/// Whether a scalar is a `half` or a `bfloat`.
pub(super) fn is_16_bit_float(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::F16 | Scalar::Bf16)
}

/// A constant from its bits.
fn constant(ty: Type, bits: u64) -> Opd {
    match ty.scalar() {
        None => Opd::i64(bits as i64),
        Some(Scalar::Bool) => Opd::bool(bits & 1 != 0),
        Some(Scalar::F32) => {
            let value = f64::from(f32::from_bits(bits as u32));
            Opd::float(value)
        }
        Some(Scalar::F16) => Opd::half(bits as u16),
        Some(scalar) => {
            assert!(scalar.is_int() || scalar == Scalar::Bf16, "{scalar:?} constants are not integers");
            Opd::int(scalar_type(scalar), wrap_int(scalar_type(scalar), bits as i64))
        }
    }
}
