//! Which locations that a loop stores to only feed themselves: what is loaded from them in the loop reaches
//! nothing but stores to the same location.
//!
//! Out of bounds each load of the original loop is zero, and those of the promoted one are the values stored
//! before. Where only a dropped store could show the difference, there is none.

use super::Location;
use crate::limits::MAX_STORED_VALUE_WALKS;
use anymetal_analysis::{IncomingValues, walk_insts};
use anymetal_ir::{Function, Inst, Op, Value};
use rustc_hash::FxHashMap;

/// The locations that a value was loaded from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    One(usize),
    Several,
}

/// Keeps the locations of a loop that are only loaded from, and those that only feed themselves.
pub(super) fn closed(
    function: &Function,
    incoming: &IncomingValues,
    looping: Inst,
    locations: Vec<Location>,
) -> Vec<Location> {
    if !locations.iter().any(|location| location.stores) {
        // Most loops: no walk is needed.
        return locations;
    }
    let mut flow = Flow {
        function,
        incoming,
        looping,
        of_access: FxHashMap::default(),
        sources: FxHashMap::default(),
        is_closed: vec![true; locations.len()],
        changed: false,
    };
    for (place, location) in locations.iter().enumerate().filter(|(_, location)| location.stores) {
        flow.of_access.extend(location.accesses.iter().map(|&inst| (inst, place)));
    }
    if !flow.reaches_fixed_point() {
        // A deep chain of parameters that pass values to each other.
        return locations.into_iter().filter(|location| !location.stores).collect();
    }
    let mut is_closed = flow.is_closed.into_iter();
    locations.into_iter().filter(|_| is_closed.next().expect("there is one for each location")).collect()
}

struct Flow<'a> {
    function: &'a Function,
    incoming: &'a IncomingValues,
    looping: Inst,
    /// The location of each access.
    of_access: FxHashMap<Inst, usize>,
    sources: FxHashMap<Value, Source>,
    is_closed: Vec<bool>,
    changed: bool,
}

impl Flow<'_> {
    fn reaches_fixed_point(&mut self) -> bool {
        for _ in 0..MAX_STORED_VALUE_WALKS {
            self.changed = false;
            self.definitions(self.function.inst(self.looping).op.params());
            for block in self.function.inst(self.looping).op.blocks() {
                walk_insts(self.function, block, &mut |inst| self.instruction(inst));
            }
            if !self.changed {
                for &result in self.function.inst(self.looping).op.results() {
                    self.incoming.each_source(self.function, result, |value| self.escape(value));
                }
                return true;
            }
        }
        false
    }

    fn instruction(&mut self, inst: Inst) {
        let data = self.function.inst(inst);
        self.definitions(data.op.params());
        self.definitions(data.op.results());
        match (self.of_access.get(&inst), &data.op) {
            (Some(&place), Op::Store { value, .. }) => {
                if self.sources.get(value).is_some_and(|&source| source != Source::One(place)) {
                    self.escape(*value);
                }
            }
            (Some(&place), _) => self.add(self.function.result(inst), Source::One(place)),
            // Passed values are followed at the parameters and results that they become.
            (None, Op::Break(..) | Op::Continue(..) | Op::Yield(_) | Op::Loop { .. }) => {}
            (None, op) if op.only_computes() => {
                let result = self.function.result(inst);
                op.for_each_operand(|operand| self.copy(operand, result));
            }
            // An effect, a condition, or a result that depends on other threads.
            (None, op) => op.for_each_operand(|operand| self.escape(operand)),
        }
    }

    /// Follows what jumps pass to parameters or results.
    fn definitions(&mut self, values: &[Value]) {
        for &value in values {
            self.incoming.each_source(self.function, value, |source| self.copy(source, value));
        }
    }

    fn copy(&mut self, from: Value, to: Value) {
        if let Some(&source) = self.sources.get(&from) {
            self.add(to, source);
        }
    }

    fn add(&mut self, value: Value, source: Source) {
        let before = self.sources.get(&value).copied();
        let after = if before.is_none_or(|before| before == source) { source } else { Source::Several };
        if before != Some(after) {
            self.sources.insert(value, after);
            self.changed = true;
        }
    }

    /// The value is used otherwise.
    fn escape(&mut self, value: Value) {
        match self.sources.get(&value) {
            Some(&Source::One(place)) => self.is_closed[place] = false,
            Some(Source::Several) => self.is_closed.fill(false),
            None => {}
        }
    }
}
