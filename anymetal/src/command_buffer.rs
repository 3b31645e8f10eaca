//! Command buffers and encoders, in Metal's words.
//!
//! Owns [`CommandBuffer`] and [`BlitEncoder`]. Invariant, kept by the types: an encoder
//! borrows its command buffer, so there is one at a time and none after commit; a command buffer is committed
//! at most once.

use std::ops::Range;
use std::sync::Arc;

use anymetal_core::event::Event;
use anymetal_core::submission::command_buffer;
use anymetal_hal::blit;
use anymetal_hal::command::{Deadline, ResourceUsage, Timestamps};
use anymetal_hal::matrix_product::MatrixProduct;
use anymetal_hal::time_sample::{TIME_SAMPLE_BYTES, TimeSample};
use bytemuck::Pod;

use crate::buffer::{BufferSlice, BufferView};
use crate::compute_encoder::ComputeEncoder;
use crate::error::Error;
use crate::fence::Fence;
use crate::indirect_command_buffer::IndirectCommandBuffer;
use crate::submission::{Outcome, Submission, told};

/// Commands that run together, in order. Dropping it without a commit runs nothing.
#[derive(Debug)]
pub struct CommandBuffer {
    inner: command_buffer::CommandBuffer,
}

impl CommandBuffer {
    pub(crate) fn new(inner: command_buffer::CommandBuffer) -> Self {
        CommandBuffer { inner }
    }

    pub(crate) fn into_inner(self) -> command_buffer::CommandBuffer {
        self.inner
    }

    /// A name for messages.
    pub fn label(self, label: impl Into<String>) -> Self {
        CommandBuffer { inner: self.inner.label(label) }
    }

    /// Stops it when it has run for that [`Duration`](std::time::Duration), in place of the default (the
    /// setting `streams.deadline`, or else 60 s); [`Deadline::Never`] turns the deadline off.
    pub fn deadline(self, deadline: impl Into<Deadline>) -> Self {
        CommandBuffer { inner: self.inner.deadline(deadline.into()) }
    }

    /// What to measure.
    pub fn timestamps(self, timestamps: Timestamps) -> Self {
        CommandBuffer { inner: self.inner.timestamps(timestamps) }
    }

    /// The bytes of the log for messages of its kernels, by default a mebibyte. Messages that do not fit are
    /// counted and lost ([`crate::log::Logs::dropped`]).
    pub fn log_bytes(self, bytes: u64) -> Self {
        CommandBuffer { inner: self.inner.log_bytes(bytes) }
    }

    /// Runs it only after other work, of any queue and device, has ended well.
    pub fn after(self, other: &Submission) -> Self {
        CommandBuffer { inner: self.inner.after(other.inner()) }
    }

    /// Calls back when it has ended, on the thread that ended it, which may be the one that commits: the
    /// callback must take no lock that is held across a commit, be short, and not wait.
    pub fn on_done(self, callback: impl FnOnce(&Outcome) + Send + 'static) -> Self {
        CommandBuffer { inner: self.inner.on_done(|outcome| callback(&told(outcome.clone()))) }
    }

    /// Makes a buffer reachable for its kernels that find the buffer's address in memory; see
    /// [`ComputeEncoder::use_resource`].
    pub fn use_resource(&mut self, resource: impl Into<BufferSlice>, usage: ResourceUsage) {
        self.inner.use_resource(resource.into().buffer(), usage);
    }

    /// As [`CommandBuffer::use_resource`], of several.
    pub fn use_resources<R: Into<BufferSlice>>(
        &mut self,
        resources: impl IntoIterator<Item = R>,
        usage: ResourceUsage,
    ) {
        resources.into_iter().for_each(|resource| self.use_resource(resource, usage));
    }

    /// Starts encoding dispatches.
    pub fn compute_encoder(&mut self) -> ComputeEncoder<'_> {
        ComputeEncoder::new(&mut self.inner)
    }

    /// Starts encoding copies and fills.
    pub fn blit_encoder(&mut self) -> BlitEncoder<'_> {
        BlitEncoder { inner: self.inner.blit() }
    }

    /// Multiplies matrices by the device's own library, if it has one ([`crate::Device::matrix_products`]):
    /// cuBLAS on NVIDIA GPUs. Sums are in `float`, and factors of `float` are multiplied in full precision.
    pub fn multiply(&mut self, product: MatrixProduct) -> Result<(), Error> {
        Ok(self.inner.multiply(product)?)
    }

    /// Writes what the device's clock shows once everything before is done, in nanoseconds, to the first
    /// eight bytes of a region, which begins at a multiple of eight ([`crate::Device::clock_ns`]).
    pub fn sample_time(&mut self, region: &BufferSlice) -> Result<(), Error> {
        region.slice(0..TIME_SAMPLE_BYTES)?;
        let (buffer, offset) = (Arc::clone(region.buffer()), region.offset());
        Ok(self.inner.sample_time(TimeSample::new(buffer, offset)?)?)
    }

    /// What follows waits, without a thread, until the event reaches the value.
    pub fn wait_event(&mut self, event: &Event, value: u64) -> Result<(), Error> {
        Ok(self.inner.wait_event(event, value)?)
    }

    /// Raises the event once everything before is done.
    pub fn signal_event(&mut self, event: &Event, value: u64) -> Result<(), Error> {
        Ok(self.inner.signal_event(event, value)?)
    }

    /// Hands the commands over.
    pub fn commit(self) -> Result<Submission, Error> {
        Submission::accepted(self.inner.commit())
    }
}

/// Encodes copies and fills. Dropping it ends the encoding.
#[derive(Debug)]
pub struct BlitEncoder<'a> {
    inner: blit::BlitEncoder<'a>,
}

impl BlitEncoder<'_> {
    /// Copies a view's elements to the start of another of the same length.
    pub fn copy<T: Pod>(&mut self, source: &BufferView<T>, destination: &BufferView<T>) -> Result<(), Error> {
        if source.len() != destination.len() {
            let (start, end, len) = (0, source.len(), destination.len());
            return Err(Error::RangeOutsideBuffer { start, end, len });
        }
        self.copy_region(&source.region(), &destination.region())
    }

    /// Copies the bytes of a region to the start of another of the same length.
    pub fn copy_region(&mut self, from: &BufferSlice, to: &BufferSlice) -> Result<(), Error> {
        to.slice(0..from.length())?;
        let range = from.offset()..from.offset() + from.length();
        self.inner.copy(from.buffer(), range, to.buffer(), to.offset())?;
        Ok(())
    }

    /// Sets every byte of a view.
    pub fn fill<T: Pod>(&mut self, view: &BufferView<T>, value: u8) -> Result<(), Error> {
        self.fill_region(&view.region(), value)
    }

    /// Sets every byte of a region.
    pub fn fill_region(&mut self, region: &BufferSlice, value: u8) -> Result<(), Error> {
        self.inner.fill(region.buffer(), region.offset()..region.offset() + region.length(), value)?;
        Ok(())
    }

    /// Makes commands of an indirect command buffer do nothing, in the order of the command buffer.
    pub fn reset_commands(
        &mut self,
        buffer: &IndirectCommandBuffer,
        commands: Range<u32>,
    ) -> Result<(), Error> {
        self.fill_region(&buffer.region(commands)?, 0)
    }

    /// Copies commands of an indirect command buffer to those of another from `first` on, in the order of the
    /// command buffer. Both have the same limits, and inherit the same.
    pub fn copy_commands(
        &mut self,
        from: &IndirectCommandBuffer,
        commands: Range<u32>,
        to: &IndirectCommandBuffer,
        first: u32,
    ) -> Result<(), Error> {
        from.check_alike(to)?;
        let end = first.saturating_add(commands.end.saturating_sub(commands.start));
        self.copy_region(&from.region(commands)?, &to.region(first..end)?)
    }

    /// Updates a fence once everything before is done.
    pub fn update_fence(&mut self, fence: &Fence) {
        self.inner.update_fence(fence.inner());
    }

    /// Goes on once the last update of the fence before here is done.
    pub fn wait_for_fence(&mut self, fence: &Fence) {
        self.inner.wait_for_fence(fence.inner());
    }

    /// Ends the encoding; so does dropping the encoder.
    pub fn end_encoding(self) {}
}
