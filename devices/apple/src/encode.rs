//! Commands to Metal's encoders.
//!
//! Owns [`Encoding`]. Dispatches that follow each other share a compute encoder, copies and fills a blit
//! encoder; what is between encoders ends the open one. Invariant: an encoder is ended before its command
//! buffer is left, whatever happens. The order holds because compute encoders are serial and all buffers are
//! tracked.

use std::ptr::NonNull;
use std::sync::Arc;

use anymetal_hal::artifact::{ArgumentKind, KernelInfo};
use anymetal_hal::command::{
    Binding, BoundResource, BufferCopy, Command, CommandList, Dispatch, Grid, IndirectDispatch,
    ThreadgroupMemory, Timestamps,
};
use anymetal_hal::error::DeviceError;
use anymetal_hal::matrix_product;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::time_sample;
use objc2::rc::Retained;
use objc2::runtime::ProtocolObject;
use objc2_foundation::{NSRange, NSString};
use objc2_metal::{
    MTLBlitCommandEncoder, MTLBuffer, MTLCommandBuffer, MTLCommandEncoder, MTLCommandQueue,
    MTLComputeCommandEncoder, MTLFence, MTLSize,
};

use crate::device::DeviceShared;
use crate::launch;
use crate::object::label_of;
use crate::pipeline::ApplePipeline;
use crate::unaligned::{CopyPart, copy_parts};
use crate::{capture, error};

/// What lengths of threadgroup memory are multiples of.
const THREADGROUP_UNIT: u64 = 16;
/// Threads of a threadgroup of the kernels for unaligned ranges.
const BYTES_PER_GROUP: usize = 256;

pub(crate) type CommandBuffer = Retained<ProtocolObject<dyn MTLCommandBuffer>>;
type Compute = Retained<ProtocolObject<dyn MTLComputeCommandEncoder>>;
type Blit = Retained<ProtocolObject<dyn MTLBlitCommandEncoder>>;

/// The encoder that is open.
enum Open {
    Nothing,
    Compute(Compute),
    Blit(Blit),
}

/// A submission on its way into command buffers.
pub(crate) struct Encoding<'a> {
    device: &'a Arc<DeviceShared>,
    queue: &'a ProtocolObject<dyn MTLCommandQueue>,
    label: Option<Retained<NSString>>,
    /// Whether dispatches are marked with their kernels' names, for captures.
    marks: bool,
    open: Open,
    /// The fences that encoders made from here on wait for.
    waits: Vec<Retained<ProtocolObject<dyn MTLFence>>>,
    current: CommandBuffer,
    full: Vec<CommandBuffer>,
}

/// Encodes a submission: into one command buffer, or one for each command where each is timed.
pub(crate) fn encode(
    device: &Arc<DeviceShared>,
    queue: &ProtocolObject<dyn MTLCommandQueue>,
    submission: &CommandList,
) -> Result<Vec<CommandBuffer>, DeviceError> {
    let label = label_of(&submission.label);
    let current = command_buffer(device, queue, label.as_deref())?;
    let marks = device.options.debug_marks || capture::is_capturing();
    let (open, waits, full) = (Open::Nothing, Vec::new(), Vec::new());
    let mut encoding = Encoding { device, queue, label, marks, open, waits, current, full };
    let result = encoding.commands(submission);
    encoding.end();
    result?;
    encoding.full.push(encoding.current);
    Ok(encoding.full)
}

fn command_buffer(
    device: &DeviceShared,
    queue: &ProtocolObject<dyn MTLCommandQueue>,
    label: Option<&NSString>,
) -> Result<CommandBuffer, DeviceError> {
    let made = queue.commandBuffer().ok_or_else(|| error::none(&device.name, "command buffer"))?;
    if label.is_some() {
        made.setLabel(label);
    }
    Ok(made)
}

impl<'a> Encoding<'a> {
    fn commands(&mut self, submission: &'a CommandList) -> Result<(), DeviceError> {
        let last = submission.commands.len().saturating_sub(1);
        for (at, command) in submission.commands.iter().enumerate() {
            self.command(command)?;
            if submission.timestamps == Timestamps::EachCommand && at < last {
                self.end();
                let next = command_buffer(self.device, self.queue, self.label.as_deref())?;
                self.full.push(std::mem::replace(&mut self.current, next));
            }
        }
        self.synchronise(submission)
    }

    fn command(&mut self, command: &Command) -> Result<(), DeviceError> {
        match command {
            Command::Dispatch(dispatch) => self.dispatch(dispatch),
            Command::DispatchIndirect(dispatch) => self.dispatch_indirect(dispatch),
            Command::Copy(copy) => self.copy(copy),
            Command::Fill(fill) => {
                let own = launch::buffer(self.device, fill.buffer())?;
                self.fill(own.metal(), fill.offset(), fill.length(), fill.value())
            }
            Command::ExecuteIndirect(indirect) => {
                indirect.commands().iter().try_for_each(|command| self.command(command))
            }
            Command::MatrixProduct(_) => Err(matrix_product::unsupported(&self.device.name)),
            Command::SampleTime(_) => Err(time_sample::unsupported(&self.device.name)),
            Command::ExecuteEncoded(_) => Err(launch::encoded_unsupported(self.device)),
            Command::WaitEvent { event, value } => {
                let own = launch::event(self.device, event)?;
                self.end();
                self.current.encodeWaitForEvent_value(ProtocolObject::from_ref(&*own.event), *value);
                Ok(())
            }
            Command::SignalEvent { event, value } => {
                let own = launch::event(self.device, event)?;
                self.end();
                self.current.encodeSignalEvent_value(ProtocolObject::from_ref(&*own.event), *value);
                Ok(())
            }
            Command::UpdateFence(fence) => {
                let own = launch::fence(self.device, fence)?;
                match &self.open {
                    Open::Compute(encoder) => encoder.updateFence(&own.fence),
                    Open::Blit(encoder) => encoder.updateFence(&own.fence),
                    Open::Nothing => self.blit()?.updateFence(&own.fence),
                }
                self.end();
                Ok(())
            }
            Command::WaitFence(fence) => {
                let own = launch::fence(self.device, fence)?;
                self.end();
                self.waits.push(own.fence.clone());
                Ok(())
            }
        }
    }

    /// Ends the open encoder.
    fn end(&mut self) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => {}
            Open::Compute(encoder) => encoder.endEncoding(),
            Open::Blit(encoder) => encoder.endEncoding(),
        }
    }

    fn compute(&mut self) -> Result<Compute, DeviceError> {
        if let Open::Compute(encoder) = &self.open {
            return Ok(encoder.clone());
        }
        self.end();
        let made = self.current.computeCommandEncoder();
        let encoder = made.ok_or_else(|| error::none(&self.device.name, "compute encoder"))?;
        self.open = Open::Compute(encoder.clone());
        self.waits.iter().for_each(|fence| encoder.waitForFence(fence));
        if self.marks {
            encoder.setLabel(self.label.as_deref());
        }
        Ok(encoder)
    }

    fn blit(&mut self) -> Result<Blit, DeviceError> {
        if let Open::Blit(encoder) = &self.open {
            return Ok(encoder.clone());
        }
        self.end();
        let made = self.current.blitCommandEncoder();
        let encoder = made.ok_or_else(|| error::none(&self.device.name, "blit encoder"))?;
        self.open = Open::Blit(encoder.clone());
        self.waits.iter().for_each(|fence| encoder.waitForFence(fence));
        if self.marks {
            encoder.setLabel(self.label.as_deref());
        }
        Ok(encoder)
    }

    fn dispatch(&mut self, dispatch: &Dispatch) -> Result<(), DeviceError> {
        let (Grid::Threads(extents) | Grid::Threadgroups(extents)) = dispatch.grid();
        if extents.contains(&0) {
            return Ok(());
        }
        let pipeline = launch::pipeline(self.device, dispatch.pipeline())?;
        let encoder = self.bound(pipeline, dispatch.bindings(), dispatch.threadgroup_memory())?;
        let group = size(dispatch.group_size());
        self.marked(&encoder, &pipeline.kernel().name, || match dispatch.grid() {
            Grid::Threads(threads) => encoder.dispatchThreads_threadsPerThreadgroup(size(threads), group),
            Grid::Threadgroups(groups) => {
                encoder.dispatchThreadgroups_threadsPerThreadgroup(size(groups), group);
            }
        });
        Ok(())
    }

    fn dispatch_indirect(&mut self, indirect: &IndirectDispatch) -> Result<(), DeviceError> {
        let dispatch = indirect.dispatch();
        let pipeline = launch::pipeline(self.device, dispatch.pipeline())?;
        let counts = launch::buffer(self.device, indirect.counts())?;
        let encoder = self.bound(pipeline, dispatch.bindings(), dispatch.threadgroup_memory())?;
        let (offset, group) = (indirect.counts_offset() as usize, size(dispatch.group_size()));
        self.marked(&encoder, &pipeline.kernel().name, || {
            // SAFETY: the counts lie within the buffer at a multiple of four, which was checked.
            unsafe {
                encoder.dispatchThreadgroupsWithIndirectBuffer_indirectBufferOffset_threadsPerThreadgroup(
                    counts.metal(),
                    offset,
                    group,
                );
            }
        });
        Ok(())
    }

    /// The compute encoder with the pipeline and all that it takes bound. It was checked.
    fn bound(
        &mut self,
        pipeline: &ApplePipeline,
        bindings: &[Binding],
        threadgroup_memory: &[ThreadgroupMemory],
    ) -> Result<Compute, DeviceError> {
        let encoder = self.compute()?;
        encoder.setComputePipelineState(&pipeline.state);
        for index in enabled(pipeline.kernel(), ArgumentKind::Buffer) {
            let binding = bindings.iter().rev().find(|binding| binding.index == index);
            let resource = binding.map_or(&BoundResource::Unbound, |binding| &binding.resource);
            self.bind(&encoder, index as usize, resource)?;
        }
        for index in enabled(pipeline.kernel(), ArgumentKind::ThreadgroupMemory) {
            let given = threadgroup_memory.iter().rev().find(|given| given.index == index);
            let length = given.map_or(0, |given| given.length).next_multiple_of(THREADGROUP_UNIT);
            // SAFETY: index and length are within the limits, which was checked.
            unsafe { encoder.setThreadgroupMemoryLength_atIndex(length as usize, index as usize) };
        }
        Ok(encoder)
    }

    fn bind(&self, encoder: &Compute, index: usize, resource: &BoundResource) -> Result<(), DeviceError> {
        match resource {
            BoundResource::Bytes(bytes) if !bytes.is_empty() => {
                let start = NonNull::from(&**bytes).cast();
                // SAFETY: so many bytes are there, and Metal copies them.
                unsafe { encoder.setBytes_length_atIndex(start, bytes.len(), index) };
            }
            BoundResource::Buffer { buffer, offset, .. } => {
                let own = launch::buffer(self.device, buffer)?;
                // SAFETY: the offset is within the buffer, which was checked; the command buffer holds it.
                unsafe { encoder.setBuffer_offset_atIndex(Some(own.metal()), *offset as usize, index) };
            }
            // What an earlier dispatch bound must not be seen.
            BoundResource::Bytes(_) | BoundResource::Unbound => {
                // SAFETY: nothing is bound.
                unsafe { encoder.setBuffer_offset_atIndex(None, 0, index) };
            }
        }
        Ok(())
    }

    /// Encodes within a debug group of that name, if there are marks.
    fn marked(&self, encoder: &Compute, name: &str, encode: impl FnOnce()) {
        if !self.marks {
            return encode();
        }
        encoder.pushDebugGroup(&NSString::from_str(name));
        encode();
        encoder.popDebugGroup();
    }

    fn copy(&mut self, copy: &BufferCopy) -> Result<(), DeviceError> {
        let source = launch::buffer(self.device, copy.source())?.metal();
        let destination = launch::buffer(self.device, copy.destination())?.metal();
        let offsets = [copy.source_offset(), copy.destination_offset()];
        for part in copy_parts(&offsets, copy.length()) {
            match part {
                CopyPart::Blit(range) => {
                    let [from, to] = offsets.map(|offset| (offset + range.start) as usize);
                    let length = (range.end - range.start) as usize;
                    let encoder = self.blit()?;
                    // SAFETY: both ranges are within their buffers and do not overlap, which was checked.
                    unsafe {
                        encoder.copyFromBuffer_sourceOffset_toBuffer_destinationOffset_size(
                            source,
                            from,
                            destination,
                            to,
                            length,
                        );
                    }
                }
                CopyPart::Kernel(range) => {
                    let [from, to] = offsets.map(|offset| (offset + range.start) as usize);
                    let encoder = self.compute()?;
                    encoder.setComputePipelineState(&self.device.kernels()?.copy);
                    // SAFETY: as above.
                    unsafe {
                        encoder.setBuffer_offset_atIndex(Some(source), from, 0);
                        encoder.setBuffer_offset_atIndex(Some(destination), to, 1);
                    }
                    dispatch_bytes(&encoder, range.end - range.start);
                }
            }
        }
        Ok(())
    }

    fn fill(
        &mut self,
        buffer: &ProtocolObject<dyn MTLBuffer>,
        offset: u64,
        length: u64,
        value: u8,
    ) -> Result<(), DeviceError> {
        for part in copy_parts(&[offset], length) {
            match part {
                CopyPart::Blit(range) => {
                    let start = (offset + range.start) as usize;
                    let range = NSRange::new(start, (range.end - range.start) as usize);
                    self.blit()?.fillBuffer_range_value(buffer, range, value);
                }
                CopyPart::Kernel(range) => {
                    let encoder = self.compute()?;
                    encoder.setComputePipelineState(&self.device.kernels()?.fill);
                    // SAFETY: the range is within the buffer, which was checked; Metal copies the byte.
                    unsafe {
                        let start = (offset + range.start) as usize;
                        encoder.setBuffer_offset_atIndex(Some(buffer), start, 0);
                        encoder.setBytes_length_atIndex(NonNull::from(&value).cast(), 1, 1);
                    }
                    dispatch_bytes(&encoder, range.end - range.start);
                }
            }
        }
        Ok(())
    }

    /// Makes the host's copies of managed buffers equal to the device's.
    fn synchronise(&mut self, submission: &CommandList) -> Result<(), DeviceError> {
        for buffer in submission.buffers() {
            let own = launch::buffer(self.device, buffer)?;
            if own.has_two_copies() {
                self.blit()?.synchronizeResource(ProtocolObject::from_ref(own.metal()));
            }
        }
        Ok(())
    }
}

/// Fills a buffer that nobody has yet with zeros, and waits for it.
pub(crate) fn fill_now(
    device: &Arc<DeviceShared>,
    queue: &ProtocolObject<dyn MTLCommandQueue>,
    buffer: &ProtocolObject<dyn MTLBuffer>,
    length: u64,
) -> Result<(), DeviceError> {
    let current = command_buffer(device, queue, None)?;
    let mut encoding = Encoding {
        device,
        queue,
        label: None,
        marks: false,
        open: Open::Nothing,
        waits: Vec::new(),
        current,
        full: Vec::new(),
    };
    let result = encoding.fill(buffer, 0, length, 0);
    encoding.end();
    result?;
    encoding.current.commit();
    encoding.current.waitUntilCompleted();
    match encoding.current.error() {
        Some(problem) => Err(error::of_command_buffer(&device.name, "", Some(&problem))),
        None => Ok(()),
    }
}

fn enabled(kernel: &KernelInfo, kind: ArgumentKind) -> impl Iterator<Item = u32> {
    let arguments = kernel.arguments.iter();
    arguments.filter(move |argument| argument.enabled && argument.kind == kind).map(|argument| argument.index)
}

fn dispatch_bytes(encoder: &Compute, bytes: u64) {
    let threads = MTLSize { width: bytes as usize, height: 1, depth: 1 };
    let group = MTLSize { width: BYTES_PER_GROUP, height: 1, depth: 1 };
    encoder.dispatchThreads_threadsPerThreadgroup(threads, group);
}

fn size([width, height, depth]: [u32; 3]) -> MTLSize {
    MTLSize { width: width as usize, height: height as usize, depth: depth as usize }
}
