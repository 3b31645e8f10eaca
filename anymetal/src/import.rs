//! Import of host memory: buffers of pages that the host filled, without a copy.

use anymetal_core::memory::mode::{AccessFrequency, BufferUsage, ModeRequest, decide};
use anymetal_core::memory::{MemoryError, allocator};
use anymetal_hal::device::LentMemory;
use anymetal_hal::host_pages::HostPages;
use bytemuck::Pod;

use crate::buffer::{Buffer, BufferSlice, Memory};
use crate::device::Device;
use crate::error::Error;

/// Why pages were not imported, and the pages, unchanged. `?` makes the error of it and drops the pages.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
#[non_exhaustive]
pub struct ImportRefused {
    /// The pages.
    pub pages: HostPages,
    /// Why.
    pub error: Error,
}

impl From<Box<ImportRefused>> for Error {
    fn from(refused: Box<ImportRefused>) -> Self {
        refused.error
    }
}

impl Device {
    /// A buffer of host memory, without a copy: Metal's `makeBuffer(bytesNoCopy:)`. The buffer owns the pages
    /// from then on. They hold whole elements, and count neither towards the budget nor as allocated by the
    /// device, but are charged to the tenant of the handle ([`Device::for_tenant`]). A device that cannot
    /// gives the pages back.
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// use anymetal::memory::HostPages;
    /// use anymetal::Device;
    ///
    /// let device = Device::system_default()?;
    /// let file: &[u8] = &[1, 0, 0, 0, 2, 0, 0, 0]; // any reader: the bytes go straight into the pages
    /// let pages = HostPages::from_reader(file, 8).expect("memory for it");
    /// let words = device.import::<u32>(pages, "words")?;
    /// assert_eq!(words.read()?, [1, 2]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn import<T: Pod>(&self, pages: HostPages, label: &str) -> Result<Buffer<T>, Box<ImportRefused>> {
        let usage = BufferUsage::new(AccessFrequency::Once, AccessFrequency::Often).imported(true);
        let mode = decide(ModeRequest::Automatic, usage, self.memory_kind()).map_err(MemoryError::from);
        let (len, size) = (pages.length(), size_of::<T>() as u64);
        let mode = match mode {
            Ok(mode) if size > 0 && len.is_multiple_of(size) => mode,
            Ok(_) => {
                let error = MemoryError::ViewMisaligned { label: label.to_owned(), offset: 0, len, size };
                return Err(Box::new(ImportRefused { pages, error: error.into() }));
            }
            Err(error) => return Err(Box::new(ImportRefused { pages, error: error.into() })),
        };
        let imported = self.shared.allocator.import(pages, label, self.tenant.as_ref());
        let buffer = imported.map_err(|refused| {
            let allocator::ImportRefused { pages, error } = *refused;
            Box::new(ImportRefused { pages, error: error.into() })
        })?;
        Ok(Buffer::new(Memory::Own(buffer), mode, (len / size) as usize))
    }

    /// A buffer in memory that the host keeps and lends, without a copy: an array of another language, which
    /// kernels read and write in place. It is neither counted nor listed, since it is not this device's.
    /// [`crate::error::DeviceError::Unsupported`] by devices whose memory is not the host's.
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// use anymetal::memory::LentMemory;
    /// use anymetal::Device;
    ///
    /// let device = Device::system_default()?;
    /// let owner: Arc<[AtomicU32]> = [1, 2, 3].map(AtomicU32::new).into();
    /// let start = std::ptr::NonNull::from(&owner[0]).cast();
    /// // SAFETY: twelve bytes that may be written through a shared reference, and live as long as the owner.
    /// let lent = unsafe { LentMemory::new(start, 12, Box::new(Arc::clone(&owner))) };
    /// let buffer = device.borrow_host(lent, "words")?;
    /// let source = "kernel void twice(device uint* y, uint i [[thread_position_in_grid]]) { y[i] *= 2; }";
    /// let twice = device.library_from_source(source)?.pipeline("twice")?;
    /// device.queue()?.launch(&twice).arg(&buffer).threads(3).submit()?.wait()?;
    /// assert_eq!(owner[2].load(Ordering::Relaxed), 6);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`Device::borrow_region`] is the same without a type.
    pub fn borrow_host(&self, memory: LentMemory, label: &str) -> Result<Buffer<u8>, Error> {
        let usage = BufferUsage::new(AccessFrequency::Once, AccessFrequency::Often).imported(true);
        let mode = decide(ModeRequest::Automatic, usage, self.memory_kind()).map_err(MemoryError::from)?;
        let len = memory.length() as usize;
        Ok(Buffer::new(Memory::Own(self.hal().borrow_host(memory, label)?), mode, len))
    }

    /// As [`Device::borrow_host`], as a region: what is bound to an argument and nothing else, such as an
    /// array that another language lends for one call.
    pub fn borrow_region(&self, memory: LentMemory, label: &str) -> Result<BufferSlice, Error> {
        Ok(BufferSlice::of(self.hal().borrow_host(memory, label)?))
    }
}
