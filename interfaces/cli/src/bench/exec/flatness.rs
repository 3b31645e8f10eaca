//! Whether memory stays flat over large counts of everything.
//!
//! Each load runs once at a tenth of its size, so that what grows to a bound has grown; then resident memory
//! is compared before and after the whole. The allocator keeps a little of its own accord; growth beyond
//! [`SLACK_KIB`] is a leak, since every load makes at least 10,000 objects of several hundred bytes each.

use std::time::Instant;

use anymetal::memory::AcquireRequest;
use anymetal::{Device, Error};
use serde::Serialize;

use super::work::{Kernels, THREADS};

/// What the allocator may keep of its own accord.
const SLACK_KIB: u64 = 3072;

/// Memory before and after a load.
#[derive(Debug, Serialize)]
pub(super) struct Flatness {
    pub(super) name: &'static str,
    pub(super) seconds: f64,
    pub(super) before_kib: u64,
    pub(super) after_kib: u64,
    pub(super) flat: bool,
}

pub(super) fn measure(device: &Device, kernels: &Kernels) -> Result<Vec<Flatness>, Error> {
    Ok(vec![
        flatness("1,000,000 dispatches in 100,000 command buffers", |tenth| {
            dispatches(device, kernels, if tenth { 10_000 } else { 100_000 })
        })?,
        flatness("100,000 pool acquisitions", |tenth| {
            acquisitions(device, if tenth { 10_000 } else { 100_000 })
        })?,
        flatness("10,000 queues made, used and dropped, 100 at a time", |tenth| {
            queues(device, if tenth { 10 } else { 100 })
        })?,
        flatness("5,000 uncommitted command buffers, ten times", |tenth| {
            (0..if tenth { 1 } else { 10 }).try_for_each(|_| uncommitted(device, kernels))
        })?,
    ])
}

fn flatness(name: &'static str, load: impl Fn(bool) -> Result<(), Error>) -> Result<Flatness, Error> {
    load(true)?;
    let (before_kib, start) = (resident_kib(), Instant::now());
    load(false)?;
    let (after_kib, seconds) = (resident_kib(), start.elapsed().as_secs_f64());
    let flat = after_kib <= before_kib + SLACK_KIB;
    Ok(Flatness { name, seconds, before_kib, after_kib, flat })
}

fn dispatches(device: &Device, kernels: &Kernels, command_buffers: u32) -> Result<(), Error> {
    let queue = device.queue()?;
    for _ in 0..command_buffers {
        let mut commands = queue.command_buffer()?;
        let mut encoder = commands.compute_encoder();
        encoder.set_pipeline(&kernels.empty);
        for _ in 0..10 {
            encoder.dispatch_threads(THREADS, THREADS)?;
        }
        encoder.end_encoding();
        drop(commands.commit()?);
    }
    queue.drain()
}

/// Of 4 KiB to 1 MiB, eight at a time, so that they come back in another order.
fn acquisitions(device: &Device, count: u64) -> Result<(), Error> {
    let mut acquired = std::collections::VecDeque::new();
    for number in 0..count {
        if acquired.len() == 8 {
            acquired.remove((number % 8) as usize);
        }
        acquired.push_back(device.pool().acquire(&AcquireRequest::new(4096 << (number % 9)))?);
    }
    Ok(())
}

fn queues(device: &Device, rounds: u32) -> Result<(), Error> {
    for _ in 0..rounds {
        let queues = (0..100).map(|_| device.queue()).collect::<Result<Vec<_>, _>>()?;
        for queue in &queues {
            queue.command_buffer()?.commit()?.wait()?;
        }
    }
    Ok(())
}

fn uncommitted(device: &Device, kernels: &Kernels) -> Result<(), Error> {
    let options = device.queue_descriptor().max_command_buffers(5000);
    let queue = device.create_queue(&options)?;
    let mut held = Vec::new();
    for _ in 0..5000 {
        let mut commands = queue.command_buffer()?;
        let mut encoder = commands.compute_encoder();
        encoder.set_pipeline(&kernels.empty);
        encoder.dispatch_threads(THREADS, THREADS)?;
        encoder.end_encoding();
        held.push(commands);
    }
    Ok(())
}

/// Memory of the process that is in RAM; 0 where the system does not report it.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok()).unwrap_or(0)
}
