//! `NSArray` and `NSMutableArray`.

use std::sync::{PoisonError, RwLock};

use objc2::rc::{Allocated, Retained};
use objc2::runtime::{AnyObject, NSObject, NSZone};
use objc2::{AnyThread, Message, msg_send};

use super::are_equal;
use super::fast_enumeration::{self, EnumerationState};
use super::range::Range;
use crate::arguments::{List, Out};
use crate::runtime::raise_range;

/// `NSNotFound`.
const NOT_FOUND: usize = isize::MAX as usize;

/// The instance variables of an array.
#[derive(Debug, Default)]
pub(crate) struct ArrayIvars {
    /// Changed only in mutable arrays.
    elements: RwLock<Vec<Retained<AnyObject>>>,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "NSArray"]
    #[ivars = ArrayIvars]
    #[derive(Debug)]
    pub(crate) struct NSArray;

    impl NSArray {
        #[unsafe(method_id(array))]
        fn empty() -> Retained<NSArray> {
            NSArray::of(Vec::new())
        }

        #[unsafe(method_id(init))]
        fn init(this: Allocated<Self>) -> Retained<Self> {
            super::initialized(this, ArrayIvars::default())
        }

        #[unsafe(method_id(initWithObjects:count:))]
        fn init_objects(this: Allocated<Self>, objects: List<&AnyObject>, count: usize) -> Retained<Self> {
            let elements = objects.retained(count);
            super::initialized(this, ArrayIvars { elements: RwLock::new(elements) })
        }

        #[unsafe(method_id(initWithArray:))]
        fn init_array(this: Allocated<Self>, array: Option<&NSArray>) -> Retained<Self> {
            let elements = array.map(NSArray::elements).unwrap_or_default();
            super::initialized(this, ArrayIvars { elements: RwLock::new(elements) })
        }

        #[unsafe(method_id(arrayWithObject:))]
        fn with_object(object: &AnyObject) -> Retained<NSArray> {
            NSArray::of(vec![object.retain()])
        }

        #[unsafe(method_id(arrayWithObjects:count:))]
        fn with_objects(objects: List<&AnyObject>, count: usize) -> Retained<NSArray> {
            NSArray::of(objects.retained(count))
        }

        #[unsafe(method_id(arrayWithArray:))]
        fn with_array(array: Option<&NSArray>) -> Retained<NSArray> {
            NSArray::of(array.map(NSArray::elements).unwrap_or_default())
        }

        #[unsafe(method(count))]
        fn count(&self) -> usize {
            self.read(Vec::len)
        }

        #[unsafe(method_id(objectAtIndex:))]
        fn object_at(&self, index: usize) -> Retained<AnyObject> {
            self.element(index)
        }

        #[unsafe(method_id(objectAtIndexedSubscript:))]
        fn object_at_subscript(&self, index: usize) -> Retained<AnyObject> {
            self.element(index)
        }

        #[unsafe(method_id(firstObject))]
        fn first(&self) -> Option<Retained<AnyObject>> {
            self.read(|elements| elements.first().cloned())
        }

        #[unsafe(method_id(lastObject))]
        fn last(&self) -> Option<Retained<AnyObject>> {
            self.read(|elements| elements.last().cloned())
        }

        #[unsafe(method(containsObject:))]
        fn contains(&self, object: Option<&AnyObject>) -> bool {
            object.is_some_and(|object| self.elements().iter().any(|element| are_equal(element, object)))
        }

        #[unsafe(method(indexOfObject:))]
        fn index_of(&self, object: Option<&AnyObject>) -> usize {
            let at = object.and_then(|object| self.elements().iter().position(|element| are_equal(element, object)));
            at.unwrap_or(NOT_FOUND)
        }

        #[unsafe(method(getObjects:))]
        fn get_objects(&self, out: Out<*mut AnyObject>) {
            let all = Range { location: 0, length: self.read(Vec::len) };
            self.get(&out, all);
        }

        #[unsafe(method(getObjects:range:))]
        fn get_objects_range(&self, out: Out<*mut AnyObject>, range: Range) {
            self.get(&out, range);
        }

        #[unsafe(method(countByEnumeratingWithState:objects:count:))]
        fn enumerate(&self, state: &mut EnumerationState, out: Out<*mut AnyObject>, room: usize) -> usize {
            self.read(|elements| fast_enumeration::next(elements, state, &out, room))
        }

        #[unsafe(method_id(arrayByAddingObject:))]
        fn adding(&self, object: &AnyObject) -> Retained<NSArray> {
            let mut elements = self.elements();
            elements.push(object.retain());
            NSArray::of(elements)
        }

        #[unsafe(method(isEqual:))]
        fn is_equal(&self, other: Option<&AnyObject>) -> bool {
            other.and_then(|other| other.downcast_ref::<NSArray>()).is_some_and(|other| self.is_equal_to(other))
        }

        #[unsafe(method(hash))]
        fn hash(&self) -> usize {
            self.read(Vec::len)
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSArray> {
            self.retain()
        }

        #[unsafe(method_id(mutableCopyWithZone:))]
        fn mutable_copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSMutableArray> {
            NSMutableArray::of(self.elements())
        }
    }
);

impl NSArray {
    /// An array of those objects.
    pub(crate) fn of(elements: Vec<Retained<AnyObject>>) -> Retained<NSArray> {
        super::object(ArrayIvars { elements: RwLock::new(elements) })
    }

    /// Its objects now.
    pub(crate) fn elements(&self) -> Vec<Retained<AnyObject>> {
        self.read(Clone::clone)
    }

    fn is_equal_to(&self, other: &NSArray) -> bool {
        let (own, others) = (self.elements(), other.elements());
        own.len() == others.len() && own.iter().zip(&others).all(|(own, other)| are_equal(own, other))
    }

    fn read<R>(&self, read: impl FnOnce(&Vec<Retained<AnyObject>>) -> R) -> R {
        read(&self.ivars().elements.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change<R>(&self, change: impl FnOnce(&mut Vec<Retained<AnyObject>>) -> R) -> R {
        change(&mut self.ivars().elements.write().unwrap_or_else(PoisonError::into_inner))
    }

    fn element(&self, index: usize) -> Retained<AnyObject> {
        self.read(|elements| elements.get(index).cloned()).unwrap_or_else(|| self.refuse(index))
    }

    fn refuse(&self, index: usize) -> ! {
        let count = self.read(Vec::len);
        raise_range(&format!("-[NSArray objectAtIndex:]: index {index} is beyond an array of {count}"))
    }

    fn get(&self, out: &Out<*mut AnyObject>, range: Range) {
        let elements = self.elements();
        let Some(range) = range.within(elements.len()) else {
            self.refuse(range.location.saturating_add(range.length))
        };
        out.set_all(elements[range].iter().map(|element| Retained::as_ptr(element).cast_mut()));
    }
}

define_class!(
    // SAFETY: `NSArray`'s elements may change.
    #[unsafe(super(NSArray))]
    #[name = "NSMutableArray"]
    #[ivars = ()]
    #[derive(Debug)]
    pub(crate) struct NSMutableArray;

    impl NSMutableArray {
        #[unsafe(method_id(array))]
        fn empty() -> Retained<NSMutableArray> {
            NSMutableArray::of(Vec::new())
        }

        #[unsafe(method_id(arrayWithCapacity:))]
        fn with_capacity(_capacity: usize) -> Retained<NSMutableArray> {
            NSMutableArray::of(Vec::new())
        }

        #[unsafe(method_id(init))]
        fn init(this: Allocated<Self>) -> Retained<Self> {
            let partial = this.set_ivars(());
            // SAFETY: `init` takes nothing and gives its receiver.
            unsafe { msg_send![super(partial), init] }
        }

        #[unsafe(method_id(initWithCapacity:))]
        fn init_capacity(this: Allocated<Self>, _capacity: usize) -> Retained<Self> {
            let partial = this.set_ivars(());
            // SAFETY: `init` takes nothing and gives its receiver.
            unsafe { msg_send![super(partial), init] }
        }

        #[unsafe(method_id(initWithObjects:count:))]
        fn init_objects(this: Allocated<Self>, objects: List<&AnyObject>, count: usize) -> Retained<Self> {
            let elements = objects.retained(count);
            let partial = this.set_ivars(());
            // SAFETY: `init` takes nothing and gives its receiver.
            let array: Retained<Self> = unsafe { msg_send![super(partial), init] };
            array.change(|own| *own = elements);
            array
        }

        #[unsafe(method(addObject:))]
        fn add(&self, object: &AnyObject) {
            self.change(|elements| elements.push(object.retain()));
        }

        #[unsafe(method(addObjectsFromArray:))]
        fn add_all(&self, array: Option<&NSArray>) {
            let more = array.map(NSArray::elements).unwrap_or_default();
            self.change(|elements| elements.extend(more));
        }

        #[unsafe(method(insertObject:atIndex:))]
        fn insert(&self, object: &AnyObject, index: usize) {
            let done = self.change(|elements| {
                let fits = index <= elements.len();
                if fits {
                    elements.insert(index, object.retain());
                }
                fits
            });
            if !done {
                self.refuse(index);
            }
        }

        #[unsafe(method(replaceObjectAtIndex:withObject:))]
        fn replace(&self, index: usize, object: &AnyObject) {
            self.put(index, object);
        }

        #[unsafe(method(setObject:atIndexedSubscript:))]
        fn set(&self, object: &AnyObject, index: usize) {
            self.put(index, object);
        }

        #[unsafe(method(removeObjectAtIndex:))]
        fn remove_at(&self, index: usize) {
            let removed = self.change(|elements| (index < elements.len()).then(|| elements.remove(index)));
            if removed.is_none() {
                self.refuse(index);
            }
        }

        #[unsafe(method(removeLastObject))]
        fn remove_last(&self) {
            if self.change(Vec::pop).is_none() {
                self.refuse(0);
            }
        }

        #[unsafe(method(removeObject:))]
        fn remove(&self, object: Option<&AnyObject>) {
            // Apple's arrays ignore nil here, too: they contain none.
            let Some(object) = object else { return };
            let kept = self.elements().into_iter().filter(|element| !are_equal(element, object)).collect();
            let _removed = self.change(|elements| std::mem::replace(elements, kept));
        }

        #[unsafe(method(removeAllObjects))]
        fn remove_all(&self) {
            let _removed = self.change(std::mem::take);
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSArray> {
            NSArray::of(self.elements())
        }
    }
);

impl NSMutableArray {
    /// A mutable array of those objects.
    pub(crate) fn of(elements: Vec<Retained<AnyObject>>) -> Retained<NSMutableArray> {
        let partial = NSMutableArray::alloc().set_ivars(());
        // SAFETY: `init` takes nothing and gives its receiver.
        let array: Retained<NSMutableArray> = unsafe { msg_send![super(partial), init] };
        array.change(|own| *own = elements);
        array
    }

    fn put(&self, index: usize, object: &AnyObject) {
        let before = self.change(|elements| {
            let place = elements.get_mut(index)?;
            Some(std::mem::replace(place, object.retain()))
        });
        if before.is_none() {
            self.refuse(index);
        }
    }
}
