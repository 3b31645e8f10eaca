//! Random work from eight threads under injected faults: every submission ends in exactly one way, the bytes
//! are those that the outcomes say, and nothing leaks. The long one is run by hand:
//! `cargo test --release -p anymetal-core --test exec -- --ignored soak`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anymetal_core::stream::context::Context;
use anymetal_core::stream::group::StreamGroup;
use anymetal_core::stream::{Stream, StreamOptions};
use anymetal_core::submission::{CommittedCommands, ExecError, Outcome};
use anymetal_core::tenant::{Tenant, TenantLimits};
use anymetal_hal::buffer::Buffer;
use anymetal_hal::clock::SystemClock;
use anymetal_hal::error::{DeviceError, ErrorClass};
use anymetal_hal::queue::Priority;
use anymetal_testing::fault_injection::{FaultInjectingDevice, FaultPlan, Faults};

use crate::machine::{cpu, read, zeroed};

const THREADS: u64 = 8;
const CELLS: usize = 16;

/// How all submissions ended.
#[derive(Debug, Default)]
struct Tally {
    done: AtomicUsize,
    failed: AtomicUsize,
    dependents: AtomicUsize,
    cancelled: AtomicUsize,
}

/// One thread's work on its own buffer. Each cell's fills depend on each other, so their order is known.
struct Worker<'a> {
    streams: &'a [&'a Stream],
    context: &'a Context,
    buffer: Arc<dyn Buffer>,
    cells: Vec<Vec<(u8, CommittedCommands)>>,
    expected: [u8; CELLS],
    random: u64,
    ended: Arc<AtomicUsize>,
    tally: &'a Tally,
}

impl Worker<'_> {
    fn draw(&mut self, below: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % below
    }

    fn step(&mut self) {
        let (at, value) = (self.draw(CELLS as u64) as usize, self.draw(255) as u8 + 1);
        let stream = self.streams[self.draw(self.streams.len() as u64) as usize];
        let mut command_buffer = stream.command_buffer().expect("command buffers come back");
        let ended = Arc::clone(&self.ended);
        let count_end = move |_: &Outcome| {
            ended.fetch_add(1, Ordering::SeqCst);
        };
        command_buffer = command_buffer.on_done(count_end);
        // After a failure the chain begins anew; what was before a cancelled one may still run.
        if self.cells[at].last().is_some_and(|(_, before)| before.outcome().is_some_and(|end| end.is_err())) {
            self.settle(at);
        }
        if let Some((_, before)) = self.cells[at].last() {
            command_buffer = command_buffer.after(before);
        }
        let event = (self.draw(8) == 0).then(|| self.context.event().expect("an event"));
        if let Some(event) = &event {
            command_buffer.wait_event(event, 1).expect("a wait");
        }
        let cell = at as u64..at as u64 + 1;
        command_buffer.blit().fill(&self.buffer, cell, value).expect("a fill");
        let submission = command_buffer.commit();
        if self.draw(20) == 0 {
            submission.cancel();
        }
        if let Some(event) = event {
            event.signal(1);
        }
        self.cells[at].push((value, submission));
        if self.cells[at].len() > 40 {
            self.settle(at);
        }
        if self.draw(200) == 0 {
            stream.pause();
            stream.resume();
        }
    }

    /// Waits for all work on a cell and learns which of it ran last.
    fn settle(&mut self, at: usize) {
        for (value, submission) in std::mem::take(&mut self.cells[at]) {
            let (ran, count) = match submission.wait() {
                Ok(_) => (true, &self.tally.done),
                // Completions fail by plan with these, after the work was done.
                Err(ExecError::Device(DeviceError::Busy { .. } | DeviceError::OutOfMemory { .. })) => {
                    (true, &self.tally.failed)
                }
                Err(ExecError::Device(_)) => (false, &self.tally.failed),
                Err(ExecError::DependencyFailed { .. }) => (false, &self.tally.dependents),
                Err(ExecError::Cancelled { .. }) => (false, &self.tally.cancelled),
                Err(other) => panic!("not an end of a submission: {other}"),
            };
            count.fetch_add(1, Ordering::Relaxed);
            if ran {
                self.expected[at] = value;
            }
        }
    }
}

fn soak(seed: u64, keeps_running: impl Fn(usize) -> bool + Sync) -> Tally {
    let inner = cpu();
    let plan = FaultPlan::default()
        .seed(seed)
        .commits(Faults::by_chance(20_000, &[ErrorClass::Caller]))
        .completions(Faults::by_chance(20_000, &[ErrorClass::Transient, ErrorClass::Exhausted]))
        .latency(Duration::ZERO..Duration::from_micros(100));
    let faulty = FaultInjectingDevice::new(Arc::clone(&inner), plan, SystemClock::shared());
    let context = Context::new(Arc::new(faulty));
    let limits = TenantLimits::new().in_flight(12);
    let options = StreamOptions::default()
        .max_in_flight(8)
        .max_command_buffers(200)
        .tenant(Some(Tenant::new("everyone", limits, SystemClock::shared())));
    let group = StreamGroup::new(&context, Some(3), &options).unwrap();
    let has_priorities = inner.capabilities().supports_priorities;
    let priority = if has_priorities { Priority::High } else { Priority::Normal };
    let urgent = context.stream(options.priority(priority)).unwrap();
    let streams: Vec<&Stream> = group.streams().iter().chain([&urgent]).collect();
    let tally = Tally::default();
    let (ended, before) = (Arc::new(AtomicUsize::new(0)), inner.allocated_bytes());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (streams, context, tally, inner) = (&streams, &context, &tally, &inner);
            let (ended, keeps_running) = (Arc::clone(&ended), &keeps_running);
            scope.spawn(move || {
                let mut worker = Worker {
                    streams,
                    context,
                    buffer: zeroed(inner.as_ref(), CELLS as u64),
                    cells: (0..CELLS).map(|_| Vec::new()).collect(),
                    expected: [0; CELLS],
                    random: seed ^ (thread << 40),
                    ended,
                    tally,
                };
                (0..).take_while(|step| keeps_running(*step)).for_each(|_| worker.step());
                (0..CELLS).for_each(|cell| worker.settle(cell));
                assert_eq!(read(worker.buffer.as_ref()), worker.expected, "the bytes that the outcomes say");
            });
        }
    });
    streams.iter().for_each(|stream| stream.drain().unwrap());
    let told = [&tally.done, &tally.failed, &tally.dependents, &tally.cancelled];
    let total: usize = told.iter().map(|count| count.load(Ordering::Relaxed)).sum();
    assert_eq!(ended.load(Ordering::SeqCst), total, "each was told to have ended exactly once");
    assert_eq!(inner.allocated_bytes(), before, "nothing leaks");
    assert!(
        told.iter().all(|count| count.load(Ordering::Relaxed) > 0),
        "every kind of end came up: {tally:?}"
    );
    tally
}

#[test]
fn random_work_under_faults_ends_right() {
    soak(11, |step| step < 300);
}

#[test]
#[ignore = "takes ten minutes and a machine without other load: run it before a release; the short one above always runs"]
fn soak_for_ten_minutes() {
    let until = Instant::now() + Duration::from_secs(600);
    let tally = soak(12, move |_| Instant::now() < until);
    assert!(tally.done.load(Ordering::Relaxed) > 10_000, "{tally:?}");
}
