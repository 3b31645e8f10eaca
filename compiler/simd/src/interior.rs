//! Interior versioning: the path of threadgroups that no clamp, bounds check or early exit concerns.
//!
//! Most threadgroups of a filter are in the interior of the image: no thread returns early, no clamp takes
//! effect, no index wraps. If that holds for all SIMD-groups, each follows one path without branches, and
//! its addresses are polynomials in its number. Owns the search for that path ([`Interior`]) and its
//! preconditions.
//!
//! Invariant: where no precondition is negative, every value of [`Interior::sum`] is, modulo 2^32, that sum
//! plus its pattern, in each lane of each SIMD-group of a full threadgroup, and all threads follow
//! [`Interior::path`].

use std::collections::{BTreeMap, BTreeSet};

use anymetal_analysis::limits::MAX_DEPTH;
use anymetal_ir::{BinOp, Block, CmpOp, Inst, Op, Query, Scalar, Type, Value};

use crate::facts::Facts;
use crate::polynomial::{Factor, Polynomial, require};
use anymetal_analysis::divergence::LANES;
use anymetal_analysis::divergence::{Divergence, Position};

/// A number for each SIMD-group, and what lanes add to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sum {
    /// What all lanes have in common.
    pub group: Polynomial,
    /// What each lane adds.
    pub pattern: [i64; LANES],
}

impl Sum {
    fn uniform(group: Polynomial) -> Self {
        Self { group, pattern: [0; LANES] }
    }

    /// Whether it has nothing to do with the thread's position.
    fn is_limit(&self) -> bool {
        let is_position = |factor: &Factor| matches!(factor, Factor::Start(_) | Factor::SimdGroup);
        self.pattern == [0; LANES] && !self.group.terms.keys().flatten().any(is_position)
    }
}

/// What is the same for all of a threadgroup.
#[derive(Debug, Default)]
pub struct Known {
    /// Values that are known where a region begins.
    pub before: BTreeSet<Value>,
    /// Loads of what always exists and never changes, which can be done there.
    pub loadable: BTreeSet<Value>,
}

/// A way through a region.
#[derive(Debug)]
pub struct Interior<'a> {
    pub(crate) facts: Facts<'a>,
    pub(crate) divergence: &'a Divergence,
    /// What is known where the region begins, and what can be loaded there.
    known: Known,
    simdgroups: i64,
    sums: BTreeMap<Value, Option<Sum>>,
    /// Promoted variables and values that are true or false.
    vars: BTreeMap<usize, bool>,
    truths: BTreeMap<Value, bool>,
    /// What all SIMD-groups execute, in order.
    pub path: Vec<Inst>,
    /// What must not be negative.
    pub preconditions: Vec<Polynomial>,
    /// Values that are not known where the region begins, but can be.
    pub early: BTreeSet<Value>,
}

impl<'a> Interior<'a> {
    /// The beginning of a way; `None` if the threadgroup's size is not known.
    pub fn new(facts: Facts<'a>, divergence: &'a Divergence, known: Known) -> Option<Self> {
        let threads = facts.geometry.threads()?;
        assert!(
            threads.is_multiple_of(LANES as u32),
            "all SIMD-groups of a threadgroup in the interior are full"
        );
        Some(Self {
            facts,
            divergence,
            known,
            simdgroups: i64::from(threads / LANES as u32),
            sums: BTreeMap::new(),
            vars: BTreeMap::new(),
            truths: BTreeMap::new(),
            path: Vec::new(),
            preconditions: Vec::new(),
            early: BTreeSet::new(),
        })
    }

    // --- the way

    /// Follows instructions; `None` where it is not known which way it goes.
    pub fn follow(&mut self, insts: &[Inst]) -> Option<()> {
        for &inst in insts {
            let op = &self.facts.function.inst(inst).op;
            match op {
                Op::If { cond, then, otherwise, .. } => {
                    let block: Block = if self.truth(*cond, MAX_DEPTH)? { *then } else { *otherwise };
                    let function = self.facts.function;
                    self.follow(function.block(block))?;
                    continue;
                }
                Op::Load { ptr, .. } => {
                    let result = self.facts.function.inst(inst).result?;
                    if let Some(&truth) = self.promoted_of(*ptr).and_then(|var| self.vars.get(&var)) {
                        self.truths.insert(result, truth);
                    }
                }
                Op::Store { ptr, value, .. } => self.stored(*ptr, *value),
                op if op.is_terminator() || !op.blocks().is_empty() => return None,
                Op::Barrier(..) | Op::MemCopy { .. } | Op::MemZero { .. } | Op::Simd(..) | Op::Matrix(..) => {
                    return None;
                }
                _ => {}
            }
            self.path.push(inst);
        }
        Some(())
    }

    fn promoted_of(&self, pointer: Value) -> Option<usize> {
        let vars = self.facts.storage.vars_at(pointer, 1)?;
        (vars.len() == 1).then_some(vars.start)
    }

    fn stored(&mut self, pointer: Value, value: Value) {
        let size = i64::from(self.facts.function.ty(value).size());
        for var in self.facts.storage.vars_at(pointer, size).unwrap_or(0..0) {
            self.vars.remove(&var);
        }
        let is_bool = self.facts.function.ty(value) == Type::Scalar(Scalar::Bool);
        if let Some(var) = self.promoted_of(pointer).filter(|_| is_bool)
            && let Some(truth) = self.truth(value, MAX_DEPTH)
        {
            self.vars.insert(var, truth);
        }
    }

    /// Whether a condition holds in all lanes, or in none, where no position is beyond a limit.
    fn truth(&mut self, value: Value, depth: u32) -> Option<bool> {
        if let Some(&truth) = self.truths.get(&value) {
            return Some(truth);
        }
        let depth = depth.checked_sub(1)?;
        let truth = match *self.facts.function.def(value)? {
            Op::Const(bits) => bits & 1 == 1,
            Op::Binary(BinOp::And, a, b) => self.truth(a, depth)? & self.truth(b, depth)?,
            Op::Binary(BinOp::Or, a, b) => self.truth(a, depth)? | self.truth(b, depth)?,
            Op::Compare(CmpOp::ULt, a, b) => self.is_less([a, b], false)?,
            Op::Compare(CmpOp::UGe, a, b) => !self.is_less([a, b], false)?,
            Op::Compare(CmpOp::UGt, a, b) => self.is_less([b, a], false)?,
            Op::Compare(CmpOp::ULe, a, b) => !self.is_less([b, a], false)?,
            Op::Compare(CmpOp::SLt, a, b) => self.is_less([a, b], true)?,
            Op::Compare(CmpOp::SGe, a, b) => !self.is_less([a, b], true)?,
            Op::Compare(CmpOp::SGt, a, b) => self.is_less([b, a], true)?,
            Op::Compare(CmpOp::SLe, a, b) => !self.is_less([b, a], true)?,
            _ => return None,
        };
        self.truths.insert(value, truth);
        Some(truth)
    }

    /// Whether `a < b` of a position and a limit, if the position is within it: numbers are limits below,
    /// sizes above.
    fn is_less(&mut self, [a, b]: [Value; 2], is_signed: bool) -> Option<bool> {
        let (x, y) = (self.sum(a)?, self.sum(b)?);
        self.require_range(&x, is_signed)?;
        self.require_range(&y, is_signed)?;
        let (position, limit) = if y.is_limit() { (&x, &y) } else { (&y, &x) };
        if !limit.is_limit() {
            return None;
        }
        let [low, high] = self.ends(position)?;
        let (limit, is_first) = (&limit.group, y.is_limit());
        let is_below = limit.as_constant().is_some();
        // What is within the limit, and by how much at least.
        let (max_index, min) = match (is_below, is_first) {
            (true, true) => (low.plus(limit, -1)?, 0),
            (true, false) => (low.plus(limit, -1)?, 1),
            (false, true) => (limit.plus(&high, -1)?, 1),
            (false, false) => (limit.plus(&high, -1)?, 0),
        };
        self.require(&max_index, min)?;
        Some(is_below != is_first)
    }

    // --- sums

    /// A value as a sum; `None` if it is none.
    pub fn sum(&mut self, value: Value) -> Option<Sum> {
        self.sum_within(value, MAX_DEPTH)
    }

    fn sum_within(&mut self, value: Value, depth: u32) -> Option<Sum> {
        if let Some(sum) = self.sums.get(&value) {
            return sum.clone();
        }
        let is_integer = self.facts.function.ty(value) == Type::Scalar(Scalar::I32);
        let sum = match depth.checked_sub(1) {
            Some(depth) if is_integer => self.sum_of(value, depth).or_else(|| self.same_for_all(value)),
            _ => return None,
        };
        self.sums.insert(value, sum.clone());
        sum
    }

    fn sum_of(&mut self, value: Value, depth: u32) -> Option<Sum> {
        match *self.facts.function.def(value)? {
            Op::Const(bits) => Some(Sum::uniform(Polynomial::constant(i64::from(bits as u32 as i32)))),
            Op::Query(Query::ThreadPositionInGrid(axis)) => {
                let inside = self.position(axis)?;
                let start = Polynomial::factor(Factor::Start(axis.min(2)));
                Some(Sum { group: inside.group.plus(&start, 1)?, ..inside })
            }
            Op::Query(Query::ThreadPositionInThreadgroup(axis)) => self.position(axis),
            Op::Binary(op, a, b) => {
                let (a, b) = (self.sum_within(a, depth)?, self.sum_within(b, depth)?);
                match op {
                    BinOp::Add => combined(&a, &b, 1),
                    BinOp::Sub => combined(&a, &b, -1),
                    BinOp::Mul if a.pattern == [0; LANES] && b.pattern == [0; LANES] => {
                        Some(Sum::uniform(a.group.times(&b.group)?))
                    }
                    BinOp::SMin | BinOp::UMin => self.limited(a, b, op == BinOp::SMin, true),
                    BinOp::SMax | BinOp::UMax => self.limited(a, b, op == BinOp::SMax, false),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// A value that is the same in all lanes of all SIMD-groups, and known or loaded early.
    fn same_for_all(&mut self, value: Value) -> Option<Sum> {
        if !self.divergence.shape(value).is_group_uniform() {
            return None;
        }
        if !self.known.before.contains(&value) {
            if !self.known.loadable.contains(&value) {
                return None;
            }
            self.early.insert(value);
        }
        Some(Sum::uniform(Polynomial::factor(Factor::Value(value))))
    }

    /// The position in the threadgroup.
    fn position(&self, axis: u8) -> Option<Sum> {
        let (divide, modulo, pattern) = match self.facts.geometry.position(axis) {
            Position::Zero => return Some(Sum::uniform(Polynomial::constant(0))),
            Position::Known(pattern) => return Some(Sum { group: Polynomial::constant(0), pattern }),
            Position::Based { divide, modulo, pattern } => (divide, modulo, pattern),
            Position::Computed => return None,
        };
        assert!(divide > 0, "threadgroup sizes are not zero");
        let of = |simdgroup: i64| {
            let place = simdgroup * LANES as i64 / i64::from(divide);
            if modulo == 0 { place } else { place % i64::from(modulo) }
        };
        let step = of(1) - of(0);
        if (0..self.simdgroups).any(|simdgroup| of(simdgroup) != simdgroup * step) {
            return None;
        }
        let group = Polynomial::constant(0).plus(&Polynomial::factor(Factor::SimdGroup), step)?;
        Some(Sum { group, pattern })
    }

    /// The position of the two that a limit does not change.
    fn limited(&mut self, a: Sum, b: Sum, is_signed: bool, is_least: bool) -> Option<Sum> {
        let (position, limit) = if b.is_limit() { (a, b) } else { (b, a) };
        if !limit.is_limit() || position.is_limit() {
            return None;
        }
        self.require_range(&position, is_signed)?;
        self.require_range(&limit, is_signed)?;
        let [low, high] = self.ends(&position)?;
        let max_index = if is_least { limit.group.plus(&high, -1)? } else { low.plus(&limit.group, -1)? };
        self.require(&max_index, 0)?;
        Some(position)
    }

    // --- demands

    /// The smallest and the largest of all lanes.
    pub fn ends(&self, sum: &Sum) -> Option<[Polynomial; 2]> {
        let [low, high] = sum.group.ends(self.simdgroups)?;
        let min = sum.pattern.iter().copied().min()?;
        let max = sum.pattern.iter().copied().max()?;
        Some([low.plus(&Polynomial::constant(min), 1)?, high.plus(&Polynomial::constant(max), 1)?])
    }

    /// Demands that a polynomial is no less than a number.
    pub fn require(&mut self, what: &Polynomial, min: i64) -> Option<()> {
        let what = what.plus(&Polynomial::constant(min), -1)?;
        // No threadgroup goes that way.
        if what.as_constant().is_some_and(|what| what < 0) {
            return None;
        }
        // Products must be exact in 64 bits.
        for factors in what.terms.keys().filter(|factors| factors.len() > 1) {
            for &factor in factors {
                let max_index =
                    Polynomial::constant(i64::from(i32::MAX)).plus(&Polynomial::factor(factor), -1)?;
                require(&mut self.preconditions, max_index);
            }
        }
        let products = what.terms.iter().filter(|(factors, _)| factors.len() > 1);
        if products.map(|(_, by)| by.abs()).sum::<i64>() > 1 {
            return None;
        }
        require(&mut self.preconditions, what);
        Some(())
    }

    /// Demands that a sum is the number that its 32 bits are.
    fn require_range(&mut self, sum: &Sum, is_signed: bool) -> Option<()> {
        let [low, high] = self.ends(sum)?;
        let (min, max) = match is_signed {
            true => (i64::from(i32::MIN), i64::from(i32::MAX)),
            false => (0, i64::from(u32::MAX)),
        };
        self.require(&low, min)?;
        self.require(&Polynomial::constant(max).plus(&high, -1)?, 0)
    }
}

fn combined(a: &Sum, b: &Sum, times: i64) -> Option<Sum> {
    let pattern = std::array::from_fn(|lane| a.pattern[lane] + times * b.pattern[lane]);
    Some(Sum { group: a.group.plus(&b.group, times)?, pattern })
}
