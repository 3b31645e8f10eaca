//! Assumed affine shapes: they hold only if no sum wraps, no clamp takes effect, or a factor is one.
//!
//! Such a component carries the assumption as an `i1` beside its bases. Uses that need the lanes without it
//! take the vector, computed from the operands' vectors.

use anymetal_ir::{BinOp, CastOp, Inst, Op, Value, ValueDef};

use super::Emitter;
use super::lane::{Lane, Width};
use crate::llvm::{IntPredicate, Opd, scalar_type, wrap_int};
use anymetal_analysis::divergence::{Affine, transfer};
use anymetal_analysis::ranges::upper_bound;

impl Emitter<'_, '_> {
    /// The condition under which a conditional shape holds.
    pub(super) fn condition(&mut self, inst: Inst, k: usize, shape: &Affine) -> Option<Opd> {
        if !shape.is_assumed() {
            return None;
        }
        let function = self.plan.facts.function;
        let op = &function.inst(inst).op;
        let mut all = Opd::bool(true);
        let mut operands = Vec::new();
        op.for_each_operand(|operand| operands.push(operand));
        for operand in operands {
            let component = if self.plan.divergence.values[operand.index()].len() > k { k } else { 0 };
            if let Lane::Affine { assumption: Some(condition), .. } = self.lane(operand, component) {
                all = self.t.and(&all, &condition);
            }
        }
        if let Op::Binary(op @ (BinOp::SMin | BinOp::SMax | BinOp::UMin | BinOp::UMax), a, b) = op {
            let fits = self.is_unclamped(*op, *a, *b, k);
            all = self.t.and(&all, &fits);
        }
        if let Op::Binary(BinOp::Mul, a, b) = op {
            let is_one = self.is_unit_factor(*a, *b, k);
            all = self.t.and(&all, &is_one);
        }
        if let Op::Cast(op @ (CastOp::ZExt | CastOp::SExt), a) = op {
            let fits = self.fits(*op, *a, k);
            all = self.t.and(&all, &fits);
        }
        Some(all)
    }

    /// Whether a minimum or maximum with a uniform value leaves every lane as it is.
    fn is_unclamped(&mut self, op: BinOp, a: Value, b: Value, k: usize) -> Opd {
        let (affine, limit) = if self.shape(b, k).is_uniform() { (a, b) } else { (b, a) };
        let element = scalar_type(self.scalar(affine));
        let Lane::Affine { shape, .. } = self.lane(affine, k) else {
            unreachable!("{affine} is affine where its minimum has a conditional form")
        };
        let signed = matches!(op, BinOp::SMin | BinOp::SMax);
        let fits = self.fits(if signed { CastOp::SExt } else { CastOp::ZExt }, affine, k);
        let (low, high) = shape.extent();
        let first = self.at(affine, k, 0);
        let start = shape.at(0);
        let (distance, test) = match op {
            BinOp::SMin => (high - start, IntPredicate::SLe),
            BinOp::UMin => (high - start, IntPredicate::ULe),
            BinOp::SMax => (low - start, IntPredicate::SGe),
            _ => (low - start, IntPredicate::UGe),
        };
        let extreme = self.t.add(&first, wrap_int(element, distance));
        let limit = self.uniform(limit, k);
        let test = self.t.icmp(test, &extreme, &limit);
        self.t.and(&fits, &test)
    }

    /// Whether the uniform factor of a product is 1, unless it is a constant and the product always affine.
    fn is_unit_factor(&mut self, a: Value, b: Value, k: usize) -> Opd {
        let constant = |this: &Self, v: Value| this.shape(v, k).affine().and_then(Affine::constant).is_some();
        if constant(self, a) || constant(self, b) {
            return Opd::bool(true);
        }
        let factor = if self.shape(b, k).is_uniform() { b } else { a };
        let factor = self.uniform(factor, k);
        self.t.icmp(IntPredicate::Eq, &factor, 1)
    }

    /// Whether no lane's sum of base and pattern wraps, so that widening commutes with it.
    fn fits(&mut self, op: CastOp, a: Value, k: usize) -> Opd {
        let from = self.scalar(a);
        let Lane::Affine { bases, shape, .. } = self.lane(a, k) else {
            unreachable!("{a} is affine where its extension has a conditional form")
        };
        let bound = if self.function().ty(a).lanes() == 1 {
            upper_bound(self.plan.facts.function, self.plan.facts.geometry, a)
        } else {
            u64::MAX
        };
        if !transfer::may_wrap(op, from, &shape, bound) {
            return Opd::bool(true);
        }
        let (low, high) = shape.extent();
        let bits = from.bits();
        assert!(from.is_int(), "a {from:?} is not widened by {op:?}");
        let signed = op == CastOp::SExt;
        let (less, min) =
            if signed { (IntPredicate::SLe, i64::MIN >> (64 - bits)) } else { (IntPredicate::ULe, 0) };
        let max = if signed { i64::MAX >> (64 - bits) } else { (anymetal_ir::eval::mask(from)) as i64 };
        let greater = if signed { IntPredicate::SGe } else { IntPredicate::UGe };
        let mut all = Opd::bool(true);
        for base in bases {
            if high > 0 {
                let ok = self.t.icmp(less, &base, max - high);
                all = self.t.and(&all, &ok);
            }
            if low < 0 {
                let ok = self.t.icmp(greater, &base, min - low);
                all = self.t.and(&all, &ok);
            }
        }
        all
    }

    /// The vector of a conditional component, from the operands' vectors.
    pub(super) fn recompute(&mut self, value: Value, k: usize) -> Opd {
        let function = self.plan.facts.function;
        let ValueDef::Inst(inst) = function.values[value.index()].def else {
            unreachable!("{value} is a parameter, whose form is not conditional")
        };
        match &function.inst(inst).op {
            Op::Binary(..) | Op::Cast(CastOp::ZExt | CastOp::SExt, _) => {
                self.elementwise(inst, k, Width::All, None)
            }
            Op::Cast(CastOp::IntToPtr, a) => {
                let bits = self.vector(*a, k);
                self.loaded_vector(value, bits)
            }
            Op::Cast(CastOp::Bitcast, a) => self.vector(*a, k),
            Op::Cast(CastOp::PtrToInt, a) => self.addressed_vector(*a),
            Op::PtrAdd { base, index, scale, offset } => {
                self.pointer_sum_vector(*base, *index, *scale, *offset)
            }
            Op::Splat(a) => self.vector(*a, 0),
            Op::Select(c, a, b) => {
                let yes = self.shape(*c, 0).affine().and_then(Affine::constant) == Some(1);
                self.vector(if yes { *a } else { *b }, k)
            }
            Op::Extract(a, c) => self.vector(*a, usize::from(*c)),
            Op::Insert(a, c, s) => {
                if usize::from(*c) == k {
                    self.vector(*s, 0)
                } else {
                    self.vector(*a, k)
                }
            }
            Op::Shuffle(a, b, picks) => {
                let n = usize::from(function.ty(*a).lanes());
                let pick = usize::from(picks[k]);
                if pick < n { self.vector(*a, pick) } else { self.vector(*b, pick - n) }
            }
            Op::Compose(parts) => {
                let mut left = k;
                for &part in parts {
                    let n = usize::from(function.ty(part).lanes());
                    if left < n {
                        return self.vector(part, left);
                    }
                    left -= n;
                }
                unreachable!("{value} has no component {k}")
            }
            op => unreachable!("{op:?} has no conditional form"),
        }
    }
}
