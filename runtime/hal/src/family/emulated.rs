//! A device with the capabilities of a family.
//!
//! Owns [`EmulatedDevice`]. Resources are the wrapped device's own; only what the family's limits refuse
//! never reaches it. Features of kernels are checked where they are compiled, since a device sees code only.

use std::sync::Arc;

use super::Family;
use super::table;
use crate::artifact::{AddressSpace, ArgumentKind, Artifact, KernelInfo};
use crate::buffer::{Buffer, BufferDescriptor};
use crate::capabilities::Capabilities;
use crate::command::Command;
use crate::device::{Device, LentMemory};
use crate::error::DeviceError;
use crate::event::Event;
use crate::fence::Fence;
use crate::heap::{Heap, HeapDescriptor};
use crate::host_pages::{HostPages, ImportError};
use crate::indirect::IndirectCommandBuffer;
use crate::peer::{PeerHandle, PeerLink};
use crate::pipeline::Pipeline;
use crate::queue::{Queue, QueueDescriptor};

/// A device that refuses what a family refuses.
#[derive(Debug, Clone)]
pub struct EmulatedDevice {
    inner: Arc<dyn Device>,
    family: Family,
    capabilities: Capabilities,
}

impl EmulatedDevice {
    /// Wraps a device.
    pub fn new(inner: Arc<dyn Device>, family: Family) -> Self {
        let capabilities = table::lowered(inner.capabilities(), family);
        EmulatedDevice { inner, family, capabilities }
    }

    /// The family.
    pub fn family(&self) -> Family {
        self.family
    }

    fn check_length(&self, requested: u64) -> Result<(), DeviceError> {
        let limit = self.capabilities.max_buffer_bytes;
        if requested > limit { Err(DeviceError::BufferTooLarge { requested, limit }) } else { Ok(()) }
    }

    fn check_kernel(&self, kernel: &KernelInfo) -> Result<(), DeviceError> {
        let limits = self.family.limits();
        let refuse = |what: String, alternative: &str| {
            let device = format!("the GPU family {}", self.family);
            Err(DeviceError::Unsupported { device, what, alternative: alternative.to_owned() })
        };
        let constants = kernel.arguments.iter().filter(|argument| {
            let is_constant = argument.address_space == AddressSpace::Constant;
            argument.enabled && argument.kind == ArgumentKind::Buffer && is_constant
        });
        let (constants, most) = (constants.count(), limits.constant_buffer_arguments);
        if constants > most as usize {
            let what =
                format!("{constants} arguments in the constant address space (kernel `{}`)", kernel.name);
            return refuse(what, &format!("use at most {most}, or the device address space"));
        }
        let (bytes, most) = (kernel.threadgroup_static_bytes, self.capabilities.max_threadgroup_memory_bytes);
        if bytes > most {
            let what = format!("{bytes} bytes of threadgroup memory (kernel `{}`)", kernel.name);
            return refuse(what, &format!("use at most {most}"));
        }
        Ok(())
    }
}

impl Device for EmulatedDevice {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        self.check_length(descriptor.length)?;
        self.inner.buffer(descriptor)
    }

    fn import(&self, pages: HostPages, label: &str) -> Result<Arc<dyn Buffer>, Box<ImportError>> {
        match self.check_length(pages.length()) {
            Ok(()) => self.inner.import(pages, label),
            Err(error) => Err(Box::new(ImportError { pages, error })),
        }
    }

    fn borrow_host(&self, memory: LentMemory, label: &str) -> Result<Arc<dyn Buffer>, DeviceError> {
        self.check_length(memory.length())?;
        self.inner.borrow_host(memory, label)
    }

    fn pipeline(&self, artifact: &Arc<Artifact>, kernel: &str) -> Result<Arc<dyn Pipeline>, DeviceError> {
        artifact.kernel(kernel).map_or(Ok(()), |kernel| self.check_kernel(kernel))?;
        self.inner.pipeline(artifact, kernel)
    }

    fn queue(&self, descriptor: &QueueDescriptor) -> Result<Arc<dyn Queue>, DeviceError> {
        self.inner.queue(descriptor)
    }

    fn event(&self) -> Result<Arc<dyn Event>, DeviceError> {
        self.inner.event()
    }

    fn fence(&self) -> Result<Arc<dyn Fence>, DeviceError> {
        self.inner.fence()
    }

    fn heap(&self, descriptor: &HeapDescriptor) -> Result<Arc<dyn Heap>, DeviceError> {
        self.inner.heap(descriptor)
    }

    fn indirect_command_buffer(
        &self,
        commands: Vec<Command>,
    ) -> Result<Arc<dyn IndirectCommandBuffer>, DeviceError> {
        self.inner.indirect_command_buffer(commands)
    }

    fn peer_handle(&self) -> Option<PeerHandle> {
        self.inner.peer_handle()
    }

    fn link_to(&self, peer: &dyn Device) -> Result<Arc<dyn PeerLink>, DeviceError> {
        self.inner.link_to(peer)
    }

    fn matrix_products(&self) -> Result<(), DeviceError> {
        self.inner.matrix_products()
    }

    fn clock_ns(&self) -> Result<u64, DeviceError> {
        self.inner.clock_ns()
    }

    fn allocated_bytes(&self) -> u64 {
        self.inner.allocated_bytes()
    }
}
