//! Verifies that emitted code polls the stop flag, with which a device ends a kernel past its deadline.
//!
//! A poll in every iteration is too dear where iterations are short. `anymetal_analysis::polls` leaves it out
//! where the work between two polls is proven to be small; [`verify`] proves the same of the emitted text,
//! without knowing the plan. Invariant of both: no path from one poll to the next does more work than
//! [`MAX_UNPOLLED_ITERATIONS`](anymetal_analysis::limits::MAX_UNPOLLED_ITERATIONS) iterations.

mod verify;

use anymetal_analysis::limits::MAX_UNPOLLED_PIECES;

use crate::llvm::Bound;

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

/// The bound of a loop over the pieces of a range; with many pieces it polls.
pub(crate) fn bound_of_pieces(pieces: u64) -> Option<Bound> {
    (pieces <= MAX_UNPOLLED_PIECES).then_some(Bound::Trips(pieces))
}
