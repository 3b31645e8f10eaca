//! Reports data races: two accesses to one place by different threads, at least one of them a write, not
//! both atomic, with nothing that orders them.
//!
//! What orders accesses: program order; a threadgroup barrier, for threads of one threadgroup (the
//! generations differ); nothing orders different threadgroups of a dispatch. Lanes of one SIMD-group run in
//! lock-step on every device this project has, and much code relies on it; they are compared only if
//! requested for ([`Race::within_simdgroups`]), and then a SIMD-group barrier orders them too.
//!
//! Shadow memory has a cell per four bytes with the latest plain write of each byte, the latest atomic, and
//! two reads from different SIMD-groups, so not every pair is found. Order that a program makes itself, with
//! atomic flags and fences, is not followed: such code is reported, and can be marked ([`Race::ignoring`]).
//! Each pair of instructions is reported once per variable.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_ir::{BarrierScope, Loc};

use super::{Access, AtomicKind, BarrierArrival, Group, Interests, MemorySizes, Observer};
use crate::report::{MemoryPlace, ThreadId, Variable};
use crate::{Dispatch, Program};

/// Granules per page of shadow memory; pages are made when first touched.
const PAGE: u64 = 1024;

/// What one side of a race did.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RaceKind {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// An atomic access, which conflicts with plain ones.
    Atomic,
}

/// One side of a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RaceAccess {
    /// What it did.
    pub kind: RaceKind,
    /// The instruction.
    pub loc: Loc,
    /// The threadgroup's linear number.
    pub group_linear: u64,
    /// The thread's linear index in its threadgroup.
    pub index_in_group: u32,
}

/// Two accesses that nothing orders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RaceFound {
    /// The variable, as the second access names it.
    pub variable: Variable,
    /// Its name in the source.
    pub name: String,
    /// The byte offset of the second access from the variable's start.
    pub offset: u64,
    /// The access that was executed first.
    pub first: RaceAccess,
    /// The other.
    pub second: RaceAccess,
}

/// One access to some bytes of a granule.
#[derive(Clone, Copy)]
struct Record {
    group: u64,
    index: u32,
    generation: u32,
    /// SIMD-group barriers passed.
    step: u32,
    loc: u32,
    bytes: u8,
    writes: bool,
}

/// What happened to four bytes.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// By byte: the latest write of a word may be of half of it.
    writes: [Option<Record>; 4],
    atomic: Option<Record>,
    reads: [Option<Record>; 2],
}

/// See the module's documentation.
#[derive(Default)]
pub struct Race {
    found: Vec<RaceFound>,
    known: BTreeSet<(u32, u32, Variable)>,
    within_simdgroups: bool,
    ignored: BTreeSet<(u32, u32)>,
    locs: Vec<Loc>,
    loc_numbers: BTreeMap<(u32, u32, u32), u32>,
    names: Vec<(Variable, String)>,
    /// By buffer (threadgroup memory: [`THREADGROUP`]) and page.
    pages: BTreeMap<(u32, u64), Box<[Cell]>>,
    /// SIMD-group barriers passed, by SIMD-group of the running threadgroup.
    steps: Vec<u32>,
}

const THREADGROUP: u32 = u32::MAX;

impl std::fmt::Debug for Race {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Race").field("found", &self.found).finish_non_exhaustive()
    }
}

impl Race {
    /// Nothing found yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Compares lanes of one SIMD-group too.
    #[must_use]
    pub fn within_simdgroups(mut self) -> Self {
        self.within_simdgroups = true;
        self
    }

    /// Marks a source line (file number and line) as having only benign races.
    #[must_use]
    pub fn ignoring(mut self, file: u32, line: u32) -> Self {
        self.ignored.insert((file, line));
        self
    }

    /// In order of occurrence.
    pub fn races(&self) -> &[RaceFound] {
        &self.found
    }

    fn loc_number(&mut self, loc: Loc) -> u32 {
        let next = self.locs.len() as u32;
        let number = *self.loc_numbers.entry((loc.file, loc.line, loc.column)).or_insert(next);
        if number == next {
            self.locs.push(loc);
        }
        number
    }

    /// Whether nothing orders the two accesses.
    fn is_concurrent(&self, a: &Record, b: &Record) -> bool {
        if a.group != b.group {
            return true;
        }
        if a.generation != b.generation || a.index == b.index {
            return false;
        }
        a.index / 32 != b.index / 32 || (self.within_simdgroups && a.step == b.step)
    }

    fn touch(&mut self, access: &Access, kind: RaceKind, writes: bool) {
        let (memory, start) = match access.place {
            MemoryPlace::Buffer { buffer, offset } => (buffer, offset),
            MemoryPlace::Threadgroup { offset } => (THREADGROUP, offset),
            MemoryPlace::Private { .. } | MemoryPlace::Constant { .. } => return,
        };
        let loc = self.loc_number(access.loc);
        let thread = &access.thread;
        let step = self.steps.get(thread.simdgroup as usize).copied().unwrap_or(0);
        let end = start + access.bytes;
        for granule in start / 4..end.div_ceil(4) {
            let first = start.saturating_sub(granule * 4);
            let last = (end - granule * 4).min(4);
            let bytes = ((1u8 << last) - 1) & !((1u8 << first) - 1);
            let (group, index, generation) = (thread.group_linear, thread.index_in_group, thread.generation);
            let record = Record { group, index, generation, step, loc, bytes, writes };
            let cell = self.cell(memory, granule);
            let before = *cell;
            cell.note(record, kind);
            self.compare(access, &before, &record, kind);
        }
    }

    fn cell(&mut self, memory: u32, granule: u64) -> &mut Cell {
        let page = self
            .pages
            .entry((memory, granule / PAGE))
            .or_insert_with(|| vec![Cell::default(); PAGE as usize].into_boxed_slice());
        &mut page[(granule % PAGE) as usize]
    }

    fn compare(&mut self, access: &Access, cell: &Cell, new: &Record, kind: RaceKind) {
        let atomic = if kind == RaceKind::Atomic { None } else { cell.atomic };
        let writes = cell.writes.into_iter().map(|write| (write, RaceKind::Write));
        let others =
            [(atomic, RaceKind::Atomic), (cell.reads[0], RaceKind::Read), (cell.reads[1], RaceKind::Read)];
        for (old, old_kind) in writes.chain(others) {
            let Some(old) = old else { continue };
            if (old.writes || new.writes) && old.bytes & new.bytes != 0 && self.is_concurrent(&old, new) {
                self.report(access, (&old, old_kind), (new, kind));
            }
        }
    }

    fn report(&mut self, access: &Access, first: (&Record, RaceKind), second: (&Record, RaceKind)) {
        let side = |(record, kind): (&Record, RaceKind)| RaceAccess {
            kind,
            loc: self.locs[record.loc as usize],
            group_linear: record.group,
            index_in_group: record.index,
        };
        let (first_loc, second_loc) = (first.0.loc, second.0.loc);
        let (first, second) = (side(first), side(second));
        let is_ignored = |loc: Loc| self.ignored.contains(&(loc.file, loc.line));
        if is_ignored(first.loc) || is_ignored(second.loc) {
            return;
        }
        let pair = (first_loc.min(second_loc), first_loc.max(second_loc), access.variable);
        if self.known.insert(pair) {
            let name = self.names.iter().find(|(named, _)| *named == access.variable);
            let name = name.map_or_else(String::new, |(_, name)| name.clone());
            let (variable, offset) = (access.variable, access.offset);
            self.found.push(RaceFound { variable, name, offset, first, second });
        }
    }
}

impl Cell {
    fn note(&mut self, record: Record, kind: RaceKind) {
        match kind {
            RaceKind::Write => {
                let written = self.writes.iter_mut().enumerate().filter(|(n, _)| record.bytes >> n & 1 == 1);
                written.for_each(|(_, write)| *write = Some(record));
            }
            RaceKind::Atomic => self.atomic = Some(record),
            RaceKind::Read => {
                // Two reads from different SIMD-groups: a later write conflicts with one at least.
                let is_same_simdgroup =
                    |old: &Record| old.group == record.group && old.index / 32 == record.index / 32;
                let slot = usize::from(self.reads[0].as_ref().is_some_and(|old| !is_same_simdgroup(old)));
                self.reads[slot] = Some(record);
            }
        }
    }
}

impl Observer for Race {
    fn interests(&self) -> Interests {
        Interests { shared: true, ..Interests::default() }
    }

    fn on_dispatch(&mut self, program: &Program, _dispatch: &Dispatch, _sizes: MemorySizes) {
        self.names = program.variables().map(|(variable, name)| (variable, name.to_owned())).collect();
        // Dispatches of one queue are ordered.
        self.pages.clear();
    }

    fn on_group_start(&mut self, group: &Group) {
        self.pages.retain(|&(memory, _), _| memory != THREADGROUP);
        self.steps = vec![0; group.simdgroups as usize];
    }

    fn on_barrier(&mut self, arrival: &BarrierArrival) {
        let ThreadId { simdgroup, .. } = arrival.thread;
        if arrival.scope == BarrierScope::Simdgroup
            && let Some(step) = self.steps.get_mut(simdgroup as usize)
        {
            *step += 1;
        }
    }

    fn on_load(&mut self, access: &Access) {
        self.touch(access, RaceKind::Read, false);
    }

    fn on_store(&mut self, access: &Access) {
        self.touch(access, RaceKind::Write, true);
    }

    fn on_copy(&mut self, source: &Access, target: &Access) {
        self.touch(source, RaceKind::Read, false);
        self.touch(target, RaceKind::Write, true);
    }

    fn on_atomic(&mut self, access: &Access, kind: AtomicKind) {
        self.touch(access, RaceKind::Atomic, kind != AtomicKind::Load);
    }
}
