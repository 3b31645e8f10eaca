//! Models of the queue's roles: every interleaving of submitters, waiting threads, cancellers, events and one
//! worker, under loom.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p anymetal-cpu --lib --release models`. The queue,
//! completions and events are those that ship. The worker is the model's own thread, taking what the queue
//! publishes, since the pool has models of its own.

use std::sync::OnceLock;

use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::clock::ManualClock;
use anymetal_hal::command::Command;
use anymetal_hal::event::{HostEvent, Subscription};
use anymetal_hal::sync::thread::{self, JoinHandle};
use anymetal_hal::sync::{AtomicBool, AtomicU64};

use super::*;
use crate::capabilities;
use crate::config::CpuDeviceOptions;
use crate::pool::Pool;

/// A queue and the thread that works for it.
struct Modelled {
    queue: Arc<CpuQueue>,
    clock: Arc<ManualClock>,
    ended: Arc<AtomicBool>,
    worker: JoinHandle<()>,
}

impl Modelled {
    fn new(descriptor: QueueDescriptor, lend_waiting_threads: bool) -> Self {
        // Asking the machine takes longer than an interleaving.
        static CAPABILITIES: OnceLock<Capabilities> = OnceLock::new();
        let capabilities = CAPABILITIES.get_or_init(|| capabilities::query(1, None)).clone();
        let options = CpuDeviceOptions { lend_waiting_threads, ..CpuDeviceOptions::default() };
        let clock = ManualClock::new();
        let device = Arc::new(DeviceShared::new(
            &options,
            capabilities,
            Pool::without_workers(),
            Arc::<ManualClock>::clone(&clock),
        ));
        let (queue, ended) =
            (Arc::new(CpuQueue::new(&device, &descriptor)), Arc::new(AtomicBool::new(false)));
        let worker = {
            let ended = Arc::clone(&ended);
            thread::spawn(move || {
                while !ended.load(Ordering::Acquire) {
                    match device.pool.take() {
                        Some(runnable) => runnable.run(),
                        None => thread::yield_now(),
                    }
                }
            })
        };
        Modelled { queue, clock, ended, worker }
    }

    /// All work is done: the worker may go, and nothing is in flight or led.
    fn end(self) {
        self.ended.store(true, Ordering::Release);
        self.worker.join().unwrap();
        let state = self.queue.core.lock();
        assert_eq!((state.in_flight, state.pending.len(), state.waiting_submitters), (0, 0, 0));
        assert!(matches!(state.role, Role::Idle | Role::Scheduled), "{:?}", state.role);
    }
}

/// An event that is signalled by one thread at a time and with ever higher values, or panics.
#[derive(Debug, Default)]
struct InOrder(Turn);

#[derive(Debug)]
struct Turn {
    taken: AtomicBool,
    value: AtomicU64,
}

impl Default for Turn {
    fn default() -> Self {
        Turn { taken: AtomicBool::new(false), value: AtomicU64::new(0) }
    }
}

impl Event for InOrder {
    fn signaled_value(&self) -> u64 {
        self.0.value.load(Ordering::Acquire)
    }

    fn signal(&self, value: u64) {
        assert!(!self.0.taken.swap(true, Ordering::AcqRel), "two lead");
        assert!(self.0.value.swap(value, Ordering::AcqRel) < value, "out of order");
        assert!(self.0.taken.swap(false, Ordering::AcqRel));
    }

    fn subscribe(&self, _value: u64, _waker: Waker) -> Option<Subscription> {
        None
    }

    fn unsubscribe(&self, _subscription: Subscription) {}

    fn wait(&self, value: u64, _timeout: Option<Duration>) -> bool {
        self.signaled_value() >= value
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

fn signal<E: Event + 'static>(event: &Arc<E>, value: u64) -> Command {
    Command::SignalEvent { event: Arc::<E>::clone(event), value }
}

fn wait(event: &Arc<HostEvent>, value: u64) -> Command {
    Command::WaitEvent { event: Arc::<HostEvent>::clone(event), value }
}

fn submission(commands: impl Into<Vec<Command>>) -> CommandList {
    CommandList::new(commands.into()).deadline(Deadline::Never)
}

/// Whoever submits and waits, with its thread lent to the queue, gets its end, whoever leads.
#[test]
fn whoever_waits_gets_its_end() {
    loom::model(|| {
        let modelled = Modelled::new(QueueDescriptor::default(), true);
        let event = Arc::new(HostEvent::default());
        let other = {
            let (queue, event) = (Arc::clone(&modelled.queue), Arc::clone(&event));
            thread::spawn(move || queue.submit(submission([signal(&event, 1)])).unwrap().wait())
        };
        modelled.queue.submit(submission([])).unwrap().wait().unwrap();
        other.join().unwrap().unwrap();
        assert_eq!(event.signaled_value(), 1);
        modelled.end();
    });
}

/// Whether a thread that waits leads or the worker, nobody leads beside it, and what came first runs first.
#[test]
fn one_leads_in_order() {
    loom::model(|| {
        let modelled = Modelled::new(QueueDescriptor::default(), true);
        let order = Arc::new(InOrder::default());
        let submit = |value| modelled.queue.submit(submission([signal(&order, value)])).unwrap();
        let ends = [submit(1), submit(2)];
        for end in &ends {
            end.wait().unwrap();
        }
        modelled.end();
    });
}

/// Work that is run by whoever submits it, beside somebody else's: each is run, by one of them or by the
/// worker that the first hands over to, and nothing is left behind.
#[test]
fn work_run_in_submit_leaves_nothing_behind() {
    loom::model(|| {
        let modelled = Modelled::new(QueueDescriptor::default(), false);
        let at_once = || submission([]).may_run_inline(true);
        let other = {
            let queue = Arc::clone(&modelled.queue);
            thread::spawn(move || queue.submit(at_once()).unwrap().wait())
        };
        modelled.queue.submit(at_once()).unwrap().wait().unwrap();
        other.join().unwrap().unwrap();
        modelled.end();
    });
}

/// Work that is run while its submitter waits, without a completion, beside what is submitted: nobody leads
/// beside it, what comes meanwhile is run, and where somebody leads already it is left to be submitted.
#[test]
fn work_run_at_once_leaves_nothing_behind() {
    loom::model(|| {
        let modelled = Modelled::new(QueueDescriptor::default(), false);
        let order = Arc::new(InOrder::default());
        let other = {
            let (queue, order) = (Arc::clone(&modelled.queue), Arc::clone(&order));
            thread::spawn(move || queue.submit(submission([signal(&order, 1)])).unwrap().wait())
        };
        let work = submission([]);
        match modelled.queue.run_inline(&work) {
            Some(outcome) => drop(outcome.unwrap()),
            None => drop(modelled.queue.submit(work).unwrap().wait().unwrap()),
        }
        other.join().unwrap().unwrap();
        assert_eq!(order.signaled_value(), 1);
        modelled.end();
    });
}

/// A queue that waits for an event, or is about to, goes on when it comes; what stands behind in its order.
#[test]
fn a_blocked_queue_goes_on() {
    loom::model(|| {
        let modelled = Modelled::new(QueueDescriptor::default(), false);
        let (awaited, reached) = (Arc::new(HostEvent::default()), Arc::new(InOrder::default()));
        let signals = {
            let awaited = Arc::clone(&awaited);
            thread::spawn(move || (1..=2).for_each(|value| awaited.signal(value)))
        };
        let commands = [wait(&awaited, 1), signal(&reached, 1), wait(&awaited, 2)];
        let first = modelled.queue.submit(submission(commands)).unwrap();
        let second = modelled.queue.submit(submission([signal(&reached, 2)])).unwrap();
        second.wait().unwrap();
        assert!(first.is_done(), "in order");
        signals.join().unwrap();
        modelled.end();
    });
}

/// What is taken back never runs and ends as cancelled; what is not runs. A queue that waited with it goes on
/// with the next.
#[test]
fn what_is_taken_back_holds_nothing_up() {
    loom::model(|| {
        let modelled = Modelled::new(QueueDescriptor::default(), false);
        let (awaited, reached) = (Arc::new(HostEvent::default()), Arc::new(HostEvent::default()));
        let first = modelled.queue.submit(submission([wait(&awaited, 1), signal(&reached, 1)])).unwrap();
        let second = modelled.queue.submit(submission([])).unwrap();
        // It cannot be taken out of the hands of a leader that just looks at it.
        while modelled.queue.cancel(&first) != Cancellation::Removed {
            thread::yield_now();
        }
        assert!(matches!(first.wait(), Err(DeviceError::Cancelled { .. })));
        second.wait().unwrap();
        assert_eq!(reached.signaled_value(), 0);
        modelled.end();
    });
}

/// Taken back while it runs or waits for its event: either it never ran, or it runs to its end.
#[test]
fn what_is_taken_back_late_runs_or_does_not() {
    loom::model(|| {
        let modelled = Modelled::new(QueueDescriptor::default(), false);
        let (awaited, reached) = (Arc::new(HostEvent::default()), Arc::new(HostEvent::default()));
        let first = modelled.queue.submit(submission([signal(&reached, 1), wait(&awaited, 1)])).unwrap();
        let canceller = {
            let (queue, first) = (Arc::clone(&modelled.queue), first.clone());
            thread::spawn(move || queue.cancel(&first))
        };
        awaited.signal(1);
        let outcome = first.wait();
        match canceller.join().unwrap() {
            Cancellation::Removed => assert!(matches!(outcome, Err(DeviceError::Cancelled { .. }))),
            Cancellation::Stopping | Cancellation::TooLate | Cancellation::Ended => assert!(outcome.is_ok()),
        }
        assert_eq!(reached.signaled_value(), u64::from(outcome.is_ok()));
        modelled.end();
    });
}

/// A deadline that passes before, while or after the queue blocks ends the wait, and the next has its turn
/// after it.
#[test]
fn a_deadline_ends_a_wait() {
    loom::model(|| {
        let modelled = Modelled::new(QueueDescriptor::default(), true);
        let (never, order) = (Arc::new(HostEvent::default()), Arc::new(InOrder::default()));
        let deadline = Deadline::After(Duration::from_secs(1));
        let late = submission([signal(&order, 1), wait(&never, 1)]).deadline(deadline);
        let late = modelled.queue.submit(late).unwrap();
        let time = {
            let clock = Arc::clone(&modelled.clock);
            thread::spawn(move || {
                while !clock.advance_to_next_alarm() {
                    thread::yield_now();
                }
            })
        };
        let next = modelled.queue.submit(submission([signal(&order, 2)])).unwrap();
        let outcome = late.wait();
        assert!(matches!(outcome, Err(DeviceError::DeadlineExceeded { .. })), "{outcome:?}");
        next.wait().unwrap();
        time.join().unwrap();
        modelled.end();
    });
}

/// Whoever finds the queue full gets in when there is space.
#[test]
fn whoever_waits_for_space_gets_in() {
    loom::model(|| {
        let descriptor = QueueDescriptor::default().max_in_flight(1);
        let modelled = Modelled::new(descriptor, false);
        let other = {
            let queue = Arc::clone(&modelled.queue);
            thread::spawn(move || queue.submit(submission([])).unwrap().wait())
        };
        modelled.queue.submit(submission([])).unwrap().wait().unwrap();
        other.join().unwrap().unwrap();
        modelled.end();
    });
}
