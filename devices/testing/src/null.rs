//! The null device: it accepts and validates everything, and runs nothing.
//!
//! Owns [`NullDevice`], on which the runtime's policies are tested without hardware. What it says of itself:
//! [`DeviceKind::Null`]; every completion is successful and every buffer keeps what the host wrote. Event
//! waits and signals, deadlines, order and in-flight limits are kept as on a real device, by the clock that
//! is given. Invariant: command buffers of a queue end in order, each as soon as its waits are met, on the
//! thread that met them; a thread that is ending one ends others in a loop, never by recursion.

mod memory;
mod queue;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anymetal_hal::artifact::{Artifact, KernelInfo, MAX_THREADS_PER_THREADGROUP, SIMD_WIDTH};
use anymetal_hal::attachment::Attachment;
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::capabilities::{Capabilities, DeviceKind};
use anymetal_hal::clock::{Clock, SystemClock};
use anymetal_hal::command::Command;
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::{Event, HostEvent};
use anymetal_hal::fence::{Fence, HostFence};
use anymetal_hal::heap::{Heap, HeapDescriptor};
use anymetal_hal::host_pages::{HostPages, ImportError};
use anymetal_hal::indirect::{HostIndirect, IndirectCommandBuffer, check_indirect};
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};
use anymetal_hal::validate;
use memory::{NullBuffer, NullHeap, NullOrigin};
use queue::NullQueue;

/// A device that runs nothing.
#[derive(Debug, Clone)]
pub struct NullDevice {
    shared: Arc<NullShared>,
}

#[derive(Debug)]
struct NullShared {
    name: String,
    capabilities: Capabilities,
    clock: Arc<dyn Clock>,
    allocated: AtomicU64,
}

impl NullDevice {
    /// A null device by real time.
    pub fn new() -> Self {
        NullDevice::with_clock(SystemClock::shared())
    }

    /// A null device by that clock.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        NullDevice::named("null", clock)
    }

    /// A null device of that name; several make a machine with several devices.
    pub fn named(name: &str, clock: Arc<dyn Clock>) -> Self {
        NullDevice::made(name, clock, capabilities())
    }

    /// A null device of that name with memory of its own, as a GPU behind a bus has it.
    pub fn with_own_memory(name: &str, clock: Arc<dyn Clock>) -> Self {
        NullDevice::made(name, clock, capabilities().unified_memory(false))
    }

    fn made(name: &str, clock: Arc<dyn Clock>, capabilities: Capabilities) -> Self {
        let name = name.to_owned();
        NullDevice {
            shared: Arc::new(NullShared { name, capabilities, clock, allocated: AtomicU64::new(0) }),
        }
    }
}

impl Default for NullDevice {
    fn default() -> Self {
        NullDevice::new()
    }
}

fn capabilities() -> Capabilities {
    Capabilities::new(DeviceKind::Null, "no hardware: validates everything, runs nothing")
        .architecture("null")
        .unified_memory(true)
        .memory_bytes(1 << 40)
        .working_set_bytes(1 << 40)
        .max_buffer_bytes(1 << 36)
        .max_threads_per_dimension([MAX_THREADS_PER_THREADGROUP; 3])
        .max_threads_per_threadgroup(MAX_THREADS_PER_THREADGROUP)
        .max_threadgroup_memory_bytes(32 * 1024)
        .max_inline_bytes(4096)
        .simd_width(SIMD_WIDTH)
        .compute_units(1)
        .supports_half(true)
        .supports_bfloat(true)
        .supports_64_bit_atomics(true)
        .supports_timestamps(true)
        .supports_priorities(true)
        .checks_accesses(true)
        .supports_deadlines(true)
        .supports_cancellation(true)
}

impl NullShared {
    fn now_ns(&self) -> u64 {
        self.clock.now().as_nanos() as u64
    }

    fn wrong_device(&self, what: &'static str) -> DeviceError {
        DeviceError::WrongDevice { what, device: self.name.clone() }
    }

    fn check_length(&self, requested: u64) -> Result<(), DeviceError> {
        let limit = self.capabilities.max_buffer_bytes;
        if requested > limit { Err(DeviceError::BufferTooLarge { requested, limit }) } else { Ok(()) }
    }
}

impl Device for NullDevice {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        self.shared.check_length(descriptor.length)?;
        self.shared.allocated.fetch_add(descriptor.length, Ordering::Relaxed);
        Ok(Arc::new(NullBuffer::new(&self.shared, descriptor, NullOrigin::Own)))
    }

    fn import(&self, pages: HostPages, label: &str) -> Result<Arc<dyn Buffer>, Box<ImportError>> {
        let imported = self.shared.check_length(pages.length());
        match imported.and_then(|()| NullBuffer::imported(&self.shared, &pages, label)) {
            Ok(buffer) => Ok(Arc::new(buffer)),
            Err(error) => Err(Box::new(ImportError::new(pages, error))),
        }
    }

    fn pipeline(&self, artifact: &Arc<Artifact>, kernel: &str) -> Result<Arc<dyn Pipeline>, DeviceError> {
        let info = artifact.existing_kernel(kernel)?;
        validate::check_arguments(info, &self.shared.name)?;
        Ok(Arc::new(NullPipeline(info.clone(), Attachment::default())))
    }

    fn queue(&self, descriptor: &QueueDescriptor) -> Result<Arc<dyn Queue>, DeviceError> {
        Ok(Arc::new(NullQueue::new(&self.shared, descriptor)))
    }

    fn event(&self) -> Result<Arc<dyn Event>, DeviceError> {
        Ok(Arc::new(HostEvent::default()))
    }

    fn fence(&self) -> Result<Arc<dyn Fence>, DeviceError> {
        Ok(Arc::new(HostFence::default()))
    }

    fn heap(&self, descriptor: &HeapDescriptor) -> Result<Arc<dyn Heap>, DeviceError> {
        self.shared.check_length(descriptor.length)?;
        Ok(Arc::new(NullHeap::new(&self.shared, descriptor)))
    }

    fn indirect_command_buffer(
        &self,
        commands: Vec<Command>,
    ) -> Result<Arc<dyn IndirectCommandBuffer>, DeviceError> {
        check_indirect(&commands)?;
        // Everything else is checked whenever it is submitted: there is nothing to save.
        Ok(Arc::new(HostIndirect { commands, owner: Arc::clone(&self.shared) }))
    }

    fn matrix_products(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn clock_ns(&self) -> Result<u64, DeviceError> {
        Ok(self.shared.now_ns())
    }

    fn allocated_bytes(&self) -> u64 {
        self.shared.allocated.load(Ordering::Relaxed)
    }
}

/// A pipeline that is never run.
#[derive(Debug)]
struct NullPipeline(KernelInfo, Attachment);

impl Pipeline for NullPipeline {
    fn kernel(&self) -> &KernelInfo {
        &self.0
    }

    fn attachment(&self) -> Option<&Attachment> {
        Some(&self.1)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
