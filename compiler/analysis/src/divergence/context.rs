//! The input of divergence analysis besides the function: how the code that will run represents private
//! memory and pointers.

use std::ops::Range;

use anymetal_ir::{Block, Function, Inst, Local, Op, Scalar, Space, Type, Value};

use super::{Affine, LANES, Shape};

/// How a pointer's value is represented in registers, and so what its shape describes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PointerForm {
    /// An offset in the binding of one argument.
    ArgumentOffset,
    /// An offset in another allocation.
    Offset,
    /// The allocation is known at run time only: the pointer is encoded in one number.
    Encoded,
}

/// The type of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VariableType {
    /// A number.
    Scalar(Scalar),
    /// A pointer.
    Pointer(PointerForm),
}

/// The private memory that an access covers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PrivateAccess {
    /// Exactly these variables of the context, one per component.
    Variables(Range<usize>),
    /// Bytes of one local.
    Local(Local),
    /// Bytes of some local.
    AnyLocal,
    /// Memory that the analysis does not follow: that of buffers and threadgroups, and private memory about
    /// which the context has no facts.
    Untracked,
}

/// The representation of a function's pointers and private memory. The default is a function whose pointers
/// are followed to the operation that they are computed from, and whose locals are not split.
pub trait DivergenceContext {
    /// The shape of a parameter of the function, by position; a kernel's pointers are at the offset 0.
    fn parameter(&self, _index: usize) -> Shape {
        Shape::Affine(Affine::known([0; LANES]))
    }

    /// Whether all lanes that load untracked memory at one address together get the same value.
    fn loads_agree(&self, function: &Function, pointer: Value) -> bool {
        function.ty(pointer) != Type::Ptr(Space::Thread)
    }

    /// The form of a pointer.
    fn pointer_form(&self, function: &Function, pointer: Value) -> PointerForm {
        match base(function, pointer) {
            Base::Parameter => PointerForm::ArgumentOffset,
            Base::Local(_) | Base::Variable => PointerForm::Offset,
            Base::Unknown => PointerForm::Encoded,
        }
    }

    /// The private memory that an access to a number of bytes covers.
    fn private_access(&self, function: &Function, pointer: Value, _bytes: i64) -> PrivateAccess {
        match base(function, pointer) {
            Base::Local(local) => PrivateAccess::Local(local),
            Base::Unknown if function.ty(pointer) == Type::Ptr(Space::Thread) => PrivateAccess::AnyLocal,
            Base::Parameter | Base::Variable | Base::Unknown => PrivateAccess::Untracked,
        }
    }

    /// The number of variables that the function's locals are split into.
    fn variables(&self) -> usize {
        0
    }

    /// The type of a variable.
    fn variable_type(&self, variable: usize) -> VariableType {
        unreachable!("the context has no variable {variable}")
    }

    /// The variable from which a copy of bytes between private memory takes the contents of another.
    fn copied_variable(&self, to: usize, _dst: Value, _src: Value, _bytes: i64) -> Option<usize> {
        unreachable!("the context has no variable {to}")
    }

    /// Whether a variable is live where a block begins.
    fn is_live_at_entry(&self, _block: Block, variable: usize) -> bool {
        unreachable!("the context has no variable {variable}")
    }

    /// Whether a variable is live after an instruction.
    fn is_live_after(&self, _inst: Inst, variable: usize) -> bool {
        unreachable!("the context has no variable {variable}")
    }

    /// Whether a construct's control flow runs once per threadgroup, so that all threads agree on its
    /// condition.
    fn runs_per_threadgroup(&self, _construct: Inst) -> bool {
        false
    }
}

/// The default context, for code in which lanes that load from one address together get one value.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainContext;

impl DivergenceContext for PlainContext {}

/// The operation at which the computation of a pointer starts.
enum Base {
    Parameter,
    Local(Local),
    /// A variable of the threadgroup or a constant datum.
    Variable,
    /// A choice, or a pointer from memory.
    Unknown,
}

fn base(function: &Function, mut pointer: Value) -> Base {
    loop {
        match function.def(pointer) {
            Some(Op::PtrAdd { base, .. }) => pointer = *base,
            Some(Op::LocalAddr(local)) => return Base::Local(*local),
            Some(Op::ThreadgroupAddr(_) | Op::GlobalAddr(_)) => return Base::Variable,
            None if function.params.contains(&pointer) => return Base::Parameter,
            _ => return Base::Unknown,
        }
    }
}
