//! The host's device: a proxy of a CPU device in a worker process.
//!
//! Owns [`open`] and [`DeviceShared`]. Invariant: at most one link is up, and each worker maps the memory at
//! the same address, so the addresses that kernels see stay the same.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anymetal_cpu::CpuDeviceOptions;
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
use anymetal_hal::indirect::check_indirect;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};
use anymetal_hal::sync::{Mutex, lock};
use anymetal_hal::validate::check_arguments;
use anymetal_isolate::{Connection, IsolationError, Settings};
use rustix::time::{ClockId, clock_gettime};

use crate::arena::{Arena, Range};
use crate::heap::IsolatedHeap;
use crate::link::Link;
use crate::memory::IsolatedBuffer;
use crate::pipeline::{IsolatedIndirect, IsolatedPipeline};
use crate::queue::IsolatedQueue;
use crate::wire::{Body, Reply, Start};

/// The name of the device: that of the CPU device, whose place it takes.
pub(crate) const DEVICE: &str = "cpu";
/// Address space for each byte of the machine's memory: free ranges are fragmented.
const SPACE_PER_BYTE: u64 = 4;
/// The most address space: processors address 2^47 bytes and more.
const MAX_SPACE: u64 = 1 << 45;

/// Starts a worker, and returns the device that runs there.
///
/// # Errors
/// [`DeviceError::Unavailable`] if no worker can be started; [`DeviceError::Unsupported`] with guard pages.
pub fn open(
    options: &CpuDeviceOptions,
    settings: &Settings,
    identity: &str,
) -> Result<Arc<dyn Device>, DeviceError> {
    if options.guard.is_some() {
        return Err(unsupported("memory next to guard pages (ANYMETAL_CPU_GUARD)"));
    }
    let shared = Arc::new(DeviceShared::new(options, settings, identity)?);
    // Settings that cannot be followed are reported here.
    shared.link().map_err(|error| match error {
        DeviceError::DeviceLost { reason, .. } => unavailable(reason),
        other => other,
    })?;
    Ok(Arc::new(IsolatedDevice { shared }))
}

/// The error for a function that is not supported here.
pub(crate) fn unsupported(what: &str) -> DeviceError {
    DeviceError::Unsupported {
        device: DEVICE.to_owned(),
        what: format!("{what} with ANYMETAL_ISOLATE=run"),
        alternative: "run trusted kernels without it".to_owned(),
    }
}

/// The error of work that a worker did not bring to its end.
pub(crate) fn lost(reason: String) -> DeviceError {
    DeviceError::DeviceLost { device: DEVICE.to_owned(), reason }
}

fn unavailable(reason: String) -> DeviceError {
    DeviceError::Unavailable { device: DEVICE.to_owned(), reason }
}

/// What everything made from a device shares.
pub(crate) struct DeviceShared {
    capabilities: Capabilities,
    arena: Arc<Arena>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) default_deadline: Duration,
    /// Bytes of live buffers and heaps.
    pub(crate) allocated: AtomicU64,
    /// The last number of an object.
    ids: AtomicU64,
    start: Start,
    settings: Settings,
    identity: String,
    link: Mutex<Option<Arc<Link>>>,
    /// Where workers have the memory.
    worker_base: OnceLock<u64>,
}

impl DeviceShared {
    fn new(options: &CpuDeviceOptions, settings: &Settings, identity: &str) -> Result<Self, DeviceError> {
        // Callers read this to decide whether the device can use their memory in place.
        let capabilities = options.capabilities().unified_memory(false);
        let space = capabilities.memory_bytes.saturating_mul(SPACE_PER_BYTE).min(MAX_SPACE);
        let arena = Arena::new(space.next_multiple_of(1 << 30));
        let arena = arena.map_err(|error| unavailable(format!("its memory cannot be mapped: {error}")))?;
        let memory_bytes = settings.memory_bytes.saturating_add(options.stack_bytes());
        Ok(DeviceShared {
            arena: Arc::new(arena),
            clock: SystemClock::shared(),
            default_deadline: options.default_deadline,
            allocated: AtomicU64::new(0),
            ids: AtomicU64::new(0),
            start: Start {
                threads: Some(capabilities.compute_units as usize),
                pin_workers: options.pin_workers,
                default_deadline: options.default_deadline,
                made_at: monotonic_time(),
            },
            capabilities,
            settings: Settings { memory_bytes, ..settings.clone() },
            identity: identity.to_owned(),
            link: Mutex::new(None),
            worker_base: OnceLock::new(),
        })
    }

    /// A number for an object, from 1.
    pub(crate) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Zeroed memory, counted as allocated; its owner takes it off the count.
    pub(crate) fn allocate(&self, requested: u64) -> Result<Range, DeviceError> {
        let limit = self.capabilities.max_buffer_bytes;
        if requested > limit {
            return Err(DeviceError::BufferTooLarge { requested, limit });
        }
        let range = self.arena.range(requested)?;
        self.allocated.fetch_add(requested, Ordering::Relaxed);
        Ok(range)
    }

    /// The address of the memory's first byte in workers.
    pub(crate) fn worker_base(&self) -> u64 {
        *self.worker_base.get().expect("a device is opened with a worker")
    }

    /// The link to a worker that runs: a new one if there is none.
    pub(crate) fn link(&self) -> Result<Arc<Link>, DeviceError> {
        let mut current = lock(&self.link);
        if let Some(link) = current.as_ref().filter(|link| link.is_up()) {
            return Ok(Arc::clone(link));
        }
        Ok(Arc::clone(current.insert(self.start()?)))
    }

    /// The last link.
    pub(crate) fn current_link(&self) -> Option<Arc<Link>> {
        lock(&self.link).clone()
    }

    /// Has the worker drop its counterpart of an object.
    pub(crate) fn forget(&self, id: u64) {
        if let Some(link) = self.current_link() {
            link.forget(id);
        }
    }

    fn start(&self) -> Result<Arc<Link>, DeviceError> {
        let failed = |error: IsolationError| lost(error.to_string());
        let in_system = |error: std::io::Error| lost(format!("no worker can be started: {error}"));
        let memory = self.arena.file().map_err(in_system)?;
        let connection = Connection::start(&self.settings, &self.identity, memory).map_err(failed)?;
        let link = Link::new(connection, Arc::clone(&self.clock), self.settings.time).map_err(in_system)?;
        let Reply::Started { base } = link.ask(Body::Start(self.start.clone()))? else {
            link.end("the worker process sent a malformed answer: it did not start");
            return Err(lost("the worker process did not start".to_owned()));
        };
        if *self.worker_base.get_or_init(|| base) == base {
            return Ok(link);
        }
        let reason = "a new worker process has the memory at other addresses, at which pointers do not lead";
        link.end(reason);
        Err(lost(reason.to_owned()))
    }
}

impl Drop for DeviceShared {
    fn drop(&mut self) {
        if let Some(link) = lock(&self.link).take() {
            link.end("the device was dropped");
        }
    }
}

impl fmt::Debug for DeviceShared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DeviceShared").field("arena", &self.arena).finish_non_exhaustive()
    }
}

/// The time of the system's monotonic clock, which all processes share.
pub(crate) fn monotonic_time() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The device.
#[derive(Debug)]
struct IsolatedDevice {
    shared: Arc<DeviceShared>,
}

impl Device for IsolatedDevice {
    fn name(&self) -> &str {
        DEVICE
    }

    fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    fn clock_ns(&self) -> Result<u64, DeviceError> {
        let elapsed = monotonic_time().saturating_sub(self.shared.start.made_at);
        Ok(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
    }

    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        Ok(Arc::new(IsolatedBuffer::new(&self.shared, descriptor)?))
    }

    fn pipeline(&self, artifact: &Arc<Artifact>, kernel: &str) -> Result<Arc<dyn Pipeline>, DeviceError> {
        let pipeline = IsolatedPipeline::new(&self.shared, artifact, kernel)?;
        check_arguments(pipeline.kernel(), DEVICE)?;
        self.shared.link()?.create(&pipeline)?;
        Ok(Arc::new(pipeline))
    }

    fn queue(&self, descriptor: &QueueDescriptor) -> Result<Arc<dyn Queue>, DeviceError> {
        Ok(Arc::new(IsolatedQueue::new(&self.shared, descriptor)))
    }

    fn event(&self) -> Result<Arc<dyn Event>, DeviceError> {
        Ok(Arc::new(HostEvent::default()))
    }

    fn fence(&self) -> Result<Arc<dyn Fence>, DeviceError> {
        Ok(Arc::new(HostFence::default()))
    }

    fn heap(&self, descriptor: &HeapDescriptor) -> Result<Arc<dyn Heap>, DeviceError> {
        Ok(Arc::new(IsolatedHeap::new(&self.shared, descriptor)?))
    }

    fn import(&self, pages: HostPages, _label: &str) -> Result<Arc<dyn Buffer>, Box<ImportError>> {
        Err(Box::new(ImportError::new(pages, no_host_memory())))
    }

    fn borrow_host(&self, _memory: LentMemory, _label: &str) -> Result<Arc<dyn Buffer>, DeviceError> {
        Err(no_host_memory())
    }

    fn indirect_command_buffer(
        &self,
        commands: Vec<Command>,
    ) -> Result<Arc<dyn IndirectCommandBuffer>, DeviceError> {
        check_indirect(&commands)?;
        let indirect = IsolatedIndirect::new(&self.shared, commands);
        self.shared.link()?.create(&indirect)?;
        Ok(Arc::new(indirect))
    }

    fn allocated_bytes(&self) -> u64 {
        self.shared.allocated.load(Ordering::Relaxed)
    }
}

/// The error for memory that a program has and that no worker can map.
fn no_host_memory() -> DeviceError {
    DeviceError::Unsupported {
        device: DEVICE.to_owned(),
        what: "buffers in memory of the program with ANYMETAL_ISOLATE=run".to_owned(),
        alternative: "make a buffer and copy the bytes".to_owned(),
    }
}
