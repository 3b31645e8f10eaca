//! Asks for the next threadgroup's data while this threadgroup computes.
//!
//! A kernel that gives each threadgroup a row reads it, computes, and writes it, in phases of their own.
//! Hardware prefetchers follow within a row; at its end memory waits until the next row's first load. When
//! threadgroup *t* walks through the bytes from `base + t × row` to `base + (t + 1) × row`, in a loop or with
//! one access for each thread, an access at `p` is preceded, one threadgroup earlier, by a [`Op::Prefetch`]
//! of `p`, in the loop that computes most.
//!
//! The row is found by differentiation: what an address gains when the threadgroup's position grows by one
//! must be what the loop walks over. Addresses that do not follow that pattern are left alone, but for loops
//! over the whole grid (`strides`), several rows read side by side (`rows`), loads that each thread does once (`grid`,
//! `run_ahead`), tiles (`tiles`) and results of matrix products (`matrices`).

mod grid;
mod hints;
mod matrices;
mod rows;
mod run_ahead;
mod strides;
mod tiles;

use std::cmp::Reverse;

use rustc_hash::FxHashSet;

use self::hints::Hints;
use super::mem2reg::variables;
use crate::analysis::{LocalPointers, local_pointers, walk_insts};
use crate::{
    BinOp, Block, CastOp, Function, Inst, Label, Local, Op, PrefetchHint, Query, Space, Type, Value, ValueDef,
};

/// How far a definition is followed.
const DEPTH: u32 = 16;
/// What a library function counts beside other instructions.
const MATH_COST: usize = 10;

/// Adds prefetches to one function; returns whether there are any.
pub fn prefetch(function: &mut Function) -> bool {
    let pointers = local_pointers(function);
    let variables = variables(function, &pointers);
    let finder = Finder { function, pointers, variables };
    let mut found = Vec::new();
    finder.block(function.body, &mut found);
    let is_walked = |root| found.iter().any(|walk: &Walk| walk.root == root);
    let loads = grid::Loads::new(&finder);
    let mut ahead = grid::loads_ahead(&finder, &loads, &is_walked);
    ahead.extend(tiles::loads_of_tiles(&finder, &loads, &is_walked));
    let rows = rows::rows_together(&finder, &is_walked);
    let results = matrices::tiles(&finder);
    let changed = !found.is_empty() || !ahead.is_empty() || !rows.is_empty() || !results.is_empty();
    for walk in one_loop_each(found).iter().chain(&rows) {
        insert(function, walk);
    }
    for load in &ahead {
        load.insert(function);
    }
    for result in &results {
        result.insert(function);
    }
    changed
}

/// One loop for each argument: the one that computes most of those in which no other argument is asked for, if
/// there is one. Requests wait for each other: a core has room for some 16 lines that it waits for, and loops
/// without requests leave that room empty. Arguments with the least choice choose first.
fn one_loop_each(mut found: Vec<Walk>) -> Vec<Walk> {
    found.sort_by_key(|walk| (walk.root.index(), Reverse(walk.cost)));
    let mut roots: Vec<Vec<Walk>> = Vec::new();
    for walk in found {
        match roots.last_mut().filter(|walks| walks[0].root == walk.root) {
            Some(walks) => walks.push(walk),
            None => roots.push(vec![walk]),
        }
    }
    roots.sort_by_key(Vec::len);
    let mut chosen: Vec<Walk> = Vec::new();
    for mut walks in roots {
        let is_free = |walk: &Walk| chosen.iter().all(|other| other.block != walk.block);
        let at = walks.iter().position(is_free).unwrap_or(0);
        chosen.push(walks.swap_remove(at));
    }
    chosen
}

/// `value × times`, or `times` alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Gain {
    value: Option<Value>,
    times: i64,
}

impl Gain {
    const NONE: Self = Self { value: None, times: 0 };
    const ONE: Self = Self { value: None, times: 1 };

    fn is_none(self) -> bool {
        self.times == 0
    }

    fn scaled(self, by: i64) -> Option<Self> {
        Some(Self { times: self.times.checked_mul(by)?, ..self })
    }

    fn plus(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::NONE, sum) | (sum, Self::NONE) => Some(sum),
            (a, b) if a.value == b.value => Some(Self { times: a.times.checked_add(b.times)?, ..a }),
            _ => None,
        }
    }
}

/// A loop's walk over an argument's memory.
struct Walk {
    /// The argument.
    root: Value,
    /// The block of the access, and the access.
    block: Block,
    access: Inst,
    pointer: Value,
    bytes: u32,
    hint: PrefetchHint,
    /// From a threadgroup's byte to the next threadgroup's.
    gain: Gain,
    /// Of the loop's body.
    cost: usize,
}

/// `for (counter = start; counter < bound; …)`, or `if (thread × times < bound)`.
struct Counted {
    /// `None`: the thread's position.
    counter: Option<Local>,
    start: Option<Value>,
    times: i64,
    bound: Value,
}

struct Finder<'f> {
    function: &'f Function,
    pointers: LocalPointers,
    variables: Vec<bool>,
}

impl Finder<'_> {
    fn block(&self, block: Block, found: &mut Vec<Walk>) {
        let insts = self.function.block(block);
        for (at, &inst) in insts.iter().enumerate() {
            if let Op::Loop { label, body, .. } = self.function.inst(inst).op
                && let Some(counted) = self.counted(label, body, &insts[..at])
            {
                let cost = self.cost(inst);
                self.accesses(body, &counted, cost, found);
                self.strided(inst, body, &counted, cost, found);
            }
            if let Op::If { cond, then, .. } = self.function.inst(inst).op
                && let Some(counted) = self.guarded(cond)
            {
                self.accesses(then, &counted, self.cost(inst), found);
            }
            for nested in self.function.inst(inst).op.blocks() {
                self.block(nested, found);
            }
        }
    }

    fn cost(&self, inst: Inst) -> usize {
        let mut cost = 0;
        for block in self.function.inst(inst).op.blocks() {
            walk_insts(self.function, block, &mut |inst| {
                cost += if let Op::Math(..) = self.function.inst(inst).op { MATH_COST } else { 1 };
            });
        }
        cost
    }

    /// `before`: what stands before the loop in its block.
    fn counted(&self, label: Label, body: Block, before: &[Inst]) -> Option<Counted> {
        let function = self.function;
        let leaves =
            |block| matches!(function.block(block), [only] if function.inst(*only).op == Op::Break(label));
        let cond = function.block(body).iter().find_map(|&inst| match function.inst(inst).op {
            Op::If { cond, then, otherwise } if leaves(then) || leaves(otherwise) => Some(cond),
            _ => None,
        })?;
        let Some(&Op::Compare(_, a, b)) = function.def(cond) else { return None };
        let (counter, bound) = match (self.variable_read(a), self.variable_read(b)) {
            (Some(counter), None) => (counter, b),
            (None, Some(counter)) => (counter, a),
            _ => return None,
        };
        let start = before.iter().rev().find_map(|&inst| match function.inst(inst).op {
            Op::Store { ptr, value, .. } if self.variable(ptr) == Some(counter) => Some(value),
            _ => None,
        })?;
        Some(Counted { counter: Some(counter), start: Some(start), times: 1, bound })
    }

    fn guarded(&self, cond: Value) -> Option<Counted> {
        let Some(&Op::Compare(_, a, b)) = self.function.def(cond) else { return None };
        let of_thread = |value| self.gain(value, &|op| self.is_index(op, None), DEPTH);
        match (of_thread(a)?, of_thread(b)?) {
            (Gain { value: None, times }, Gain::NONE) if times > 0 => {
                Some(Counted { counter: None, start: None, times, bound: b })
            }
            (Gain::NONE, Gain { value: None, times }) if times > 0 => {
                Some(Counted { counter: None, start: None, times, bound: a })
            }
            _ => None,
        }
    }

    /// The accesses directly in a loop's body that walk from this threadgroup's data to the next one's.
    fn accesses(&self, body: Block, counted: &Counted, cost: usize, found: &mut Vec<Walk>) {
        let function = self.function;
        let mut seen = FxHashSet::default();
        // Without a loop all of the row is asked for at once, and a core has few places for lines that come to
        // the first level.
        let (read, write) = match counted.counter {
            Some(_) => (PrefetchHint::StreamRead, PrefetchHint::WriteL2),
            None => (PrefetchHint::ReadL2, PrefetchHint::Write),
        };
        for &inst in function.block(body) {
            let data = function.inst(inst);
            let (pointer, ty, hint) = match data.op {
                Op::Load { ptr, .. } => (ptr, data.result.map(|value| function.ty(value)), read),
                Op::Store { ptr, value, .. } => (ptr, Some(function.ty(value)), write),
                _ => continue,
            };
            if function.ty(pointer) != Type::Ptr(Space::Device) {
                continue;
            }
            let (Some(root), Some(ty)) = (self.root(pointer), ty) else { continue };
            let stride = self.gain(pointer, &|op| self.is_index(op, counted.counter), DEPTH);
            let Some(Gain { value: None, times: stride }) = stride else { continue };
            let gain = self.per_threadgroup(pointer, stride, counted);
            let whole = stride % counted.times == 0;
            let is_row = |gain: &Gain| whole && self.is_row(*gain, stride / counted.times, counted.bound);
            let Some(gain) = gain.filter(is_row) else { continue };
            if seen.insert(root) {
                let (block, access, bytes) = (body, inst, ty.size());
                found.push(Walk { root, block, access, pointer, bytes, hint, gain, cost });
            } else if hint == write
                && let Some(known) = found.iter_mut().rev().find(|walk| walk.root == root)
            {
                known.hint = write;
            }
        }
    }

    /// What the pointer gains from threadgroup to threadgroup along the first axis.
    fn per_threadgroup(&self, pointer: Value, stride: i64, counted: &Counted) -> Option<Gain> {
        let axis = Op::Query(Query::ThreadgroupPositionInGrid(0));
        let group = |op: &Op| (*op == axis).then_some(Gain::ONE);
        // The counter gains by where it starts, which is added.
        let index = |op: &Op| self.is_index(op, counted.counter).map(|_| Gain::NONE);
        let own = self.gain(pointer, &|op| group(op).or_else(|| index(op)), DEPTH)?;
        let started = counted.start.map_or(Some(Gain::NONE), |start| self.gain(start, &group, DEPTH))?;
        own.plus(started.scaled(stride)?).filter(|gain| !gain.is_none())
    }

    /// One, if the operation gives the index.
    fn is_index(&self, op: &Op, counter: Option<Local>) -> Option<Gain> {
        let found = match (op, counter) {
            (Op::Load { ptr, .. }, Some(counter)) => self.variable(*ptr) == Some(counter),
            (Op::Query(query), None) => {
                matches!(query, Query::ThreadIndexInThreadgroup | Query::ThreadPositionInThreadgroup(0))
            }
            _ => false,
        };
        found.then_some(Gain::ONE)
    }

    /// Whether the gain is what the loop walks over.
    fn is_row(&self, gain: Gain, stride: i64, bound: Value) -> bool {
        let row = |end: Value| self.covers(gain, stride, end);
        let ends = match self.function.def(bound) {
            Some(Op::Binary(BinOp::UMin | BinOp::SMin, a, b)) => vec![*a, *b],
            _ => vec![bound],
        };
        ends.into_iter().any(|end| {
            let parts = match self.function.def(end) {
                Some(Op::Binary(BinOp::Add, a, b)) => vec![*a, *b],
                _ => vec![end],
            };
            parts.into_iter().any(row)
        })
    }

    /// Whether `count` steps of `stride` bytes make up the gain.
    fn covers(&self, gain: Gain, stride: i64, count: Value) -> bool {
        let count = self.widened(count);
        let Some(value) = gain.value else {
            let count = self.function.as_const(count).and_then(|count| i64::try_from(count).ok());
            return count.and_then(|count| count.checked_mul(stride)) == Some(gain.times);
        };
        if count == self.widened(value) {
            return gain.times == stride;
        }
        // `columns / 4` steps of four elements.
        let Some(Op::Binary(op @ (BinOp::UDiv | BinOp::SDiv | BinOp::LShr), whole, by)) =
            self.function.def(count)
        else {
            return false;
        };
        let Some(by) = self.function.as_const(*by).and_then(|by| u32::try_from(by).ok()) else {
            return false;
        };
        let by = if *op == BinOp::LShr { 1_i64.checked_shl(by) } else { Some(i64::from(by)) };
        self.widened(*whole) == self.widened(value)
            && by.is_some_and(|by| gain.times.checked_mul(by) == Some(stride))
    }

    /// The value before it was widened.
    fn widened(&self, mut value: Value) -> Value {
        while let Some(Op::Cast(CastOp::ZExt | CastOp::SExt, inner)) = self.function.def(value) {
            value = *inner;
        }
        value
    }

    /// What the value gains when that for which `known` gives a gain grows by one.
    fn gain(&self, value: Value, known: &dyn Fn(&Op) -> Option<Gain>, depth: u32) -> Option<Gain> {
        let depth = depth.checked_sub(1)?;
        let Some(op) = self.function.def(value) else { return Some(Gain::NONE) };
        if let Some(gain) = known(op) {
            return Some(gain);
        }
        let of = |value: Value| self.gain(value, known, depth);
        match op {
            Op::Cast(CastOp::ZExt | CastOp::SExt, a) => of(*a),
            Op::Binary(BinOp::Add, a, b) => of(*a)?.plus(of(*b)?),
            Op::Binary(BinOp::Mul, a, b) => {
                let (first, second) = (of(*a)?, of(*b)?);
                match (first.is_none(), second.is_none()) {
                    (true, true) => Some(Gain::NONE),
                    (false, true) => self.times(first, *b),
                    (true, false) => self.times(second, *a),
                    (false, false) => None,
                }
            }
            Op::PtrAdd { base, index, scale, .. } => {
                let index = index.map_or(Some(Gain::NONE), of)?;
                of(*base)?.plus(index.scaled(i64::from(*scale))?)
            }
            Op::Load { ptr, .. } if self.function.ty(*ptr) == Type::Ptr(Space::Constant) => {
                of(*ptr).filter(|gain| gain.is_none())
            }
            Op::Query(_) | Op::Const(_) => Some(Gain::NONE),
            op => {
                let mut none = op.is_pure();
                op.for_each_operand(|operand| none = none && of(operand) == Some(Gain::NONE));
                none.then_some(Gain::NONE)
            }
        }
    }

    fn times(&self, gain: Gain, by: Value) -> Option<Gain> {
        match (self.function.as_const(by).and_then(|by| i64::try_from(by).ok()), gain.value) {
            (Some(by), _) => gain.scaled(by),
            (None, None) => Some(Gain { value: Some(by), times: gain.times }),
            (None, Some(_)) => None,
        }
    }

    /// The argument that a pointer comes from.
    fn root(&self, mut pointer: Value) -> Option<Value> {
        loop {
            match self.function.values[pointer.index()].def {
                ValueDef::Param(_) => return Some(pointer),
                ValueDef::Inst(inst) => match self.function.inst(inst).op {
                    Op::PtrAdd { base, .. } => pointer = base,
                    _ => return None,
                },
            }
        }
    }

    /// The variable that a value was loaded from.
    fn variable_read(&self, value: Value) -> Option<Local> {
        match *self.function.def(value)? {
            Op::Load { ptr, .. } => self.variable(ptr),
            _ => None,
        }
    }

    fn variable(&self, ptr: Value) -> Option<Local> {
        let (local, offset) = self.pointers.get(ptr.index()).copied().flatten()?;
        (offset == 0 && self.variables[local.index()]).then_some(local)
    }
}

/// Puts the prefetch behind the access.
fn insert(function: &mut Function, walk: &Walk) {
    let mut hints = Hints::new(function);
    let gain = match walk.gain.value {
        Some(value) => hints.product(value, walk.gain.times),
        None => hints.constant(walk.gain.times.cast_unsigned()),
    };
    let gain = if walk.hint == PrefetchHint::WriteL2 { hints.rows_ahead(gain) } else { gain };
    let address = Op::PtrAdd { base: walk.pointer, index: Some(gain), scale: 1, offset: 0 };
    hints.finish(walk.pointer, address, (walk.bytes, walk.hint), walk.block, walk.access);
}
