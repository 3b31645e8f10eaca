//! Collectives of NCCL over all NVIDIA GPUs of this machine: each operation's result compared with the
//! host's, and the bus bandwidth of all-reduce.
//!
//! `cargo run --release -p anymetal-nvidia --features nccl --example collectives [processes]`
//!
//! With `processes` each GPU has a process of its own, which is how groups of several machines work.
//! Bus bandwidth is the bytes that a link carries: 2 (n - 1) / n of a buffer's bytes for n GPUs.
#![allow(clippy::print_stdout, reason = "an example talks to its terminal")]

use std::error::Error;
use std::process::{Child, Command};
use std::time::Instant;

use anymetal_hal::artifact::ScalarType;
use anymetal_hal::buffer::BufferDescriptor;
use anymetal_hal::device::Device as _;
use anymetal_nvidia::{Collectives, GroupId, NvidiaDevice, NvidiaOptions, ReduceOp, Shard};

type Buffers = Vec<Shard>;

/// Elements of the buffers that are compared: odd, so that no size divides it.
const COUNT: usize = 1_000_003;
/// Bytes of the buffers that are timed.
const TIMED_BYTES: u64 = 256 << 20;
const ROUNDS: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => all_of_this_process(),
        ["processes"] => a_process_for_each(),
        ["join", rank, ranks, group] => {
            Part::of_a_group(rank.parse()?, ranks.parse()?, &group_from(group)?)?.run()
        }
        _ => Err("usage: collectives [processes]".into()),
    }
}

fn open(number: u32) -> Result<NvidiaDevice, Box<dyn Error>> {
    Ok(NvidiaDevice::open(number, &NvidiaOptions::default())?)
}

fn all_of_this_process() -> Result<(), Box<dyn Error>> {
    let devices = (0..NvidiaDevice::count()).map(open).collect::<Result<Vec<_>, _>>()?;
    let collectives = Collectives::new(&devices)?;
    println!("{} GPUs", collectives.rank_count());
    Part { devices, collectives, first: 0 }.run()
}

/// This process has the first GPU.
fn a_process_for_each() -> Result<(), Box<dyn Error>> {
    let (ranks, group) = (NvidiaDevice::count() as usize, GroupId::new()?);
    let text: String = group.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let program = std::env::current_exe()?;
    let start = |rank: usize| {
        Command::new(&program).args(["join", &rank.to_string(), &ranks.to_string(), &text]).spawn()
    };
    let others = (1..ranks).map(start).collect::<Result<Vec<Child>, _>>()?;
    println!("{ranks} GPUs, a process for each");
    Part::of_a_group(0, ranks, &group)?.run()?;
    for mut other in others {
        let status = other.wait()?;
        if !status.success() {
            return Err(format!("another process ended with {status}").into());
        }
    }
    Ok(())
}

fn group_from(text: &str) -> Result<GroupId, Box<dyn Error>> {
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2).unwrap_or_default(), 16);
    let bytes = (0..GroupId::BYTES).map(|index| byte(2 * index)).collect::<Result<Vec<u8>, _>>()?;
    let bytes = <[u8; GroupId::BYTES]>::try_from(bytes).map_err(|_| "a group has another length")?;
    Ok(GroupId::from_bytes(bytes))
}

/// The value of an element on a GPU: small integers, so that sums are exact.
fn value(rank: usize, index: usize) -> f32 {
    ((index * 7 + rank * 3) % 1000) as f32
}

/// This process's part of a group.
struct Part {
    devices: Vec<NvidiaDevice>,
    collectives: Collectives,
    /// The rank of the first device.
    first: usize,
}

impl Part {
    /// The GPU of the number that is its rank.
    fn of_a_group(rank: usize, ranks: usize, group: &GroupId) -> Result<Self, Box<dyn Error>> {
        let devices = vec![open(u32::try_from(rank)?)?];
        let collectives = Collectives::join(&devices, group, rank, ranks)?;
        Ok(Part { devices, collectives, first: rank })
    }

    fn run(&self) -> Result<(), Box<dyn Error>> {
        self.check()?;
        self.time()
    }

    /// Buffers of the values of each rank.
    fn buffers(&self, count: usize) -> Result<Buffers, Box<dyn Error>> {
        let made = (self.first..).zip(&self.devices).map(|(rank, device)| {
            let buffer = device.buffer(&BufferDescriptor::shared(4 * count as u64))?;
            let bytes: Vec<u8> = (0..count).flat_map(|index| value(rank, index).to_le_bytes()).collect();
            buffer.write(0, &bytes)?;
            Ok(Shard { buffer, offset: 0 })
        });
        made.collect()
    }

    fn expect(
        &self,
        what: &str,
        buffers: &Buffers,
        wanted: impl Fn(usize, usize) -> f32,
    ) -> Result<(), Box<dyn Error>> {
        for (rank, Shard { buffer, .. }) in (self.first..).zip(buffers) {
            let mut bytes = vec![0; buffer.length() as usize];
            buffer.read(0, &mut bytes)?;
            let (values, _) = bytes.as_chunks::<4>();
            for (index, &bytes) in values.iter().enumerate() {
                let (got, wanted) = (f32::from_le_bytes(bytes), wanted(rank, index));
                if got != wanted {
                    return Err(
                        format!("{what}: rank {rank} has {got} at {index} instead of {wanted}").into()
                    );
                }
            }
        }
        println!("{what}: right on {} of {} GPUs", buffers.len(), self.collectives.rank_count());
        Ok(())
    }

    fn check(&self) -> Result<(), Box<dyn Error>> {
        let (all, element, count) = (&self.collectives, ScalarType::F32, COUNT as u64);
        let ranks = all.rank_count();
        let sum = |index| (0..ranks).map(|rank| value(rank, index)).sum::<f32>();

        let x = self.buffers(COUNT)?;
        all.all_reduce(&x, element, count, ReduceOp::Sum)?;
        self.expect("all_reduce, sum", &x, |_, index| sum(index))?;

        let x = self.buffers(COUNT)?;
        all.all_reduce(&x, element, count, ReduceOp::Max)?;
        let greatest = |index| (0..ranks).map(|rank| value(rank, index)).fold(0.0, f32::max);
        self.expect("all_reduce, greatest", &x, |_, index| greatest(index))?;

        let x = self.buffers(COUNT)?;
        all.broadcast(&x, ranks - 1, element, count)?;
        self.expect("broadcast", &x, |_, index| value(ranks - 1, index))?;

        let (parts, x) = (self.buffers(COUNT)?, self.buffers(COUNT * ranks)?);
        all.all_gather(&parts, &x, element, count)?;
        self.expect("all_gather", &x, |_, index| value(index / COUNT, index % COUNT))?;

        let (x, parts) = (self.buffers(COUNT * ranks)?, self.buffers(COUNT)?);
        all.reduce_scatter(&x, &parts, element, count, ReduceOp::Sum)?;
        self.expect("reduce_scatter, sum", &parts, |rank, index| sum(rank * COUNT + index))
    }

    fn time(&self) -> Result<(), Box<dyn Error>> {
        let make = |device: &NvidiaDevice| {
            let buffer = device.buffer(&BufferDescriptor::shared(TIMED_BYTES))?;
            Ok(Shard { buffer, offset: 0 })
        };
        let all = self.devices.iter().map(make).collect::<Result<Buffers, Box<dyn Error>>>()?;
        let mut seconds = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            self.collectives.all_reduce(&all, ScalarType::F32, TIMED_BYTES / 4, ReduceOp::Sum)?;
            seconds.push(start.elapsed().as_secs_f64());
        }
        seconds.sort_unstable_by(f64::total_cmp);
        let (median, ranks) = (seconds[ROUNDS / 2], self.collectives.rank_count() as f64);
        let bus = TIMED_BYTES as f64 * 2.0 * (ranks - 1.0) / ranks / median / 1e9;
        println!(
            "all_reduce of {} MiB: {:.2} ms, {bus:.0} GB/s of bus bandwidth",
            TIMED_BYTES >> 20,
            median * 1e3
        );
        Ok(())
    }
}
