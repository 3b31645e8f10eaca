//! Definite assignment: the locals that every path stores before it loads them.
//!
//! A forward analysis over structured control flow, as the one of Java's language specification (chapter 16):
//! the state is the set of locals that were stored on every path to the current position.

use std::collections::HashMap;

use super::{LocalPointers, local_pointers, local_uses, walk_insts};
use anymetal_ir::{Block, Function, Inst, Label, Local, Op, Value};

/// For each local, whether no load of it can read bytes that nothing was stored to since its lifetime began.
/// False where it is not known: of locals whose address escapes or has an offset that is not constant, and of
/// those that are copied.
pub fn definitely_stored(function: &Function) -> Vec<bool> {
    let pointers = local_pointers(function);
    let loaded = loaded_bytes(function, &pointers);
    let mut walk = DefiniteStores {
        function,
        pointers,
        numbers: vec![None; function.locals.len()],
        failed: vec![false; function.locals.len()],
        words: 0,
        exits: HashMap::new(),
        loaded,
    };
    let mut count = 0;
    for (number, loaded) in walk.numbers.iter_mut().zip(&walk.loaded) {
        if loaded.is_some() {
            *number = Some(count);
            count += 1;
        }
    }
    walk.words = count.div_ceil(64);
    let nothing = vec![0; walk.words];
    walk.block(function.body, Some(nothing));
    assert!(walk.exits.is_empty(), "a jump to a label that no construct around it has");
    walk.numbers.iter().zip(&walk.failed).map(|(number, failed)| number.is_some() && !failed).collect()
}

/// The range of each local's bytes that loads read; `None` of locals that the analysis does not follow.
fn loaded_bytes(function: &Function, pointers: &LocalPointers) -> Vec<Option<(i64, i64)>> {
    let mut loaded: Vec<Option<(i64, i64)>> = local_uses(function)
        .iter()
        .map(|local| (!local.escapes && !local.dynamic).then_some((i64::MAX, 0)))
        .collect();
    let place = |ptr: Value| pointers[ptr.index()];
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        match &data.op {
            Op::Load { ptr, .. } => {
                if let Some((local, start)) = place(*ptr) {
                    let size = i64::from(function.ty(function.result(inst)).size());
                    let end = start.saturating_add(size);
                    let is_inside = start >= 0
                        && u64::try_from(end).is_ok_and(|end| end <= function.locals[local.index()].size);
                    let range = &mut loaded[local.index()];
                    *range =
                        range.filter(|_| is_inside).map(|(first, last)| (first.min(start), last.max(end)));
                }
            }
            Op::MemCopy { dst, src, .. } => {
                for (local, _) in [*dst, *src].into_iter().filter_map(place) {
                    loaded[local.index()] = None;
                }
            }
            _ => {}
        }
    });
    loaded
}

/// A bit per followed local that was stored; `None` where control does not come.
type State = Option<Vec<u64>>;

fn meet(a: State, b: State) -> State {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            assert_eq!(a.len(), b.len(), "all states have a bit for each followed local");
            a.iter_mut().zip(&b).for_each(|(a, b)| *a &= b);
            Some(a)
        }
        (a, b) => a.or(b),
    }
}

/// The states at the breaks and continues of one construct.
#[derive(Default)]
struct Exits {
    breaks: State,
    continues: State,
}

struct DefiniteStores<'a> {
    function: &'a Function,
    pointers: LocalPointers,
    /// Of followed locals: their bit.
    numbers: Vec<Option<usize>>,
    loaded: Vec<Option<(i64, i64)>>,
    failed: Vec<bool>,
    words: usize,
    exits: HashMap<Label, Exits>,
}

impl DefiniteStores<'_> {
    /// Walks a block; returns the state at its end.
    fn block(&mut self, block: Block, mut state: State) -> State {
        let function = self.function;
        for &inst in function.block(block) {
            state = self.inst(inst, state);
        }
        state
    }

    fn inst(&mut self, inst: Inst, mut state: State) -> State {
        let function = self.function;
        match &function.inst(inst).op {
            Op::Load { ptr, .. } => self.load(*ptr, state.as_deref()),
            Op::Store { ptr, value, .. } => {
                self.store(*ptr, i64::from(function.ty(*value).size()), state.as_deref_mut());
            }
            Op::MemZero { dst, size, .. } => {
                self.store(*dst, i64::try_from(*size).unwrap_or(i64::MAX), state.as_deref_mut());
            }
            Op::LocalStart(local) => self.forget(*local, state.as_deref_mut()),
            Op::If { then, otherwise, .. } => {
                let after_then = self.block(*then, state.clone());
                return meet(after_then, self.block(*otherwise, state));
            }
            &Op::Loop { label, body, continuing, .. } => {
                return self.endless(inst, (label, body, continuing), state);
            }
            Op::Switch { label, cases, default, .. } => {
                let mut after = None;
                for block in cases.iter().map(|case| case.body).chain([*default]) {
                    after = meet(after, self.block(block, state.clone()));
                }
                return meet(after, self.exits(*label).breaks);
            }
            Op::Scope { label, body, .. } => {
                let after = self.block(*body, state);
                return meet(after, self.exits(*label).breaks);
            }
            Op::Break(label, _) => {
                let exits = self.exits.entry(*label).or_default();
                exits.breaks = meet(exits.breaks.take(), state);
                return None;
            }
            Op::Continue(label, _) => {
                let exits = self.exits.entry(*label).or_default();
                exits.continues = meet(exits.continues.take(), state);
                return None;
            }
            op if op.is_terminator() => return None,
            _ => {}
        }
        state
    }

    /// Stores stay true around the loop, but for locals whose lifetimes begin in it.
    fn endless(
        &mut self,
        inst: Inst,
        (label, body, continuing): (Label, Block, Block),
        mut state: State,
    ) -> State {
        let function = self.function;
        for block in function.inst(inst).op.blocks() {
            walk_insts(function, block, &mut |inst| {
                if let Op::LocalStart(local) = function.inst(inst).op {
                    self.forget(local, state.as_deref_mut());
                }
            });
        }
        let after_body = self.block(body, state);
        let exits = self.exits(label);
        self.block(continuing, meet(after_body, exits.continues));
        meet(exits.breaks, self.exits(label).breaks)
    }

    /// The states at the jumps of a construct so far; none if nothing jumps.
    fn exits(&mut self, label: Label) -> Exits {
        self.exits.remove(&label).unwrap_or_default()
    }

    /// The followed local that a pointer leads to: its bit, and the pointer's offset.
    fn followed(&self, ptr: Value) -> Option<(Local, usize, i64)> {
        let (local, offset) = self.pointers[ptr.index()]?;
        let number = self.numbers[local.index()]?;
        debug_assert!(number < 64 * self.words, "{local} has no bit in the states");
        Some((local, number, offset))
    }

    fn load(&mut self, ptr: Value, state: Option<&[u64]>) {
        if let (Some((local, bit, _)), Some(state)) = (self.followed(ptr), state) {
            self.failed[local.index()] |= state[bit / 64] >> (bit % 64) & 1 == 0;
        }
    }

    /// A store counts if it covers all that loads read.
    fn store(&self, ptr: Value, size: i64, state: Option<&mut [u64]>) {
        if let (Some((local, bit, start)), Some(state)) = (self.followed(ptr), state) {
            let (first, last) =
                self.loaded[local.index()].expect("a local is followed if its loads are known");
            if start <= first && start.saturating_add(size) >= last {
                state[bit / 64] |= 1 << (bit % 64);
            }
        }
    }

    fn forget(&self, local: Local, state: Option<&mut [u64]>) {
        if let (Some(bit), Some(state)) = (self.numbers[local.index()], state) {
            state[bit / 64] &= !(1 << (bit % 64));
        }
    }
}

#[cfg(test)]
mod tests;
