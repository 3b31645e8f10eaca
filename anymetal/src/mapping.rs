//! Mappings: the elements of a buffer as the host's own slice, without a copy where host and device share
//! memory.
//!
//! Owns [`Mapped`] and [`MappedMut`]. Invariant: while one lives no work uses the buffer: making it waits for
//! work that does, and work that comes meanwhile is refused with [`crate::error::DeviceError::BufferMapped`].
//! Several of the first may exist at once; one of the second excludes all others. The slice is of whole,
//! aligned elements, checked when it is made.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use anymetal_core::memory::MemoryError;
use anymetal_hal::buffer::BufferMapping;
use anymetal_hal::buffer_uses::MapMode;
use bytemuck::Pod;

use crate::buffer::{Buffer, BufferView};
use crate::error::Error;

/// Elements of a buffer to read; dropping it ends the mapping.
pub struct Mapped<T> {
    // Ended before the buffer may go back to its pool.
    mapping: Box<dyn BufferMapping>,
    _buffer: Buffer<T>,
    element: PhantomData<T>,
}

/// Elements of a buffer to read and write; dropping it ends the mapping.
pub struct MappedMut<T> {
    inner: Mapped<T>,
}

impl<T: Pod> BufferView<T> {
    /// Its elements to read, without a copy where host and device share memory, once submitted work is done
    /// with the buffer. Until the mapping is dropped, work that uses the buffer is refused.
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// let device = anymetal::Device::system_default()?;
    /// let buffer = device.buffer_zeroed::<f32>(1000)?;
    /// buffer.map_mut()?.iter_mut().enumerate().for_each(|(at, element)| *element = at as f32);
    /// let tail = buffer.view(998..1000)?;
    /// assert_eq!(*tail.map()?, [998.0, 999.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn map(&self) -> Result<Mapped<T>, Error> {
        Mapped::new(self, MapMode::Read)
    }

    /// As [`BufferView::map`], to read and write.
    pub fn map_mut(&self) -> Result<MappedMut<T>, Error> {
        Ok(MappedMut { inner: Mapped::new(self, MapMode::Write)? })
    }
}

impl<T: Pod> Buffer<T> {
    /// All its elements to read; see [`BufferView::map`].
    pub fn map(&self) -> Result<Mapped<T>, Error> {
        self.view(0..self.len())?.map()
    }

    /// All its elements to read and write; see [`BufferView::map`].
    pub fn map_mut(&self) -> Result<MappedMut<T>, Error> {
        self.view(0..self.len())?.map_mut()
    }
}

impl<T: Pod> Mapped<T> {
    fn new(view: &BufferView<T>, mode: MapMode) -> Result<Self, Error> {
        let region = view.region();
        let buffer = region.buffer();
        buffer.wait_for_work(None)?;
        let range = region.offset()..region.offset() + region.length();
        let mapping = std::sync::Arc::clone(buffer).map(range, mode)?;
        if bytemuck::try_cast_slice::<u8, T>(mapping.bytes()).is_err() {
            let (label, size) = (buffer.label().to_owned(), size_of::<T>() as u64);
            let (offset, len) = (region.offset(), region.length());
            return Err(MemoryError::ViewMisaligned { label, offset, len, size }.into());
        }
        Ok(Mapped { mapping, _buffer: view.buffer().clone(), element: PhantomData })
    }
}

impl<T: Pod> Deref for Mapped<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(self.mapping.bytes())
    }
}

impl<T: Pod> Deref for MappedMut<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.inner
    }
}

impl<T: Pod> DerefMut for MappedMut<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // A mapping for writing has them.
        bytemuck::cast_slice_mut(self.inner.mapping.bytes_mut().unwrap_or_default())
    }
}

impl<T: Pod> fmt::Debug for Mapped<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} mapped elements", self.len())
    }
}

impl<T: Pod> fmt::Debug for MappedMut<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(formatter)
    }
}
