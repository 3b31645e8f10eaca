//! Binary archives: compiled kernels in a file of the program's, for faster starts.
//!
//! Owns [`Archive`]. Metal looks into it when it makes a pipeline; each new one is added. The file is written
//! by [`crate::AppleDevice::save_archive`].

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anymetal_hal::error::DeviceError;
use objc2::runtime::ProtocolObject;
use objc2_foundation::{NSArray, NSError, NSString, NSURL};
use objc2_metal::{MTLBinaryArchive, MTLBinaryArchiveDescriptor, MTLComputePipelineDescriptor, MTLDevice};

use crate::object::Shared;

/// An archive and its file.
pub(crate) struct Archive {
    /// Its methods are called by one thread at a time.
    archive: Mutex<Shared<dyn MTLBinaryArchive>>,
    file: PathBuf,
}

fn url_of(file: &Path) -> objc2::rc::Retained<NSURL> {
    NSURL::fileURLWithPath(&NSString::from_str(&file.to_string_lossy()))
}

impl Archive {
    /// The archive in the file, or an empty one if there is no such file.
    pub(crate) fn open(
        device: &ProtocolObject<dyn MTLDevice>,
        name: &str,
        file: &Path,
    ) -> Result<Archive, DeviceError> {
        let descriptor = MTLBinaryArchiveDescriptor::new();
        if file.exists() {
            descriptor.setUrl(Some(&url_of(file)));
        }
        let archive = device.newBinaryArchiveWithDescriptor_error(&descriptor);
        let archive = archive.map_err(|error| unusable(name, file, &error))?;
        Ok(Archive { archive: Mutex::new(Shared(archive)), file: file.to_owned() })
    }

    fn lock(&self) -> MutexGuard<'_, Shared<dyn MTLBinaryArchive>> {
        self.archive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has Metal look for a pipeline's code here first.
    pub(crate) fn offer(&self, descriptor: &MTLComputePipelineDescriptor) {
        let archive = self.lock();
        descriptor.setBinaryArchives(Some(&NSArray::from_slice(&[&**archive])));
    }

    /// Adds a pipeline's code. One that cannot be added is compiled again by the next process.
    pub(crate) fn add(&self, descriptor: &MTLComputePipelineDescriptor) {
        let _only_slower = self.lock().addComputePipelineFunctionsWithDescriptor_error(descriptor);
    }

    /// Writes the file.
    pub(crate) fn save(&self, name: &str) -> Result<(), DeviceError> {
        let written = self.lock().serializeToURL_error(&url_of(&self.file));
        written.map_err(|error| unusable(name, &self.file, &error))
    }
}

fn unusable(device: &str, file: &Path, error: &NSError) -> DeviceError {
    DeviceError::Unsupported {
        device: device.to_owned(),
        what: format!("the binary archive {}", file.display()),
        alternative: format!("Metal says: {}", error.localizedDescription()),
    }
}
