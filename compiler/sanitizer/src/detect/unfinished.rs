//! Runs that a limit ends: what each SIMD-group did then.

use anymetal_interp::Unfinished;
use anymetal_ir::Loc;

use super::collector::Collector;

/// Places that are told.
const MAX_PLACES: usize = 4;

/// What SIMD-groups at one place do.
#[derive(Debug)]
struct Standstill {
    loc: Loc,
    waits: bool,
    first: Unfinished,
    simdgroups: u32,
    threads: u32,
}

/// What the SIMD-groups of the threadgroup that ran last were doing, by place.
#[derive(Default, Debug)]
pub(super) struct Standstills(Vec<Standstill>);

impl Standstills {
    pub(super) fn add(&mut self, simdgroup: &Unfinished) {
        let Unfinished { loc, waits, lanes, .. } = *simdgroup;
        let threads = lanes.count_ones();
        match self.0.iter_mut().find(|known| known.loc == loc && known.waits == waits) {
            Some(known) => {
                known.simdgroups += 1;
                known.threads += threads;
            }
            None => self.0.push(Standstill { loc, waits, first: *simdgroup, simdgroups: 1, threads }),
        }
    }

    /// In words, those that execute first; `None` if there is nothing to tell.
    pub(super) fn describe(&self, findings: &Collector) -> Option<String> {
        let mut all: Vec<&Standstill> = self.0.iter().collect();
        all.sort_by_key(|standstill| standstill.waits);
        let [x, y, z] = all.first()?.first.thread.group;
        let places: Vec<String> = all.iter().take(MAX_PLACES).map(|one| one.describe(findings)).collect();
        Some(format!("in threadgroup ({x},{y},{z}) {}", places.join(", ")))
    }
}

impl Standstill {
    fn describe(&self, findings: &Collector) -> String {
        let Self { simdgroups, threads, .. } = *self;
        let [x, y, z] = self.first.thread.position_in_group;
        let groups = if simdgroups == 1 { "SIMD-group" } else { "SIMD-groups" };
        let what = match (self.waits, simdgroups) {
            (true, 1) => "waits at the barrier",
            (true, _) => "wait at the barrier",
            (false, 1) => "repeats the loop",
            (false, _) => "repeat the loop",
        };
        let first = if threads == 1 { "thread" } else { "first thread" };
        let threads = if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        let place = findings.place(self.loc);
        format!(
            "{simdgroups} {groups} ({threads}, {first} ({x},{y},{z})) {what} at {}:{}:{}",
            place.file, place.line, place.column
        )
    }
}
