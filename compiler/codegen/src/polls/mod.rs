//! Where emitted code polls the stop flag, with which a device ends a kernel past its deadline.
//!
//! A poll in every iteration is too dear where iterations are short. [`PollPlan`] leaves it out where the
//! work between two polls is proven to be small; [`verify`] proves the same of the emitted text, without
//! knowing the plan. Invariant of both: no path from one poll to the next does more work than
//! [`MAX_UNPOLLED_ITERATIONS`](crate::limits::MAX_UNPOLLED_ITERATIONS) iterations.

mod plan;
mod verify;

pub(crate) use plan::{CallWork, LoopPolls, PollPlan, PollTarget, Work};
use verify::check;

/// Checks that emitted text polls in time.
///
/// # Panics
/// If it does not: a deadline would not end the kernel, so the text must not be run.
pub(crate) fn verify(llvm_ir: &str) {
    if let Err(error) = check(llvm_ir) {
        panic!("a kernel might outlive its deadline: {error}");
    }
}
