//! Happens-before between the threads of a launch.
//!
//! Owns [`Clocks`]. Time is one counter for each threadgroup, advanced at each barrier, fence and SIMD-group
//! barrier, so an access is dated by the counter's value. For each class of memory a threadgroup, a SIMD-group
//! and a thread know up to which date the accesses of others come before their next one. What a thread knows
//! of other threadgroups came through a release fence, an atomic location and an acquire fence; it is sparse.
//!
//! Source: FastTrack's epochs (Flanagan and Freund, PLDI 2009), with the barrier as one epoch of a whole
//! threadgroup; MSL specification §6.9.1 (barriers) and §6.15 (fences and atomics).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::shadow::Record;

/// Facts about other threads that one thread or location may hold. Beyond it, accesses of threads that are not
/// known count as ordered.
const MAX_FACTS: usize = 1 << 16;

/// Memory that a barrier's flags name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Device,
    Threadgroup,
}

impl Class {
    fn index(self) -> usize {
        self as usize
    }

    /// MSL's `mem_flags` bit.
    fn flag(self) -> u32 {
        match self {
            Self::Device => 1,
            Self::Threadgroup => 2,
        }
    }

    const ALL: [Self; 2] = [Self::Device, Self::Threadgroup];
}

/// Dates by class.
type Dates = [u32; 2];

fn join(a: &mut Dates, b: Dates, memory: u32) {
    for class in Class::ALL {
        if memory & class.flag() != 0 {
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
#[derive(Clone, Debug)]
pub(crate) struct Published {
    knowledge: Arc<Knowledge>,
    /// The threadgroup whose threads alone may take it, if the fence's scope was that.
    within: Option<u64>,
}

/// What one thread got from fences and atomics.
#[derive(Clone, Default, Debug)]
struct ThreadState {
    /// What its atomic stores publish: of its last release fence.
    released: Option<Published>,
    /// What its atomic loads saw and no acquire fence has taken yet.
    seen: Vec<Published>,
    acquired: Option<Arc<Knowledge>>,
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

const ACQUIRE: u32 = 2;
const RELEASE: u32 = 3;
const SCOPE_THREADGROUP: u32 = 1;
const SCOPE_SIMDGROUP: u32 = 4;

impl Clocks {
    pub(crate) fn start(&mut self, group: u64, simdgroups: u32) {
        *self = Self {
            group,
            now: 1,
            known_simd: vec![[0; 2]; simdgroups as usize],
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
        join(&mut self.known_group, [now; 2], memory);
        if self.threads.is_empty() {
            return;
        }
        let mut all = self.group_acquired.as_deref().cloned().unwrap_or_default();
        let mut any = false;
        for state in self.threads.values_mut() {
            if let Some(acquired) = state.acquired.take() {
                all.join(&acquired, memory);
                any = true;
            }
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
            join(known, [now; 2], memory);
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
        let within = (scope == SCOPE_THREADGROUP).then_some(group);
        let state = self.threads.entry(index).or_default();
        if order != RELEASE {
            let seen = std::mem::take(&mut state.seen);
            let mut acquired = state.acquired.as_deref().cloned().unwrap_or_default();
            for published in seen {
                if published.within.is_none_or(|within| within == group) {
                    acquired.join(&published.knowledge, memory);
                }
            }
            state.acquired = Some(Arc::new(acquired));
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
            own.add(Of::Thread(thread), [self.now; 2], u32::MAX);
            let mut knowledge = Knowledge { facts: BTreeMap::new(), overflowed: own.overflowed };
            knowledge.join(&own, memory);
            state.released = Some(Published { knowledge: Arc::new(knowledge), within });
        }
    }

    /// What a location holds after an atomic access of a thread.
    pub(crate) fn atomic(
        &mut self,
        index: u32,
        (reads, writes): (bool, bool),
        location: Option<&Published>,
    ) -> Option<Published> {
        if self.threads.is_empty() && location.is_none() {
            return None;
        }
        let state = self.threads.entry(index).or_default();
        if reads && let Some(published) = location {
            let known = |seen: &Published| Arc::ptr_eq(&seen.knowledge, &published.knowledge);
            if !state.seen.iter().any(known) {
                state.seen.push(published.clone());
                // A thread that spins sees the same few; what is older is contained in what came after.
                if state.seen.len() > 64 {
                    state.seen.remove(0);
                }
            }
        }
        if !writes {
            return location.cloned();
        }
        let released = state.released.clone();
        match (location.filter(|_| reads), released) {
            // A read-modify-write goes on with what was published before.
            (Some(before), Some(released)) => {
                let mut knowledge = (*before.knowledge).clone();
                knowledge.join(&released.knowledge, u32::MAX);
                let within = if before.within == released.within { before.within } else { None };
                Some(Published { knowledge: Arc::new(knowledge), within })
            }
            (before, released) => released.or_else(|| before.cloned()),
        }
    }

    /// Whether an earlier access comes before one that this thread makes now.
    pub(crate) fn order(&self, earlier: &Record, index: u32, class: Class) -> Order {
        if earlier.group() == self.group {
            if earlier.thread == Record::thread_number(self.group, index)
                || earlier.date < self.known_group[class.index()]
            {
                return Order::Before;
            }
            let simdgroup = index / 32;
            let known = self.known_simd.get(simdgroup as usize).copied().unwrap_or_default();
            if earlier.simdgroup() == simdgroup && earlier.date < known[class.index()] {
                return Order::Before;
            }
        }
        let acquired = self.threads.get(&index).and_then(|state| state.acquired.as_ref());
        if acquired.into_iter().chain(&self.group_acquired).any(|known| known.covers(earlier, class)) {
            return Order::Before;
        }
        if earlier.group() != self.group {
            return Order::Concurrent;
        }
        let simdgroup = index / 32;
        let of_simdgroup =
            self.passed_simd.get(simdgroup as usize).filter(|_| earlier.simdgroup() == simdgroup);
        let [empty, flagged] = of_simdgroup.copied().unwrap_or_default();
        if earlier.date < self.passed_empty.max(empty) {
            Order::ByEmptyBarrier
        } else if earlier.date < self.passed_flagged.max(flagged) {
            Order::ByOtherBarrier
        } else {
            Order::Concurrent
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u32 = 7;

    fn record(group: u64, index: u32, date: u32) -> Record {
        Record { thread: Record::thread_number(group, index), date, site: 0 }
    }

    #[test]
    fn a_barrier_orders_the_memory_of_its_flags() {
        let mut clocks = Clocks::default();
        clocks.start(3, 2);
        let access = record(3, 40, clocks.now());
        assert_eq!(clocks.order(&access, 0, Class::Device), Order::Concurrent);
        clocks.pass_barrier(2);
        assert_eq!(clocks.order(&access, 0, Class::Threadgroup), Order::Before);
        assert_eq!(clocks.order(&access, 0, Class::Device), Order::ByOtherBarrier);
        assert_eq!(clocks.order(&record(2, 40, 1), 0, Class::Device), Order::Concurrent);
    }

    #[test]
    fn a_simdgroup_barrier_orders_its_own_lanes() {
        let mut clocks = Clocks::default();
        clocks.start(0, 2);
        let (same, other) = (record(0, 5, clocks.now()), record(0, 40, clocks.now()));
        clocks.pass_simdgroup_barrier(0, ALL);
        assert_eq!(clocks.order(&same, 6, Class::Device), Order::Before);
        assert_eq!(clocks.order(&other, 6, Class::Device), Order::Concurrent);
    }

    #[test]
    fn fences_and_an_atomic_pass_a_threadgroup_on() {
        let mut clocks = Clocks::default();
        clocks.start(0, 2);
        let (own, others) = (record(0, 0, clocks.now()), record(0, 40, clocks.now()));
        clocks.pass_barrier(ALL);
        clocks.fence(0, (1, 5, 2));
        let flag = clocks.atomic(0, (false, true), None);
        assert!(flag.is_some());
        clocks.start(1, 2);
        assert_eq!(clocks.order(&own, 7, Class::Device), Order::Concurrent);
        clocks.atomic(7, (true, false), flag.as_ref());
        assert_eq!(clocks.order(&own, 7, Class::Device), Order::Concurrent);
        clocks.fence(7, (1, 5, 2));
        assert_eq!(clocks.order(&own, 7, Class::Device), Order::Before);
        assert_eq!(clocks.order(&others, 7, Class::Device), Order::Before);
        assert_eq!(clocks.order(&own, 8, Class::Device), Order::Concurrent);
        clocks.pass_barrier(ALL);
        assert_eq!(clocks.order(&own, 8, Class::Device), Order::Before);
    }

    #[test]
    fn a_fence_of_threadgroup_scope_stays_there() {
        let mut clocks = Clocks::default();
        clocks.start(0, 1);
        let own = record(0, 0, clocks.now());
        clocks.fence(0, (1, 5, 1));
        let flag = clocks.atomic(0, (false, true), None);
        clocks.start(1, 1);
        clocks.atomic(7, (true, false), flag.as_ref());
        clocks.fence(7, (1, 5, 2));
        assert_eq!(clocks.order(&own, 7, Class::Device), Order::Concurrent);
    }
}
