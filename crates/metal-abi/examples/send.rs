//! What a message, a pair of reference counts and an empty command buffer cost: the median of many
//! rounds.
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

/// The median nanoseconds of a call.
fn median(calls: usize, mut call: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        times.push(start.elapsed().as_nanos() as f64 / calls as f64);
    }
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

fn main() {
    let object = NSObject::new();
    let send = median(100_000, || {
        black_box(hash(&object));
    });
    println!("message: {send:.2} ns");
    let counted = median(100_000, || drop(black_box(object.clone())));
    println!("retain and release: {counted:.2} ns");
    // SAFETY: the function gives a reference, and the classes have these methods.
    let queue: Retained<AnyObject> = unsafe {
        let device = Retained::from_raw(MTLCreateSystemDefaultDevice()).expect("a device");
        msg_send![&*device, newCommandQueue]
    };
    let empty = median(1_000, || {
        // SAFETY: the classes have these methods.
        unsafe {
            let commands: Retained<AnyObject> = msg_send![&*queue, commandBuffer];
            let encoder: Retained<AnyObject> = msg_send![&*commands, computeCommandEncoder];
            let () = msg_send![&*encoder, endEncoding];
            let () = msg_send![&*commands, commit];
            let () = msg_send![&*commands, waitUntilCompleted];
        }
    });
    println!("an empty command buffer, encoded, committed, waited for: {empty:.0} ns");
}

#[inline(never)]
fn hash(object: &NSObject) -> usize {
    // SAFETY: every object has the method.
    unsafe { msg_send![object, hash] }
}
