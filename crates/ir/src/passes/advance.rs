//! Brings library functions forward that wait for fewer others than what stands before them.
//!
//! From its argument to its result a logarithm is one chain of dependent instructions: a processor waits most of
//! the time, unless something else stands near. It looks ahead by about a hundred vector instructions, and one
//! library function is twenty to forty. So of the functions in a row of computations those come first that wait
//! for none of the others, then those that wait for one, and so on; and the first starts as early as it can: square
//! roots and divisions, which wait for each other, fit in while it runs.
//!
//! Only what has no effect is moved, to a place where its operands are known, so results are the same. For code
//! generators, after all other passes: an early result takes a register until it is used, so few are moved.
//! Measured: see `docs/decisions/0011-schedule-long-latency-calls.md`.

use rustc_hash::FxHashMap;

use crate::{Function, Inst, MathFn, Op, Value, ValueDef};

/// The most functions brought forward in a row of computations.
const MOST_MOVED: usize = 4;
/// The most operations that a function takes with it.
const MOST_OPERANDS: usize = 8;

/// Brings functions of the library forward in one function; returns whether there were any.
pub fn advance(function: &mut Function) -> bool {
    let mut changed = false;
    for block in 0..function.blocks.len() {
        let mut insts = std::mem::take(&mut function.blocks[block].insts);
        for row in insts.chunk_by_mut(|&a, &b| is_computing(function, a) && is_computing(function, b)) {
            let moves = std::iter::from_fn(|| advance_one(function, row)).take(MOST_MOVED);
            changed |= moves.count() > 0;
        }
        function.blocks[block].insts = insts;
    }
    changed
}

/// Whether nobody waits for others, stops or goes elsewhere there.
fn is_computing(function: &Function, inst: Inst) -> bool {
    let op = &function.inst(inst).op;
    op.is_pure() || matches!(op, Op::Load { .. } | Op::Store { .. } | Op::Prefetch { .. })
}

/// Whether it becomes a long chain of instructions.
fn is_long(op: &Op) -> bool {
    use MathFn::{
        Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, Cos, CosPi, Cosh, Exp, Exp2, Exp10, Log, Log2, Log10,
        Pow, Powr, Sin, SinPi, Sinh, Tan, TanPi, Tanh,
    };
    let Op::Math(function, _) = op else { return false };
    matches!(
        function,
        Sin | Cos | Tan | SinPi | CosPi | TanPi | Asin | Acos | Atan | Atan2 | Sinh | Cosh | Tanh
    ) || matches!(function, Asinh | Acosh | Atanh | Exp | Exp2 | Exp10 | Log | Log2 | Log10 | Pow | Powr)
}

/// Brings the first function of a row to where its operands are known, or another one that stands behind one which
/// waits for more others before that.
fn advance_one(function: &Function, row: &mut [Inst]) -> Option<()> {
    let places: FxHashMap<Inst, usize> = row.iter().enumerate().map(|(at, &inst)| (inst, at)).collect();
    let place = |value: Value| match function.values[value.index()].def {
        ValueDef::Inst(inst) => places.get(&inst).copied(),
        ValueDef::Param(_) => None,
    };
    // How many functions, one behind the other, each result waits for; and of the library's, in order.
    let mut waits: Vec<u32> = Vec::with_capacity(row.len());
    let mut long: Vec<(usize, u32)> = Vec::new();
    for (at, &inst) in row.iter().enumerate() {
        let op = &function.inst(inst).op;
        let mut most = 0;
        op.for_each_operand(|operand| most = most.max(place(operand).map_or(0, |from| waits[from])));
        if is_long(op) {
            long.push((at, most));
            most += 1;
        }
        waits.push(most);
    }
    long.iter().enumerate().find_map(|(nth, &(at, own))| {
        let (behind, before) = if nth == 0 {
            (0, at)
        } else {
            let next = long[..nth].iter().position(|&(_, others)| others > own)?;
            // The one that waits for more waits for one before it.
            (long[next.checked_sub(1)?].0 + 1, long[next].0)
        };
        let (to, moved) = taken_along(function, row, &place, at, behind)?;
        let is_there = moved.first() == Some(&to) && at + 1 == to + moved.len();
        (to <= before && !is_there).then(|| bring_to(row, to, &moved))
    })
}

/// Where an operation can stand from `behind` on, and what goes there, in order: itself and its operands.
fn taken_along(
    function: &Function,
    row: &[Inst],
    place: &impl Fn(Value) -> Option<usize>,
    at: usize,
    behind: usize,
) -> Option<(usize, Vec<usize>)> {
    let (mut to, mut moved, mut done) = (behind, vec![at], 0);
    while let Some(&next) = moved.get(done) {
        done += 1;
        function.inst(row[next]).op.for_each_operand(|operand| match place(operand) {
            Some(from) if from < behind || moved.contains(&from) => {}
            Some(from) if function.inst(row[from]).op.is_pure() => moved.push(from),
            Some(from) => to = to.max(from + 1),
            None => {}
        });
        if moved.len() > MOST_OPERANDS + 1 {
            return None;
        }
    }
    moved.retain(|&from| from >= to);
    moved.sort_unstable();
    Some((to, moved))
}

/// Brings what stands at these places, in order, to one before them.
fn bring_to(row: &mut [Inst], to: usize, moved: &[usize]) {
    for (nth, &from) in moved.iter().enumerate() {
        row[to + nth..=from].rotate_right(1);
    }
}
