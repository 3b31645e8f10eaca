//! How often instructions run: regions, and the operations and bytes of each.
//!
//! Owns [`Places`], the walk over a kernel that gives each instruction its constructs and its region. A
//! region's
//! instructions are executed equally often by a thread. A region ends where control may leave its block.

use anymetal_analysis::limits::MAX_EVALUATED_TRIPS;
use anymetal_analysis::{constant_trips_up_to, jumps_out, walk_insts};
use anymetal_ir::{Block, Function, Inst, Op, Type};
use serde::Serialize;

/// What a region's number of executions depends on besides those of the region around it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FactorKind {
    /// How often the condition is true.
    Then,
    /// How often it is false.
    Else,
    /// How often the case is chosen.
    Case,
    /// The iterations of the loop.
    Iterations,
    /// How often control goes on after a construct that may jump further.
    GoesOn,
}

/// A factor, with the line of the construct that decides about it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Factor {
    /// What it counts.
    pub kind: FactorKind,
    /// The line in the source; 0: unknown.
    pub line: u32,
}

/// What one execution of a region does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    /// Float additions, multiplications and divisions; a fused multiply-add counts two.
    pub float_operations: u64,
    /// Calls of library functions other than those above.
    pub math_calls: u64,
    /// Integer and boolean operations, comparisons, and conversions; addresses are not counted.
    pub integer_operations: u64,
    /// Bytes read from device and constant memory.
    pub bytes_read: u64,
    /// Bytes written to device memory.
    pub bytes_written: u64,
    /// Bytes read from and written to threadgroup memory.
    pub threadgroup_bytes: u64,
    /// Atomic accesses.
    pub atomics: u64,
    /// Barriers of the threadgroup.
    pub barriers: u64,
    /// SIMD-group operations, those on matrices too.
    pub simd_operations: u64,
}

/// Instructions that a thread executes equally often.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Region {
    /// The region around it, by position.
    pub parent: Option<usize>,
    /// What its executions depend on; `None`: each thread executes it once.
    pub factor: Option<Factor>,
    /// How often each thread executes it, if that is constant: once, or as often as loops of constant trip
    /// counts do.
    pub executions: Option<u64>,
    /// One execution, without the regions within.
    pub counts: Counts,
}

/// An instruction, and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) inst: Inst,
    /// The constructs around it, outermost first.
    pub(crate) within: Vec<Inst>,
    pub(crate) region: usize,
}

/// A kernel's instructions in order, and its regions.
pub(crate) struct Places {
    list: Vec<Place>,
    regions: Vec<Region>,
}

impl Places {
    pub(crate) fn of(function: &Function) -> Self {
        let root = Region { parent: None, factor: None, executions: Some(1), counts: Counts::default() };
        let mut places = Self { list: Vec::new(), regions: vec![root] };
        places.block(function, function.body, &mut Vec::new(), 0, None);
        places
    }

    pub(crate) fn list(&self) -> &[Place] {
        &self.list
    }

    pub(crate) fn regions(&self) -> &[Region] {
        &self.regions
    }

    pub(crate) fn counts_mut(&mut self, region: usize) -> &mut Counts {
        &mut self.regions[region].counts
    }

    fn nested(&mut self, parent: usize, kind: FactorKind, line: u32, executions: Option<u64>) -> usize {
        let factor = Some(Factor { kind, line });
        self.regions.push(Region { parent: Some(parent), factor, executions, counts: Counts::default() });
        self.regions.len() - 1
    }

    /// `tested` is the exit test of a loop whose body the block is, and the executions of what follows the
    /// test.
    fn block(
        &mut self,
        function: &Function,
        block: Block,
        within: &mut Vec<Inst>,
        mut region: usize,
        tested: Option<(Inst, u64)>,
    ) {
        for &inst in function.block(block) {
            self.list.push(Place { inst, within: within.clone(), region });
            let data = function.inst(inst);
            let line = data.loc.line;
            within.push(inst);
            for (position, nested) in data.op.blocks().into_iter().enumerate() {
                let kind = match (&data.op, position) {
                    (Op::If { .. }, 0) => FactorKind::Then,
                    (Op::If { .. }, _) => FactorKind::Else,
                    (Op::Switch { .. }, _) => FactorKind::Case,
                    (Op::Loop { .. }, _) => FactorKind::Iterations,
                    _ => {
                        self.block(function, nested, within, region, None);
                        continue;
                    }
                };
                let trips = self.regions[region].executions.and_then(|outer| trips(function, inst, outer));
                let inner = self.nested(region, kind, line, trips.map(|trips| trips.begun));
                self.block(function, nested, within, inner, trips.map(|trips| (trips.test, trips.completed)));
            }
            within.pop();
            if jumps_out(function, &[inst]) {
                let executions = tested.filter(|(test, _)| *test == inst).map(|(_, executions)| executions);
                region = self.nested(region, FactorKind::GoesOn, line, executions);
            }
        }
    }

    /// Adds up what the instructions do.
    pub(crate) fn count(&mut self, function: &Function) {
        let each: Vec<(usize, Inst)> = self.list.iter().map(|place| (place.region, place.inst)).collect();
        for (region, inst) in each {
            add_operation(function, inst, self.counts_mut(region));
        }
    }
}

/// How often a thread executes the body of a loop with a constant trip count.
#[derive(Clone, Copy)]
struct Trips {
    /// The exit test.
    test: Inst,
    /// The body up to the test.
    begun: u64,
    /// The body after the test.
    completed: u64,
}

/// The executions of a loop's body, if they are constant and the loop itself is executed `outer` times.
fn trips(function: &Function, inst: Inst, outer: u64) -> Option<Trips> {
    let (label, body, _) = function.as_loop(inst)?;
    let trips = constant_trips_up_to(function, inst, MAX_EVALUATED_TRIPS)?;
    let mut exits = 0;
    walk_insts(function, body, &mut |inst| {
        exits += u32::from(matches!(function.inst(inst).op, Op::Break(of, _) if of == label));
    });
    if trips.may_leave_early || exits != 1 || jumps_out(function, &[inst]) {
        return None;
    }
    let completed = trips.trip_count as u64;
    // A test at the end is executed in each iteration, and what follows it in all but the last.
    let (begun, completed) = if trips.is_tested_first {
        (completed + 1, completed)
    } else {
        (completed, completed.saturating_sub(1))
    };
    Some(Trips {
        test: trips.test,
        begun: outer.checked_mul(begun)?,
        completed: outer.checked_mul(completed)?,
    })
}

/// Adds an instruction's operations; its accesses are added by `access`.
fn add_operation(function: &Function, inst: Inst, counts: &mut Counts) {
    let data = function.inst(inst);
    let lanes = |value| u64::from(function.ty(value).lanes());
    counts.float_operations += u64::from(data.op.float_operations()) * data.result.map_or(0, lanes);
    match &data.op {
        Op::Matrix(..) => counts.simd_operations += 1,
        op if op.float_operations() > 0 => {}
        Op::Binary(_, a, _) | Op::Compare(_, a, _) => counts.integer_operations += lanes(*a),
        Op::Unary(_, a) | Op::Cast(_, a) if !matches!(function.ty(*a), Type::Ptr(_)) => {
            counts.integer_operations += lanes(*a);
        }
        Op::Math(_, args) => counts.math_calls += args.first().map_or(1, |&value| lanes(value)),
        Op::Simd(..) => counts.simd_operations += 1,
        Op::Barrier(..) if data.op.is_threadgroup_barrier() => counts.barriers += 1,
        _ => {}
    }
}
