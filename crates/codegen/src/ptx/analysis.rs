//! What is known of a function before it is written.

use anymetal_ir::{Function, Inst, Kernel};

use super::convergence::Convergence;
use super::uniformity::Uniformity;
use crate::roots::{Pointer, Roots};

/// The results of the analyses of one function.
#[derive(Debug)]
pub(super) struct Analysis {
    /// The allocation of each pointer, by the value's number.
    pub(super) pointers: Vec<Pointer>,
    pub(super) convergence: Convergence,
}

impl Analysis {
    /// Analyses a kernel's function, whose instructions in program order are `order`.
    pub(super) fn new(function: &Function, kernel: &Kernel, order: &[Inst]) -> Self {
        let pointers = Roots::solve(function, kernel, order).pointers;
        let uniformity = Uniformity::new(function, kernel, &pointers);
        let convergence = Convergence::new(function, order, &uniformity);
        Self { pointers, convergence }
    }
}
