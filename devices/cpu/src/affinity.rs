//! Which processors the process may use, and pinning a thread to one of them. Linux; elsewhere the twin in
//! `affinity_disabled.rs` says that nothing can be pinned.

/// The processors that the calling thread may run on, in ascending order; empty if that cannot be told.
pub(crate) fn allowed_processors() -> Vec<usize> {
    // SAFETY: a processor set is plain bits; all zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes at most the size given into the set; 0 is the calling thread.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    if result != 0 {
        return Vec::new();
    }
    // SAFETY: the index is below the set's own capacity.
    (0..libc::CPU_SETSIZE as usize).filter(|&processor| unsafe { libc::CPU_ISSET(processor, &set) }).collect()
}

/// Pins the calling thread to one processor; a refusal leaves it unpinned, which is only slower.
pub(crate) fn pin_to(processor: usize) {
    if processor >= libc::CPU_SETSIZE as usize {
        return;
    }
    // SAFETY: a processor set is plain bits; all zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the index is below the set's capacity (checked above).
    unsafe { libc::CPU_SET(processor, &mut set) };
    // SAFETY: the set is initialised and outlives the call; 0 is the calling thread.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
}

/// The processor that the calling thread is on now, if that can be told.
pub(crate) fn current_processor() -> Option<usize> {
    // SAFETY: the call takes no arguments and has no effect.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}
