//! Proven trip counts, and the range of a counter inside of its loop.

use super::{ComparedCounter, CountedLoop, CountedLoops, ExitTest, as_exit_test};
use crate::walk_insts;
use anymetal_ir::{BinOp, CmpOp, Inst, Op, Scalar, Value};
use std::collections::BTreeMap;

/// The range of a counter in the body of its loop.
#[derive(Clone, Debug)]
pub struct CounterRange {
    /// Its initial value.
    pub start: Value,
    /// The operand of the exit comparison.
    pub limit: Value,
    /// The comparison that holds in the body.
    pub goes_on: CmpOp,
    /// The amount added in each iteration.
    pub step: i64,
}

/// Proves upper bounds of trip counts.
#[derive(Clone, Copy)]
pub struct TripCounts<'a> {
    loops: &'a CountedLoops<'a>,
    /// Maximum of an integer value over all threads, read as unsigned.
    upper_bound: &'a dyn Fn(Value) -> u64,
}

impl std::fmt::Debug for TripCounts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TripCounts").field("loops", &self.loops).finish_non_exhaustive()
    }
}

/// The possible values of an integer, read as signed or unsigned.
#[derive(Clone, Copy, Debug)]
struct Range {
    lo: i128,
    hi: i128,
}

impl<'a> TripCounts<'a> {
    /// `upper_bound` returns the maximum of an integer value over all threads, read as unsigned.
    pub fn new(loops: &'a CountedLoops<'a>, upper_bound: &'a dyn Fn(Value) -> u64) -> Self {
        Self { loops, upper_bound }
    }

    /// The loops that this proves something about.
    pub fn loops(&self) -> &'a CountedLoops<'a> {
        self.loops
    }

    /// Maximum number of iterations that the loop begins, including the last one, which may exit at the test.
    /// `None` if no bound is known.
    pub fn max_trips(&self, inst: Inst) -> Option<u64> {
        self.tests(inst).into_iter().filter_map(|test| self.bound(test, inst)).min()
    }

    /// The same for all loops of the function of which a bound is known.
    pub fn all_max_trips(&self) -> BTreeMap<Inst, u64> {
        let function = self.loops.function;
        let mut all = BTreeMap::new();
        walk_insts(function, function.body, &mut |inst| {
            all.extend(self.max_trips(inst).map(|trips| (inst, trips)));
        });
        all
    }

    /// The exit tests that each complete iteration executes.
    fn tests(&self, inst: Inst) -> Vec<ExitTest> {
        let function = self.loops.function;
        let Some((label, body, _)) = function.as_loop(inst) else {
            // Other constructs do not repeat.
            return Vec::new();
        };
        let mut tests = Vec::new();
        for &inst in function.block(body) {
            let continues = |inst: Inst| matches!(function.inst(inst).op, Op::Continue(of, _) if of == label);
            let mut is_skipped = continues(inst);
            for nested in function.inst(inst).op.blocks() {
                walk_insts(function, nested, &mut |inst| is_skipped |= continues(inst));
            }
            if is_skipped {
                break;
            }
            tests.extend(as_exit_test(function, inst, label));
        }
        tests
    }

    fn bound(&self, test: ExitTest, inst: Inst) -> Option<u64> {
        let trips = |compared: ComparedCounter| {
            let counted = self.loops.counted(compared, inst);
            let linear = counted.and_then(|counted| self.linear_trips(&counted, compared.is_next));
            linear.or_else(|| self.geometric_trips(compared, inst))
        };
        let current = self.loops.compared(test, inst).and_then(trips);
        let trips = current.or_else(|| self.loops.compared_next(test, inst).and_then(trips))?;
        // One more iteration may begin, and end at the test.
        u64::try_from(trips).ok()?.checked_add(1)
    }

    /// How often the exit test of a counted loop continues the loop. While it does, the next tested value is
    /// one step further and does not wrap.
    fn linear_trips(&self, counted: &CountedLoop, is_next: bool) -> Option<i128> {
        let is_signed = counted.is_signed();
        let whole = whole_range(counted.scalar, is_signed);
        let step = i128::from(counted.step);
        let limit = self.range(counted.limit, counted.scalar, is_signed);
        let start = self.first_tested(counted, is_next, is_signed)?;
        let trips = match counted.goes_on {
            CmpOp::ULt | CmpOp::ULe | CmpOp::SLt | CmpOp::SLe => {
                debug_assert!(step > 0, "a counter below its limit moves up");
                let last = limit.hi - i128::from(!counted.is_inclusive());
                (last + step <= whole.hi).then(|| (last - start.lo) / step + 1)
            }
            CmpOp::UGt | CmpOp::UGe | CmpOp::SGt | CmpOp::SGe => {
                debug_assert!(step < 0, "a counter above its limit moves down");
                let last = limit.lo + i128::from(!counted.is_inclusive());
                (last + step >= whole.lo).then(|| (start.hi - last) / -step + 1)
            }
            // The counter meets the limit if it starts on the right side of it.
            CmpOp::Ne if step > 0 => (start.hi <= limit.lo).then(|| limit.hi - start.lo),
            CmpOp::Ne => (start.lo >= limit.hi).then(|| start.hi - limit.lo),
            _ => unreachable!("{:?} does not lead to a limit", counted.goes_on),
        };
        trips.map(|trips| trips.max(0))
    }

    /// What the first test compares.
    fn first_tested(&self, counted: &CountedLoop, is_next: bool, is_signed: bool) -> Option<Range> {
        let whole = whole_range(counted.scalar, is_signed);
        let start = self.range(counted.start, counted.scalar, is_signed);
        if !is_next {
            return Some(start);
        }
        let step = i128::from(counted.step);
        let moved = Range { lo: start.lo + step, hi: start.hi + step };
        if moved.lo >= whole.lo && moved.hi <= whole.hi {
            return Some(moved);
        }
        // It may have wrapped around; upwards without a sign, where it starts does not matter.
        matches!(counted.goes_on, CmpOp::ULt | CmpOp::ULe).then_some(whole)
    }

    /// The same for loops that multiply or divide their counter in each iteration.
    fn geometric_trips(&self, compared: ComparedCounter, inst: Inst) -> Option<i128> {
        let function = self.loops.function;
        let ComparedCounter { counter, is_next, limit, goes_on, .. } = compared;
        let scalar = function.ty(counter).scalar().filter(|s| matches!(s, Scalar::I32 | Scalar::I64))?;
        if !self.loops.stays(limit, inst) {
            return None;
        }
        let &Op::Binary(op, operand, by) = function.def(self.loops.next(counter)?)? else {
            // The counter is set, not moved.
            return None;
        };
        if operand != counter {
            return None;
        }
        let bits = i128::from(scalar.size()) * 8;
        let by = i128::from(function.as_const(by)?);
        let is_shift = (1..bits).contains(&by);
        let is_signed = matches!(goes_on, CmpOp::SLt | CmpOp::SLe | CmpOp::SGt | CmpOp::SGe);
        let limit = self.range(limit, scalar, is_signed);
        let shrinks = match op {
            BinOp::LShr => is_shift,
            BinOp::UDiv => by >= 2,
            BinOp::AShr => is_shift && is_signed,
            BinOp::SDiv => is_signed && by >= 2 && by <= whole_range(scalar, true).hi,
            _ => false,
        };
        if shrinks {
            let ends_at_zero = match goes_on {
                CmpOp::Ne => limit.lo == 0 && limit.hi == 0,
                CmpOp::UGt | CmpOp::SGt => limit.lo >= 0,
                CmpOp::UGe | CmpOp::SGe => limit.lo >= 1,
                _ => false,
            };
            return ends_at_zero.then_some(bits + 1);
        }
        let factor = match op {
            BinOp::Shl if is_shift => 1 << by,
            BinOp::Mul if by >= 2 && by <= whole_range(scalar, true).hi => by,
            _ => return None,
        };
        let whole = whole_range(scalar, is_signed);
        let start = self.range(self.loops.start(counter), scalar, is_signed);
        let last = match goes_on {
            CmpOp::ULt | CmpOp::SLt => limit.hi - 1,
            CmpOp::ULe | CmpOp::SLe => limit.hi,
            _ => return None,
        };
        let stays = |value: i128| value.checked_mul(factor).is_some_and(|next| next <= whole.hi);
        let begins = start.lo >= 1 && (!is_next || stays(start.hi));
        (begins && stays(last)).then_some(bits + 1)
    }

    /// The range of a value, read as signed or unsigned.
    fn range(&self, value: Value, scalar: Scalar, is_signed: bool) -> Range {
        let function = self.loops.function;
        let whole = whole_range(scalar, is_signed);
        assert_eq!(
            function.ty(value).scalar(),
            Some(scalar),
            "{value} is compared with or becomes the counter"
        );
        if let Some(bits) = function.as_const(value) {
            let number = i128::from(bits);
            debug_assert!(
                number >> (8 * scalar.size()) == 0,
                "{value} has more bits than a {}",
                scalar.name()
            );
            let number = if number > whole.hi { number - (1i128 << (8 * scalar.size())) } else { number };
            return Range { lo: number, hi: number };
        }
        match i128::from((self.upper_bound)(value)) {
            hi if hi <= whole.hi => Range { lo: 0, hi },
            _ => whole,
        }
    }

    /// The counter, and its range where the loop's accesses use it, if none is before the test: there it is
    /// beyond its last value.
    pub fn counter(&self, inst: Inst) -> Option<(Value, CounterRange)> {
        let counted = self.loops.find(inst).filter(|counted| !self.accesses_before_test(counted, inst))?;
        let CountedLoop { counter, start, limit, goes_on, step, .. } = counted;
        Some((counter, CounterRange { start, limit, goes_on, step }))
    }

    fn accesses_before_test(&self, counted: &CountedLoop, inst: Inst) -> bool {
        let function = self.loops.function;
        let (_, body, _) = function.as_loop(inst).expect("what has a counter is a loop");
        let mut before_test = function.block(body).iter().take_while(|&&inst| inst != counted.test.inst);
        before_test.any(|inst| !function.inst(*inst).op.is_pure())
    }

    /// The counter, and its largest value where the loop's accesses use it, if it is never negative.
    pub fn counter_bound(&self, inst: Inst) -> Option<(Value, u64)> {
        let counted = self.loops.find(inst).filter(|counted| !self.accesses_before_test(counted, inst))?;
        let is_signed = counted.is_signed();
        let whole = whole_range(counted.scalar, is_signed);
        let limit = self.range(counted.limit, counted.scalar, is_signed);
        let last = limit.hi - i128::from(!counted.is_inclusive());
        let is_never_negative = match counted.goes_on {
            CmpOp::ULt | CmpOp::ULe => true,
            // It starts there, and does not step over the largest value.
            CmpOp::SLt | CmpOp::SLe => {
                let starts = self.range(counted.start, counted.scalar, true).lo >= 0;
                starts && limit.hi + i128::from(counted.step) <= whole.hi
            }
            _ => false,
        };
        is_never_negative.then(|| (counted.counter, u64::try_from(last).unwrap_or(0)))
    }
}

/// The range of the type.
fn whole_range(scalar: Scalar, is_signed: bool) -> Range {
    let bits = 8 * scalar.size() - u32::from(is_signed);
    Range { lo: if is_signed { -(1i128 << bits) } else { 0 }, hi: (1i128 << bits) - 1 }
}
