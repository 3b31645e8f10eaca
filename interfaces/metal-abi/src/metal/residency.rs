//! `MTLResidencySet`, and what of an object kernels reach through addresses in memory.
//!
//! Owns [`ResidencySet`] and [`regions_of`]. Invariant: what was added or removed counts from the set's next
//! `commit` on.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anymetal::BufferSlice;
use anymetal::command::ResourceUsage;
use objc2::encode::{Encoding, RefEncode};
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};
use objc2::{Message, msg_send};

use super::buffer::Buffer;
use super::device::Device;
use super::functions::Table;
use super::heap::Heap;
use super::indirect::IndirectBuffer;
use super::texture::Texture;
use crate::arguments::{Instance, List, Referent, Site, class_name};
use crate::foundation::{NSArray, NSString};

/// The instance variables of a set.
#[derive(Debug)]
pub(crate) struct ResidencyIvars {
    pub(crate) device: Retained<Device>,
    pub(crate) label: Option<Retained<NSString>>,
    pub(crate) allocations: Mutex<Vec<Retained<AnyObject>>>,
    /// The allocations at the last commit.
    pub(crate) committed: Mutex<Vec<Retained<AnyObject>>>,
}

/// The memory that kernels reach when the resource or heap is resident.
pub(crate) fn regions_of(object: &AnyObject) -> Vec<BufferSlice> {
    if let Some(table) = object.downcast_ref::<Table>() {
        return vec![table.ivars().buffer.region()];
    }
    if let Some(buffer) = object.downcast_ref::<Buffer>() {
        return vec![buffer.region()];
    }
    if let Some(texture) = object.downcast_ref::<Texture>() {
        return texture.ivars().seen.resources();
    }
    object.downcast_ref::<Heap>().map(|heap| heap.ivars().block.buffers()).unwrap_or_default()
}

/// Makes what those objects have reachable for the command buffer.
pub(crate) fn use_all(
    commands: &mut anymetal::CommandBuffer,
    objects: impl IntoIterator<Item = Retained<AnyObject>>,
    usage: ResourceUsage,
) {
    for object in objects {
        commands.use_resources(regions_of(&object), usage);
    }
}

/// `MTLResourceUsage`: read 1, write 2; the deprecated sampling is reading.
pub(crate) fn usage_of(usage: usize) -> ResourceUsage {
    match (usage & 5 != 0, usage & 2 != 0) {
        (true, true) => ResourceUsage::ReadWrite,
        (false, true) => ResourceUsage::Write,
        (_, false) => ResourceUsage::Read,
    }
}

/// An `MTLAllocation`: a buffer, a texture, a heap, a function table or an indirect command buffer.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct Allocation(AnyObject);

// SAFETY: it stands for an object.
unsafe impl RefEncode for Allocation {
    const ENCODING_REF: Encoding = Encoding::Object;
}

// SAFETY: as above.
unsafe impl Message for Allocation {}

// SAFETY: the object is valid, and its class is checked.
unsafe impl Referent for Allocation {
    type Pointee = Allocation;

    unsafe fn at<'a>(address: *const Allocation, site: &Site) -> &'a Allocation {
        // SAFETY: as promised, it is an object.
        let object = unsafe { &*address.cast::<AnyObject>() };
        let is_allocation = Buffer::is_class_of(object)
            || Texture::is_class_of(object)
            || Heap::is_class_of(object)
            || Table::is_class_of(object)
            || IndirectBuffer::is_class_of(object);
        if !is_allocation {
            site.refuse(format_args!("is an instance of {}, not an allocation", class_name(object)));
        }
        // SAFETY: as promised.
        unsafe { &*address }
    }
}

impl Allocation {
    /// A reference to it as any object.
    pub(crate) fn object(&self) -> Retained<AnyObject> {
        self.0.retain()
    }
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
        fn commit(&self) {
            let now = self.allocations().clone();
            let before = std::mem::replace(&mut *self.lock_committed(), now);
            // Outside the lock: they may be the last references.
            drop(before);
        }

        #[unsafe(method(addAllocation:))]
        fn add(&self, allocation: &Allocation) {
            self.insert(allocation.object());
        }

        #[unsafe(method(addAllocations:count:))]
        fn add_all(&self, allocations: List<&Allocation>, count: usize) {
            let new: Vec<_> = allocations.read(count).map(Allocation::object).collect();
            new.into_iter().for_each(|new| self.insert(new));
        }

        #[unsafe(method(removeAllocation:))]
        fn remove(&self, allocation: &Allocation) {
            self.take(&allocation.0);
        }

        #[unsafe(method(removeAllocations:count:))]
        fn remove_some(&self, allocations: List<&Allocation>, count: usize) {
            allocations.read(count).for_each(|old| self.take(&old.0));
        }

        #[unsafe(method(removeAllAllocations))]
        fn remove_all(&self) {
            let removed = std::mem::take(&mut *self.allocations());
            drop(removed);
        }

        #[unsafe(method(containsAllocation:))]
        fn contains(&self, allocation: &Allocation) -> bool {
            self.allocations().iter().any(|known| std::ptr::eq(&**known, &allocation.0))
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
    /// What it makes resident.
    pub(crate) fn committed(&self) -> Vec<Retained<AnyObject>> {
        self.lock_committed().clone()
    }

    fn lock_committed(&self) -> MutexGuard<'_, Vec<Retained<AnyObject>>> {
        self.ivars().committed.lock().unwrap_or_else(PoisonError::into_inner)
    }

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
