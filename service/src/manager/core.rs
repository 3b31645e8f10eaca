//! What all handles of a manager share.
//!
//! Owns [`Core`]: devices, breakers, the gate of buffers, the list of buffers, and what happens when
//! a device is lost. Invariant: a loss ends the generation first, then forgets its copies, so that
//! no copy of an ended generation is left.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use anymetal::notice::{self, NoticeKind};
use anymetal::profile::Clock;
use anymetal_hal::sync::lock;
use anymetal_policy::breaker::{Breaker, BreakerState, Breakers};
use anymetal_policy::policies::Policies;
use anymetal_telemetry::collect::{Collect, Sums, add_collector};
use anymetal_telemetry::names::metrics as names;

use super::audit::Audit;
use super::gate::{AdmissionQueue, BufferUses};
use super::generation::Generation;
use super::kept::SessionStore;
use super::memory::Memory;
use super::observe::{BreakerKey, ManagerEvent, Observe};
use super::slot::{Acquired, DeviceSlot};
use super::strain::LoadMonitor;

pub(super) struct Core {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) policies: Policies,
    pub(super) slots: Vec<DeviceSlot>,
    pub(super) breakers: Option<Breakers<BreakerKey>>,
    pub(super) gate: Arc<AdmissionQueue<BufferUses>>,
    pub(super) strain: LoadMonitor,
    pub(super) observer: Arc<dyn Observe>,
    /// How long after its deadline an attempt may take to end.
    pub(super) hang_grace: Duration,
    pub(super) audit: Option<Arc<Audit>>,
    pub(super) kept: Option<SessionStore>,
    memories: Mutex<BTreeMap<u64, Weak<Memory>>>,
    ids: AtomicU64,
    calls: AtomicU64,
}

/// What a [`Core`] is made of.
pub(super) struct CoreParts {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) policies: Policies,
    pub(super) slots: Vec<DeviceSlot>,
    pub(super) breakers: Option<Breakers<BreakerKey>>,
    pub(super) strain: LoadMonitor,
    pub(super) observer: Arc<dyn Observe>,
    pub(super) hang_grace: Duration,
    pub(super) audit: Option<Arc<Audit>>,
    pub(super) kept: Option<SessionStore>,
}

impl Core {
    pub(super) fn new(parts: CoreParts) -> Arc<Self> {
        let core = Arc::new(Core {
            clock: parts.clock,
            policies: parts.policies,
            slots: parts.slots,
            breakers: parts.breakers,
            gate: AdmissionQueue::new(usize::MAX),
            strain: parts.strain,
            observer: parts.observer,
            hang_grace: parts.hang_grace,
            audit: parts.audit,
            kept: parts.kept,
            memories: Mutex::default(),
            ids: AtomicU64::new(0),
            calls: AtomicU64::new(0),
        });
        let collected: Weak<Core> = Arc::downgrade(&core);
        add_collector(collected);
        core
    }

    /// A number for a buffer, kernel or graph.
    pub(super) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// A number for an execution, by which its delays are spread.
    pub(super) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn note_memory(&self, memory: &Arc<Memory>) {
        if let (Some(kept), false) = (&self.kept, memory.label().is_empty()) {
            kept.note_buffer(memory.label(), memory.length());
        }
        lock(&self.memories).insert(memory.id(), Arc::downgrade(memory));
    }

    pub(super) fn forget_memory(&self, id: u64) {
        lock(&self.memories).remove(&id);
    }

    /// All buffers that live.
    pub(super) fn memories(&self) -> Vec<Arc<Memory>> {
        let known: Vec<_> = lock(&self.memories).values().cloned().collect();
        known.iter().filter_map(Weak::upgrade).collect()
    }

    /// Forgets a kernel or graph that is gone.
    pub(super) fn forget_work(&self, number: u64) {
        if let Some(kept) = &self.kept {
            let alive = self.slots.iter().filter_map(DeviceSlot::alive);
            alive.for_each(|generation| kept.note_sizes(number, &generation.group_sizes(number)));
        }
        let alive = self.slots.iter().filter_map(DeviceSlot::alive);
        alive.for_each(|generation| generation.forget(number));
    }

    /// The breaker of a device and a kernel; `None`: there are none, or there is no room for another,
    /// and the work runs without one.
    pub(super) fn breaker(&self, slot: usize, work: &Arc<str>) -> Option<Breaker> {
        let key = BreakerKey { device: Arc::clone(self.slots[slot].name()), work: Arc::clone(work) };
        self.breakers.as_ref()?.get(&key).ok()
    }

    /// Whether work on a device would be refused by its breaker or because it is lost.
    pub(super) fn is_closed_to(&self, slot: usize, work: &Arc<str>, now: Duration) -> bool {
        let is_open = self.breaker(slot, work).map(|breaker| breaker.snapshot()).is_some_and(|snapshot| {
            snapshot.state != BreakerState::Closed && snapshot.open_until.is_none_or(|until| now < until)
        });
        is_open || !self.slots[slot].may_be_available(now)
    }

    /// The device of a slot, rebuilt if that is possible.
    pub(super) fn acquire(&self, slot: usize) -> Option<Arc<Generation>> {
        let place = &self.slots[slot];
        let device = place.name();
        match place.acquire() {
            Acquired::Alive(generation) => Some(generation),
            Acquired::Rebuilt(generation) => {
                let of_device = |key: &BreakerKey| key.device == *device;
                let breakers = self.breakers.iter().flat_map(|breakers| breakers.matching(of_device));
                breakers.for_each(|(_, breaker)| breaker.reset());
                let generation_number = generation.number();
                self.notify(&ManagerEvent::DeviceRebuilt { device, generation: generation_number });
                Some(generation)
            }
            Acquired::RebuildFailed(error) => {
                self.notify(&ManagerEvent::RebuildFailed { device, reason: &error.to_string() });
                None
            }
            Acquired::Unavailable => None,
        }
    }

    /// A device is lost: nothing of that generation is used again.
    pub(super) fn lose(&self, slot: usize, generation: u64, reason: &str) {
        let Some(ended) = self.slots[slot].lose(generation, self.clock.now(), reason) else {
            return;
        };
        let device = ended.name();
        self.notify(&ManagerEvent::DeviceLost { device, generation, reason });
        for memory in self.memories() {
            if memory.forget(slot, generation) {
                self.notify(&ManagerEvent::ContentsLost { label: memory.label(), device });
            }
        }
    }

    /// Gives up what a device holds and nothing needs now: idle memory of its pool, and copies of
    /// buffers that no execution uses and that are elsewhere too.
    pub(super) fn release_memory(&self, generation: &Generation) {
        for memory in self.memories() {
            let unused = self.gate.try_enter(BufferUses::new([(memory.id(), true)]));
            if let Some(_pass) = unused {
                memory.release(generation.slot());
            }
        }
        let _trimmed = generation.device().trim();
    }

    /// Reads heat and power, if the time has come.
    pub(super) fn poll_strain(&self) {
        if let Some(state) = self.strain.poll(self.clock.now(), &*self.observer) {
            self.slots.iter().for_each(|slot| slot.set_strain(state));
            self.notify(&ManagerEvent::Strain { state });
        }
    }

    /// Notes what a session has of the present moment.
    pub(super) fn note_session(&self, kept: &SessionStore) {
        for slot in &self.slots {
            kept.note_streams(slot.name(), slot.stream_count());
            let Some(generation) = slot.alive() else { continue };
            for (kernel, sizes) in generation.all_group_sizes() {
                kept.note_sizes(kernel, &sizes);
            }
        }
    }

    pub(super) fn notify(&self, event: &ManagerEvent<'_>) {
        self.observer.observe(event);
    }
}

/// What is read rather than told.
impl Collect for Core {
    fn collect(&self, sums: &mut Sums) {
        for slot in &self.slots {
            sums.add(&names::DEGRADED, &[slot.name()], f64::from(u8::from(slot.is_degraded())));
            sums.add(&names::MANAGER_STREAMS, &[slot.name()], slot.stream_count() as f64);
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let Some(kept) = &self.kept else { return };
        self.note_session(kept);
        if let Err(error) = kept.save() {
            notice::emit(NoticeKind::Session, error.to_string());
        }
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Core").field("slots", &self.slots).finish_non_exhaustive()
    }
}
