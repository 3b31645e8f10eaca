//! `NSMutableSet`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use objc2::rc::{Allocated, Retained};
use objc2::runtime::{AnyObject, NSObject, NSZone};
use objc2::{AnyThread, Message, msg_send};

use super::are_equal;
use super::array::NSArray;
use super::fast_enumeration::{self, EnumerationState};
use super::set::NSSet;
use crate::arguments::Out;

define_class!(
    // SAFETY: everything that reads the elements of an `NSSet` is overridden here.
    #[unsafe(super(NSSet, NSObject))]
    #[name = "NSMutableSet"]
    #[ivars = Mutex<Vec<Retained<AnyObject>>>]
    #[derive(Debug)]
    pub(crate) struct NSMutableSet;

    impl NSMutableSet {
        #[unsafe(method_id(set))]
        fn empty() -> Retained<NSMutableSet> {
            NSMutableSet::of(Vec::new())
        }

        #[unsafe(method_id(setWithCapacity:))]
        fn with_capacity(_capacity: usize) -> Retained<NSMutableSet> {
            NSMutableSet::of(Vec::new())
        }

        #[unsafe(method_id(setWithArray:))]
        fn with_array(array: Option<&NSArray>) -> Retained<NSMutableSet> {
            let set = NSMutableSet::of(Vec::new());
            array.map(NSArray::elements).unwrap_or_default().iter().for_each(|element| set.add(element));
            set
        }

        #[unsafe(method_id(init))]
        fn init(this: Allocated<Self>) -> Retained<Self> {
            initialized(this, Vec::new())
        }

        #[unsafe(method(count))]
        fn count(&self) -> usize {
            self.elements().len()
        }

        #[unsafe(method_id(allObjects))]
        fn all_objects(&self) -> Retained<NSArray> {
            NSArray::of(self.elements().clone())
        }

        #[unsafe(method_id(anyObject))]
        fn any_object(&self) -> Option<Retained<AnyObject>> {
            self.elements().first().cloned()
        }

        #[unsafe(method(containsObject:))]
        fn contains(&self, object: Option<&AnyObject>) -> bool {
            object.is_some_and(|object| self.elements().iter().any(|element| are_equal(element, object)))
        }

        #[unsafe(method(addObject:))]
        fn add_object(&self, object: &AnyObject) {
            self.add(object);
        }

        #[unsafe(method(removeObject:))]
        fn remove_object(&self, object: &AnyObject) {
            self.elements().retain(|element| !are_equal(element, object));
        }

        #[unsafe(method(removeAllObjects))]
        fn remove_all_objects(&self) {
            let removed = std::mem::take(&mut *self.elements());
            drop(removed);
        }

        /// A loop goes over the elements as they were at its start, which the pool holds.
        #[unsafe(method(countByEnumeratingWithState:objects:count:))]
        fn enumerate(&self, state: &mut EnumerationState, out: Out<*mut AnyObject>, room: usize) -> usize {
            let fixed = self.elements().clone();
            let given = fast_enumeration::next(&fixed, state, &out, room);
            let _held_by_the_pool = Retained::autorelease_ptr(NSArray::of(fixed));
            given
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSMutableSet> {
            NSMutableSet::of(self.elements().clone())
        }
    }
);

impl NSMutableSet {
    fn of(elements: Vec<Retained<AnyObject>>) -> Retained<NSMutableSet> {
        initialized(NSMutableSet::alloc(), elements)
    }

    fn elements(&self) -> MutexGuard<'_, Vec<Retained<AnyObject>>> {
        self.ivars().lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, object: &AnyObject) {
        let mut elements = self.elements();
        if !elements.iter().any(|element| are_equal(element, object)) {
            elements.push(object.retain());
        }
    }
}

fn initialized(
    allocated: Allocated<NSMutableSet>,
    elements: Vec<Retained<AnyObject>>,
) -> Retained<NSMutableSet> {
    let partial = allocated.set_ivars(Mutex::new(elements));
    // SAFETY: `init` of `NSSet` takes nothing and gives its receiver.
    unsafe { msg_send![super(partial), init] }
}
