//! What is known of a function before it is written.

use anymetal_ir::{Function, Inst, Kernel};

use super::by_value::value_words;
use super::convergence::Convergence;
use super::matrix_layout::MatrixLayout;
use super::uniformity::Uniformity;
use crate::roots::{Pointer, Roots};

/// The results of the analyses of one function.
#[derive(Debug)]
pub(super) struct Analysis {
    /// The allocation of each pointer, by the value's number.
    pub(super) pointers: Vec<Pointer>,
    pub(super) convergence: Convergence,
    /// For each argument how many words a launch may give by value.
    pub(super) value_words: Vec<u32>,
    pub(super) matrix_layout: MatrixLayout,
}

impl Analysis {
    /// Analyses a kernel's function, whose instructions in program order are `order`.
    pub(super) fn new(function: &Function, kernel: &Kernel, order: &[Inst]) -> Self {
        let pointers = Roots::solve(function, kernel, order).pointers;
        let uniformity = Uniformity::new(function, kernel, &pointers);
        let convergence = Convergence::new(function, order, &uniformity);
        let matrix_layout = MatrixLayout::of(function, order, &pointers, &uniformity);
        Self { pointers, convergence, value_words: value_words(function, kernel, order), matrix_layout }
    }
}
