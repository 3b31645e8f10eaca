//! The fault-injecting device: it wraps any device and makes planned operations fail or take longer.
//!
//! Owns [`FaultInjectingDevice`] and [`FaultPlan`]. Resources are the wrapped device's own, so kernels really
//! run; a completion that fails by plan fails after its work was done, as on hardware. Invariant: whether the
//! n-th operation of a kind fails depends on the plan alone, never on threads or time; completions of a queue
//! end in order; after an injected loss everything fails as lost until [`FaultInjectingDevice::revive`].

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::time::Duration;

use crate::artifact::Artifact;
use crate::baton::Baton;
use crate::buffer::{Buffer, BufferDescriptor};
use crate::capabilities::Capabilities;
use crate::clock::Clock;
use crate::command::{Command, Submission};
use crate::completion::{Completion, CompletionSource, Outcome};
use crate::device::Device;
use crate::error::{DeviceError, ErrorClass};
use crate::event::Event;
use crate::fence::Fence;
use crate::heap::{Heap, HeapDescriptor};
use crate::host_pages::{HostPages, ImportError};
use crate::indirect::IndirectCommandBuffer;
use crate::permits::Permits;
use crate::pipeline::Pipeline;
use crate::queue::{Cancellation, Queue, QueueDescriptor, WhenFull};

/// What fails, and how long things take.
#[derive(Debug, Clone, Default)]
pub struct FaultPlan {
    /// Decides, with the number of each operation, which of them fail.
    pub seed: u64,
    /// Which buffers and heaps are refused.
    pub allocations: Faults,
    /// Which submissions are refused.
    pub commits: Faults,
    /// Which submissions fail after they ran.
    pub completions: Faults,
    /// How much later than the wrapped device's each completion ends, by the clock; empty: not at all.
    pub latency: Range<Duration>,
}

/// Which operations of one kind fail.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// So many of a million, by chance.
    pub per_million: u32,
    /// And exactly these, counted from 0.
    pub exactly: Vec<u64>,
    /// With errors of these classes, by chance; none: transient.
    pub classes: Vec<ErrorClass>,
}

impl Faults {
    /// The n-th operation fails with that class, no other does.
    pub fn at(number: u64, class: ErrorClass) -> Self {
        Faults { per_million: 0, exactly: vec![number], classes: vec![class] }
    }

    /// So many of a million fail, with those classes.
    pub fn by_chance(per_million: u32, classes: &[ErrorClass]) -> Self {
        Faults { per_million, exactly: Vec::new(), classes: classes.to_vec() }
    }

    fn decide(&self, random: u64, number: u64) -> Option<ErrorClass> {
        let fails = self.exactly.contains(&number) || random % 1_000_000 < u64::from(self.per_million);
        let class = (random >> 32) as usize % self.classes.len().max(1);
        fails.then(|| self.classes.get(class).copied().unwrap_or(ErrorClass::Transient))
    }
}

/// How many faults were injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Injected {
    /// Refused buffers and heaps.
    pub allocations: u64,
    /// Refused submissions.
    pub commits: u64,
    /// Failed submissions.
    pub completions: u64,
}

/// A device that fails by plan.
#[derive(Debug, Clone)]
pub struct FaultInjectingDevice {
    inner: Arc<dyn Device>,
    injector: Arc<Injector>,
}

#[derive(Debug)]
struct Injector {
    name: String,
    plan: FaultPlan,
    clock: Arc<dyn Clock>,
    lost: AtomicBool,
    kinds: [Counter; 3],
    delays: AtomicU64,
}

/// Operations of one kind: how many there were, how many failed.
#[derive(Debug, Default)]
struct Counter {
    tried: AtomicU64,
    failed: AtomicU64,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Allocation,
    Commit,
    Completion,
}

impl Injector {
    /// The error that the next operation of a kind fails with, if it does.
    fn fault(&self, kind: Kind, bytes: u64) -> Option<DeviceError> {
        if self.lost.load(Ordering::Relaxed) {
            return Some(self.lost_error());
        }
        let (faults, counter) = match kind {
            Kind::Allocation => (&self.plan.allocations, &self.kinds[0]),
            Kind::Commit => (&self.plan.commits, &self.kinds[1]),
            Kind::Completion => (&self.plan.completions, &self.kinds[2]),
        };
        let number = counter.tried.fetch_add(1, Ordering::Relaxed);
        let class = faults.decide(self.random(kind as u64, number), number)?;
        counter.failed.fetch_add(1, Ordering::Relaxed);
        Some(self.error(kind, class, bytes))
    }

    fn error(&self, kind: Kind, class: ErrorClass, bytes: u64) -> DeviceError {
        match (class, kind) {
            (ErrorClass::Transient, _) => {
                DeviceError::Busy { device: self.name.clone(), what: "an operation that failed by plan" }
            }
            (ErrorClass::Exhausted, Kind::Commit) => DeviceError::QueueFull { limit: 0 },
            (ErrorClass::Exhausted, _) => DeviceError::OutOfMemory { requested: bytes },
            (ErrorClass::Lost, _) => {
                self.lost.store(true, Ordering::Relaxed);
                self.lost_error()
            }
            (ErrorClass::Caller, _) => DeviceError::Unsupported {
                device: self.name.clone(),
                what: "an operation that failed by plan".to_owned(),
                alternative: "nothing is wrong with it".to_owned(),
            },
        }
    }

    fn lost_error(&self) -> DeviceError {
        let reason = "it was lost by plan".to_owned();
        DeviceError::DeviceLost { device: self.name.clone(), reason }
    }

    fn delay(&self) -> Duration {
        let Range { start, end } = self.plan.latency;
        let span = end.saturating_sub(start).as_nanos() as u64;
        let number = self.delays.fetch_add(1, Ordering::Relaxed);
        start + Duration::from_nanos(self.random(9, number).checked_rem(span).unwrap_or(0))
    }

    /// A number for the n-th operation of a kind: the finaliser of SplitMix64.
    fn random(&self, kind: u64, number: u64) -> u64 {
        let mut state = self.plan.seed ^ (kind << 56) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^ (state >> 31)
    }
}

impl FaultInjectingDevice {
    /// Wraps a device. The clock counts the latencies.
    pub fn new(inner: Arc<dyn Device>, plan: FaultPlan, clock: Arc<dyn Clock>) -> Self {
        let injector = Injector {
            name: inner.name().to_owned(),
            plan,
            clock,
            lost: AtomicBool::new(false),
            kinds: Default::default(),
            delays: AtomicU64::new(0),
        };
        FaultInjectingDevice { inner, injector: Arc::new(injector) }
    }

    /// How many faults were injected so far.
    pub fn injected(&self) -> Injected {
        let failed = |at: usize| self.injector.kinds[at].failed.load(Ordering::Relaxed);
        Injected { allocations: failed(0), commits: failed(1), completions: failed(2) }
    }

    /// Whether it is lost.
    pub fn is_lost(&self) -> bool {
        self.injector.lost.load(Ordering::Relaxed)
    }

    /// Ends a loss.
    pub fn revive(&self) {
        self.injector.lost.store(false, Ordering::Relaxed);
    }

    /// Loses the device now: everything from here on fails, work in flight too.
    pub fn lose(&self) {
        self.injector.lost.store(true, Ordering::Relaxed);
    }

    fn allocation(&self, bytes: u64) -> Result<(), DeviceError> {
        self.injector.fault(Kind::Allocation, bytes).map_or(Ok(()), Err)
    }

    fn alive(&self) -> Result<(), DeviceError> {
        if self.is_lost() { Err(self.injector.lost_error()) } else { Ok(()) }
    }
}

impl Device for FaultInjectingDevice {
    fn name(&self) -> &str {
        &self.injector.name
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        self.allocation(descriptor.length)?;
        self.inner.buffer(descriptor)
    }

    fn import(&self, pages: HostPages, label: &str) -> Result<Arc<dyn Buffer>, Box<ImportError>> {
        match self.allocation(pages.length()) {
            Ok(()) => self.inner.import(pages, label),
            Err(error) => Err(Box::new(ImportError { pages, error })),
        }
    }

    fn pipeline(&self, artifact: &Arc<Artifact>, kernel: &str) -> Result<Arc<dyn Pipeline>, DeviceError> {
        self.alive()?;
        self.inner.pipeline(artifact, kernel)
    }

    fn queue(&self, descriptor: &QueueDescriptor) -> Result<Arc<dyn Queue>, DeviceError> {
        self.alive()?;
        let core = QueueCore {
            injector: Arc::clone(&self.injector),
            inner: self.inner.queue(descriptor)?,
            space: Permits::new(descriptor.max_in_flight),
            when_full: descriptor.when_full,
            pending: Mutex::default(),
            baton: Baton::default(),
        };
        Ok(Arc::new(FaultInjectingQueue(Arc::new(core))))
    }

    fn event(&self) -> Result<Arc<dyn Event>, DeviceError> {
        self.alive()?;
        self.inner.event()
    }

    fn fence(&self) -> Result<Arc<dyn Fence>, DeviceError> {
        self.alive()?;
        self.inner.fence()
    }

    fn heap(&self, descriptor: &HeapDescriptor) -> Result<Arc<dyn Heap>, DeviceError> {
        self.allocation(descriptor.length)?;
        self.inner.heap(descriptor)
    }

    fn indirect_command_buffer(
        &self,
        commands: Vec<Command>,
    ) -> Result<Arc<dyn IndirectCommandBuffer>, DeviceError> {
        self.alive()?;
        self.inner.indirect_command_buffer(commands)
    }

    fn allocated_bytes(&self) -> u64 {
        self.inner.allocated_bytes()
    }
}

struct FaultInjectingQueue(Arc<QueueCore>);

struct QueueCore {
    injector: Arc<Injector>,
    inner: Arc<dyn Queue>,
    space: Permits,
    when_full: WhenFull,
    pending: Mutex<VecDeque<Pending>>,
    /// Who passes completions on.
    baton: Baton,
}

/// A submission whose completion has not been passed on.
struct Pending {
    /// The wrapped device's; `None` while it is being submitted.
    inner: Option<Completion>,
    source: CompletionSource,
    /// When it may end; set once the wrapped device is done with it and it is the first.
    due: Option<Duration>,
}

impl QueueCore {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes on, in order, the completions that are done and due.
    fn deliver(self: &Arc<Self>) {
        if !self.baton.take() {
            return;
        }
        loop {
            loop {
                match self.first_due() {
                    Due::Now(pending, outcome) => {
                        self.space.release();
                        pending.source.finish(self.changed(outcome));
                    }
                    Due::At(at) => {
                        self.injector.clock.set_alarm(at, Waker::from(Arc::clone(self)));
                        break;
                    }
                    Due::Later => break,
                }
            }
            if !self.baton.pass() {
                return;
            }
        }
    }

    fn first_due(&self) -> Due {
        let mut pending = self.lock();
        let Some(first) = pending.front_mut() else {
            return Due::Later;
        };
        let Some(outcome) = first.inner.as_ref().and_then(Completion::outcome) else {
            return Due::Later;
        };
        let now = self.injector.clock.now();
        if first.due.is_none() {
            let due = now + self.injector.delay();
            first.due = Some(due);
            if due > now {
                return Due::At(due);
            }
        }
        if first.due.is_some_and(|due| due > now) {
            return Due::Later;
        }
        pending.pop_front().map_or(Due::Later, |first| Due::Now(first, outcome))
    }

    /// The outcome, or the planned failure of one that was good.
    fn changed(&self, outcome: Outcome) -> Outcome {
        let timing = outcome?;
        match self.injector.fault(Kind::Completion, 0) {
            Some(error) => Err(error),
            None => Ok(timing),
        }
    }
}

enum Due {
    Now(Pending, Outcome),
    /// An alarm is needed.
    At(Duration),
    /// Something that was asked for will come back here.
    Later,
}

/// The wrapped device is done with something, or something is due.
impl Wake for QueueCore {
    fn wake(self: Arc<Self>) {
        self.deliver();
    }
}

impl Queue for FaultInjectingQueue {
    fn submit(&self, submission: Submission) -> Result<Completion, DeviceError> {
        let core = &self.0;
        if let Some(error) = core.injector.fault(Kind::Commit, 0) {
            return Err(error);
        }
        let clock = core.injector.clock.as_ref();
        let free = core.space.try_acquire()
            || match core.when_full {
                WhenFull::Refuse => false,
                WhenFull::Wait(longest) => {
                    core.space.acquire_until(clock, clock.now().saturating_add(longest))
                }
            };
        if !free {
            return Err(DeviceError::QueueFull { limit: core.space.capacity() });
        }
        let source = CompletionSource::new(None);
        let completion = source.completion();
        // Its place first: the wrapped device may run it, and whatever that wakes, before `submit` returns. The
        // wrapped queue has room, since it has at least as much as this one.
        core.lock().push_back(Pending { inner: None, source, due: None });
        let submitted = core.inner.submit(submission);
        let mut waiting = core.lock();
        let at = waiting.iter().position(|pending| pending.source.is_for(&completion));
        let inner = match submitted {
            Ok(inner) => inner,
            Err(error) => {
                let removed = at.and_then(|at| waiting.remove(at));
                drop(waiting);
                drop(removed);
                core.space.release();
                core.deliver();
                return Err(error);
            }
        };
        if let Some(pending) = at.and_then(|at| waiting.get_mut(at)) {
            pending.inner = Some(inner.clone());
        }
        drop(waiting);
        if !inner.subscribe(Waker::from(Arc::clone(core))) {
            core.deliver();
        }
        Ok(completion)
    }

    fn cancel(&self, completion: &Completion) -> Cancellation {
        let core = &self.0;
        let waiting = core.lock();
        let Some(at) = waiting.iter().position(|pending| pending.source.is_for(completion)) else {
            return if completion.is_done() { Cancellation::Ended } else { Cancellation::TooLate };
        };
        let Some(inner) = waiting[at].inner.clone() else {
            return Cancellation::TooLate;
        };
        drop(waiting);
        match core.inner.cancel(&inner) {
            Cancellation::Removed => {}
            // It has ended below, but its end has not been passed on yet.
            Cancellation::TooLate | Cancellation::Ended => return Cancellation::TooLate,
        }
        let mut waiting = core.lock();
        let at = waiting.iter().position(|pending| pending.source.is_for(completion));
        let removed = at.and_then(|at| waiting.remove(at));
        drop(waiting);
        if let (Some(removed), Some(outcome)) = (removed, inner.outcome()) {
            core.space.release();
            removed.source.finish(outcome);
        }
        core.deliver();
        Cancellation::Removed
    }

    fn in_flight(&self) -> usize {
        self.0.space.used()
    }

    fn label(&self) -> &str {
        self.0.inner.label()
    }
}

impl fmt::Debug for FaultInjectingQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FaultInjectingQueue").field("inner", &self.0.inner).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::null::NullDevice;

    fn wrapped(plan: FaultPlan) -> (FaultInjectingDevice, Arc<ManualClock>) {
        let clock = ManualClock::new();
        let null = Arc::new(NullDevice::with_clock(clock.clone()));
        (FaultInjectingDevice::new(null, plan, clock.clone()), clock)
    }

    fn outcomes(seed: u64) -> Vec<bool> {
        let completions = Faults::by_chance(200_000, &[ErrorClass::Transient, ErrorClass::Exhausted]);
        let (device, _clock) = wrapped(FaultPlan { seed, completions, ..FaultPlan::default() });
        let queue = device.queue(&QueueDescriptor::default()).unwrap();
        let ends: Vec<bool> =
            (0..1000).map(|_| queue.submit(Submission::default()).unwrap().wait().is_ok()).collect();
        let failed = ends.iter().filter(|good| !**good).count() as u64;
        assert_eq!(device.injected(), Injected { completions: failed, ..Injected::default() });
        assert!((120..280).contains(&failed), "{failed} of 1000 failed instead of about 200");
        ends
    }

    #[test]
    fn the_seed_decides_what_fails() {
        assert_eq!(outcomes(1), outcomes(1));
        assert_ne!(outcomes(1), outcomes(2));
    }

    #[test]
    fn a_loss_lasts_until_the_device_is_revived() {
        let allocations = Faults::at(1, ErrorClass::Lost);
        let (device, _clock) = wrapped(FaultPlan { allocations, ..FaultPlan::default() });
        let buffer = || device.buffer(&BufferDescriptor::shared(8)).map(drop);
        let queue = device.queue(&QueueDescriptor::default()).unwrap();
        assert_eq!(buffer(), Ok(()));
        assert_eq!(buffer().unwrap_err().class(), ErrorClass::Lost);
        assert_eq!(buffer().unwrap_err().class(), ErrorClass::Lost);
        assert_eq!(queue.submit(Submission::default()).unwrap_err().class(), ErrorClass::Lost);
        device.revive();
        assert_eq!(buffer(), Ok(()));
        queue.submit(Submission::default()).unwrap().wait().unwrap();
    }

    #[test]
    fn latencies_pass_by_the_clock_and_keep_the_order() {
        let latency = Duration::from_millis(10)..Duration::from_millis(30);
        let (device, clock) = wrapped(FaultPlan { latency, ..FaultPlan::default() });
        let when_full = WhenFull::Refuse;
        let descriptor = QueueDescriptor { max_in_flight: 3, when_full, ..QueueDescriptor::default() };
        let queue = device.queue(&descriptor).unwrap();
        let ends: Vec<_> = (0..3).map(|_| queue.submit(Submission::default()).unwrap()).collect();
        assert!(matches!(queue.submit(Submission::default()), Err(DeviceError::QueueFull { limit: 3 })));
        clock.advance(Duration::from_millis(9));
        assert!(!ends[0].is_done());
        for done in 1..=3 {
            assert!(clock.advance_to_next_alarm());
            let ended: Vec<bool> = ends.iter().map(Completion::is_done).collect();
            assert_eq!(ended.iter().filter(|ended| **ended).count(), done);
            assert!(ended.is_sorted_by(|one, next| one >= next));
        }
        assert!(clock.now() >= Duration::from_millis(30) && queue.in_flight() == 0);
    }
}
