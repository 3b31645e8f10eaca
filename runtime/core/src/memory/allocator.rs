//! The allocator: buffers and heaps outside the pool, counted by budget, tenant and registry.
//!
//! Owns [`Allocator`] and [`AllocatedHeap`]. Invariant: bytes are reserved, charged and listed before the
//! device makes the memory, and given back when it is freed: with the last handle, or the end of the last
//! work that uses it. A refusal has had no effect. What a device makes for itself is reserved, but neither
//! charged nor listed ([`Allocator::internal_buffer`]). A buffer of a heap takes nothing of its own: the
//! heap's bytes are counted while it or one of its buffers lives.

use std::sync::Arc;

use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::heap::{Heap, HeapDescriptor};
use anymetal_hal::host_pages::HostPages;
use anymetal_telemetry::record;

use crate::memory::budget::{Budget, Reservation};
use crate::memory::error::MemoryError;
use crate::memory::registry::{Registration, Registry, ResourceKind};
use crate::tenant::{MemoryCharge, Tenant};

/// Makes buffers and heaps of a device. Clones count together.
#[derive(Debug, Clone)]
pub struct Allocator {
    device: Arc<dyn Device>,
    budget: Budget,
    registry: Registry,
}

/// What counts a piece of memory; dropped after it.
#[derive(Debug, Default)]
struct Account {
    _charge: Option<MemoryCharge>,
    _reservation: Option<Reservation>,
    _registration: Option<Registration>,
    /// The heap that the memory was cut from.
    _heap: Option<Arc<HeapShared>>,
}

/// A buffer that is counted until it is freed.
fn counted(buffer: Arc<dyn Buffer>, account: Account) -> Arc<dyn Buffer> {
    buffer.uses().keep_account(account);
    buffer
}

/// A heap that is counted until it and its buffers are dropped. Clones are the same heap.
#[derive(Debug, Clone)]
pub struct AllocatedHeap {
    shared: Arc<HeapShared>,
}

#[derive(Debug)]
struct HeapShared {
    heap: Arc<dyn Heap>,
    registry: Registry,
    _account: Account,
}

/// Why host memory was not imported, and the memory.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct ImportRefused {
    /// The pages, unchanged.
    pub pages: HostPages,
    /// Why.
    pub error: MemoryError,
}

impl Allocator {
    /// An allocator of a device that counts in a budget and a registry.
    pub fn new(device: Arc<dyn Device>, budget: Budget, registry: Registry) -> Self {
        Allocator { device, budget, registry }
    }

    /// Makes a buffer, all zero, on a tenant's account if there is one. Longer than the device's largest
    /// buffer is [`DeviceError::BufferTooLarge`], however much memory is free.
    pub fn buffer(
        &self,
        descriptor: &BufferDescriptor,
        tenant: Option<&Tenant>,
    ) -> Result<Arc<dyn Buffer>, MemoryError> {
        self.recorded("own", self.buffer_unrecorded(descriptor, tenant))
    }

    fn buffer_unrecorded(
        &self,
        descriptor: &BufferDescriptor,
        tenant: Option<&Tenant>,
    ) -> Result<Arc<dyn Buffer>, MemoryError> {
        self.check_length(descriptor.length)?;
        let (label, bytes) = (descriptor.label.as_str(), descriptor.length);
        let account = self.account(ResourceKind::Buffer, label, bytes, bytes, tenant)?;
        Ok(counted(self.device.buffer(descriptor)?, account))
    }

    /// Counts an allocation or its refusal.
    fn recorded<T>(&self, origin: &str, made: Result<T, MemoryError>) -> Result<T, MemoryError> {
        match &made {
            Ok(_) => record::allocated(self.device.name(), origin),
            Err(error) => record::allocation_failed(self.device.name(), error.class().word()),
        }
        made
    }

    /// Makes a buffer of the device's own, such as a staging ring: it counts in the budget, but no tenant is
    /// charged, and it is not in the listing, which is of what users make. Errors as of
    /// [`Allocator::buffer`].
    pub fn internal_buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, MemoryError> {
        self.check_length(descriptor.length)?;
        let reservation = self.budget.reserve(descriptor.length)?;
        let account = Account { _reservation: Some(reservation), ..Account::default() };
        Ok(counted(self.device.buffer(descriptor)?, account))
    }

    /// Makes a buffer of host memory without a copy, where the device can; it is charged to the tenant, but
    /// takes nothing of the budget of device memory.
    pub fn import(
        &self,
        pages: HostPages,
        label: &str,
        tenant: Option<&Tenant>,
    ) -> Result<Arc<dyn Buffer>, Box<ImportRefused>> {
        let bytes = pages.length();
        let account = match self.account(ResourceKind::Buffer, label, bytes, 0, tenant) {
            Ok(account) => account,
            Err(error) => return Err(Box::new(ImportRefused { pages, error })),
        };
        match self.device.import(pages, label) {
            Ok(buffer) => {
                record::allocated(self.device.name(), "import");
                Ok(counted(buffer, account))
            }
            Err(refused) => {
                Err(Box::new(ImportRefused { pages: refused.pages, error: refused.error.into() }))
            }
        }
    }

    /// Makes a heap, on a tenant's account if there is one; all its memory is taken at once.
    pub fn heap(
        &self,
        descriptor: &HeapDescriptor,
        tenant: Option<&Tenant>,
    ) -> Result<AllocatedHeap, MemoryError> {
        self.recorded("heap", self.heap_unrecorded(descriptor, tenant))
    }

    fn heap_unrecorded(
        &self,
        descriptor: &HeapDescriptor,
        tenant: Option<&Tenant>,
    ) -> Result<AllocatedHeap, MemoryError> {
        let (label, bytes) = (descriptor.label.as_str(), descriptor.length);
        let account = self.account(ResourceKind::Heap, label, bytes, bytes, tenant)?;
        let heap = self.device.heap(descriptor)?;
        let registry = self.registry.clone();
        Ok(AllocatedHeap { shared: Arc::new(HeapShared { heap, registry, _account: account }) })
    }

    fn check_length(&self, requested: u64) -> Result<(), MemoryError> {
        let limit = self.device.capabilities().max_buffer_bytes;
        if requested > limit {
            return Err(DeviceError::BufferTooLarge { requested, limit }.into());
        }
        Ok(())
    }

    fn account(
        &self,
        kind: ResourceKind,
        label: &str,
        bytes: u64,
        of_budget: u64,
        tenant: Option<&Tenant>,
    ) -> Result<Account, MemoryError> {
        let charge = tenant.map(|tenant| tenant.charge_memory(bytes)).transpose()?;
        let reservation = match of_budget {
            0 => None,
            bytes => Some(self.budget.reserve(bytes)?),
        };
        let registration = Some(self.registry.register(kind, label, bytes));
        Ok(Account { _charge: charge, _reservation: reservation, _registration: registration, _heap: None })
    }
}

impl AllocatedHeap {
    /// Cuts a buffer, all zero. Its storage mode must be the heap's; [`DeviceError::HeapFull`] if no free
    /// range is long enough.
    pub fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, MemoryError> {
        let HeapShared { heap, registry, .. } = &*self.shared;
        let buffer = heap.buffer(descriptor)?;
        let registration =
            registry.register(ResourceKind::Buffer, descriptor.label.as_str(), descriptor.length);
        let heap = Some(Arc::clone(&self.shared));
        Ok(counted(buffer, Account { _registration: Some(registration), _heap: heap, ..Account::default() }))
    }

    /// The heap: its length, and how much of it is free.
    pub fn heap(&self) -> &Arc<dyn Heap> {
        &self.shared.heap
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use anymetal_hal::clock::ManualClock;
    use anymetal_testing::null::NullDevice;

    use super::*;
    use crate::tenant::{QuotaError, TenantLimits};

    fn parts(budget: u64, bytes: u64) -> (Allocator, Budget, Registry, Tenant) {
        let clock = ManualClock::new();
        let (budget, registry) = (Budget::new(budget), Registry::new(clock.clone(), false));
        let limits = TenantLimits { bytes: Some(bytes), buffers: Some(3), ..TenantLimits::default() };
        let tenant = Tenant::new("t", limits, clock);
        let allocator = Allocator::new(Arc::new(NullDevice::new()), budget.clone(), registry.clone());
        (allocator, budget, registry, tenant)
    }

    #[test]
    fn a_refusal_by_quota_or_budget_has_no_effect() {
        let (allocator, budget, registry, tenant) = parts(150, 100);
        let first = allocator.buffer(&BufferDescriptor::shared(60), Some(&tenant)).unwrap();
        let refused = allocator.buffer(&BufferDescriptor::shared(41), Some(&tenant)).unwrap_err();
        assert!(matches!(refused, MemoryError::Quota(QuotaError::Bytes { used: 60, limit: 100, .. })));
        assert_eq!((budget.stats().reserved, tenant.usage().bytes, registry.live().len()), (60, 60, 1));
        let other = allocator.buffer(&BufferDescriptor::shared(70), None).unwrap();
        let refused = allocator.buffer(&BufferDescriptor::shared(40), Some(&tenant)).unwrap_err();
        assert!(matches!(refused, MemoryError::OverBudget { .. }));
        assert_eq!((tenant.usage().bytes, tenant.usage().buffers), (60, 1), "the charge was given back");
        drop((first, other));
        assert_eq!((budget.stats().reserved, tenant.usage().bytes, registry.live().len()), (0, 0, 0));
    }

    #[test]
    fn a_buffer_of_the_device_itself_is_in_the_budget_and_not_in_the_listing() {
        let (allocator, budget, registry, _) = parts(100, 100);
        let internal = allocator.internal_buffer(&BufferDescriptor::shared(60)).unwrap();
        assert_eq!((budget.stats().reserved, registry.live().len()), (60, 0));
        let refused = allocator.internal_buffer(&BufferDescriptor::shared(41)).unwrap_err();
        assert!(matches!(refused, MemoryError::OverBudget { .. }));
        drop(internal);
        assert_eq!(budget.stats().reserved, 0);
    }

    #[test]
    fn imported_memory_is_charged_and_comes_back_when_refused() {
        let (allocator, budget, _, tenant) = parts(10, 100);
        let mut pages = HostPages::zeroed(80).unwrap();
        pages.write(3, &[7; 4]).unwrap();
        let imported = allocator.import(pages, "pages", Some(&tenant)).unwrap();
        let mut bytes = [0; 5];
        imported.read(2, &mut bytes).unwrap();
        assert_eq!((bytes, budget.stats().reserved, tenant.usage().bytes), ([0, 7, 7, 7, 7], 0, 80));
        let refused = allocator.import(HostPages::zeroed(21).unwrap(), "more", Some(&tenant)).unwrap_err();
        assert!(refused.pages.length() == 21 && matches!(refused.error, MemoryError::Quota(_)));
        drop(imported);
        assert_eq!(tenant.usage().bytes, 0);
    }

    #[test]
    fn a_heap_is_counted_while_one_of_its_buffers_lives() {
        let (allocator, budget, registry, tenant) = parts(1 << 20, 4096);
        let descriptor = HeapDescriptor::new(4096).label("heap");
        let heap = allocator.heap(&descriptor, Some(&tenant)).unwrap();
        let buffer = heap.buffer(&BufferDescriptor::shared(1000)).unwrap();
        assert!(heap.buffer(&BufferDescriptor::shared(4000)).is_err());
        assert_eq!((heap.heap().used_bytes(), registry.live().len()), (1024, 2));
        drop(heap);
        assert_eq!((budget.stats().reserved, tenant.usage().bytes), (4096, 4096));
        drop(buffer);
        assert_eq!((budget.stats().reserved, tenant.usage().bytes, registry.live().len()), (0, 0, 0));
    }
}
