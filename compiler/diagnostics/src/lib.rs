//! Source map, spans, diagnostics and their rendering.
//!
//! Owns: source files ([`SourceMap`]), positions in them ([`Span`]), macro expansion records, and
//! the [`Diagnostic`] data type every front-end stage reports. Nothing here decides to stop:
//! stages push diagnostics into a [`Sink`], only drivers render them ([`render`]).
//!
//! Start with [`SourceMap::add_file`] and [`Diagnostic::error`].
#![forbid(unsafe_code)]

mod catalogue;
mod diagnostic;
mod fix;
pub mod formats;
mod render;
mod source_map;
mod suggest;
mod warnings;

pub use catalogue::{CATALOGUE, Entry, Group, Proof, WarningFlag, catalogue_entry, catalogue_ids};
pub use diagnostic::{Diagnostic, Label, Note, Severity, Sink};
pub use fix::{Edit, FixedFile, Fixes, apply_fixes};
pub use render::{render_json, render_text};
pub use source_map::{
    Expansion, ExpansionId, FileId, LineCol, LineMark, Region, SourceFile, SourceMap, Span,
};
pub use suggest::suggest;
pub use warnings::{EnabledWarnings, Level, PragmaOutcome, WarningOptions, Warnings};
