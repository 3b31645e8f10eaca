//! Session state: what a process needs to be as warm after a restart as it was before.
//!
//! Owns [`Session`], plain data, and its file ([`Session::save`], [`Session::restore`]). Sources are named by
//! their hash, not kept: the program that restores has them. Invariant: a file is either whole or, told so,
//! set aside; restoring never fails because of what a file contains.

mod file;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use file::{Restored, SessionError, SetAside, SetAsideReason};

/// Pipelines, tuning values and buffers of a process.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Session {
    /// Pipelines to make and warm up.
    pub pipelines: Vec<PipelineState>,
    /// Values that tuning found, by name.
    pub tuning: BTreeMap<String, TuningValue>,
    /// Buffers that there were.
    pub buffers: Vec<BufferState>,
}

/// A pipeline.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PipelineState {
    /// Its label; may be empty.
    pub label: String,
    /// The kernel.
    pub kernel: String,
    /// The source's name in diagnostics.
    pub source_name: String,
    /// The BLAKE3 hash of the source's text, as [`source_hash`] gives it.
    pub source_hash: String,
    /// Compile options by name, such as `math` or `define.N`.
    pub options: BTreeMap<String, String>,
    /// Function constants by name or index.
    pub constants: BTreeMap<String, TuningValue>,
    /// Threadgroup sizes that had code.
    pub warm_up: Vec<[u32; 3]>,
}

/// A value found by tuning, or of a function constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum TuningValue {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// A finite number.
    Float(f64),
    /// A text.
    Text(String),
}

macro_rules! tuning_values {
    ($($type:ty => $variant:ident),*) => {
        $(
            impl From<$type> for TuningValue {
                fn from(value: $type) -> Self {
                    TuningValue::$variant(value.into())
                }
            }
        )*
    };
}

tuning_values!(bool => Flag, u32 => Integer, i32 => Integer, i64 => Integer, f32 => Float, f64 => Float);
tuning_values!(&str => Text, String => Text);

/// A buffer, without its contents.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BufferState {
    /// Its label; may be empty.
    pub label: String,
    /// Its bytes.
    pub bytes: u64,
    /// Its storage mode in one word: `shared`, `private`, `managed`.
    pub storage: String,
    /// Where its contents can be found again: a path or another name; empty if nowhere.
    pub contents: String,
}

/// The hash by which a session names a source.
pub fn source_hash(source: &str) -> String {
    blake3::hash(source.as_bytes()).to_string()
}
