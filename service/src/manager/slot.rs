//! A place for a device, which is filled anew when the device is lost.
//!
//! Owns [`DeviceSlot`]. Invariant: at most one generation of a slot is in use; a lost device is rebuilt at
//! most as often as the slot's breaker lets a probe through. Concurrency: `state` is not held while
//! a factory runs; the breaker lets one through at a time.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anymetal::error::ErrorClass;
use anymetal::profile::Clock;
use anymetal::{Device, Error};
use anymetal_hal::sync::lock;
use anymetal_policy::adapt::{AdaptiveStreams, Load, ThermalState};
use anymetal_policy::breaker::{Breaker, BreakerState};
use anymetal_policy::bulkhead::Bulkhead;
use anymetal_policy::policies::Policies;

use super::generation::Generation;

/// Makes a device anew after a loss.
pub(super) type Factory = Box<dyn Fn() -> Result<Device, Error> + Send + Sync>;

pub(super) struct DeviceSlot {
    index: usize,
    name: Arc<str>,
    /// `None`: a lost device stays lost.
    factory: Option<Factory>,
    rebuild: Breaker,
    bulkhead: Option<Bulkhead>,
    state: Mutex<SlotState>,
    stream_load: Mutex<StreamLoad>,
    /// Attempts in a degraded mode that have begun and not ended.
    degraded: AtomicUsize,
}

/// An attempt in a degraded mode, until it is dropped.
pub(super) struct DegradedAttempt<'a>(&'a DeviceSlot);

impl Drop for DegradedAttempt<'_> {
    fn drop(&mut self) {
        self.0.degraded.fetch_sub(1, Ordering::Relaxed);
    }
}

struct SlotState {
    generation: Option<Arc<Generation>>,
    number: u64,
    lost: Option<Loss>,
}

#[derive(Debug, Clone)]
struct Loss {
    at: Duration,
    reason: String,
}

/// The number of streams, and the load since it was last decided.
struct StreamLoad {
    streams: AdaptiveStreams,
    latencies: Vec<Duration>,
    exhausted: bool,
    decide_at: Duration,
}

/// How often the number of streams is decided at most.
const DECIDE_EVERY: Duration = Duration::from_millis(100);

/// What became of a request for a slot's device.
pub(super) enum Acquired {
    Alive(Arc<Generation>),
    Rebuilt(Arc<Generation>),
    RebuildFailed(Error),
    /// It is lost and not to be rebuilt yet.
    Unavailable,
}

/// A device of a manager at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceStatus {
    /// Its name in the manager.
    pub name: String,
    /// How often it was made: 1, and one more after each rebuilding.
    pub generation: u64,
    /// When and why it was lost, if it is; the time is the clock's.
    pub lost: Option<(Duration, String)>,
    /// How many attempts may run on it at once.
    pub streams: usize,
    /// Attempts that run on it.
    pub running: usize,
    /// Attempts that wait for a stream.
    pub waiting: usize,
}

impl DeviceSlot {
    pub(super) fn new(
        index: usize,
        device: Device,
        factory: Option<Factory>,
        policies: &Policies,
        clock: &Arc<dyn Clock>,
        name: Arc<str>,
        streams: Option<usize>,
    ) -> Self {
        let rebuild = policies.breaker.unwrap_or_default();
        let streams = match streams {
            Some(streams) => AdaptiveStreams::starting_with(policies.adapt, streams),
            None => AdaptiveStreams::new(policies.adapt),
        };
        let generation = Generation::new(index, &name, 1, device, streams.streams());
        let stream_load =
            StreamLoad { streams, latencies: Vec::new(), exhausted: false, decide_at: Duration::ZERO };
        DeviceSlot {
            index,
            name,
            factory,
            rebuild: Breaker::new(rebuild, Arc::clone(clock)),
            bulkhead: policies.bulkhead.map(|policy| Bulkhead::new(policy, Arc::clone(clock))),
            state: Mutex::new(SlotState { generation: Some(generation), number: 1, lost: None }),
            stream_load: Mutex::new(stream_load),
            degraded: AtomicUsize::new(0),
        }
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) fn bulkhead(&self) -> Option<&Bulkhead> {
        self.bulkhead.as_ref()
    }

    /// The present generation, if the device is not lost.
    pub(super) fn alive(&self) -> Option<Arc<Generation>> {
        lock(&self.state).generation.clone()
    }

    /// Whether [`DeviceSlot::acquire`] may give a device at that time.
    pub(super) fn may_be_available(&self, now: Duration) -> bool {
        let may_rebuild = || {
            let snapshot = self.rebuild.snapshot();
            let waits = snapshot.open_until.is_some_and(|until| now < until);
            self.factory.is_some() && snapshot.state != BreakerState::HalfOpen && !waits
        };
        lock(&self.state).generation.is_some() || may_rebuild()
    }

    /// From when on [`DeviceSlot::acquire`] may give a device; `None`: the device is lost for ever.
    pub(super) fn available_from(&self, now: Duration) -> Option<Duration> {
        let is_alive = lock(&self.state).generation.is_some();
        let rebuilt = || self.factory.is_some().then(|| self.rebuild.snapshot().open_until.unwrap_or(now));
        if is_alive { Some(now) } else { rebuilt() }
    }

    /// The device, rebuilt if it is lost and the time has come.
    pub(super) fn acquire(&self) -> Acquired {
        if let Some(alive) = self.alive() {
            return Acquired::Alive(alive);
        }
        let Some(factory) = &self.factory else {
            return Acquired::Unavailable;
        };
        let Ok(permit) = self.rebuild.permit() else {
            return Acquired::Unavailable;
        };
        // Another thread may have rebuilt it between the look and the permit.
        if let Some(alive) = self.alive() {
            permit.success();
            return Acquired::Alive(alive);
        }
        match factory() {
            Ok(device) => {
                let streams = lock(&self.stream_load).streams.streams();
                let mut state = lock(&self.state);
                state.number += 1;
                let made = Generation::new(self.index, &self.name, state.number, device, streams);
                (state.generation, state.lost) = (Some(Arc::clone(&made)), None);
                drop(state);
                permit.success();
                Acquired::Rebuilt(made)
            }
            Err(error) => {
                // Whatever its class: a device that cannot be made is not there.
                permit.failure(ErrorClass::Lost);
                Acquired::RebuildFailed(error)
            }
        }
    }

    /// Ends that generation, if it has not ended.
    pub(super) fn lose(&self, number: u64, at: Duration, reason: &str) -> Option<Arc<Generation>> {
        let ended = {
            let mut state = lock(&self.state);
            let is_present = state.generation.as_ref().is_some_and(|present| present.number() == number);
            let ended = is_present.then(|| state.generation.take()).flatten()?;
            state.lost = Some(Loss { at, reason: reason.to_owned() });
            ended
        };
        ended.end();
        self.rebuild.trip();
        Some(ended)
    }

    /// How much there is on it.
    pub(super) fn load(&self) -> (usize, usize) {
        self.alive().map_or((0, 0), |generation| generation.streams().load())
    }

    pub(super) fn stream_count(&self) -> usize {
        lock(&self.stream_load).streams.streams()
    }

    /// An attempt in a degraded mode begins.
    pub(super) fn degrade(&self) -> DegradedAttempt<'_> {
        self.degraded.fetch_add(1, Ordering::Relaxed);
        DegradedAttempt(self)
    }

    pub(super) fn is_degraded(&self) -> bool {
        self.degraded.load(Ordering::Relaxed) > 0
    }

    /// An attempt ended: perhaps the number of streams changes.
    pub(super) fn note_end(&self, now: Duration, latency: Option<Duration>, exhausted: bool) {
        let (running, waiting) = self.load();
        let streams = {
            let mut stream_load = lock(&self.stream_load);
            stream_load.latencies.extend(latency);
            stream_load.exhausted |= exhausted;
            if now < stream_load.decide_at {
                return;
            }
            stream_load.decide_at = now.saturating_add(DECIDE_EVERY);
            let latency = median(&mut stream_load.latencies);
            let load = Load { waiting, running, latency, exhausted: stream_load.exhausted };
            (stream_load.exhausted, _) = (false, stream_load.latencies.clear());
            stream_load.streams.observe(now, load)
        };
        self.set_streams(streams);
    }

    /// How strained the machine is: hotter, or above its power budget, it runs less at once.
    pub(super) fn set_strain(&self, state: ThermalState) {
        let streams = lock(&self.stream_load).streams.set_heat(state);
        self.set_streams(streams);
    }

    fn set_streams(&self, streams: usize) {
        if let Some(generation) = self.alive() {
            generation.streams().set_capacity(streams);
        }
    }

    pub(super) fn status(&self) -> DeviceStatus {
        let ((running, waiting), streams) = (self.load(), self.stream_count());
        let state = lock(&self.state);
        DeviceStatus {
            name: self.name.to_string(),
            generation: state.number,
            lost: state.lost.clone().map(|Loss { at, reason }| (at, reason)),
            streams,
            running,
            waiting,
        }
    }
}

fn median(latencies: &mut [Duration]) -> Option<Duration> {
    let middle = latencies.len() / 2;
    (!latencies.is_empty()).then(|| *latencies.select_nth_unstable(middle).1)
}

impl fmt::Debug for DeviceSlot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DeviceSlot").field("status", &self.status()).finish_non_exhaustive()
    }
}
