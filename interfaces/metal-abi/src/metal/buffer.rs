//! `MTLBuffer`.

use std::ffi::c_void;
use std::sync::Arc;

use anymetal::Buffer as Memory;
use anymetal::BufferSlice;
use objc2::rc::Retained;
use objc2::runtime::NSObject;

use super::device::Device;
use super::heap::Heap;
use super::label::Label;
use super::resource_options::ResourceOptions;
use super::texture::Texture;
use super::texture_descriptor::TextureDescriptor;
use super::{texture_make, violation};
use crate::foundation::{NSString, Range};

/// The instance variables of a buffer.
#[derive(Debug)]
pub(crate) struct BufferIvars {
    /// At least the length from `start` on; see [`super::allocation`]. Buffers of a placement heap share it.
    pub(crate) memory: Arc<Memory<u8>>,
    /// Where the buffer begins in the memory, in bytes: not 0 in placement heaps only.
    pub(crate) start: usize,
    pub(crate) length: usize,
    pub(crate) device: Retained<Device>,
    pub(crate) heap: Option<Retained<Heap>>,
    pub(crate) options: ResourceOptions,
    pub(crate) label: Label,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalBuffer"]
    #[ivars = BufferIvars]
    #[derive(Debug)]
    pub(crate) struct Buffer;

    impl Buffer {
        #[unsafe(method(contents))]
        fn contents(&self) -> *mut c_void {
            self.address().cast()
        }

        #[unsafe(method(length))]
        fn length(&self) -> usize {
            self.ivars().length
        }

        #[unsafe(method(gpuAddress))]
        fn gpu_address(&self) -> u64 {
            self.address_for_kernels().unwrap_or(0)
        }

        #[unsafe(method(didModifyRange:))]
        fn did_modify(&self, range: Range) {
            self.check("MTLBuffer didModifyRange:", range);
        }

        #[unsafe(method_id(newTextureWithDescriptor:offset:bytesPerRow:))]
        fn new_texture(&self, descriptor: &TextureDescriptor, offset: usize, row_bytes: usize) -> Option<Retained<Texture>> {
            const METHOD: &str = "MTLBuffer newTextureWithDescriptor:offset:bytesPerRow:";
            texture_make::over(self, METHOD, descriptor, offset, row_bytes)
        }

        #[unsafe(method(addDebugMarker:range:))]
        fn add_marker(&self, _marker: &NSString, range: Range) {
            self.check("MTLBuffer addDebugMarker:range:", range);
        }

        #[unsafe(method(removeAllDebugMarkers))]
        fn remove_markers(&self) {}

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.get()
        }

        #[unsafe(method(setLabel:))]
        fn set_label(&self, label: Option<&NSString>) {
            self.ivars().label.set(label);
        }

        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }

        #[unsafe(method(cpuCacheMode))]
        fn cache_mode(&self) -> usize {
            self.ivars().options.cache_mode()
        }

        #[unsafe(method(storageMode))]
        fn storage_mode(&self) -> usize {
            self.ivars().options.storage_mode()
        }

        #[unsafe(method(hazardTrackingMode))]
        fn hazard_mode(&self) -> usize {
            self.ivars().options.hazard_mode()
        }

        #[unsafe(method(resourceOptions))]
        fn options(&self) -> usize {
            self.ivars().options.0
        }

        // Memory is never given up behind a program's back: 2 is `MTLPurgeableStateNonVolatile`.
        #[unsafe(method(setPurgeableState:))]
        fn set_purgeable(&self, _state: usize) -> usize {
            2
        }

        #[unsafe(method_id(heap))]
        fn heap(&self) -> Option<Retained<Heap>> {
            self.ivars().heap.clone()
        }

        #[unsafe(method(allocatedSize))]
        fn allocated_size(&self) -> usize {
            self.ivars().memory.len() - self.ivars().start
        }

        #[unsafe(method(heapOffset))]
        fn heap_offset(&self) -> usize {
            self.ivars().start
        }

        #[unsafe(method(isAliasable))]
        fn is_aliasable(&self) -> bool {
            false
        }
    }
);

impl Buffer {
    /// All its bytes, and what pads them.
    pub(crate) fn region(&self) -> BufferSlice {
        let BufferIvars { memory, start, .. } = self.ivars();
        let whole = BufferSlice::from(&**memory);
        match start {
            0 => whole,
            start => {
                whole.slice(*start as u64..memory.len() as u64).expect("a placed buffer is within its heap")
            }
        }
    }

    /// A range within its length, for a method that names it.
    pub(crate) fn part(&self, method: &str, start: usize, length: usize) -> BufferSlice {
        self.check(method, Range { location: start, length });
        self.slice(method, start, start + length)
    }

    /// Its bytes from an offset on, and what pads them, for a method that names it.
    pub(crate) fn from_offset(&self, method: &str, offset: usize) -> BufferSlice {
        let BufferIvars { memory, start, length, .. } = self.ivars();
        // A buffer without bytes, which only this implementation has, is bound at its start.
        if offset >= *length && offset != 0 {
            violation(method, format_args!("offset({offset}) must be < [buffer length]({length})."));
        }
        self.slice(method, offset, memory.len() - start)
    }

    fn slice(&self, method: &str, start: usize, end: usize) -> BufferSlice {
        self.region().slice(start as u64..end as u64).unwrap_or_else(|error| violation(method, error))
    }

    /// Where its bytes are for the host; null for private storage.
    pub(crate) fn address(&self) -> *mut u8 {
        let BufferIvars { memory, start, .. } = self.ivars();
        memory.contents().map_or(std::ptr::null_mut(), |whole| whole.as_ptr().wrapping_add(*start))
    }

    /// The address for kernels. Programs ask for that of the host too, in any order, and there are devices
    /// that move a buffer for it.
    pub(crate) fn address_for_kernels(&self) -> Result<u64, anymetal::Error> {
        self.address();
        let BufferIvars { memory, start, .. } = self.ivars();
        Ok(memory.gpu_address()? + *start as u64)
    }

    /// Checks a range against its length.
    fn check(&self, method: &str, range: Range) {
        let length = self.ivars().length;
        if range.within(length).is_none() {
            violation(method, format_args!("{range:?} is not within a buffer of {length} bytes"));
        }
    }
}
