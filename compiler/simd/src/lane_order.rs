//! Along which axis of the grid the lanes of a SIMD-group should run.
//!
//! Metal numbers the threads of a threadgroup along x, and so do SIMD-groups here. Kernels that use x as
//! the row of a matrix then touch one row per lane: 32 lines per access, of which other SIMD-groups use the
//! rest. Kernels that cannot observe which threads share a SIMD-group may run with lanes along y.
//!
//! Launches that name no threadgroup size have rows along the axis that [`leading_axis`] names.
//!
//! Invariant: apart from [`is_free`], which guarantees equal results in any order of a threadgroup's
//! threads, this is about speed alone, so estimates of strides suffice.

use anymetal_analysis::IncomingValues;
use anymetal_ir::{BarrierScope, BinOp, Block, CastOp, Function, Inst, Op, Query, Space, Value};

use crate::limits::MAX_WEIGHTED_LOOPS;
use anymetal_analysis::divergence::{Geometry, Position};

/// What an access is taken to cost whose lanes are not contiguous; one of lanes side by side, or in one
/// place, costs 1.
const APART: u64 = 16;
/// How much more often what stands in a loop is taken to run than what is around it.
const ROUNDS: u64 = 8;
/// Times that the function is gone through: values come to loops' variables in the first.
const PASSES: usize = 2;

/// By how much a value differs between threads that are neighbours along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    By(i64),
    Unknown,
}

/// Along x, y and z.
type Steps = [Step; 3];

const NONE: Steps = [Step::By(0); 3];

/// Whether whole threadgroups of this size run faster with lanes along y, and may.
pub fn prefers_y_major(function: &Function, size: [u32; 3]) -> bool {
    let y_major = Geometry::YMajor(size);
    let has_rules = (0..3).all(|axis| y_major.position(axis) != Position::Computed);
    if size[0] == 1 || size[1] == 1 || !has_rules || !is_free(function) {
        return false;
    }
    let [x, y, _] = Costs::of(function).all;
    y.saturating_mul(2) < x
}

/// The axis along which neighbouring threads access neighbouring memory, where x costs one and a half times
/// as much: 0 for x, which also stands for no difference, 1 for y, 2 for z. Stores count twice, since a line
/// that is stored to in part is read first: a transpose has its rows where it stores.
pub fn leading_axis(function: &Function) -> u8 {
    let costs = Costs::of(function);
    let [x, y, z] = [0, 1, 2].map(|axis| match costs.moves[axis] {
        true => costs.all[axis].saturating_add(costs.stores[axis]),
        // All threads along it access the same memory.
        false => u64::MAX,
    });
    let (best, cost) = if z < y { (2, z) } else { (1, y) };
    if cost.saturating_mul(3) < x.saturating_mul(2) { best } else { 0 }
}

/// Whether a kernel asks neither for places in SIMD-groups or in the order of the threads nor for what lanes
/// do.
fn is_free(function: &Function) -> bool {
    function.insts.iter().all(|inst| match &inst.op {
        Op::Simd(..) | Op::Matrix(..) | Op::Call(..) => false,
        Op::Barrier(scope, _) => *scope != BarrierScope::Simdgroup,
        Op::Query(query) => matches!(
            query,
            Query::ThreadPositionInGrid(_)
                | Query::ThreadPositionInThreadgroup(_)
                | Query::ThreadgroupPositionInGrid(_)
                | Query::ThreadsPerThreadgroup(_)
                | Query::DispatchThreadsPerThreadgroup(_)
                | Query::ThreadsPerGrid(_)
                | Query::ThreadgroupsPerGrid(_)
        ),
        _ => true,
    })
}

/// What accesses cost with lanes along each axis.
struct Costs<'a> {
    function: &'a Function,
    incoming: IncomingValues,
    values: Vec<Steps>,
    /// Of all that is stored to a local.
    locals: Vec<Option<Steps>>,
    /// The local that a pointer leads to.
    roots: Vec<Option<usize>>,
    /// Of all accesses.
    all: [u64; 3],
    /// Of the stores among them.
    stores: [u64; 3],
    /// Whether an access differs along the axis.
    moves: [bool; 3],
}

impl<'a> Costs<'a> {
    fn of(function: &'a Function) -> Self {
        let mut costs = Self::new(function);
        for _ in 0..PASSES {
            (costs.all, costs.stores) = ([0; 3], [0; 3]);
            costs.block(function.body, 0);
        }
        costs
    }

    fn new(function: &'a Function) -> Self {
        Self {
            function,
            incoming: IncomingValues::of(function),
            values: vec![NONE; function.values.len()],
            locals: vec![None; function.locals.len()],
            roots: vec![None; function.values.len()],
            all: [0; 3],
            stores: [0; 3],
            moves: [false; 3],
        }
    }

    fn block(&mut self, block: Block, loops: u32) {
        for &inst in self.function.block(block) {
            self.inst(inst, loops);
            let op = &self.function.inst(inst).op;
            let inner = loops + u32::from(matches!(op, Op::Loop { .. }));
            if let Op::Loop { inits, params, .. } = op {
                for (param, init) in params.iter().zip(inits) {
                    self.values[param.index()] = self.steps(*init);
                }
            }
            for nested in op.blocks() {
                self.block(nested, inner.min(MAX_WEIGHTED_LOOPS));
            }
            for &result in op.results() {
                let mut steps: Option<Steps> = None;
                self.incoming.each_source(self.function, result, |source| {
                    let passed = self.values[source.index()];
                    steps = Some(steps.map_or(passed, |other| joined(other, passed)));
                });
                self.values[result.index()] = steps.unwrap_or(NONE);
            }
        }
    }

    fn inst(&mut self, inst: Inst, loops: u32) {
        let data = self.function.inst(inst);
        match data.op {
            Op::Load { ptr, .. } => {
                let bytes = self.function.ty(data.result.expect("a load has a result")).size();
                let costs = self.access(ptr, bytes, loops);
                self.all = added(self.all, costs);
            }
            Op::Store { ptr, value, .. } => {
                let costs = self.access(ptr, self.function.ty(value).size(), loops);
                (self.all, self.stores) = (added(self.all, costs), added(self.stores, costs));
                if let Some(local) = self.roots[ptr.index()] {
                    let steps = self.steps(value);
                    self.locals[local] = Some(self.locals[local].map_or(steps, |other| joined(other, steps)));
                }
            }
            _ => {}
        }
        let Some(result) = data.result else {
            // The instruction has no value to classify.
            return;
        };
        self.values[result.index()] = self.result(&data.op);
        self.roots[result.index()] = match data.op {
            Op::LocalAddr(local) => Some(local.index()),
            Op::PtrAdd { base, .. } => self.roots[base.index()],
            _ => None,
        };
    }

    /// What an access costs with lanes along each axis.
    fn access(&mut self, pointer: Value, bytes: u32, loops: u32) -> [u64; 3] {
        assert!(loops <= MAX_WEIGHTED_LOOPS, "the loop depth is capped");
        if self.function.pointer_space(pointer) == Space::Thread {
            return [0; 3];
        }
        let weight = ROUNDS.pow(loops);
        let steps = self.values[pointer.index()];
        self.moves = std::array::from_fn(|axis| self.moves[axis] || steps[axis] != Step::By(0));
        steps.map(|step| match step {
            Step::By(by) if by.unsigned_abs() <= 2 * u64::from(bytes) => weight,
            _ => APART * weight,
        })
    }

    fn steps(&self, value: Value) -> Steps {
        self.values[value.index()]
    }

    fn result(&self, op: &Op) -> Steps {
        let of = |value: Value| self.steps(value);
        match *op {
            Op::Query(
                Query::ThreadPositionInGrid(axis @ 0..3) | Query::ThreadPositionInThreadgroup(axis @ 0..3),
            ) => std::array::from_fn(|at| Step::By(i64::from(at == usize::from(axis)))),
            Op::Cast(CastOp::ZExt | CastOp::SExt | CastOp::Trunc, a) => of(a),
            Op::Binary(BinOp::Add, a, b) => sum(of(a), of(b), 1),
            Op::Binary(BinOp::Sub, a, b) => sum(of(a), of(b), -1),
            Op::Binary(BinOp::Mul, a, b) => match (self.function.as_const(a), self.function.as_const(b)) {
                (_, Some(by)) => sum(NONE, of(a), by as i64),
                (Some(by), _) => sum(NONE, of(b), by as i64),
                _ => self.unknown(op),
            },
            Op::Binary(BinOp::Shl, a, b) => match self.function.as_const(b) {
                Some(by @ 0..32) => sum(NONE, of(a), 1 << by),
                _ => self.unknown(op),
            },
            // Limits and choices change few threads.
            Op::Binary(BinOp::SMin | BinOp::SMax | BinOp::UMin | BinOp::UMax, a, b) => match (of(a), of(b)) {
                (steps, NONE) | (NONE, steps) => steps,
                _ => self.unknown(op),
            },
            Op::Select(_, a, b) => joined(of(a), of(b)),
            Op::PtrAdd { base, index, scale, .. } => match index {
                Some(index) => sum(of(base), of(index), i64::from(scale)),
                None => of(base),
            },
            Op::Load { ptr, .. } => match self.roots[ptr.index()] {
                Some(local) => self.locals[local].unwrap_or(NONE),
                None => self.unknown(op),
            },
            _ => self.unknown(op),
        }
    }

    /// Nobody knows along the axes on which an operand depends.
    fn unknown(&self, op: &Op) -> Steps {
        let mut steps = NONE;
        op.for_each_operand(|operand| {
            for (step, of) in steps.iter_mut().zip(self.steps(operand)) {
                if of != Step::By(0) {
                    *step = Step::Unknown;
                }
            }
        });
        steps
    }
}

fn added(a: [u64; 3], b: [u64; 3]) -> [u64; 3] {
    std::array::from_fn(|axis| a[axis].saturating_add(b[axis]))
}

fn sum(a: Steps, b: Steps, times: i64) -> Steps {
    std::array::from_fn(|axis| match (a[axis], b[axis]) {
        (Step::By(a), Step::By(b)) => Step::By(a.wrapping_add(b.wrapping_mul(times))),
        _ => Step::Unknown,
    })
}

fn joined(a: Steps, b: Steps) -> Steps {
    std::array::from_fn(|axis| if a[axis] == b[axis] { a[axis] } else { Step::Unknown })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a kernel with these places, `x` in v2 and `y` in v3 (both of 64 bits), turns.
    fn is_y_major(body: &str, size: [u32; 3]) -> bool {
        let text = format!(
            "func f0 \"f\" (v0: ptr.device, v1: i64) {{
  v10 = query.thread_position_in_grid.x : i32
  v11 = query.thread_position_in_grid.y : i32
  v2 = zext v10 : i64
  v3 = zext v11 : i64
{body}
}}
"
        );
        let module = anymetal_ir::parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prefers_y_major(&module.functions[0], size)
    }

    const ROW_IS_X: &str = "  v4 = mul v2, v1 : i64
  v5 = add v4, v3 : i64
  v6 = ptr_add v0 + v5 * 4 : ptr.device
  v7 = load v6, align 4 : f32
  v8 = ptr_add v6 + 1024 : ptr.device
  store v8, v7, align 4";

    #[test]
    fn rows_along_x_turn() {
        assert!(is_y_major(ROW_IS_X, [32, 32, 1]));
        assert!(is_y_major(ROW_IS_X, [8, 128, 1]));
        assert!(is_y_major(ROW_IS_X, [64, 8, 1]), "four rows of eight");
        assert!(!is_y_major(ROW_IS_X, [64, 7, 1]), "no rule for the places");
        assert!(!is_y_major(ROW_IS_X, [1, 64, 1]), "they lie along y anyway");
        assert!(!is_y_major(ROW_IS_X, [64, 1, 1]));
        let row_is_y = ROW_IS_X.replace("mul v2, v1", "mul v3, v1").replace("add v4, v3", "add v4, v2");
        assert!(!is_y_major(&row_is_y, [32, 32, 1]));
        let no_y = ROW_IS_X.replace("mul v2, v1", "add v2, v1").replace("add v4, v3", "add v4, v1");
        assert!(!is_y_major(&no_y, [32, 32, 1]), "reading one place is no better");
    }

    #[test]
    fn the_leading_axis_is_that_of_neighbours_in_memory() {
        let leading = |body: &str| {
            let text = format!(
                "func f0 \"f\" (v0: ptr.device, v1: i64) {{
  v10 = query.thread_position_in_grid.x : i32
  v11 = query.thread_position_in_grid.z : i32
  v2 = zext v10 : i64
  v3 = zext v11 : i64
{body}
}}
"
            );
            leading_axis(&anymetal_ir::parse_module(&text).unwrap().functions[0])
        };
        assert_eq!(leading(ROW_IS_X), 2);
        assert_eq!(leading(&ROW_IS_X.replace("mul v2, v1", "mul v3, v1").replace("v4, v3", "v4, v2")), 0);
        assert_eq!(leading(&ROW_IS_X.replace("add v4, v3", "add v4, v2")), 0, "no axis is good");
    }

    #[test]
    fn transposes_stay() {
        let body = ROW_IS_X.replace(
            "  v8 = ptr_add v6 + 1024 : ptr.device",
            "  v20 = mul v3, v1 : i64
  v21 = add v20, v2 : i64
  v8 = ptr_add v0 + v21 * 4 : ptr.device",
        );
        assert!(!is_y_major(&body, [32, 32, 1]));
    }

    #[test]
    fn kernels_with_cross_lane_operations_keep_x_major() {
        for line in [
            "  v20 = query.thread_index_in_threadgroup : i32",
            "  v20 = query.simdgroup_index_in_threadgroup : i32",
            "  v20 = simd.sum v10 : i32",
            "  barrier.simdgroup",
        ] {
            assert!(!is_y_major(&format!("{line}\n{ROW_IS_X}"), [32, 32, 1]), "{line}");
        }
        assert!(is_y_major(&format!("  barrier.threadgroup\n{ROW_IS_X}"), [32, 32, 1]));
    }
}
