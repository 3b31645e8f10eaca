//! The error of every builder: a policy that makes no sense is never built.
//!
//! Owns [`InvalidPolicy`]. Invariant: the field is one that was set explicitly, so that whoever set
//! it is told; defaults adapt to what is set and are never at fault.

use std::fmt;

/// A value that a policy cannot have, alone or with another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: {rule}")]
pub struct InvalidPolicy {
    field: &'static str,
    value: String,
    rule: &'static str,
}

impl InvalidPolicy {
    /// The field, such as `retry.attempts`; the setting of that name is `policy.retry.attempts`.
    pub fn field(&self) -> &'static str {
        self.field
    }

    /// The value refused.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The rule that it breaks.
    pub fn rule(&self) -> &'static str {
        self.rule
    }
}

/// Refuses the value of a field unless the rule holds.
pub(crate) fn require(
    holds: bool,
    field: &'static str,
    value: impl fmt::Debug,
    rule: &'static str,
) -> Result<(), InvalidPolicy> {
    match holds {
        true => Ok(()),
        false => Err(InvalidPolicy { field, value: format!("{value:?}"), rule }),
    }
}
