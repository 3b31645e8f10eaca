//! Which stream has which handle of a library, and what becomes of a handle when its stream goes.
//!
//! Owns [`Handles`]. Invariants: each handle is in one list, so none is lost; a handle is lent again only
//! after the work of its last stream has ended. A stream that goes is retired with its handle, and
//! destroyed by the first sweep after its work. Generic, so that the rules are tested without a GPU.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The handle of a stream, once there is one. Its lock is held while work is put into the stream.
pub(super) type Slot<H> = Arc<Mutex<Option<H>>>;

/// The handles of one card.
#[derive(Debug)]
pub(super) struct Handles<H> {
    by_stream: BTreeMap<u64, Slot<H>>,
    idle: Vec<H>,
    /// With the stream whose work may use the handle's memory.
    retired: Vec<(u64, H)>,
}

impl<H> Handles<H> {
    pub(super) const fn new() -> Self {
        Handles { by_stream: BTreeMap::new(), idle: Vec::new(), retired: Vec::new() }
    }

    /// The slot of a stream, empty at first.
    pub(super) fn slot(&mut self, stream: u64) -> Slot<H> {
        Arc::clone(self.by_stream.entry(stream).or_default())
    }

    /// A handle without work. `destroy_idle` destroys a stream if it has no work, and returns whether it did.
    pub(super) fn take_idle(&mut self, destroy_idle: impl Fn(u64) -> bool) -> Option<H> {
        if self.idle.is_empty() {
            self.sweep(destroy_idle);
        }
        self.idle.pop()
    }

    /// Takes back a handle that is not used.
    pub(super) fn put_back(&mut self, handle: H) {
        self.idle.push(handle);
    }

    /// Retires a stream with its handle until a sweep destroys it. False if it has none, so that the caller
    /// destroys it.
    #[must_use = "a stream without a handle is the caller's to destroy"]
    pub(super) fn retire(&mut self, stream: u64) -> bool {
        let slot = self.by_stream.remove(&stream);
        let handle = slot.and_then(|slot| slot.lock().unwrap_or_else(PoisonError::into_inner).take());
        let has_handle = handle.is_some();
        self.retired.extend(handle.map(|handle| (stream, handle)));
        has_handle
    }

    /// Destroys the retired streams that have no work, which makes their handles idle.
    pub(super) fn sweep(&mut self, destroy_idle: impl Fn(u64) -> bool) {
        let ended = self.retired.extract_if(.., |(stream, _)| destroy_idle(*stream));
        self.idle.extend(ended.map(|(_, handle)| handle));
    }

    /// The number of handles.
    pub(super) fn len(&self) -> usize {
        let is_used = |slot: &&Slot<H>| slot.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        self.by_stream.values().filter(is_used).count() + self.idle.len() + self.retired.len()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// As a driver does: a stream takes an idle handle, or a new one.
    fn use_stream(handles: &mut Handles<u32>, stream: u64, new: u32, destroy: impl Fn(u64) -> bool) -> u32 {
        let slot = handles.slot(stream);
        let mut slot = slot.lock().unwrap();
        *slot.get_or_insert_with(|| handles.take_idle(destroy).unwrap_or(new))
    }

    #[test]
    fn a_stream_without_a_handle_is_the_callers() {
        let mut handles = Handles::<u32>::new();
        drop(handles.slot(1));
        assert!(!handles.retire(1) && !handles.retire(2));
        assert_eq!(handles.len(), 0);
    }

    #[test]
    fn a_handle_is_lent_again_after_the_work_of_its_stream() {
        let mut handles = Handles::new();
        assert_eq!(use_stream(&mut handles, 1, 10, |_| unreachable!("nothing is retired")), 10);
        assert!(handles.retire(1));
        handles.sweep(|_| false);
        assert_eq!(use_stream(&mut handles, 2, 11, |_| false), 11, "the memory of 10 may be in use");
        let destroyed = RefCell::new(Vec::new());
        let destroy = |stream| {
            destroyed.borrow_mut().push(stream);
            true
        };
        assert_eq!(use_stream(&mut handles, 3, 12, destroy), 10);
        assert_eq!((destroyed.into_inner(), handles.len()), (vec![1], 2));
        handles.put_back(12);
        assert_eq!(use_stream(&mut handles, 4, 13, |_| false), 12);
    }

    #[test]
    fn handles_are_as_many_as_streams_at_once() {
        let mut handles = Handles::new();
        for stream in 0..100 {
            assert_eq!(use_stream(&mut handles, stream, stream as u32, |_| true), 0);
            assert!(handles.retire(stream));
        }
        assert_eq!(handles.len(), 1);
    }
}
