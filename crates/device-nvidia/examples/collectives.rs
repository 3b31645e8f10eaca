//! Collectives of NCCL over all NVIDIA GPUs of this machine: each operation's result compared with the
//! host's, and the bus bandwidth of all-reduce.
//!
//! `cargo run --release -p anymetal-device-nvidia --features nccl --example collectives`
//!
//! Bus bandwidth is the bytes that a link carries: 2 (n - 1) / n of a buffer's bytes for n GPUs.
#![allow(clippy::print_stdout, reason = "an example talks to its terminal")]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use anymetal_device_nvidia::{Collectives, NvidiaDevice, NvidiaOptions, ReduceOp};
use anymetal_hal::artifact::ScalarType;
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::device::Device as _;

type Buffers = Vec<Arc<dyn Buffer>>;

/// Elements of the buffers that are compared: odd, so that no size divides it.
const COUNT: usize = 1_000_003;
/// Bytes of the buffers that are timed.
const TIMED_BYTES: u64 = 256 << 20;
const ROUNDS: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    let open = |number| NvidiaDevice::open(number, &NvidiaOptions::default());
    let devices = (0..NvidiaDevice::count()).map(open).collect::<Result<Vec<_>, _>>()?;
    let collectives = Collectives::new(&devices)?;
    println!("{} GPUs", collectives.device_count());
    check(&devices, &collectives)?;
    time(&devices, &collectives)
}

/// The value of an element on a GPU: small integers, so that sums are exact.
fn value(rank: usize, index: usize) -> f32 {
    ((index * 7 + rank * 3) % 1000) as f32
}

fn buffers(devices: &[NvidiaDevice], count: usize) -> Result<Buffers, Box<dyn Error>> {
    let made = devices.iter().enumerate().map(|(rank, device)| {
        let buffer = device.buffer(&BufferDescriptor::shared(4 * count as u64))?;
        let bytes: Vec<u8> = (0..count).flat_map(|index| value(rank, index).to_le_bytes()).collect();
        buffer.write(0, &bytes)?;
        Ok(buffer)
    });
    made.collect()
}

fn expect(what: &str, buffers: &Buffers, wanted: impl Fn(usize, usize) -> f32) -> Result<(), Box<dyn Error>> {
    for (rank, buffer) in buffers.iter().enumerate() {
        let mut bytes = vec![0; buffer.length() as usize];
        buffer.read(0, &mut bytes)?;
        let (values, _) = bytes.as_chunks::<4>();
        for (index, &bytes) in values.iter().enumerate() {
            let (got, wanted) = (f32::from_le_bytes(bytes), wanted(rank, index));
            if got != wanted {
                return Err(format!("{what}: GPU {rank} has {got} at {index} instead of {wanted}").into());
            }
        }
    }
    println!("{what}: right");
    Ok(())
}

fn check(devices: &[NvidiaDevice], collectives: &Collectives) -> Result<(), Box<dyn Error>> {
    let (ranks, element, count) = (devices.len(), ScalarType::F32, COUNT as u64);
    let sum = |index| (0..ranks).map(|rank| value(rank, index)).sum::<f32>();

    let all = buffers(devices, COUNT)?;
    collectives.all_reduce(&all, element, count, ReduceOp::Sum)?;
    expect("all_reduce, sum", &all, |_, index| sum(index))?;

    let all = buffers(devices, COUNT)?;
    collectives.all_reduce(&all, element, count, ReduceOp::Max)?;
    let greatest = |index| (0..ranks).map(|rank| value(rank, index)).fold(0.0, f32::max);
    expect("all_reduce, greatest", &all, |_, index| greatest(index))?;

    let all = buffers(devices, COUNT)?;
    collectives.broadcast(&all, ranks - 1, element, count)?;
    expect("broadcast", &all, |_, index| value(ranks - 1, index))?;

    let (parts, all) = (buffers(devices, COUNT)?, buffers(devices, COUNT * ranks)?);
    collectives.all_gather(&parts, &all, element, count)?;
    expect("all_gather", &all, |_, index| value(index / COUNT, index % COUNT))?;

    let (all, parts) = (buffers(devices, COUNT * ranks)?, buffers(devices, COUNT)?);
    collectives.reduce_scatter(&all, &parts, element, count, ReduceOp::Sum)?;
    expect("reduce_scatter, sum", &parts, |rank, index| sum(rank * COUNT + index))
}

fn time(devices: &[NvidiaDevice], collectives: &Collectives) -> Result<(), Box<dyn Error>> {
    let make = |device: &NvidiaDevice| device.buffer(&BufferDescriptor::shared(TIMED_BYTES));
    let all = devices.iter().map(make).collect::<Result<Buffers, _>>()?;
    let mut seconds = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        collectives.all_reduce(&all, ScalarType::F32, TIMED_BYTES / 4, ReduceOp::Sum)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_unstable_by(f64::total_cmp);
    let (median, ranks) = (seconds[ROUNDS / 2], devices.len() as f64);
    let bus = TIMED_BYTES as f64 * 2.0 * (ranks - 1.0) / ranks / median / 1e9;
    println!(
        "all_reduce of {} MiB: {:.2} ms, {bus:.0} GB/s of bus bandwidth",
        TIMED_BYTES >> 20,
        median * 1e3
    );
    Ok(())
}
