//! `NSSet`, as far as it is made and read.

use objc2::rc::{Allocated, Retained};
use objc2::runtime::{AnyObject, NSObject, NSZone};
use objc2::{DefinedClass, Message, define_class};

use super::array::NSArray;
use super::fast_enumeration::{self, EnumerationState};
use super::{are_equal, retained_from};

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "NSSet"]
    #[ivars = Vec<Retained<AnyObject>>]
    #[derive(Debug)]
    pub(crate) struct NSSet;

    impl NSSet {
        #[unsafe(method_id(set))]
        fn empty() -> Retained<NSSet> {
            super::object(Vec::new())
        }

        #[unsafe(method_id(init))]
        fn init(this: Allocated<Self>) -> Retained<Self> {
            super::initialized(this, Vec::new())
        }

        #[unsafe(method_id(initWithObjects:count:))]
        fn init_objects(this: Allocated<Self>, objects: *mut *mut AnyObject, count: usize) -> Retained<Self> {
            // SAFETY: the sender promises so many objects.
            let objects = unsafe { retained_from(objects, count) };
            super::initialized(this, distinct(objects))
        }

        #[unsafe(method_id(setWithArray:))]
        fn with_array(array: &NSArray) -> Retained<NSSet> {
            super::object(distinct(array.elements()))
        }

        #[unsafe(method(count))]
        fn count(&self) -> usize {
            self.ivars().len()
        }

        #[unsafe(method_id(allObjects))]
        fn all_objects(&self) -> Retained<NSArray> {
            NSArray::of(self.ivars().clone())
        }

        #[unsafe(method_id(anyObject))]
        fn any_object(&self) -> Option<Retained<AnyObject>> {
            self.ivars().first().cloned()
        }

        #[unsafe(method(containsObject:))]
        fn contains(&self, object: &AnyObject) -> bool {
            self.ivars().iter().any(|element| are_equal(element, object))
        }

        #[unsafe(method(countByEnumeratingWithState:objects:count:))]
        fn enumerate(&self, state: &mut EnumerationState, out: *mut *mut AnyObject, room: usize) -> usize {
            // SAFETY: the sender promises the room, and the set holds its elements.
            unsafe { fast_enumeration::next(self.ivars(), state, out, room) }
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSSet> {
            self.retain()
        }
    }
);

fn distinct(objects: Vec<Retained<AnyObject>>) -> Vec<Retained<AnyObject>> {
    let mut distinct: Vec<Retained<AnyObject>> = Vec::new();
    for object in objects {
        if !distinct.iter().any(|known| are_equal(known, &object)) {
            distinct.push(object);
        }
    }
    distinct
}
