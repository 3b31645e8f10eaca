//! Patterns and bytes of a run of the interpreter: what [`crate::analyze`] is compared with.

use std::collections::BTreeMap;

use anymetal_interp::{AccessOp, Accesses, Interests, MemoryPlace, Observer};
use anymetal_ir::Loc;

use crate::access::Operation;
use crate::pattern::Pattern;

/// An instruction of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedSite {
    /// What it does.
    pub operation: Operation,
    /// Whether it is threadgroup memory.
    pub threadgroup: bool,
    /// Where it is in the source.
    pub loc: Loc,
    /// Bytes for each thread.
    pub bytes: u64,
    /// Threads that executed it, each time counted.
    pub executions: u64,
    /// The patterns that occurred, without those of single lanes.
    pub patterns: Vec<Pattern>,
}

/// Watches a run's accesses to shared memory, and counts what it executes.
#[derive(Debug, Default)]
pub struct Recorder {
    sites: BTreeMap<(u32, bool), RecordedSite>,
    /// By step.
    executions: Vec<u64>,
}

impl Recorder {
    /// The instructions that were executed, in the order of the program.
    pub fn sites(&self) -> impl Iterator<Item = &RecordedSite> {
        self.sites.values()
    }

    /// How often threads executed each step of the program, by its number.
    pub fn executions(&self) -> impl Iterator<Item = (u32, u64)> {
        (0..).zip(self.executions.iter().copied()).filter(|&(_, times)| times > 0)
    }

    fn record(&mut self, accesses: &Accesses<'_>) {
        let shared: Vec<(usize, i64)> = accesses
            .each_lane()
            .filter(|&lane| !matches!(accesses.place(lane), MemoryPlace::Private { .. }))
            .map(|lane| (lane, accesses.offset(lane) as i64))
            .collect();
        let Some(&(first, _)) = shared.first() else { return };
        let threadgroup = matches!(accesses.place(first), MemoryPlace::Threadgroup { .. });
        let operation = match accesses.op {
            AccessOp::Load => Operation::Load,
            AccessOp::Store => Operation::Store,
            _ => Operation::Atomic,
        };
        let key = (accesses.site, accesses.op == AccessOp::Load);
        let site = self.sites.entry(key).or_insert_with(|| RecordedSite {
            operation,
            threadgroup,
            loc: accesses.loc,
            bytes: accesses.bytes,
            executions: 0,
            patterns: Vec::new(),
        });
        site.executions += shared.len() as u64;
        let pattern = Pattern::of(&shared, accesses.bytes);
        if shared.len() > 1 && !site.patterns.contains(&pattern) {
            site.patterns.push(pattern);
        }
    }
}

impl Observer for Recorder {
    fn interests(&self) -> Interests {
        Interests { shared: true, steps: true, ..Interests::default() }
    }

    fn on_step(&mut self, site: u32, lanes: u32) {
        let index = site as usize;
        if index >= self.executions.len() {
            self.executions.resize(index + 1, 0);
        }
        self.executions[index] += u64::from(lanes.count_ones());
    }

    fn on_accesses(&mut self, accesses: &Accesses<'_>) {
        self.record(accesses);
    }

    fn on_copies(&mut self, source: &Accesses<'_>, target: &Accesses<'_>) {
        self.record(source);
        self.record(target);
    }
}
