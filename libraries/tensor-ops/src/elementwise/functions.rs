//! The functions of one and two tensors, as tables: variant, method, function in MSL, types.
//!
//! Owns [`UnaryOp`], [`BinaryOp`], [`Comparison`] and the methods of [`Ops`] that are named after
//! them. Invariant: each has one row, from which its name, method and kernel come.

use super::Computed;
use crate::context::Ops;
use crate::dtype::DType;
use crate::error::OpError;
use crate::tensor::Tensor;

/// Which types a function takes, and of which its result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Typing {
    /// Any type but `bool`; the result has the same.
    Number,
    /// Floating-point results; other types are converted to `f32`.
    Float,
    /// Integers and `bool`.
    Bits,
}

/// The method of one function.
macro_rules! method {
    (unary $name:ident $variant:ident $method:ident $(#[$doc:meta])*) => {
        $(#[$doc])*
        pub fn $method(&self, x: &Tensor) -> Result<Tensor, OpError> {
            self.unary($name::$variant, x)
        }
    };
    (binary $name:ident $variant:ident $method:ident $(#[$doc:meta])*) => {
        $(#[$doc])*
        pub fn $method(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, OpError> {
            self.binary($name::$variant, a, b)
        }
    };
}

/// A table of functions: variant, name in calls and messages, function in MSL, types.
macro_rules! functions {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident $method:ident $kernel:literal $typing:ident,)* }
     $run:ident) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// Its name in calls and messages.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => stringify!($method),)*
                }
            }

            pub(super) fn kernel(self) -> &'static str {
                match self {
                    $($name::$variant => $kernel,)*
                }
            }

            pub(super) fn typing(self) -> Typing {
                match self {
                    $($name::$variant => Typing::$typing,)*
                }
            }
        }

        impl Ops {
            $(
                method!($run $name $variant $method $(#[$doc])*);
            )*
        }
    };
}

functions! {
    /// A function of one tensor.
    UnaryOp {
        /// `-x`; integers wrap.
        Neg neg "op_neg" Number,
        /// The absolute value; that of the least integer is itself.
        Abs abs "op_abs" Number,
        /// -1, 0 or 1; NaN stays.
        Sign sign "op_sign" Number,
        /// `x * x`.
        Square square "op_square" Number,
        /// All bits inverted; of `bool` the negation.
        BitNot bit_not "op_bit_not" Bits,
        /// The square root.
        Sqrt sqrt "op_sqrt" Float,
        /// One over the square root.
        Rsqrt rsqrt "op_rsqrt" Float,
        /// One over `x`.
        Recip recip "op_recip" Float,
        /// e to the `x`.
        Exp exp "op_exp" Float,
        /// 2 to the `x`.
        Exp2 exp2 "op_exp2" Float,
        /// `exp(x) - 1`, exact near zero.
        Expm1 expm1 "op_expm1" Float,
        /// The natural logarithm.
        Log log "op_log" Float,
        /// The logarithm to the base 2.
        Log2 log2 "op_log2" Float,
        /// The logarithm to the base 10.
        Log10 log10 "op_log10" Float,
        /// `log(1 + x)`, exact near zero.
        Log1p log1p "op_log1p" Float,
        /// The sine.
        Sin sin "op_sin" Float,
        /// The cosine.
        Cos cos "op_cos" Float,
        /// The tangent.
        Tan tan "op_tan" Float,
        /// The arc sine.
        Asin asin "op_asin" Float,
        /// The arc cosine.
        Acos acos "op_acos" Float,
        /// The arc tangent.
        Atan atan "op_atan" Float,
        /// The hyperbolic sine.
        Sinh sinh "op_sinh" Float,
        /// The hyperbolic cosine.
        Cosh cosh "op_cosh" Float,
        /// The inverse hyperbolic sine.
        Asinh asinh "op_asinh" Float,
        /// The inverse hyperbolic cosine.
        Acosh acosh "op_acosh" Float,
        /// The inverse hyperbolic tangent.
        Atanh atanh "op_atanh" Float,
        /// The error function, within 6e-7.
        Erf erf "op_erf" Float,
        /// The next integer below.
        Floor floor "op_floor" Float,
        /// The next integer above.
        Ceil ceil "op_ceil" Float,
        /// The nearest integer, of two the even one.
        Round round "op_round" Float,
        /// The next integer towards zero.
        Trunc trunc "op_trunc" Float,
    }
    unary
}

functions! {
    /// A function of two tensors, which broadcast.
    BinaryOp {
        /// The sum; integers wrap, of `bool` it is the disjunction.
        Add add "op_add" Number,
        /// The difference; integers wrap.
        Sub sub "op_sub" Number,
        /// The product; integers wrap.
        Mul mul "op_mul" Number,
        /// The quotient; that of integers is rounded towards zero, and a zero divisor counts as
        /// one.
        Div div "op_div" Number,
        /// The remainder, with the dividend's sign; that of an integer by zero is zero.
        Rem rem "op_rem" Number,
        /// The lesser; NaN if one is.
        Minimum minimum "op_min" Number,
        /// The greater; NaN if one is.
        Maximum maximum "op_max" Number,
        /// The power; integers wrap, and negative powers of integers are rounded towards zero.
        Pow pow "op_pow" Number,
        /// The angle of a point, `y` first.
        Atan2 atan2 "op_atan2" Float,
        /// The length of a vector, without overflow between.
        Hypot hypot "op_hypot" Float,
        /// `log(exp(a) + exp(b))`, without overflow between.
        Logaddexp logaddexp "op_logaddexp" Float,
        /// The first one's size with the second one's sign.
        Copysign copysign "op_copysign" Float,
        /// The bits that both have.
        BitAnd bit_and "op_bit_and" Bits,
        /// The bits that one has.
        BitOr bit_or "op_bit_or" Bits,
        /// The bits that exactly one has.
        BitXor bit_xor "op_bit_xor" Bits,
        /// Shifted left; by the type's width or more, zero.
        Shl shl "op_shl" Bits,
        /// Shifted right, the sign kept; by the type's width or more, as by one less.
        Shr shr "op_shr" Bits,
    }
    binary
}

/// A comparison of two tensors, which broadcast; or logic of what is not zero. The result is
/// `bool`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Both.
    And,
    /// At least one.
    Or,
    /// Exactly one.
    Xor,
}

impl Comparison {
    /// All of them.
    pub const ALL: &'static [Comparison] = &[
        Comparison::Eq,
        Comparison::Ne,
        Comparison::Lt,
        Comparison::Le,
        Comparison::Gt,
        Comparison::Ge,
        Comparison::And,
        Comparison::Or,
        Comparison::Xor,
    ];

    pub(super) fn kernel(self) -> &'static str {
        match self {
            Comparison::Eq => "op_eq",
            Comparison::Ne => "op_ne",
            Comparison::Lt => "op_lt",
            Comparison::Le => "op_le",
            Comparison::Gt => "op_gt",
            Comparison::Ge => "op_ge",
            Comparison::And => "op_logical_and",
            Comparison::Or => "op_logical_or",
            Comparison::Xor => "op_logical_xor",
        }
    }
}

impl Typing {
    pub(super) fn check(
        self,
        operation: &'static str,
        types: &[DType],
        common: DType,
    ) -> Result<Computed, OpError> {
        match self {
            Typing::Float => Ok(Computed { out: common.to_float(), compute: common.to_float() }),
            Typing::Number if common != DType::Bool => Ok(Computed { out: common, compute: common }),
            Typing::Number => Err(OpError::dtype(operation, types, "numbers are needed, not only bool")),
            Typing::Bits if !common.is_float() => Ok(Computed { out: common, compute: common }),
            Typing::Bits => Err(OpError::dtype(operation, types, "only integers and bool have bits")),
        }
    }
}
