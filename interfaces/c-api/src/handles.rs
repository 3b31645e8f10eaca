//! Handles: numbers that stand for the facade's objects in C.
//!
//! Owns [`Handle`] and the tables of live objects. Invariant: a handle is a number and never an
//! address, so that any value that C passes is looked up and none is dereferenced. NULL, a handle that
//! was released, a handle of another type and an arbitrary value are all [`Failure`]s; a handle that
//! another thread releases during a call stays alive until that call ends.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use crate::status::{Failure, run};

/// A handle: C's `anymetal_device *` and the like.
///
/// From the highest bits to the lowest: the number of its type (8 bits, not 0, so that no address of
/// a process equals a handle), how often its slot was used before (24 bits), its slot plus 1 (32 bits).
#[repr(transparent)]
pub(crate) struct Handle<T>(*const T);

const _: () = assert!(size_of::<usize>() == size_of::<u64>(), "a handle has 64 bits");

const TYPE_SHIFT: u32 = 56;
const GENERATION_SHIFT: u32 = 32;
const MAX_GENERATION: u32 = (1 << (TYPE_SHIFT - GENERATION_SHIFT)) - 1;

/// The names of the types by their numbers; 0 is not a type.
const TYPES: [&str; 8] =
    ["", "device", "queue", "library", "kernel", "buffer", "table of functions", "submission"];

/// An object that C has handles of.
pub(crate) trait Handled: Send + Sync + Sized + 'static {
    /// Its place in [`TYPES`].
    const TYPE: usize;
    /// All live objects of the type.
    fn table() -> &'static HandleTable<Self>;
}

/// Implements [`Handled`] for a type.
macro_rules! handled {
    ($object:ty, $number:literal) => {
        impl $crate::handles::Handled for $object {
            const TYPE: usize = $number;

            fn table() -> &'static $crate::handles::HandleTable<Self> {
                static TABLE: $crate::handles::HandleTable<$object> = $crate::handles::HandleTable::new();
                &TABLE
            }
        }
    };
}
pub(crate) use handled;

/// The live objects of a type.
pub(crate) struct HandleTable<T>(RwLock<Slots<T>>);

struct Slots<T> {
    slots: Vec<Slot<T>>,
    /// Slots without an object that may be used again.
    free: Vec<u32>,
}

struct Slot<T> {
    generation: u32,
    object: Option<Arc<T>>,
}

impl<T: Handled> HandleTable<T> {
    pub(crate) const fn new() -> Self {
        HandleTable(RwLock::new(Slots { slots: Vec::new(), free: Vec::new() }))
    }

    fn insert(&self, object: T) -> Result<Handle<T>, Failure> {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let index = match table.free.pop() {
            Some(index) => index,
            None => {
                // The slot plus 1 has 32 bits.
                let index = u32::try_from(table.slots.len()).ok().filter(|&index| index < u32::MAX);
                let index = index.ok_or_else(|| Failure::exhausted("there are 2^32 handles of one type"))?;
                table.slots.push(Slot { generation: 0, object: None });
                index
            }
        };
        let slot = &mut table.slots[index as usize];
        assert!(slot.object.is_none(), "a free slot has no object");
        slot.object = Some(Arc::new(object));
        Ok(Handle::new(index, slot.generation))
    }

    fn get(&self, index: u32, generation: u32) -> Option<Arc<T>> {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let slot = table.slots.get(index as usize).filter(|slot| slot.generation == generation)?;
        slot.object.clone()
    }

    fn remove(&self, index: u32, generation: u32) -> Option<Arc<T>> {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let slot = table.slots.get_mut(index as usize).filter(|slot| slot.generation == generation)?;
        let object = slot.object.take()?;
        // A slot whose generations are used up stays empty, so that no old handle becomes valid again.
        if slot.generation < MAX_GENERATION {
            slot.generation += 1;
            table.free.push(index);
        }
        Some(object)
    }
}

impl<T: Handled> Handle<T> {
    /// A handle of a new object.
    pub(crate) fn of(object: T) -> Result<Handle<T>, Failure> {
        T::table().insert(object)
    }

    fn new(index: u32, generation: u32) -> Handle<T> {
        let bits =
            (T::TYPE << TYPE_SHIFT) | ((generation as usize) << GENERATION_SHIFT) | (index as usize + 1);
        Handle(std::ptr::without_provenance(bits))
    }

    /// The slot and its generation, if this may be a handle of the type.
    fn parts(self) -> Option<(u32, u32)> {
        let bits = self.0.addr();
        let index = (bits as u32).checked_sub(1)?;
        let generation = (bits >> GENERATION_SHIFT) as u32 & MAX_GENERATION;
        (bits >> TYPE_SHIFT == T::TYPE).then_some((index, generation))
    }

    /// The object; `what` is its role in the call.
    pub(crate) fn object(self, what: &str) -> Result<Arc<T>, Failure> {
        let found = self.parts().and_then(|(index, generation)| T::table().get(index, generation));
        found.ok_or_else(|| self.failure(what))
    }

    /// The object of a function that has no status: `None` for whatever is not a live handle.
    pub(crate) fn if_live(self) -> Option<Arc<T>> {
        self.object("").ok()
    }

    /// Releases the object. NULL is ignored; whatever else is not a live handle is only noted as the
    /// thread's last error.
    pub(crate) fn release(self) {
        if self.0.is_null() {
            return;
        }
        // The functions that release return nothing.
        let _status = run(|| {
            let object = self.parts().and_then(|(index, generation)| T::table().remove(index, generation));
            // Dropped outside of the table's lock: the drop of an object may wait for work.
            object.map(drop).ok_or_else(|| self.failure(TYPES[T::TYPE]))
        });
    }

    fn failure(self, what: &str) -> Failure {
        let bits = self.0.addr();
        let number = bits >> TYPE_SHIFT;
        Failure::caller(match TYPES.get(number) {
            _ if bits == 0 => format!("the {what} is NULL"),
            Some(_) if number == T::TYPE => format!("the {what} was released before"),
            Some(other) if number > 0 => format!("the {what} is a handle of another type: a {other}"),
            _ => format!("the {what} is not a handle of anymetal: {bits:#x}"),
        })
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Handle({:#x})", self.0.addr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Thing;
    handled!(Thing, 1);

    #[derive(Debug)]
    struct Other;
    handled!(Other, 2);

    fn text<T>(outcome: Result<Arc<T>, Failure>) -> String {
        outcome.err().map(|failure| failure.text().to_owned()).unwrap_or_default()
    }

    #[test]
    fn only_live_handles_of_the_type_are_objects() {
        let handle = Handle::of(Thing).unwrap_or_else(|_| unreachable!());
        assert!(handle.object("thing").is_ok());
        assert!(text(Handle::<Other>(handle.0.cast()).object("other")).contains("another type: a device"));
        handle.release();
        assert!(text(handle.object("thing")).contains("released before"));
        handle.release();
        // The slot is used again, and the old handle is not its handle.
        let next = Handle::of(Thing).unwrap_or_else(|_| unreachable!());
        assert_ne!(next.0, handle.0);
        assert!(next.if_live().is_some() && handle.if_live().is_none());
        for bits in [1, 8, 0x7fff_dead_beef, usize::MAX, (1 << TYPE_SHIFT) | 0xffff_ffff] {
            assert!(
                Handle::<Thing>(std::ptr::without_provenance(bits)).object("thing").is_err(),
                "{bits:#x}"
            );
        }
        assert!(text(Handle::<Thing>(std::ptr::null()).object("thing")).contains("is NULL"));
        next.release();
    }

    #[test]
    fn an_object_that_another_thread_releases_lives_until_its_users_are_done() {
        use std::sync::atomic::{AtomicUsize, Ordering};

        static LIVE: AtomicUsize = AtomicUsize::new(0);

        struct Counted;
        handled!(Counted, 3);

        impl Drop for Counted {
            fn drop(&mut self) {
                LIVE.fetch_sub(1, Ordering::SeqCst);
            }
        }

        for _ in 0..200 {
            LIVE.fetch_add(1, Ordering::SeqCst);
            let handle = Handle::of(Counted).unwrap_or_else(|_| unreachable!());
            let bits = handle.0.addr();
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(move || {
                        let handle = Handle::<Counted>(std::ptr::without_provenance(bits));
                        if let Some(object) = handle.if_live() {
                            assert_eq!(LIVE.load(Ordering::SeqCst), 1);
                            handle.release();
                            assert_eq!(LIVE.load(Ordering::SeqCst), 1);
                            drop(object);
                        }
                    });
                }
            });
            assert_eq!(LIVE.load(Ordering::SeqCst), 0, "released once, by one of the threads");
        }
    }

    #[test]
    fn a_slot_whose_generations_are_used_up_stays_empty() {
        static TABLE: HandleTable<Thing> = HandleTable::new();
        let insert = || TABLE.insert(Thing).map(Handle::parts).ok().flatten();
        assert_eq!(insert(), Some((0, 0)));
        TABLE.0.write().unwrap_or_else(PoisonError::into_inner).slots[0].generation = MAX_GENERATION;
        assert!(TABLE.remove(0, MAX_GENERATION).is_some());
        assert_eq!(insert(), Some((1, 0)));
    }
}
