//! `MTLHeap`.

use std::sync::Arc;

use anymetal::Buffer as Memory;
use anymetal::memory::Heap as Block;
use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::NSObject;

use super::allocation::is_exact;
use super::buffer::{Buffer, BufferIvars};
use super::device::{Device, HEAP_ALIGNMENT};
use super::label::Label;
use super::resource_options::ResourceOptions;
use super::texture::Texture;
use super::texture_descriptor::TextureDescriptor;
use super::{texture_make, violation};
use crate::foundation::{NSString, Range};

/// `MTLHeapTypeAutomatic`.
pub(crate) const AUTOMATIC: isize = 0;
/// `MTLHeapTypePlacement`.
pub(crate) const PLACEMENT: isize = 1;

/// The instance variables of a heap.
#[derive(Debug)]
pub(crate) struct HeapIvars {
    pub(crate) block: Block,
    /// Of a placement heap, all its memory as one buffer, in which the program places its own.
    pub(crate) placed: Option<Arc<Memory<u8>>>,
    pub(crate) device: Retained<Device>,
    pub(crate) options: ResourceOptions,
    pub(crate) label: Label,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalHeap"]
    #[ivars = HeapIvars]
    #[derive(Debug)]
    pub(crate) struct Heap;

    impl Heap {
        #[unsafe(method_id(newBufferWithLength:options:))]
        fn new_buffer(&self, length: usize, options: usize) -> Option<Retained<Buffer>> {
            self.cut(length, ResourceOptions(options))
        }

        #[unsafe(method_id(newBufferWithLength:options:offset:))]
        fn new_placed_buffer(&self, length: usize, options: usize, offset: usize) -> Option<Retained<Buffer>> {
            self.place(length, ResourceOptions(options), offset)
        }

        #[unsafe(method_id(newTextureWithDescriptor:))]
        fn new_texture(&self, descriptor: &TextureDescriptor) -> Option<Retained<Texture>> {
            texture_make::in_heap(self, "MTLHeap newTextureWithDescriptor:", descriptor)
        }

        #[unsafe(method(size))]
        fn size(&self) -> usize {
            self.ivars().block.length() as usize
        }

        #[unsafe(method(usedSize))]
        fn used_size(&self) -> usize {
            self.ivars().block.used_bytes() as usize
        }

        #[unsafe(method(currentAllocatedSize))]
        fn allocated_now(&self) -> usize {
            self.ivars().block.length() as usize
        }

        #[unsafe(method(allocatedSize))]
        fn allocated_size(&self) -> usize {
            self.ivars().block.length() as usize
        }

        #[unsafe(method(maxAvailableSizeWithAlignment:))]
        fn max_available(&self, _alignment: usize) -> usize {
            match &self.ivars().placed {
                Some(memory) => memory.len(),
                None => self.ivars().block.largest_free_bytes() as usize,
            }
        }

        #[unsafe(method(type))]
        fn heap_type(&self) -> isize {
            if self.ivars().placed.is_some() { PLACEMENT } else { AUTOMATIC }
        }

        #[unsafe(method(storageMode))]
        fn storage_mode(&self) -> usize {
            self.ivars().options.storage_mode()
        }

        #[unsafe(method(cpuCacheMode))]
        fn cache_mode(&self) -> usize {
            self.ivars().options.cache_mode()
        }

        #[unsafe(method(hazardTrackingMode))]
        fn hazard_mode(&self) -> usize {
            self.ivars().options.hazard_mode()
        }

        #[unsafe(method(resourceOptions))]
        fn options(&self) -> usize {
            self.ivars().options.0
        }

        #[unsafe(method(setPurgeableState:))]
        fn set_purgeable(&self, _state: usize) -> usize {
            2
        }

        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.get()
        }

        #[unsafe(method(setLabel:))]
        fn set_label(&self, label: Option<&NSString>) {
            self.ivars().label.set(label);
        }
    }
);

/// The bytes of a heap that a buffer takes. Kernels may access all of the heap, as on a GPU, so programs
/// stray into the next buffer; where a device lets them access the buffer alone, one more unit is theirs.
/// `None`: there are not so many.
pub(crate) fn bytes_in_heap(device: &anymetal::Device, length: usize) -> Option<usize> {
    if is_exact(device) {
        return Some(length);
    }
    length.checked_next_multiple_of(HEAP_ALIGNMENT)?.checked_add(HEAP_ALIGNMENT)
}

impl Heap {
    fn cut(&self, length: usize, options: ResourceOptions) -> Option<Retained<Buffer>> {
        const METHOD: &str = "MTLHeap newBufferWithLength:options:";
        let HeapIvars { block, placed, device, .. } = self.ivars();
        self.check_mode(METHOD, options);
        if placed.is_some() {
            violation(METHOD, "the heap is of the type MTLHeapTypePlacement, whose buffers have an offset");
        }
        let memory = block.buffer_zeroed::<u8>(bytes_in_heap(device.inner(), length)?).ok()?;
        Some(self.buffer(Arc::new(memory), 0, length))
    }

    /// A buffer at an offset; buffers may overlap, as programs intend that reuse memory.
    fn place(&self, length: usize, options: ResourceOptions, offset: usize) -> Option<Retained<Buffer>> {
        const METHOD: &str = "MTLHeap newBufferWithLength:options:offset:";
        self.check_mode(METHOD, options);
        let Some(memory) = &self.ivars().placed else {
            violation(METHOD, "the heap is not of the type MTLHeapTypePlacement");
        };
        if !offset.is_multiple_of(HEAP_ALIGNMENT) {
            violation(METHOD, format_args!("offset({offset}) must be a multiple of {HEAP_ALIGNMENT}"));
        }
        if (Range { location: offset, length }).within(memory.len()).is_none() {
            let size = memory.len();
            violation(
                METHOD,
                format_args!("offset({offset}) + length({length}) must be <= [heap size]({size})"),
            );
        }
        Some(self.buffer(Arc::clone(memory), offset, length))
    }

    fn check_mode(&self, method: &str, options: ResourceOptions) {
        if options.storage_mode() != self.ivars().options.storage_mode() {
            violation(method, "a buffer has the storage mode of its heap");
        }
    }

    fn buffer(&self, memory: Arc<Memory<u8>>, start: usize, length: usize) -> Retained<Buffer> {
        let HeapIvars { device, options, .. } = self.ivars();
        let (device, heap, options) = (device.clone(), Some(self.retain()), *options);
        let label = Label::default();
        crate::foundation::object(BufferIvars { memory, start, length, device, heap, options, label })
    }
}
