//! `+initialize`: sent to a class once, before its first message, to superclasses first.
//!
//! Only classes of compiled Objective-C have it. Invariant: a class and its metaclass have the flag
//! [`NEEDS_INITIALIZE`] until the method returned; meanwhile their caches stay empty, so that every
//! message of another thread comes here and waits.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use super::class::{Class, NEEDS_INITIALIZE};
use super::message::send;
use super::object::Object;
use super::selector::Sel;

/// A class that was not initialized, by its own address and by its metaclass's.
#[derive(Clone, Copy)]
struct Waiting {
    class: &'static Class,
    /// Who is inside its `+initialize`.
    by: Option<ThreadId>,
}

static WAITING: Mutex<BTreeMap<usize, Waiting>> = Mutex::new(BTreeMap::new());
static DONE: Condvar = Condvar::new();

fn waiting() -> MutexGuard<'static, BTreeMap<usize, Waiting>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn address(class: &'static Class) -> usize {
    std::ptr::from_ref(class).addr()
}

/// The class and its metaclass.
fn both(class: &'static Class) -> impl Iterator<Item = &'static Class> {
    [Some(class), class.metaclass()].into_iter().flatten()
}

/// Notes that the class has `+initialize`, of its own or inherited.
pub(crate) fn note(class: &'static Class) {
    for noted in both(class) {
        waiting().insert(address(noted), Waiting { class, by: None });
        noted.add_flags(NEEDS_INITIALIZE);
    }
}

/// Sends `+initialize` to the class that this is, or is the metaclass of, unless the calling thread
/// is inside it already.
#[cold]
pub(crate) fn before_first_message(class_or_metaclass: &'static Class) {
    let me = std::thread::current().id();
    let class = {
        let mut all = waiting();
        loop {
            let Some(&Waiting { class, by }) = all.get(&address(class_or_metaclass)) else { return };
            match by {
                Some(thread) if thread == me => return,
                Some(_) => all = DONE.wait(all).unwrap_or_else(PoisonError::into_inner),
                None => {
                    for noted in both(class) {
                        all.insert(address(noted), Waiting { class, by: Some(me) });
                    }
                    break class;
                }
            }
        }
    };
    let _done_even_if_it_throws = Finish(class);
    if let Some(superclass) = class.superclass().filter(|above| above.flags() & NEEDS_INITIALIZE != 0) {
        before_first_message(superclass);
    }
    let receiver = std::ptr::from_ref(class.as_object()).cast_mut().cast::<Object>();
    // SAFETY: the root class has the method, which takes nothing and gives nothing.
    unsafe { send(receiver, Sel::of(c"initialize")) };
}

/// Ends the wait of the others.
struct Finish(&'static Class);

impl Drop for Finish {
    fn drop(&mut self) {
        for noted in both(self.0) {
            noted.remove_flags(NEEDS_INITIALIZE);
            waiting().remove(&address(noted));
        }
        DONE.notify_all();
    }
}
