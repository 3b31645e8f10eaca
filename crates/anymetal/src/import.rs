//! Import of host memory: buffers of pages that the host filled, without a copy.

use anymetal_hal::host_pages::HostPages;
use anymetal_runtime::memory::mode::{BufferUsage, ModeRequest, Touches, decide};
use anymetal_runtime::memory::{MemoryError, allocator};
use bytemuck::Pod;

use crate::buffer::{Buffer, Memory};
use crate::device::Device;
use crate::error::Error;

/// Why pages were not imported, and the pages, unchanged. `?` makes the error of it and drops the pages.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
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
    /// use anymetal::{Device, HostPages};
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
        let usage = BufferUsage { host: Touches::Once, device: Touches::Often, imported: true };
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
}
