//! What is known of a function before it is written.

use anymetal_analysis::{MemoryObjects, ObjectSet};
use anymetal_ir::{Access, Function, Inst, Kernel, Module, Space, Type, Value};

use super::by_value::value_words;
use super::convergence::Convergence;
use super::matrix_layout::MatrixLayout;
use crate::roots::{Pointer, Root, Roots};
use crate::uniformity::{Uniformity, Varying};

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
    pub(super) fn new(module: &Module, function: &Function, kernel: &Kernel, order: &[Inst]) -> Self {
        let pointers =
            Roots::solve(function, kernel.args.iter().map(|argument| argument.enabled), order).pointers;
        let stored = MemoryObjects::of(module, function).stored();
        let loads = |root, from| load_varies(function, (kernel, stored), root, from);
        let uniformity = Uniformity::new(function, &Varying { params: &|_| false, loads: &loads }, &pointers);
        let convergence = Convergence::new(function, order, &uniformity);
        let matrix_layout = MatrixLayout::of(function, order, &pointers, &uniformity);
        Self { pointers, convergence, value_words: value_words(function, kernel, order), matrix_layout }
    }
}

/// Memory that no thread writes gives all lanes the same. What other threads write meanwhile may not.
fn load_varies(function: &Function, (kernel, stored): (&Kernel, ObjectSet), root: Root, from: Value) -> bool {
    match root {
        Root::Global(_) => false,
        Root::Argument(index) => {
            let constant = function.ty(from) == Type::Ptr(Space::Constant);
            !constant && (kernel.args[index].access != Access::Read || stored.has_parameter(index))
        }
        _ => true,
    }
}
