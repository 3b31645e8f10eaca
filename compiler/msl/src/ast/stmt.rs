//! Statements as written.

use super::{Expr, Item, Type, Variable};
use crate::token::{FpPragmas, Name};
use anymetal_diagnostics::Span;

/// `{ … }`
#[derive(Clone, Debug)]
pub struct Block {
    /// In order.
    pub stmts: Vec<Stmt>,
    /// Where.
    pub span: Span,
}

/// The pragmas of a loop.
#[derive(Clone, Debug, Default)]
pub struct LoopHint {
    /// About unrolling.
    pub unroll: Option<Unroll>,
    /// The numbers of other pragmas, which have no effect.
    pub counts: Vec<Expr>,
}

/// A pragma about unrolling.
#[derive(Clone, Debug)]
pub enum Unroll {
    /// `unroll(full)`
    Full,
    /// `unroll`, `unroll(enable)`
    Enable,
    /// `nounroll`, `unroll(disable)`
    Disable,
    /// `unroll(expr)`, `unroll_count(expr)`
    Count {
        /// The number.
        count: Expr,
        /// `unroll(0)`
        may_be_zero: bool,
    },
}

/// What a `for` starts with.
#[derive(Clone, Debug)]
pub enum ForInit {
    /// Nothing.
    Empty,
    /// Declarations.
    Declaration(Vec<Variable>),
    /// An expression.
    Expr(Expr),
}

/// `case value:`, `case first ... last:` or `default:`.
#[derive(Clone, Debug)]
pub enum SwitchLabel {
    /// `case`
    Case(Expr),
    /// `case` of all values from one to another, GNU's extension.
    Range(Expr, Expr),
    /// `default`
    Default,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where.
    pub span: Span,
}

/// The shapes of statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `;`
    Empty,
    /// `{ … }`
    Block(Block),
    /// An expression.
    Expr(Expr),
    /// Variables of one declaration statement.
    Variables(Vec<Variable>),
    /// Any other declaration: alias, using, record, enum, `static_assert`.
    Item(Box<Item>),
    /// A declaration that gives several: a record and variables of it, several typedef names.
    Items(Vec<Item>),
    /// `if`
    If {
        /// `if constexpr`
        is_constexpr: bool,
        /// `if (init; cond)`
        init: Option<Box<Stmt>>,
        /// The condition; a declaration there (`if (int x = …)`) is [`StmtKind::If::declared`].
        cond: Expr,
        /// `if (T x = e)`: then `cond` is a path to it.
        declared: Option<Box<Variable>>,
        /// When true.
        then: Box<Stmt>,
        /// When false.
        otherwise: Option<Box<Stmt>>,
    },
    /// `switch`: the body is a block in which [`StmtKind::Label`]s stand.
    Switch {
        /// `switch (init; selector)`
        init: Option<Box<Stmt>>,
        /// `switch (T x = e)`: then `selector` is a path to it.
        declared: Option<Box<Variable>>,
        /// The selector.
        selector: Expr,
        /// The body.
        body: Box<Stmt>,
    },
    /// A `case` or `default` label, in front of the statement that follows it.
    Label(SwitchLabel),
    /// `for`
    For {
        /// First clause.
        init: Box<ForInit>,
        /// Second clause.
        cond: Option<Box<Expr>>,
        /// Third clause.
        step: Option<Box<Expr>>,
        /// The body.
        body: Box<Stmt>,
        /// Pragmas in front.
        hint: Option<Box<LoopHint>>,
    },
    /// `for (T x : range)`
    RangeFor {
        /// The variable's type.
        ty: Box<Type>,
        /// The variable (its `init` is empty).
        variable: Box<Variable>,
        /// `[a, b]`: the variable has no name, its elements have these.
        bindings: Option<Vec<(Name, Span)>>,
        /// The range.
        range: Expr,
        /// The body.
        body: Box<Stmt>,
        /// Pragmas in front.
        hint: Option<Box<LoopHint>>,
    },
    /// `while`
    While {
        /// The condition.
        cond: Expr,
        /// The body.
        body: Box<Stmt>,
        /// Pragmas in front.
        hint: Option<Box<LoopHint>>,
    },
    /// `do … while`
    DoWhile {
        /// The body.
        body: Box<Stmt>,
        /// The condition.
        cond: Expr,
        /// Pragmas in front.
        hint: Option<Box<LoopHint>>,
    },
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `return`
    Return(Option<Expr>),
    /// Floating-point pragmas at the start of a block, in force to its end.
    Fp(FpPragmas),
    /// `#pragma unused(x)`: the name counts as used.
    Unused(Name),
}
