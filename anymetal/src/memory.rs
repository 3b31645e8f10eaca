//! Memory of a device: buffers of their own, rented ones, and what is allocated.
//!
//! Owns the part of [`Device`] that makes buffers. Invariant: every buffer made here counts towards the
//! device's budget and is listed until its last handle is dropped; a refusal has had no effect.

use anymetal_core::memory::mode::{MemoryKind, ModeDecision, decide};
use anymetal_hal::buffer::BufferDescriptor;
use bytemuck::Pod;

use crate::buffer::{Buffer, Memory};
use crate::buffer_options::BufferOptions;
use crate::device::Device;
use crate::error::Error;

pub use anymetal_core::memory::MemoryError;
pub use anymetal_core::memory::budget::{BudgetStats, Pressure};
pub use anymetal_core::memory::mode::{BufferUsage, ModeError, ModeRequest, Touches};
pub use anymetal_core::memory::pool::{Pool, PoolStats, PooledBuffer, RentRequest, Trimmed};
pub use anymetal_core::memory::registry::{LiveResource, ResourceKind};
pub use anymetal_hal::buffer::StorageMode;
pub use anymetal_hal::device::LentMemory;
pub use anymetal_hal::heap::HEAP_ALIGNMENT;
pub use anymetal_hal::host_pages::{HOST_PAGE_BYTES, HostMemory, HostPages, MIN_MEMORY_ALIGNMENT};
pub use anymetal_hal::peer::{CopyPath, PeerCopied, PeerTotals};

pub use crate::import::ImportRefused;
pub use crate::link::Link;
pub use crate::mapping::{Mapped, MappedMut};
pub use crate::transfer::Download;

/// A device's memory at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
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
        self.buffer_with(elements, BufferOptions::new())
    }

    /// As [`Device::buffer`], with a label, a tenant, a placement: `device.buffer_with(&weights, "weights")`.
    pub fn buffer_with<T: Pod>(
        &self,
        elements: &[T],
        options: impl Into<BufferOptions>,
    ) -> Result<Buffer<T>, Error> {
        let options = options.into();
        let device = self.charging(&options);
        let buffer = device.buffer_in(elements.len(), options)?;
        device.fill_with(&buffer, elements)?;
        Ok(buffer)
    }

    /// A buffer of that many elements, all bytes zero.
    pub fn buffer_zeroed<T: Pod>(&self, count: usize) -> Result<Buffer<T>, Error> {
        self.buffer_zeroed_with(count, BufferOptions::new())
    }

    /// As [`Device::buffer_zeroed`], with a label, a tenant, a placement.
    pub fn buffer_zeroed_with<T: Pod>(
        &self,
        count: usize,
        options: impl Into<BufferOptions>,
    ) -> Result<Buffer<T>, Error> {
        let options = options.into();
        self.charging(&options).buffer_in(count, options)
    }

    /// A buffer of that many elements where its usage has it best, or where the request says if the usage
    /// allows that; [`Buffer::why`] tells. The usage is that of new memory, whatever it says about an import.
    pub fn buffer_for<T: Pod>(
        &self,
        count: usize,
        usage: BufferUsage,
        request: ModeRequest,
    ) -> Result<Buffer<T>, Error> {
        self.buffer_zeroed_with(count, BufferOptions::new().placed(usage, request))
    }

    /// The handle that memory with those options is made from: of the options' tenant, or else this one.
    pub(crate) fn charging(&self, options: &BufferOptions) -> Device {
        options.tenant.as_ref().map_or_else(|| self.clone(), |tenant| self.for_tenant(tenant))
    }

    /// Where memory with those options is.
    pub(crate) fn placement(&self, options: &BufferOptions) -> Result<ModeDecision, Error> {
        let Some((usage, request)) = options.placement else {
            return Ok(self.implied(StorageMode::Shared));
        };
        let usage = BufferUsage { imported: false, ..usage };
        Ok(decide(request, usage, self.memory_kind()).map_err(MemoryError::from)?)
    }

    pub(crate) fn memory_kind(&self) -> MemoryKind {
        MemoryKind::of(self.capabilities())
    }

    /// The decision for memory with a mode and no usage.
    fn implied(&self, mode: StorageMode) -> ModeDecision {
        let (request, host) = match mode {
            StorageMode::Shared => (ModeRequest::Shared, Touches::Often),
            StorageMode::Managed => (ModeRequest::Managed, Touches::Often),
            StorageMode::Private => (ModeRequest::Private, Touches::Never),
        };
        let usage = BufferUsage { host, device: Touches::Often, imported: false };
        decide(request, usage, self.memory_kind()).expect("each mode fits the usage that stands for it")
    }

    /// A buffer that is charged to this handle's tenant: call it on [`Device::charging`].
    fn buffer_in<T: Pod>(&self, count: usize, options: BufferOptions) -> Result<Buffer<T>, Error> {
        let (length, mode) = (bytes_of::<T>(count)?, self.placement(&options)?);
        let descriptor = BufferDescriptor { length, storage_mode: mode.mode, label: options.label };
        let buffer = self.shared.allocator.buffer(&descriptor, self.tenant.as_ref())?;
        Ok(Buffer::new(Memory::Own(buffer), mode, count))
    }

    /// A buffer of that many elements from the device's pool. It holds what its last renter left if that was
    /// the same tenant, or this handle and the renter's have none; else zeros. It
    /// goes back when its last handle is dropped, and is handed out again once the device is done with it.
    pub fn rent<T: Pod>(&self, count: usize) -> Result<Buffer<T>, Error> {
        self.rent_with(count, |request| request)
    }

    /// As [`Device::rent`], with a label, zeros, a storage mode, a tenant:
    /// `device.rent_with::<f32>(n, |request| request.label("sums").zeroed())`.
    pub fn rent_with<'a, T: Pod>(
        &'a self,
        count: usize,
        wish: impl FnOnce(RentRequest<'a>) -> RentRequest<'a>,
    ) -> Result<Buffer<T>, Error> {
        let mut request = RentRequest::new(bytes_of::<T>(count)?);
        if let Some(tenant) = &self.tenant {
            request = request.tenant(tenant);
        }
        let request = wish(request);
        let label = request.given_label().clone();
        let rented = self.shared.pool.rent(&request)?;
        let mode = self.implied(rented.storage_mode());
        Ok(Buffer::new(Memory::Pooled(rented, label), mode, count))
    }

    /// The pool that [`Device::rent`] rents from, for untyped buffers and waiting rents.
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

    /// Every buffer and heap of this device that lives, the oldest first, without what the device made for
    /// itself, as its staging ring.
    pub fn live_buffers(&self) -> Vec<LiveResource> {
        self.shared.registry.live()
    }

    /// For tests: panics with the listing of [`Device::live_buffers`] if it has an entry.
    #[track_caller]
    pub fn assert_no_leaks(&self) {
        self.shared.registry.assert_no_leaks();
    }
}

/// Bytes of that number of elements, if a machine can address them.
#[doc(hidden)]
pub fn bytes_of<T>(count: usize) -> Result<u64, Error> {
    let element_size = size_of::<T>();
    let bytes = count.checked_mul(element_size).ok_or(Error::TooManyElements { count, element_size })?;
    Ok(bytes as u64)
}
