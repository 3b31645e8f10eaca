//! What of Rust device code may use: each kernel's results are those of the same function on the host.

#![expect(
    clippy::manual_range_patterns,
    clippy::mut_range_bound,
    clippy::manual_clamp,
    reason = "each form is tried, those that clippy would write otherwise too"
)]

use std::fmt::Debug;

use anymetal::Device;
use anymetal::kernel::{Number, device_fn, kernel};
use bytemuck::Pod;

fn device() -> Device {
    Device::system_default().expect("a device")
}

/// Runs a kernel of one buffer of inputs and one of results on device and host.
macro_rules! assert_same {
    ($kernel:ident, $inputs:expr, $zero:expr) => {{
        let device = device();
        let queue = device.queue().unwrap();
        let inputs = $inputs;
        let source = device.buffer(&inputs).unwrap();
        let mut expected = vec![$zero; inputs.len()];
        let target = device.buffer(&expected).unwrap();
        $kernel::launch(&queue, inputs.len(), &source, &target).unwrap().wait().unwrap();
        $kernel::host(inputs.len(), &inputs, &mut expected).unwrap();
        assert_equal(&target.read().unwrap(), &expected);
        expected
    }};
}

/// How far results may be apart.
trait Near: Pod + PartialEq + Debug {
    fn is_near(self, other: Self) -> bool {
        self == other
    }
}

impl Near for u8 {}
impl Near for u32 {}
impl Near for i32 {}

impl Near for f32 {
    /// Products and sums are fused on devices.
    fn is_near(self, other: f32) -> bool {
        (self - other).abs() <= 1e-6 * (1.0 + other.abs())
    }
}

fn assert_equal<T: Near>(actual: &[T], expected: &[T]) {
    assert_eq!(actual.len(), expected.len());
    for (n, (&a, &e)) in actual.iter().zip(expected).enumerate() {
        assert!(a.is_near(e), "{n}: {a:?} is not {e:?}");
    }
}

#[kernel]
fn collatz(x: &[u32], y: &mut [u32], #[thread_position_in_grid] i: u32) {
    let mut n = x[i as usize];
    let mut steps = 0;
    loop {
        if n <= 1 {
            break;
        }
        n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
        steps += 1;
        if steps > 500 {
            break;
        }
    }
    y[i as usize] = steps;
}

#[kernel]
fn classes(x: &[i32], y: &mut [i32], #[thread_position_in_grid] i: u32) {
    let value = x[i as usize];
    let class = match value {
        i32::MIN..=-1 => -1,
        0 => 0,
        1 | 2 | 3 => 10,
        _ if value % 7 == 0 => 7,
        4..=99 => {
            let half = value / 2;
            half + 100
        }
        _ => 1000,
    };
    y[i as usize] = class;
}

/// Small integers wrap around in Rust, where C++ computes with `int`.
#[kernel]
fn bytes(x: &[u8], y: &mut [u8], #[thread_position_in_grid] i: u32) {
    let i = i as usize;
    let a = x[i];
    let b = a.wrapping_mul(17).wrapping_add(200);
    let c: u8 = (b >> 3) ^ (a << 2);
    y[i] = if b.wrapping_add(a) > 100 { c } else { !c };
}

#[kernel]
fn scopes(x: &[f32], y: &mut [f32], #[thread_position_in_grid] i: u32) {
    let half = x[i as usize];
    let x = half * 2.0;
    let x = x + 1.0;
    {
        let x = x * x;
        let float = x - 0.5;
        y[i as usize] = float;
    }
    let max = {
        let x = x - half;
        x.max(0.25)
    };
    y[i as usize] += max - x;
}

#[kernel]
fn loops(x: &[u32], y: &mut [u32], #[thread_position_in_grid] i: u32) {
    let n = x[i as usize] % 20;
    let mut sum = 0;
    for k in 0..n {
        if k == 13 {
            continue;
        }
        sum += k * k;
    }
    for k in (0..=n).rev() {
        sum = sum.wrapping_mul(3).wrapping_add(k);
    }
    for k in (1..n + 2).step_by(3) {
        let mut j = k;
        while j > 0 {
            sum ^= j;
            j >>= 1;
        }
    }
    let mut end = n;
    for _ in 0..end {
        end = 0;
        sum += 1;
    }
    y[i as usize] = sum + end;
}

#[kernel]
fn sorts(x: &[i32], y: &mut [i32], #[thread_position_in_grid] i: u32) {
    let mut values = [0; 8];
    for k in 0..values.len() {
        values[k] = x[(i as usize + k) % x.len()];
    }
    sort(&mut values);
    let weights = [1, -2, 3, -4, 5, -6, 7, -8];
    let mut sum = 0;
    for k in 0..8 {
        sum += values[k] * weights[k];
    }
    y[i as usize] = sum;
}

#[device_fn]
fn sort(values: &mut [i32; 8]) {
    for i in 1..8 {
        let value = values[i];
        let mut at = i;
        while at > 0 && values[at - 1] > value {
            values[at] = values[at - 1];
            at -= 1;
        }
        values[at] = value;
    }
}

#[kernel]
fn floats(x: &[f32], y: &mut [f32], #[thread_position_in_grid] i: u32) {
    let x = x[i as usize];
    let whole = x.floor() + x.ceil() * 2.0 + x.trunc() * 3.0 + x.round();
    let signs = x.signum() + x.copysign(-1.0) + x.fract();
    let bits = f32::from_bits(x.to_bits() ^ 0x0040_0000);
    let limits = x.clamp(-1.0, 1.0) + x.min(0.5).max(-0.5) * 2.0 + x.max(0.25);
    y[i as usize] = whole + signs + limits + if bits.is_nan() { 0.0 } else { bits } + x % 0.75;
}

#[kernel]
fn integers(x: &[u32], y: &mut [u32], #[thread_position_in_grid] i: u32) {
    let x = x[i as usize];
    let counts = x.count_ones() + x.leading_zeros() * 3 + x.trailing_zeros() * 5;
    let small = (x as i16).wrapping_mul(3) as i32;
    let big = (x as u64 * 0x1_0000_0001) >> 7;
    y[i as usize] = counts
        .wrapping_add(x.rotate_left(9))
        .wrapping_add(small as u32)
        .wrapping_add(big as u32)
        .wrapping_add(x.saturating_sub(77).min(1000))
        ^ x.abs_diff(5000);
}

#[test]
fn statements_and_expressions_mean_what_they_mean_on_the_host() {
    let numbers: Vec<u32> = (0..300u32).map(|i| i.wrapping_mul(2_654_435_761) >> (i % 23)).collect();
    let small: Vec<i32> = (-20..280).collect();
    let floats_in: Vec<f32> = (0..300).map(|i| (i as f32 - 150.0) * 0.173).collect();
    let bytes_in: Vec<u8> = (0..=255).collect();
    assert_eq!(assert_same!(collatz, (0..300).collect::<Vec<u32>>(), 0u32)[27], 111);
    assert_eq!(assert_same!(classes, small.clone(), 0i32)[..4], [-1; 4]);
    assert_same!(bytes, bytes_in, 0u8);
    assert_same!(scopes, floats_in.clone(), 0f32);
    assert_same!(loops, numbers.clone(), 0u32);
    assert_same!(sorts, small, 0i32);
    assert_same!(floats, floats_in, 0f32);
    assert_same!(integers, numbers, 0u32);
}

#[device_fn]
fn power<T: Number>(base: T, exponent: u32, one: T) -> T {
    let mut result = one;
    for _ in 0..exponent {
        result *= base;
    }
    result
}

#[kernel]
fn powers<T: Number, const EXPONENT: u32>(x: &[T], one: T, y: &mut [T], #[thread_position_in_grid] i: u32) {
    let base = x[i as usize];
    let value: T = power(base, EXPONENT, one);
    y[i as usize] = value + base;
}

#[test]
fn generic_kernels_are_compiled_for_each_type_and_constant() {
    let device = device();
    let queue = device.queue().unwrap();
    let (x, y) = (device.buffer(&[1.5f32, -2.0, 3.0]).unwrap(), device.buffer_zeroed::<f32>(3).unwrap());
    powers::launch::<f32, 3>(&queue, 3, &x, 1.0, &y).unwrap().wait().unwrap();
    assert_eq!(y.read().unwrap(), [4.875, -10.0, 30.0]);
    let (x, y) = (device.buffer(&[2i32, -3]).unwrap(), device.buffer_zeroed::<i32>(2).unwrap());
    powers::launch::<i32, 5>(&queue, 2, &x, 1, &y).unwrap().wait().unwrap();
    assert_eq!(y.read().unwrap(), [34, -246]);
    powers::launch::<i32, 2>(&queue, 2, &x, 1, &y).unwrap().wait().unwrap();
    assert_eq!(y.read().unwrap(), [6, 6]);
}

#[test]
fn the_text_is_what_a_person_would_write() {
    let expected = "\
#include <metal_stdlib>
using namespace metal;

kernel void collatz(device const uint* x [[buffer(0)]],
                    device uint* y [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
    uint n = x[i];
    uint steps = 0;
    while (true) {
        if (n <= 1) {
            break;
        }
        n = n % 2 == 0 ? n / 2 : 3 * n + 1;
        steps += 1;
        if (steps > 500) {
            break;
        }
    }
    y[i] = steps;
}
";
    assert_eq!(collatz::source(), expected);
}
