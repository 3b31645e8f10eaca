//! Operands of instructions: registers and constants, with their types.

use std::borrow::Borrow;
use std::fmt;
use std::rc::Rc;

use super::{DOUBLE, FLOAT, HALF, I1, I32, I64, PTR, Type};

/// An operand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Opd {
    /// An integer constant (of any integer type but `i1`).
    Int(Type, i64),
    /// A register.
    Reg(Type, u32),
    /// Another constant, as text.
    Constant(Type, Rc<str>),
}

impl Opd {
    /// An integer, which the type can represent as signed or as unsigned.
    pub(crate) fn int(ty: Type, value: i64) -> Self {
        let fits = match ty {
            I1 => panic!("constants of type i1 are true and false"),
            Type::Scalar(super::Element::Int(bits)) => {
                bits >= 64 || value >> (bits - 1) == -1 || value >> bits == 0
            }
            _ => panic!("{ty} is not an integer"),
        };
        assert!(fits, "{value} is not a constant of type {ty}");
        Self::Int(ty, value)
    }

    /// An `i32`.
    pub(crate) fn i32(value: i64) -> Self {
        Self::int(I32, value)
    }

    /// An `i64`.
    pub(crate) fn i64(value: i64) -> Self {
        Self::int(I64, value)
    }

    /// A constant of the type as LLVM writes it.
    pub(crate) fn constant(ty: Type, text: impl Into<Rc<str>>) -> Self {
        Self::Constant(ty, text.into())
    }

    /// `true` or `false`.
    pub(crate) fn bool(value: bool) -> Self {
        Self::constant(I1, if value { "true" } else { "false" })
    }

    /// A `float`, which LLVM writes as the `double` of the same value.
    pub(crate) fn float(value: f64) -> Self {
        Self::constant(FLOAT, format!("0x{:016X}", value.to_bits()))
    }

    /// A `double`.
    pub(crate) fn double(value: f64) -> Self {
        Self::constant(DOUBLE, format!("0x{:016X}", value.to_bits()))
    }

    /// A `half` from its bits.
    pub(crate) fn half(bits: u16) -> Self {
        Self::constant(HALF, format!("0xH{bits:04X}"))
    }

    /// The value with no bit set.
    pub(crate) fn zero(ty: Type) -> Self {
        match ty {
            I1 => Self::bool(false),
            Type::Vector(..) => Self::constant(ty, "zeroinitializer"),
            _ if ty.is_int() => Self::int(ty, 0),
            _ if ty.is_pointer() => Self::constant(ty, "null"),
            HALF => Self::half(0),
            _ => Self::constant(ty, "0.0"),
        }
    }

    /// Any value.
    pub(crate) fn poison(ty: Type) -> Self {
        Self::constant(ty, "poison")
    }

    /// The null pointer.
    pub(crate) fn null() -> Self {
        Self::zero(PTR)
    }

    /// The address of a global, with the `@` in its name.
    pub(crate) fn global(name: impl Into<Rc<str>>) -> Self {
        Self::constant(PTR, name)
    }

    /// The vector of `n` times this constant.
    pub(crate) fn splat(&self, n: usize) -> Self {
        let ty = self.ty().vector(n);
        match self {
            Self::Int(_, 0) => Self::zero(ty),
            Self::Constant(_, text) if &**text == "false" => Self::zero(ty),
            Self::Constant(_, text) if &**text == "poison" => Self::poison(ty),
            Self::Int(..) | Self::Constant(..) => Self::constant(ty, format!("splat ({})", self.typed())),
            Self::Reg(..) => panic!("{self} is not a constant"),
        }
    }

    /// The type.
    pub(crate) fn ty(&self) -> Type {
        match *self {
            Self::Int(ty, _) | Self::Reg(ty, _) | Self::Constant(ty, _) => ty,
        }
    }

    /// The operand after its type.
    pub(crate) fn typed(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(move |f| write!(f, "{} {self}", self.ty()))
    }

    fn is_text(&self, text: &str) -> bool {
        matches!(self, Self::Constant(_, t) if &**t == text)
    }

    /// Whether it is this integer.
    pub(crate) fn is_int(&self, value: i64) -> bool {
        matches!(self, Self::Int(_, own) if *own == value)
    }

    /// Whether it is the constant `true`.
    pub(crate) fn is_true(&self) -> bool {
        self.is_text("true")
    }

    /// Whether it is the constant `false`.
    pub(crate) fn is_false(&self) -> bool {
        self.is_text("false")
    }

    /// Whether it is the null pointer.
    pub(crate) fn is_null(&self) -> bool {
        self.is_text("null")
    }

    /// Whether it is the vector of zeros.
    pub(crate) fn is_zeros(&self) -> bool {
        self.is_text("zeroinitializer")
    }

    /// Whether it is a constant.
    pub(crate) fn is_const(&self) -> bool {
        !matches!(self, Self::Reg(..))
    }
}

impl fmt::Display for Opd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(_, n) => write!(f, "{n}"),
            Self::Reg(_, n) => write!(f, "%r{n}"),
            Self::Constant(_, text) => f.write_str(text),
        }
    }
}

/// What can be the last operand of an instruction, where another operand determines the type: an operand, or
/// an integer, which becomes a constant of that type in each element. Zero is one of every type.
pub(crate) trait Like {
    /// The operand, as one of this type.
    fn like(self, ty: Type) -> Opd;
}

impl<T: Borrow<Opd>> Like for &T {
    #[track_caller]
    fn like(self, ty: Type) -> Opd {
        let operand: &Opd = self.borrow();
        assert!(operand.ty() == ty, "{operand} is a {}, not a {ty}", operand.ty());
        operand.clone()
    }
}

impl Like for i64 {
    #[track_caller]
    fn like(self, ty: Type) -> Opd {
        if self == 0 {
            return Opd::zero(ty);
        }
        let element = ty.element();
        let one = Opd::int(element, wrap_int(element, self));
        match ty {
            Type::Vector(n, _) => one.splat(n),
            _ => one,
        }
    }
}

/// The vector of these integers.
pub(crate) fn vector_const(element: Type, values: impl IntoIterator<Item = i64>) -> Opd {
    let values: Vec<i64> = values.into_iter().collect();
    assert!(element.is_int() || values.iter().all(|&v| v == 0), "{element} constants are not integers");
    let ty = element.vector(values.len());
    if values.iter().all(|&v| v == 0) {
        return Opd::zero(ty);
    }
    let one = |v: i64| match element {
        I1 => Opd::bool(v & 1 == 1),
        _ => Opd::int(element, wrap_int(element, v)),
    };
    let items: Vec<String> = values.iter().map(|&v| one(v).typed().to_string()).collect();
    Opd::constant(ty, format!("<{}>", items.join(", ")))
}

/// The integer as a value of that type, sign-extended.
pub(crate) fn wrap_int(ty: Type, value: i64) -> i64 {
    assert!(ty != I1 && ty.is_int() && !ty.is_vector(), "{ty} does not wrap as an integer");
    match ty.element_bits() {
        bits @ 0..64 => value << (64 - bits) >> (64 - bits),
        _ => value,
    }
}
