//! Any other processor: nothing is known, and no code is generated for it.

use super::{CpuLevel, VectorFacts};

pub(super) fn vector_facts() -> VectorFacts {
    VectorFacts::default()
}

pub(super) fn identity() -> String {
    "unknown".to_owned()
}

/// The levels are x86-64's.
pub(super) fn has_level(_level: CpuLevel) -> bool {
    false
}
