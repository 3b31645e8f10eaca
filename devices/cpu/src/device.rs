//! The CPU device: this machine's processor under Metal's model.
//!
//! Owns [`CpuDevice`], a handle to what buffers, queues and workers share. Invariant: the shared part lives
//! as long as anything made from it, so handles may be dropped in any order. Start at [`CpuDevice::new`].

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anymetal_hal::artifact::Artifact;
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::clock::{Clock, SystemClock};
use anymetal_hal::command::Command;
use anymetal_hal::device::{Device, LentMemory};
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::{Event, HostEvent};
use anymetal_hal::fence::{Fence, HostFence};
use anymetal_hal::heap::{Heap, HeapDescriptor};
use anymetal_hal::host_pages::{HostPages, ImportError};
use anymetal_hal::indirect::IndirectCommandBuffer;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};

use crate::affinity;
use crate::config::CpuDeviceOptions;
use crate::heap::CpuHeap;
use crate::indirect::CpuIndirect;
use crate::inline_policy::SerialSubmissions;
use crate::memory::{CpuBuffer, MemoryAccount};
use crate::pipeline::{CpuPipeline, LoadedCode};
use crate::pool::{Pool, PoolOptions};
use crate::queue::CpuQueue;

/// This machine's processor as a Metal device.
#[derive(Debug, Clone)]
pub struct CpuDevice {
    pub(crate) shared: Arc<DeviceShared>,
}

/// What everything made from a device shares.
#[derive(Debug)]
pub(crate) struct DeviceShared {
    pub(crate) name: String,
    pub(crate) capabilities: Capabilities,
    pub(crate) account: Arc<MemoryAccount>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) default_deadline: Duration,
    pub(crate) lend_waiting_threads: bool,
    pub(crate) pool: Pool,
    pub(crate) serial_submissions: SerialSubmissions,
    loaded: LoadedCode,
    made_at: Duration,
    /// Its age then.
    made_with_age: Duration,
}

impl DeviceShared {
    pub(crate) fn new(
        options: &CpuDeviceOptions,
        capabilities: Capabilities,
        pool: Pool,
        clock: Arc<dyn Clock>,
    ) -> Self {
        DeviceShared {
            name: "cpu".to_owned(),
            capabilities,
            account: Arc::new(MemoryAccount::guarded(options.guard)),
            default_deadline: options.default_deadline,
            lend_waiting_threads: options.lend_waiting_threads,
            pool,
            serial_submissions: SerialSubmissions::default(),
            loaded: LoadedCode::default(),
            made_at: clock.now(),
            made_with_age: options.age,
            clock,
        }
    }

    /// The device's clock: nanoseconds since it was made.
    pub(crate) fn now_ns(&self) -> u64 {
        self.ns_at(self.clock.now())
    }

    /// A time of the clock, as [`DeviceShared::now_ns`] gives it.
    pub(crate) fn ns_at(&self, at: Duration) -> u64 {
        at.saturating_sub(self.made_at).saturating_add(self.made_with_age).as_nanos() as u64
    }
}

impl CpuDevice {
    /// Makes the device and starts its workers, which sleep until there is work.
    pub fn new(options: &CpuDeviceOptions) -> Result<Self, DeviceError> {
        CpuDevice::with_clock(options, SystemClock::shared())
    }

    /// Makes the device with a clock of its own, for its deadlines, timeouts and timestamps.
    pub fn with_clock(options: &CpuDeviceOptions, clock: Arc<dyn Clock>) -> Result<Self, DeviceError> {
        CpuDevice::with_capabilities(options, options.capabilities(), clock)
    }

    /// As [`CpuDevice::with_clock`], with capabilities that were queried before: a process without rights
    /// cannot query them.
    pub fn with_capabilities(
        options: &CpuDeviceOptions,
        capabilities: Capabilities,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, DeviceError> {
        let threads = options.resolved_threads();
        let processors = affinity::allowed_processors().len();
        let pinned = options.pin_workers.unwrap_or(threads >= processors);
        let pool = Pool::start(PoolOptions { threads, pinned }).map_err(|error| {
            let reason = format!("its worker threads could not be started: {error}");
            DeviceError::DeviceLost { device: "cpu".to_owned(), reason }
        })?;
        let shared = Arc::new(DeviceShared::new(options, capabilities, pool, clock));
        Ok(CpuDevice { shared })
    }

    /// Threads that compute at once.
    pub fn threads(&self) -> usize {
        self.shared.pool.width()
    }
}

impl Device for CpuDevice {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    fn clock_ns(&self) -> Result<u64, DeviceError> {
        Ok(self.shared.now_ns())
    }

    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        Ok(Arc::new(CpuBuffer::new(descriptor, &self.shared.account, &self.shared.capabilities)?))
    }

    fn pipeline(&self, artifact: &Arc<Artifact>, kernel: &str) -> Result<Arc<dyn Pipeline>, DeviceError> {
        Ok(Arc::new(CpuPipeline::new(artifact, kernel, &self.shared.loaded)?))
    }

    fn queue(&self, descriptor: &QueueDescriptor) -> Result<Arc<dyn Queue>, DeviceError> {
        Ok(Arc::new(CpuQueue::new(&self.shared, descriptor)))
    }

    fn event(&self) -> Result<Arc<dyn Event>, DeviceError> {
        Ok(Arc::new(HostEvent::default()))
    }

    fn fence(&self) -> Result<Arc<dyn Fence>, DeviceError> {
        Ok(Arc::new(HostFence::default()))
    }

    fn heap(&self, descriptor: &HeapDescriptor) -> Result<Arc<dyn Heap>, DeviceError> {
        Ok(Arc::new(CpuHeap::new(descriptor, &self.shared.account, &self.shared.capabilities)?))
    }

    fn import(&self, pages: HostPages, label: &str) -> Result<Arc<dyn Buffer>, Box<ImportError>> {
        let (requested, limit) = (pages.length(), self.shared.capabilities.max_buffer_bytes);
        if requested > limit {
            return Err(Box::new(ImportError::new(pages, DeviceError::BufferTooLarge { requested, limit })));
        }
        Ok(Arc::new(CpuBuffer::imported(pages, label, &self.shared.account)))
    }

    fn borrow_host(&self, memory: LentMemory, label: &str) -> Result<Arc<dyn Buffer>, DeviceError> {
        let (requested, limit) = (memory.length(), self.shared.capabilities.max_buffer_bytes);
        if requested > limit {
            return Err(DeviceError::BufferTooLarge { requested, limit });
        }
        Ok(Arc::new(CpuBuffer::lent(memory, label, &self.shared.account)))
    }

    fn indirect_command_buffer(
        &self,
        commands: Vec<Command>,
    ) -> Result<Arc<dyn IndirectCommandBuffer>, DeviceError> {
        Ok(Arc::new(CpuIndirect::new(&self.shared, commands)?))
    }

    fn allocated_bytes(&self) -> u64 {
        self.shared.account.allocated.load(Ordering::Relaxed)
    }
}
