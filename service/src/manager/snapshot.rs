//! Copies of what work changes in place, so that it can run again.
//!
//! Owns [`Snapshot`]. A buffer that is copied as a whole gets the copy as its host copy, which also
//! survives the loss of its device; of others the ranges are kept here.

use std::collections::BTreeMap;
use std::ops::Range;

use anymetal_policy::idempotence::{BoundArgument, Replay, SnapshotPlan};

use super::buffer::read_bytes;
use super::core::Core;
use super::error::ManagerError;
use super::job::Job;
use super::memory::{Memory, Patch};
use anymetal::reflection::Access;

#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// By the numbers of the memories.
    patches: BTreeMap<u64, Vec<Patch>>,
    /// The memories of which all that is written is in the plan.
    covered: Vec<u64>,
    /// How many buffers the plan names.
    buffers: usize,
}

impl Snapshot {
    /// Copies what the decision says, before anything runs.
    pub(super) fn take(core: &Core, job: &Job<'_>, replay: &Replay) -> Result<Self, ManagerError> {
        let Replay::Restore(plan) = replay else {
            return Ok(Snapshot::default());
        };
        let mut snapshot = Snapshot::default();
        for range in plan.ranges() {
            let Some(memory) = job.memory(range.memory) else { continue };
            snapshot.copy(core, memory, &range.bytes)?;
        }
        let written = job.written().map(|memory| memory.id());
        snapshot.covered = written.filter(|&memory| covers(plan, job.arguments(), memory)).collect();
        let mut named: Vec<u64> = plan.ranges().iter().map(|range| range.memory).collect();
        named.dedup();
        snapshot.buffers = named.len();
        Ok(snapshot)
    }

    fn copy(&mut self, core: &Core, memory: &Memory, bytes: &Range<u64>) -> Result<(), ManagerError> {
        if memory.has_host_copy() {
            return Ok(());
        }
        let before = read_bytes(core, memory, bytes.clone())?;
        if *bytes == (0..memory.length()) {
            memory.keep(before);
        } else {
            let patch = Patch { bytes: bytes.clone(), before };
            self.patches.entry(memory.id()).or_default().push(patch);
        }
        Ok(())
    }

    /// What to write over a torn copy of that memory.
    pub(super) fn patches(&self, memory: &Memory) -> &[Patch] {
        self.patches.get(&memory.id()).map_or(&[], Vec::as_slice)
    }

    /// The same, if nothing else of the memory may have been written.
    pub(super) fn whole_patches(&self, memory: &Memory) -> Option<&[Patch]> {
        self.covered.contains(&memory.id()).then(|| self.patches(memory))
    }

    /// How many buffers are restored.
    pub(super) fn buffers(&self) -> usize {
        self.buffers
    }
}

/// Whether all that is written of a memory is in the plan.
fn covers(plan: &SnapshotPlan, arguments: &[BoundArgument], memory: u64) -> bool {
    let mut written =
        arguments.iter().filter(|argument| argument.memory == memory && argument.access != Access::Read);
    written.all(|argument| {
        let within =
            |range: &Range<u64>| range.start <= argument.bytes.start && argument.bytes.end <= range.end;
        plan.ranges().iter().any(|range| range.memory == memory && within(&range.bytes))
    })
}
