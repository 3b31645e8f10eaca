//! Any other processor: nothing is known, and no code is generated for it.

use super::VectorFacts;

pub(super) fn vector_facts() -> VectorFacts {
    VectorFacts::default()
}

pub(super) fn identity() -> String {
    "unknown".to_owned()
}
