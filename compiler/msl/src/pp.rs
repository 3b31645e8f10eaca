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
mod expansions;
mod expression;
mod has_query;
mod include;
mod macro_table;
mod options;
mod pp_token;
mod pragma;
mod pragma_diagnostic;
mod predefined;
mod resolved;
mod state;
mod substitute;

#[cfg(test)]
mod tests;

pub use include::{EXTENSIONS, IncludeLoader, IncludedFile, MemoryIncludes, NotLoaded, is_library_header};
pub use macro_table::{Macro, MacroTable};
pub use options::{Definition, Limits, Options};
pub use resolved::Includes;

use crate::token::{Token, TokenKind};
use anymetal_diagnostics::{FileId, Sink, SourceMap, Span, Warnings};
use pp_token::PpKind;
use state::Preprocessor;

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
    /// The warnings that options and pragmas enable. Not applied yet to what the run reported.
    pub warnings: Warnings,
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
    let mut pp = Preprocessor::new(main, start.clone(), options, loader, map, sink);
    predefined::define(&mut pp);
    pp.enter_file(main, Span::new(main, 0, 0));
    while !pp.frames.is_empty() {
        let token = expand::next_expanded(&mut pp);
        match token.kind {
            PpKind::End => pp.leave_file(),
            PpKind::Ident if token.name == pp.known.pragma => pragma::operator(&mut pp, token),
            _ => emit::token(&mut pp, token),
        }
    }
    emit::flush_string(&mut pp);
    let end = pp.map.file(main).map_or(0, |file| file.text.len() as u32);
    let mut tokens = pp.emitter.into_tokens();
    tokens.push(Token { kind: TokenKind::Eof, span: Span::new(main, end, end) });
    let (macros, complete) = (pp.macros.freeze(), !pp.stopped);
    Output { tokens, macros, includes: pp.includes, complete, warnings: pp.warnings }
}
