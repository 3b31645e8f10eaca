//! Heaps: Metal's own, which find the places for buffers themselves.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anymetal_hal::buffer::{Buffer, BufferDescriptor, StorageMode};
use anymetal_hal::error::DeviceError;
use anymetal_hal::heap::{HEAP_ALIGNMENT, Heap, HeapDescriptor};
use objc2::rc::autoreleasepool;
use objc2::runtime::ProtocolObject;
use objc2_metal::{
    MTLDevice, MTLHazardTrackingMode, MTLHeap, MTLHeapDescriptor, MTLResourceOptions, MTLStorageMode,
};

use crate::device::DeviceShared;
use crate::memory::{AppleBuffer, length_of, options_of};
use crate::object::{Shared, label_of};

/// A heap.
pub(crate) struct AppleHeap {
    device: Arc<DeviceShared>,
    heap: Shared<dyn MTLHeap>,
    length: u64,
    storage_mode: StorageMode,
    label: String,
}

impl AppleHeap {
    pub(crate) fn new(descriptor: &HeapDescriptor, device: &Arc<DeviceShared>) -> Result<Self, DeviceError> {
        let (requested, limit) = (descriptor.length, device.capabilities.max_buffer_bytes);
        let size = match usize::try_from(requested) {
            Ok(size) if requested <= limit => size.max(1),
            _ => return Err(DeviceError::BufferTooLarge { requested, limit }),
        };
        let made = autoreleasepool(|_| {
            let wanted = MTLHeapDescriptor::new();
            wanted.setSize(size);
            wanted.setStorageMode(mode_of(descriptor.storage_mode, device));
            // Buffers of heaps are not tracked otherwise, and the order of commands would not hold.
            wanted.setHazardTrackingMode(MTLHazardTrackingMode::Tracked);
            let heap = device.device.newHeapWithDescriptor(&wanted)?;
            if let Some(label) = label_of(&descriptor.label) {
                heap.setLabel(Some(&label));
            }
            if let Some(residency) = &device.residency {
                residency.add(ProtocolObject::from_ref(&*heap));
            }
            Some(heap)
        });
        let heap = Shared(made.ok_or(DeviceError::OutOfMemory { requested })?);
        device.allocated.fetch_add(requested, Ordering::Relaxed);
        Ok(AppleHeap {
            device: Arc::clone(device),
            heap,
            length: requested,
            storage_mode: descriptor.storage_mode,
            label: descriptor.label.clone(),
        })
    }
}

/// The mode of a heap of Metal's for a mode of the hal's.
fn mode_of(mode: StorageMode, device: &DeviceShared) -> MTLStorageMode {
    let options = options_of(mode, device);
    if options == MTLResourceOptions::StorageModePrivate {
        MTLStorageMode::Private
    } else if options == MTLResourceOptions::StorageModeManaged {
        MTLStorageMode::Managed
    } else {
        MTLStorageMode::Shared
    }
}

impl Heap for AppleHeap {
    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        if descriptor.storage_mode != self.storage_mode {
            let (heap, buffer) = (self.storage_mode, descriptor.storage_mode);
            return Err(DeviceError::HeapStorageMode { heap, buffer });
        }
        let length = length_of(descriptor, &self.device)?;
        let options =
            options_of(self.storage_mode, &self.device) | MTLResourceOptions::HazardTrackingModeTracked;
        let made = autoreleasepool(|_| self.heap.newBufferWithLength_options(length, options));
        let buffer = made.ok_or_else(|| DeviceError::HeapFull {
            requested: descriptor.length,
            largest_free: self.largest_free_bytes(),
            length: self.length,
        })?;
        Ok(Arc::new(AppleBuffer::of(buffer, descriptor, &self.device, true)?))
    }

    fn length(&self) -> u64 {
        self.length
    }

    fn used_bytes(&self) -> u64 {
        self.heap.usedSize() as u64
    }

    fn largest_free_bytes(&self) -> u64 {
        self.heap.maxAvailableSizeWithAlignment(HEAP_ALIGNMENT as usize) as u64
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for AppleHeap {
    fn drop(&mut self) {
        self.device.allocated.fetch_sub(self.length, Ordering::Relaxed);
        if let Some(residency) = &self.device.residency {
            autoreleasepool(|_| residency.remove(ProtocolObject::from_ref(&*self.heap.0)));
        }
    }
}

impl fmt::Debug for AppleHeap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AppleHeap").field("label", &self.label).finish_non_exhaustive()
    }
}
