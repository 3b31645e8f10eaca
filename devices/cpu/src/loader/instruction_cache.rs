//! Makes freshly written code visible to instruction fetch: nothing to do on x86, where the caches
//! are coherent.

#[cfg(target_arch = "aarch64")]
#[path = "instruction_cache_aarch64.rs"]
mod flush;

#[cfg(not(target_arch = "aarch64"))]
mod flush {
    pub(super) fn forget(_start: *const u8, _bytes: usize) {}
}

/// To be called after writing code and before running it. The range must be mapped and readable.
pub(super) fn forget(start: *const u8, bytes: usize) {
    flush::forget(start, bytes);
}
