//! Data races: two accesses to one address by different threads, at least one a write, not both atomic, with
//! nothing that orders them.
//!
//! [`super::clock`] says what orders accesses, [`super::shadow`] what is remembered. Two lanes that write one
//! address in one instruction race, too.

use anymetal_interp::{
    Access, AtomicKind, BarrierArrival, Bytes, Dispatch, FenceExecuted, Group, MemoryPlace, ThreadId,
};
use anymetal_ir::{BarrierScope, Loc};
use rustc_hash::FxHashMap;

use super::clock::{Class, Clocks, Order, Published};
use super::collector::{Collector, Seen, Text};
use super::shadow::{Record, Shadow, THREADGROUP};
use crate::FindingKind;
use crate::finding::{Action, Position};

/// All memory.
const ALL_MEMORY: u32 = 7;

/// How an access takes part in races.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Read,
    Write,
    Atomic(AtomicKind),
}

impl Mode {
    fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Atomic(AtomicKind::Load))
    }

    fn is_atomic(self) -> bool {
        matches!(self, Self::Atomic(_))
    }

    fn action(self) -> Action {
        match self {
            Self::Read => Action::Read,
            Self::Write => Action::Write,
            Self::Atomic(kind) => action_of(kind),
        }
    }
}

pub(super) fn action_of(kind: AtomicKind) -> Action {
    match kind {
        AtomicKind::Load => Action::AtomicLoad,
        AtomicKind::Store => Action::AtomicStore,
        AtomicKind::ReadModifyWrite => Action::AtomicReadModifyWrite,
    }
}

/// What a record's site was.
#[derive(Clone, Copy, Debug)]
struct Site {
    loc: Loc,
    bytes: u64,
    mode: Mode,
}

/// An earlier access that is not ordered with one now.
struct Conflict {
    earlier: Record,
    order: Order,
    at: u64,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Races {
    shadow: Shadow,
    clocks: Clocks,
    /// By step.
    sites: FxHashMap<u32, Site>,
    /// What atomic locations pass on, by memory and first byte.
    published: FxHashMap<(u32, u64), Published>,
    /// The stores of the running instruction, whose values are not in memory yet.
    running: Vec<(u64, Bytes)>,
    running_site: (u32, u64),
    running_lane: u32,
    group: Group,
    dispatch: Dispatch,
    /// Memory flags of the barrier that SIMD-groups of the threadgroup wait at.
    waiting_memory: u32,
}

impl Races {
    pub(crate) fn new(max_bytes: u64) -> Self {
        Self {
            shadow: Shadow::new(max_bytes),
            clocks: Clocks::default(),
            sites: FxHashMap::default(),
            published: FxHashMap::default(),
            running: Vec::new(),
            running_site: (u32::MAX, 0),
            running_lane: 0,
            group: Group { position: [0; 3], linear: 0, size: [0; 3], simdgroups: 0 },
            dispatch: Dispatch::groups([1; 3], [1; 3]),
            waiting_memory: ALL_MEMORY,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.shadow.bytes()
    }

    pub(crate) fn not_followed(&self) -> u64 {
        self.shadow.not_followed
    }

    pub(crate) fn begin(&mut self, dispatch: &Dispatch) {
        self.shadow.clear();
        self.sites.clear();
        self.published.clear();
        self.running.clear();
        self.running_site = (u32::MAX, 0);
        self.dispatch = *dispatch;
    }

    pub(crate) fn start_group(&mut self, group: &Group) {
        self.group = *group;
        self.clocks.start(group.linear, group.simdgroups);
        self.waiting_memory = ALL_MEMORY;
        self.published.retain(|&(memory, _), _| memory != THREADGROUP);
    }

    pub(crate) fn arrive(&mut self, arrival: &BarrierArrival) {
        let memory = arrival.memory.unwrap_or(ALL_MEMORY);
        match arrival.scope {
            BarrierScope::Threadgroup => self.waiting_memory &= memory,
            BarrierScope::Simdgroup => self.clocks.pass_simdgroup_barrier(arrival.thread.simdgroup, memory),
            BarrierScope::Thread => {}
        }
    }

    pub(crate) fn pass_barrier(&mut self) {
        self.clocks.pass_barrier(std::mem::replace(&mut self.waiting_memory, ALL_MEMORY));
    }

    pub(crate) fn fence(&mut self, fence: &FenceExecuted) {
        let first = fence.thread.simdgroup * 32;
        for lane in (0..32).filter(|lane| fence.lanes >> lane & 1 != 0) {
            self.clocks.fence(first + lane, (fence.memory, fence.order, fence.scope));
        }
    }

    pub(crate) fn load(&mut self, access: &Access, findings: &mut Collector) {
        self.touch(access, Mode::Read, findings);
    }

    pub(crate) fn store(&mut self, access: &Access, findings: &mut Collector) {
        self.touch(access, Mode::Write, findings);
    }

    pub(crate) fn atomic(&mut self, access: &Access, kind: AtomicKind, findings: &mut Collector) {
        self.touch(access, Mode::Atomic(kind), findings);
        let Some((memory, start, _)) = location(access) else { return };
        let (reads, writes) = (kind != AtomicKind::Store, kind != AtomicKind::Load);
        let before = self.published.get(&(memory, start));
        match self.clocks.atomic(access.thread.index_in_group, (reads, writes), before) {
            Some(published) => drop(self.published.insert((memory, start), published)),
            None => drop(self.published.remove(&(memory, start))),
        }
    }

    fn touch(&mut self, access: &Access, mode: Mode, findings: &mut Collector) {
        let Some((memory, start, class)) = location(access) else { return };
        let ThreadId { group_linear, index_in_group: index, .. } = access.thread;
        let thread = Record::thread_number(group_linear, index);
        let new = Record { thread, date: self.clocks.now(), site: site_of(access, mode) };
        self.sites.entry(new.site).or_insert(Site { loc: access.loc, bytes: access.bytes, mode });
        let mut conflicts: Vec<Conflict> = Vec::new();
        let (clocks, sites) = (&self.clocks, &self.sites);
        let order = |earlier: &Record| {
            if memory == THREADGROUP && earlier.group() != group_linear {
                Order::Before
            } else {
                clocks.order(earlier, index, class)
            }
        };
        self.shadow.for_each_cell(memory, start, access.bytes, |cell, at| {
            let mut compare = |earlier: &Record| {
                if !earlier.is_some() || earlier.thread == thread {
                    return;
                }
                let order = order(earlier);
                if order != Order::Before {
                    // One of each instruction will do for a finding.
                    if conflicts.iter().all(|known| known.earlier.site != earlier.site) {
                        conflicts.push(Conflict { earlier: *earlier, order, at });
                    }
                }
            };
            compare(&cell.write);
            if !mode.is_atomic() {
                compare(&cell.atomic);
            }
            if mode.writes() {
                let races = |read: &&Record| !mode.is_atomic() || !is_atomic(sites, read);
                cell.reads.iter().filter(races).for_each(&mut compare);
            }
            match mode {
                Mode::Read => cell.note_read(new, |old| order(old) == Order::Before),
                Mode::Write => cell.write = new,
                Mode::Atomic(AtomicKind::Load) => cell.note_atomic_read(new, |old| is_atomic(sites, old)),
                Mode::Atomic(_) => cell.atomic = new,
            }
        });
        for conflict in conflicts {
            self.report(access, mode, class, &conflict, findings);
        }
        if mode == Mode::Write {
            self.remember_store(access, start);
        }
    }

    /// Lanes of one instruction write after all of them were reported.
    fn remember_store(&mut self, access: &Access, start: u64) {
        let running = (access.site, access.thread.group_linear << 5 | u64::from(access.thread.simdgroup));
        // Lanes come in ascending order: a lane that does not is of the next execution.
        if self.running_site != running || access.thread.lane <= self.running_lane {
            self.running.clear();
            self.running_site = running;
        }
        self.running_lane = access.thread.lane;
        self.running.push((start, access.written));
    }

    /// What an earlier write left, if the accesses are of the same bytes.
    fn left_by(&self, conflict: &Conflict, access: &Access, start: u64) -> Bytes {
        let same_instruction = conflict.earlier.site == site_of(access, Mode::Write)
            && self.running_site.0 == access.site
            && conflict.earlier.group() == access.thread.group_linear;
        let running = self.running.iter().rev().find(|(at, _)| *at == start);
        match running {
            Some(&(_, written)) if same_instruction => written,
            _ => access.before,
        }
    }

    fn report(
        &self,
        access: &Access,
        mode: Mode,
        class: Class,
        conflict: &Conflict,
        findings: &mut Collector,
    ) {
        let Some(&site) = self.sites.get(&conflict.earlier.site) else { return };
        let start = location(access).map_or(0, |(_, start, _)| start);
        let left = if site.mode.writes() { self.left_by(conflict, access, start) } else { access.before };
        let now = if mode.writes() { access.written } else { access.before };
        let equal = mode == Mode::Write
            && site.mode == Mode::Write
            && !now.as_slice().is_empty()
            && access.bytes as usize <= Bytes::MAX
            && now == left;
        let kind = self.kind(conflict, &access.thread, equal);
        let earlier = Seen {
            action: site.mode.action(),
            thread: self.position_of(&conflict.earlier, &access.thread),
            loc: site.loc,
            bytes: site.bytes,
            offset: (access.offset + conflict.at.saturating_sub(start)) as i64,
            value: Some(left),
        };
        let sides = [earlier, Seen::access(access, mode.action(), Some(now))];
        let order = conflict.order;
        findings.report(kind, &sides, Some(access.variable), |findings| {
            let name = findings.memory(access.variable).map_or("", |memory| &memory.name);
            Text {
                message: message(mode, site.mode, name),
                remedy: Some(remedy(kind, class, order, [site.mode, mode])),
            }
        });
    }

    fn kind(&self, conflict: &Conflict, now: &ThreadId, equal: bool) -> FindingKind {
        if conflict.order == Order::ByEmptyBarrier {
            return FindingKind::BarrierWithoutFlags;
        }
        if equal {
            return FindingKind::RaceOfEqualValues;
        }
        if conflict.earlier.group() != now.group_linear {
            FindingKind::RaceBetweenThreadgroups
        } else if conflict.earlier.simdgroup() != now.simdgroup {
            FindingKind::RaceWithinThreadgroup
        } else {
            FindingKind::RaceWithinSimdgroup
        }
    }

    /// The position of a thread of this launch by its number.
    fn position_of(&self, record: &Record, now: &ThreadId) -> Position {
        let (group, index) = (record.group(), record.index());
        let threadgroup = if group == now.group_linear { now.group } else { self.group_at(group) };
        let size = self.dispatch.size_of_group(threadgroup);
        let [x, y, _] = size.map(|extent| extent.max(1));
        let thread = [index % x, index / x % y, index / x / y];
        let full = self.dispatch.group_size;
        let grid = std::array::from_fn(|d| threadgroup[d].wrapping_mul(full[d]).wrapping_add(thread[d]));
        Position { threadgroup, thread, grid, simdgroup: index / 32, lane: index % 32 }
    }

    fn group_at(&self, linear: u64) -> [u32; 3] {
        let [x, y, _] = self.dispatch.group_counts().map(|count| u64::from(count.max(1)));
        [linear % x, linear / x % y, linear / x / y].map(|at| at as u32)
    }
}

/// A number for what a step does to memory: a copy reads and writes.
fn site_of(access: &Access, mode: Mode) -> u32 {
    access.site << 1 | u32::from(mode.writes())
}

fn is_atomic(sites: &FxHashMap<u32, Site>, record: &Record) -> bool {
    sites.get(&record.site).is_some_and(|site| site.mode.is_atomic())
}

/// The memory that shadow memory is kept of: its number, the first byte, the class.
fn location(access: &Access) -> Option<(u32, u64, Class)> {
    match access.place {
        MemoryPlace::Buffer { buffer, offset } => Some((buffer, offset, Class::Device)),
        MemoryPlace::Threadgroup { offset } => Some((THREADGROUP, offset, Class::Threadgroup)),
        MemoryPlace::Private { .. } | MemoryPlace::Constant { .. } => None,
    }
}

fn message(now: Mode, before: Mode, name: &str) -> String {
    let word = |mode: Mode| match mode {
        Mode::Read => "a read",
        Mode::Write => "a write",
        Mode::Atomic(_) => "an atomic access",
    };
    format!("{} of `{name}` races with {}", word(now), word(before))
}

fn remedy(kind: FindingKind, class: Class, order: Order, modes: [Mode; 2]) -> String {
    let flag = match class {
        Class::Device => "mem_flags::mem_device",
        Class::Threadgroup => "mem_flags::mem_threadgroup",
    };
    if matches!(order, Order::ByEmptyBarrier | Order::ByOtherBarrier) {
        return format!("the barrier between them does not name this memory; give it `{flag}`");
    }
    match kind {
        FindingKind::RaceWithinSimdgroup => format!(
            "put `simdgroup_barrier({flag})` between them: threads of a SIMD-group do not run in step"
        ),
        FindingKind::RaceWithinThreadgroup => format!("put `threadgroup_barrier({flag})` between them"),
        FindingKind::RaceOfEqualValues => "let one thread write, or make the writes atomic".to_owned(),
        _ if modes.iter().any(|mode| matches!(mode, Mode::Atomic(_))) => {
            "make both accesses atomic: no barrier orders threadgroups".to_owned()
        }
        _ => "no barrier orders threadgroups: use atomics, or \
              `atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device)` before and \
              after an atomic flag, or two launches"
            .to_owned(),
    }
}
