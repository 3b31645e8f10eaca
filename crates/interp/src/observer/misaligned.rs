//! Reports accesses whose offset is not a multiple of the alignment that the instruction promises, once per
//! instruction. Such code works on some devices and not on others.

use std::collections::BTreeSet;

use super::{Access, AtomicKind, Interests, Observer};
use crate::report::MemoryPlace;

/// A misaligned access: the first of its instruction.
pub type MisalignedAccess = Access;

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Misaligned {
    found: Vec<MisalignedAccess>,
    known: BTreeSet<(u32, u32, u32)>,
}

impl Misaligned {
    /// Nothing found yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// In order of occurrence.
    pub fn accesses(&self) -> &[MisalignedAccess] {
        &self.found
    }

    fn check(&mut self, access: &Access) {
        let align = u64::from(access.align.max(1));
        // Buffers start on page boundaries; a binding's own offset counts.
        let at = match access.place {
            MemoryPlace::Buffer { offset, .. } => offset,
            _ => access.offset,
        };
        let loc = access.loc;
        if at % align != 0 && self.known.insert((loc.file, loc.line, loc.column)) {
            self.found.push(*access);
        }
    }
}

impl Observer for Misaligned {
    fn interests(&self) -> Interests {
        Interests::ALL
    }

    fn on_load(&mut self, access: &Access) {
        self.check(access);
    }

    fn on_store(&mut self, access: &Access) {
        self.check(access);
    }

    fn on_copy(&mut self, source: &Access, target: &Access) {
        self.check(source);
        self.check(target);
    }

    fn on_atomic(&mut self, access: &Access, _kind: AtomicKind) {
        self.check(access);
    }
}
