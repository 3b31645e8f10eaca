//! A device with the capabilities of a family.
//!
//! Owns [`EmulatedDevice`]. Resources are the wrapped device's own; only what the family's limits refuse
//! never reaches it. Features of kernels are checked where they are compiled, since a device sees code only.
//! Invariant: a dispatch that reaches the wrapped device has passed
//! [`Dispatch::check`](anymetal_hal::command::Dispatch::check) with the family's limits, whoever submits it.
//! The wrapped device reads commands that kernels encode, and checks them with the limits that
//! [`Command::limit`] adds.

use std::sync::Arc;

use anymetal_hal::artifact::{AddressSpace, ArgumentKind, Artifact, KernelInfo};
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::command::{Command, CommandList};
use anymetal_hal::completion::{Completion, Outcome};
use anymetal_hal::device::{Device, LentMemory};
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::Event;
use anymetal_hal::fence::Fence;
use anymetal_hal::heap::{Heap, HeapDescriptor};
use anymetal_hal::host_pages::{HostPages, ImportError};
use anymetal_hal::indirect::IndirectCommandBuffer;
use anymetal_hal::peer::{PeerHandle, PeerLink};
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Cancellation, Queue, QueueDescriptor};
use anymetal_types::family::Family;
use anymetal_types::family::table::Feature;

/// A device that refuses what a family refuses.
#[derive(Debug, Clone)]
pub struct EmulatedDevice {
    inner: Arc<dyn Device>,
    family: Family,
    capabilities: Arc<Capabilities>,
}

impl EmulatedDevice {
    /// Wraps a device.
    pub fn new(inner: Arc<dyn Device>, family: Family) -> Self {
        let capabilities = Arc::new(lowered(inner.capabilities(), family));
        EmulatedDevice { inner, family, capabilities }
    }

    /// Replaces the capabilities, for tests of limits that no family lowers on the wrapped device.
    #[must_use]
    pub fn with_capabilities(self, capabilities: Capabilities) -> Self {
        EmulatedDevice { capabilities: Arc::new(capabilities), ..self }
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
            Err(error) => Err(Box::new(ImportError::new(pages, error))),
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
        let inner = self.inner.queue(descriptor)?;
        Ok(Arc::new(EmulatedQueue { inner, limits: Arc::clone(&self.capabilities) }))
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
        check_commands(&commands, &self.capabilities)?;
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

/// Checks dispatches with these limits, those that other commands execute included.
fn check_commands(commands: &[Command], limits: &Capabilities) -> Result<(), DeviceError> {
    let mut dispatches = commands.iter().flat_map(Command::expanded).filter_map(Command::dispatch);
    dispatches.try_for_each(|dispatch| dispatch.check(limits).map(drop))
}

/// A queue of the wrapped device that checks dispatches with the family's limits.
#[derive(Debug)]
struct EmulatedQueue {
    inner: Arc<dyn Queue>,
    limits: Arc<Capabilities>,
}

impl Queue for EmulatedQueue {
    fn submit(&self, mut submission: CommandList) -> Result<Completion, DeviceError> {
        check_commands(&submission.commands, &self.limits)?;
        submission.commands.iter_mut().for_each(|command| command.limit(&self.limits));
        self.inner.submit(submission)
    }

    fn run_inline(&self, submission: &CommandList) -> Option<Outcome> {
        // A submission that is not allowed is not run; `submit` then returns the error. Only `submit` can add
        // limits to commands.
        check_commands(&submission.commands, &self.limits).ok()?;
        if submission.commands.iter().any(|command| matches!(command, Command::ExecuteEncoded(_))) {
            return None;
        }
        self.inner.run_inline(submission)
    }

    fn cancel(&self, completion: &Completion) -> Cancellation {
        self.inner.cancel(completion)
    }

    fn stop(&self, completion: &Completion) -> Cancellation {
        self.inner.stop(completion)
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }

    fn label(&self) -> &str {
        self.inner.label()
    }
}

/// A device's capabilities, lowered to the family's.
fn lowered(own: &Capabilities, family: Family) -> Capabilities {
    let limits = family.limits();
    let threads = limits.threads_per_threadgroup;
    own.clone()
        .working_set_bytes(own.working_set_bytes.min(limits.working_set_bytes.unwrap_or(u64::MAX)))
        .max_buffer_bytes(own.max_buffer_bytes.min(limits.buffer_bytes.unwrap_or(u64::MAX)))
        .max_threads_per_dimension(own.max_threads_per_dimension.map(|most| most.min(threads)))
        .max_threads_per_threadgroup(own.max_threads_per_threadgroup.min(threads))
        .max_threadgroup_memory_bytes(own.max_threadgroup_memory_bytes.min(limits.threadgroup_memory_bytes))
        .max_inline_bytes(own.max_inline_bytes.min(limits.inline_bytes))
        .supports_bfloat(own.supports_bfloat && family.supports(Feature::Bfloat))
        .supports_64_bit_atomics(own.supports_64_bit_atomics && family.supports(Feature::Atomics64))
}

#[cfg(test)]
mod tests {
    use anymetal_hal::artifact::{ArtifactCode, ArtifactTarget};
    use anymetal_hal::command::{Dispatch, Grid};

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
        let descriptor = |length| BufferDescriptor::shared(length);
        let refused = runner.buffer(&descriptor(limit + 1)).unwrap_err();
        assert_eq!(refused, DeviceError::BufferTooLarge { requested: limit + 1, limit });
        assert!(runner.buffer(&descriptor(4096)).is_ok());
    }

    #[test]
    fn dispatches_are_checked_with_the_lowered_limits_on_every_path() {
        let inner: Arc<dyn Device> = Arc::new(NullDevice::new());
        let (target, code) = (ArtifactTarget::Interpreter, ArtifactCode::Object(Arc::from(Vec::new())));
        let artifact = Arc::new(Artifact::new(target, code, vec![KernelInfo::new("k", "k")]));
        let kernel = inner.pipeline(&artifact, "k").unwrap();
        let capabilities = inner.capabilities().clone().max_threads_per_threadgroup(8);
        let device = EmulatedDevice::new(Arc::clone(&inner), Family::Apple7).with_capabilities(capabilities);
        let queue = device.queue(&QueueDescriptor::default()).unwrap();
        let commands = |size| {
            let dispatch = Dispatch::new(Arc::clone(&kernel), Grid::Threads([64, 1, 1]), [size, 1, 1]);
            vec![Command::Dispatch(dispatch)]
        };
        let submit = |size| queue.submit(CommandList::new(commands(size))).map(drop);
        let encode = |size| device.indirect_command_buffer(commands(size)).map(drop);
        assert!(submit(8).is_ok() && encode(8).is_ok());
        for refused in [submit(9), encode(9)] {
            assert!(matches!(refused, Err(DeviceError::GroupTooLarge { .. })), "{refused:?}");
        }
        assert!(queue.run_inline(&CommandList::new(commands(9))).is_none());
        assert!(inner.indirect_command_buffer(commands(9)).is_ok());
    }
}
