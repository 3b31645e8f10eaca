//! Memory of a device: buffers of their own, acquired ones, and what is allocated.
//!
//! Owns the part of [`Device`] that makes buffers. Invariant: every buffer made here counts towards the
//! device's budget and is listed until its last handle is dropped; a refusal has had no effect.

use std::sync::Arc;
use std::time::Duration;

use anymetal_core::memory::mode::{MemoryKind, ModeDecision, decide};
use anymetal_hal::buffer::BufferDescriptor as HalDescriptor;
use bytemuck::Pod;

use crate::buffer::{Buffer, Memory};
use crate::buffer_descriptor::Contents;
use crate::device::{Device, Shared};
use crate::error::Error;
use crate::idle_memory::{self, Idle};

pub use anymetal_core::memory::MemoryError;
pub use anymetal_core::memory::budget::{BudgetStats, Pressure};
pub use anymetal_core::memory::mode::{AccessFrequency, BufferUsage, ModeError, ModeRequest};
pub use anymetal_core::memory::pool::{AcquireRequest, Pool, PoolStats, PooledBuffer, Trimmed};
pub use anymetal_core::memory::registry::{LiveResource, ResourceKind};
pub use anymetal_hal::buffer::StorageMode;
/// Lists the caches of an object of a library over this crate while the object is alive.
pub use anymetal_hal::caches::register as register_caches;
/// Empties all caches of this process as far as nothing uses their entries.
pub use anymetal_hal::caches::trim as trim_caches;
/// The usage of all caches of this process, by owner and name: compiled kernels, code on devices, pools.
pub use anymetal_hal::caches::usage as cache_usage;
pub use anymetal_hal::caches::{CacheLimit, CacheOwner, CacheUsage};
pub use anymetal_hal::device::LentMemory;
pub use anymetal_hal::heap::HEAP_ALIGNMENT;
pub use anymetal_hal::host_pages::{HOST_PAGE_BYTES, HostMemory, HostPages, MIN_MEMORY_ALIGNMENT};
pub use anymetal_hal::lru::LruMap;
pub use anymetal_hal::peer::{CopyPath, PeerCopied, PeerTotals};

pub use crate::buffer_descriptor::{BufferDescriptor, HeapDescriptor, ResourceOptions};
pub use crate::heap::Heap;
pub use crate::import::ImportRefused;
pub use crate::link::Link;
pub use crate::mapping::{Mapped, MappedMut};
pub use crate::transfer::Download;

/// Links between devices, measured: which way their copies take, how fast and how soon.
pub mod topology {
    pub use crate::topology::{LONG_BYTES, MeasuredLink, PeerCopies, gbps, measure};
}

/// The usage of memory without a placement.
const SHARED: BufferUsage = BufferUsage::new(AccessFrequency::Often, AccessFrequency::Often);

/// A device's memory at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct MemoryUse {
    /// Bytes of all live buffers of the device.
    pub allocated_bytes: u64,
    /// The working set: how much of it is taken.
    pub budget: BudgetStats,
    /// How near the budget is to its limit.
    pub pressure: Pressure,
    /// The pool.
    pub pool: PoolStats,
}

impl Device {
    /// A buffer with a copy of those elements.
    pub fn buffer<T: Pod>(&self, elements: &[T]) -> Result<Buffer<T>, Error> {
        self.create_buffer(&BufferDescriptor::new(elements))
    }

    /// A buffer of that many elements, all bytes zero.
    pub fn buffer_zeroed<T: Pod>(&self, count: usize) -> Result<Buffer<T>, Error> {
        self.create_buffer(&BufferDescriptor::zeroed(count))
    }

    /// A buffer of that many elements from the device's pool. It holds what its last user left if that was
    /// the same tenant, or this handle and the last user's have none; else zeros. It goes back when its last
    /// handle is dropped, and is handed out again once the device is done with it.
    pub fn acquire<T: Pod>(&self, count: usize) -> Result<Buffer<T>, Error> {
        self.create_buffer(&BufferDescriptor::uninitialized(count).pooled())
    }

    /// A buffer with a label, a tenant, a placement, of its own or from the pool.
    pub fn create_buffer<T: Pod>(&self, descriptor: &BufferDescriptor<'_, T>) -> Result<Buffer<T>, Error> {
        let device = self.charging(&descriptor.options);
        let buffer = if descriptor.is_pooled {
            device.pooled_buffer(descriptor)?
        } else {
            device.new_buffer(descriptor)?
        };
        if let Contents::Elements(elements) = descriptor.contents {
            device.fill_with(&buffer, elements)?;
        }
        Ok(buffer)
    }

    /// Of its own, all bytes zero. Call it on [`Device::charging`], as the next.
    fn new_buffer<T: Pod>(&self, descriptor: &BufferDescriptor<'_, T>) -> Result<Buffer<T>, Error> {
        let (count, mode) = (descriptor.count(), self.placement(&descriptor.options)?);
        let label = descriptor.options.label.clone();
        let memory = HalDescriptor::shared(bytes_of::<T>(count)?).storage_mode(mode.mode).label(label);
        let buffer = self.shared.allocator.buffer(&memory, self.tenant.as_ref())?;
        Ok(Buffer::new(Memory::Own(buffer), mode, count))
    }

    /// From the pool, zeroed if the descriptor wants that.
    fn pooled_buffer<T: Pod>(&self, descriptor: &BufferDescriptor<'_, T>) -> Result<Buffer<T>, Error> {
        let (count, mode) = (descriptor.count(), self.placement(&descriptor.options)?);
        let mut request = AcquireRequest::new(bytes_of::<T>(count)?).mode(mode.mode);
        if !descriptor.options.label.is_empty() {
            request = request.label(descriptor.options.label.clone());
        }
        if let Some(tenant) = &self.tenant {
            request = request.tenant(tenant);
        }
        if matches!(descriptor.contents, Contents::Zeros(_)) {
            request = request.zeroed();
        }
        let label = request.given_label().clone();
        let acquired = self.shared.pool.acquire(&request)?;
        self.shared.trimming.call_once(|| {
            let idle: Arc<dyn Idle> = Arc::<Shared>::clone(&self.shared);
            idle_memory::watch(&idle);
        });
        Ok(Buffer::new(Memory::Pooled(acquired, label), mode, count))
    }

    /// The handle that memory with those options is made from: of the options' tenant, or else this one.
    pub(crate) fn charging(&self, options: &ResourceOptions) -> Device {
        options.tenant.as_ref().map_or_else(|| self.clone(), |tenant| self.for_tenant(tenant))
    }

    /// Where memory with those options is.
    pub(crate) fn placement(&self, options: &ResourceOptions) -> Result<ModeDecision, Error> {
        let (usage, request) = options.placement.unwrap_or((SHARED, ModeRequest::Shared));
        Ok(decide(request, usage.imported(false), self.memory_kind()).map_err(MemoryError::from)?)
    }

    pub(crate) fn memory_kind(&self) -> MemoryKind {
        MemoryKind::of(self.capabilities())
    }

    /// The pool that [`Device::acquire`] takes from, for untyped buffers and waiting acquisitions.
    pub fn pool(&self) -> &Pool {
        &self.shared.pool
    }

    /// Gives up the pool's idle memory.
    pub fn trim(&self) -> Trimmed {
        self.shared.pool.trim_all()
    }

    /// Bytes that live buffers take of its memory.
    pub fn allocated_bytes(&self) -> u64 {
        self.hal().allocated_bytes()
    }

    /// What is taken now, and of what.
    pub fn memory(&self) -> MemoryUse {
        let budget = &self.shared.budget;
        MemoryUse {
            allocated_bytes: self.allocated_bytes(),
            budget: budget.stats(),
            pressure: budget.pressure(),
            pool: self.shared.pool.stats(),
        }
    }

    /// The caches that belong to this device, by name: code of pipelines, idle buffers, and those of
    /// libraries over it. [`cache_usage`] also lists the compiler's caches. Devices of one name share the
    /// list.
    pub fn cache_usage(&self) -> Vec<CacheUsage> {
        let mut usage = cache_usage();
        usage.retain(|usage| usage.owner == self.name());
        usage
    }

    /// Every buffer and heap of this device that lives, the oldest first: also those without a handle that
    /// submitted work still uses. What the device made for itself, as its staging ring, is not in it.
    pub fn live_buffers(&self) -> Vec<LiveResource> {
        self.shared.registry.live()
    }

    /// For tests: panics with the listing of [`Device::live_buffers`] if it has an entry.
    #[track_caller]
    pub fn assert_no_leaks(&self) {
        self.shared.registry.assert_no_leaks();
    }
}

impl Idle for Shared {
    fn idle_age(&self) -> Duration {
        self.config().memory.pool_idle_age
    }

    fn trim_idle(&self) {
        self.pool.trim_older_than(self.idle_age());
    }
}

/// Bytes of that number of elements, if a machine can address them.
#[doc(hidden)]
pub fn bytes_of<T>(count: usize) -> Result<u64, Error> {
    let element_size = size_of::<T>();
    let bytes = count.checked_mul(element_size).ok_or(Error::TooManyElements { count, element_size })?;
    Ok(bytes as u64)
}
