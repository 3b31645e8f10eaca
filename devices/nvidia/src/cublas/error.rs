//! What can go wrong with cuBLAS.
//!
//! Owns [`CublasError`] and the names of the library's statuses.

use std::ffi::c_int;

/// Why there is no cuBLAS, or why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CublasError {
    /// No file of the library could be opened.
    #[error("cuBLAS is missing (looked for {}; ANYMETAL_CUBLAS may name its file)", tried.join(", "))]
    NotFound {
        /// The names that were tried.
        tried: Vec<String>,
    },
    /// A library was opened that lacks a function.
    #[error("`{file}` is no cuBLAS of CUDA 11 or newer: it has no `{function}`")]
    NoFunction {
        /// The library.
        file: String,
        /// What it lacks.
        function: &'static str,
    },
    /// A number is larger than the library counts.
    #[error("cuBLAS cannot count to {number}")]
    TooLarge {
        /// The number.
        number: u64,
    },
    /// The library does not do that.
    #[error("{function} refuses: {status}")]
    Refused {
        /// The call.
        function: &'static str,
        /// The library's word.
        status: &'static str,
    },
    /// There is not enough memory for the library's own.
    #[error("{function} finds no memory")]
    OutOfMemory {
        /// The call.
        function: &'static str,
    },
    /// Anything else.
    #[error("{function} failed: {status} ({code})")]
    Failed {
        /// The call.
        function: &'static str,
        /// The library's word.
        status: &'static str,
        /// Its number.
        code: c_int,
    },
}

/// A status as a result.
pub(crate) fn check(function: &'static str, code: c_int) -> Result<(), CublasError> {
    let failed = |status| Err(CublasError::Failed { function, status, code });
    match code {
        0 => Ok(()),
        1 => failed("CUBLAS_STATUS_NOT_INITIALIZED"),
        3 => Err(CublasError::OutOfMemory { function }),
        7 => Err(CublasError::Refused { function, status: "CUBLAS_STATUS_INVALID_VALUE" }),
        8 => Err(CublasError::Refused { function, status: "CUBLAS_STATUS_ARCH_MISMATCH" }),
        11 => failed("CUBLAS_STATUS_MAPPING_ERROR"),
        13 => failed("CUBLAS_STATUS_EXECUTION_FAILED"),
        14 => failed("CUBLAS_STATUS_INTERNAL_ERROR"),
        15 => Err(CublasError::Refused { function, status: "CUBLAS_STATUS_NOT_SUPPORTED" }),
        16 => Err(CublasError::Refused { function, status: "CUBLAS_STATUS_LICENSE_ERROR" }),
        _ => failed("an unknown status"),
    }
}
