//! `MTLResourceOptions`: cache mode, storage mode and hazard tracking of a resource, in one number.

use anymetal::memory::{self, AccessFrequency, BufferUsage, ModeRequest};

const STORAGE_SHIFT: usize = 4;
const HAZARD_SHIFT: usize = 8;
const MODE_MASK: usize = 0xf;

/// `MTLStorageModeManaged`.
const MANAGED: usize = 1;
/// `MTLStorageModePrivate`.
pub(crate) const PRIVATE: usize = 2;
/// `MTLStorageModeMemoryless`.
const MEMORYLESS: usize = 3;

/// The options as they were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ResourceOptions(pub(crate) usize);

impl ResourceOptions {
    pub(crate) fn of_modes(cache: usize, storage: usize, hazard: usize) -> ResourceOptions {
        ResourceOptions(cache | storage << STORAGE_SHIFT | hazard << HAZARD_SHIFT)
    }

    /// `MTLCPUCacheMode`.
    pub(crate) fn cache_mode(self) -> usize {
        self.0 & MODE_MASK
    }

    /// `MTLStorageMode`.
    pub(crate) fn storage_mode(self) -> usize {
        self.0 >> STORAGE_SHIFT & MODE_MASK
    }

    /// `MTLHazardTrackingMode`; the default of a buffer is tracked.
    pub(crate) fn hazard_mode(self) -> usize {
        match self.0 >> HAZARD_SHIFT & 3 {
            0 => 2,
            mode => mode,
        }
    }

    /// `MTLHazardTrackingMode` as it was given.
    pub(crate) fn given_hazard_mode(self) -> usize {
        self.0 >> HAZARD_SHIFT & 3
    }

    /// How such a buffer is made; `None` for a mode that buffers cannot have.
    pub(crate) fn placement(self) -> Option<memory::ResourceOptions> {
        let (request, host) = match self.storage_mode() {
            0 => (ModeRequest::Shared, AccessFrequency::Often),
            MANAGED => (ModeRequest::Managed, AccessFrequency::Often),
            PRIVATE => (ModeRequest::Private, AccessFrequency::Never),
            MEMORYLESS.. => return None,
        };
        let usage = BufferUsage::new(host, AccessFrequency::Often);
        Some(memory::ResourceOptions::new().placed(usage, request))
    }
}
