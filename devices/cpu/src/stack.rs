//! Stack that kernels need, and that threads have.
//!
//! A kernel's frame can be large: LLVM gives every value that it spills a place of its own in code of low
//! optimisation, and a vector of 32 lanes has 128 bytes. (A flash attention over 576 columns has 2 MiB.) So
//! workers have much stack, which costs only the pages that are touched, and a thread that submits runs a
//! kernel itself only if its own stack has room; so does one that waits and lends its time to the queue.

use std::cell::Cell;

/// Stack of a worker.
pub(crate) const WORKER_BYTES: usize = 64 << 20;

/// What a kernel needs at most beside spilled values: its arrays, of which code generation puts no more than
/// half as much on the stack, and what its caller needs.
const FIXED_BYTES: usize = 512 << 10;

/// Bytes of stack for each byte of code: a place of 64 bytes is written at least once, by an instruction
/// of 10 bytes or more (a vector store with a distance of 32 bits).
const BYTES_PER_CODE_BYTE: usize = 7;

/// The most stack that a kernel whose code has that size needs.
pub(crate) fn most_needed(code_bytes: usize) -> usize {
    code_bytes.saturating_mul(BYTES_PER_CODE_BYTE).saturating_add(FIXED_BYTES)
}

thread_local! {
    /// Where the stack of this thread ends, once looked up; the last address if the system does not tell.
    static END: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Bytes of stack left to the calling thread; 0 if the system does not tell.
pub(crate) fn left_here() -> usize {
    let here = 0u8;
    let end = END.with(|end| match end.get() {
        Some(known) => known,
        None => {
            let found = end_of_stack().unwrap_or(usize::MAX);
            end.set(Some(found));
            found
        }
    });
    (&raw const here as usize).saturating_sub(end)
}

#[cfg(target_os = "linux")]
fn end_of_stack() -> Option<usize> {
    // SAFETY: all zeros is a value of this plain structure of C.
    let mut attributes: libc::pthread_attr_t = unsafe { std::mem::zeroed() };
    // SAFETY: both arguments are valid; on success the attributes are initialised.
    if unsafe { libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) } != 0 {
        return None;
    }
    let (mut end, mut bytes, mut guard) = (std::ptr::null_mut(), 0, 0);
    // SAFETY: the attributes were initialised above, the others are places for the results.
    let found = unsafe {
        libc::pthread_attr_getstack(&raw const attributes, &raw mut end, &raw mut bytes) == 0
            && libc::pthread_attr_getguardsize(&raw const attributes, &raw mut guard) == 0
    };
    // SAFETY: initialised above, and not used again.
    unsafe { libc::pthread_attr_destroy(&raw mut attributes) };
    // Some libraries count the guard pages in.
    found.then(|| end as usize + guard)
}

#[cfg(not(target_os = "linux"))]
fn end_of_stack() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_knows_what_is_left() {
        let on = |bytes: usize, work: fn() -> usize| {
            let thread = std::thread::Builder::new().stack_size(bytes);
            thread.spawn(work).expect("a thread starts").join().expect("it ends well")
        };
        let small = on(256 << 10, left_here);
        let large = on(16 << 20, left_here);
        if cfg!(target_os = "linux") {
            assert!((64 << 10..=256 << 10).contains(&small), "{small}");
            assert!((15 << 20..=16 << 20).contains(&large), "{large}");
        }
    }

    #[test]
    fn less_is_left_further_down() {
        #[inline(never)]
        fn below() -> usize {
            let room = std::hint::black_box([0u8; 64 << 10]);
            left_here() + usize::from(room[0])
        }
        assert!(left_here() >= below());
        assert!(most_needed(usize::MAX) > WORKER_BYTES);
    }
}
