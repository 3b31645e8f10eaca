//! Operations of subroutines without effects, on scalars where lanes agree and on vectors of a batch.

use anymetal_ir::{CastOp, FpMode, Inst, MathFn, Op, Scalar, Value};

use super::Emitter;
use crate::elementwise::arith::{self, Arithmetic};
use crate::elementwise::{Width, cast, constant};
use crate::llvm::{I64, IntPredicate, Opd};
use anymetal_analysis::divergence::transfer::lane_of;

impl Emitter<'_, '_> {
    pub(super) fn pure(&mut self, inst: Inst, result: Value) {
        let width = self.width_of(result);
        let components = self.components(inst, result, width);
        self.values[result.index()] = Some(components);
    }

    fn components(&mut self, inst: Inst, result: Value, width: Width) -> Vec<Opd> {
        let function = self.sub.function;
        let ty = function.ty(result);
        let count = usize::from(ty.lanes());
        let lanes_of = |value: Value| usize::from(function.ty(value).lanes());
        match &function.inst(inst).op {
            Op::Const(bits) => vec![constant(ty.scalar().unwrap_or(Scalar::I64), *bits)],
            Op::LocalAddr(_) | Op::GlobalAddr(_) => vec![Opd::i64(0)],
            Op::PtrAdd { base, index, scale, offset } => {
                vec![self.pointer_sum(*base, *index, *scale, *offset, width)]
            }
            Op::Splat(a) => vec![self.at(*a, 0, width); count],
            Op::Compose(parts) => {
                let all = parts.iter().flat_map(|&part| (0..lanes_of(part)).map(move |k| (part, k)));
                all.map(|(part, k)| self.at(part, k, width)).collect()
            }
            Op::Extract(a, k) => vec![self.at(*a, usize::from(*k), width)],
            Op::Shuffle(a, b, picks) => {
                let n = lanes_of(*a);
                let of = |pick: &u8| match usize::from(*pick) {
                    pick if pick < n => (*a, pick),
                    pick => (*b, pick - n),
                };
                picks.iter().map(of).map(|(value, k)| self.at(value, k, width)).collect()
            }
            Op::Insert(a, k, s) => (0..count)
                .map(|c| if c == usize::from(*k) { self.at(*s, 0, width) } else { self.at(*a, c, width) })
                .collect(),
            Op::ExtractDynamic(a, index) => vec![self.extract_dynamic(*a, *index, width)],
            Op::Cast(CastOp::Bitcast, a) => {
                let parts: Vec<Opd> = (0..lanes_of(*a)).map(|k| self.at(*a, k, width)).collect();
                let (from, to) = (self.scalar(*a), self.scalar(result));
                cast::bitcast(&mut self.t, width, from, &parts, to)
            }
            _ => (0..count).map(|k| self.elementwise(inst, result, k, width)).collect(),
        }
    }

    fn pointer_sum(
        &mut self,
        base: Value,
        index: Option<Value>,
        scale: u32,
        offset: i64,
        width: Width,
    ) -> Opd {
        if width == Width::One {
            let base = self.component(base, 0);
            let steps = index.map_or(Opd::i64(0), |index| self.component(index, 0));
            let bytes = self.t.mul(&steps, i64::from(scale));
            let sum = self.t.add(&base, &bytes);
            return self.t.add(&sum, offset);
        }
        let mut sum = self.at(base, 0, width);
        if let Some(index) = index {
            let steps = self.at(index, 0, width);
            let scale = width.int(I64, i64::from(scale));
            let bytes = self.t.mul(&steps, &scale);
            sum = self.t.add(&sum, &bytes);
        }
        if offset != 0 {
            sum = self.t.add(&sum, offset);
        }
        sum
    }

    /// One component of an elementwise operation.
    fn elementwise(&mut self, inst: Inst, result: Value, k: usize, width: Width) -> Opd {
        let function = self.sub.function;
        let data = function.inst(inst);
        match &data.op {
            Op::Unary(op, a) => {
                let (x, scalar) = (self.at(*a, k, width), self.scalar(*a));
                arith::unary(&mut self.t, width, *op, scalar, &x)
            }
            Op::Binary(op, a, b) => {
                let (x, y) = (self.at(*a, k, width), self.at(*b, k, width));
                let scalar = self.scalar(*a);
                let constant = self.constant_of(*b, k);
                let how = Arithmetic { width, fp: data.fp, scalar, constant };
                arith::binary(&mut self.t, &mut self.shared.library, how, *op, &x, &y)
            }
            Op::Compare(op, a, b) => {
                let (x, y) = (self.at(*a, k, width), self.at(*b, k, width));
                let scalar = self.scalar(*a);
                arith::compare(&mut self.t, width, *op, scalar, &x, &y)
            }
            Op::Select(c, a, b) => self.select(*c, *a, *b, k, width),
            Op::Cast(op, a) => {
                let x = self.at(*a, k, width);
                let saturates = self.shared.options.features.neon;
                let (from, to) = (self.scalar(*a), self.scalar(result));
                cast::cast(&mut self.t, (width, saturates), *op, from, to, &x)
            }
            Op::Math(name, args) => self.math(*name, args, result, data.fp, k, width),
            Op::InsertDynamic(a, index, s) => {
                let (x, y) = (self.at(*a, k, width), self.at(*s, 0, width));
                let n = usize::from(function.ty(*a).lanes());
                let here = self.is_index(*index, n, k, width);
                self.t.select(&here, &y, &x)
            }
            Op::Undef => match width {
                Width::One => super::zero_of(self.scalar(result)),
                _ => Opd::zero(width.ty(self.scalar(result))),
            },
            op => unreachable!("{op:?} is not elementwise"),
        }
    }

    /// A constant second operand.
    fn constant_of(&self, value: Value, k: usize) -> Option<i64> {
        let function = self.sub.function;
        let value = match function.def(value)? {
            Op::Splat(one) => *one,
            Op::Compose(parts) => *parts.get(k).filter(|part| function.ty(**part).lanes() == 1)?,
            _ => value,
        };
        function.as_const(value).map(|bits| lane_of(self.scalar(value), bits))
    }

    fn select(&mut self, c: Value, a: Value, b: Value, k: usize, width: Width) -> Opd {
        let (x, y) = (self.at(a, k, width), self.at(b, k, width));
        let of_condition = if self.sub.function.ty(c).lanes() == 1 { 0 } else { k };
        if self.sub.is_uniform(c) {
            let condition = self.component(c, of_condition);
            return self.t.select(&condition, &x, &y);
        }
        let condition = self.at(c, of_condition, width);
        self.t.select(&condition, &x, &y)
    }

    fn math(
        &mut self,
        name: MathFn,
        args: &[Value],
        result: Value,
        fp: FpMode,
        k: usize,
        width: Width,
    ) -> Opd {
        let scalars: Vec<Scalar> = args.iter().map(|&arg| self.scalar(arg)).collect();
        let operands: Vec<Opd> = args.iter().map(|&arg| self.at(arg, k, width)).collect();
        if name == MathFn::Fma && fp != FpMode::Safe && scalars[0] == Scalar::F32 {
            let operands: Vec<&Opd> = operands.iter().collect();
            return self.t.intrinsic("fma", arith::flags(fp), &operands);
        }
        let count = width.count() as u32;
        let function = self.shared.library.require(name, scalars[0], fp, count).to_owned();
        let operands: Vec<&Opd> = operands.iter().collect();
        let ty = width.ty(self.scalar(result));
        self.t.call(ty, &function, &operands)
    }

    /// Whether an index, modulo the length of a vector, is `k`.
    fn is_index(&mut self, index: Value, length: usize, k: usize, width: Width) -> Opd {
        let index = self.at(index, 0, width);
        let rest = self.t.urem(&index, length as i64);
        self.t.icmp(IntPredicate::Eq, &rest, k as i64)
    }

    fn extract_dynamic(&mut self, a: Value, index: Value, width: Width) -> Opd {
        let n = usize::from(self.sub.function.ty(a).lanes());
        let mut chosen = self.at(a, 0, width);
        for k in 1..n {
            let here = self.is_index(index, n, k, width);
            let other = self.at(a, k, width);
            chosen = self.t.select(&here, &other, &chosen);
        }
        chosen
    }
}
