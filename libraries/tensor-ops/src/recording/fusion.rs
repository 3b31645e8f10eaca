//! Which maps of a recording become one kernel.
//!
//! Owns [`Group`]. Invariant: a thread of a fused kernel reads of another map's result only the element
//! that it made itself; what is in memory after a fused kernel is what its maps alone would have left
//! there, but for results that nothing sees.

use std::collections::{BTreeMap, BTreeSet};

use super::recorder::{MapOperand, MapStep};
use crate::kernels::MAX_OPERANDS;

/// The most maps of a kernel: compiling it takes longer with each.
const MAX_STEPS: usize = 32;

/// The most buffers of a kernel; Metal has 31 places for them and for the layout.
const MAX_BUFFERS: usize = 16;

/// Maps, one after the other, over one shape.
pub(super) struct Group<'a> {
    pub(super) steps: Vec<&'a MapStep>,
    /// What of memory the maps so far have written: by number the last step's operand and stored type.
    written: BTreeMap<usize, (&'a MapOperand, &'static str)>,
    /// What they have read that none of them has written.
    read: BTreeSet<usize>,
    /// The strides and offsets that they walk by.
    places: Vec<(&'a [isize], usize)>,
}

impl<'a> Group<'a> {
    pub(super) fn of(step: &'a MapStep) -> Group<'a> {
        let mut group =
            Group { steps: Vec::new(), written: BTreeMap::new(), read: BTreeSet::new(), places: Vec::new() };
        group.add(step);
        group
    }

    /// Whether the map can be a part of the same kernel.
    pub(super) fn takes(&self, step: &MapStep) -> bool {
        let Some(first) = self.steps.first() else { return true };
        if self.steps.len() == MAX_STEPS || step.shape != first.shape {
            return false;
        }
        let (out, inputs) = step.operands.split_at(1);
        // Whoever reads or writes the output's memory before would need an order between threads.
        let is_free = |operand: &MapOperand| {
            !self.written.contains_key(&operand.memory) && !self.read.contains(&operand.memory)
        };
        let is_own_element = |(input, stored): (&MapOperand, &&'static str)| {
            let written = self.written.get(&input.memory);
            written.is_none_or(|(out, as_type)| *out == input && as_type == stored)
        };
        let buffers = self.written.keys().chain(&self.read).copied();
        let buffers: BTreeSet<usize> =
            buffers.chain(step.operands.iter().map(|operand| operand.memory)).collect();
        let mut places = self.places.clone();
        note_places(&mut places, step);
        out.iter().all(is_free)
            && !inputs.iter().any(|input| input.memory == out[0].memory)
            && inputs.iter().zip(&step.function.stored[1..]).all(is_own_element)
            && buffers.len() <= MAX_BUFFERS
            && places.len() <= MAX_OPERANDS
    }

    pub(super) fn add(&mut self, step: &'a MapStep) {
        note_places(&mut self.places, step);
        let (out, inputs) = step.operands.split_at(1);
        for input in inputs {
            if !self.written.contains_key(&input.memory) {
                self.read.insert(input.memory);
            }
        }
        self.written.insert(out[0].memory, (&out[0], step.function.stored[0]));
        self.steps.push(step);
    }

    pub(super) fn places(&self) -> &[(&'a [isize], usize)] {
        &self.places
    }

    pub(super) fn place_of(&self, operand: &MapOperand) -> usize {
        let place = (&operand.strides[..], operand.offset);
        self.places.iter().position(|&known| known == place).unwrap_or(0)
    }

    pub(super) fn reads(&self) -> &BTreeSet<usize> {
        &self.read
    }
}

fn note_places<'a>(places: &mut Vec<(&'a [isize], usize)>, step: &'a MapStep) {
    for operand in &step.operands {
        let place = (&operand.strides[..], operand.offset);
        if !places.contains(&place) {
            places.push(place);
        }
    }
}
