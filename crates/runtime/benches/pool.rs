//! What the pool saves: rent and return against fresh allocation, and the hit rate on a training-like trace.
//!
//! Run with `cargo bench -p anymetal-runtime --bench pool`. Both sides are measured in turns in one process, and
//! medians are compared, so the ratio holds on a busy machine. Without `--bench` (as under `cargo test`) it runs
//! once, briefly.
#![allow(clippy::print_stdout, reason = "a benchmark reports to its terminal")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use anymetal_device_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::buffer::BufferDescriptor;
use anymetal_hal::clock::SystemClock;
use anymetal_hal::device::Device;
use anymetal_runtime::memory::pool::{Pool, PoolOptions, PooledBuffer, RentRequest};

const MIB: u64 = 1 << 20;

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let rounds = if full { 51 } else { 1 };
    let device: Arc<dyn Device> = match CpuDevice::new(&CpuDeviceOptions::default()) {
        Ok(device) => Arc::new(device),
        Err(error) => return println!("no CPU device: {error}"),
    };
    let pool = Pool::new(Arc::clone(&device), SystemClock::shared(), PoolOptions::default());
    rent_against_fresh(&*device, &pool, rounds);
    for (name, trace) in [("fixed shapes", training(8, 1)), ("varying sequence lengths", training(40, 40))] {
        let pool = Pool::new(Arc::clone(&device), SystemClock::shared(), PoolOptions::default());
        replay(&pool, &trace);
        let stats = pool.stats();
        println!(
            "trace, {name}: {} rents, hit rate {:.1} %, peak {} MiB for {} MiB asked at the peak, {:.1} % lost to classes",
            stats.rents,
            stats.hit_rate() * 100.0,
            stats.peak_bytes / MIB,
            asked_peak(&trace) / MIB,
            stats.internal_fragmentation() * 100.0,
        );
    }
}

fn rent_against_fresh(device: &dyn Device, pool: &Pool, rounds: usize) {
    let request = RentRequest::new(MIB).label("bench");
    let (mut rent, mut fresh, mut touched) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        rent.push(nanoseconds(2000, || drop(black_box(pool.rent(&request)))));
        fresh.push(nanoseconds(50, || drop(black_box(device.buffer(&BufferDescriptor::shared(MIB))))));
        touched.push(nanoseconds(5, || {
            if let Ok(buffer) = device.buffer(&BufferDescriptor::shared(MIB)) {
                for page in 0..MIB / 4096 {
                    // A failure would show as an absurd time.
                    let _written = buffer.write(page * 4096, &[1]);
                }
            }
        }));
    }
    let [rent, fresh, touched] = [median(rent), median(fresh), median(touched)];
    println!("rent and return of 1 MiB:      {rent:10.0} ns");
    println!("fresh 1 MiB, never touched:    {fresh:10.0} ns, {:.1} times the rent", fresh / rent);
    println!("fresh 1 MiB, each page touched:{touched:10.0} ns, {:.1} times the rent", touched / rent);
}

fn nanoseconds(count: u32, mut act: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..count).for_each(|_| act());
    start.elapsed().as_nanos() as f64 / f64::from(count)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// One step of a trace: take a buffer, which gets the next number, or give one back.
enum Step {
    Take(u64),
    Give(usize),
}

/// The buffers of a small transformer's training steps: activations kept for the backward pass, gradients,
/// short-lived scratch. The sequence length changes among `lengths` values, as batches of text do.
fn training(steps: u64, lengths: u64) -> Vec<Step> {
    let (layers, width, batch) = (12u64, 512u64, 8u64);
    let mut trace = Vec::new();
    let mut next = 0;
    let mut take = |trace: &mut Vec<Step>, bytes: u64| {
        trace.push(Step::Take(bytes));
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
            trace.push(Step::Give(scratch));
        }
        let mut gradient = take(&mut trace, row);
        while let Some(activation) = kept.pop() {
            let scratch = take(&mut trace, 4 * row);
            let previous = std::mem::replace(&mut gradient, take(&mut trace, row));
            trace.extend([scratch, previous, activation].map(Step::Give));
        }
        trace.push(Step::Give(gradient));
    }
    trace
}

fn replay(pool: &Pool, trace: &[Step]) {
    let mut rented: Vec<Option<PooledBuffer>> = Vec::new();
    for step in trace {
        match step {
            Step::Take(bytes) => rented.push(pool.rent(&RentRequest::new(*bytes)).ok()),
            Step::Give(which) => rented[*which] = None,
        }
    }
}

fn asked_peak(trace: &[Step]) -> u64 {
    let (mut sizes, mut now, mut peak) = (Vec::new(), 0u64, 0u64);
    for step in trace {
        match step {
            Step::Take(bytes) => {
                sizes.push(*bytes);
                now += bytes;
            }
            Step::Give(which) => now -= sizes[*which],
        }
        peak = peak.max(now);
    }
    peak
}
