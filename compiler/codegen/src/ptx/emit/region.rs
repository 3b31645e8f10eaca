//! What the threads of one threadgroup access, as far as the launch tells: bounds of offsets that the kernel
//! computes once, at its start.
//!
//! Owns [`Bounds`]. A range is two operands of 64 bits and a condition under which it holds; all three are
//! equal in all threads of a threadgroup. Invariants: nothing is computed from memory but arguments by
//! value; where arithmetic of 32 bits could wrap around, the condition says that it does not; arithmetic on
//! bounds does not wrap, because every bound is less than 2^62.

use std::collections::BTreeMap;

use crate::limits::ptx::MAX_BOUNDED_SCALE;
use anymetal_analysis::CounterRange;
use anymetal_analysis::limits::MAX_DEFINITIONS;
use anymetal_ir::{BinOp, CastOp, CmpOp, Op, Query, Scalar, SimdOp, Type, Value, ValueDef};

use super::super::by_value::place_in_argument;
use super::Emitter;
use crate::llvm::{Cast, I1, I64, IntPredicate, Opd};
use anymetal_analysis::ranges::upper_bound;

/// Every bound is less.
const FAR: i64 = 1 << 61;

/// A value is between `lo` and `hi` if `when` holds: `i64`, `i64`, `i1`.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    pub(super) lo: Opd,
    pub(super) hi: Opd,
    pub(super) when: Opd,
    /// That `lo` or `hi` tells nothing but the type's limit.
    loose: [bool; 2],
}

/// How the bits of a value are read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Sign {
    Unsigned,
    Signed,
}

/// What is known so far.
#[derive(Debug)]
pub(super) struct Regions {
    known: BTreeMap<(Value, Sign), Option<Bounds>>,
    steps: u32,
}

impl Regions {
    pub(super) fn new() -> Self {
        Self { known: BTreeMap::new(), steps: MAX_DEFINITIONS }
    }

    /// Definitions that were looked at.
    pub(super) fn steps_taken(&self) -> u32 {
        MAX_DEFINITIONS - self.steps
    }
}

impl Bounds {
    fn exactly(value: Opd) -> Self {
        Self::between(value.clone(), value)
    }

    fn constant(lo: i64, hi: i64) -> Self {
        Self::between(Opd::i64(lo), Opd::i64(hi))
    }

    fn between(lo: Opd, hi: Opd) -> Self {
        Self { lo, hi, when: Opd::bool(true), loose: [false; 2] }
    }

    /// Whether it tells something.
    pub(super) fn is_tight(&self) -> bool {
        self.loose == [false; 2] && !self.when.is_false()
    }

    /// All values of 32 bits.
    fn any(sign: Sign) -> Self {
        let (lo, hi) = limits(sign);
        Self { loose: [sign == Sign::Signed, true], ..Self::constant(lo, hi) }
    }
}

fn limits(sign: Sign) -> (i64, i64) {
    match sign {
        Sign::Unsigned => (0, u32::MAX.into()),
        Sign::Signed => (i32::MIN.into(), i32::MAX.into()),
    }
}

impl Emitter<'_> {
    /// The offsets in an argument that an address can be at, and the argument.
    pub(super) fn bounds_of_offset(
        &mut self,
        regions: &mut Regions,
        pointer: Value,
    ) -> Option<(usize, Bounds)> {
        let function = self.input.function;
        let mut sum = Bounds::constant(0, 0);
        let mut pointer = pointer;
        loop {
            match function.values[pointer.index()].def {
                ValueDef::Param(argument) => return Some((argument as usize, sum)),
                // A choice: any argument.
                ValueDef::LoopParam(..) | ValueDef::Result(..) => return None,
                ValueDef::Inst(inst) => {
                    let Op::PtrAdd { base, index, scale, offset } = function.inst(inst).op else {
                        // A choice, or an address from memory: any argument.
                        return None;
                    };
                    if scale > MAX_BOUNDED_SCALE || offset.unsigned_abs() > u64::from(u32::MAX) {
                        return None;
                    }
                    sum = self.plus(&sum, &Bounds::constant(offset, offset));
                    if let Some(index) = index {
                        let index = self.bounds(regions, index, Sign::Signed)?;
                        // So far that no sum of a few is beyond 2^62.
                        let near = self.within(&index, -(1 << 40), 1 << 40);
                        let scaled = self.scaled(&near, i64::from(scale));
                        sum = self.plus(&sum, &scaled);
                    }
                    pointer = base;
                }
            }
        }
    }

    /// The bounds of an integer of 32 or 64 bits, read with or without a sign; those of 64 bits are signed.
    fn bounds(&mut self, regions: &mut Regions, value: Value, sign: Sign) -> Option<Bounds> {
        let scalar = match self.ty(value) {
            Type::Scalar(scalar @ (Scalar::I32 | Scalar::I64)) => scalar,
            _ => return None,
        };
        let sign = if scalar == Scalar::I64 { Sign::Signed } else { sign };
        if let Some(known) = regions.known.get(&(value, sign)) {
            return known.clone();
        }
        regions.steps = regions.steps.checked_sub(1)?;
        // Looked at while it is being computed, it is any value.
        let any = (scalar == Scalar::I32).then(|| Bounds::any(sign));
        regions.known.insert((value, sign), any.clone());
        let found = self.own_bounds(regions, value, scalar, sign).or(any);
        regions.known.insert((value, sign), found.clone());
        found
    }

    fn own_bounds(
        &mut self,
        regions: &mut Regions,
        value: Value,
        scalar: Scalar,
        sign: Sign,
    ) -> Option<Bounds> {
        let function = self.input.function;
        if let Some(counter) = self.facts.loop_forms.counter(value).cloned() {
            return self.counter_bounds(regions, &counter, sign);
        }
        let inst = match function.values[value.index()].def {
            ValueDef::Inst(inst) => inst,
            ValueDef::LoopParam(..) | ValueDef::Result(..) => return None,
            ValueDef::Param(_) => unreachable!("{value} is a number, and parameters are pointers"),
        };
        let found = match function.inst(inst).op {
            Op::Const(bits) => Some(constant(bits, scalar, sign)),
            Op::Query(query) => {
                let found = self.query_bounds(query)?;
                Some(self.read_as(found, Sign::Unsigned, sign))
            }
            Op::Load { ptr, volatile: false, .. } => self.given_bounds(ptr, scalar, sign),
            Op::Binary(op, a, b) => self.binary_bounds(regions, op, [a, b], scalar, sign),
            Op::Select(_, a, b) => {
                let (a, b) = (self.bounds(regions, a, sign)?, self.bounds(regions, b, sign)?);
                Some(self.union(&a, &b))
            }
            Op::Simd(SimdOp::BroadcastFirst, ref values) => self.bounds(regions, *values.first()?, sign),
            Op::Cast(CastOp::ZExt, a) if scalar == Scalar::I64 => self.bounds_32(regions, a, Sign::Unsigned),
            Op::Cast(CastOp::SExt, a) if scalar == Scalar::I64 => self.bounds_32(regions, a, Sign::Signed),
            Op::Cast(CastOp::Trunc, a) => {
                let wide = self.bounds(regions, a, Sign::Signed)?;
                let (lo, hi) = limits(sign);
                Some(self.within(&wide, lo, hi))
            }
            _ => None,
        };
        found.or_else(|| {
            let most = upper_bound(function, self.facts.geometry, value);
            (most < 1 << 31).then(|| Bounds::constant(0, most as i64))
        })
    }

    fn bounds_32(&mut self, regions: &mut Regions, value: Value, sign: Sign) -> Option<Bounds> {
        if self.ty(value) == Type::Scalar(Scalar::I32) { self.bounds(regions, value, sign) } else { None }
    }

    /// The same bits, read in the other way.
    fn read_as(&mut self, bounds: Bounds, from: Sign, to: Sign) -> Bounds {
        if from == to {
            return bounds;
        }
        self.within(&bounds, 0, i32::MAX.into())
    }

    /// An argument by value.
    fn given_bounds(&mut self, pointer: Value, scalar: Scalar, sign: Sign) -> Option<Bounds> {
        let (argument, offset) = place_in_argument(self.input.function, pointer)?;
        let element = self.given_scalar(argument, offset, scalar)?;
        if scalar == Scalar::I64 {
            return Some(self.within(&Bounds::exactly(element), -FAR, FAR));
        }
        let widen = if sign == Sign::Signed { Cast::SExt } else { Cast::ZExt };
        Some(Bounds::exactly(self.t.cast(widen, &element, I64)))
    }

    /// Read without a sign.
    fn query_bounds(&mut self, query: Query) -> Option<Bounds> {
        let wide = |this: &mut Self, value: Opd| match value {
            Opd::Int(_, value) => Opd::i64(i64::from(value as u32)),
            value => this.t.zext(&value, I64),
        };
        let axis = |axis: u8| usize::from(axis.min(2));
        Some(match query {
            Query::ThreadPositionInGrid(a) => {
                let (group, full, threads) = self.grid.along(axis(a));
                let [group, full, threads] = [group, full, threads].map(|value| wide(self, value));
                let lo = self.t.mul(&group, &full);
                let end = self.t.add(&lo, &full);
                let end = self.smaller(&end, &threads);
                let hi = self.t.sub(&end, 1);
                Bounds::between(lo, hi)
            }
            Query::ThreadgroupPositionInGrid(a) => {
                let (group, _, _) = self.grid.along(axis(a));
                Bounds::exactly(wide(self, group))
            }
            Query::ThreadsPerGrid(a) => {
                let (_, _, threads) = self.grid.along(axis(a));
                Bounds::exactly(wide(self, threads))
            }
            Query::ThreadPositionInThreadgroup(a) => {
                let (_, full, _) = self.grid.along(axis(a));
                let full = wide(self, full);
                let hi = self.t.sub(&full, 1);
                Bounds::between(Opd::i64(0), hi)
            }
            Query::DispatchThreadsPerThreadgroup(a) => {
                let (_, full, _) = self.grid.along(axis(a));
                Bounds::exactly(wide(self, full))
            }
            _ => return None,
        })
    }

    fn counter_bounds(
        &mut self,
        regions: &mut Regions,
        counter: &CounterRange,
        sign: Sign,
    ) -> Option<Bounds> {
        let own = match counter.goes_on {
            CmpOp::ULt | CmpOp::ULe => Sign::Unsigned,
            CmpOp::SLt | CmpOp::SLe => Sign::Signed,
            _ => return None,
        };
        let mut limit = self.bounds(regions, counter.limit, own)?;
        if own == Sign::Unsigned {
            // Of 64 bits a negative one is a large one.
            limit = self.within(&limit, 0, FAR);
        }
        let start = self.bounds(regions, counter.start, own);
        let last = i64::from(!matches!(counter.goes_on, CmpOp::ULe | CmpOp::SLe));
        let hi = self.t.sub(&limit.hi, last);
        // Without a sign nothing is below 0, whatever the counter does; with one it must not wrap around.
        let mut loose = [false, limit.loose[1]];
        let (lo, when) = match (own, start) {
            (Sign::Unsigned, _) => (Opd::i64(0), limit.when),
            (Sign::Signed, Some(start)) => {
                let step = counter.step.unsigned_abs() as i64;
                let stays = self.t.icmp(IntPredicate::SLe, &hi, i64::from(i32::MAX) - step);
                let when = self.t.and(&limit.when, &start.when);
                loose[0] = start.loose[0];
                (start.lo, self.t.and(&when, &stays))
            }
            (Sign::Signed, None) => return None,
        };
        Some(self.read_as(Bounds { lo, hi, when, loose }, own, sign))
    }

    fn binary_bounds(
        &mut self,
        regions: &mut Regions,
        op: BinOp,
        [a, b]: [Value; 2],
        scalar: Scalar,
        sign: Sign,
    ) -> Option<Bounds> {
        let constant = self.input.function.as_const(b);
        let (lo, hi) = if scalar == Scalar::I64 { (-FAR, FAR) } else { limits(sign) };
        let mut both =
            |this: &mut Self, sign| Some([this.bounds(regions, a, sign)?, this.bounds(regions, b, sign)?]);
        match op {
            BinOp::Add => {
                // A constant is a small distance, also where it is read without a sign.
                let [first, mut second] = both(self, sign)?;
                if let Some(bits) = constant {
                    second = self::constant(bits, scalar, Sign::Signed);
                }
                let sum = self.plus(&first, &second);
                Some(self.within(&sum, lo, hi))
            }
            BinOp::Sub => {
                let [first, second] = both(self, sign)?;
                let (from, to) = (self.t.sub(&first.lo, &second.hi), self.t.sub(&first.hi, &second.lo));
                let when = self.t.and(&first.when, &second.when);
                let loose = [first.loose[0] || second.loose[1], first.loose[1] || second.loose[0]];
                Some(self.within(&Bounds { lo: from, hi: to, when, loose }, lo, hi))
            }
            BinOp::Mul => {
                let [first, second] = both(self, sign)?;
                let [first, second] = [first, second].map(|factor| self.within(&factor, 0, i32::MAX.into()));
                let (from, to) = (self.t.mul(&first.lo, &second.lo), self.t.mul(&first.hi, &second.hi));
                let when = self.t.and(&first.when, &second.when);
                let loose = either(&first, &second);
                Some(self.within(&Bounds { lo: from, hi: to, when, loose }, lo, hi))
            }
            BinOp::Shl => {
                let by = constant.filter(|&by| by < 16)?;
                let first = self.bounds(regions, a, sign)?;
                let near = self.within(&first, 0, u32::MAX.into());
                let shifted = self.scaled(&near, 1 << by);
                Some(self.within(&shifted, lo, hi))
            }
            BinOp::UMin | BinOp::UMax | BinOp::SMin | BinOp::SMax => {
                let own = if matches!(op, BinOp::UMin | BinOp::UMax) { Sign::Unsigned } else { Sign::Signed };
                if scalar == Scalar::I64 && own == Sign::Unsigned {
                    return None;
                }
                let [first, second] = both(self, own)?;
                let picks = if matches!(op, BinOp::UMin | BinOp::SMin) { "smin" } else { "smax" };
                let mut pick = |a: &Opd, b: &Opd| self.picked(picks, a, b);
                let (lo, hi) = (pick(&first.lo, &second.lo), pick(&first.hi, &second.hi));
                let when = self.t.and(&first.when, &second.when);
                // The smaller one is no larger than that of which something is known.
                let ([a_lo, a_hi], [b_lo, b_hi]) = (first.loose, second.loose);
                let loose =
                    if picks == "smin" { [a_lo || b_lo, a_hi && b_hi] } else { [a_lo && b_lo, a_hi || b_hi] };
                Some(self.read_as(Bounds { lo, hi, when, loose }, own, sign))
            }
            BinOp::And => {
                let mask = constant.filter(|&mask| mask < 1 << 31)?;
                Some(Bounds::constant(0, mask as i64))
            }
            BinOp::LShr | BinOp::UDiv if scalar == Scalar::I32 => {
                let by = constant.filter(|&by| by < 1 << 31)?;
                let by = if op == BinOp::LShr {
                    1_i64.checked_shl(by as u32).filter(|_| by < 32)?
                } else {
                    by as i64
                };
                let first = self.bounds(regions, a, Sign::Unsigned)?;
                let mut part = |bound: &Opd| self.t.udiv(bound, by);
                if by == 0 {
                    return None;
                }
                let (lo, hi) = (part(&first.lo), part(&first.hi));
                Some(self.read_as(Bounds { lo, hi, ..first }, Sign::Unsigned, sign))
            }
            _ => None,
        }
    }

    // --- arithmetic on bounds

    fn plus(&mut self, a: &Bounds, b: &Bounds) -> Bounds {
        self.t.expect(&a.when, I1);
        self.t.expect(&b.when, I1);
        let (lo, hi) = (self.t.add(&a.lo, &b.lo), self.t.add(&a.hi, &b.hi));
        Bounds { lo, hi, when: self.t.and(&a.when, &b.when), loose: either(a, b) }
    }

    /// `by` is positive.
    fn scaled(&mut self, a: &Bounds, by: i64) -> Bounds {
        assert!(by >= 0, "a negative scale exchanges the bounds");
        let (lo, hi) = (self.t.mul(&a.lo, by), self.t.mul(&a.hi, by));
        Bounds { lo, hi, ..a.clone() }
    }

    fn union(&mut self, a: &Bounds, b: &Bounds) -> Bounds {
        let (lo, hi) = (self.picked("smin", &a.lo, &b.lo), self.picked("smax", &a.hi, &b.hi));
        Bounds { lo, hi, when: self.t.and(&a.when, &b.when), loose: either(a, b) }
    }

    fn picked(&mut self, how: &str, a: &Opd, b: &Opd) -> Opd {
        match (a, b) {
            (Opd::Int(_, a), Opd::Int(_, b)) => Opd::i64(if how == "smin" { *a.min(b) } else { *a.max(b) }),
            _ => self.t.intrinsic(how, "", &[a, b]),
        }
    }

    fn smaller(&mut self, a: &Opd, b: &Opd) -> Opd {
        self.picked("smin", a, b)
    }

    /// The same under the condition that it lies between these.
    fn within(&mut self, bounds: &Bounds, lo: i64, hi: i64) -> Bounds {
        assert!(lo <= hi, "the range from {lo} to {hi} is empty");
        let above = self.at_least(&bounds.lo, &Opd::i64(lo));
        let below = self.at_least(&Opd::i64(hi), &bounds.hi);
        let fits = self.t.and(&above, &below);
        Bounds { when: self.t.and(&bounds.when, &fits), ..bounds.clone() }
    }

    /// `a >= b`, signed, as `i1`.
    pub(super) fn at_least(&mut self, a: &Opd, b: &Opd) -> Opd {
        match (a, b) {
            (Opd::Int(_, a), Opd::Int(_, b)) => Opd::bool(a >= b),
            _ => self.t.icmp(IntPredicate::SGe, a, b),
        }
    }
}

/// What is loose in one of both.
fn either(a: &Bounds, b: &Bounds) -> [bool; 2] {
    [a.loose[0] || b.loose[0], a.loose[1] || b.loose[1]]
}

/// A constant of 32 or 64 bits.
fn constant(bits: u64, scalar: Scalar, sign: Sign) -> Bounds {
    let value = match (scalar, sign) {
        (Scalar::I64, _) => (bits as i64).clamp(-FAR, FAR),
        (_, Sign::Signed) => i64::from(bits as u32 as i32),
        (_, Sign::Unsigned) => i64::from(bits as u32),
    };
    let when = Opd::bool(scalar != Scalar::I64 || value == bits as i64);
    Bounds { when, ..Bounds::constant(value, value) }
}
