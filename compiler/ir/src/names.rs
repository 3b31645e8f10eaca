//! The text form's names of operations: one table per enum, read by the printer and the parser.

use crate::op::{CastOp, CmpOp};
use crate::{
    Access, ArgKind, AtomicOp, BarrierScope, BinOp, FpMode, MathFn, MatrixOp, Op, PrefetchHint, Query,
    Scalar, SimdOp, Space, UnOp,
};

macro_rules! names {
    ($enum:ident { $($variant:ident = $name:literal,)* }) => {
        impl $enum {
            /// Every variant, in order of declaration.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in the text form.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The inverse of [`Self::name`].
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

names!(FpMode {
    Safe = "safe",
    Relaxed = "relaxed",
    Fast = "fast",
});

names!(UnOp {
    FNeg = "fneg",
    INeg = "ineg",
    Not = "not",
});

names!(BinOp {
    FAdd = "fadd",
    FSub = "fsub",
    FMul = "fmul",
    FDiv = "fdiv",
    FRem = "frem",
    Add = "add",
    Sub = "sub",
    Mul = "mul",
    UDiv = "udiv",
    SDiv = "sdiv",
    URem = "urem",
    SRem = "srem",
    Shl = "shl",
    LShr = "lshr",
    AShr = "ashr",
    And = "and",
    Or = "or",
    Xor = "xor",
    UMulHi = "umul_hi",
    SMulHi = "smul_hi",
    UMin = "umin",
    UMax = "umax",
    SMin = "smin",
    SMax = "smax",
    UAddSat = "uadd_sat",
    SAddSat = "sadd_sat",
    USubSat = "usub_sat",
    SSubSat = "ssub_sat",
});

names!(CmpOp {
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
    FEq = "feq",
    FLt = "flt",
    FLe = "fle",
    FGt = "fgt",
    FGe = "fge",
    FNe = "fne",
    Disjoint = "disjoint",
});

names!(CastOp {
    Trunc = "trunc",
    ZExt = "zext",
    SExt = "sext",
    FCast = "fcast",
    FToS = "ftos",
    FToU = "ftou",
    SToF = "stof",
    UToF = "utof",
    Bitcast = "bitcast",
    PtrToInt = "ptr_to_int",
    IntToPtr = "int_to_ptr",
});

names!(MathFn {
    Sin = "sin",
    Cos = "cos",
    Tan = "tan",
    SinPi = "sin_pi",
    CosPi = "cos_pi",
    TanPi = "tan_pi",
    Asin = "asin",
    Acos = "acos",
    Atan = "atan",
    Atan2 = "atan2",
    Sinh = "sinh",
    Cosh = "cosh",
    Tanh = "tanh",
    Asinh = "asinh",
    Acosh = "acosh",
    Atanh = "atanh",
    Exp = "exp",
    Exp2 = "exp2",
    Exp10 = "exp10",
    Log = "log",
    Log2 = "log2",
    Log10 = "log10",
    Pow = "pow",
    Powr = "powr",
    Sqrt = "sqrt",
    Rsqrt = "rsqrt",
    Fma = "fma",
    FAbs = "fabs",
    Floor = "floor",
    Ceil = "ceil",
    Trunc = "trunc",
    Rint = "rint",
    Round = "round",
    Fmod = "fmod",
    FMin = "fmin",
    FMax = "fmax",
    CopySign = "copy_sign",
    NextAfter = "next_after",
    Ldexp = "ldexp",
    FrexpMantissa = "frexp_mantissa",
    FrexpExponent = "frexp_exponent",
    Ilogb = "ilogb",
    IsNan = "is_nan",
    IsInf = "is_inf",
    IsFinite = "is_finite",
    IsNormal = "is_normal",
    SignBit = "sign_bit",
    PopCount = "pop_count",
    Clz = "clz",
    Ctz = "ctz",
    ReverseBits = "reverse_bits",
    Divide = "divide",
});

names!(AtomicOp {
    Exchange = "exchange",
    Add = "add",
    Sub = "sub",
    And = "and",
    Or = "or",
    Xor = "xor",
    UMin = "umin",
    UMax = "umax",
    SMin = "smin",
    SMax = "smax",
    FAdd = "fadd",
});

names!(PrefetchHint {
    Read = "prefetch",
    StreamRead = "prefetch_stream",
    ReadL2 = "prefetch_l2",
    Write = "prefetch_write",
    WriteL2 = "prefetch_write_l2",
    WriteWhole = "prefetch_write_whole",
});

names!(BarrierScope {
    Grid = "grid",
    Threadgroup = "threadgroup",
    Simdgroup = "simdgroup",
    Thread = "thread",
});

names!(SimdOp {
    Sum = "sum",
    Product = "product",
    FMin = "fmin",
    FMax = "fmax",
    UMin = "umin",
    UMax = "umax",
    SMin = "smin",
    SMax = "smax",
    And = "and",
    Or = "or",
    Xor = "xor",
    PrefixInclusiveSum = "prefix_inclusive_sum",
    PrefixExclusiveSum = "prefix_exclusive_sum",
    PrefixInclusiveProduct = "prefix_inclusive_product",
    PrefixExclusiveProduct = "prefix_exclusive_product",
    Shuffle = "shuffle",
    ShuffleXor = "shuffle_xor",
    ShuffleUp = "shuffle_up",
    ShuffleDown = "shuffle_down",
    RotateUp = "rotate_up",
    RotateDown = "rotate_down",
    ShuffleAndFillUp = "shuffle_and_fill_up",
    ShuffleAndFillDown = "shuffle_and_fill_down",
    Broadcast = "broadcast",
    BroadcastFirst = "broadcast_first",
    Any = "any",
    All = "all",
    Ballot = "ballot",
    ActiveMask = "active_mask",
    IsFirst = "is_first",
    QuadSum = "quad_sum",
    QuadProduct = "quad_product",
    QuadFMin = "quad_fmin",
    QuadFMax = "quad_fmax",
    QuadUMin = "quad_umin",
    QuadUMax = "quad_umax",
    QuadSMin = "quad_smin",
    QuadSMax = "quad_smax",
    QuadAnd = "quad_and",
    QuadOr = "quad_or",
    QuadXor = "quad_xor",
    QuadPrefixInclusiveSum = "quad_prefix_inclusive_sum",
    QuadPrefixExclusiveSum = "quad_prefix_exclusive_sum",
    QuadPrefixInclusiveProduct = "quad_prefix_inclusive_product",
    QuadPrefixExclusiveProduct = "quad_prefix_exclusive_product",
    QuadBroadcast = "quad_broadcast",
    QuadShuffle = "quad_shuffle",
    QuadShuffleXor = "quad_shuffle_xor",
    QuadShuffleUp = "quad_shuffle_up",
    QuadShuffleDown = "quad_shuffle_down",
});

names!(Access {
    Read = "read",
    Write = "write",
    ReadWrite = "read_write",
});

names!(ArgKind {
    Buffer = "buffer",
    ThreadgroupMemory = "threadgroup_memory",
});

type QueryOfComponent = fn(u8) -> Query;

/// The queries with a component (first table) and without.
const VECTOR_QUERIES: &[(&str, QueryOfComponent)] = &[
    ("thread_position_in_grid", Query::ThreadPositionInGrid),
    ("thread_position_in_threadgroup", Query::ThreadPositionInThreadgroup),
    ("threadgroup_position_in_grid", Query::ThreadgroupPositionInGrid),
    ("threads_per_grid", Query::ThreadsPerGrid),
    ("threads_per_threadgroup", Query::ThreadsPerThreadgroup),
    ("dispatch_threads_per_threadgroup", Query::DispatchThreadsPerThreadgroup),
    ("threadgroups_per_grid", Query::ThreadgroupsPerGrid),
];
const SCALAR_QUERIES: &[(&str, Query)] = &[
    ("thread_index_in_threadgroup", Query::ThreadIndexInThreadgroup),
    ("thread_index_in_simdgroup", Query::ThreadIndexInSimdgroup),
    ("simdgroup_index_in_threadgroup", Query::SimdgroupIndexInThreadgroup),
    ("simdgroups_per_threadgroup", Query::SimdgroupsPerThreadgroup),
    ("dispatch_simdgroups_per_threadgroup", Query::DispatchSimdgroupsPerThreadgroup),
    ("threads_per_simdgroup", Query::ThreadsPerSimdgroup),
    ("thread_index_in_quadgroup", Query::ThreadIndexInQuadgroup),
    ("quadgroup_index_in_threadgroup", Query::QuadgroupIndexInThreadgroup),
    ("quadgroups_per_threadgroup", Query::QuadgroupsPerThreadgroup),
];

impl Query {
    /// The name in the text form, such as `thread_position_in_grid.x`.
    pub fn name(self) -> String {
        for (name, make) in VECTOR_QUERIES {
            for component in 0..3 {
                if make(component) == self {
                    return format!("{name}.{}", ["x", "y", "z"][usize::from(component)]);
                }
            }
        }
        let found = SCALAR_QUERIES.iter().find(|(_, query)| *query == self);
        // Only a component above 2, which the verifier rejects, has no name.
        found.map_or_else(|| "invalid".to_owned(), |(name, _)| (*name).to_owned())
    }

    /// The inverse of [`Self::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some((base, component)) = name.split_once('.') {
            let component = ["x", "y", "z"].iter().position(|&c| c == component)?;
            let (_, make) = VECTOR_QUERIES.iter().find(|(name, _)| *name == base)?;
            return Some(make(component as u8));
        }
        SCALAR_QUERIES.iter().find(|(n, _)| *n == name).map(|&(_, query)| query)
    }

    /// Whether the value is uniform over a threadgroup.
    pub fn is_group_uniform(self) -> bool {
        !matches!(
            self,
            Self::ThreadPositionInGrid(_)
                | Self::ThreadPositionInThreadgroup(_)
                | Self::ThreadIndexInThreadgroup
                | Self::ThreadIndexInSimdgroup
                | Self::SimdgroupIndexInThreadgroup
                | Self::ThreadIndexInQuadgroup
                | Self::QuadgroupIndexInThreadgroup
        )
    }

    /// The component, if the query has one.
    pub fn component(self) -> Option<u8> {
        match self {
            Self::ThreadPositionInGrid(c)
            | Self::ThreadPositionInThreadgroup(c)
            | Self::ThreadgroupPositionInGrid(c)
            | Self::ThreadsPerGrid(c)
            | Self::ThreadsPerThreadgroup(c)
            | Self::DispatchThreadsPerThreadgroup(c)
            | Self::ThreadgroupsPerGrid(c) => Some(c),
            _ => None,
        }
    }
}

impl MatrixOp {
    /// Every operation.
    pub const ALL: &[Self] = &[
        Self::Load { transpose: false },
        Self::Load { transpose: true },
        Self::Store { transpose: false },
        Self::Store { transpose: true },
        Self::MultiplyAccumulate,
    ];

    /// The name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Load { transpose: false } => "load",
            Self::Load { transpose: true } => "load_transposed",
            Self::Store { transpose: false } => "store",
            Self::Store { transpose: true } => "store_transposed",
            Self::MultiplyAccumulate => "multiply_accumulate",
        }
    }

    /// The inverse of [`Self::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.name() == name)
    }
}

impl Scalar {
    /// Every scalar type.
    pub const ALL: &[Self] =
        &[Self::Bool, Self::I8, Self::I16, Self::I32, Self::I64, Self::F16, Self::Bf16, Self::F32];

    /// The inverse of [`Self::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|scalar| scalar.name() == name)
    }
}

impl Space {
    /// Every address space.
    pub const ALL: &[Self] = &[Self::Device, Self::Constant, Self::Threadgroup, Self::Thread];

    /// The inverse of [`Self::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|space| space.name() == name)
    }
}

impl Op {
    /// Whether the instruction's [`FpMode`] can matter to it; only then does the text form show it.
    pub fn has_fp_mode(&self) -> bool {
        match self {
            Self::Unary(op, _) => *op == UnOp::FNeg,
            Self::Binary(op, ..) => op.is_float(),
            Self::Compare(op, ..) => op.is_float(),
            Self::Cast(op, _) => {
                matches!(op, CastOp::FCast | CastOp::FToS | CastOp::FToU | CastOp::SToF | CastOp::UToF)
            }
            Self::Math(..) | Self::Simd(..) | Self::Matrix(..) => true,
            Self::AtomicRmw(op, ..) => *op == AtomicOp::FAdd,
            _ => false,
        }
    }
}

impl BinOp {
    /// Whether it works on floats.
    pub fn is_float(self) -> bool {
        matches!(self, Self::FAdd | Self::FSub | Self::FMul | Self::FDiv | Self::FRem)
    }
}

impl CmpOp {
    /// Whether it compares floats.
    pub fn is_float(self) -> bool {
        matches!(self, Self::FEq | Self::FLt | Self::FLe | Self::FGt | Self::FGe | Self::FNe)
    }
}
