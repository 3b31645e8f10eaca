//! Rendering of diagnostics: `text.rs` for terminals, `json.rs` for programs.
//!
//! Both show a diagnostic at the place in a file where it comes from in the end
//! ([`SourceMap::outermost`]), and then how macros led from there to the text in question. Invariant:
//! no span, however odd, makes rendering panic or print more than a few lines.

mod json;
mod text;

#[cfg(test)]
mod tests;

pub use json::render_json;
pub use text::render_text;

use crate::{Diagnostic, SourceMap, Span};

/// Maximum number of macro expansions, and of includes, shown for one diagnostic.
const LONGEST_CHAIN: usize = 6;

/// A remark with a place in a file, or [`Span::NONE`].
struct Remark {
    span: Span,
    text: String,
}

/// The remarks after a diagnostic's own message: the macro expansions it is in, its notes, and the
/// includes that lead to its file.
fn remarks(map: &SourceMap, diagnostic: &Diagnostic) -> Vec<Remark> {
    let mut remarks = expansion_remarks(map, diagnostic.span);
    let notes = diagnostic.notes.iter();
    remarks.extend(notes.map(|note| Remark { span: map.outermost(note.span), text: note.text.clone() }));
    remarks.extend(include_remarks(map, map.outermost(diagnostic.span)));
    remarks
}

/// How the file of a place came to be read.
fn include_remarks(map: &SourceMap, place: Span) -> Vec<Remark> {
    let next =
        |place: &Span| Some(map.outermost(map.included_from(place.file))).filter(|place| !place.is_none());
    // The bound also ends a chain that leads back to itself.
    let places = std::iter::successors(next(&place), next).take(LONGEST_CHAIN);
    places.map(|span| Remark { span, text: "in the file included here".to_owned() }).collect()
}

/// From the outermost macro inwards: where in its body the next step is spelled.
fn expansion_remarks(map: &SourceMap, span: Span) -> Vec<Remark> {
    let outermost = map.outermost(span);
    let mut remarks = Vec::new();
    let mut inner = span;
    while let Some(expansion) = map.expansion(inner.expansion) {
        let spelled = Span { expansion: crate::ExpansionId::NONE, ..inner };
        let in_argument = spelled == outermost;
        let (place, part) =
            if in_argument { (expansion.definition, "an argument") } else { (spelled, "the expansion") };
        remarks.push(Remark { span: place, text: format!("in {part} of macro `{}`", expansion.macro_name) });
        inner = expansion.call_site;
    }
    remarks.reverse();
    if remarks.len() > LONGEST_CHAIN {
        let left_out = remarks.len() - LONGEST_CHAIN;
        let text = format!("({left_out} more macro expansions)");
        let half = LONGEST_CHAIN / 2;
        remarks.splice(half..half + left_out, [Remark { span: Span::NONE, text }]);
    }
    remarks
}
