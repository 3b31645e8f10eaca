//! The devices: one for each card.
//!
//! Owns [`NvidiaDevice`], a handle to what buffers, pipelines and queues share. Invariant: the shared part
//! lives as long as anything made from it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use anymetal_hal::artifact::Artifact;
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::clock::{Clock, SystemClock};
use anymetal_hal::command::Command;
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::{Event, HostEvent};
use anymetal_hal::fence::{Fence, HostFence};
use anymetal_hal::heap::{Heap, HeapDescriptor};
use anymetal_hal::host_pages::{HostPages, ImportError};
use anymetal_hal::indirect::{IndirectCommandBuffer, check_indirect};
use anymetal_hal::peer::{PeerHandle, PeerLink};
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};

use crate::cuda::{self, CudaDriver};
use crate::device_shared::{DeviceShared, NvidiaOptions};
use crate::driver::Driver;
use crate::graph::NvidiaIndirect;
use crate::heap::NvidiaHeap;
use crate::link::NvidiaLink;
use crate::memory::NvidiaBuffer;
use crate::pipeline::NvidiaPipeline;
use crate::queue::NvidiaQueue;

/// A card as a Metal device.
#[derive(Debug, Clone)]
pub struct NvidiaDevice {
    pub(crate) shared: Arc<DeviceShared>,
}

impl NvidiaDevice {
    /// Why there are no devices, if there are none.
    pub fn why_none() -> Option<String> {
        cuda::cards().err()
    }

    /// The cards of this machine, `nvidia:0` first; none if there is no driver.
    pub fn count() -> u32 {
        cuda::cards().unwrap_or(0) as u32
    }

    /// The card of that number.
    ///
    /// # Errors
    /// There is no driver or no such card, or it does not start.
    pub fn open(number: u32, options: &NvidiaOptions) -> Result<NvidiaDevice, DeviceError> {
        let name = format!("nvidia:{number}");
        let driver = CudaDriver::open(number as i32).map_err(|error| error.of(&name, 0))?;
        Ok(NvidiaDevice::with_driver(name, Arc::new(driver), options, SystemClock::shared()))
    }

    pub(crate) fn with_driver(
        name: String,
        driver: Arc<dyn Driver>,
        options: &NvidiaOptions,
        clock: Arc<dyn Clock>,
    ) -> NvidiaDevice {
        let shared = DeviceShared::new(name, driver, options, clock);
        NvidiaDevice { shared: Arc::new(shared) }
    }

    /// The device behind another's interface, if it is one.
    pub fn of(device: &dyn Device) -> Option<NvidiaDevice> {
        let shared = device.peer_handle()?.downcast::<DeviceShared>().ok()?;
        Some(NvidiaDevice { shared })
    }

    /// The architecture of the card: 90 for `sm_90`.
    pub fn sm(&self) -> u32 {
        self.shared.driver.card().sm
    }
}

impl Device for NvidiaDevice {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        Ok(Arc::new(NvidiaBuffer::new(descriptor, &self.shared)?))
    }

    fn pipeline(&self, artifact: &Arc<Artifact>, kernel: &str) -> Result<Arc<dyn Pipeline>, DeviceError> {
        Ok(Arc::new(NvidiaPipeline::new(artifact, kernel, &self.shared)?))
    }

    fn queue(&self, descriptor: &QueueDescriptor) -> Result<Arc<dyn Queue>, DeviceError> {
        Ok(Arc::new(NvidiaQueue::new(&self.shared, descriptor)?))
    }

    fn event(&self) -> Result<Arc<dyn Event>, DeviceError> {
        Ok(Arc::new(HostEvent::default()))
    }

    fn fence(&self) -> Result<Arc<dyn Fence>, DeviceError> {
        Ok(Arc::new(HostFence::default()))
    }

    fn heap(&self, descriptor: &HeapDescriptor) -> Result<Arc<dyn Heap>, DeviceError> {
        Ok(Arc::new(NvidiaHeap::new(descriptor, &self.shared)?))
    }

    fn import(&self, pages: HostPages, label: &str) -> Result<Arc<dyn Buffer>, Box<ImportError>> {
        Ok(Arc::new(NvidiaBuffer::imported(pages, label, &self.shared)?))
    }

    fn indirect_command_buffer(
        &self,
        commands: Vec<Command>,
    ) -> Result<Arc<dyn IndirectCommandBuffer>, DeviceError> {
        check_indirect(&commands)?;
        crate::launch::check_commands(&self.shared, &commands, None)?;
        Ok(Arc::new(NvidiaIndirect::new(commands, &self.shared)))
    }

    fn peer_handle(&self) -> Option<PeerHandle> {
        let shared: PeerHandle = Arc::<DeviceShared>::clone(&self.shared);
        Some(shared)
    }

    fn link_to(&self, peer: &dyn Device) -> Result<Arc<dyn PeerLink>, DeviceError> {
        let to = NvidiaDevice::of(peer).ok_or_else(|| NvidiaLink::unsupported(&self.shared, peer.name()))?;
        Ok(Arc::new(NvidiaLink::new(&self.shared, &to.shared)?))
    }

    fn clock_ns(&self) -> Result<u64, DeviceError> {
        Ok(self.shared.now_ns())
    }

    fn matrix_products(&self) -> Result<(), DeviceError> {
        let can = self.shared.driver.can_multiply();
        can.map_err(|error| error.of(&self.shared.name, 0))
    }

    fn allocated_bytes(&self) -> u64 {
        self.shared.allocated.load(Ordering::Relaxed)
    }
}
