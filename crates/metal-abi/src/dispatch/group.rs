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
pub(crate) extern "C" fn dispatch_group_create() -> Reference {
    reference(Kind::Group(Group::default()))
}

/// # Safety
///
/// `group` is a program's reference.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dispatch_group_enter(group: Reference) {
    // SAFETY: as promised.
    if let Some(Kind::Group(group)) = unsafe { held(group) }.as_deref() {
        group.enter();
    }
}

/// # Safety
///
/// `group` is a program's reference.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_group_leave(group: Reference) {
    // SAFETY: as promised.
    if let Some(Kind::Group(group)) = unsafe { held(group) }.as_deref() {
        group.leave();
    }
}

/// 0, or another number if the time was over first.
///
/// # Safety
///
/// `group` is a program's reference.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dispatch_group_wait(group: Reference, until: Time) -> isize {
    // SAFETY: as promised.
    match unsafe { held(group) }.as_deref() {
        Some(Kind::Group(group)) => isize::from(!group.wait(until)),
        _ => 0,
    }
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
    // SAFETY: as promised.
    let (group, queue, work) = unsafe { (held(group), held(queue), Callable::of_block(block)) };
    let (Some(group), Some(Kind::Queue(queue))) = (group, queue.as_deref()) else { return };
    let Kind::Group(entered) = &*group else { return };
    entered.enter();
    let group = group.clone();
    queue.submit(Box::new(move || {
        work.call();
        if let Kind::Group(group) = &*group {
            group.leave();
        }
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
    // SAFETY: as promised.
    let (group, queue, work) = unsafe { (held(group), held(queue), Callable::of_block(block)) };
    let Some(Kind::Group(group)) = group.as_deref() else { return };
    group.notify(Box::new(move || {
        if let Some(Kind::Queue(queue)) = queue.as_deref() {
            queue.submit(Box::new(move || work.call()));
        }
    }));
}
