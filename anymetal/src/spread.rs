//! One launch over several devices: each does a share of the grid, with its share of the buffers.
//!
//! Owns [`Spread`]. Invariant: the shares of the devices follow each other, and together are the whole.
//!
//! A kernel that reads and writes `x[i]` in thread `i` is spread by cutting its buffers as its grid is cut.
//! What every thread may read is copied to all devices.
//!
//! ```
//! # fn main() -> Result<(), anymetal::Error> {
//! use anymetal::command::Spread;
//!
//! let spread = Spread::new(&anymetal::Device::all()?)?;
//! let saxpy = spread.kernel(
//!     "kernel void saxpy(device const float* x, device float* y, constant float& a,
//!                        uint i [[thread_position_in_grid]]) { y[i] += a * x[i]; }",
//!     "saxpy",
//! )?;
//! let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
//! let (x, y) = (spread.scatter(&x)?, spread.zeroed::<f32>(1000)?);
//! spread
//!     .launch(&saxpy, |share, launch| {
//!         launch.arg(x.on(share)).arg(y.on(share)).arg(2.0f32).threads(share.range(1000).len())
//!     })?
//!     .wait()?;
//! assert_eq!(y.gather()?[999], 1998.0);
//! # Ok(())
//! # }
//! ```

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use anymetal_hal::error::DeviceError;

use crate::Pod;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::Error;
use crate::launch::Launch;
use crate::pipeline::Pipeline;
use crate::pipeline_descriptor::PipelineDescriptor;
use crate::queue::Queue;
use crate::submission::Submission;

/// Devices that work is spread over, each with a queue and the weight of its share. Clones are the same.
#[derive(Debug, Clone)]
pub struct Spread {
    parts: Arc<[Part]>,
}

#[derive(Debug)]
struct Part {
    device: Device,
    queue: Queue,
    weight: u32,
}

impl Spread {
    /// Equal shares. A device may be named more than once.
    ///
    /// # Errors
    /// No device; a device that makes no queue.
    pub fn new(devices: &[Device]) -> Result<Self, Error> {
        let devices: Vec<_> = devices.iter().map(|device| (device.clone(), 1)).collect();
        Spread::weighted(&devices)
    }

    /// Shares in proportion to the weights: 3 and 1 give the first device three elements of four.
    ///
    /// # Errors
    /// No device, weights that are all zero; a device that makes no queue.
    pub fn weighted(devices: &[(Device, u32)]) -> Result<Self, Error> {
        if devices.iter().all(|(_, weight)| *weight == 0) {
            return Err(Error::Device(DeviceError::Unsupported {
                device: "spread".to_owned(),
                what: "work that is spread over no device".to_owned(),
                alternative: "name a device, with a weight above zero".to_owned(),
            }));
        }
        let part = |(device, weight): &(Device, u32)| {
            Ok(Part { queue: device.queue()?, device: device.clone(), weight: *weight })
        };
        Ok(Spread { parts: devices.iter().map(part).collect::<Result<_, Error>>()? })
    }

    /// The devices, in the order of their shares.
    pub fn devices(&self) -> impl ExactSizeIterator<Item = &Device> {
        self.parts.iter().map(|part| &part.device)
    }

    /// The shares, in order.
    pub fn shares(&self) -> impl ExactSizeIterator<Item = Share<'_>> {
        (0..self.parts.len()).map(|number| Share { parts: &self.parts, number })
    }

    /// A kernel, compiled for each device.
    pub fn kernel(&self, source: &str, kernel: impl Into<PipelineDescriptor>) -> Result<SpreadKernel, Error> {
        let descriptor = kernel.into();
        let compile = |part: &Part| part.device.library_from_source(source)?.pipeline(descriptor.clone());
        Ok(SpreadKernel { pipelines: self.parts.iter().map(compile).collect::<Result<_, Error>>()? })
    }

    /// Cuts elements: each device has those of its share.
    pub fn scatter<T: Pod>(&self, elements: &[T]) -> Result<SpreadBuffer<T>, Error> {
        self.scatter_rows(elements, 1)
    }

    /// As [`Spread::scatter`], cut between rows of `length` elements; the last row may be shorter. The share
    /// of a device is [`Share::range`] of the number of rows.
    ///
    /// # Panics
    /// A length of zero.
    pub fn scatter_rows<T: Pod>(&self, elements: &[T], length: usize) -> Result<SpreadBuffer<T>, Error> {
        let rows = elements.len().div_ceil(length);
        let own = |share: Share<'_>| {
            let rows = share.range(rows);
            let end = rows.end.saturating_mul(length).min(elements.len());
            share.device().buffer(&elements[rows.start * length..end])
        };
        SpreadBuffer::of(self.shares().map(own), true)
    }

    /// Zeros for results: each device has its share.
    pub fn zeroed<T: Pod>(&self, elements: usize) -> Result<SpreadBuffer<T>, Error> {
        let own = |share: Share<'_>| share.device().buffer_zeroed(share.range(elements).len());
        SpreadBuffer::of(self.shares().map(own), true)
    }

    /// Copies elements: each device has all of them.
    pub fn broadcast<T: Pod>(&self, elements: &[T]) -> Result<SpreadBuffer<T>, Error> {
        SpreadBuffer::of(self.shares().map(|share| share.device().buffer(elements)), false)
    }

    /// Launches the kernel on each device, with the arguments and the grid that `call` gives it for the
    /// share. A device of weight zero launches nothing.
    ///
    /// # Errors
    /// The first mistake of the launches. Those before it run.
    pub fn launch(
        &self,
        kernel: &SpreadKernel,
        call: impl for<'l> Fn(Share<'_>, Launch<'l>) -> Launch<'l>,
    ) -> Result<SpreadSubmission, Error> {
        let pipelines = self.shares().zip(&self.parts[..]).zip(&kernel.pipelines);
        let launched = pipelines
            .filter(|((_, part), _)| part.weight > 0)
            .map(|((share, part), pipeline)| call(share, part.queue.launch(pipeline)).submit());
        Ok(SpreadSubmission { parts: launched.collect::<Result<_, Error>>()? })
    }
}

/// A device's share.
#[derive(Clone, Copy)]
pub struct Share<'a> {
    parts: &'a [Part],
    number: usize,
}

impl<'a> Share<'a> {
    /// Its number, from 0.
    pub fn number(self) -> usize {
        self.number
    }

    /// The device that does it.
    pub fn device(self) -> &'a Device {
        &self.parts[self.number].device
    }

    /// Its part of that many elements, rows or threads.
    pub fn range(self, elements: usize) -> Range<usize> {
        let weight = |parts: &[Part]| parts.iter().map(|part| u128::from(part.weight)).sum::<u128>();
        let whole = weight(self.parts);
        let bound = |parts| (elements as u128 * weight(parts) / whole) as usize;
        bound(&self.parts[..self.number])..bound(&self.parts[..=self.number])
    }
}

impl fmt::Debug for Share<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Share").field("number", &self.number).field("device", self.device()).finish()
    }
}

/// A kernel on each device of a [`Spread`].
#[derive(Debug, Clone)]
pub struct SpreadKernel {
    pipelines: Vec<Pipeline>,
}

/// Buffers on the devices of a [`Spread`]: a share each, or all elements each.
#[derive(Debug, Clone)]
pub struct SpreadBuffer<T: Pod> {
    buffers: Vec<Buffer<T>>,
    is_cut: bool,
}

impl<T: Pod> SpreadBuffer<T> {
    fn of(
        buffers: impl Iterator<Item = Result<Buffer<T>, Error>>,
        is_cut: bool,
    ) -> Result<SpreadBuffer<T>, Error> {
        Ok(SpreadBuffer { buffers: buffers.collect::<Result<_, Error>>()?, is_cut })
    }

    /// The buffer on a device.
    ///
    /// # Panics
    /// The share is of a [`Spread`] over more devices.
    pub fn on(&self, share: Share<'_>) -> &Buffer<T> {
        &self.buffers[share.number]
    }

    /// The elements: the shares one after the other, or those of the first device if each has all. Waits for
    /// submitted work that writes them.
    pub fn gather(&self) -> Result<Vec<T>, Error> {
        let read = if self.is_cut { &self.buffers[..] } else { &self.buffers[..1] };
        Ok(read.iter().map(Buffer::read).collect::<Result<Vec<_>, Error>>()?.concat())
    }
}

/// A launch that runs on several devices.
#[derive(Debug, Clone)]
#[must_use = "it may fail"]
pub struct SpreadSubmission {
    parts: Vec<Submission>,
}

impl SpreadSubmission {
    /// Blocks until all devices are done.
    ///
    /// # Errors
    /// Of the first share, by number, that failed.
    pub fn wait(&self) -> Result<(), Error> {
        let ended: Vec<_> = self.parts.iter().map(|part| part.wait()).collect();
        ended.into_iter().try_for_each(|outcome| outcome.map(drop))
    }

    /// What runs on each device that has a share: to await, to time, to cancel.
    pub fn parts(&self) -> &[Submission] {
        &self.parts
    }
}
