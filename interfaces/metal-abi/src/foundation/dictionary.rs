//! `NSDictionary` and `NSMutableDictionary`.
//!
//! Keys keep the order in which they came, so that what is listed does not depend on addresses.

use std::sync::{PoisonError, RwLock};

use objc2::rc::{Allocated, Retained};
use objc2::runtime::{AnyObject, NSObject, NSZone};
use objc2::{AnyThread, Message, msg_send};

use super::array::NSArray;
use super::fast_enumeration::{self, EnumerationState};
use super::{are_equal, copied};
use crate::arguments::{List, Out};

type Object = Retained<AnyObject>;

/// The instance variables of a dictionary: keys and values at the same places.
#[derive(Debug, Default)]
pub(crate) struct DictionaryIvars {
    /// Changed only in mutable dictionaries.
    entries: RwLock<Entries>,
}

/// Keys and values at the same places.
#[derive(Debug, Default, Clone)]
pub(crate) struct Entries {
    keys: Vec<Object>,
    values: Vec<Object>,
}

impl Entries {
    fn find(&self, key: &AnyObject) -> Option<usize> {
        self.keys.iter().position(|known| are_equal(known, key))
    }

    /// Puts a value at a key, which is copied; gives the value before.
    fn put(&mut self, key: &AnyObject, value: Object) -> Option<Object> {
        match self.find(key) {
            Some(at) => Some(std::mem::replace(&mut self.values[at], value)),
            None => {
                self.keys.push(copied(key));
                self.values.push(value);
                None
            }
        }
    }

    fn remove(&mut self, key: &AnyObject) -> Option<(Object, Object)> {
        let at = self.find(key)?;
        Some((self.keys.remove(at), self.values.remove(at)))
    }
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "NSDictionary"]
    #[ivars = DictionaryIvars]
    #[derive(Debug)]
    pub(crate) struct NSDictionary;

    impl NSDictionary {
        #[unsafe(method_id(dictionary))]
        fn empty() -> Retained<NSDictionary> {
            NSDictionary::of(Entries::default())
        }

        #[unsafe(method_id(init))]
        fn init(this: Allocated<Self>) -> Retained<Self> {
            super::initialized(this, DictionaryIvars::default())
        }

        #[unsafe(method_id(initWithObjects:forKeys:count:))]
        fn init_objects(this: Allocated<Self>, objects: List<&AnyObject>, keys: List<&AnyObject>, count: usize) -> Retained<Self> {
            let entries = entries_from(&objects, &keys, count);
            super::initialized(this, DictionaryIvars { entries: RwLock::new(entries) })
        }

        #[unsafe(method_id(dictionaryWithObjects:forKeys:count:))]
        fn with_objects(objects: List<&AnyObject>, keys: List<&AnyObject>, count: usize) -> Retained<NSDictionary> {
            NSDictionary::of(entries_from(&objects, &keys, count))
        }

        #[unsafe(method_id(dictionaryWithObject:forKey:))]
        fn with_object(object: &AnyObject, key: &AnyObject) -> Retained<NSDictionary> {
            let mut entries = Entries::default();
            entries.put(key, object.retain());
            NSDictionary::of(entries)
        }

        #[unsafe(method(count))]
        fn count(&self) -> usize {
            self.entries().keys.len()
        }

        #[unsafe(method_id(objectForKey:))]
        fn object_for(&self, key: Option<&AnyObject>) -> Option<Object> {
            key.and_then(|key| self.value(key))
        }

        #[unsafe(method_id(objectForKeyedSubscript:))]
        fn object_for_subscript(&self, key: Option<&AnyObject>) -> Option<Object> {
            key.and_then(|key| self.value(key))
        }

        #[unsafe(method_id(allKeys))]
        fn all_keys(&self) -> Retained<NSArray> {
            NSArray::of(self.entries().keys)
        }

        #[unsafe(method_id(allValues))]
        fn all_values(&self) -> Retained<NSArray> {
            NSArray::of(self.entries().values)
        }

        #[unsafe(method(getObjects:andKeys:count:))]
        fn get(&self, objects: Out<*mut AnyObject>, keys: Out<*mut AnyObject>, count: usize) {
            let entries = self.entries();
            let count = count.min(entries.keys.len());
            for (out, from) in [(objects, &entries.values), (keys, &entries.keys)] {
                out.set_all_if_wanted(from[..count].iter().map(|object| Retained::as_ptr(object).cast_mut()));
            }
        }

        #[unsafe(method(countByEnumeratingWithState:objects:count:))]
        fn enumerate(&self, state: &mut EnumerationState, out: Out<*mut AnyObject>, room: usize) -> usize {
            let entries = self.ivars().entries.read().unwrap_or_else(PoisonError::into_inner);
            fast_enumeration::next(&entries.keys, state, &out, room)
        }

        #[unsafe(method(isEqual:))]
        fn is_equal(&self, other: Option<&AnyObject>) -> bool {
            let other = other.and_then(|other| other.downcast_ref::<NSDictionary>());
            other.is_some_and(|other| self.is_equal_to(other))
        }

        #[unsafe(method(hash))]
        fn hash(&self) -> usize {
            self.entries().keys.len()
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSDictionary> {
            self.retain()
        }

        #[unsafe(method_id(mutableCopyWithZone:))]
        fn mutable_copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSMutableDictionary> {
            NSMutableDictionary::of(self.entries())
        }
    }
);

impl NSDictionary {
    fn of(entries: Entries) -> Retained<NSDictionary> {
        super::object(DictionaryIvars { entries: RwLock::new(entries) })
    }

    /// A dictionary of those entries.
    pub(crate) fn of_pairs(pairs: impl IntoIterator<Item = (Object, Object)>) -> Retained<NSDictionary> {
        let mut entries = Entries::default();
        for (key, value) in pairs {
            entries.put(&key, value);
        }
        NSDictionary::of(entries)
    }

    /// The value at a key.
    pub(crate) fn value(&self, key: &AnyObject) -> Option<Object> {
        let entries = self.entries();
        entries.find(key).map(|at| entries.values[at].clone())
    }

    /// Keys and values in their order.
    pub(crate) fn pairs(&self) -> Vec<(Object, Object)> {
        let Entries { keys, values } = self.entries();
        keys.into_iter().zip(values).collect()
    }

    fn is_equal_to(&self, other: &NSDictionary) -> bool {
        let (own, others) = (self.entries(), other.entries());
        let same = |(key, value): (&Object, &Object)| {
            others.find(key).is_some_and(|at| are_equal(value, &others.values[at]))
        };
        own.keys.len() == others.keys.len() && own.keys.iter().zip(&own.values).all(same)
    }

    fn entries(&self) -> Entries {
        self.ivars().entries.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change<R>(&self, change: impl FnOnce(&mut Entries) -> R) -> R {
        change(&mut self.ivars().entries.write().unwrap_or_else(PoisonError::into_inner))
    }
}

define_class!(
    // SAFETY: `NSDictionary`'s entries may change.
    #[unsafe(super(NSDictionary))]
    #[name = "NSMutableDictionary"]
    #[ivars = ()]
    #[derive(Debug)]
    pub(crate) struct NSMutableDictionary;

    impl NSMutableDictionary {
        #[unsafe(method_id(dictionary))]
        fn empty() -> Retained<NSMutableDictionary> {
            NSMutableDictionary::of(Entries::default())
        }

        #[unsafe(method_id(dictionaryWithCapacity:))]
        fn with_capacity(_capacity: usize) -> Retained<NSMutableDictionary> {
            NSMutableDictionary::of(Entries::default())
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

        #[unsafe(method_id(initWithObjects:forKeys:count:))]
        fn init_objects(this: Allocated<Self>, objects: List<&AnyObject>, keys: List<&AnyObject>, count: usize) -> Retained<Self> {
            let entries = entries_from(&objects, &keys, count);
            let partial = this.set_ivars(());
            // SAFETY: `init` takes nothing and gives its receiver.
            let dictionary: Retained<Self> = unsafe { msg_send![super(partial), init] };
            dictionary.change(|own| *own = entries);
            dictionary
        }

        #[unsafe(method(setObject:forKey:))]
        fn set_for_key(&self, object: &AnyObject, key: &AnyObject) {
            let _before = self.change(|entries| entries.put(key, object.retain()));
        }

        #[unsafe(method(setObject:forKeyedSubscript:))]
        fn set_for_subscript(&self, object: Option<&AnyObject>, key: &AnyObject) {
            match object {
                Some(object) => drop(self.change(|entries| entries.put(key, object.retain()))),
                None => drop(self.change(|entries| entries.remove(key))),
            }
        }

        #[unsafe(method(removeObjectForKey:))]
        fn remove(&self, key: &AnyObject) {
            let _removed = self.change(|entries| entries.remove(key));
        }

        #[unsafe(method(removeAllObjects))]
        fn remove_all(&self) {
            let _removed = self.change(std::mem::take);
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSDictionary> {
            NSDictionary::of(self.entries())
        }
    }
);

impl NSMutableDictionary {
    fn of(entries: Entries) -> Retained<NSMutableDictionary> {
        let partial = NSMutableDictionary::alloc().set_ivars(());
        // SAFETY: `init` takes nothing and gives its receiver.
        let dictionary: Retained<NSMutableDictionary> = unsafe { msg_send![super(partial), init] };
        dictionary.change(|own| *own = entries);
        dictionary
    }
}

fn entries_from(objects: &List<&AnyObject>, keys: &List<&AnyObject>, count: usize) -> Entries {
    let mut entries = Entries::default();
    for (key, value) in keys.read(count).zip(objects.read(count)) {
        entries.put(key, value.retain());
    }
    entries
}
