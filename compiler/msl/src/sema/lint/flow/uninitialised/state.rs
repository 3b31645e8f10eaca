//! What is known of variables at one point of a function.

use anymetal_diagnostics::Span;

/// The possible states of a variable.
#[derive(Clone, Copy, Default)]
pub(super) struct Variable {
    pub(super) may_be_unset: bool,
    pub(super) may_be_set: bool,
    /// The branch that leaves it without a value. Only while its use cannot be avoided after that.
    pub(super) cause: Option<Cause>,
}

impl Variable {
    pub(super) fn is_unset(self) -> bool {
        self.may_be_unset && !self.may_be_set
    }

    /// Whether it has a value on some ways only.
    pub(super) fn is_open(self) -> bool {
        self.may_be_unset && self.may_be_set
    }
}

/// A branch, and where it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) span: Span,
    pub(super) taken: Taken,
}

/// The way that a branch takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// Of `if`, by its condition.
    If(bool),
    /// Of `?:`.
    Conditional(bool),
    /// Out of a loop, when its condition is false.
    Exit(&'static str),
    /// To a case, or with `true` to `default`, which may not be written.
    Case(bool),
}

impl Taken {
    pub(super) fn text(self) -> String {
        match self {
            Self::If(value) => format!("'if' condition is {value}"),
            Self::Conditional(value) => format!("'?:' condition is {value}"),
            Self::Exit(word) => format!("'{word}' loop exits because its condition is false"),
            Self::Case(is_default) => {
                format!("switch {} is taken", if is_default { "default" } else { "case" })
            }
        }
    }
}

#[derive(Clone)]
pub(super) struct State {
    pub(super) is_reached: bool,
    pub(super) variables: Vec<Variable>,
}

impl State {
    /// Whether variables may have the same states, whatever the causes are.
    pub(super) fn has_states_of(&self, other: &State) -> bool {
        let states = |variable: &Variable| (variable.may_be_unset, variable.may_be_set);
        self.variables.iter().map(states).eq(other.variables.iter().map(states))
    }
}
