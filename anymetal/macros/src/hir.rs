//! Device code between Rust's syntax and MSL text. Plain data.

use crate::types::Type;

/// An expression.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) ty: Type,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    /// Digits without a suffix.
    Number(String),
    Bool(bool),
    /// A variable, a constant, or any text that needs no parentheses.
    Name(String),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// To the expression's type.
    Cast(Box<Expr>),
    Index(Box<Expr>, Box<Expr>),
    Field(Box<Expr>, String),
    Call(String, Vec<Expr>),
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `{a, b, c}` of the expression's type; no element: all zero.
    List(Vec<Expr>),
    /// The address of an element.
    Address(Box<Expr>),
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) enum Stmt {
    Let {
        name: String,
        ty: Type,
        value: Option<Expr>,
    },
    /// `place op= value`; the operator may be empty.
    Assign {
        place: Expr,
        op: &'static str,
        value: Expr,
    },
    Expr(Expr),
    If {
        cond: Expr,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    For(Box<For>),
    While {
        cond: Expr,
        body: Vec<Stmt>,
    },
    Block(Vec<Stmt>),
    Break,
    Continue,
    Return(Option<Expr>),
}

/// A loop over a range.
#[derive(Clone, Debug)]
pub(crate) struct For {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) start: Expr,
    pub(crate) end: Expr,
    /// The end may change while the loop runs, or costs something.
    pub(crate) keeps_end: bool,
    pub(crate) inclusive: bool,
    pub(crate) step: Option<Expr>,
    /// From the end down.
    pub(crate) reversed: bool,
    pub(crate) body: Vec<Stmt>,
}

impl Expr {
    pub(crate) fn new(kind: ExprKind, ty: Type) -> Self {
        Self { kind, ty }
    }

    pub(crate) fn name(name: impl Into<String>, ty: Type) -> Self {
        Self::new(ExprKind::Name(name.into()), ty)
    }

    pub(crate) fn call(name: impl Into<String>, args: Vec<Expr>, ty: Type) -> Self {
        Self::new(ExprKind::Call(name.into(), args), ty)
    }

    pub(crate) fn binary(op: &'static str, a: Expr, b: Expr, ty: Type) -> Self {
        Self::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty)
    }

    /// Whether evaluating it twice costs nothing and changes nothing.
    pub(crate) fn is_simple(&self) -> bool {
        matches!(self.kind, ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Name(_))
    }
}
