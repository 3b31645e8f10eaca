//! The devices: one for each GPU of the machine.
//!
//! Owns [`AppleDevice`], a handle to what buffers, pipelines and queues share. Invariant: the shared part
//! lives as long as anything made from it.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anymetal_hal::artifact::Artifact;
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::clock::{Clock, SystemClock};
use anymetal_hal::command::Command;
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::Event;
use anymetal_hal::fence::Fence;
use anymetal_hal::heap::{Heap, HeapDescriptor};
use anymetal_hal::indirect::{HostIndirect, IndirectCommandBuffer, check_indirect};
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};
use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::ProtocolObject;
use objc2_metal::{
    MTLBuffer, MTLCommandQueue, MTLCopyAllDevices, MTLCreateSystemDefaultDevice, MTLDevice,
    MTLSharedEventListener,
};

use crate::archive::Archive;
use crate::event::AppleEvent;
use crate::fence::AppleFence;
use crate::heap::AppleHeap;
use crate::library::Libraries;
use crate::memory::AppleBuffer;
use crate::pipeline::ApplePipeline;
use crate::queue::AppleQueue;
use crate::residency::Residency;
use crate::timing::Offset;
use crate::unaligned::Kernels;
use crate::{capabilities, encode, error, launch};

// `MTLCreateSystemDefaultDevice` gives nothing in programs that do not link with it.
#[cfg_attr(target_vendor = "apple", link(name = "CoreGraphics", kind = "framework"))]
unsafe extern "C" {}

/// How a device is made.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct AppleOptions {
    /// Whether each dispatch is marked with its kernel's name, for Metal's tools. During captures it is
    /// anyway.
    pub debug_marks: bool,
    /// The file of compiled kernels, for faster starts; see [`AppleDevice::save_archive`].
    pub archive: Option<PathBuf>,
}

/// A GPU under the hal.
#[derive(Debug, Clone)]
pub struct AppleDevice {
    pub(crate) shared: Arc<DeviceShared>,
}

/// What everything made from a device shares.
pub(crate) struct DeviceShared {
    pub(crate) name: String,
    pub(crate) capabilities: Capabilities,
    pub(crate) device: Retained<ProtocolObject<dyn MTLDevice>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: AppleOptions,
    pub(crate) allocated: AtomicU64,
    pub(crate) libraries: Libraries,
    pub(crate) archive: Option<Archive>,
    pub(crate) residency: Option<Residency>,
    /// For what the device does for itself.
    own_queue: Retained<ProtocolObject<dyn MTLCommandQueue>>,
    /// Made when first needed: it starts a thread.
    listener: OnceLock<Retained<MTLSharedEventListener>>,
    kernels: OnceLock<Result<Kernels, DeviceError>>,
    /// What lies between Metal's clock and the device's.
    pub(crate) offset: Offset,
    made_at: Duration,
}

impl DeviceShared {
    /// The device's clock: nanoseconds since it was made.
    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.now().saturating_sub(self.made_at).as_nanos() as u64
    }

    pub(crate) fn wrong_device(&self, what: &'static str) -> DeviceError {
        DeviceError::WrongDevice { what, device: self.name.clone() }
    }

    /// What calls back when events are signalled.
    pub(crate) fn listener(&self) -> Retained<MTLSharedEventListener> {
        self.listener.get_or_init(|| autoreleasepool(|_| MTLSharedEventListener::new())).clone()
    }

    /// The kernels for unaligned ranges.
    pub(crate) fn kernels(&self) -> Result<&Kernels, DeviceError> {
        self.kernels.get_or_init(|| Kernels::new(&self.device)).as_ref().map_err(DeviceError::clone)
    }

    /// Fills a buffer that nobody has yet with zeros.
    pub(crate) fn fill_now(
        self: &Arc<Self>,
        buffer: &ProtocolObject<dyn MTLBuffer>,
        length: u64,
    ) -> Result<(), DeviceError> {
        encode::fill_now(self, &self.own_queue, buffer, length)
    }
}

/// The GPUs of this machine, the default one first.
fn gpus() -> Vec<Retained<ProtocolObject<dyn MTLDevice>>> {
    let default = MTLCreateSystemDefaultDevice();
    let id = default.as_ref().map(|device| device.registryID());
    let all = MTLCopyAllDevices();
    let others = all.iter().filter(|device| Some(device.registryID()) != id);
    default.into_iter().chain(others).collect()
}

impl AppleDevice {
    /// How many GPUs there are.
    pub fn count() -> u32 {
        autoreleasepool(|_| gpus().len() as u32)
    }

    /// The GPU of that number; 0 is the system's default.
    ///
    /// # Errors
    /// There is no such GPU, it makes no queue, or the archive's file is not Metal's.
    pub fn open(number: u32, options: &AppleOptions) -> Result<AppleDevice, DeviceError> {
        AppleDevice::open_with_clock(number, options, SystemClock::shared())
    }

    /// As [`AppleDevice::open`], with the clock that times and limits go by.
    ///
    /// # Errors
    /// As [`AppleDevice::open`].
    pub fn open_with_clock(
        number: u32,
        options: &AppleOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<AppleDevice, DeviceError> {
        let name = format!("apple:{number}");
        autoreleasepool(|_| {
            let unavailable = || DeviceError::Unavailable {
                device: name.clone(),
                reason: "Metal has no such GPU on this machine".to_owned(),
            };
            let device = gpus().into_iter().nth(number as usize).ok_or_else(unavailable)?;
            let archive = options.archive.as_ref();
            let archive = archive.map(|file| Archive::open(&device, &name, file)).transpose()?;
            let own_queue = device.newCommandQueue().ok_or_else(|| error::none(&name, "command queue"))?;
            let made_at = clock.now();
            let now_ns = || clock.now().saturating_sub(made_at).as_nanos() as u64;
            let offset = Offset::measure(&own_queue, now_ns);
            let shared = DeviceShared {
                capabilities: capabilities::query(&device),
                residency: Residency::of(&device),
                own_queue,
                offset,
                name: name.clone(),
                archive,
                device,
                options: options.clone(),
                allocated: AtomicU64::new(0),
                libraries: Libraries::default(),
                listener: OnceLock::new(),
                kernels: OnceLock::new(),
                made_at,
                clock,
            };
            Ok(AppleDevice { shared: Arc::new(shared) })
        })
    }

    /// Writes the kernels that were made ready into the archive's file; does nothing without one.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] with Metal's reason.
    pub fn save_archive(&self) -> Result<(), DeviceError> {
        let archive = self.shared.archive.as_ref();
        archive.map_or(Ok(()), |archive| autoreleasepool(|_| archive.save(&self.shared.name)))
    }

    /// How many allocations the device's residency set keeps resident; `None` where the system has no such
    /// sets.
    pub fn resident_allocations(&self) -> Option<usize> {
        autoreleasepool(|_| self.shared.residency.as_ref().map(Residency::count))
    }
}

impl Device for AppleDevice {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        Ok(Arc::new(AppleBuffer::new(descriptor, &self.shared)?))
    }

    fn pipeline(&self, artifact: &Arc<Artifact>, kernel: &str) -> Result<Arc<dyn Pipeline>, DeviceError> {
        Ok(Arc::new(ApplePipeline::new(artifact, kernel, &self.shared)?))
    }

    fn queue(&self, descriptor: &QueueDescriptor) -> Result<Arc<dyn Queue>, DeviceError> {
        Ok(Arc::new(AppleQueue::new(&self.shared, descriptor)?))
    }

    fn event(&self) -> Result<Arc<dyn Event>, DeviceError> {
        Ok(Arc::new(AppleEvent::new(&self.shared)?))
    }

    fn fence(&self) -> Result<Arc<dyn Fence>, DeviceError> {
        Ok(Arc::new(AppleFence::new(&self.shared)?))
    }

    fn heap(&self, descriptor: &HeapDescriptor) -> Result<Arc<dyn Heap>, DeviceError> {
        Ok(Arc::new(AppleHeap::new(descriptor, &self.shared)?))
    }

    fn indirect_command_buffer(
        &self,
        commands: Vec<Command>,
    ) -> Result<Arc<dyn IndirectCommandBuffer>, DeviceError> {
        check_indirect(&commands)?;
        launch::check_commands(&self.shared, &commands, None)?;
        Ok(Arc::new(HostIndirect { commands, owner: Arc::clone(&self.shared) }))
    }

    fn allocated_bytes(&self) -> u64 {
        self.shared.allocated.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for DeviceShared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DeviceShared").field("name", &self.name).finish_non_exhaustive()
    }
}
