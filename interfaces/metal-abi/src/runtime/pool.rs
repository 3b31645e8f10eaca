//! Autorelease pools: references that are released later, when the pool around them ends.
//!
//! Owns the pools of each thread: one stack of objects, in which a pool is a height. Invariants:
//! what a thread adds, it releases, at the end of the innermost pool or of the thread; an object's
//! end may add to the stack.
//!
//! An object that a function gives back autoreleased waits in a slot of its own first: if the
//! caller retains it at once, as `objc2` and compilers do, its reference changes hands and no pool
//! is involved. So programs without a pool do not fill memory.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::null_mut;

use super::arc::objc_release;
use super::object::Object;

thread_local! {
    /// Usable until the thread is gone, because it has no destructor.
    static STACK: RefCell<ManuallyDrop<Vec<*mut Object>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
    /// The object that was given back last and not retained yet.
    static HANDED_OVER: Cell<*mut Object> = const { Cell::new(null_mut()) };
    static AT_EXIT: AtExit = const { AtExit };
}

/// Empties the stack when its thread ends.
struct AtExit;

impl Drop for AtExit {
    fn drop(&mut self) {
        // The main thread ends in `exit`, after the program and languages that it embeds have shut down, so
        // deallocators and blocks must not run any more. Apple's runtime does not drain these pools either.
        if is_main_thread() {
            return;
        }
        drain_to(0);
        STACK.with(|stack| std::mem::take(&mut **stack.borrow_mut()));
    }
}

/// Whether this is the thread that the process started with. Linux numbers it as the process.
fn is_main_thread() -> bool {
    // SAFETY: the functions take nothing and cannot fail.
    unsafe { libc::gettid() == libc::getpid() }
}

/// Leaves a reference to the innermost pool.
pub(crate) fn add(object: *mut Object) {
    // A thread that is past its destructors keeps the reference for ever.
    let _ = AT_EXIT.try_with(|_| ());
    STACK.with(|stack| stack.borrow_mut().push(object));
}

/// Leaves a reference for the caller to take, or else to the innermost pool.
pub(crate) fn hand_over(object: *mut Object) {
    let before = HANDED_OVER.replace(object);
    if !before.is_null() {
        add(before);
    }
    // If nobody takes it, the thread's end must release it.
    let _ = AT_EXIT.try_with(|_| ());
}

/// Takes the reference that was left for the caller, if it is that object's.
pub(crate) fn take_over(object: *mut Object) -> bool {
    let is_it = !object.is_null() && HANDED_OVER.get() == object;
    if is_it {
        HANDED_OVER.set(null_mut());
    }
    is_it
}

/// Nobody takes the last object any more: it belongs to the innermost pool.
fn settle() {
    let waiting = HANDED_OVER.replace(null_mut());
    if !waiting.is_null() {
        add(waiting);
    }
}

/// Releases everything above a height, the last first, and what comes up meanwhile.
fn drain_to(height: usize) {
    settle();
    let pop = || {
        STACK.with(|stack| {
            let mut stack = stack.borrow_mut();
            if stack.len() > height { stack.pop() } else { None }
        })
    };
    while let Some(object) = pop() {
        // SAFETY: whoever added the object left a reference.
        unsafe { objc_release(object) };
        settle();
    }
}

/// Begins a pool; what it gives ends it.
pub(crate) fn begin() -> *mut c_void {
    settle();
    let height = STACK.with(|stack| stack.borrow().len());
    std::ptr::without_provenance_mut(height + 1)
}

/// Ends a pool and all that were begun in it. The thread must be the one that began it.
pub(crate) fn end(pool: *mut c_void) {
    drain_to(pool.addr().saturating_sub(1));
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn objc_autoreleasePoolPush() -> *mut c_void {
    begin()
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn objc_autoreleasePoolPop(pool: *mut c_void) {
    end(pool);
}
