//! The part of Grand Central Dispatch that programs for Metal use: queues, groups, semaphores,
//! parallel loops, data. The types are opaque to programs.
//!
//! A serial queue runs its work one after the other, in order; a concurrent queue gives every piece of
//! work a thread of its own at once, because work may wait for other work. A few threads that are done
//! wait for more ([`pool`]).

pub(crate) mod data;
mod group;
pub(crate) mod object;
mod pool;
pub(crate) mod queue;
mod semaphore;
mod time;
