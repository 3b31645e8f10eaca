//! Expressions.

use super::{ConstValue, FunctionConstantId, QualTy, RecordId, ScalarTy, ThreadgroupVarId, Ty};
use crate::builtins::BuiltinId;
use anymetal_diagnostics::Span;

/// A function of the [`super::Program`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FuncId(pub u32);

/// A variable of a [`super::Function`], parameters included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LocalId(pub u32);

/// A constant datum of the [`super::Program`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct GlobalId(pub u32);

/// A resource at program scope (MSL 5.9).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ResourceId(pub u32);

/// One-operand arithmetic, elementwise on vectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `~`
    BitNot,
    /// `!` of `bool` or a vector of it.
    Not,
}

/// Two-operand arithmetic on operands of one type, which is the result's; elementwise on vectors.
/// Signedness and floatness follow from the type. Shift amounts have been converted too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the operators'")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    And,
    Or,
    Xor,
}

/// Comparison of operands of one type; the result is `bool` or a vector of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the operators'")]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Short-circuiting operators on `bool`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the operators'")]
pub enum LogicalOp {
    And,
    Or,
}

/// A conversion from the operand's type to the expression's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CastKind {
    /// Between scalars or enumerations, elementwise between vectors of one length (packed or not, in
    /// both directions) and between matrices of one shape. To `bool`: whether it is not zero.
    /// Integer to narrower integer wraps; float to integer truncates and saturates.
    Convert,
    /// A scalar to a vector of the same element type.
    Splat,
    /// The same bits as another type of the same size (scalars and vectors only; packed and unpacked
    /// three-element vectors count as their elements).
    Bitcast,
    /// A pointer to one of another type in the same space.
    Pointer,
    /// The same pointer. What it points to is an xvalue: an rvalue reference binds to it.
    Xvalue,
    /// A pointer to an integer of 64 bits.
    PointerToInt,
    /// An integer of 64 bits to a pointer.
    IntToPointer,
    /// A pointer to `bool`: whether it is not null.
    PointerToBool,
    /// Evaluates the operand and drops its value; the result type is `void`.
    ToVoid,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it does.
    pub kind: ExprKind,
    /// Its type; qualifiers and space say something for places only.
    pub ty: QualTy,
    /// Whether it designates memory.
    pub is_place: bool,
    /// Where it was written.
    pub span: Span,
}

impl Expr {
    /// A value.
    pub fn value(kind: ExprKind, ty: Ty, span: Span) -> Self {
        Self { kind, ty: QualTy::plain(ty), is_place: false, span }
    }

    /// A place.
    pub fn place(kind: ExprKind, ty: QualTy, span: Span) -> Self {
        Self { kind, ty, is_place: true, span }
    }
}

/// The shapes of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    // --- places
    /// Place: a variable or parameter (in thread space).
    Local(LocalId),
    /// Place: a constant datum (in constant space).
    Global(GlobalId),
    /// Place: a threadgroup variable.
    Threadgroup(ThreadgroupVarId),
    /// Place: what a pointer value points to.
    Deref(Box<Expr>),
    /// Place: a member; the operand is a place of record type.
    Field(Box<Expr>, RecordId, u32),
    /// Place: an array element; the first operand is a place of array type, the second a value of
    /// type `long`.
    Element(Box<Expr>, Box<Expr>),
    /// A column of a matrix: a place when the first operand is a place, else a value. The index is a
    /// value of type `int` or `uint`.
    Column(Box<Expr>, Box<Expr>),
    /// One or several elements of a vector, by constant indices: one gives a scalar, several a vector.
    /// A place when the operand is a place (with no index twice when it is written to), else a value.
    Swizzle(Box<Expr>, Vec<u8>),
    /// One element of a vector by a dynamic index (`int` or `uint`, taken modulo the length). A place
    /// when the first operand is a place, else a value.
    VectorElement(Box<Expr>, Box<Expr>),
    /// Place: a new temporary in thread space that holds the value; it lives as long as the function.
    Materialize(Box<Expr>),
    /// Place: stores a value (second) of the place's (first) type; then designates the place. The value
    /// is evaluated first. Records and arrays are copied whole; the two never overlap partly.
    Assign(Box<Expr>, Box<Expr>),
    /// Reads, computes, writes back: compound assignment, `++`, `--`.
    ///
    /// Evaluates `rhs` (if there) into the local `rhs.0`; evaluates `place` once; puts its value into
    /// the local `old`; evaluates `value`, which mentions these locals; stores it to the place. The
    /// result is the place, or with `yields_old` the value of `old`.
    Update {
        /// The right-hand side and the local that takes it.
        rhs: Option<(LocalId, Box<Expr>)>,
        /// What is changed.
        place: Box<Expr>,
        /// Takes the old value.
        old: LocalId,
        /// The new value, of the place's type.
        value: Box<Expr>,
        /// `x++`: a value, not a place.
        yields_old: bool,
    },

    // --- values
    /// A scalar, vector or pointer constant (never [`ConstValue::Bytes`]: tables are globals).
    Const(ConstValue),
    /// All bytes zero, of any type (`T{}`, `T()`).
    Zero,
    /// An arbitrary value of any type.
    Undef,
    /// The value of a place.
    Load(Box<Expr>),
    /// The pointer to a place. The operand is never a swizzle of several elements.
    AddressOf(Box<Expr>),
    /// The pointer to the first element; the operand is a place of array type.
    ArrayDecay(Box<Expr>),
    /// Arithmetic.
    Unary(UnaryOp, Box<Expr>),
    /// Arithmetic.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Comparison of scalars, vectors or pointers.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// Short-circuit.
    Logical(LogicalOp, Box<Expr>, Box<Expr>),
    /// `cond ? a : b`: `cond` is `bool`, both sides are values of the result's type (which may be void).
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Elementwise `cond ? a : b`: `cond` is a vector of `bool`; all three are evaluated.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A conversion.
    Cast(CastKind, Box<Expr>),
    /// A pointer plus a number (`long`, may be negative) of elements.
    PointerAdd(Box<Expr>, Box<Expr>),
    /// The number (`long`) of elements between two pointers of one type.
    PointerDiff(Box<Expr>, Box<Expr>),
    /// A vector from scalars and vectors of its element type, concatenated.
    Vector(Vec<Expr>),
    /// A matrix from its columns.
    Matrix(Vec<Expr>),
    /// A struct from its members' values: one per [`super::RecordInfo::fields`] entry.
    Struct(Vec<Expr>),
    /// A union from the value of one member; other bytes are arbitrary.
    Union(u32, Box<Expr>),
    /// An array from its first elements; the rest is zero.
    Array(Vec<Expr>),
    /// A record made by a constructor: calls it with a pointer to a new (undefined) object and the
    /// arguments; the value is the object. The constructor's first parameter is that pointer.
    Construct(FuncId, Vec<Expr>),
    /// A call; arguments are values of the parameters' types.
    Call(FuncId, Vec<Expr>),
    /// A builtin of the library; see [`crate::builtins`].
    Builtin(BuiltinId, Vec<Expr>),
    /// The value of a function constant.
    FunctionConstant(FunctionConstantId),
    /// Whether a function constant was given a value.
    FunctionConstantDefined(FunctionConstantId),
    /// A resource at program scope. Programs have none: there it is the value of a parameter.
    Resource(ResourceId),
    /// A fact about the thread, as [`KernelParamKind::Thread`](super::KernelParamKind::Thread) says, of a
    /// variable outside of functions.
    ThreadFact {
        /// The query for component 0.
        query: anymetal_ir::Query,
        /// The integer type of the value, or of its elements.
        elem: ScalarTy,
        /// 1 for a scalar.
        len: u8,
    },
    /// Begins the local's lifetime with the value (first; none leaves it undefined), then gives the
    /// second, place or value.
    Let(LocalId, Option<Box<Expr>>, Box<Expr>),
    /// Evaluates the first for its effects, then gives the second, place or value.
    Comma(Box<Expr>, Box<Expr>),
    /// Poison. Never in a finished program.
    Error,
}
