//! What a message, a pair of reference counts and an empty command buffer cost: the median of many
//! rounds. And by how much memory grows over a million command buffers without an autorelease pool.
//!
//! `cargo run --release -p anymetal-metal-abi --example send`
#![allow(clippy::print_stdout, reason = "an example reports to its terminal")]

use std::hint::black_box;
use std::time::Instant;

use anymetal_metal_abi as _;
use objc2::msg_send;
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};

unsafe extern "C-unwind" {
    fn MTLCreateSystemDefaultDevice() -> *mut AnyObject;
}

const ROUNDS: usize = 101;
/// Command buffers of a round that are committed before the last is waited for.
const COMMITTED: usize = 50;
/// Command buffers over which memory is watched.
const MANY: usize = 1_000_000;

/// The median nanoseconds of a call, where a round of calls takes as long as `round` says.
fn median(calls: usize, mut round: impl FnMut() -> u128) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS).map(|_| round() as f64 / calls as f64).collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

/// How long so many calls take.
fn timed(calls: usize, mut call: impl FnMut()) -> u128 {
    let start = Instant::now();
    (0..calls).for_each(|_| call());
    start.elapsed().as_nanos()
}

fn main() {
    let object = NSObject::new();
    let send = median(100_000, || timed(100_000, || _ = black_box(hash(&object))));
    println!("message: {send:.2} ns");
    let counted = median(100_000, || timed(100_000, || drop(black_box(object.clone()))));
    println!("retain and release: {counted:.2} ns");
    // SAFETY: the function gives a reference, and the class has the method.
    let queue: Retained<AnyObject> = unsafe {
        let device = Retained::from_raw(MTLCreateSystemDefaultDevice()).expect("a device");
        msg_send![&*device, newCommandQueue]
    };
    let waited = median(100, || timed(100, || wait(&committed(&queue))));
    println!("an empty command buffer, encoded, committed, waited for: {waited:.0} ns");
    let encoded = median(COMMITTED, || {
        let mut last = None;
        let time = timed(COMMITTED, || last = Some(committed(&queue)));
        last.iter().for_each(wait);
        time
    });
    println!("an empty command buffer, encoded and committed: {encoded:.0} ns");
    let before = resident_kib();
    (0..MANY / COMMITTED).for_each(|_| {
        let mut last = None;
        (0..COMMITTED).for_each(|_| last = Some(committed(&queue)));
        last.iter().for_each(wait);
    });
    let grown = resident_kib().zip(before).map(|(after, before)| after as i64 - before as i64);
    match grown {
        Some(kib) => println!("memory over {MANY} of them: grows by {kib} KiB"),
        None => println!("memory: /proc/self/status does not tell"),
    }
}

/// The memory of this process that is resident.
fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// A command buffer with an encoder and no commands.
fn committed(queue: &Retained<AnyObject>) -> Retained<AnyObject> {
    // SAFETY: the classes have these methods.
    unsafe {
        let commands: Retained<AnyObject> = msg_send![&**queue, commandBuffer];
        let encoder: Retained<AnyObject> = msg_send![&*commands, computeCommandEncoder];
        let () = msg_send![&*encoder, endEncoding];
        let () = msg_send![&*commands, commit];
        commands
    }
}

fn wait(commands: &Retained<AnyObject>) {
    // SAFETY: the class has the method.
    unsafe { msg_send![&**commands, waitUntilCompleted] }
}

#[inline(never)]
fn hash(object: &NSObject) -> usize {
    // SAFETY: every object has the method.
    unsafe { msg_send![object, hash] }
}
