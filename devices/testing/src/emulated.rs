//! A device with the capabilities of a family.
//!
//! Owns [`EmulatedDevice`]. Resources are the wrapped device's own; only what the family's limits refuse
//! never reaches it. Features of kernels are checked where they are compiled, since a device sees code only.

use std::sync::Arc;

use anymetal_hal::artifact::{AddressSpace, ArgumentKind, Artifact, KernelInfo};
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::command::Command;
use anymetal_hal::device::{Device, LentMemory};
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::Event;
use anymetal_hal::fence::Fence;
use anymetal_hal::heap::{Heap, HeapDescriptor};
use anymetal_hal::host_pages::{HostPages, ImportError};
use anymetal_hal::indirect::IndirectCommandBuffer;
use anymetal_hal::peer::{PeerHandle, PeerLink};
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};
use anymetal_types::family::Family;
use anymetal_types::family::table::Feature;

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
        let capabilities = lowered(inner.capabilities(), family);
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

/// A device's capabilities, lowered to the family's.
fn lowered(own: &Capabilities, family: Family) -> Capabilities {
    let limits = family.limits();
    let threads = limits.threads_per_threadgroup;
    Capabilities {
        working_set_bytes: own.working_set_bytes.min(limits.working_set_bytes.unwrap_or(u64::MAX)),
        max_buffer_bytes: own.max_buffer_bytes.min(limits.buffer_bytes.unwrap_or(u64::MAX)),
        max_threads_per_dimension: own.max_threads_per_dimension.map(|most| most.min(threads)),
        max_threads_per_threadgroup: own.max_threads_per_threadgroup.min(threads),
        max_threadgroup_memory_bytes: own.max_threadgroup_memory_bytes.min(limits.threadgroup_memory_bytes),
        max_inline_bytes: own.max_inline_bytes.min(limits.inline_bytes),
        supports_bfloat: own.supports_bfloat && family.supports(Feature::Bfloat),
        supports_64_bit_atomics: own.supports_64_bit_atomics && family.supports(Feature::Atomics64),
        ..own.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::null::NullDevice;

    #[test]
    fn a_device_loses_what_the_family_lacks_and_gains_nothing() {
        let inner: Arc<dyn Device> = Arc::new(NullDevice::new());
        let own = inner.capabilities();
        for family in Family::ALL {
            let device = EmulatedDevice::new(Arc::clone(&inner), family);
            let lowered = device.capabilities();
            assert!(lowered.max_buffer_bytes <= own.max_buffer_bytes && lowered.simd_width == own.simd_width);
            assert_eq!(lowered.supports_bfloat, family.supports(Feature::Bfloat));
            assert_eq!(lowered.supports_64_bit_atomics, family.supports(Feature::Atomics64));
        }
        let runner = EmulatedDevice::new(inner, Family::Paravirtual);
        let limit = 3_758_096_384;
        let descriptor = |length| BufferDescriptor { length, ..BufferDescriptor::default() };
        let refused = runner.buffer(&descriptor(limit + 1)).unwrap_err();
        assert_eq!(refused, DeviceError::BufferTooLarge { requested: limit + 1, limit });
        assert!(runner.buffer(&descriptor(4096)).is_ok());
    }
}
