//! Collects accesses out of bounds, once per instruction and variable: a kernel that runs past its buffer
//! does so in thousands of threads, and the report lists the positions.

use std::collections::BTreeMap;

use super::Observer;
use crate::report::{Fault, Variable};

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Bounds {
    /// In order of first occurrence, with how often each occurred.
    found: Vec<(Fault, u64)>,
    known: BTreeMap<(u32, u32, u32, Variable), usize>,
}

impl Bounds {
    /// Nothing found yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The first fault at each place, and how many there were, in order of first occurrence.
    pub fn faults(&self) -> &[(Fault, u64)] {
        &self.found
    }
}

impl Observer for Bounds {
    fn on_fault(&mut self, fault: &Fault) {
        let loc = fault.loc;
        let index =
            *self.known.entry((loc.file, loc.line, loc.column, fault.variable)).or_insert_with(|| {
                self.found.push((*fault, 0));
                self.found.len() - 1
            });
        self.found[index].1 += 1;
    }
}
