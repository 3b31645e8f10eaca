//! Operations. What they mean beyond their one-line comments stands in the crate documentation.

mod arithmetic;
mod effects;
mod math;
mod threads;

use thin_vec::ThinVec;

use crate::{Block, FuncId, FunctionConstantId, GlobalId, Label, Local, Scalar, ThreadgroupId, Type, Value};

pub use arithmetic::{BinOp, CastOp, CmpOp, FpMode, UnOp};
pub use effects::Effect;
pub use math::MathFn;
pub use threads::{
    AtomicOp, BarrierScope, Combination, Combine, CombinedLanes, MatrixOp, PrefetchHint, Query, SimdOp,
};

/// The values that a jump passes, or that a construct defines. Mostly empty: it then takes one word.
pub type Values = ThinVec<Value>;

/// One case of a switch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SwitchCase {
    /// The selector values, sign-extended to 64 bits from the selector's type.
    pub values: Vec<i64>,
    /// What to run.
    pub body: Block,
}

/// The pieces of a copied or cleared range: some bytes at each multiple of the stride. Each piece is one
/// access: out of bounds it is not stored, and reads as zero. The bytes between pieces are padding, which may
/// be copied.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pieces {
    /// Bytes of a piece: one to four elements, of at most eight bytes.
    pub size: u32,
    /// Bytes from one piece to the next.
    pub stride: u32,
}

impl Pieces {
    /// The largest integers that such a range consists of.
    pub fn integers(size: u64, align: u32) -> Self {
        let mut unit = align.clamp(1, 8);
        while !size.is_multiple_of(u64::from(unit)) || !unit.is_power_of_two() {
            unit -= 1;
        }
        Self { size: unit, stride: unit }
    }

    /// A piece as the largest integers, one to four, of at most so many bytes; `None` if there are no such.
    pub fn of_integers(self, largest: u32) -> Option<Type> {
        (1..=4).find_map(|count| {
            let scalar = match self.size / count {
                1 => Scalar::I8,
                2 => Scalar::I16,
                4 => Scalar::I32,
                8 => Scalar::I64,
                _ => return None,
            };
            let fits = scalar.size() * count == self.size && scalar.size() <= largest;
            fits.then_some(if count == 1 { Type::Scalar(scalar) } else { Type::Vector(scalar, count as u8) })
        })
    }
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
        /// What is accessed at once.
        pieces: Pieces,
    },
    /// Fills `size` bytes with zero.
    MemZero {
        /// Where.
        dst: Value,
        /// Bytes.
        size: u64,
        /// Guaranteed alignment.
        align: u32,
        /// What is accessed at once.
        pieces: Pieces,
    },

    /// A hint that such an access may follow. It has no effect, wherever the pointer points.
    Prefetch {
        /// Where.
        ptr: Value,
        /// Bytes of the access.
        bytes: u32,
        /// What the access does, and when.
        access: PrefetchHint,
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
    /// Orders memory accesses of this thread (`atomic_thread_fence`): memory flags, memory order and thread
    /// scope as MSL's numbers for them (`U32`). Without operands: all memory, sequentially consistent, device
    /// scope.
    Fence(Option<[Value; 3]>),

    // --- threads
    /// A fact about this thread.
    Query(Query),
    /// A barrier, with its memory flags as MSL's `mem_flags` has them (`U32`: 1 device, 2 threadgroup, 4
    /// textures); without: all memory. Every target orders all memory, whatever the flags; sanitizers do not.
    Barrier(BarrierScope, Option<Value>),
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
        /// Defined by the yields of both branches.
        results: Values,
    },
    /// An endless loop.
    Loop {
        /// For break and continue.
        label: Label,
        /// The parameters' values in the first iteration.
        inits: Values,
        /// The loop-carried values: of the current iteration. Visible in the body.
        params: Values,
        /// Runs first. In a loop with parameters it ends with a jump.
        body: Block,
        /// Runs after the body and at `continue`; may break out (that is how `do … while` ends). Empty in a
        /// loop with parameters, whose continues start the next iteration.
        continuing: Block,
        /// Defined by the breaks.
        results: Values,
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
        /// Defined by the yields of the blocks, and by the breaks.
        results: Values,
    },
    /// A region that can be left early.
    Scope {
        /// For break.
        label: Label,
        /// The region.
        body: Block,
        /// Defined by the yield of the body, and by the breaks.
        results: Values,
    },
    /// Leaves the loop, switch or scope, whose results get these values.
    Break(Label, Values),
    /// Goes to the loop's continuing block; in a loop with parameters, starts the next iteration with these
    /// values.
    Continue(Label, Values),
    /// Ends a block of an `if`, switch or scope, whose results get these values.
    Yield(Values),
    /// Leaves the function.
    Return(Option<Value>),
}

macro_rules! visit_operands {
    ($op:expr, $f:ident, $($deref:tt)?) => {
        match $op {
            Op::Const(_) | Op::Undef | Op::FunctionConstant(_) | Op::FunctionConstantDefined(_)
            | Op::LocalStart(_) | Op::LocalAddr(_) | Op::ThreadgroupAddr(_) | Op::GlobalAddr(_)
            | Op::Fence(None) | Op::Query(_) | Op::Barrier(_, None) | Op::Scope { .. }
            | Op::Return(None) => {}
            Op::Unary(_, a) | Op::Cast(_, a) | Op::Splat(a) | Op::Extract(a, _) | Op::AtomicLoad(a)
            | Op::Barrier(_, Some(a)) | Op::Return(Some(a)) => $f($($deref)? a),
            Op::Fence(Some(operands)) => {
                for operand in operands {
                    $f($($deref)? operand);
                }
            }
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
            Op::Loop { inits: args, .. } | Op::Break(_, args) | Op::Continue(_, args) | Op::Yield(args) => {
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
    /// Whether all threads of the threadgroup meet here, be it with those of other threadgroups.
    pub fn is_threadgroup_barrier(&self) -> bool {
        matches!(self, Op::Barrier(BarrierScope::Threadgroup | BarrierScope::Grid, _))
    }

    /// Whether all threads of the grid meet here.
    pub fn is_grid_barrier(&self) -> bool {
        matches!(self, Op::Barrier(BarrierScope::Grid, _))
    }

    /// Whether control never reaches what follows the block that it ends.
    pub fn is_terminator(&self) -> bool {
        matches!(self, Self::Break(..) | Self::Continue(..) | Self::Return(_))
    }

    /// Whether nothing may follow it in its block.
    pub fn ends_block(&self) -> bool {
        self.is_terminator() || matches!(self, Self::Yield(_))
    }

    /// A scalar constant's bits for a boolean.
    pub fn bool_const(value: bool) -> Self {
        Self::Const(u64::from(value))
    }

    /// A break that passes no values.
    pub fn break_(label: Label) -> Self {
        Self::Break(label, Values::new())
    }

    /// A continue that passes no values.
    pub fn continue_(label: Label) -> Self {
        Self::Continue(label, Values::new())
    }

    /// An `if` without results.
    pub fn branch(cond: Value, then: Block, otherwise: Block) -> Self {
        Self::If { cond, then, otherwise, results: Values::new() }
    }

    /// A scope without results.
    pub fn scope(label: Label, body: Block) -> Self {
        Self::Scope { label, body, results: Values::new() }
    }

    /// A switch without results.
    pub fn switch(label: Label, selector: Value, cases: Vec<SwitchCase>, default: Block) -> Self {
        Self::Switch { label, selector, cases, default, results: Values::new() }
    }

    /// A loop without parameters and results.
    pub fn endless(label: Label, body: Block, continuing: Block) -> Self {
        let [inits, params, results] = [const { Values::new() }; 3];
        Self::Loop { label, inits, params, body, continuing, results }
    }

    /// The label of a construct, which jumps to it name.
    pub fn label(&self) -> Option<Label> {
        match self {
            Self::Loop { label, .. } | Self::Switch { label, .. } | Self::Scope { label, .. } => Some(*label),
            _ => None,
        }
    }

    /// The results of a construct, in order.
    pub fn results(&self) -> &[Value] {
        match self {
            Self::If { results, .. }
            | Self::Loop { results, .. }
            | Self::Switch { results, .. }
            | Self::Scope { results, .. } => results,
            _ => &[],
        }
    }

    /// The results of a construct, to be changed.
    pub fn results_mut(&mut self) -> Option<&mut Values> {
        match self {
            Self::If { results, .. }
            | Self::Loop { results, .. }
            | Self::Switch { results, .. }
            | Self::Scope { results, .. } => Some(results),
            _ => None,
        }
    }

    /// The parameters of a loop, in order.
    pub fn params(&self) -> &[Value] {
        match self {
            Self::Loop { params, .. } => params,
            _ => &[],
        }
    }

    /// Calls `f` for every parameter and result of a construct, to be replaced in place.
    pub fn for_each_definition_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        if let Self::Loop { params, .. } = self {
            params.iter_mut().for_each(&mut f);
        }
        if let Some(results) = self.results_mut() {
            results.iter_mut().for_each(f);
        }
    }

    /// The values that a jump passes.
    pub fn passed(&self) -> &[Value] {
        match self {
            Self::Break(_, values) | Self::Continue(_, values) | Self::Yield(values) => values,
            _ => &[],
        }
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

    /// Calls `f` for every nested block, in the order of [`Self::blocks`], to be replaced in place.
    pub fn for_each_block_mut(&mut self, mut f: impl FnMut(&mut Block)) {
        match self {
            Self::If { then: first, otherwise: second, .. }
            | Self::Loop { body: first, continuing: second, .. } => {
                f(first);
                f(second);
            }
            Self::Switch { cases, default, .. } => {
                cases.iter_mut().for_each(|case| f(&mut case.body));
                f(default);
            }
            Self::Scope { body, .. } => f(body),
            _ => {}
        }
    }

    /// The label of a construct, or the one that a jump goes to.
    pub fn label_mut(&mut self) -> Option<&mut Label> {
        match self {
            Self::Loop { label, .. }
            | Self::Switch { label, .. }
            | Self::Scope { label, .. }
            | Self::Break(label, _)
            | Self::Continue(label, _) => Some(label),
            _ => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_replaced_in_the_order_in_which_they_are_listed() {
        let label = Label(0);
        let case = |block| SwitchCase { values: vec![i64::from(block)], body: Block(block) };
        let constructs = [
            Op::branch(Value(0), Block(1), Block(2)),
            Op::endless(label, Block(1), Block(2)),
            Op::switch(label, Value(0), vec![case(1), case(2)], Block(3)),
            Op::scope(label, Block(1)),
            Op::Fence(None),
        ];
        for mut op in constructs {
            let (listed, mut visited) = (op.blocks(), Vec::new());
            op.for_each_block_mut(|block| visited.push(std::mem::replace(block, Block(block.0 + 10))));
            assert_eq!(visited, listed);
            let replaced: Vec<Block> = listed.iter().map(|block| Block(block.0 + 10)).collect();
            assert_eq!(op.blocks(), replaced);
        }
    }
}
