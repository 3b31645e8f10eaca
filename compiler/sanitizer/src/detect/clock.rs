//! Happens-before between the threads of a launch.
//!
//! Owns [`Clocks`]. Time is one counter for each threadgroup, advanced at each barrier, fence and SIMD-group
//! barrier, so an access is dated by the counter's value. For each class of memory a threadgroup, a
//! SIMD-group and a thread know up to which date the accesses of others come before their next one. What a
//! thread knows of other threadgroups came through a release fence, an atomic location and an acquire
//! fence; it is sparse.
//!
//! Source: FastTrack's epochs (Flanagan and Freund, PLDI 2009), with the barrier as one epoch of a whole
//! threadgroup; MSL specification §6.9.1 (barriers) and §6.15 (fences and atomics).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::shadow::Record;

/// Facts about other threads that one thread or location may hold. Beyond it, accesses of threads that are
/// not known count as ordered.
const MAX_FACTS: usize = 1 << 16;

/// Memory that a barrier's flags name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Device,
    Threadgroup,
    Texture,
    /// What a loaded address leads to: a buffer or a texture.
    Resident,
}

impl Class {
    fn index(self) -> usize {
        self as usize
    }

    /// MSL's `mem_flags` bits, each of which orders the memory.
    fn flags(self) -> u32 {
        match self {
            Self::Device => 1,
            Self::Threadgroup => 2,
            Self::Texture => 4,
            Self::Resident => 1 | 4,
        }
    }

    const ALL: [Self; 4] = [Self::Device, Self::Threadgroup, Self::Texture, Self::Resident];
}

/// Dates by class.
type Dates = [u32; Class::ALL.len()];

fn join(a: &mut Dates, b: Dates, memory: u32) {
    for class in Class::ALL {
        if memory & class.flags() != 0 {
            a[class.index()] = a[class.index()].max(b[class.index()]);
        }
    }
}

/// Whose accesses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Of {
    Threadgroup(u64),
    /// Threadgroup and SIMD-group.
    Simdgroup(u64, u32),
    Thread(u64),
}

/// Accesses before these dates are known.
#[derive(Clone, Default, Debug)]
pub(crate) struct Knowledge {
    facts: BTreeMap<Of, Dates>,
    /// There were more than fit.
    overflowed: bool,
}

impl Knowledge {
    fn add(&mut self, of: Of, dates: Dates, memory: u32) {
        if self.facts.len() >= MAX_FACTS && !self.facts.contains_key(&of) {
            self.overflowed = true;
            return;
        }
        join(self.facts.entry(of).or_default(), dates, memory);
    }

    fn join(&mut self, other: &Self, memory: u32) {
        for (&of, &dates) in &other.facts {
            self.add(of, dates, memory);
        }
        self.overflowed |= other.overflowed;
    }

    fn covers(&self, record: &Record, class: Class) -> bool {
        let (group, simdgroup) = (record.group(), record.simdgroup());
        let known = |of: Of| self.facts.get(&of).is_some_and(|dates| record.date < dates[class.index()]);
        self.overflowed
            || known(Of::Threadgroup(group))
            || known(Of::Simdgroup(group, simdgroup))
            || known(Of::Thread(record.thread))
    }
}

/// What an atomic location passes on.
#[derive(Clone, Default, Debug)]
pub(crate) struct Published {
    /// To every threadgroup: from fences of device scope.
    wide: Option<Arc<Knowledge>>,
    /// To this threadgroup alone: from its fences of any scope. One is enough, as a threadgroup that ended
    /// takes nothing any more.
    local: Option<(u64, Arc<Knowledge>)>,
}

impl Published {
    fn local(&self, group: u64) -> Option<&Arc<Knowledge>> {
        self.local.as_ref().filter(|(of, _)| *of == group).map(|(_, knowledge)| knowledge)
    }

    /// What both pass on, after an access of this threadgroup.
    fn joined(&self, other: &Self, group: u64) -> Self {
        let wide = join_shared(self.wide.as_ref(), other.wide.as_ref());
        let local = join_shared(self.local(group), other.local(group)).map(|knowledge| (group, knowledge));
        Self { wide, local }
    }

    fn is_same(&self, other: &Self) -> bool {
        let same = |a: Option<&Arc<Knowledge>>, b: Option<&Arc<Knowledge>>| match (a, b) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        same(self.wide.as_ref(), other.wide.as_ref())
            && same(self.local.as_ref().map(|l| &l.1), other.local.as_ref().map(|l| &l.1))
    }
}

fn join_shared(a: Option<&Arc<Knowledge>>, b: Option<&Arc<Knowledge>>) -> Option<Arc<Knowledge>> {
    let (Some(a), Some(b)) = (a, b) else { return a.or(b).cloned() };
    if Arc::ptr_eq(a, b) {
        return Some(a.clone());
    }
    let mut joined = (**a).clone();
    joined.join(b, u32::MAX);
    Some(Arc::new(joined))
}

/// What an atomic load saw, until fences have taken all of it.
#[derive(Clone, Debug)]
struct Pending {
    published: Published,
    /// Classes of memory that a fence took: of what all threadgroups get, of what this one gets.
    taken_wide: u32,
    taken_local: u32,
}

/// What one thread got from fences and atomics.
#[derive(Clone, Default, Debug)]
struct ThreadState {
    /// What its atomic stores publish: of its last release fence.
    released: Option<Published>,
    /// What its atomic loads saw.
    seen: Vec<Pending>,
    acquired: Option<Arc<Knowledge>>,
}

impl ThreadState {
    /// An acquire fence takes what atomic loads saw: of its classes of memory, within its scope.
    fn acquire(&mut self, group: u64, memory: u32, is_wide: bool) {
        let mut acquired = None;
        let own = self.acquired.as_ref();
        let mut take = |knowledge: Option<&Arc<Knowledge>>, taken: &mut u32| {
            if memory & !*taken == 0 {
                return;
            }
            *taken |= memory;
            if let Some(knowledge) = knowledge {
                let all = acquired.get_or_insert_with(|| own.map(|own| (**own).clone()).unwrap_or_default());
                Knowledge::join(all, knowledge, memory);
            }
        };
        for pending in &mut self.seen {
            take(pending.published.local(group), &mut pending.taken_local);
            if is_wide {
                take(pending.published.wide.as_ref(), &mut pending.taken_wide);
            }
        }
        if let Some(acquired) = acquired {
            self.acquired = Some(Arc::new(acquired));
        }
    }
}

/// See the module's documentation. One for the running threadgroup.
#[derive(Default, Debug)]
pub(crate) struct Clocks {
    group: u64,
    now: u32,
    known_group: Dates,
    /// The last barrier without memory flags, and the last with some.
    passed_empty: u32,
    passed_flagged: u32,
    known_simd: Vec<Dates>,
    /// By SIMD-group: its last barriers without memory flags, and with some.
    passed_simd: Vec<[u32; 2]>,
    /// What all threads of the threadgroup got from others.
    group_acquired: Option<Arc<Knowledge>>,
    /// By index in the threadgroup; empty as long as no fence was executed.
    threads: BTreeMap<u32, ThreadState>,
}

/// Accesses of the running threadgroup before these dates come before the next one of a SIMD-group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Horizon {
    group: u64,
    simdgroup: u32,
    of_group: u32,
    of_simdgroup: u32,
}

impl Horizon {
    #[inline]
    pub(crate) fn is_before(&self, earlier: &Record) -> bool {
        earlier.group() == self.group
            && (earlier.date < self.of_group
                || (earlier.date < self.of_simdgroup && earlier.simdgroup() == self.simdgroup))
    }
}

/// Why two accesses are ordered, or are not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// Something orders them.
    Before,
    /// Only a barrier without any memory flag lies between.
    ByEmptyBarrier,
    /// Only barriers whose memory flags name other memory lie between.
    ByOtherBarrier,
    /// Nothing does.
    Concurrent,
}

/// Publications that a thread has seen and not taken all of.
const MAX_PENDING: usize = 64;

const ACQUIRE: u32 = 2;
const RELEASE: u32 = 3;
const SCOPE_THREADGROUP: u32 = 1;
const SCOPE_SIMDGROUP: u32 = 4;

impl Clocks {
    pub(crate) fn start(&mut self, group: u64, simdgroups: u32) {
        *self = Self {
            group,
            now: 1,
            known_simd: vec![Dates::default(); simdgroups as usize],
            passed_simd: vec![[0; 2]; simdgroups as usize],
            threads: std::mem::take(&mut self.threads),
            ..Self::default()
        };
        self.threads.clear();
    }

    /// The date of an access made now.
    pub(crate) fn now(&self) -> u32 {
        self.now
    }

    /// All threads of the threadgroup have met at a barrier with these memory flags.
    pub(crate) fn pass_barrier(&mut self, memory: u32) {
        self.now += 1;
        let now = self.now;
        *(if memory == 0 { &mut self.passed_empty } else { &mut self.passed_flagged }) = now;
        join(&mut self.known_group, [now; Class::ALL.len()], memory);
        if self.threads.is_empty() {
            return;
        }
        let mut all = self.group_acquired.as_deref().cloned().unwrap_or_default();
        let mut any = false;
        // A thread keeps what it got itself: the flags of the barrier limit only what others get of it.
        for acquired in self.threads.values().filter_map(|state| state.acquired.as_ref()) {
            all.join(acquired, memory);
            any = true;
        }
        if any {
            self.group_acquired = Some(Arc::new(all));
        }
    }

    /// Threads of a SIMD-group have met.
    pub(crate) fn pass_simdgroup_barrier(&mut self, simdgroup: u32, memory: u32) {
        self.now += 1;
        let now = self.now;
        if let Some(known) = self.known_simd.get_mut(simdgroup as usize) {
            join(known, [now; Class::ALL.len()], memory);
        }
        if let Some(passed) = self.passed_simd.get_mut(simdgroup as usize) {
            passed[usize::from(memory != 0)] = now;
        }
    }

    /// A fence of one thread.
    pub(crate) fn fence(&mut self, index: u32, (memory, order, scope): (u32, u32, u32)) {
        let group = self.group;
        if order == 0 || scope == 0 || scope == SCOPE_SIMDGROUP {
            return;
        }
        let is_wide = scope != SCOPE_THREADGROUP;
        let state = self.threads.entry(index).or_default();
        if order != RELEASE {
            state.acquire(group, memory, is_wide);
        }
        if order != ACQUIRE {
            self.now += 1;
            let mut own = state.acquired.as_deref().cloned().unwrap_or_default();
            if let Some(acquired) = &self.group_acquired {
                own.join(acquired, u32::MAX);
            }
            let thread = Record::thread_number(group, index);
            own.add(Of::Threadgroup(group), self.known_group, u32::MAX);
            let simdgroup = index / 32;
            if let Some(&known) = self.known_simd.get(simdgroup as usize) {
                own.add(Of::Simdgroup(group, simdgroup), known, u32::MAX);
            }
            own.add(Of::Thread(thread), [self.now; Class::ALL.len()], u32::MAX);
            let mut knowledge = Knowledge { facts: BTreeMap::new(), overflowed: own.overflowed };
            knowledge.join(&own, memory);
            let knowledge = Arc::new(knowledge);
            let wide = is_wide.then(|| knowledge.clone());
            state.released = Some(Published { wide, local: Some((group, knowledge)) });
        }
    }

    /// Whether no fence was executed: then atomics pass nothing on.
    pub(crate) fn is_without_fences(&self) -> bool {
        self.threads.is_empty()
    }

    /// What a location holds after an atomic access of a thread.
    pub(crate) fn atomic(
        &mut self,
        index: u32,
        (reads, writes): (bool, bool),
        location: Option<&Published>,
    ) -> Option<Published> {
        if self.is_without_fences() && location.is_none() {
            return None;
        }
        let state = self.threads.entry(index).or_default();
        if reads
            && let Some(published) = location
            && !state.seen.iter().any(|seen| seen.published.is_same(published))
        {
            let published = published.clone();
            state.seen.push(Pending { published, taken_wide: 0, taken_local: 0 });
            // A thread that spins sees the same few; what is older is contained in what came after.
            if state.seen.len() > MAX_PENDING {
                state.seen.remove(0);
            }
        }
        if !writes {
            return location.cloned();
        }
        let released = state.released.clone();
        match (location.filter(|_| reads), released) {
            // A read-modify-write goes on with what was published before.
            (Some(before), Some(released)) => Some(before.joined(&released, self.group)),
            (before, released) => released.or_else(|| before.cloned()),
        }
    }

    /// What barriers alone order before the next access of a SIMD-group.
    pub(crate) fn horizon(&self, simdgroup: u32, class: Class) -> Horizon {
        Horizon {
            group: self.group,
            simdgroup,
            of_group: self.known_group[class.index()],
            of_simdgroup: self.known_simd.get(simdgroup as usize).map_or(0, |known| known[class.index()]),
        }
    }

    /// Whether an earlier access comes before one that this thread makes now.
    pub(crate) fn order(&self, earlier: &Record, index: u32, class: Class) -> Order {
        if earlier.thread == Record::thread_number(self.group, index)
            || self.horizon(index / 32, class).is_before(earlier)
        {
            return Order::Before;
        }
        let acquired = self.threads.get(&index).and_then(|state| state.acquired.as_ref());
        if acquired.into_iter().chain(&self.group_acquired).any(|known| known.covers(earlier, class)) {
            return Order::Before;
        }
        if earlier.group() != self.group {
            return Order::Concurrent;
        }
        let mut passed = [self.passed_empty, self.passed_flagged];
        if earlier.simdgroup() == index / 32
            && let Some(own) = self.passed_simd.get((index / 32) as usize)
        {
            passed = std::array::from_fn(|n| passed[n].max(own[n]));
        }
        if earlier.date < passed[0] {
            Order::ByEmptyBarrier
        } else if earlier.date < passed[1] {
            Order::ByOtherBarrier
        } else {
            Order::Concurrent
        }
    }
}

#[cfg(test)]
mod tests;
