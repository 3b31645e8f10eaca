//! Schedules long-latency math calls as early as their operands allow: list scheduling by dependence depth.
//!
//! A logarithm is one chain of dependent instructions, bound by latency unless independent instructions are
//! near. An out-of-order window is about a hundred vector instructions, and one math function has twenty to
//! forty. So calls are ordered by the number of other calls that they depend on, and the first starts as soon
//! as its operands are computed: square roots and divisions then overlap with it.
//!
//! Only pure operations are moved, to a position that their operands dominate, so results are the same. Runs
//! for code generators, after all other passes. An early result occupies a register until its use, so few are
//! moved. Measured: see `docs/decisions/0011-schedule-long-latency-calls.md`.

use rustc_hash::FxHashMap;

use anymetal_ir::{Function, Inst, MathFn, Op, Value, ValueDef};

/// Maximum number of calls hoisted in one range of schedulable instructions.
const MAX_MOVED: usize = 4;
/// Maximum number of operations that are hoisted with a call.
const MAX_OPERANDS: usize = 8;

/// Hoists long-latency calls in one function; returns whether anything changed.
pub fn schedule_long_latency(function: &mut Function) -> bool {
    let mut changed = false;
    for block in 0..function.blocks.len() {
        let mut insts = std::mem::take(&mut function.blocks[block].insts);
        for range in insts.chunk_by_mut(|&a, &b| is_schedulable(function, a) && is_schedulable(function, b)) {
            let moves = std::iter::from_fn(|| hoist_one(function, range)).take(MAX_MOVED);
            changed |= moves.count() > 0;
        }
        function.blocks[block].insts = insts;
    }
    changed
}

/// Whether it neither synchronises nor transfers control.
fn is_schedulable(function: &Function, inst: Inst) -> bool {
    let op = &function.inst(inst).op;
    op.is_pure() || matches!(op, Op::Load { .. } | Op::Store { .. } | Op::Prefetch { .. })
}

/// Whether it compiles to a long chain of dependent instructions.
fn is_long_latency(op: &Op) -> bool {
    use MathFn::{
        Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, Cos, CosPi, Cosh, Exp, Exp2, Exp10, Log, Log2, Log10,
        Pow, Powr, Sin, SinPi, Sinh, Tan, TanPi, Tanh,
    };
    matches!(
        op,
        Op::Math(
            Sin | Cos
                | Tan
                | SinPi
                | CosPi
                | TanPi
                | Asin
                | Acos
                | Atan
                | Atan2
                | Sinh
                | Cosh
                | Tanh
                | Asinh
                | Acosh
                | Atanh
                | Exp
                | Exp2
                | Exp10
                | Log
                | Log2
                | Log10
                | Pow
                | Powr,
            _
        )
    )
}

/// Hoists the first call of a range to where its operands are computed, or a later call to before one that
/// depends on more calls.
fn hoist_one(function: &Function, range: &mut [Inst]) -> Option<()> {
    let positions: FxHashMap<Inst, usize> = range.iter().enumerate().map(|(at, &inst)| (inst, at)).collect();
    let position = |value: Value| match function.values[value.index()].def {
        ValueDef::Inst(inst) => positions.get(&inst).copied(),
        ValueDef::Param(_) | ValueDef::LoopParam(..) | ValueDef::Result(..) => None,
    };
    // Dependence depth in calls of each result; and the calls, in order, with theirs.
    let mut depths: Vec<u32> = Vec::with_capacity(range.len());
    let mut long: Vec<(usize, u32)> = Vec::new();
    for (at, &inst) in range.iter().enumerate() {
        let op = &function.inst(inst).op;
        let mut depth = 0;
        op.for_each_operand(|operand| depth = depth.max(position(operand).map_or(0, |from| depths[from])));
        if is_long_latency(op) {
            long.push((at, depth));
            depth += 1;
        }
        depths.push(depth);
    }
    long.iter().enumerate().find_map(|(nth, &(at, own))| {
        let (start, before) = if nth == 0 {
            (0, at)
        } else {
            let next = long[..nth].iter().position(|&(_, others)| others > own)?;
            // The call with the greater depth depends on one before it.
            (long[next.checked_sub(1)?].0 + 1, long[next].0)
        };
        let (to, moved) = with_operands(function, range, &position, at, start)?;
        let is_there = moved.first() == Some(&to) && at + 1 == to + moved.len();
        (to <= before && !is_there).then(|| move_range(range, to, &moved))
    })
}

/// The first position from `start` on where an operation can be placed, and the positions of what is moved
/// there, in order: itself and its operands.
fn with_operands(
    function: &Function,
    range: &[Inst],
    position: &impl Fn(Value) -> Option<usize>,
    at: usize,
    start: usize,
) -> Option<(usize, Vec<usize>)> {
    let (mut to, mut moved, mut done) = (start, vec![at], 0);
    while let Some(&next) = moved.get(done) {
        done += 1;
        function.inst(range[next]).op.for_each_operand(|operand| match position(operand) {
            Some(from) if from < start || moved.contains(&from) => {}
            Some(from) if function.inst(range[from]).op.is_pure() => moved.push(from),
            Some(from) => to = to.max(from + 1),
            None => {}
        });
        if moved.len() > MAX_OPERANDS + 1 {
            return None;
        }
    }
    moved.retain(|&from| from >= to);
    moved.sort_unstable();
    Some((to, moved))
}

/// Moves the instructions at these positions, in order, to an earlier one.
fn move_range(range: &mut [Inst], to: usize, moved: &[usize]) {
    assert!(moved.is_sorted_by(|a, b| a < b), "the moved instructions keep their order");
    for (nth, &from) in moved.iter().enumerate() {
        assert!(to + nth <= from, "an instruction is moved to a later position");
        range[to + nth..=from].rotate_right(1);
    }
}
