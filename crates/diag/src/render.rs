//! Rendering for terminals and for programs, and spelling suggestions.

use crate::{Diagnostic, SourceMap};

/// Renders diagnostics as text with source line and caret.
pub fn render_text(map: &SourceMap, diagnostics: &[Diagnostic], colour: bool) -> String {
    let _ = (map, diagnostics, colour);
    String::new()
}

/// Renders diagnostics as a JSON array.
pub fn render_json(map: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    let _ = (map, diagnostics);
    String::new()
}

/// The candidate nearest to `name` by edit distance, when it is near enough to be a typing slip.
pub fn suggest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let _ = (name, candidates.into_iter().next());
    None
}
