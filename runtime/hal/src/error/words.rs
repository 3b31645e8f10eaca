//! Constants in errors, which another process sends as text.

use std::borrow::Cow;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// A constant of the code that reports an error.
pub type Word = &'static str;

/// All words of the errors that submissions and pipelines of a CPU device end with.
const WORDS: &[Word] = &[
    "buffer",
    "buffer argument",
    "event",
    "fence",
    "indirect command buffer",
    "pipeline",
    "threadgroup memory argument",
];

/// The constant with that text.
pub(super) fn known<'d, D: Deserializer<'d>>(from: D) -> Result<Word, D::Error> {
    let text = Cow::<str>::deserialize(from)?;
    let found = WORDS.iter().find(|word| **word == text);
    found.copied().ok_or_else(|| D::Error::custom(format!("`{text}` is not a word of an error")))
}
