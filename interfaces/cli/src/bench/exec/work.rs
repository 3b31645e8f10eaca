//! Submissions, events and queues beside each other, against a message to a sleeping thread.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use anymetal::{Device, Error, Pipeline, Queue, Submission};

use super::{Figure, Goal, median, microseconds};

/// Kernels of the suite.
#[derive(Debug)]
pub(super) struct Kernels {
    /// Does nothing.
    pub(super) empty: Pipeline,
    /// Keeps one core's multiply-add units busy for that many steps.
    compute: Pipeline,
    /// A little work that shows in its result.
    pub(super) step: Pipeline,
}

const SOURCE: &str = r"
#include <metal_stdlib>
using namespace metal;
kernel void empty() {}
kernel void compute(device float* sums, constant int& steps, uint t [[thread_position_in_threadgroup]]) {
    float4 a = float4(t), b = a + 1, c = a + 2, d = a + 3;
    for (int step = 0; step < steps; step++) {
        a = fma(a, 0.999f, 0.5f); b = fma(b, 0.999f, 0.5f); c = fma(c, 0.999f, 0.5f); d = fma(d, 0.999f, 0.5f);
    }
    a += b + c + d;
    sums[t] = a.x + a.y + a.z + a.w;
}
kernel void step(device const uint* x, device uint* y, constant uint& k, uint i [[thread_position_in_grid]]) {
    y[i] = x[i] + k;
}
";

/// Threads of each dispatch: one SIMD-group.
pub(super) const THREADS: u32 = 32;
/// Dispatches in the batch.
const BATCH: usize = 1000;
/// Small dispatches that queues share.
const SHARED: usize = 24;
/// Their steps: some 50 µs.
const STEPS: i32 = 5000;
/// Steps of some 15 µs: too many to be run by the thread that submits them.
const SHORT_STEPS: i32 = 1500;
/// Submissions of one kind before those of another.
const IN_A_ROW: u32 = 50;

impl Kernels {
    pub(super) fn new(device: &Device) -> Result<Kernels, Error> {
        let library = device.library_from_source(SOURCE)?;
        let pipeline = |name| library.pipeline(name);
        Ok(Kernels { empty: pipeline("empty")?, compute: pipeline("compute")?, step: pipeline("step")? })
    }
}

pub(super) fn figures(device: &Device, kernels: &Kernels, rounds: u32) -> Result<Vec<Figure>, Error> {
    let mut figures = latency(device, kernels, 100 * rounds)?;
    figures.push(batched(device, kernels, 10 * rounds)?);
    figures.push(event(device, 50 * rounds)?);
    figures.push(overlap(device, kernels, 3 * rounds)?);
    Ok(figures)
}

/// Submit to done of one empty dispatch, waited for and awaited, and of one that is too long to be run by the
/// thread that submits it, less its own time: that one is handed over, and the thread sleeps until its end.
/// Each several times in a row, by turns, because the processor that a thread wakes on depends on earlier
/// work.
fn latency(device: &Device, kernels: &Kernels, count: u32) -> Result<Vec<Figure>, Error> {
    let queue = device.queue()?;
    let sums = device.acquire::<f32>(THREADS as usize)?;
    let (to, from) = echo();
    let mut times = [const { Vec::new() }; 4];
    let [waited, awaited, handed_over, message] = &mut times;
    for _ in 0..count.div_ceil(IN_A_ROW) {
        for _ in 0..IN_A_ROW {
            waited.push(microseconds(|| submit(&queue, &kernels.empty)?.wait().map(drop))?);
        }
        for _ in 0..IN_A_ROW {
            awaited.push(microseconds(|| block_on(submit(&queue, &kernels.empty)?).map(drop))?);
        }
        for _ in 0..IN_A_ROW {
            let mut own = Duration::ZERO;
            let whole = microseconds(|| {
                let launch = queue.launch(&kernels.compute).arg(&sums).arg(SHORT_STEPS);
                own = block_on(launch.groups(1).group_size(THREADS).submit()?)?.device_time();
                Ok(())
            })?;
            handed_over.push(whole - own.as_nanos() as f64 / 1e3);
        }
        for _ in 0..IN_A_ROW {
            message.push(microseconds(|| round_trip(&to, &from))?);
        }
    }
    let [waited, awaited, handed_over, message] = times.map(median);
    let plain = ("message to a sleeping thread and back", message);
    let goal = Goal::TimesPlain(1.5);
    Ok(vec![
        Figure::new("empty dispatch, submit to done, waited for", "µs", waited, plain, goal),
        Figure::new("empty dispatch, submit to done, awaited", "µs", awaited, plain, goal),
        Figure::new("longer dispatch, awaited asleep, less its time", "µs", handed_over, plain, goal),
    ])
}

fn batched(device: &Device, kernels: &Kernels, count: u32) -> Result<Figure, Error> {
    let queue = device.queue()?;
    let (mut batched, mut singly) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let mut commands = queue.command_buffer()?;
        let mut encoder = commands.compute_encoder();
        encoder.set_pipeline(&kernels.empty);
        for _ in 0..BATCH {
            encoder.dispatch_threads(THREADS, THREADS)?;
        }
        encoder.end_encoding();
        batched.push(microseconds(|| commands.commit()?.wait().map(drop))? / BATCH as f64);
        singly.push(
            microseconds(|| (0..BATCH).try_for_each(|_| submit(&queue, &kernels.empty)?.wait().map(drop)))?
                / BATCH as f64,
        );
    }
    let plain = ("each submitted and waited for", median(singly));
    Ok(Figure::new(
        "empty dispatches, 1000 in a command buffer, each",
        "µs",
        median(batched),
        plain,
        Goal::AtMost(1.0),
    ))
}

/// From the host's signal to the end of work that waits for it.
fn event(device: &Device, count: u32) -> Result<Figure, Error> {
    let (queue, event) = (device.queue()?, device.event()?);
    let (to, from) = echo();
    let (mut signal, mut message) = (Vec::new(), Vec::new());
    for value in 1..=u64::from(count) {
        let mut commands = queue.command_buffer()?;
        commands.wait_event(&event, value)?;
        let waits = commands.commit()?;
        std::thread::sleep(Duration::from_micros(200));
        signal.push(microseconds(|| {
            event.signal(value);
            waits.wait().map(drop)
        })?);
        message.push(microseconds(|| round_trip(&to, &from))?);
    }
    let plain = ("message to a sleeping thread and back", median(message));
    Ok(Figure::new("event signal to end of the work that waits", "µs", median(signal), plain, Goal::None))
}

/// Dispatches of one threadgroup each cannot use several cores, unless they run beside each other.
fn overlap(device: &Device, kernels: &Kernels, count: u32) -> Result<Figure, Error> {
    let queues = device.queues(3)?;
    let sums: Vec<_> =
        (0..SHARED).map(|_| device.acquire::<f32>(THREADS as usize)).collect::<Result<_, Error>>()?;
    let run = |queues: &[Queue]| {
        microseconds(|| {
            let launches = sums.iter().enumerate().map(|(turn, sums)| {
                let launch = queues[turn % queues.len()].launch(&kernels.compute).arg(sums).arg(STEPS);
                launch.groups(1).group_size(THREADS).submit()
            });
            let submitted = launches.collect::<Result<Vec<_>, _>>()?;
            submitted.iter().try_for_each(|submission| submission.wait().map(drop))
        })
    };
    let all: Vec<Queue> = (0..3).map(|number| queues.queue(number)).collect();
    let (mut one, mut three) = (Vec::new(), Vec::new());
    for _ in 0..count {
        one.push(run(&all[..1])?);
        three.push(run(&all)?);
    }
    let plain = ("on one queue", median(one));
    Ok(Figure::new("24 small dispatches on three queues", "µs", median(three), plain, Goal::Faster(1.0)))
}

fn submit(queue: &Queue, pipeline: &Pipeline) -> Result<Submission, Error> {
    queue.launch(pipeline).threads(THREADS).group_size(THREADS).submit()
}

/// A thread that sends back what it gets, and sleeps in between.
fn echo() -> (Sender<()>, Receiver<()>) {
    let (to, its) = channel();
    let (back, from) = channel();
    std::thread::spawn(move || its.into_iter().take_while(|()| back.send(()).is_ok()).for_each(drop));
    (to, from)
}

fn round_trip(to: &Sender<()>, from: &Receiver<()>) -> Result<(), Error> {
    // The thread lives as long as the sender.
    let _answer = to.send(()).ok().and_then(|()| from.recv().ok());
    Ok(())
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The plainest executor: sleeps until woken.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}
