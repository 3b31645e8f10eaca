//! Fences: the order of commands within one queue, in Metal's words.
//!
//! Owns the [`Fence`] trait and [`HostFence`]. A queue of this system runs its commands in order and makes
//! each see what the ones before it wrote, so a wait for a fence that the same queue updated earlier is
//! already met; fences exist for programs that use them and for devices that reorder. Invariant: a fence
//! belongs to the first queue that uses it. Across queues, use an [`crate::event::Event`].

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Orders commands within one queue.
pub trait Fence: Send + Sync + fmt::Debug {
    /// For the owning device to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// The fence of a device whose queues keep their order anyway.
#[derive(Debug, Default)]
pub struct HostFence {
    /// The queue that used it first, by a number that is not zero.
    queue: AtomicUsize,
}

impl HostFence {
    /// Notes a use by a queue; says whether the fence is that queue's.
    pub fn bind_queue(&self, queue: std::num::NonZero<usize>) -> bool {
        let claimed = self.queue.compare_exchange(0, queue.get(), Ordering::Relaxed, Ordering::Relaxed);
        claimed.is_ok() || claimed == Err(queue.get())
    }
}

impl Fence for HostFence {
    fn as_any(&self) -> &dyn Any {
        self
    }
}
