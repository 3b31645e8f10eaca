//! Expressions as written.

use super::{Block, NodeId, Noexcept, Param, Type};
use crate::token::{FloatSuffix, FpPragmas, Name};
use anymetal_diagnostics::Span;
use std::sync::Arc;

/// A possibly qualified name: `::a::b<T>::template c<4>`.
#[derive(Clone, Debug)]
pub struct Path {
    /// Starts with `::`.
    pub global: bool,
    /// At least one.
    pub segments: Vec<PathSegment>,
    /// The word before it, as in `struct S *`.
    pub tag: Option<TagWord>,
    /// Whether `typename` is before it.
    pub is_typename: bool,
    /// Where.
    pub span: Span,
}

/// A word that says what kind of type a name is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TagWord {
    /// `struct` or `class`
    Struct,
    /// `union`
    Union,
    /// `enum`
    Enum,
}

/// One part of a path.
#[derive(Clone, Debug)]
pub struct PathSegment {
    /// The name; for an operator function (`operator+`), see [`PathSegment::operator`].
    pub name: Name,
    /// Set when the segment is `operator…`.
    pub operator: Option<OperatorName>,
    /// `<…>`, if written.
    pub args: Option<Vec<TemplateArg>>,
    /// Whether `template` stands before the name.
    pub has_template_word: bool,
    /// Where.
    pub span: Span,
}

/// A template argument.
#[derive(Clone, Debug)]
pub enum TemplateArg {
    /// A type.
    Type(Type),
    /// An expression, or a path that names a value, a function or (undecided) a dependent type.
    Expr(Expr),
}

/// An overloadable operator.
#[derive(Clone, Debug)]
pub enum OperatorName {
    /// Binary or unary, by the number of parameters.
    Binary(BinaryOp),
    /// `operator!`, `operator~`; unary `-`, `+`, `*`, `&` are written as the binary ones.
    Unary(UnaryOp),
    /// `operator=`, `operator+=` …
    Assign(AssignOp),
    /// `operator++`, `operator--`
    Increment {
        /// `--`
        decrement: bool,
    },
    /// `operator()`
    Call,
    /// `operator[]`
    Index,
    /// `operator->`
    Arrow,
    /// `operator T`
    Conversion(Box<Type>),
    /// `operator ""_suffix`
    Literal(Name),
}

/// Prefix operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the operators'")]
pub enum UnaryOp {
    Plus,
    Minus,
    Not,
    BitNot,
    Deref,
    AddressOf,
    PreIncrement,
    PreDecrement,
}

/// Postfix operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the operators'")]
pub enum PostfixOp {
    Increment,
    Decrement,
}

/// Infix operators without assignment.
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
    BitAnd,
    BitOr,
    BitXor,
    LogicalAnd,
    LogicalOr,
    Eq,
    Ne,
    Lt,
    Gt,
    Le,
    Ge,
    Comma,
}

/// `=` (`None`) or a compound assignment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AssignOp(pub Option<BinaryOp>);

/// The spelling of a cast.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CastKind {
    /// `(T)e`
    CStyle,
    /// `static_cast<T>(e)`
    Static,
    /// `reinterpret_cast<T>(e)`
    Reinterpret,
    /// `const_cast<T>(e)`
    Const,
}

/// Reserved for a per-expression math mode; none is written in source today.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MathFlag {
    /// As the surrounding pragma says.
    Inherit,
}

/// `.x =` or `[3] =` in an initialiser list.
#[derive(Clone, Debug)]
pub enum Designator {
    /// `.name`
    Field(Name, Span),
    /// `[index]`
    Index(Expr),
    /// `[first ... last]`, GNU's range.
    Range(Expr, Expr),
}

/// One clause of an initialiser list.
#[derive(Clone, Debug)]
pub struct InitClause {
    /// Its identity.
    pub id: NodeId,
    /// Usually none.
    pub designators: Vec<Designator>,
    /// The value (perhaps again a list).
    pub value: Expr,
}

/// `[&](auto x) { … }`
#[derive(Clone, Debug)]
pub struct Lambda {
    /// Its identity.
    pub id: NodeId,
    /// `[name = e]` and `[&name = e]`, in order.
    pub initialised: Vec<InitCapture>,
    /// `=` or `&` as the default capture; without it, only the captures named are accessible.
    pub captures_all: bool,
    /// `&` as the default capture.
    pub by_reference: bool,
    /// `*this`: the object is copied.
    pub copies_this: bool,
    /// Where `this` or `*this` stands.
    pub this_at: Option<Span>,
    /// `mutable`: the body may change the copies.
    pub is_mutable: bool,
    /// Explicitly captured names: (name, by reference).
    pub captures: Vec<(Name, bool, Span)>,
    /// Parameters; `auto` ones make it generic.
    pub params: Vec<Param>,
    /// `-> T`
    pub ret: Option<Type>,
    /// `noexcept`
    pub noexcept: Noexcept,
    /// The body.
    pub body: Block,
    /// The pragmas in force around it.
    pub fp: FpPragmas,
}

/// The operator of a fold expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FoldOp {
    /// Any binary operator, the comma included.
    Binary(BinaryOp),
    /// An assignment.
    Assign(AssignOp),
}

/// A fold expression. One of the operands mentions a parameter pack; with both operands the other is the
/// initial value.
#[derive(Clone, Debug)]
pub struct Fold {
    /// The operator.
    pub op: FoldOp,
    /// `e` in `(e op ...)` and `(e op ... op f)`.
    pub left: Option<Expr>,
    /// `f` in `(... op f)` and `(e op ... op f)`.
    pub right: Option<Expr>,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// A captured value with a name of its own: `[name = e]`.
#[derive(Clone, Debug)]
pub struct InitCapture {
    /// The name in the body.
    pub name: Name,
    /// `&name = e`
    pub by_reference: bool,
    /// What it is made from.
    pub init: Expr,
}

/// The shapes of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// Integer literal: value, unsigned suffix, long suffix, written in decimal.
    Int {
        /// The value.
        value: u64,
        /// `u`
        unsigned: bool,
        /// `l`, `ll`
        long: bool,
        /// Hexadecimal and octal literals may become unsigned by themselves.
        decimal: bool,
    },
    /// Float literal.
    Float {
        /// The value before rounding to the suffix's type.
        value: f64,
        /// Its suffix.
        suffix: FloatSuffix,
    },
    /// `true`, `false`
    Bool(bool),
    /// Character literal.
    Char(u32),
    /// String literal (concatenated).
    Str(Name),
    /// `nullptr`
    Nullptr,
    /// `this`
    This,
    /// A name; `a::b<c>`.
    Path(Path),
    /// `decltype(e)::a::b`: the expression, and the path after it.
    DecltypePath(Box<Expr>, Path),
    /// `(e)`: kept, since `decltype((x))` differs and messages quote it.
    Paren(Box<Expr>),
    /// Prefix operator.
    Unary(UnaryOp, Box<Expr>),
    /// Postfix operator.
    Postfix(PostfixOp, Box<Expr>),
    /// Infix operator, comma included.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Assignment.
    Assign(AssignOp, Box<Expr>, Box<Expr>),
    /// `c ? a : b`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `callee(args)`: a call, or a conversion when the callee names a type.
    Call(Box<Expr>, Vec<Expr>),
    /// `a[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `a.b`, `a->b`, `a.template f<4>`, `a.xyz`; a destructor call is not representable.
    Member {
        /// The object or pointer.
        base: Box<Expr>,
        /// `->`
        arrow: bool,
        /// The member; qualified in the rare `x.Base::f`.
        member: Path,
    },
    /// `(T)e` and the named casts.
    Cast(CastKind, Box<Type>, Box<Expr>),
    /// `T(args)` or `T{args}` where `T` is certainly a type (keyword type, `typename T::x`, known name).
    Construct {
        /// The type.
        ty: Box<Type>,
        /// The arguments; for braces, the clauses.
        args: Vec<InitClause>,
        /// `{}`
        braced: bool,
    },
    /// `{a, b, .c = d}` where an expression or initialiser stands.
    InitList(Vec<InitClause>),
    /// `sizeof(T)`
    SizeofType(Box<Type>),
    /// `sizeof e`
    SizeofExpr(Box<Expr>),
    /// `noexcept(e)`
    Noexcept(Box<Expr>),
    /// `sizeof...(pack)`
    SizeofPack(Name),
    /// `alignof(T)`
    AlignofType(Box<Type>),
    /// `__is_empty(T)` and other `__is_*` type traits: name and types.
    TypeTrait(Name, Vec<Type>),
    /// A lambda.
    Lambda(Arc<Lambda>),
    /// `e...`
    PackExpansion(Box<Expr>),
    /// What that gives for the element of a pack with this number; the parser makes none.
    PackElement(Arc<Expr>, usize),
    /// `(e op ...)` and the other fold expressions.
    Fold(Box<Fold>),
    /// `__builtin_bit_cast(T, e)`
    BitCast(Box<Type>, Box<Expr>),
    /// Something the parser could not make sense of; already diagnosed.
    Error,
}
