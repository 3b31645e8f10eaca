//! What is known of a function before it is written.

use anymetal_analysis::{MemoryObjects, ObjectSet};
use anymetal_ir::{Access, Function, Inst, Kernel, Module, Space, Type, Value};

use super::by_value::value_words;
use super::convergence::Convergence;
use super::matrix_layout::MatrixLayout;
use anymetal_analysis::divergence::{Divergence, DivergenceContext, Geometry, PointerForm, PrivateAccess};
use anymetal_analysis::roots::{Pointer, Root, Roots};

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
    pub(super) fn new(
        (module, kernel): (&Module, &Kernel),
        function: &Function,
        order: &[Inst],
        geometry: Geometry,
    ) -> Self {
        let pointers =
            Roots::solve(function, kernel.args.iter().map(|argument| argument.enabled), order).pointers;
        let stored = MemoryObjects::of(module, function).stored();
        let context = Context { kernel, stored, pointers: &pointers };
        let divergence = Divergence::of(function, geometry, &context);
        let convergence = Convergence::new(function, order, &divergence);
        let matrix_layout = MatrixLayout::of(function, order, &pointers, &divergence);
        Self { pointers, convergence, value_words: value_words(function, kernel, order), matrix_layout }
    }
}

/// The kernel's memory on a GPU.
struct Context<'a> {
    kernel: &'a Kernel,
    stored: ObjectSet,
    pointers: &'a [Pointer],
}

impl DivergenceContext for Context<'_> {
    /// Lanes agree on memory that no thread writes. They need not load together.
    fn loads_agree(&self, function: &Function, pointer: Value) -> bool {
        match self.pointers[pointer.index()].root {
            Root::Global(_) => true,
            Root::Argument(index) => {
                let is_written =
                    self.kernel.args[index].access != Access::Read || self.stored.has_parameter(index);
                function.ty(pointer) == Type::Ptr(Space::Constant) || !is_written
            }
            _ => false,
        }
    }

    fn pointer_form(&self, _function: &Function, pointer: Value) -> PointerForm {
        self.pointers[pointer.index()].root.form()
    }

    fn private_access(&self, function: &Function, pointer: Value, _bytes: i64) -> PrivateAccess {
        self.pointers[pointer.index()].root.private_access(function.pointer_space(pointer))
    }
}
