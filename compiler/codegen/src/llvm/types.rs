//! LLVM's types.

use std::fmt;

use anymetal_ir::Scalar;

use super::LANES;

/// A type that a register holds one of, or that vectors have as elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Element {
    /// An integer of so many bits.
    Int(u32),
    /// `half`.
    Half,
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// A pointer to an address space.
    Ptr(u32),
}

/// The type of an operand, or the result type of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    /// No value.
    Void,
    /// One element.
    Scalar(Element),
    /// A vector of at least one element.
    Vector(usize, Element),
}

pub(crate) const VOID: Type = Type::Void;
pub(crate) const I1: Type = Type::int(1);
pub(crate) const I8: Type = Type::int(8);
pub(crate) const I16: Type = Type::int(16);
pub(crate) const I32: Type = Type::int(32);
pub(crate) const I64: Type = Type::int(64);
pub(crate) const HALF: Type = Type::Scalar(Element::Half);
pub(crate) const FLOAT: Type = Type::Scalar(Element::Float);
pub(crate) const DOUBLE: Type = Type::Scalar(Element::Double);
/// A pointer to the address space that CPUs have, and that GPUs call generic.
pub(crate) const PTR: Type = Type::pointer_to(0);
/// A pointer to a GPU's global memory.
pub(crate) const GLOBAL: Type = Type::pointer_to(1);
/// A pointer to a GPU's threadgroup memory, which NVIDIA calls shared.
pub(crate) const SHARED: Type = Type::pointer_to(3);
/// The type of masks.
pub(crate) const MASK: Type = Type::Vector(LANES, Element::Int(1));

impl Type {
    /// An integer.
    pub(crate) const fn int(bits: u32) -> Self {
        Self::Scalar(Element::Int(bits))
    }

    /// A pointer to an address space.
    pub(crate) const fn pointer_to(space: u32) -> Self {
        Self::Scalar(Element::Ptr(space))
    }

    /// The vector of `n` of this scalar type.
    pub(crate) fn vector(self, n: usize) -> Self {
        assert!(n > 0, "LLVM has no vectors without elements");
        match self {
            Self::Scalar(element) => Self::Vector(n, element),
            Self::Void | Self::Vector(..) => panic!("LLVM has no vectors of {self}"),
        }
    }

    /// The vector of one of this scalar type per lane.
    pub(crate) fn lanes(self) -> Self {
        self.vector(LANES)
    }

    /// The type of an element; a scalar is its own.
    pub(crate) fn element(self) -> Self {
        match self {
            Self::Vector(_, element) => Self::Scalar(element),
            Self::Void | Self::Scalar(_) => self,
        }
    }

    /// The number of elements.
    pub(crate) fn count(self) -> usize {
        match self {
            Self::Void => 0,
            Self::Scalar(_) => 1,
            Self::Vector(count, _) => count,
        }
    }

    /// As many of another scalar type.
    pub(crate) fn with_element(self, element: Self) -> Self {
        match self {
            Self::Vector(count, _) => element.vector(count),
            Self::Void | Self::Scalar(_) => element,
        }
    }

    /// The integers of one bit that a comparison of such operands yields.
    pub(crate) fn condition(self) -> Self {
        self.with_element(I1)
    }

    /// Bits of an element. Pointers have a size that only the target knows.
    pub(crate) fn element_bits(self) -> u32 {
        match self.element() {
            Self::Scalar(Element::Int(bits)) => bits,
            Self::Scalar(Element::Half) => 16,
            Self::Scalar(Element::Float) => 32,
            Self::Scalar(Element::Double) => 64,
            other => panic!("{other} has no known number of bits"),
        }
    }

    /// Bits of the whole type.
    pub(crate) fn bits(self) -> usize {
        self.element_bits() as usize * self.count()
    }

    /// Whether the elements are integers.
    pub(crate) fn is_int(self) -> bool {
        matches!(self.element(), Self::Scalar(Element::Int(_)))
    }

    /// Whether the elements are floating-point numbers.
    pub(crate) fn is_float(self) -> bool {
        matches!(self.element(), Self::Scalar(Element::Half | Element::Float | Element::Double))
    }

    /// Whether it is a pointer, or a vector of pointers.
    pub(crate) fn is_pointer(self) -> bool {
        matches!(self.element(), Self::Scalar(Element::Ptr(_)))
    }

    /// Whether it is a vector.
    pub(crate) fn is_vector(self) -> bool {
        matches!(self, Self::Vector(..))
    }

    /// The suffix of an intrinsic's name for the type.
    pub(crate) fn suffix(self) -> String {
        match self {
            Self::Void => panic!("no intrinsic is overloaded by void"),
            Self::Scalar(Element::Int(bits)) => format!("i{bits}"),
            Self::Scalar(Element::Half) => "f16".to_owned(),
            Self::Scalar(Element::Float) => "f32".to_owned(),
            Self::Scalar(Element::Double) => "f64".to_owned(),
            Self::Scalar(Element::Ptr(space)) => format!("p{space}"),
            Self::Vector(count, element) => format!("v{count}{}", Self::Scalar(element).suffix()),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Void => f.write_str("void"),
            Self::Scalar(Element::Int(bits)) => write!(f, "i{bits}"),
            Self::Scalar(Element::Half) => f.write_str("half"),
            Self::Scalar(Element::Float) => f.write_str("float"),
            Self::Scalar(Element::Double) => f.write_str("double"),
            Self::Scalar(Element::Ptr(0)) => f.write_str("ptr"),
            Self::Scalar(Element::Ptr(space)) => write!(f, "ptr addrspace({space})"),
            Self::Vector(count, element) => write!(f, "<{count} x {}>", Self::Scalar(element)),
        }
    }
}

/// The LLVM type of a scalar. `bfloat` is represented by its bits, so that LLVM never calls its library.
pub(crate) fn scalar_type(scalar: Scalar) -> Type {
    match scalar {
        Scalar::Bool => I1,
        Scalar::I8 => I8,
        Scalar::I16 | Scalar::Bf16 => I16,
        Scalar::I32 => I32,
        Scalar::I64 => I64,
        Scalar::F16 => HALF,
        Scalar::F32 => FLOAT,
    }
}
