//! Memory above the device: where buffers live, how they are reused, bounded and listed.
//!
//! - [`mode`] decides the storage mode from what a buffer is for, and says why.
//!
//! Invariant of the whole module: what is refused has had no effect, and what is counted is given back when its
//! owner is dropped, so totals return to zero.

pub mod mode;
