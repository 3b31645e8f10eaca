//! Groups: waiting for several pieces of work.

use std::ffi::c_void;
use std::sync::{Condvar, Mutex, PoisonError};

use super::object::{Kind, Reference, held, reference};
use super::pool::Work;
use super::queue::Callable;
use super::time::{Time, wait_until};

/// How much is not done yet, and what to do then.
#[derive(Default)]
struct State {
    open: usize,
    then: Vec<Work>,
}

/// A group.
#[derive(Default)]
pub(crate) struct Group {
    state: Mutex<State>,
    done: Condvar,
}

impl std::fmt::Debug for Group {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Group").finish_non_exhaustive()
    }
}

impl Group {
    fn enter(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).open += 1;
    }

    fn leave(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open = state.open.saturating_sub(1);
        if state.open > 0 {
            return;
        }
        let then = std::mem::take(&mut state.then);
        drop(state);
        self.done.notify_all();
        then.into_iter().for_each(|work| work());
    }

    /// Waits until everything is done; says whether it is.
    fn wait(&self, until: Time) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        wait_until(&self.done, state, until, |state| state.open == 0).is_some()
    }

    /// Does the work when everything is done, or now.
    fn notify(&self, work: Work) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.open > 0 {
            state.then.push(work);
            return;
        }
        drop(state);
        work();
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn dispatch_group_create() -> Reference {
    reference(Kind::Group(Group::default()))
}

/// # Safety
///
/// `group` is a program's reference.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_group_enter(group: Reference) {
    const CALLED: &str = "dispatch_group_enter";
    // SAFETY: as promised.
    unsafe { held(CALLED, group) }.group(CALLED).enter();
}

/// # Safety
///
/// `group` is a program's reference.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_group_leave(group: Reference) {
    const CALLED: &str = "dispatch_group_leave";
    // SAFETY: as promised.
    unsafe { held(CALLED, group) }.group(CALLED).leave();
}

/// 0, or another number if the time was over first.
///
/// # Safety
///
/// `group` is a program's reference.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_group_wait(group: Reference, until: Time) -> isize {
    const CALLED: &str = "dispatch_group_wait";
    // SAFETY: as promised.
    isize::from(!unsafe { held(CALLED, group) }.group(CALLED).wait(until))
}

/// # Safety
///
/// `group` and `queue` are a program's references, `block` a block without arguments.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_group_async(
    group: Reference,
    queue: Reference,
    block: *const c_void,
) {
    const CALLED: &str = "dispatch_group_async";
    // SAFETY: as promised.
    let (group, queue) = unsafe { (held(CALLED, group), held(CALLED, queue)) };
    // SAFETY: as promised.
    let work = unsafe { Callable::of_block(CALLED, block) };
    let queue = queue.queue(CALLED);
    group.group(CALLED).enter();
    queue.submit(Box::new(move || {
        work.call();
        group.group(CALLED).leave();
    }));
}

/// # Safety
///
/// `group` and `queue` are a program's references, `block` a block without arguments.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_group_notify(
    group: Reference,
    queue: Reference,
    block: *const c_void,
) {
    const CALLED: &str = "dispatch_group_notify";
    // SAFETY: as promised.
    let (group, queue) = unsafe { (held(CALLED, group), held(CALLED, queue)) };
    // SAFETY: as promised.
    let work = unsafe { Callable::of_block(CALLED, block) };
    queue.queue(CALLED);
    group.group(CALLED).notify(Box::new(move || queue.queue(CALLED).submit(Box::new(move || work.call()))));
}
