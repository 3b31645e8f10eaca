//! How branches and loops run for 32 lanes.
//!
//! Owns [`BranchForm`], [`LoopForm`] and [`LaneComparison`], a condition of which scalar tests show whether
//! any lane and whether every lane meets it.

use std::collections::BTreeMap;

use anymetal_analysis::divergence::transfer::may_wrap;
use anymetal_analysis::divergence::{Affine, Divergence, LANES};
use anymetal_analysis::patterns::comparison;
use anymetal_analysis::ranges::upper_bound;
use anymetal_analysis::{ExitTest, exit_test, jumps_out, walk_insts};
use anymetal_ir::{CastOp, CmpOp, Inst, Op, Scalar, Value};

use crate::cost::is_cheap;
use crate::facts::Facts;
use crate::limits::MAX_LOOP_COPY;
use crate::regions::{Regions, size};

/// How an `if` runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BranchForm {
    /// Only one arm is ever taken.
    Constant(bool),
    /// All lanes take the same arm.
    Uniform,
    /// Both arms run, each under its mask, without a branch.
    Unbranched,
    /// Each arm runs under its mask if any lane takes it.
    Masked,
}

/// How a loop runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopForm {
    /// Around regions: once for the threadgroup.
    Threadgroup,
    /// All lanes leave together.
    Uniform,
    /// Lanes leave one by one.
    Masked {
        /// With a copy without masks, which runs while this test shows that all lanes stay.
        unmasked: Option<ExitTest>,
    },
}

/// The forms of all branches and loops.
#[derive(Debug, Default)]
pub struct Constructs {
    branches: BTreeMap<Inst, BranchForm>,
    loops: BTreeMap<Inst, LoopForm>,
}

impl Constructs {
    pub(crate) fn new(
        facts: Facts<'_>,
        divergence: &Divergence,
        regions: &Regions,
        may_copy_loops: bool,
    ) -> Self {
        let function = facts.function;
        let mut found = Self::default();
        walk_insts(function, function.body, &mut |inst| match function.inst(inst).op {
            Op::If { cond, then, otherwise, .. } => {
                let cheap = [then, otherwise].iter().all(|&block| is_cheap(facts, divergence, block));
                let form = match divergence.shape(cond).affine().and_then(Affine::constant) {
                    Some(known) => BranchForm::Constant(known & 1 == 1),
                    None if !divergence.construct(inst).diverges => BranchForm::Uniform,
                    None if cheap && !regions.escapes(inst) => BranchForm::Unbranched,
                    None => BranchForm::Masked,
                };
                found.branches.insert(inst, form);
            }
            Op::Loop { .. } => {
                let form = match divergence.construct(inst).lanes_leave {
                    _ if facts.group_level.contains(inst) => LoopForm::Threadgroup,
                    false => LoopForm::Uniform,
                    true if may_copy_loops => {
                        LoopForm::Masked { unmasked: unmasked_test(facts, divergence, regions, inst) }
                    }
                    true => LoopForm::Masked { unmasked: None },
                };
                found.loops.insert(inst, form);
            }
            _ => {}
        });
        found
    }

    /// How an `if` runs within a region.
    pub fn branch(&self, inst: Inst) -> BranchForm {
        *self.branches.get(&inst).unwrap_or_else(|| unreachable!("{inst} is no branch"))
    }

    /// How a loop runs.
    pub fn of_loop(&self, inst: Inst) -> LoopForm {
        *self.loops.get(&inst).unwrap_or_else(|| unreachable!("{inst} is no loop"))
    }
}

/// The test of a loop that has a copy without masks.
fn unmasked_test(
    facts: Facts<'_>,
    divergence: &Divergence,
    regions: &Regions,
    inst: Inst,
) -> Option<ExitTest> {
    let function = facts.function;
    let &Op::Loop { body, continuing, .. } = &function.inst(inst).op else {
        unreachable!("{inst} is a loop")
    };
    if divergence.construct(inst).is_crossed {
        return None;
    }
    // `None`: the loop has no test at its top.
    let test = exit_test(function, inst)?;
    let insts = function.block(body);
    let at = insts.iter().position(|&inst| inst == test.inst)?;
    let (top, rest) = (&insts[..at], &insts[at + 1..]);
    // What precedes the test may run twice.
    let is_repeatable = |inst: &Inst| {
        let op = &function.inst(*inst).op;
        matches!(op, Op::Load { .. }) || op.only_computes()
    };
    let continuing = function.block(continuing);
    let has_tests = LaneComparison::of(facts, divergence, test.cond).is_some_and(|comparison| {
        comparison.has_tests()
            && comparison
                .operands()
                .iter()
                .all(|&operand| regions.is_known_at(function, divergence, operand, test.inst))
    });
    let may_copy = top.iter().all(is_repeatable)
        && size(function, rest) + size(function, continuing) <= MAX_LOOP_COPY
        && !jumps_out(function, rest)
        && !jumps_out(function, continuing)
        && has_tests;
    may_copy.then_some(test)
}

/// A comparison of an affine with a uniform value.
#[derive(Debug)]
pub struct LaneComparison {
    /// With the affine value first.
    pub op: CmpOp,
    /// The value that follows a pattern.
    pub affine: Value,
    /// The value that all lanes agree on.
    pub other: Value,
    /// The pattern.
    pub lanes: Affine,
    /// It is not known that no lane wraps.
    pub may_wrap: bool,
}

impl LaneComparison {
    /// The comparison that a condition is, if it is one.
    pub fn of(facts: Facts<'_>, divergence: &Divergence, condition: Value) -> Option<Self> {
        let function = facts.function;
        let (op, a, b) = comparison(function, condition)?;
        let scalar: Scalar = function.ty(a).scalar().filter(|scalar| scalar.is_int())?;
        let is_uniform = |value: Value| divergence.shape(value).is_uniform();
        let (affine, other, op) = match (is_uniform(a), is_uniform(b)) {
            (false, true) => (a, b, op),
            (true, false) => (b, a, op.swapped()),
            _ => return None,
        };
        let lanes = divergence.shape(affine).affine()?.clone();
        if lanes.segments != 1 || lanes.is_assumed() {
            return None;
        }
        let mut comparison = Self { op, affine, other, lanes, may_wrap: false };
        let cast = if comparison.is_signed() { CastOp::SExt } else { CastOp::ZExt };
        let bound = upper_bound(function, facts.geometry, affine);
        comparison.may_wrap = may_wrap(cast, scalar, &comparison.lanes, bound);
        Some(comparison)
    }

    /// Both sides.
    pub fn operands(&self) -> [Value; 2] {
        [self.affine, self.other]
    }

    /// Whether it compares signed integers.
    pub fn is_signed(&self) -> bool {
        matches!(self.op, CmpOp::SLt | CmpOp::SLe | CmpOp::SGt | CmpOp::SGe)
    }

    /// Whether each value from the lowest to the highest occurs.
    pub fn is_consecutive(&self) -> bool {
        (0..LANES).all(|lane| self.lanes.at(lane) == self.lanes.at(0) + lane as i64)
    }

    /// Whether scalar tests tell if the comparison holds in any and in all lanes.
    pub fn has_tests(&self) -> bool {
        !matches!(self.op, CmpOp::Eq | CmpOp::Ne) || self.is_consecutive()
    }
}
