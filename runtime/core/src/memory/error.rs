//! Why memory was refused.
//!
//! Owns [`MemoryError`]. Invariant: a refusal has had no effect, and its message names what to do.

use anymetal_hal::error::{DeviceError, ErrorClass};

use crate::memory::mode::ModeError;
use crate::tenant::QuotaError;

/// Why memory was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// Longer than the device's largest buffer, however much memory is free.
    #[error(
        "{requested} bytes are above the largest buffer of {device}, {limit} bytes; split them over {parts} buffers",
        parts = requested.div_ceil((*limit).max(1))
    )]
    AboveLargestBuffer {
        /// The device's name.
        device: String,
        /// The bytes asked for.
        requested: u64,
        /// The largest buffer.
        limit: u64,
    },
    /// The pool's bytes are acquired or still used by submitted work.
    #[error(
        "{requested} bytes do not fit into the pool: {in_use} of {limit} bytes are in use; drop buffers, wait for submitted work, or raise the pool's byte limit"
    )]
    PoolBytes {
        /// The bytes asked for, rounded up to their class.
        requested: u64,
        /// Bytes acquired or used by submitted work.
        in_use: u64,
        /// The pool's limit.
        limit: u64,
    },
    /// The pool's number of buffers is used up, however small they are.
    #[error(
        "all {limit} buffers of the pool are in use; drop buffers, wait for submitted work, or raise the pool's buffer limit"
    )]
    PoolBuffers {
        /// The pool's limit.
        limit: usize,
    },
    /// The working set of the device is used up.
    #[error(
        "{requested} bytes are above the working set: {reserved} of {limit} bytes are reserved; free memory, work in smaller pieces, or raise the budget"
    )]
    OverBudget {
        /// The bytes asked for.
        requested: u64,
        /// The bytes reserved after every pool was trimmed.
        reserved: u64,
        /// The budget.
        limit: u64,
    },
    /// A tenant's quota is used up.
    #[error(transparent)]
    Quota(#[from] QuotaError),
    /// A storage mode that cannot be.
    #[error(transparent)]
    Mode(#[from] ModeError),
    /// A view that is not within its buffer.
    #[error("bytes {offset}..{} are not within `{label}` of {length} bytes", offset.saturating_add(*len))]
    ViewOutside {
        /// The buffer's label.
        label: String,
        /// The view's first byte.
        offset: u64,
        /// The view's bytes.
        len: u64,
        /// The buffer's, or the outer view's, bytes.
        length: u64,
    },
    /// A view whose offset or length does not suit its element.
    #[error(
        "a view of `{label}` at byte {offset} with {len} bytes does not hold whole, aligned elements of {size} bytes"
    )]
    ViewMisaligned {
        /// The buffer's label.
        label: String,
        /// The view's first byte in the buffer.
        offset: u64,
        /// The view's bytes.
        len: u64,
        /// The element's bytes.
        size: u64,
    },
    /// The two sides of a copy differ in length.
    #[error("{source_len} bytes cannot be copied to {destination_len} bytes; cut a view to the same length")]
    CopyLengths {
        /// The source's bytes.
        source_len: u64,
        /// The destination's bytes.
        destination_len: u64,
    },
    /// More bytes than a staging ring holds.
    #[error("{requested} bytes are more than the staging ring of {capacity} bytes holds; upload in pieces")]
    RingTooSmall {
        /// The bytes asked for, with alignment.
        requested: u64,
        /// The ring's bytes.
        capacity: u64,
    },
    /// A staging ring whose bytes are all in flight.
    #[error(
        "the staging ring is full: {free} of {capacity} bytes are free, {requested} are needed; wait for an upload to end"
    )]
    RingFull {
        /// The bytes asked for, with alignment.
        requested: u64,
        /// The bytes free.
        free: u64,
        /// The ring's bytes.
        capacity: u64,
    },
    /// The device refused.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl MemoryError {
    /// The class, by which policies decide.
    pub fn class(&self) -> ErrorClass {
        match self {
            MemoryError::PoolBytes { .. }
            | MemoryError::PoolBuffers { .. }
            | MemoryError::OverBudget { .. }
            | MemoryError::RingFull { .. } => ErrorClass::Exhausted,
            MemoryError::Quota(quota) => quota.class(),
            MemoryError::Device(device) => device.class(),
            MemoryError::AboveLargestBuffer { .. }
            | MemoryError::Mode(_)
            | MemoryError::ViewOutside { .. }
            | MemoryError::ViewMisaligned { .. }
            | MemoryError::CopyLengths { .. }
            | MemoryError::RingTooSmall { .. } => ErrorClass::Caller,
        }
    }
}
