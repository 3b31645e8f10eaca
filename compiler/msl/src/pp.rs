//! The preprocessor: source text to the parser's tokens.
//!
//! A run starts from a [`MacroTable`], which is cheap to clone: the library's headers are preprocessed
//! once per process, and every user's file starts from the table they left ([`Output::macros`]) and
//! from a clone of their [`SourceMap`]. Includes of the library's own headers then mean nothing
//! ([`Options::library_is_loaded`]).
//!
//! Invariants: whatever the bytes, a run ends within the bounds of [`Limits`], never panics, and its
//! tokens end with exactly one `Eof`; every token out of a macro carries the expansion that made it.
//! Expansion follows the usual implementation of the standard's rules: a macro is disabled while its
//! expansion is being rescanned, and its name met meanwhile is painted for good.
//!
//! Start with [`preprocess`]; then `state.rs` (the token source), `expand.rs` and `directive.rs`.

mod conditional;
mod define;
mod directive;
mod emit;
mod expand;
mod expression;
mod has_query;
mod include;
mod macro_table;
mod pp_token;
mod pragma;
mod predefined;
mod resolved;
mod state;
mod substitute;

#[cfg(test)]
mod tests;

pub use include::{EXTENSIONS, IncludeLoader, IncludedFile, MemoryIncludes, NotLoaded, is_library_header};
pub use macro_table::{Macro, MacroTable};
pub use resolved::Includes;

use crate::token::{MathMode, Token};
use anymetal_diagnostics::{FileId, Sink, SourceMap};

/// What a run depends on besides its text.
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

/// What a run yields. Whether it went well is in the sink; the tokens are usable either way.
#[derive(Clone, Debug)]
pub struct Output {
    /// The translation unit, ending with one `Eof`.
    pub tokens: Vec<Token>,
    /// The macros defined at its end, ready to start further runs from.
    pub macros: MacroTable,
    /// What it included, from which the source can be written as one text.
    pub includes: Includes,
    /// Whether the run reached the end of the text: false after a limit was exceeded. Parsing what there
    /// is by then would only cost time and memory.
    pub complete: bool,
}

/// Preprocesses the file `main` of `map`.
///
/// `start` is `&MacroTable::default()` for the library itself, and the library's [`Output::macros`]
/// for a user's file; `map` must then be (a clone of) the map the library was read into.
pub fn preprocess(
    main: FileId,
    start: &MacroTable,
    options: &Options,
    loader: &mut dyn IncludeLoader,
    map: &mut SourceMap,
    sink: &mut Sink,
) -> Output {
    state::Preprocessor::new(start.clone(), options, loader, map, sink).run(main)
}
