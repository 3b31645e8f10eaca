//! Arithmetic: operations on one or two values, comparisons, conversions, and how exact floats are.

/// How far float arithmetic may deviate from IEEE 754 (MSL specification §1.6.6, math modes).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum FpMode {
    /// Exactly IEEE 754; contraction only where the program says `fma`.
    Safe,
    /// Contraction, reassociation, reciprocals; NaN and infinities honoured.
    Relaxed,
    /// As relaxed, and no NaN or infinity is assumed to occur.
    #[default]
    Fast,
}

/// Operations on one value, elementwise on vectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnOp {
    /// Float negation.
    FNeg,
    /// Integer negation.
    INeg,
    /// Bitwise complement of integers, logical not of `bool`.
    Not,
}

/// Operations on two values of the same type, elementwise on vectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are LLVM's")]
pub enum BinOp {
    FAdd,
    FSub,
    FMul,
    FDiv,
    FRem,
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
    /// High half of the unsigned product.
    UMulHi,
    /// High half of the signed product.
    SMulHi,
    UMin,
    UMax,
    SMin,
    SMax,
    /// Saturating integer addition and subtraction.
    UAddSat,
    SAddSat,
    USubSat,
    SSubSat,
}

/// Comparisons; the result is `bool` or a vector of it. `I*` compare integers, `bool`s (Eq, Ne
/// only) and pointers (Eq, Ne, and the unsigned orders within one allocation). `Disjoint` compares pointers
/// only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are LLVM's")]
pub enum CmpOp {
    Eq,
    Ne,
    ULt,
    ULe,
    UGt,
    UGe,
    SLt,
    SLe,
    SGt,
    SGe,
    /// Ordered float comparisons: false if an operand is NaN.
    FEq,
    FLt,
    FLe,
    FGt,
    FGe,
    /// Unordered float inequality: true if an operand is NaN.
    FNe,
    /// True only if no byte of device memory can be accessed through the allocations of both pointers. An
    /// executor may return false for allocations that it does not know.
    Disjoint,
}

impl CmpOp {
    /// The comparison of the operands in the other order.
    #[must_use]
    pub fn swapped(self) -> Self {
        match self {
            Self::Eq | Self::Ne | Self::FEq | Self::FNe | Self::Disjoint => self,
            Self::ULt => Self::UGt,
            Self::ULe => Self::UGe,
            Self::UGt => Self::ULt,
            Self::UGe => Self::ULe,
            Self::SLt => Self::SGt,
            Self::SLe => Self::SGe,
            Self::SGt => Self::SLt,
            Self::SGe => Self::SLe,
            Self::FLt => Self::FGt,
            Self::FLe => Self::FGe,
            Self::FGt => Self::FLt,
            Self::FGe => Self::FLe,
        }
    }

    /// The comparison that holds exactly when this one does not; floats have one only for equality, and
    /// `Disjoint` has none.
    pub fn negated(self) -> Option<Self> {
        Some(match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::ULt => Self::UGe,
            Self::ULe => Self::UGt,
            Self::UGt => Self::ULe,
            Self::UGe => Self::ULt,
            Self::SLt => Self::SGe,
            Self::SLe => Self::SGt,
            Self::SGt => Self::SLe,
            Self::SGe => Self::SLt,
            Self::FEq => Self::FNe,
            Self::FNe => Self::FEq,
            Self::FLt | Self::FLe | Self::FGt | Self::FGe | Self::Disjoint => return None,
        })
    }
}

/// Conversions; the result type is the instruction's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CastOp {
    /// To a narrower integer.
    Trunc,
    /// To a wider integer, zeros above; from `bool` 0 or 1.
    ZExt,
    /// To a wider integer, sign above.
    SExt,
    /// Between float types, rounding to nearest even.
    FCast,
    /// Float to signed integer: truncates, saturates, NaN gives 0.
    FToS,
    /// Float to unsigned integer: truncates, saturates, NaN gives 0.
    FToU,
    /// Signed integer to float.
    SToF,
    /// Unsigned integer or `bool` to float.
    UToF,
    /// Same bits, another type of the same total size (vectors may change their element count).
    Bitcast,
    /// Pointer to its 64-bit representation.
    PtrToInt,
    /// 64-bit representation to pointer; only bits that came from a pointer give one that may be
    /// accessed.
    IntToPtr,
}
