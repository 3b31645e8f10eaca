//! Products modulo a 256-bit prime, in MSL on the CPU device and in Rust on as many threads: results and
//! speed.
//!
//! `cargo run --release -p anymetal --example field_products [THREADS_OF_THE_GRID [ROUNDS]]` runs the kernel
//! of `tests/exec/functions/called-field-products.metal`, 128 products, 64 sums and differences a thread, in
//! turn with the same in Rust on 64-bit words, and prints the medians of the times and their ratio: above 1
//! the kernel is faster. Exits with 1 if a result differs.
#![allow(clippy::print_stdout, reason = "an example reports to its terminal")]

use std::num::NonZero;
use std::time::{Duration, Instant};

use anymetal::{Device, Error};

const SOURCE: &str = include_str!("../../tests/exec/functions/called-field-products.metal");
/// The prime of the curve BN254, lowest word first.
const PRIME: Field =
    [0x3c20_8c16_d87c_fd47, 0x9781_6a91_6871_ca8d, 0xb850_45b6_8181_585d, 0x3064_4e72_e131_a029];
/// Products that a thread of the kernel computes.
const PRODUCTS: usize = 128;

type Field = [u64; 4];

/// The inverse of the prime's lowest word, negated, modulo 2^64: by Newton's iteration.
fn inverse() -> u64 {
    let found = (0..6).fold(1_u64, |x, _| x.wrapping_mul(2_u64.wrapping_sub(PRIME[0].wrapping_mul(x))));
    found.wrapping_neg()
}

fn less(a: &Field, b: &Field) -> (Field, bool) {
    let (mut rest, mut borrow) = ([0; 4], false);
    for i in 0..4 {
        let (x, first) = a[i].overflowing_sub(b[i]);
        let (x, second) = x.overflowing_sub(u64::from(borrow));
        (rest[i], borrow) = (x, first || second);
    }
    (rest, borrow)
}

fn plus(a: &Field, b: &Field) -> Field {
    let (mut sum, mut carry) = ([0; 4], 0_u128);
    for i in 0..4 {
        carry += u128::from(a[i]) + u128::from(b[i]);
        sum[i] = carry as u64;
        carry >>= 64;
    }
    sum
}

/// Montgomery's product: a word of one factor, then a word of the reduction.
fn product(a: &Field, b: &Field, inverse: u64) -> Field {
    let mut t = [0_u64; 5];
    for word in b {
        let mut carry = 0_u128;
        for (t, a) in t.iter_mut().zip(a) {
            carry += u128::from(*a) * u128::from(*word) + u128::from(*t);
            *t = carry as u64;
            carry >>= 64;
        }
        let top = u128::from(t[4]) + carry;
        let m = t[0].wrapping_mul(inverse);
        let mut carry = (u128::from(m) * u128::from(PRIME[0]) + u128::from(t[0])) >> 64;
        for i in 1..4 {
            carry += u128::from(m) * u128::from(PRIME[i]) + u128::from(t[i]);
            t[i - 1] = carry as u64;
            carry >>= 64;
        }
        let top = top + carry;
        (t[3], t[4]) = (top as u64, (top >> 64) as u64);
    }
    let result = [t[0], t[1], t[2], t[3]];
    let (rest, borrow) = less(&result, &PRIME);
    if t[4] != 0 || !borrow { rest } else { result }
}

fn sum(a: &Field, b: &Field) -> Field {
    let sum = plus(a, b);
    let (rest, borrow) = less(&sum, &PRIME);
    if borrow { sum } else { rest }
}

fn difference(a: &Field, b: &Field) -> Field {
    let (rest, borrow) = less(a, b);
    if borrow { plus(&rest, &PRIME) } else { rest }
}

/// What a thread of the kernel computes.
fn iterate(x: &Field, a: &Field, inverse: u64) -> Field {
    (0..PRODUCTS / 2).fold(*x, |y, _| {
        let y = product(&y, &y, inverse);
        let scaled = product(&y, a, inverse);
        difference(&sum(&scaled, &y), a)
    })
}

fn rust(inputs: &[[Field; 2]], outputs: &mut [Field], threads: usize) {
    let share = inputs.len().div_ceil(threads);
    let inverse = inverse();
    std::thread::scope(|scope| {
        for (inputs, outputs) in inputs.chunks(share).zip(outputs.chunks_mut(share)) {
            scope.spawn(move || {
                for (output, [x, a]) in outputs.iter_mut().zip(inputs) {
                    *output = iterate(x, a, inverse);
                }
            });
        }
    });
}

/// Numbers below the prime.
fn inputs(count: usize) -> Vec<[Field; 2]> {
    let mut state = 1_u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ state >> 29
    };
    let mut number = || [word(), word(), word(), word() % PRIME[3]];
    (0..count).map(|_| [number(), number()]).collect()
}

fn words(numbers: &[Field]) -> Vec<u32> {
    numbers.iter().flatten().flat_map(|word| [*word as u32, (*word >> 32) as u32]).collect()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() -> Result<(), Error> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<usize>().unwrap_or(0).max(1));
    let count = numbers.next().unwrap_or(1 << 16);
    let rounds = numbers.next().unwrap_or(9);
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let device = Device::by_name("cpu")?;
    let pipeline = device.library_from_source(SOURCE)?.pipeline("iterate")?;
    let queue = device.queue()?;
    let inputs = inputs(count);
    let bound = device.buffer(&words(inputs.as_flattened()))?;
    let results = device.buffer_zeroed::<u32>(8 * count)?;
    let mut expected = vec![[0; 4]; count];
    let (mut kernel_times, mut rust_times) = (Vec::new(), Vec::new());
    for _ in 0..=rounds {
        let start = Instant::now();
        queue
            .launch(&pipeline)
            .threads(count as u32)
            .group_size(256)
            .arg(&bound)
            .arg(&results)
            .submit()?
            .wait()?;
        kernel_times.push(start.elapsed());
        let start = Instant::now();
        rust(&inputs, &mut expected, threads);
        rust_times.push(start.elapsed());
    }
    if results.read()? != words(&expected) {
        println!("the results differ");
        std::process::exit(1);
    }
    // The first round compiles.
    let [kernel, rust] = [kernel_times, rust_times].map(|times| median(times[1..].to_vec()).as_secs_f64());
    let millions = (count * PRODUCTS) as f64 / 1e6;
    println!("{count} threads, {PRODUCTS} products each, {threads} processors, medians of {rounds}:");
    println!("  kernel {:8.2} ms  {:7.2} million products/s", kernel * 1e3, millions / kernel);
    println!("  Rust   {:8.2} ms  {:7.2} million products/s", rust * 1e3, millions / rust);
    println!("  ratio  {:8.2}", rust / kernel);
    Ok(())
}
