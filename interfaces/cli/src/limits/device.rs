//! Work whose rates are the limits of a device that is not this machine's processor.

use anymetal::{Buffer, Device, Error, Pipeline, Queue};

/// Of the memory that is copied: more bytes than a card's caches hold.
const WORDS: usize = 1 << 27;
/// The threads of the multiply-adds: enough to fill a large card many times.
const THREADS: usize = 1 << 20;
const GROUP: usize = 256;
/// Rounds of each thread, and multiply-adds of a round; the kernel has the same numbers.
const ROUNDS: u32 = 512;
const SUMS: usize = 16;

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;

kernel void multiply_add(device float* out, constant uint& rounds, constant float& factor,
                         uint i [[thread_position_in_grid]]) {
    float sums[16];
    for (uint k = 0; k < 16; k++) sums[k] = float(i + k);
    for (uint round = 0; round < rounds; round++) {
        for (uint k = 0; k < 16; k++) sums[k] = fma(sums[k], factor, 1e-9f);
    }
    float sum = 0;
    for (uint k = 0; k < 16; k++) sum += sums[k];
    out[i] = sum;
}
";

/// A copy, or multiply-adds, on a device.
pub(crate) struct DeviceProbe {
    queue: Queue,
    work: Work,
}

enum Work {
    Copy { source: Buffer<u32>, target: Buffer<u32> },
    MultiplyAdd { pipeline: Pipeline, out: Buffer<f32> },
}

impl DeviceProbe {
    /// The device's own copy from buffer to buffer.
    pub(crate) fn copy(device: &Device, queue: &Queue) -> Result<Self, Error> {
        let (source, target) = (device.buffer_zeroed(WORDS)?, device.buffer_zeroed(WORDS)?);
        Ok(DeviceProbe { queue: queue.clone(), work: Work::Copy { source, target } })
    }

    /// Independent multiply-adds in registers.
    pub(crate) fn multiply_add(device: &Device, queue: &Queue) -> Result<Self, Error> {
        let pipeline = device.library_from_source(SOURCE)?.pipeline("multiply_add")?;
        let out = device.buffer_zeroed(THREADS)?;
        Ok(DeviceProbe { queue: queue.clone(), work: Work::MultiplyAdd { pipeline, out } })
    }

    /// Float operations, or bytes read and written.
    pub(crate) fn amount(&self) -> f64 {
        match &self.work {
            Work::Copy { source, .. } => 2.0 * size_of::<u32>() as f64 * source.len() as f64,
            Work::MultiplyAdd { .. } => (THREADS * SUMS * 2) as f64 * f64::from(ROUNDS),
        }
    }

    pub(crate) fn run(&self) -> Result<(), Error> {
        match &self.work {
            Work::Copy { source, target } => {
                let mut commands = self.queue.command_buffer()?;
                commands.blit_encoder().copy(&source.view(0..WORDS)?, &target.view(0..WORDS)?)?;
                commands.commit()?.wait()?;
            }
            Work::MultiplyAdd { pipeline, out } => {
                let launch = self.queue.launch(pipeline).arg(out).arg(ROUNDS).arg(0.999f32);
                launch.threads(THREADS).group_size(GROUP).submit()?.wait()?;
            }
        }
        Ok(())
    }
}
