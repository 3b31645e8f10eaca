//! The runtime's own tests, on Apple's device in the CPU device's place.

#[path = "../../../../crates/runtime/tests/exec/encoding.rs"]
mod encoding;
#[path = "../../../../crates/runtime/tests/exec/events.rs"]
mod events;
#[path = "../../../../crates/runtime/tests/exec/executors.rs"]
mod executors;
#[path = "../../../../crates/runtime/tests/exec/held.rs"]
mod held;
#[path = "../../../../crates/runtime/tests/exec/history.rs"]
mod history;
#[path = "../../../../crates/runtime/tests/exec/limits.rs"]
mod limits;
mod machine;
#[path = "../../../../crates/runtime/tests/cpu/memory.rs"]
mod memory;
#[path = "../../../../crates/runtime/tests/exec/order.rs"]
mod order;
#[path = "../../../../crates/runtime/tests/exec/soak.rs"]
mod soak;
