//! The fault-injecting device: it wraps any device and makes planned operations fail or take longer.
//!
//! Owns [`FaultInjectingDevice`] and [`FaultPlan`]. Resources are the wrapped device's own, so kernels really
//! run; a completion that fails by plan fails after its work was done, as on hardware. Invariant: whether the
//! n-th operation of a kind fails depends on the plan alone, never on threads or time; completions of a queue
//! end in order; after an injected loss everything fails as lost until [`FaultInjectingDevice::revive`].

mod plan;
mod queue;
#[cfg(test)]
mod tests;
mod written;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use anymetal_hal::artifact::Artifact;
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::clock::Clock;
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
use plan::{Injector, Kind};
use queue::FaultInjectingQueue;

pub use plan::{FaultPlan, Faults, Injected};

/// A device that fails by plan.
#[derive(Debug, Clone)]
pub struct FaultInjectingDevice {
    inner: Arc<dyn Device>,
    injector: Arc<Injector>,
}

impl FaultInjectingDevice {
    /// Wraps a device. The clock counts the latencies.
    pub fn new(inner: Arc<dyn Device>, plan: FaultPlan, clock: Arc<dyn Clock>) -> Self {
        let injector = Injector::new(inner.name(), plan, clock);
        FaultInjectingDevice { inner, injector: Arc::new(injector) }
    }

    /// How many faults were injected so far.
    pub fn injected(&self) -> Injected {
        self.injector.injected()
    }

    /// Whether it is lost.
    pub fn is_lost(&self) -> bool {
        self.injector.lost.load(Ordering::Relaxed)
    }

    /// Ends a loss.
    pub fn revive(&self) {
        self.injector.lost.store(false, Ordering::Relaxed);
    }

    /// Ends all work that hangs, as lost. Until then it holds what it uses.
    pub fn end_hangs(&self) {
        self.injector.end_hangs();
    }

    /// Loses the device now: everything from here on fails, work in flight too.
    pub fn lose(&self) {
        self.injector.lost.store(true, Ordering::Relaxed);
    }

    fn allocation(&self, bytes: u64) -> Result<(), DeviceError> {
        self.injector.fault(Kind::Allocation, bytes).map_or(Ok(()), Err)
    }

    fn alive(&self) -> Result<(), DeviceError> {
        if self.is_lost() { Err(self.injector.lost_error()) } else { Ok(()) }
    }
}

impl Device for FaultInjectingDevice {
    fn name(&self) -> &str {
        &self.injector.name
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        self.allocation(descriptor.length)?;
        self.inner.buffer(descriptor)
    }

    fn import(&self, pages: HostPages, label: &str) -> Result<Arc<dyn Buffer>, Box<ImportError>> {
        match self.allocation(pages.length()) {
            Ok(()) => self.inner.import(pages, label),
            Err(error) => Err(Box::new(ImportError::new(pages, error))),
        }
    }

    fn borrow_host(&self, memory: LentMemory, label: &str) -> Result<Arc<dyn Buffer>, DeviceError> {
        self.allocation(memory.length())?;
        self.inner.borrow_host(memory, label)
    }

    fn peer_handle(&self) -> Option<PeerHandle> {
        self.inner.peer_handle()
    }

    fn link_to(&self, peer: &dyn Device) -> Result<Arc<dyn PeerLink>, DeviceError> {
        self.alive()?;
        self.inner.link_to(peer)
    }

    fn pipeline(&self, artifact: &Arc<Artifact>, kernel: &str) -> Result<Arc<dyn Pipeline>, DeviceError> {
        self.alive()?;
        self.inner.pipeline(artifact, kernel)
    }

    fn queue(&self, descriptor: &QueueDescriptor) -> Result<Arc<dyn Queue>, DeviceError> {
        self.alive()?;
        let inner = self.inner.queue(descriptor)?;
        Ok(Arc::new(FaultInjectingQueue::new(&self.injector, inner, descriptor)))
    }

    fn event(&self) -> Result<Arc<dyn Event>, DeviceError> {
        self.alive()?;
        self.inner.event()
    }

    fn fence(&self) -> Result<Arc<dyn Fence>, DeviceError> {
        self.alive()?;
        self.inner.fence()
    }

    fn heap(&self, descriptor: &HeapDescriptor) -> Result<Arc<dyn Heap>, DeviceError> {
        self.allocation(descriptor.length)?;
        self.inner.heap(descriptor)
    }

    fn indirect_command_buffer(
        &self,
        commands: Vec<Command>,
    ) -> Result<Arc<dyn IndirectCommandBuffer>, DeviceError> {
        self.alive()?;
        self.inner.indirect_command_buffer(commands)
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
