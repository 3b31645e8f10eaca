//! The pool: acquire and return against fresh memory, and the hit rate on a trace of training steps.

use std::hint::black_box;
use std::time::Instant;

use anymetal::memory::{AcquireRequest, PoolStats, PooledBuffer};
use anymetal::{Device, Error};

use super::{Figure, Goal, median};

const MIB: u64 = 1 << 20;

pub(super) fn figures(device: &Device, rounds: u32) -> Result<Vec<Figure>, Error> {
    let mut figures = acquire_against_fresh(device, 6 * rounds)?;
    for (name, trace) in [
        ("hit rate of training steps, fixed shapes", training(8, 1)),
        ("hit rate of training steps, 40 sequence lengths", training(40, 40)),
    ] {
        // A device of its own has a pool of its own.
        let device = anymetal::testing::separate(device);
        let stats = replay(&device, &trace)?;
        let rate = stats.hit_rate() * 100.0;
        figures.push(Figure::new(name, "%", rate, ("", f64::NAN), Goal::AtLeast(95.0)));
    }
    Ok(figures)
}

fn acquire_against_fresh(device: &Device, rounds: u32) -> Result<Vec<Figure>, Error> {
    let request = AcquireRequest::new(MIB).label("bench");
    let pages: Vec<usize> = (0..MIB as usize).step_by(4096).collect();
    let (mut acquire, mut fresh, mut touched) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        acquire.push(nanoseconds(2000, || {
            device.pool().acquire(&request).map(|acquired| drop(black_box(acquired))).map_err(Error::from)
        })?);
        fresh.push(nanoseconds(50, || {
            device.buffer_zeroed::<u8>(MIB as usize).map(|made| drop(black_box(made)))
        })?);
        touched.push(nanoseconds(5, || {
            let buffer = device.buffer_zeroed::<u8>(MIB as usize)?;
            pages.iter().try_for_each(|&page| buffer.write_at(page, &[1]))
        })?);
    }
    let [acquire, fresh, touched] = [median(acquire), median(fresh), median(touched)];
    let figure = |name, plain, goal| Figure::new(name, "ns", acquire, plain, goal);
    Ok(vec![
        figure("acquire and return of 1 MiB", ("make and drop one", fresh), Goal::AtMost(100.0)),
        figure("acquire and return of 1 MiB", ("make and drop one", fresh), Goal::Faster(20.0)),
        figure("acquire and return of 1 MiB", ("make one, touch its pages, drop it", touched), Goal::None),
    ])
}

fn nanoseconds(count: u32, mut act: impl FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    let start = Instant::now();
    (0..count).try_for_each(|_| act())?;
    Ok(start.elapsed().as_nanos() as f64 / f64::from(count))
}

/// One step of a trace: take a buffer, which gets the next number, or give one back.
enum PoolStep {
    Take(u64),
    Give(usize),
}

/// The buffers of a small transformer's training steps: activations kept for the backward pass, gradients,
/// short-lived scratch. The sequence length changes among `lengths` values, as batches of text do.
fn training(steps: u64, lengths: u64) -> Vec<PoolStep> {
    let (layers, width, batch) = (12u64, 512u64, 8u64);
    let mut trace = Vec::new();
    let mut next = 0;
    let mut take = |trace: &mut Vec<PoolStep>, bytes: u64| {
        trace.push(PoolStep::Take(bytes));
        next += 1;
        next - 1
    };
    for step in 0..steps {
        let tokens = 128 + (step * 7919 % lengths) * 16;
        let (row, scores) = (batch * tokens * width * 4, batch * 8 * tokens * tokens * 2);
        let mut kept = Vec::new();
        for _ in 0..layers {
            let of_layer = [3 * row, scores, row, 4 * row, row];
            kept.extend(of_layer.map(|bytes| take(&mut trace, bytes)));
            let scratch = take(&mut trace, row);
            trace.push(PoolStep::Give(scratch));
        }
        let mut gradient = take(&mut trace, row);
        while let Some(activation) = kept.pop() {
            let scratch = take(&mut trace, 4 * row);
            let previous = std::mem::replace(&mut gradient, take(&mut trace, row));
            trace.extend([scratch, previous, activation].map(PoolStep::Give));
        }
        trace.push(PoolStep::Give(gradient));
    }
    trace
}

fn replay(device: &Device, trace: &[PoolStep]) -> Result<PoolStats, Error> {
    let mut acquired: Vec<Option<PooledBuffer>> = Vec::new();
    for step in trace {
        match step {
            PoolStep::Take(bytes) => {
                acquired.push(Some(device.pool().acquire(&AcquireRequest::new(*bytes))?))
            }
            PoolStep::Give(which) => acquired[*which] = None,
        }
    }
    Ok(device.memory().pool)
}
