//! The ceilings of a device, measured on it: the rate of multiply-adds and the bandwidth of a copy.
//!
//! Both are kernels, so that they hold for whatever device runs them, and the best of several runs counts: a
//! ceiling is what the device can do, not what it does while others use it.

use std::time::Duration;

use anymetal::{Device, Error, Submission};

use super::recorded::Ceilings;

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void multiply_add(device float* out, constant uint& rounds, constant float& x,
                         uint i [[thread_position_in_grid]])
{
    // Eight sums hide the latency of one multiply-add.
    float a = i, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6, h = a + 7;
    for (uint n = 0; n < rounds; n++) {
        a = fma(a, x, 1.0f); b = fma(b, x, 1.0f); c = fma(c, x, 1.0f); d = fma(d, x, 1.0f);
        e = fma(e, x, 1.0f); f = fma(f, x, 1.0f); g = fma(g, x, 1.0f); h = fma(h, x, 1.0f);
    }
    out[i] = a + b + c + d + e + f + g + h;
}
kernel void copy(device const float4* x, device float4* y, uint i [[thread_position_in_grid]]) { y[i] = x[i]; }";

/// Multiply-adds of a thread for each of its eight sums.
const ROUNDS: u32 = 20_000;
/// Threads for each compute unit.
const THREADS_PER_UNIT: u32 = 1024;
/// Of each of the two buffers: more than caches hold.
const COPY_BYTES: usize = 96 << 20;
/// Of each kernel.
const RUNS: usize = 7;

/// Measures both; takes some tenths of a second.
pub(super) fn measure(device: &Device) -> Result<Ceilings, Error> {
    let library = device.library_from_source(SOURCE)?;
    let queue = device.queue()?;
    let (multiply_add, copy) = (library.pipeline("multiply_add")?, library.pipeline("copy")?);
    let threads = device.capabilities().compute_units.max(1) * THREADS_PER_UNIT;
    let out = device.buffer_zeroed::<f32>(threads as usize)?;
    let flop = f64::from(threads) * f64::from(ROUNDS) * 16.0;
    let best_flop =
        best(|| queue.launch(&multiply_add).arg(&out).arg(ROUNDS).arg(0.999f32).threads(threads).submit())?;
    // Filled, so that the pages are there.
    let (x, y) = (device.buffer(&vec![1u8; COPY_BYTES])?, device.buffer(&vec![2u8; COPY_BYTES])?);
    let best_copy = best(|| queue.launch(&copy).arg(&x).arg(&y).threads(COPY_BYTES / 16).submit())?;
    Ok(Ceilings {
        flop_per_second: flop / best_flop.as_secs_f64(),
        bytes_per_second: 2.0 * COPY_BYTES as f64 / best_copy.as_secs_f64(),
    })
}

/// The shortest time of several runs by the device's clock, after one that compiles and warms up.
fn best(mut submit: impl FnMut() -> Result<Submission, Error>) -> Result<Duration, Error> {
    submit()?.wait()?;
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        best = best.min(submit()?.wait()?.device_time());
    }
    Ok(best.max(Duration::from_nanos(1)))
}
