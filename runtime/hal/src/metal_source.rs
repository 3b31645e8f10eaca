//! Source text for devices that compile MSL themselves.
//!
//! Owns [`MetalSource`], the code of artifacts for Apple GPUs. Invariant: the text needs no file: what it
//! includes was written into it, but for Metal's own headers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use anymetal_types::scalar::ScalarType;

/// MSL text and how to compile a kernel of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetalSource {
    /// The text, which all kernels of a library share.
    pub text: Arc<str>,
    /// How to compile it.
    pub options: MetalOptions,
}

/// How to compile a kernel of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetalOptions {
    /// What the compiler may do to floating-point arithmetic.
    pub math_mode: MathMode,
    /// The version of MSL, as `__METAL_VERSION__` gives it: 320 for Metal 3.2.
    pub language_version: u32,
    /// The kernel's function constants that have values.
    pub constants: Vec<MetalConstant>,
}

/// What a compiler may do to floating-point arithmetic, in Metal's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MathMode {
    /// Nothing that changes a result.
    Safe,
    /// Reassociation and contraction, infinities and NaNs kept.
    Relaxed,
    /// Infinities and NaNs may be assumed away.
    Fast,
}

/// The value of a function constant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetalConstant {
    /// Its `[[function_constant(index)]]`.
    pub index: u32,
    /// Its declared type, or that of its components.
    pub scalar: ScalarType,
    /// The bits of each component, zero-extended: one for a scalar, up to four for a vector.
    pub bits: Vec<u64>,
}
