//! The residency set: memory that stays resident for all queues of a device.
//!
//! Owns [`Residency`]. Without it Metal makes each command buffer's memory resident by itself, at a cost for
//! each. Systems before macOS 15 and iOS 18 have no such sets, and work as well.

use std::sync::{Mutex, PoisonError};

use objc2::runtime::ProtocolObject;
use objc2::sel;
use objc2_foundation::NSString;
use objc2_metal::{MTLAllocation, MTLCommandQueue, MTLDevice, MTLResidencySet, MTLResidencySetDescriptor};

use crate::object::{Shared, has};

/// Smaller allocations are left out: each change of the set costs more than it saves for them.
pub(crate) const MIN_BYTES: u64 = 1 << 20;

/// A set to which all large allocations belong.
pub(crate) struct Residency {
    /// Its methods are called by one thread at a time.
    set: Mutex<Shared<dyn MTLResidencySet>>,
}

impl Residency {
    /// The set of a device; none where the system has none.
    pub(crate) fn of(device: &ProtocolObject<dyn MTLDevice>) -> Option<Residency> {
        if !has(device, sel!(newResidencySetWithDescriptor:error:)) {
            return None;
        }
        let descriptor = MTLResidencySetDescriptor::new();
        descriptor.setLabel(Some(&NSString::from_str("anymetal")));
        let set = device.newResidencySetWithDescriptor_error(&descriptor).ok()?;
        set.requestResidency();
        Some(Residency { set: Mutex::new(Shared(set)) })
    }

    fn with(&self, change: impl FnOnce(&ProtocolObject<dyn MTLResidencySet>)) {
        let set = self.set.lock().unwrap_or_else(PoisonError::into_inner);
        change(&set);
    }

    /// Has the set hold for a queue.
    pub(crate) fn add_to(&self, queue: &ProtocolObject<dyn MTLCommandQueue>) {
        self.with(|set| queue.addResidencySet(set));
    }

    /// Takes memory in.
    pub(crate) fn add(&self, allocation: &ProtocolObject<dyn MTLAllocation>) {
        self.with(|set| {
            set.addAllocation(allocation);
            set.commit();
        });
    }

    /// Lets memory go.
    pub(crate) fn remove(&self, allocation: &ProtocolObject<dyn MTLAllocation>) {
        self.with(|set| {
            set.removeAllocation(allocation);
            set.commit();
        });
    }

    /// How many allocations it has.
    pub(crate) fn count(&self) -> usize {
        let mut count = 0;
        self.with(|set| count = set.allocationCount());
        count
    }
}
