//! Opcodes, predicates and orderings by LLVM's names.

use std::fmt;

use anymetal_ir::AtomicOp;

/// An enum whose variants are words of LLVM's language.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum $name {
            $($variant,)*
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $word,)* })
            }
        }
    };
}

words! {
    /// An operation on two operands of one type, which is the result's.
    Binary {
        Add = "add",
        Sub = "sub",
        Mul = "mul",
        UDiv = "udiv",
        SDiv = "sdiv",
        URem = "urem",
        SRem = "srem",
        And = "and",
        Or = "or",
        Xor = "xor",
        Shl = "shl",
        LShr = "lshr",
        AShr = "ashr",
        FAdd = "fadd",
        FSub = "fsub",
        FMul = "fmul",
        FDiv = "fdiv",
    }
}

words! {
    /// A conversion.
    Cast {
        Bitcast = "bitcast",
        Trunc = "trunc",
        ZExt = "zext",
        SExt = "sext",
        FpTrunc = "fptrunc",
        FpExt = "fpext",
        UiToFp = "uitofp",
        SiToFp = "sitofp",
        FpToUi = "fptoui",
        FpToSi = "fptosi",
        PtrToInt = "ptrtoint",
    }
}

words! {
    /// A comparison of integers or pointers.
    IntPredicate {
        Eq = "eq",
        Ne = "ne",
        ULt = "ult",
        ULe = "ule",
        UGt = "ugt",
        UGe = "uge",
        SLt = "slt",
        SLe = "sle",
        SGt = "sgt",
        SGe = "sge",
    }
}

words! {
    /// A comparison of floating-point numbers. The first letter is the result for NaN: ordered is false.
    FloatPredicate {
        Oeq = "oeq",
        Olt = "olt",
        Ole = "ole",
        Ogt = "ogt",
        Oge = "oge",
        Ord = "ord",
        Une = "une",
        Uno = "uno",
    }
}

words! {
    /// The operation of an `atomicrmw`.
    Rmw {
        Exchange = "xchg",
        Add = "add",
        Sub = "sub",
        And = "and",
        Or = "or",
        Xor = "xor",
        UMin = "umin",
        UMax = "umax",
        SMin = "min",
        SMax = "max",
        FAdd = "fadd",
    }
}

impl Binary {
    /// Whether it computes in floating-point numbers.
    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::FAdd | Self::FSub | Self::FMul | Self::FDiv)
    }
}

impl From<AtomicOp> for Rmw {
    fn from(op: AtomicOp) -> Self {
        match op {
            AtomicOp::Exchange => Self::Exchange,
            AtomicOp::Add => Self::Add,
            AtomicOp::Sub => Self::Sub,
            AtomicOp::And => Self::And,
            AtomicOp::Or => Self::Or,
            AtomicOp::Xor => Self::Xor,
            AtomicOp::UMin => Self::UMin,
            AtomicOp::UMax => Self::UMax,
            AtomicOp::SMin => Self::SMin,
            AtomicOp::SMax => Self::SMax,
            AtomicOp::FAdd => Self::FAdd,
        }
    }
}
