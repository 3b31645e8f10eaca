//! Changes of the source that mend what a diagnostic reports, and applying them.
//!
//! Invariant: the edits of one diagnostic are applied together or not at all, and applied edits do not
//! overlap.

use crate::{Diagnostic, FileId, SourceMap, Span};
use std::collections::BTreeMap;

/// A change of the source that is right without a person's judgement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// The text that is replaced; an empty span inserts.
    pub span: Span,
    /// The text there, where the place was computed rather than parsed: another text is not replaced.
    pub expected: Option<String>,
    /// The text instead.
    pub text: String,
}

/// A file after [`apply_fixes`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FixedFile {
    /// The file.
    pub file: FileId,
    /// Its new text.
    pub text: String,
    /// What was changed, in the order of the file; the spans are those of the old text.
    pub edits: Vec<Edit>,
}

/// The result of [`apply_fixes`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fixes {
    /// The files with changes, in the order of their ids.
    pub files: Vec<FixedFile>,
    /// The number of diagnostics that were mended.
    pub applied: usize,
    /// The number of diagnostics whose edits were left out: they overlap others, or are in a macro.
    pub left_out: usize,
}

/// Where in a file an edit applies; `None` if its text is a macro's, or of a file that is not to be changed.
fn range_of(map: &SourceMap, edit: &Edit, may_change: &impl Fn(&str) -> bool) -> Option<(FileId, u32, u32)> {
    let span = map.outermost(edit.span);
    // In the argument of a macro the text is spelled where it is used.
    let is_spelled_there = (span.file, span.lo, span.hi) == (edit.span.file, edit.span.lo, edit.span.hi);
    let file = map.file(span.file)?;
    let old = file.text.get(span.lo as usize..span.hi as usize)?;
    let is_expected = edit.expected.as_ref().is_none_or(|expected| expected == old);
    (is_spelled_there && is_expected && may_change(&file.name)).then_some((span.file, span.lo, span.hi))
}

/// The edits of the files that are accepted so far, by their first byte.
type Accepted = BTreeMap<FileId, BTreeMap<(u32, u32), Edit>>;

/// Whether an edit can be applied next to those before it: it repeats one, or overlaps none.
fn fits(accepted: &Accepted, (file, lo, hi): (FileId, u32, u32), edit: &Edit) -> bool {
    let Some(edits) = accepted.get(&file) else { return true };
    if edits.get(&(lo, hi)).is_some_and(|known| known.text == edit.text) {
        return true;
    }
    edits.keys().all(|&(start, end)| hi <= start && (lo, hi) != (start, end) || end <= lo && start != lo)
}

/// Applies the edits of diagnostics, in their order, to the text of the files that may change, by their
/// names.
pub fn apply_fixes(map: &SourceMap, list: &[Diagnostic], may_change: impl Fn(&str) -> bool) -> Fixes {
    let mut accepted = Accepted::new();
    let mut fixes = Fixes::default();
    for diagnostic in list.iter().filter(|diagnostic| !diagnostic.edits.is_empty()) {
        let ranges: Option<Vec<_>> =
            diagnostic.edits.iter().map(|edit| range_of(map, edit, &may_change)).collect();
        let fitting = ranges.filter(|ranges| {
            ranges.iter().zip(&diagnostic.edits).all(|(&range, edit)| fits(&accepted, range, edit))
        });
        let Some(ranges) = fitting else {
            fixes.left_out += 1;
            continue;
        };
        for ((file, lo, hi), edit) in ranges.into_iter().zip(&diagnostic.edits) {
            accepted.entry(file).or_default().insert((lo, hi), edit.clone());
        }
        fixes.applied += 1;
    }
    fixes.files = accepted.into_iter().map(|(file, edits)| fixed_file(map, file, edits)).collect();
    fixes
}

fn fixed_file(map: &SourceMap, file: FileId, edits: BTreeMap<(u32, u32), Edit>) -> FixedFile {
    let old = &map.file(file).expect("edits of files that exist are accepted").text;
    let (mut text, mut end) = (String::with_capacity(old.len()), 0);
    for (&(lo, hi), edit) in &edits {
        assert!(end <= lo, "the edits of a file do not overlap");
        text.push_str(&old[end as usize..lo as usize]);
        text.push_str(&edit.text);
        end = hi;
    }
    text.push_str(&old[end as usize..]);
    FixedFile { file, text, edits: edits.into_values().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Expansion;
    use std::sync::Arc;

    fn fix(file: FileId, edits: &[(u32, u32, &str)]) -> Diagnostic {
        let mut diagnostic = Diagnostic::error("unknown-name", Span::new(file, edits[0].0, edits[0].1), "m");
        for &(lo, hi, text) in edits {
            diagnostic = diagnostic.with_edit(Span::new(file, lo, hi), text);
        }
        diagnostic
    }

    #[test]
    fn edits_of_one_diagnostic_are_applied_together_or_not_at_all() {
        let mut map = SourceMap::new();
        let file = map.add_file("a.metal", "abcdefgh");
        let list = [
            fix(file, &[(0, 1, "A"), (4, 5, "E")]),
            // Overlaps the first at `e`, so that `c` stays too.
            fix(file, &[(2, 3, "C"), (3, 6, "")]),
            fix(file, &[(8, 8, ";")]),
            // The same again changes nothing, and something else at the place is left out.
            fix(file, &[(8, 8, ";")]),
            fix(file, &[(8, 8, ")")]),
        ];
        let fixes = apply_fixes(&map, &list, |_| true);
        assert_eq!((fixes.applied, fixes.left_out), (3, 2));
        assert_eq!(fixes.files[0].text, "AbcdEfgh;");
        assert_eq!(fixes.files[0].edits.len(), 3);
    }

    #[test]
    fn text_of_macros_and_of_the_library_stays() {
        let mut map = SourceMap::new();
        let library = map.add_file("<metal_stdlib>", "abc");
        let file = map.add_file("a.metal", "#define M(x) x y\nM(z)");
        let expansion = Expansion {
            macro_name: Arc::from("M"),
            call_site: Span::new(file, 17, 21),
            definition: Span::new(file, 8, 9),
        };
        let expansion = map.add_expansion(expansion);
        let in_macro = |lo, hi| Span { expansion, ..Span::new(file, lo, hi) };
        let body = fix(library, &[(0, 1, "x")]);
        let mut argument = fix(file, &[(19, 20, "Z")]);
        argument.edits[0].span = in_macro(19, 20);
        let mut of_body = fix(file, &[(15, 16, "Y")]);
        of_body.edits[0].span = in_macro(15, 16);
        let fixes = apply_fixes(&map, &[body, argument, of_body], |name| name == "a.metal");
        assert_eq!((fixes.applied, fixes.left_out), (1, 2));
        assert_eq!(fixes.files[0].text, "#define M(x) x y\nM(Z)");
    }

    #[test]
    fn a_computed_place_must_have_the_text_that_is_replaced() {
        let mut map = SourceMap::new();
        let file = map.add_file("a.metal", "p . x p.y");
        let at = |lo| {
            let (expected, text) = (Some(".".to_owned()), "->".to_owned());
            let edit = Edit { span: Span::new(file, lo, lo + 1), expected, text };
            let mut diagnostic = fix(file, &[(lo, lo + 1, "")]);
            diagnostic.edits = vec![edit];
            diagnostic
        };
        let fixes = apply_fixes(&map, &[at(3), at(7)], |_| true);
        assert_eq!((fixes.applied, fixes.left_out), (1, 1));
        assert_eq!(fixes.files[0].text, "p . x p->y");
    }
}
