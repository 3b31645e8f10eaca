//! Operations. What they mean beyond their one-line comments stands in the crate documentation.

use crate::{Block, FuncId, FunctionConstantId, GlobalId, Label, Local, ThreadgroupId, Type, Value};

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
/// only) and pointers (Eq, Ne, and the unsigned orders within one allocation).
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

/// Read-modify-write operations; the result is the old value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are LLVM's")]
pub enum AtomicOp {
    Exchange,
    Add,
    Sub,
    And,
    Or,
    Xor,
    UMin,
    UMax,
    SMin,
    SMax,
    FAdd,
}

/// The access that a hint to the caches announces.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Awaited {
    /// A load, soon.
    Read,
    /// A load that goes on where this one is: in the next threadgroup's row, or further along a stretch. Processors
    /// differ in how near the line is to come.
    OnwardRead,
    /// One of many loads that follow when all else is done: a core has few places for lines on their way to
    /// the first level of caches, and would wait for one.
    LaterRead,
    /// A store.
    Write,
    /// A store in the next threadgroup's row, as [`Self::OnwardRead`].
    OnwardWrite,
}

/// What a thread can ask about itself; each gives one `I32`. Components are 0, 1, 2 for x, y, z.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "the names are MSL's attributes, §5.2.3.6")]
pub enum Query {
    ThreadPositionInGrid(u8),
    ThreadPositionInThreadgroup(u8),
    ThreadgroupPositionInGrid(u8),
    ThreadsPerGrid(u8),
    /// Threads of *this* threadgroup (smaller at the grid's edge).
    ThreadsPerThreadgroup(u8),
    /// Threads of a full threadgroup, as dispatched.
    DispatchThreadsPerThreadgroup(u8),
    ThreadgroupsPerGrid(u8),
    ThreadIndexInThreadgroup,
    ThreadIndexInSimdgroup,
    SimdgroupIndexInThreadgroup,
    SimdgroupsPerThreadgroup,
    DispatchSimdgroupsPerThreadgroup,
    ThreadsPerSimdgroup,
    ThreadIndexInQuadgroup,
    QuadgroupIndexInThreadgroup,
    QuadgroupsPerThreadgroup,
}

/// Who meets at a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BarrierScope {
    /// All threads of the threadgroup.
    Threadgroup,
    /// All active threads of the SIMD-group.
    Simdgroup,
    /// Nobody else: between launches made into one. What the thread wrote before is read from memory behind,
    /// so that no arithmetic of one launch is contracted or reassociated with the other's.
    Thread,
}

/// SIMD-group (and quad-group) operations over the active lanes (MSL specification §6.9). The
/// first argument is the value; it may be a scalar or a vector of any scalar type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SimdOp {
    /// Float or integer sum, by the value's type.
    Sum,
    /// Product.
    Product,
    /// Float minimum and maximum.
    FMin,
    /// Float maximum.
    FMax,
    /// Unsigned minimum.
    UMin,
    /// Unsigned maximum.
    UMax,
    /// Signed minimum.
    SMin,
    /// Signed maximum.
    SMax,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Sum of the lower active lanes and this one.
    PrefixInclusiveSum,
    /// Sum of the lower active lanes; 0 for the first.
    PrefixExclusiveSum,
    /// Product of the lower active lanes and this one.
    PrefixInclusiveProduct,
    /// Product of the lower active lanes; 1 for the first.
    PrefixExclusiveProduct,
    /// Value of the lane given by the second argument (`I32`, taken modulo 32). An inactive source
    /// lane gives an arbitrary value, here and in all shuffles.
    Shuffle,
    /// Value of lane `lane ^ mask`.
    ShuffleXor,
    /// Value of lane `lane - delta`; own value for the first `delta` lanes.
    ShuffleUp,
    /// Value of lane `lane + delta`; own value for the last `delta` lanes.
    ShuffleDown,
    /// As up, modulo 32.
    RotateUp,
    /// As down, modulo 32.
    RotateDown,
    /// Arguments: value, fill, delta (`I32`), modulo (`I32`). Within segments of `modulo` lanes:
    /// lane `l - delta`'s value, or for the first `delta` lanes of the segment, fill of lane
    /// `l - delta + modulo`.
    ShuffleAndFillUp,
    /// Arguments as above; lane `l + delta`'s value, or fill of lane `l + delta - modulo`.
    ShuffleAndFillDown,
    /// Value of the lane given by a uniform second argument.
    Broadcast,
    /// Value of the first active lane.
    BroadcastFirst,
    /// `bool` in; `bool` out: true for any active lane.
    Any,
    /// `bool` in; `bool` out: true for all active lanes.
    All,
    /// `bool` in; `I64` out: bit per active lane where true.
    Ballot,
    /// No argument; `I64`: bit per active lane.
    ActiveMask,
    /// No argument; `bool`: the lowest active lane.
    IsFirst,
    /// The quad-group forms, over groups of four lanes.
    QuadSum,
    /// Quad product.
    QuadProduct,
    /// Quad minimum, float.
    QuadFMin,
    /// Quad maximum, float.
    QuadFMax,
    /// Quad broadcast: the second argument names the lane 0..4.
    QuadBroadcast,
    /// Quad shuffle.
    QuadShuffle,
    /// Quad shuffle xor.
    QuadShuffleXor,
    /// Quad shuffle up.
    QuadShuffleUp,
    /// Quad shuffle down.
    QuadShuffleDown,
}

/// Operations on 8×8 matrices spread over a SIMD-group, in Metal's lane layout: lane `l` holds the
/// two elements `(row, col)` and `(row, col + 1)` as a vector of two, with `q = l / 4`,
/// `row = (q & 4) + (l / 2) % 4`, `col = (q & 2) * 2 + (l % 2) * 2`. All 32 lanes must be active.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MatrixOp {
    /// Arguments: pointer to element (0, 0) (uniform), elements per row (`I64`, uniform).
    Load {
        /// Reads the transpose.
        transpose: bool,
    },
    /// Arguments: pointer, elements per row, fragment. No result.
    Store {
        /// Writes the transpose.
        transpose: bool,
    },
    /// Arguments: A, B, C. Result `A × B + C` in C's element type; A and B are converted to the
    /// result's precision or `F32` before multiplying.
    MultiplyAccumulate,
}

/// One case of a switch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SwitchCase {
    /// The selector values, sign-extended to 64 bits from the selector's type.
    pub values: Vec<i64>,
    /// What to run.
    pub body: Block,
}

/// An operation. Its result type, if it has a result, is the instruction's.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    // --- constants
    /// A scalar (bits, zero-extended) or the null pointer (0).
    Const(u64),
    /// An arbitrary value of any type.
    Undef,
    /// The value of a function constant; specialisation replaces it.
    FunctionConstant(FunctionConstantId),
    /// Whether the function constant was given a value (`is_function_constant_defined`).
    FunctionConstantDefined(FunctionConstantId),

    // --- pure arithmetic
    /// One operand.
    Unary(UnOp, Value),
    /// Two operands of the result's type (shift amounts too).
    Binary(BinOp, Value, Value),
    /// Two operands of the same type.
    Compare(CmpOp, Value, Value),
    /// `cond ? a : b`; `cond` is `bool`, or a `bool` vector of the same length (elementwise).
    Select(Value, Value, Value),
    /// A conversion, elementwise.
    Cast(CastOp, Value),
    /// A library function.
    Math(MathFn, Vec<Value>),

    // --- vectors
    /// A vector of `n` copies of a scalar.
    Splat(Value),
    /// A vector from scalars and vectors, concatenated.
    Compose(Vec<Value>),
    /// One element.
    Extract(Value, u8),
    /// One element, index (`I32`) taken modulo the length.
    ExtractDynamic(Value, Value),
    /// The vector with one element replaced: vector, index, scalar.
    Insert(Value, u8, Value),
    /// The vector with one element replaced: vector, index (`I32`, modulo the length), scalar.
    InsertDynamic(Value, Value, Value),
    /// Elements picked from the concatenation of two vectors of one type.
    Shuffle(Value, Value, Vec<u8>),

    // --- memory
    /// Begins a lifetime of the local.
    LocalStart(Local),
    /// Address of a local: `Ptr(Thread)`.
    LocalAddr(Local),
    /// Address of a threadgroup variable: `Ptr(Threadgroup)`.
    ThreadgroupAddr(ThreadgroupId),
    /// Address of a constant datum: `Ptr(Constant)`.
    GlobalAddr(GlobalId),
    /// `base + index × scale + offset` bytes; `index` is `I64`, signed; all modulo 2^64.
    PtrAdd {
        /// The pointer.
        base: Value,
        /// The index, if not only a constant offset is added.
        index: Option<Value>,
        /// Bytes per index.
        scale: u32,
        /// Constant bytes.
        offset: i64,
    },
    /// Reads the result's type.
    Load {
        /// Where.
        ptr: Value,
        /// Guaranteed alignment in bytes, a power of two.
        align: u32,
        /// Each execution must access memory.
        volatile: bool,
    },
    /// Writes a value.
    Store {
        /// Where.
        ptr: Value,
        /// What.
        value: Value,
        /// Guaranteed alignment in bytes, a power of two.
        align: u32,
        /// Each execution must access memory.
        volatile: bool,
    },
    /// Copies `size` bytes between places that do not overlap, or are equal.
    MemCopy {
        /// Where to.
        dst: Value,
        /// Where from.
        src: Value,
        /// Bytes.
        size: u64,
        /// Guaranteed alignment of both.
        align: u32,
    },
    /// Fills `size` bytes with zero.
    MemZero {
        /// Where.
        dst: Value,
        /// Bytes.
        size: u64,
        /// Guaranteed alignment.
        align: u32,
    },

    /// A hint that such an access may follow. It has no effect, wherever the pointer points.
    Prefetch {
        /// Where.
        ptr: Value,
        /// Bytes of the access.
        bytes: u32,
        /// What the access does, and when.
        access: Awaited,
    },

    // --- atomics (device or threadgroup memory; `I32`, `I64` or `F32`; relaxed)
    /// Atomic read.
    AtomicLoad(Value),
    /// Atomic write: pointer, value.
    AtomicStore(Value, Value),
    /// Read-modify-write: pointer, operand. Result: the old value.
    AtomicRmw(AtomicOp, Value, Value),
    /// Compare and exchange, strong: pointer, expected, desired. Result: the old value.
    AtomicCas(Value, Value, Value),
    /// Orders memory accesses of this thread (`atomic_thread_fence`).
    Fence,

    // --- threads
    /// A fact about this thread.
    Query(Query),
    /// A barrier.
    Barrier(BarrierScope),
    /// A SIMD-group or quad-group operation.
    Simd(SimdOp, Vec<Value>),
    /// A SIMD-group matrix operation.
    Matrix(MatrixOp, Vec<Value>),

    // --- calls and control
    /// A call. Recursion is not allowed.
    Call(FuncId, Vec<Value>),
    /// Two-way branch on a `bool`.
    If {
        /// The condition.
        cond: Value,
        /// When true.
        then: Block,
        /// When false; may be an empty block.
        otherwise: Block,
    },
    /// An endless loop.
    Loop {
        /// For break and continue.
        label: Label,
        /// Runs first.
        body: Block,
        /// Runs after the body and at `continue`; may break out (that is how `do … while` ends).
        continuing: Block,
    },
    /// Multi-way branch on an integer.
    Switch {
        /// For break.
        label: Label,
        /// The integer.
        selector: Value,
        /// Cases; no value occurs twice.
        cases: Vec<SwitchCase>,
        /// When none matches; may be empty.
        default: Block,
    },
    /// A region that can be left early.
    Scope {
        /// For break.
        label: Label,
        /// The region.
        body: Block,
    },
    /// Leaves the loop, switch or scope.
    Break(Label),
    /// Goes to the loop's continuing block.
    Continue(Label),
    /// Leaves the function.
    Return(Option<Value>),
}

macro_rules! visit_operands {
    ($op:expr, $f:ident, $($deref:tt)?) => {
        match $op {
            Op::Const(_) | Op::Undef | Op::FunctionConstant(_) | Op::FunctionConstantDefined(_)
            | Op::LocalStart(_) | Op::LocalAddr(_) | Op::ThreadgroupAddr(_) | Op::GlobalAddr(_)
            | Op::Fence | Op::Query(_) | Op::Barrier(_) | Op::Loop { .. } | Op::Scope { .. }
            | Op::Break(_) | Op::Continue(_) | Op::Return(None) => {}
            Op::Unary(_, a) | Op::Cast(_, a) | Op::Splat(a) | Op::Extract(a, _) | Op::AtomicLoad(a)
            | Op::Return(Some(a)) => $f($($deref)? a),
            Op::Binary(_, a, b) | Op::Compare(_, a, b) | Op::ExtractDynamic(a, b) | Op::Insert(a, _, b)
            | Op::Shuffle(a, b, _) | Op::AtomicStore(a, b) | Op::AtomicRmw(_, a, b) => {
                $f($($deref)? a);
                $f($($deref)? b);
            }
            Op::Select(a, b, c) | Op::InsertDynamic(a, b, c) | Op::AtomicCas(a, b, c) => {
                $f($($deref)? a);
                $f($($deref)? b);
                $f($($deref)? c);
            }
            Op::Math(_, args) | Op::Compose(args) | Op::Simd(_, args) | Op::Matrix(_, args)
            | Op::Call(_, args) => {
                for arg in args {
                    $f($($deref)? arg);
                }
            }
            Op::PtrAdd { base, index, .. } => {
                $f($($deref)? base);
                if let Some(index) = index {
                    $f($($deref)? index);
                }
            }
            Op::Load { ptr, .. } | Op::Prefetch { ptr, .. } => $f($($deref)? ptr),
            Op::Store { ptr, value, .. } => {
                $f($($deref)? ptr);
                $f($($deref)? value);
            }
            Op::MemCopy { dst, src, .. } => {
                $f($($deref)? dst);
                $f($($deref)? src);
            }
            Op::MemZero { dst, .. } => $f($($deref)? dst),
            Op::If { cond, .. } => $f($($deref)? cond),
            Op::Switch { selector, .. } => $f($($deref)? selector),
        }
    };
}

impl Op {
    /// Whether it ends its block.
    pub fn is_terminator(&self) -> bool {
        matches!(self, Self::Break(_) | Self::Continue(_) | Self::Return(_))
    }

    /// A scalar constant's bits for a boolean.
    pub fn bool_const(value: bool) -> Self {
        Self::Const(u64::from(value))
    }

    /// Calls `f` for every operand.
    pub fn for_each_operand(&self, mut f: impl FnMut(Value)) {
        visit_operands!(self, f, *);
    }

    /// Calls `f` for every operand, to be replaced in place.
    pub fn for_each_operand_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        visit_operands!(self, f,);
    }

    /// The nested blocks, in order.
    pub fn blocks(&self) -> Vec<Block> {
        match self {
            Self::If { then, otherwise, .. } => vec![*then, *otherwise],
            Self::Loop { body, continuing, .. } => vec![*body, *continuing],
            Self::Switch { cases, default, .. } => {
                cases.iter().map(|case| case.body).chain(std::iter::once(*default)).collect()
            }
            Self::Scope { body, .. } => vec![*body],
            _ => Vec::new(),
        }
    }
}

impl Op {
    /// The result type where it follows from the operands' types; `None` when the caller must say
    /// it. Comparisons give `bool`s, queries `I32`, most others their first operand's type.
    pub fn implied_type(&self, type_of: impl Fn(Value) -> Type) -> Option<Type> {
        Some(match self {
            Self::Unary(_, a) | Self::Binary(_, a, _) | Self::Select(_, a, _) => type_of(*a),
            Self::Compare(_, a, _) => match type_of(*a) {
                Type::Vector(_, n) => Type::Vector(crate::Scalar::Bool, n),
                _ => Type::BOOL,
            },
            Self::Extract(a, _) | Self::ExtractDynamic(a, _) => Type::Scalar(type_of(*a).scalar()?),
            Self::Insert(a, ..) | Self::InsertDynamic(a, ..) => type_of(*a),
            Self::Shuffle(a, _, picks) => match picks.len() {
                1 => Type::Scalar(type_of(*a).scalar()?),
                n => Type::Vector(type_of(*a).scalar()?, n as u8),
            },
            Self::LocalAddr(_) => Type::Ptr(crate::Space::Thread),
            Self::ThreadgroupAddr(_) => Type::Ptr(crate::Space::Threadgroup),
            Self::GlobalAddr(_) => Type::Ptr(crate::Space::Constant),
            Self::PtrAdd { base, .. } => type_of(*base),
            Self::AtomicRmw(_, _, value) | Self::AtomicCas(_, value, _) => type_of(*value),
            Self::Query(_) => Type::I32,
            Self::FunctionConstantDefined(_) => Type::BOOL,
            Self::Math(function, args) => function.result_type(type_of(*args.first()?)),
            Self::Simd(op, args) => match op {
                SimdOp::Ballot | SimdOp::ActiveMask => Type::I64,
                SimdOp::Any | SimdOp::All | SimdOp::IsFirst => Type::BOOL,
                _ => type_of(*args.first()?),
            },
            Self::Matrix(MatrixOp::MultiplyAccumulate, args) => type_of(*args.get(2)?),
            _ => return None,
        })
    }
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

    /// How many arguments it takes. `Ldexp`'s second is `I32` of the same shape.
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
