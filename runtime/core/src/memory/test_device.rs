//! A null device for tests of memory policies, with work in flight that a test begins and ends.
//!
//! Owns [`TestDevice`] and [`TestBuffer`], which are those of [`anymetal_testing::null`] with an account.
//! Invariant: `live_bytes` and `live_buffers` are what has not been dropped, so a test sees leaks and
//! excess whatever the code under test says.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anymetal_hal::artifact::Artifact;
use anymetal_hal::buffer::{Buffer, BufferDescriptor, StorageMode};
use anymetal_hal::buffer_uses::BufferUses;
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::Event;
use anymetal_hal::fence::Fence;
use anymetal_hal::heap::{Heap, HeapDescriptor};
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};
use anymetal_testing::null::NullDevice;

#[derive(Debug)]
pub(crate) struct TestDevice {
    null: NullDevice,
    capabilities: Capabilities,
    buffers: Arc<AtomicUsize>,
    /// While true, no memory is left.
    pub(crate) out_of_memory: AtomicBool,
}

/// A buffer whose use by work the test sets.
#[derive(Debug)]
pub(crate) struct TestBuffer {
    inner: Arc<dyn Buffer>,
    mode: StorageMode,
    buffers: Arc<AtomicUsize>,
    /// Submissions that use it and are not done.
    pub(crate) uses: Arc<AtomicUsize>,
    /// Set by whoever has it alone.
    #[cfg_attr(not(loom), expect(dead_code, reason = "only the models read it"))]
    pub(crate) owned: AtomicBool,
}

pub(crate) fn test_buffer(buffer: &Arc<dyn Buffer>) -> &TestBuffer {
    buffer.as_any().downcast_ref().expect("a buffer of the test device")
}

impl TestDevice {
    pub(crate) fn new(max_buffer_bytes: u64) -> Arc<Self> {
        let null = NullDevice::new();
        let capabilities = null
            .capabilities()
            .clone()
            .max_buffer_bytes(max_buffer_bytes)
            .working_set_bytes(1 << 30)
            .memory_bytes(1 << 30);
        let out_of_memory = AtomicBool::new(false);
        Arc::new(TestDevice { null, capabilities, buffers: Arc::default(), out_of_memory })
    }

    pub(crate) fn live_buffers(&self) -> usize {
        self.buffers.load(Ordering::SeqCst)
    }
}

impl Device for TestDevice {
    fn name(&self) -> &str {
        "test"
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        if self.out_of_memory.load(Ordering::SeqCst) {
            return Err(DeviceError::OutOfMemory { requested: descriptor.length });
        }
        // Visible whatever the mode, so that tests see who wrote where.
        let visible = descriptor.clone().storage_mode(StorageMode::Shared);
        let (inner, mode) = (self.null.buffer(&visible)?, descriptor.storage_mode);
        self.buffers.fetch_add(1, Ordering::SeqCst);
        let (buffers, uses) = (Arc::clone(&self.buffers), Arc::default());
        Ok(Arc::new(TestBuffer { inner, mode, buffers, uses, owned: AtomicBool::new(false) }))
    }

    fn pipeline(&self, artifact: &Arc<Artifact>, kernel: &str) -> Result<Arc<dyn Pipeline>, DeviceError> {
        self.null.pipeline(artifact, kernel)
    }

    fn queue(&self, descriptor: &QueueDescriptor) -> Result<Arc<dyn Queue>, DeviceError> {
        self.null.queue(descriptor)
    }

    fn event(&self) -> Result<Arc<dyn Event>, DeviceError> {
        self.null.event()
    }

    fn fence(&self) -> Result<Arc<dyn Fence>, DeviceError> {
        self.null.fence()
    }

    fn heap(&self, descriptor: &HeapDescriptor) -> Result<Arc<dyn Heap>, DeviceError> {
        self.null.heap(descriptor)
    }

    fn allocated_bytes(&self) -> u64 {
        self.null.allocated_bytes()
    }
}

impl Buffer for TestBuffer {
    fn length(&self) -> u64 {
        self.inner.length()
    }

    fn storage_mode(&self) -> StorageMode {
        self.mode
    }

    fn label(&self) -> &str {
        self.inner.label()
    }

    fn contents(&self) -> Option<NonNull<u8>> {
        self.inner.contents()
    }

    fn read(&self, offset: u64, destination: &mut [u8]) -> Result<(), DeviceError> {
        self.inner.read(offset, destination)
    }

    fn write(&self, offset: u64, source: &[u8]) -> Result<(), DeviceError> {
        self.inner.write(offset, source)
    }

    fn uses(&self) -> &BufferUses {
        self.inner.uses()
    }

    fn wait_unused(&self, timeout: Option<Duration>) -> bool {
        assert!(timeout.is_some(), "nobody would end the work");
        self.uses.load(Ordering::SeqCst) == 0
    }

    fn is_unused(&self) -> bool {
        self.wait_unused(Some(Duration::ZERO))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for TestBuffer {
    fn drop(&mut self) {
        assert_eq!(self.uses.load(Ordering::SeqCst), 0, "dropped while work uses it");
        self.buffers.fetch_sub(1, Ordering::SeqCst);
    }
}
