//! Library functions: their names, results and arguments.

use crate::Type;

/// Library functions, elementwise on vectors. Arguments and result have the same float type unless
/// said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "the names are the MSL specification's, §6.5")]
pub enum MathFn {
    Sin,
    Cos,
    Tan,
    SinPi,
    CosPi,
    TanPi,
    Asin,
    Acos,
    Atan,
    Atan2,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Exp,
    Exp2,
    Exp10,
    Log,
    Log2,
    Log10,
    Pow,
    Powr,
    Sqrt,
    Rsqrt,
    Fma,
    FAbs,
    Floor,
    Ceil,
    Trunc,
    Rint,
    Round,
    Fmod,
    FMin,
    FMax,
    CopySign,
    NextAfter,
    Ldexp,
    /// Mantissa of `frexp`, in ±[0.5, 1).
    FrexpMantissa,
    /// Exponent of `frexp`; the result is `I32` of the same shape.
    FrexpExponent,
    /// Exponent as integer (`ilogb`); the result is `I32` of the same shape.
    Ilogb,
    IsNan,
    IsInf,
    IsFinite,
    IsNormal,
    SignBit,
    /// Integer functions; result of the argument's type.
    PopCount,
    Clz,
    Ctz,
    ReverseBits,
    /// Reciprocal-free division as `metal::divide`/`fast::divide`.
    Divide,
}

impl MathFn {
    /// The result type for a first argument of type `arg`.
    pub fn result_type(self, arg: Type) -> Type {
        match self {
            Self::IsNan | Self::IsInf | Self::IsFinite | Self::IsNormal | Self::SignBit => {
                arg.with_scalar(crate::Scalar::Bool)
            }
            Self::FrexpExponent | Self::Ilogb => arg.with_scalar(crate::Scalar::I32),
            _ => arg,
        }
    }

    /// Number of arguments. `Ldexp`'s second is `I32` of the same shape.
    pub fn arity(self) -> usize {
        match self {
            Self::Fma => 3,
            Self::Atan2
            | Self::Pow
            | Self::Powr
            | Self::Fmod
            | Self::FMin
            | Self::FMax
            | Self::CopySign
            | Self::NextAfter
            | Self::Ldexp
            | Self::Divide => 2,
            _ => 1,
        }
    }
}
