//! Work on a thread with a large stack.
//!
//! Programs nest, and what goes through them recurses, with limits that are chosen for this stack. Invariant:
//! work that requests the stack from within such work stays on its thread, with its memory.

use std::cell::Cell;

/// Address space reserved for the stack. Pages are taken as they are touched.
pub const BYTES: usize = 1 << 29;

thread_local! {
    /// Whether this thread has the large stack.
    static IS_LARGE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on a thread with a large stack: this one, if it has one. A panic goes on here.
///
/// # Errors
/// If the system gives no thread.
pub fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    if IS_LARGE.get() {
        return Ok(work());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("anymetal-compiler".into()).stack_size(BYTES);
        let work = || {
            IS_LARGE.set(true);
            work()
        };
        let result = thread.spawn_scoped(scope, work)?.join();
        Ok(result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Runs `aside` on another thread with a large stack while `here` runs on this one. A panic in either goes on
/// here, when both have ended.
///
/// # Errors
/// If the system gives no thread; then neither has run.
pub fn both<A: Send, B>(
    aside: impl FnOnce() -> A + Send,
    here: impl FnOnce() -> B,
) -> std::io::Result<(A, B)> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("anymetal-compiler".into()).stack_size(BYTES);
        let aside = thread.spawn_scoped(scope, || {
            IS_LARGE.set(true);
            aside()
        })?;
        let here = here();
        Ok((aside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), here))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_work_stays_on_its_thread() {
        let outer = || (std::thread::current().id(), on_large_stack(|| std::thread::current().id()));
        let (outer, inner) = on_large_stack(outer).expect("a thread");
        assert_eq!(outer, inner.expect("no new thread is needed"));
        assert_ne!(outer, std::thread::current().id());
    }

    #[test]
    fn both_run_and_panics_go_on() {
        let here = std::thread::current().id();
        let nested = || on_large_stack(|| std::thread::current().id());
        let (aside, ours) = both(|| (std::thread::current().id(), nested()), || std::thread::current().id())
            .expect("a thread");
        assert_eq!(ours, here);
        assert_ne!(aside.0, here);
        assert_eq!(aside.0, aside.1.expect("no new thread is needed"));
        let panics = std::panic::catch_unwind(|| both(|| panic!("aside"), || 1));
        assert!(panics.is_err());
    }
}
