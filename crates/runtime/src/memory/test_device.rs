//! A device for tests of memory policies: buffers in a `Vec`, and work in flight that a test begins and ends.
//!
//! Owns [`TestDevice`] and [`TestBuffer`]. Invariant: `live_bytes` and `live_buffers` are what has not been
//! dropped, so a test sees leaks and excess whatever the code under test says.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anymetal_hal::artifact::Artifact;
use anymetal_hal::buffer::{Buffer, BufferDescriptor, StorageMode};
use anymetal_hal::capabilities::{Capabilities, DeviceKind};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::Event;
use anymetal_hal::fence::Fence;
use anymetal_hal::heap::{Heap, HeapDescriptor};
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};

#[derive(Debug)]
pub(crate) struct TestDevice {
    capabilities: Capabilities,
    account: Arc<Account>,
    /// While true, no memory is left.
    pub(crate) out_of_memory: AtomicBool,
}

#[derive(Debug, Default)]
struct Account {
    bytes: AtomicU64,
    buffers: AtomicUsize,
}

/// A buffer whose use by work the test sets.
#[derive(Debug)]
pub(crate) struct TestBuffer {
    descriptor: BufferDescriptor,
    bytes: Mutex<Vec<u8>>,
    account: Arc<Account>,
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
        let capabilities = Capabilities {
            max_buffer_bytes,
            working_set_bytes: 1 << 30,
            memory_bytes: 1 << 30,
            unified_memory: true,
            ..capabilities()
        };
        Arc::new(TestDevice { capabilities, account: Arc::default(), out_of_memory: AtomicBool::new(false) })
    }

    pub(crate) fn live_buffers(&self) -> usize {
        self.account.buffers.load(Ordering::SeqCst)
    }
}

fn capabilities() -> Capabilities {
    Capabilities {
        hardware_name: "test".to_owned(),
        kind: DeviceKind::Cpu,
        architecture: "none".to_owned(),
        unified_memory: true,
        memory_bytes: 0,
        working_set_bytes: 0,
        max_buffer_bytes: 0,
        max_threads_per_dimension: [1024; 3],
        max_threads_per_threadgroup: 1024,
        max_threadgroup_memory_bytes: 32 << 10,
        max_inline_bytes: 4096,
        simd_width: 32,
        compute_units: 1,
        supports_half: true,
        supports_bfloat: true,
        supports_64_bit_atomics: true,
        supports_timestamps: true,
        supports_priorities: false,
    }
}

fn refused<T>(what: &str) -> Result<T, DeviceError> {
    let (device, what) = ("test".to_owned(), what.to_owned());
    Err(DeviceError::Unsupported { device, what, alternative: "use the CPU device".to_owned() })
}

impl Device for TestDevice {
    fn name(&self) -> &str {
        "test"
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        let requested = descriptor.length;
        if self.out_of_memory.load(Ordering::SeqCst) {
            return Err(DeviceError::OutOfMemory { requested });
        }
        self.account.bytes.fetch_add(requested, Ordering::SeqCst);
        self.account.buffers.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::new(TestBuffer {
            descriptor: descriptor.clone(),
            bytes: Mutex::new(vec![0; requested as usize]),
            account: Arc::clone(&self.account),
            uses: Arc::default(),
            owned: AtomicBool::new(false),
        }))
    }

    fn pipeline(&self, _: &Arc<Artifact>, _: &str) -> Result<Arc<dyn Pipeline>, DeviceError> {
        refused("pipelines")
    }

    fn queue(&self, _: &QueueDescriptor) -> Result<Arc<dyn Queue>, DeviceError> {
        refused("queues")
    }

    fn event(&self) -> Result<Arc<dyn Event>, DeviceError> {
        refused("events")
    }

    fn fence(&self) -> Result<Arc<dyn Fence>, DeviceError> {
        refused("fences")
    }

    fn heap(&self, _: &HeapDescriptor) -> Result<Arc<dyn Heap>, DeviceError> {
        refused("heaps")
    }

    fn allocated_bytes(&self) -> u64 {
        self.account.bytes.load(Ordering::SeqCst)
    }
}

impl TestBuffer {
    fn with_bytes<R>(
        &self,
        offset: u64,
        length: usize,
        act: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, DeviceError> {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        anymetal_hal::validate::check_range(offset, length as u64, bytes.len() as u64)?;
        Ok(act(&mut bytes[offset as usize..offset as usize + length]))
    }
}

impl Buffer for TestBuffer {
    fn length(&self) -> u64 {
        self.descriptor.length
    }

    fn storage_mode(&self) -> StorageMode {
        self.descriptor.storage_mode
    }

    fn label(&self) -> &str {
        &self.descriptor.label
    }

    fn contents(&self) -> Option<NonNull<u8>> {
        None
    }

    fn read(&self, offset: u64, destination: &mut [u8]) -> Result<(), DeviceError> {
        self.with_bytes(offset, destination.len(), |bytes| destination.copy_from_slice(bytes))
    }

    fn write(&self, offset: u64, source: &[u8]) -> Result<(), DeviceError> {
        self.with_bytes(offset, source.len(), |bytes| bytes.copy_from_slice(source))
    }

    fn wait_unused(&self, timeout: Option<Duration>) -> bool {
        assert!(timeout.is_some(), "nobody would end the work");
        self.uses.load(Ordering::SeqCst) == 0
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for TestBuffer {
    fn drop(&mut self) {
        assert_eq!(self.uses.load(Ordering::SeqCst), 0, "dropped while work uses it");
        self.account.bytes.fetch_sub(self.descriptor.length, Ordering::SeqCst);
        self.account.buffers.fetch_sub(1, Ordering::SeqCst);
    }
}
