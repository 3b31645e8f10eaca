//! `NSSet`, as far as it is made and read.

use objc2::Message;
use objc2::rc::{Allocated, Retained};
use objc2::runtime::{AnyObject, NSObject, NSZone};

use super::are_equal;
use super::array::NSArray;
use super::fast_enumeration::{self, EnumerationState};
use crate::arguments::{List, Out};

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
        fn init_objects(this: Allocated<Self>, objects: List<&AnyObject>, count: usize) -> Retained<Self> {
            super::initialized(this, distinct(objects.retained(count)))
        }

        #[unsafe(method_id(setWithArray:))]
        fn with_array(array: Option<&NSArray>) -> Retained<NSSet> {
            super::object(distinct(array.map(NSArray::elements).unwrap_or_default()))
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
        fn contains(&self, object: Option<&AnyObject>) -> bool {
            object.is_some_and(|object| self.ivars().iter().any(|element| are_equal(element, object)))
        }

        #[unsafe(method(countByEnumeratingWithState:objects:count:))]
        fn enumerate(&self, state: &mut EnumerationState, out: Out<*mut AnyObject>, room: usize) -> usize {
            fast_enumeration::next(self.ivars(), state, &out, room)
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
