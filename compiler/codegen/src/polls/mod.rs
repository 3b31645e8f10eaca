//! Where emitted code polls the stop flag, with which a device ends a kernel past its deadline.
//!
//! A poll in every iteration is too dear where iterations are short. [`PollPlan`] leaves it out where the
//! work between two polls is proven to be small; [`verify`] proves the same of the emitted text, without
//! knowing the plan. Invariant of both: no path from one poll to the next does more work than
//! [`MAX_ITERATIONS`] iterations.

mod plan;
mod verify;

pub(crate) use plan::{CallWork, LoopPolls, PollPlan, PollTarget, Work};
use verify::check;

/// The most iterations between two polls.
pub(crate) const MAX_ITERATIONS: u64 = 1 << 16;

/// Pieces of a copy above which its loop polls.
pub(crate) const MAX_UNPOLLED_PIECES: u64 = 1 << 10;

/// Checks that emitted text polls in time.
///
/// # Panics
/// If it does not: a deadline would not end the kernel, so the text must not be run.
pub(crate) fn verify(llvm_ir: &str) {
    if let Err(error) = check(llvm_ir) {
        panic!("a kernel might outlive its deadline: {error}");
    }
}
