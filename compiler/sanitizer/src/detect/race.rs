//! Data races: two accesses to one address by different threads, at least one a write, not both atomic, with
//! nothing that orders them.
//!
//! [`super::clock`] says what orders accesses, [`super::shadow`] what is remembered. Two lanes that write one
//! address in one instruction race, too.

use anymetal_interp::{
    AccessOp, Accesses, AtomicKind, BarrierArrival, Bytes, Dispatch, FenceExecuted, Group, MemoryPlace,
    ThreadId, Variable,
};
use anymetal_ir::{BarrierScope, Loc};
use rustc_hash::FxHashMap;

use super::clock::{Class, Clocks, Order, Published};
use super::collector::{Collector, Seen, Text};
use super::shadow::{Cell, Record, Shadow, Site, THREADGROUP};
use crate::finding::{Action, Position};
use crate::{FindingKind, LaunchInfo};

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
    fn of(op: AccessOp) -> Self {
        match (op.atomic(), op) {
            (Some(kind), _) => Self::Atomic(kind),
            (None, AccessOp::Load) => Self::Read,
            (None, _) => Self::Write,
        }
    }

    fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Atomic(AtomicKind::Load))
    }

    fn is_atomic(self) -> bool {
        matches!(self, Self::Atomic(_))
    }
}

/// What a record's site was.
#[derive(Clone, Copy, Debug)]
struct SiteInfo {
    loc: Loc,
    bytes: u64,
    mode: Mode,
    action: Action,
    /// Whether it is a write of a whole object of which only a part is stored.
    is_whole: bool,
}

/// Objects of which the next store of a SIMD-group writes a part in each lane.
#[derive(Clone, Copy, Debug)]
struct Wholes {
    lanes: u32,
    bytes: u64,
    loc: Loc,
    site: u32,
    /// Where they begin.
    at: [usize; 32],
}

impl Wholes {
    /// The parts of a lane's object around the bytes that are stored: where they begin, and their lengths.
    fn around(&self, lane: usize, start: u64, bytes: u64) -> [(u64, u64); 2] {
        let (first, end) = (self.at[lane] as u64, start + bytes);
        let is_around = self.lanes >> lane & 1 != 0 && first <= start && end <= first + self.bytes;
        // The object is not in bounds as a whole, or is not this lane's.
        if !is_around {
            return [(start, 0); 2];
        }
        [(first, start - first), (end, first + self.bytes - end)]
    }
}

/// Memory that shadow memory is kept of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Memory {
    number: u32,
    class: Class,
}

/// An earlier access that is not ordered with one now.
struct Conflict {
    /// The lane that accesses now.
    lane: usize,
    earlier: Record,
    order: Order,
    at: u64,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Races {
    shadow: Shadow,
    clocks: Clocks,
    /// By [`Site::index`].
    sites: Vec<Option<SiteInfo>>,
    /// What atomic locations pass on, by memory and first byte.
    published: FxHashMap<(u32, u64), Published>,
    group: Group,
    dispatch: Dispatch,
    /// Memory flags of the barrier that SIMD-groups of the threadgroup wait at.
    waiting_memory: u32,
    /// By SIMD-group, until its store follows.
    wholes: FxHashMap<u32, Wholes>,
}

impl Races {
    pub(crate) fn new(max_bytes: u64) -> Self {
        Self {
            shadow: Shadow::new(max_bytes),
            clocks: Clocks::default(),
            sites: Vec::new(),
            published: FxHashMap::default(),
            group: Group { position: [0; 3], linear: 0, size: [0; 3], simdgroups: 0 },
            dispatch: Dispatch::groups([1; 3], [1; 3]),
            waiting_memory: ALL_MEMORY,
            wholes: FxHashMap::default(),
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
        self.dispatch = *dispatch;
    }

    pub(crate) fn start_group(&mut self, group: &Group) {
        self.group = *group;
        self.clocks.start(group.linear, group.simdgroups);
        self.waiting_memory = ALL_MEMORY;
        self.wholes.clear();
        self.published.retain(|&(memory, _), _| memory != THREADGROUP);
    }

    pub(crate) fn arrive(&mut self, arrival: &BarrierArrival) {
        let memory = arrival.memory.unwrap_or(ALL_MEMORY);
        match arrival.scope {
            BarrierScope::Threadgroup | BarrierScope::Grid => self.waiting_memory &= memory,
            BarrierScope::Simdgroup => self.clocks.pass_simdgroup_barrier(arrival.thread.simdgroup, memory),
            BarrierScope::Thread => {}
        }
    }

    pub(crate) fn pass_barrier(&mut self) {
        self.clocks.pass_barrier(std::mem::replace(&mut self.waiting_memory, ALL_MEMORY));
    }

    /// What happened so far comes before all that follows, in every threadgroup.
    pub(crate) fn pass_grid_barrier(&mut self) {
        self.shadow.clear();
        self.published.clear();
    }

    pub(crate) fn fence(&mut self, fence: &FenceExecuted) {
        let first = fence.thread.simdgroup * 32;
        for lane in (0..32).filter(|lane| fence.lanes >> lane & 1 != 0) {
            self.clocks.fence(first + lane, (fence.memory, fence.order, fence.scope));
        }
    }

    /// The next store of the SIMD-group writes parts of these objects.
    pub(crate) fn write_wholes(&mut self, objects: &Accesses<'_>) {
        let Accesses { lanes, bytes, loc, site, simdgroup, .. } = *objects;
        self.wholes.insert(simdgroup, Wholes { lanes, bytes, loc, site, at: *objects.positions() });
    }

    /// The accesses of one instruction in all lanes.
    pub(crate) fn access(&mut self, accesses: &Accesses<'_>, info: &LaunchInfo, findings: &mut Collector) {
        let mode = Mode::of(accesses.op);
        let memory_of = |lane: usize| {
            let place = accesses.place(lane);
            location(place)
                .map(|(number, _)| Memory { number, class: class(place, accesses.variable(lane), info) })
        };
        if mode == Mode::Write
            && !self.wholes.is_empty()
            && let Some(wholes) = self.wholes.remove(&accesses.simdgroup)
        {
            for lane in accesses.each_lane() {
                if let Some(memory) = memory_of(lane) {
                    self.touch(accesses, (1 << lane, memory), mode, Some(&wholes), findings);
                }
            }
        }
        if accesses.common_variable().is_some() {
            let first = accesses.lanes.trailing_zeros() as usize & 31;
            if let Some(memory) = memory_of(first) {
                self.touch(accesses, (accesses.lanes, memory), mode, None, findings);
            }
        } else {
            for lane in accesses.each_lane() {
                if let Some(memory) = memory_of(lane) {
                    self.touch(accesses, (1 << lane, memory), mode, None, findings);
                }
            }
        }
        if let Mode::Atomic(kind) = mode {
            self.publish(accesses, kind);
        }
    }

    /// What atomic locations pass on after the accesses.
    fn publish(&mut self, accesses: &Accesses<'_>, kind: AtomicKind) {
        if self.clocks.is_without_fences() && self.published.is_empty() {
            return;
        }
        let (reads, writes) = (kind != AtomicKind::Store, kind != AtomicKind::Load);
        for lane in accesses.each_lane() {
            let Some(key) = location(accesses.place(lane)) else { continue };
            let index = accesses.simdgroup * 32 + lane as u32;
            match self.clocks.atomic(index, (reads, writes), self.published.get(&key)) {
                Some(published) => drop(self.published.insert(key, published)),
                None => drop(self.published.remove(&key)),
            }
        }
    }

    /// Compares accesses of some lanes to one memory with those before them, and remembers them; with
    /// `wholes` those to the rest of the objects that they are parts of.
    fn touch(
        &mut self,
        accesses: &Accesses<'_>,
        (lanes, memory): (u32, Memory),
        mode: Mode,
        wholes: Option<&Wholes>,
        findings: &mut Collector,
    ) {
        let site = self.site(accesses, mode, wholes);
        let (group, first) = (accesses.group().linear, accesses.simdgroup * 32);
        let horizon = self.clocks.horizon(accesses.simdgroup, memory.class);
        let (clocks, date, sites) = (&self.clocks, self.clocks.now(), &self.sites);
        let is_other_groups = |earlier: &Record| memory.number == THREADGROUP && earlier.group() != group;
        let mut conflicts: Vec<Conflict> = Vec::new();
        for lane in accesses.each_lane().filter(|lane| lanes >> lane & 1 != 0) {
            let index = first + lane as u32;
            let new = Record { thread: Record::thread_number(group, index), date, site };
            let order = |earlier: &Record| {
                if horizon.is_before(earlier) || is_other_groups(earlier) {
                    Order::Before
                } else {
                    clocks.order(earlier, index, memory.class)
                }
            };
            let start = accesses.positions()[lane] as u64;
            // Of two parts of one object each races with the rest of the other; the rests need no comparison.
            let are_rests = |earlier: &Record| {
                wholes.is_some() && sites[earlier.site.index()].is_some_and(|site| site.is_whole)
            };
            let ranges = match wholes {
                Some(wholes) => wholes.around(lane, start, accesses.bytes),
                None => [(start, accesses.bytes), (start, 0)],
            };
            for (start, bytes) in ranges {
                self.shadow.for_each_cell(memory.number, start, bytes, |cell, at| {
                    let compare = |earlier: &Record| {
                        if earlier.is_some() && earlier.thread != new.thread && !are_rests(earlier) {
                            let order = order(earlier);
                            if order != Order::Before {
                                note(&mut conflicts, Conflict { lane, earlier: *earlier, order, at });
                            }
                        }
                    };
                    step(cell, new, mode, compare, |old| order(old) == Order::Before);
                });
            }
        }
        for conflict in conflicts {
            self.report(accesses, (mode, wholes.is_some()), memory.class, &conflict, findings);
        }
    }

    /// The number of what accesses memory, which is remembered.
    fn site(&mut self, accesses: &Accesses<'_>, mode: Mode, wholes: Option<&Wholes>) -> Site {
        let number = wholes.map_or(accesses.site, |wholes| wholes.site);
        let site = Site::new(number, mode.is_atomic(), mode.writes());
        if self.sites.len() <= site.index() {
            self.sites.resize(site.index() + 1, None);
        }
        let action = Action::of(accesses.op);
        let (loc, bytes) = wholes.map_or((accesses.loc, accesses.bytes), |wholes| (wholes.loc, wholes.bytes));
        self.sites[site.index()] = Some(SiteInfo { loc, bytes, mode, action, is_whole: wholes.is_some() });
        site
    }

    /// What an earlier write left, if the accesses are of the same bytes: lanes of one instruction
    /// write after all of them were reported.
    fn left_by(&self, conflict: &Conflict, accesses: &Accesses<'_>) -> Option<Bytes> {
        let earlier = conflict.earlier;
        let lane = (earlier.index() % 32) as usize;
        let same_instruction = earlier.site == Site::new(accesses.site, false, true)
            && earlier.group() == accesses.group().linear
            && earlier.simdgroup() == accesses.simdgroup
            && earlier.date == self.clocks.now()
            && lane < conflict.lane
            && accesses.lanes >> lane & 1 != 0
            && accesses.place(lane) == accesses.place(conflict.lane);
        same_instruction.then(|| accesses.written(lane))
    }

    fn report(
        &self,
        accesses: &Accesses<'_>,
        (mode, is_whole): (Mode, bool),
        class: Class,
        conflict: &Conflict,
        findings: &mut Collector,
    ) {
        let Some(&Some(site)) = self.sites.get(conflict.earlier.site.index()) else { return };
        let access = &accesses.access(conflict.lane);
        let start = accesses.positions()[conflict.lane] as u64;
        let left = self.left_by(conflict, accesses).filter(|_| mode == Mode::Write).unwrap_or(access.before);
        let now = if mode.writes() { access.written } else { access.before };
        let of_parts = is_whole || site.is_whole;
        let equal = !of_parts
            && mode == Mode::Write
            && site.mode == Mode::Write
            && !now.as_slice().is_empty()
            && access.bytes as usize <= Bytes::MAX
            && now == left;
        let kind = self.kind(conflict, &access.thread, equal);
        let earlier = Seen {
            action: site.action,
            thread: self.position_of(&conflict.earlier, &access.thread),
            loc: site.loc,
            bytes: site.bytes,
            offset: (access.offset + conflict.at.saturating_sub(start)) as i64,
            value: Some(left).filter(|_| !of_parts),
        };
        let sides = [earlier, Seen::access(access, Action::of(accesses.op), Some(now))];
        let order = conflict.order;
        findings.report(kind, &sides, Some(access.variable), |findings| {
            let name = findings.memory(access.variable).map_or("", |memory| &memory.name);
            Text {
                message: message(mode, site.mode, name)
                    + if of_parts { " of another component of the same vector" } else { "" },
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

/// Compares an access with what a cell remembers, and remembers it there.
#[inline]
fn step(
    cell: &mut Cell,
    new: Record,
    mode: Mode,
    mut compare: impl FnMut(&Record),
    is_before: impl Fn(&Record) -> bool,
) {
    compare(&cell.write);
    if !mode.is_atomic() {
        compare(&cell.atomic);
    }
    if mode.writes() {
        let races = |read: &&Record| !mode.is_atomic() || !read.site.is_atomic();
        cell.reads.iter().filter(races).for_each(&mut compare);
    }
    match mode {
        Mode::Read => cell.note_read(new, is_before),
        Mode::Write => cell.write = new,
        Mode::Atomic(AtomicKind::Load) => cell.note_atomic_read(new),
        Mode::Atomic(_) => cell.atomic = new,
    }
}

/// Keeps a conflict: one with each instruction will do for the finding of a lane.
#[cold]
fn note(conflicts: &mut Vec<Conflict>, new: Conflict) {
    let is_same = |known: &Conflict| known.lane == new.lane && known.earlier.site == new.earlier.site;
    if !conflicts.iter().rev().take_while(|known| known.lane == new.lane).any(is_same) {
        conflicts.push(new);
    }
}

/// The memory that shadow memory is kept of, and the first byte.
fn location(place: MemoryPlace) -> Option<(u32, u64)> {
    match place {
        MemoryPlace::Buffer { buffer, offset } => Some((buffer, offset)),
        MemoryPlace::Threadgroup { offset } => Some((THREADGROUP, offset)),
        MemoryPlace::Private { .. } | MemoryPlace::Constant { .. } => None,
    }
}

/// What barriers name the memory by.
fn class(place: MemoryPlace, variable: Variable, info: &LaunchInfo) -> Class {
    match (place, variable) {
        (MemoryPlace::Threadgroup { .. }, _) => Class::Threadgroup,
        (_, Variable::Resident(_)) => Class::Resident,
        _ if info.is_texture(variable) => Class::Texture,
        _ => Class::Device,
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
        Class::Device | Class::Resident => "mem_flags::mem_device",
        Class::Texture => "mem_flags::mem_texture",
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
