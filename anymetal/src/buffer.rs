//! Typed buffers and views of them.
//!
//! Owns [`Buffer`] and [`BufferView`]. Invariant: a view lies within its buffer and starts at an element; the
//! host's reads and writes wait for the submitted work that uses the buffer.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use anymetal_core::memory::mode::ModeDecision;
use anymetal_core::memory::pool::PooledBuffer;
pub use anymetal_core::memory::view::BufferView as BufferSlice;
use anymetal_hal::buffer::{Buffer as HalBuffer, StorageMode};
use anymetal_hal::error::{DeviceError, quoted};
use bytemuck::{Pod, Zeroable};

use crate::error::Error;

/// All bytes of the buffer.
impl<T: Pod> From<&Buffer<T>> for BufferSlice {
    fn from(buffer: &Buffer<T>) -> BufferSlice {
        buffer.region()
    }
}

/// The bytes of the view.
impl<T: Pod> From<&BufferView<T>> for BufferSlice {
    fn from(view: &BufferView<T>) -> BufferSlice {
        view.region()
    }
}

/// Device memory with elements of one type. Clones share the memory.
pub struct Buffer<T> {
    memory: Arc<Memory>,
    mode: ModeDecision,
    len: usize,
    element: PhantomData<T>,
}

/// Where a buffer's memory comes from, and what goes back when its last handle is dropped.
pub(crate) enum Memory {
    /// Made for it alone, cut from a heap, or the host's.
    Own(Arc<dyn HalBuffer>),
    /// A pool's, and the holder's name for it.
    Pooled(PooledBuffer, Cow<'static, str>),
}

impl<T: Pod> Buffer<T> {
    pub(crate) fn new(memory: Memory, mode: ModeDecision, len: usize) -> Self {
        Buffer { memory: Arc::new(memory), mode, len, element: PhantomData }
    }

    /// Where its memory is: whether the host sees it ([`Buffer::read`] and [`Buffer::write`]), or only
    /// commands do ([`crate::Device::upload_to`] and [`crate::Device::download_from`]).
    pub fn storage_mode(&self) -> StorageMode {
        self.mode.mode
    }

    /// Why it is there, in a sentence.
    pub fn why(&self) -> &'static str {
        self.mode.why()
    }

    /// Its name for messages and listings; may be empty.
    pub fn label(&self) -> &str {
        match &*self.memory {
            Memory::Own(buffer) => buffer.label(),
            Memory::Pooled(_, label) => label,
        }
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The same memory as bytes, which can be bound to an argument of any type.
    pub fn bytes(&self) -> Buffer<u8> {
        self.of_elements(self.len * size_of::<T>())
    }

    /// The same memory as elements of another type, so many of them that it holds.
    #[doc(hidden)]
    pub fn of_elements<U: Pod>(&self, len: usize) -> Buffer<U> {
        debug_assert!(len * size_of::<U>() <= self.len * size_of::<T>());
        Buffer { memory: Arc::clone(&self.memory), mode: self.mode, len, element: PhantomData }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A copy of all elements, once submitted work is done with them.
    pub fn read(&self) -> Result<Vec<T>, Error> {
        let mut elements = vec![T::zeroed(); self.len];
        self.read_into(0, &mut elements)?;
        Ok(elements)
    }

    /// Copies elements out from `start` on, once submitted work is done with them.
    pub fn read_into(&self, start: usize, elements: &mut [T]) -> Result<(), Error> {
        let offset = self.offset(start, elements.len())?;
        self.hal().wait_for_work(None)?;
        Ok(self.hal().read(offset, bytemuck::cast_slice_mut(elements))?)
    }

    /// Overwrites the first elements, once submitted work is done with them.
    pub fn write(&self, elements: &[T]) -> Result<(), Error> {
        self.write_at(0, elements)
    }

    /// Overwrites elements from `start` on, once submitted work is done with them.
    pub fn write_at(&self, start: usize, elements: &[T]) -> Result<(), Error> {
        let offset = self.offset(start, elements.len())?;
        self.hal().wait_for_work(None)?;
        Ok(self.hal().write(offset, bytemuck::cast_slice(elements))?)
    }

    /// A part of it, to bind as an argument.
    pub fn view(&self, range: Range<usize>) -> Result<BufferView<T>, Error> {
        let Range { start, end } = range;
        if start > end || end > self.len {
            return Err(Error::RangeOutsideBuffer { start, end, len: self.len });
        }
        Ok(BufferView { buffer: self.clone(), start, len: end - start })
    }

    /// The address of its first byte for the host, Metal's `contents`, for code that guards its accesses
    /// itself; `None` if the host does not see it. [`Buffer::read`], [`Buffer::write`] and
    /// [`BufferView::map`] need no `unsafe`.
    pub fn contents(&self) -> Option<NonNull<u8>> {
        self.hal().contents()
    }

    /// Blocks until no submitted work uses it.
    pub fn wait_until_unused(&self) -> Result<(), Error> {
        Ok(self.hal().wait_for_work(None)?)
    }

    /// Whether both are handles of the same memory.
    pub fn is_same<U: Pod>(&self, other: &Buffer<U>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(self.hal()), Arc::as_ptr(other.hal()))
    }

    /// The untyped buffer below; that of a pooled one may be longer.
    pub(crate) fn hal(&self) -> &Arc<dyn HalBuffer> {
        match &*self.memory {
            Memory::Own(buffer) => buffer,
            Memory::Pooled(pooled, _) => pooled.whole(),
        }
    }

    /// The address of its first element, Metal's `gpuAddress`: what a pointer to it is in structures that
    /// kernels read. Constant while the buffer lives. A kernel that follows the address needs the buffer to
    /// be bound, or named with [`crate::ComputeEncoder::use_resource`].
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] of a device whose kernels cannot follow addresses.
    pub fn gpu_address(&self) -> Result<u64, Error> {
        self.view(0..self.len)?.gpu_address()
    }

    /// Its bytes without their type, as a resource of a graph.
    pub fn region(&self) -> BufferSlice {
        match &*self.memory {
            Memory::Own(buffer) => BufferSlice::of(Arc::clone(buffer)),
            Memory::Pooled(pooled, _) => pooled.view(),
        }
    }

    fn offset(&self, start: usize, count: usize) -> Result<u64, Error> {
        match start.checked_add(count) {
            Some(end) if end <= self.len => Ok((start * size_of::<T>()) as u64),
            end => Err(Error::RangeOutsideBuffer { start, end: end.unwrap_or(usize::MAX), len: self.len }),
        }
    }
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Buffer { memory: Arc::clone(&self.memory), mode: self.mode, len: self.len, element: PhantomData }
    }
}

impl<T: Pod> fmt::Debug for Buffer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (element, len, label) = (std::any::type_name::<T>(), self.len, self.label());
        write!(formatter, "Buffer<{element}>({len} elements)")?;
        if label.is_empty() { Ok(()) } else { write!(formatter, " `{label}`") }
    }
}

/// A part of a buffer. It holds the buffer alive.
#[derive(Clone)]
pub struct BufferView<T> {
    buffer: Buffer<T>,
    start: usize,
    len: usize,
}

impl<T: Pod> BufferView<T> {
    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A copy of its elements, once submitted work is done with the buffer.
    pub fn read(&self) -> Result<Vec<T>, Error> {
        let mut elements = vec![<T as Zeroable>::zeroed(); self.len];
        self.buffer.read_into(self.start, &mut elements)?;
        Ok(elements)
    }

    /// The address of its first element; see [`Buffer::gpu_address`].
    ///
    /// # Errors
    /// As of that.
    pub fn gpu_address(&self) -> Result<u64, Error> {
        self.region().gpu_address().ok_or_else(|| {
            Error::Device(DeviceError::Unsupported {
                device: "the device".to_owned(),
                what: format!("the address of the buffer{} in kernels", quoted(self.buffer.label())),
                alternative: "bind the buffer as an argument".to_owned(),
            })
        })
    }

    /// The buffer that it is a part of.
    pub fn buffer(&self) -> &Buffer<T> {
        &self.buffer
    }

    /// Its bytes without their type, as a resource of a graph.
    pub fn region(&self) -> BufferSlice {
        let (start, end) = (self.start * size_of::<T>(), (self.start + self.len) * size_of::<T>());
        let region = self.buffer.region().slice(start as u64..end as u64);
        region.expect("a view lies within its buffer")
    }
}

impl<T: Pod> fmt::Debug for BufferView<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "elements {}..{} of {:?}", self.start, self.start + self.len, self.buffer)
    }
}
