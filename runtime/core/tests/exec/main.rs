//! Streams, submissions, events and history on the null device with a hand-driven clock, on the CPU device,
//! and under injected faults. No test sleeps.
#![cfg(not(loom))]

mod encoding;
mod events;
mod executors;
mod held;
mod history;
mod limits;
mod machine;
mod order;
mod soak;
