//! Heaps: one block of device memory from which buffers are cut.
//!
//! Owns [`Heap`]. Invariant: the heap's bytes count towards the device's budget and its tenant's quota once,
//! when the heap is made; its buffers are listed and count no more. A heap lives as long as a handle or a
//! buffer of it.

use std::sync::Arc;

use anymetal_hal::buffer::{BufferDescriptor, StorageMode};
use anymetal_hal::heap::{Heap as HalHeap, HeapDescriptor};
use anymetal_runtime::memory::MemoryError;
use anymetal_runtime::memory::budget::Reservation;
use anymetal_runtime::memory::mode::ModeDecision;
use anymetal_runtime::memory::registry::ResourceKind;
use anymetal_runtime::tenant::{MemoryCharge, Tenant};
use bytemuck::Pod;

use crate::buffer::{Buffer, Memory};
use crate::buffer_options::BufferOptions;
use crate::device::Device;
use crate::error::Error;
use crate::memory::bytes_of;

/// A block of device memory from which buffers are cut, in Metal's words. Clones are the same heap.
///
/// All its memory is taken when it is made, so that cutting a buffer never asks the system or the budget. A
/// buffer's bytes come back when its last handle is dropped and no submitted work uses it.
///
/// ```
/// # fn main() -> Result<(), anymetal::Error> {
/// let device = anymetal::Device::system_default()?;
/// let heap = device.heap(1 << 20, "frame")?;
/// let positions = heap.buffer_with(&[[0.0f32; 4]; 1000], "positions")?;
/// let forces = heap.buffer_zeroed::<[f32; 4]>(1000)?;
/// assert!(heap.used_bytes() >= 2 * 16_000 && heap.buffer_zeroed::<u8>(1 << 20).is_err());
/// drop((positions, forces));
/// assert_eq!(heap.used_bytes(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Heap {
    block: Arc<HeapBlock>,
}

/// What a heap's buffers keep alive.
pub(crate) struct HeapBlock {
    heap: Arc<dyn HalHeap>,
    device: Device,
    mode: ModeDecision,
    _reservation: Reservation,
    _registration: anymetal_runtime::memory::registry::Registration,
    _charge: Option<MemoryCharge>,
}

impl std::fmt::Debug for HeapBlock {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.heap.fmt(formatter)
    }
}

impl Device {
    /// A heap of that many bytes, all allocated now.
    pub fn heap(&self, bytes: u64, options: impl Into<BufferOptions>) -> Result<Heap, Error> {
        let options = options.into();
        let mode = self.placement(&options)?;
        let charge = charge(&options.tenant, bytes)?;
        let reservation = self.shared.budget.reserve(bytes)?;
        let BufferOptions { label, .. } = options;
        let descriptor = HeapDescriptor { length: bytes, storage_mode: mode.mode, label: label.clone() };
        let heap = self.hal().heap(&descriptor)?;
        let registration = self.shared.registry.register(ResourceKind::Heap, label, bytes);
        let block = HeapBlock {
            heap,
            device: self.clone(),
            mode,
            _reservation: reservation,
            _registration: registration,
            _charge: charge,
        };
        Ok(Heap { block: Arc::new(block) })
    }
}

/// Charges bytes to a tenant's quota.
pub(crate) fn charge(tenant: &Option<Tenant>, bytes: u64) -> Result<Option<MemoryCharge>, Error> {
    let charge = tenant.as_ref().map(|tenant| tenant.charge_memory(bytes)).transpose();
    Ok(charge.map_err(MemoryError::from)?)
}

impl Heap {
    /// A buffer with a copy of those elements. Refused with [`crate::DeviceError::HeapFull`] if no free range
    /// is long enough.
    pub fn buffer<T: Pod>(&self, elements: &[T]) -> Result<Buffer<T>, Error> {
        self.buffer_with(elements, "")
    }

    /// As [`Heap::buffer`], with a name.
    pub fn buffer_with<T: Pod>(&self, elements: &[T], label: impl Into<String>) -> Result<Buffer<T>, Error> {
        let buffer = self.buffer_zeroed_with(elements.len(), label)?;
        self.block.device.fill_with(&buffer, elements)?;
        Ok(buffer)
    }

    /// A buffer of so many elements, all bytes zero.
    pub fn buffer_zeroed<T: Pod>(&self, count: usize) -> Result<Buffer<T>, Error> {
        self.buffer_zeroed_with(count, "")
    }

    /// As [`Heap::buffer_zeroed`], with a name.
    pub fn buffer_zeroed_with<T: Pod>(
        &self,
        count: usize,
        label: impl Into<String>,
    ) -> Result<Buffer<T>, Error> {
        let (length, label, block) = (bytes_of::<T>(count)?, label.into(), &self.block);
        let descriptor = BufferDescriptor { length, storage_mode: block.mode.mode, label: label.clone() };
        let buffer = block.heap.buffer(&descriptor)?;
        let registration = block.device.shared.registry.register(ResourceKind::Buffer, label, length);
        let memory = Memory::InHeap { buffer, _registration: registration, _heap: Arc::clone(block) };
        Ok(Buffer::new(memory, block.mode, count))
    }

    /// Its name; may be empty.
    pub fn label(&self) -> &str {
        self.block.heap.label()
    }

    /// Its length in bytes.
    pub fn length(&self) -> u64 {
        self.block.heap.length()
    }

    /// Where its memory is, that of all its buffers.
    pub fn storage_mode(&self) -> StorageMode {
        self.block.mode.mode
    }

    /// Bytes that live buffers take, padding included.
    pub fn used_bytes(&self) -> u64 {
        self.block.heap.used_bytes()
    }

    /// The longest buffer that can be cut now, in bytes.
    pub fn largest_free_bytes(&self) -> u64 {
        self.block.heap.largest_free_bytes()
    }
}
