//! Analyses of a function that several passes and code generators use.
//!
//! All of them cover only the instructions that the function's body reaches.

#![forbid(unsafe_code)]

mod addresses;
mod callable;
mod counted_loops;
mod definite_stores;
pub mod divergence;
mod incoming;
pub mod limits;
mod linear;
mod locals;
mod memory;
mod memory_objects;
mod narrow;
pub mod patterns;
mod pointer_slots;
pub mod polls;
pub mod ranges;
pub mod roots;
mod threadgroups;
mod uses;
mod waiting_loops;
mod walk;

pub use addresses::{function_loads_pointers, loads_pointers};
pub use callable::{has_callable_arguments, is_callable, private_pointers};
pub use counted_loops::{
    ComparedCounter, ConstantTrips, CountedLoop, CountedLoops, CounterRange, ExitTest, TripCounts,
    as_exit_test, constant_trips, constant_trips_up_to, exit_test,
};
pub use definite_stores::definitely_stored;
pub use incoming::IncomingValues;
pub use linear::{Linear, TermClass, TermPolicy};
pub use locals::{LocalPointers, LocalUse, Variables, local_pointers, local_uses};
pub use memory::{Memory, leaves_shared_memory, may_change};
pub use memory_objects::{MemoryObjects, ObjectSet, StoreSummaries};
pub use narrow::{Bounds, constants_taken_out};
pub use pointer_slots::PointerSlots;
pub use threadgroups::observes_threadgroups;
pub use uses::{use_counts, used_functions};
pub use waiting_loops::{waiting_loops, waits_for_threads};
pub use walk::{jumps_out, nesting, textual_ranges, walk_insts};
