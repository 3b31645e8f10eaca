//! Statements.

use super::{Expr, LocalId};
use crate::token::FpPragmas;
use anymetal_diagnostics::Span;

/// Statements in order.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// In order.
    pub stmts: Vec<Stmt>,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it was written.
    pub span: Span,
}

/// How a loop should be unrolled; never a demand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopHint {
    /// Completely.
    Full,
    /// As much as the compiler likes.
    Enable,
    /// Not at all.
    Disable,
    /// This many times.
    Count(u32),
}

/// One case of a switch. No value occurs twice in a switch, and no case falls through: sema
/// duplicated what had to be.
#[derive(Clone, Debug)]
pub struct SwitchCase {
    /// The selector values, sign- or zero-extended from the selector's type by its signedness; empty
    /// for a case that is only `default`.
    pub values: Vec<i64>,
    /// Also (or only) taken when no value of any case matches; at most one case has it.
    pub is_default: bool,
    /// What to run. May contain [`StmtKind::Break`]s that leave the switch.
    pub body: Block,
}

/// The shapes of statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// An expression for its effects; its value, if any, is dropped (a place is not even loaded).
    Expr(Expr),
    /// Begins a local's lifetime: fresh and undefined each time control passes, unless `init` (a value
    /// of the local's type) is there.
    Declare {
        /// The variable.
        local: LocalId,
        /// Its initial value.
        init: Option<Expr>,
    },
    /// Nested statements.
    Block(Block),
    /// Two-way branch.
    If {
        /// A `bool`.
        cond: Expr,
        /// When true.
        then: Block,
        /// When false; may be empty.
        otherwise: Block,
    },
    /// `while`, `for`, `do … while`.
    ///
    /// Pre-test: `while (cond) { body; continue: step; }`. Post-test:
    /// `do { body; continue: step; } while (cond)`. No `cond` means "for ever".
    Loop {
        /// A `bool`.
        cond: Option<Expr>,
        /// The condition stands at the end.
        post_test: bool,
        /// Runs after the body and at `continue`.
        step: Option<Expr>,
        /// The body.
        body: Block,
        /// The pragma in front.
        hint: Option<LoopHint>,
    },
    /// Multi-way branch.
    Switch {
        /// An integer.
        selector: Expr,
        /// The cases.
        cases: Vec<SwitchCase>,
    },
    /// Leaves the innermost loop or switch.
    Break,
    /// Goes to the innermost loop's step.
    Continue,
    /// Leaves the function; the value is of the function's result type.
    Return(Option<Expr>),
    /// Float arithmetic of the rest of the enclosing block follows these pragmas.
    Fp(FpPragmas),
}
