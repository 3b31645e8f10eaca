//! Fences: the order of commands within one queue, in Metal's words.

use std::sync::Arc;

use anymetal_hal::fence::Fence as HalFence;

use crate::device::Device;
use crate::error::Error;

/// Orders commands of one queue: an encoder updates it ([`crate::ComputeEncoder::update_fence`]), a later one
/// waits for it. It belongs to the first queue that uses it; another's use is refused at the commit. Across
/// queues, use an [`crate::Event`]. Clones are the same fence.
///
/// A queue here runs its commands in order anyway, so fences are for programs that are written with them.
#[derive(Debug, Clone)]
pub struct Fence {
    inner: Arc<dyn HalFence>,
}

impl Device {
    /// A fence that no queue has used.
    pub fn fence(&self) -> Result<Fence, Error> {
        Ok(Fence { inner: self.hal().fence()? })
    }
}

impl Fence {
    pub(crate) fn inner(&self) -> &Arc<dyn HalFence> {
        &self.inner
    }
}
