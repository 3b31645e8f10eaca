//! Fences.
//!
//! Owns [`AppleFence`]. Buffers are tracked, so the order of a queue's commands holds without fences; they
//! are passed on because the program knows best what waits for what.

use std::any::Any;
use std::fmt;
use std::num::NonZero;
use std::sync::Arc;

use anymetal_hal::error::DeviceError;
use anymetal_hal::fence::{Fence, HostFence};
use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::ProtocolObject;
use objc2_metal::{MTLDevice, MTLFence};

use crate::device::DeviceShared;
use crate::error;

/// A fence of Metal's, and the queue that uses it.
pub(crate) struct AppleFence {
    pub(crate) fence: Retained<ProtocolObject<dyn MTLFence>>,
    owner: HostFence,
    device: Arc<DeviceShared>,
}

impl AppleFence {
    pub(crate) fn new(device: &Arc<DeviceShared>) -> Result<Self, DeviceError> {
        let made = autoreleasepool(|_| device.device.newFence());
        let fence = made.ok_or_else(|| error::none(&device.name, "fence"))?;
        Ok(AppleFence { fence, owner: HostFence::default(), device: Arc::clone(device) })
    }

    /// Notes a use by a queue; says whether the fence is that queue's.
    pub(crate) fn bind_queue(&self, queue: NonZero<usize>) -> bool {
        self.owner.bind_queue(queue)
    }

    pub(crate) fn belongs_to(&self, device: &Arc<DeviceShared>) -> bool {
        Arc::ptr_eq(&self.device, device)
    }
}

impl Fence for AppleFence {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for AppleFence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AppleFence").finish_non_exhaustive()
    }
}
