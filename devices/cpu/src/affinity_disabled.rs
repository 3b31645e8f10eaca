//! The twin of `affinity.rs` where threads cannot be pinned.

/// None are known.
pub(crate) fn allowed_processors() -> Vec<usize> {
    Vec::new()
}

/// Does nothing.
pub(crate) fn pin_to(_processor: usize) {}

/// Not known.
pub(crate) fn current_processor() -> Option<usize> {
    None
}
