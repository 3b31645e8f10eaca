//! The runtime's own tests, on Apple's device in the CPU device's place.

#[path = "../../../../runtime/core/tests/exec/encoding.rs"]
mod encoding;
#[path = "../../../../runtime/core/tests/exec/events.rs"]
mod events;
#[path = "../../../../runtime/core/tests/exec/executors.rs"]
mod executors;
#[path = "../../../../runtime/core/tests/exec/held.rs"]
mod held;
#[path = "../../../../runtime/core/tests/exec/history.rs"]
mod history;
#[path = "../../../../runtime/core/tests/exec/limits.rs"]
mod limits;
mod machine;
#[path = "../../../../runtime/core/tests/cpu/memory.rs"]
mod memory;
#[path = "../../../../runtime/core/tests/exec/order.rs"]
mod order;
#[path = "../../../../runtime/core/tests/exec/soak.rs"]
mod soak;
