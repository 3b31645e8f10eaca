//! Heaps: one block of device memory from which buffers are cut.
//!
//! Owns [`Heap`]. Invariant: the heap's bytes count towards the device's budget and its tenant's quota once,
//! when the heap is made; its buffers are listed and count no more. A heap lives as long as a handle or a
//! buffer of it.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use anymetal_core::memory::allocator::AllocatedHeap;
use anymetal_core::memory::mode::ModeDecision;
use anymetal_hal::buffer::{Buffer as HalBuffer, BufferDescriptor as BufferMemory, StorageMode};
use anymetal_hal::heap::HeapDescriptor as HalDescriptor;
use bytemuck::Pod;

use crate::buffer::{Buffer, BufferSlice, Memory};
use crate::buffer_descriptor::{BufferDescriptor, Contents, HeapDescriptor, ResourceOptions};
use crate::device::Device;
use crate::error::Error;
use crate::memory::bytes_of;
use crate::texture::Descriptions;

/// A block of device memory from which buffers are cut, in Metal's words. Clones are the same heap.
///
/// All its memory is taken when it is made, so that cutting a buffer never asks the system or the budget. A
/// buffer's bytes come back when its last handle is dropped and no submitted work uses it.
///
/// ```
/// # fn main() -> Result<(), anymetal::Error> {
/// let device = anymetal::Device::system_default()?;
/// use anymetal::BufferDescriptor;
/// use anymetal::memory::HeapDescriptor;
///
/// let heap = device.create_heap(&HeapDescriptor::new(1 << 20).label("frame"))?;
/// let positions = heap.create_buffer(&BufferDescriptor::new(&[[0.0f32; 4]; 1000]).label("positions"))?;
/// let forces = heap.buffer_zeroed::<[f32; 4]>(1000)?;
/// assert!(heap.used_bytes() >= 2 * 16_000 && heap.buffer_zeroed::<u8>(1 << 20).is_err());
/// drop((positions, forces));
/// assert_eq!(heap.used_bytes(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Heap {
    block: AllocatedHeap,
    device: Device,
    mode: ModeDecision,
    /// Its buffers, those that are gone too until they are counted.
    buffers: Arc<Mutex<Vec<Weak<dyn HalBuffer>>>>,
    /// The descriptions of its textures, which are elsewhere.
    descriptions: Arc<Mutex<Vec<Weak<Descriptions>>>>,
}

/// Adds to a list from which what is gone leaves each time that it has doubled.
fn add<T: ?Sized>(list: &mut Vec<Weak<T>>, new: Weak<T>) {
    if list.len() == list.capacity() {
        list.retain(|known| known.strong_count() > 0);
        let left = list.len();
        list.reserve(left.max(16));
    }
    list.push(new);
}

impl Device {
    /// A heap, all of whose bytes are allocated now.
    pub fn create_heap(&self, descriptor: &HeapDescriptor) -> Result<Heap, Error> {
        let HeapDescriptor { bytes, options, is_whole } = descriptor;
        let mode = self.placement(options)?;
        let device = self.charging(options);
        let block =
            HalDescriptor::new(*bytes).storage_mode(mode.mode).label(options.label.clone()).whole(*is_whole);
        let block = device.shared.allocator.heap(&block, device.tenant.as_ref())?;
        Ok(Heap { block, device, mode, buffers: Arc::default(), descriptions: Arc::default() })
    }
}

impl Heap {
    /// A buffer with a copy of those elements. Refused with [`crate::error::DeviceError::HeapFull`] if
    /// no free range is long enough.
    pub fn buffer<T: Pod>(&self, elements: &[T]) -> Result<Buffer<T>, Error> {
        self.create_buffer(&BufferDescriptor::new(elements))
    }

    /// A buffer of so many elements, all bytes zero.
    pub fn buffer_zeroed<T: Pod>(&self, count: usize) -> Result<Buffer<T>, Error> {
        self.create_buffer(&BufferDescriptor::zeroed(count))
    }

    /// A buffer with a label. Tenant and placement are the heap's.
    ///
    /// # Errors
    /// [`Error::HeapBufferOptions`] for a descriptor with a tenant, a placement or from the pool.
    pub fn create_buffer<T: Pod>(&self, descriptor: &BufferDescriptor<'_, T>) -> Result<Buffer<T>, Error> {
        let BufferDescriptor { contents, options, is_pooled } = descriptor;
        let ResourceOptions { label, tenant, placement } = options;
        if tenant.is_some() || placement.is_some() || *is_pooled {
            return Err(Error::HeapBufferOptions { label: label.clone() });
        }
        let count = descriptor.count();
        let memory = BufferMemory::shared(bytes_of::<T>(count)?);
        let memory = memory.storage_mode(self.mode.mode).label(label.clone());
        let memory = self.block.buffer(&memory)?;
        self.note(Arc::downgrade(&memory));
        let buffer = Buffer::new(Memory::Own(memory), self.mode, count);
        if let Contents::Elements(elements) = contents {
            self.device.fill_with(&buffer, elements)?;
        }
        Ok(buffer)
    }

    /// Its live buffers, and what kernels read of its textures that have a resource id.
    pub fn buffers(&self) -> Vec<BufferSlice> {
        let descriptions = self.descriptions.lock().unwrap_or_else(PoisonError::into_inner);
        let described = descriptions.iter().filter_map(Weak::upgrade).flat_map(|all| all.regions());
        let buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        buffers.iter().filter_map(Weak::upgrade).map(BufferSlice::of).chain(described).collect()
    }

    fn note(&self, buffer: Weak<dyn HalBuffer>) {
        add(&mut self.buffers.lock().unwrap_or_else(PoisonError::into_inner), buffer);
    }

    /// Notes a texture that was made of a buffer of the heap.
    pub(crate) fn note_texture(&self, descriptions: &Arc<Descriptions>) {
        let mut known = self.descriptions.lock().unwrap_or_else(PoisonError::into_inner);
        add(&mut known, Arc::downgrade(descriptions));
    }

    /// Its name; may be empty.
    pub fn label(&self) -> &str {
        self.block.heap().label()
    }

    /// Its length in bytes.
    pub fn length(&self) -> u64 {
        self.block.heap().length()
    }

    /// Where its memory is, that of all its buffers.
    pub fn storage_mode(&self) -> StorageMode {
        self.mode.mode
    }

    /// Bytes that live buffers take, padding included.
    pub fn used_bytes(&self) -> u64 {
        self.block.heap().used_bytes()
    }

    /// The longest buffer that can be cut now, in bytes.
    pub fn largest_free_bytes(&self) -> u64 {
        self.block.heap().largest_free_bytes()
    }
}
