//! `MTLResidencySet`. All memory of a device is resident, so a set only knows what is in it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};
use objc2::{DefinedClass, Message, define_class, msg_send};

use super::device::Device;
use crate::foundation::{NSArray, NSString, retained_from};

/// The instance variables of a set.
#[derive(Debug)]
pub(crate) struct ResidencyIvars {
    pub(crate) device: Retained<Device>,
    pub(crate) label: Option<Retained<NSString>>,
    pub(crate) allocations: Mutex<Vec<Retained<AnyObject>>>,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalResidencySet"]
    #[ivars = ResidencyIvars]
    #[derive(Debug)]
    pub(crate) struct ResidencySet;

    impl ResidencySet {
        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.clone()
        }

        #[unsafe(method(requestResidency))]
        fn request(&self) {}

        #[unsafe(method(endResidency))]
        fn end(&self) {}

        #[unsafe(method(commit))]
        fn commit(&self) {}

        #[unsafe(method(addAllocation:))]
        fn add(&self, allocation: &AnyObject) {
            self.insert(allocation.retain());
        }

        #[unsafe(method(addAllocations:count:))]
        fn add_all(&self, allocations: *const *mut AnyObject, count: usize) {
            // SAFETY: the sender promises so many objects.
            unsafe { retained_from(allocations, count) }.into_iter().for_each(|new| self.insert(new));
        }

        #[unsafe(method(removeAllocation:))]
        fn remove(&self, allocation: &AnyObject) {
            self.take(allocation);
        }

        #[unsafe(method(removeAllocations:count:))]
        fn remove_some(&self, allocations: *const *mut AnyObject, count: usize) {
            // SAFETY: the sender promises so many objects.
            unsafe { retained_from(allocations, count) }.iter().for_each(|old| self.take(old));
        }

        #[unsafe(method(removeAllAllocations))]
        fn remove_all(&self) {
            let removed = std::mem::take(&mut *self.allocations());
            drop(removed);
        }

        #[unsafe(method(containsAllocation:))]
        fn contains(&self, allocation: &AnyObject) -> bool {
            self.allocations().iter().any(|known| std::ptr::eq(&**known, allocation))
        }

        #[unsafe(method_id(allAllocations))]
        fn all(&self) -> Retained<NSArray> {
            NSArray::of(self.allocations().clone())
        }

        #[unsafe(method(allocationCount))]
        fn count(&self) -> usize {
            self.allocations().len()
        }

        #[unsafe(method(allocatedSize))]
        fn allocated_size(&self) -> u64 {
            let allocations = self.allocations().clone();
            allocations.iter().map(|known| allocated_size_of(known)).sum()
        }
    }
);

fn allocated_size_of(allocation: &AnyObject) -> u64 {
    // SAFETY: every allocation answers `allocatedSize`.
    let bytes: usize = unsafe { msg_send![allocation, allocatedSize] };
    bytes as u64
}

impl ResidencySet {
    fn allocations(&self) -> MutexGuard<'_, Vec<Retained<AnyObject>>> {
        self.ivars().allocations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn insert(&self, allocation: Retained<AnyObject>) {
        let mut allocations = self.allocations();
        if !allocations.iter().any(|known| std::ptr::eq(&**known, &*allocation)) {
            allocations.push(allocation);
        }
    }

    fn take(&self, allocation: &AnyObject) {
        let removed = {
            let mut allocations = self.allocations();
            let found = allocations.iter().position(|known| std::ptr::eq(&**known, allocation));
            found.map(|at| allocations.swap_remove(at))
        };
        // Outside the lock: it may be the last reference.
        drop(removed);
    }
}
