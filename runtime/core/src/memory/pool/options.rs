//! What is asked of a pool: its limits and ways when it is made, length and contents when a buffer is
//! acquired.

use std::time::Duration;

use anymetal_hal::buffer::StorageMode;

use super::state::Label;
use crate::memory::budget::Budget;
use crate::tenant::Tenant;

/// What a pool may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolLimits {
    /// Bytes of all blocks: acquired, in flight and idle.
    pub max_bytes: u64,
    /// All blocks. Drivers limit how many there may be, however small they are.
    pub max_buffers: usize,
    /// Bytes of idle blocks.
    pub max_idle_bytes: u64,
}

impl Default for PoolLimits {
    /// No byte limit but the device's own and the budget's, and 65,536 buffers.
    fn default() -> Self {
        PoolLimits { max_bytes: u64::MAX, max_buffers: 1 << 16, max_idle_bytes: u64::MAX }
    }
}

/// How a pool works.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// What it may hold.
    pub limits: PoolLimits,
    /// How many size classes larger a reused block may be; 2 is at most half as much again.
    pub larger_classes: u32,
    /// Blocks that have been idle for longer go when a new one is made; `None`: they stay.
    pub idle_age: Option<Duration>,
    /// Whether acquisitions keep their backtraces for listings. Slow; for finding leaks.
    pub backtraces: bool,
    /// The working set that the pool's bytes count towards.
    pub budget: Option<Budget>,
}

impl Default for PoolOptions {
    fn default() -> Self {
        PoolOptions {
            limits: PoolLimits::default(),
            larger_classes: 2,
            idle_age: None,
            backtraces: false,
            budget: None,
        }
    }
}

/// What a pooled buffer holds at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Contents {
    /// Whatever the last holder left, if it was the same tenant, or no tenant either; else zeros.
    #[default]
    Unspecified,
    /// Zeros. A private buffer is then always made anew, since only the device could clear it.
    Zeroed,
}

/// A wish for a buffer.
#[derive(Debug, Clone)]
pub struct AcquireRequest<'a> {
    pub(super) length: u64,
    pub(super) mode: StorageMode,
    pub(super) label: Label,
    pub(super) contents: Contents,
    pub(super) tenant: Option<&'a Tenant>,
}

impl<'a> AcquireRequest<'a> {
    /// A shared buffer of that many bytes.
    pub fn new(length: u64) -> Self {
        AcquireRequest {
            length,
            mode: StorageMode::Shared,
            label: Label::Borrowed(""),
            contents: Contents::default(),
            tenant: None,
        }
    }

    /// With that storage mode.
    pub fn mode(mut self, mode: StorageMode) -> Self {
        self.mode = mode;
        self
    }

    /// With a name for listings; a literal costs nothing.
    pub fn label(mut self, label: impl Into<Label>) -> Self {
        self.label = label.into();
        self
    }

    /// The name that was given; may be empty.
    pub fn given_label(&self) -> &Label {
        &self.label
    }

    /// With zeros in it.
    pub fn zeroed(mut self) -> Self {
        self.contents = Contents::Zeroed;
        self
    }

    /// On a tenant's account: one buffer, and the bytes of its size class.
    pub fn tenant(mut self, tenant: &'a Tenant) -> Self {
        self.tenant = Some(tenant);
        self
    }
}
