//! What a run depends on besides its text: options, definitions and bounds.

use crate::token::MathMode;
use anymetal_diagnostics::WarningOptions;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The value of `__METAL_VERSION__`: 320 for Metal 3.2.
    pub metal_version: u32,
    /// Decides `__METAL_MAYBE_FAST_MATH__` and its like.
    pub math_mode: MathMode,
    /// The command line's definitions, in its order.
    pub definitions: Vec<Definition>,
    /// The names for which `__has_builtin` says yes.
    pub builtins: Vec<String>,
    /// Whether `#include` of one of Metal's own headers that the loader does not find means nothing,
    /// because the library's macros are in the start table already.
    pub library_is_loaded: bool,
    /// Bounds against hostile input.
    pub limits: Limits,
    /// The warnings that are reported where no pragma says otherwise.
    pub warnings: WarningOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            metal_version: 320,
            math_mode: MathMode::Fast,
            definitions: Vec::new(),
            builtins: Vec::new(),
            library_is_loaded: true,
            limits: Limits::default(),
            warnings: WarningOptions::default(),
        }
    }
}

/// One `-D` or `-U`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Definition {
    /// `NAME`, `NAME=BODY` or `NAME(PARAMETERS)=BODY`; without a body the macro is `1`.
    Define(String),
    /// The name of a macro to forget.
    Undefine(String),
}

/// Bounds of one run; exceeding one is a diagnostic that ends the run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Tokens handed to the parser.
    pub tokens: usize,
    /// Macro expansions.
    pub expansions: usize,
    /// Tokens collected as arguments or made by substitution, whether they survive or not.
    pub substituted: usize,
    /// Bytes of text made by `#` and `##` together.
    pub spelled_bytes: usize,
    /// Bytes of one string literal, neighbours included: each becomes an element of an array.
    pub literal_bytes: usize,
    /// Bytes of one file.
    pub file_bytes: usize,
    /// Bytes of all files together, each counted as often as it is included.
    pub source_bytes: usize,
    /// Files included within one another.
    pub include_depth: usize,
    /// Includes in total.
    pub includes: usize,
    /// Macro calls within arguments of macro calls.
    pub argument_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            tokens: 1_500_000,
            expansions: 2_000_000,
            substituted: 16_000_000,
            spelled_bytes: 64 << 20,
            literal_bytes: 1 << 20,
            file_bytes: 64 << 20,
            source_bytes: 256 << 20,
            include_depth: 200,
            includes: 20_000,
            argument_depth: 200,
        }
    }
}
