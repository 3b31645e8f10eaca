//! Queues and parallel loops.

use std::collections::VecDeque;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

use super::object::{Kind, Object, Reference, held, reference, refuse};
use super::pool::{self, Work, in_pool};
use crate::runtime::block::{copy_block, invoke_block, invoke_block_with, release_block};

/// A queue; `serial` is there if its work runs one after the other.
#[derive(Debug)]
pub(crate) struct Queue {
    serial: Option<Arc<Serial>>,
}

#[derive(Debug, Default)]
struct Serial {
    state: Mutex<State>,
    idle: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    /// A thread is working off the queue, or a program's thread is inside it.
    is_busy: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("State").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

impl Queue {
    /// Has the work done later.
    pub(crate) fn submit(&self, work: Work) {
        let Some(serial) = &self.serial else { return pool::run(work) };
        let mut state = serial.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.push_back(work);
        if !std::mem::replace(&mut state.is_busy, true) {
            let serial = serial.clone();
            pool::run(Box::new(move || serial.work_off()));
        }
    }

    /// Does the work on this thread when its turn has come.
    fn perform(&self, work: impl FnOnce()) {
        let Some(serial) = &self.serial else { return work() };
        let mut state = serial.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.is_busy {
            state = serial.idle.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_busy = true;
        drop(state);
        work();
        serial.clone().work_off();
    }
}

impl Serial {
    /// Does all that waits; the caller has made the queue busy.
    fn work_off(self: Arc<Serial>) {
        loop {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(work) = state.waiting.pop_front() else {
                state.is_busy = false;
                self.idle.notify_all();
                return;
            };
            drop(state);
            in_pool(work);
        }
    }
}

/// A block on the heap with a reference of its own, or a function with its argument.
pub(crate) enum Callable {
    Block(*mut c_void),
    Function(unsafe extern "C-unwind" fn(*mut c_void), *mut c_void),
}

// SAFETY: a program hands them over to be called on other threads.
unsafe impl Send for Callable {}

impl Callable {
    /// A failure of the function for NULL.
    ///
    /// # Safety
    ///
    /// `block` is null or a block without arguments.
    pub(crate) unsafe fn of_block(called: &str, block: *const c_void) -> Callable {
        require_block(called, block);
        // SAFETY: as promised.
        Callable::Block(unsafe { copy_block(block.cast()) }.cast())
    }

    pub(crate) fn call(self) {
        // SAFETY: a program promises that they may be called.
        unsafe {
            match &self {
                Callable::Block(block) => invoke_block(*block),
                Callable::Function(function, argument) => function(*argument),
            }
        }
    }
}

impl Drop for Callable {
    fn drop(&mut self) {
        if let Callable::Block(block) = self {
            // SAFETY: the reference was made by `of_block`.
            unsafe { release_block(block.cast()) };
        }
    }
}

/// A function of a program's, which is called with its context.
pub(crate) type Function<A> = Option<A>;

#[track_caller]
fn require_block(called: &str, block: *const c_void) {
    if block.is_null() {
        refuse(called, "the block must not be NULL");
    }
}

#[track_caller]
fn required<A>(called: &str, function: Function<A>) -> A {
    function.unwrap_or_else(|| refuse(called, "the function must not be NULL"))
}

/// What `DISPATCH_QUEUE_CONCURRENT` points to.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "C's name")]
pub(crate) static _dispatch_queue_attr_concurrent: u8 = 0;

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn dispatch_queue_create(
    _label: *const c_char,
    attributes: *const u8,
) -> Reference {
    let is_concurrent = std::ptr::eq(attributes, &raw const _dispatch_queue_attr_concurrent);
    reference(Kind::Queue(Queue { serial: (!is_concurrent).then(Arc::default) }))
}

/// The object whose address is the main queue's: `dispatch_get_main_queue()` is a macro for it. What is
/// behind it is [`main_queue`].
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "C's name")]
static _dispatch_main_q: [usize; 8] = [0; 8];

/// The main queue, if that is its address: a serial queue whose work runs on other threads, since programs
/// for Metal that use it have no run loop here.
pub(crate) fn main_queue(address: Reference) -> Option<&'static Arc<Object>> {
    static MAIN: OnceLock<Arc<Object>> = OnceLock::new();
    std::ptr::eq(address.cast(), &raw const _dispatch_main_q)
        .then(|| MAIN.get_or_init(|| Object::new(Kind::Queue(Queue { serial: Some(Arc::default()) }))))
}

/// Runs the main queue's work for ever.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn dispatch_main() -> ! {
    loop {
        std::thread::park();
    }
}

/// The same concurrent queue for all priorities.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn dispatch_get_global_queue(_priority: isize, _flags: usize) -> Reference {
    static GLOBAL: OnceLock<Arc<Object>> = OnceLock::new();
    Arc::as_ptr(GLOBAL.get_or_init(|| Object::new(Kind::Queue(Queue { serial: None }))))
}

/// Does something with a program's queue.
///
/// # Safety
///
/// `queue` is null or a program's reference.
unsafe fn with_queue(called: &str, queue: Reference, act: impl FnOnce(&Queue)) {
    // SAFETY: as promised.
    let object = unsafe { held(called, queue) };
    act(object.queue(called));
}

/// Has a queue do work later; NULL is the global queue.
///
/// # Safety
///
/// As for [`with_queue`].
pub(crate) unsafe fn submit_to(called: &str, queue: Reference, work: Work) {
    let queue = if queue.is_null() { dispatch_get_global_queue(0, 0) } else { queue };
    // SAFETY: as promised.
    unsafe { with_queue(called, queue, |queue| queue.submit(work)) }
}

/// # Safety
///
/// `queue` is a program's reference, `block` a block without arguments.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_async(queue: Reference, block: *const c_void) {
    // SAFETY: as promised.
    unsafe {
        let work = Callable::of_block("dispatch_async", block);
        with_queue("dispatch_async", queue, |queue| queue.submit(Box::new(move || work.call())));
    }
}

/// # Safety
///
/// `queue` is a program's reference; `work` may be called with `context`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_async_f(
    queue: Reference,
    context: *mut c_void,
    work: Function<unsafe extern "C-unwind" fn(*mut c_void)>,
) {
    let work = Callable::Function(required("dispatch_async_f", work), context);
    // SAFETY: as promised.
    unsafe { with_queue("dispatch_async_f", queue, |queue| queue.submit(Box::new(move || work.call()))) };
}

/// # Safety
///
/// `queue` is a program's reference, `block` a block without arguments.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_sync(queue: Reference, block: *mut c_void) {
    require_block("dispatch_sync", block);
    // SAFETY: as promised.
    unsafe { with_queue("dispatch_sync", queue, |queue| queue.perform(|| invoke_block(block))) };
}

/// # Safety
///
/// `queue` is a program's reference; `work` may be called with `context`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_sync_f(
    queue: Reference,
    context: *mut c_void,
    work: Function<unsafe extern "C-unwind" fn(*mut c_void)>,
) {
    let work = required("dispatch_sync_f", work);
    // SAFETY: as promised.
    unsafe { with_queue("dispatch_sync_f", queue, |queue| queue.perform(|| work(context))) };
}

/// Calls something for all numbers below a bound, on this thread and on others.
fn in_parallel(iterations: usize, call: &(dyn Fn(usize) + Sync)) {
    let next = AtomicUsize::new(0);
    let take_all = || {
        in_pool(|| {
            while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&at| at < iterations) {
                call(at);
            }
        });
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(iterations);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(take_all);
        }
        take_all();
    });
}

/// Something of a program's that several threads may use.
#[derive(Clone, Copy)]
struct Shared(*mut c_void);

// SAFETY: a program hands it over for parallel calls.
unsafe impl Sync for Shared {}

impl Shared {
    fn get(&self) -> *mut c_void {
        self.0
    }
}

/// # Safety
///
/// `block` takes a number and may be called from several threads.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_apply(
    iterations: usize,
    _queue: Reference,
    block: *mut c_void,
) {
    require_block("dispatch_apply", block);
    let block = Shared(block);
    // SAFETY: as promised.
    in_parallel(iterations, &|at| unsafe { invoke_block_with(block.get(), at) });
}

/// # Safety
///
/// `work` may be called with `context` from several threads.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_apply_f(
    iterations: usize,
    _queue: Reference,
    context: *mut c_void,
    work: Function<unsafe extern "C-unwind" fn(*mut c_void, usize)>,
) {
    let work = required("dispatch_apply_f", work);
    let context = Shared(context);
    // SAFETY: as promised.
    in_parallel(iterations, &|at| unsafe { work(context.get(), at) });
}

/// Runs a block once for all time. `once` starts as zero and is `!0` afterwards.
///
/// # Safety
///
/// `once` is a variable of the program's that only this function changes; `block` is a block without
/// arguments.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_once(once: *mut isize, block: *mut c_void) {
    static RUNNING: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    static DONE: Condvar = Condvar::new();
    if once.is_null() {
        refuse("dispatch_once", "the variable must not be NULL");
    }
    require_block("dispatch_once", block);
    // SAFETY: as promised.
    let done = unsafe { std::sync::atomic::AtomicIsize::from_ptr(once) };
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    while done.load(Ordering::Acquire) == 0 && running.contains(&once.addr()) {
        running = DONE.wait(running).unwrap_or_else(PoisonError::into_inner);
    }
    if done.load(Ordering::Acquire) != 0 {
        return;
    }
    running.push(once.addr());
    drop(running);
    // SAFETY: as promised.
    unsafe { invoke_block(block) };
    done.store(-1, Ordering::Release);
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|&other| other != once.addr());
    DONE.notify_all();
}
