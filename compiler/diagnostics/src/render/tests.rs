//! Rendering of ordinary and of odd diagnostics.

use super::*;
use crate::{Expansion, ExpansionId, FileId};
use std::sync::Arc;

fn map_with(text: &str) -> (SourceMap, FileId) {
    let mut map = SourceMap::new();
    let file = map.add_file("kernel.metal", text);
    (map, file)
}

#[test]
fn shows_line_caret_label_note_and_hint() {
    let (map, file) = map_with("int a = 1;\nint b = flaot(a);\n");
    let diagnostic = Diagnostic::error("unknown-name", Span::new(file, 19, 24), "unknown name `flaot`")
        .with_label("not declared")
        .with_secondary(Span::new(file, 25, 26), "the argument")
        .with_note(Span::new(file, 4, 5), "declared here")
        .with_note(Span::NONE, "a remark")
        .with_hint("did you mean `float`?");
    let text = render_text(&map, &[diagnostic], false);
    for part in [
        "error[unknown-name]: unknown name `flaot`",
        "kernel.metal:2:9",
        "int b = flaot(a);",
        "^^^^^ - the argument",
        "not declared",
        "note: declared here",
        "kernel.metal:1:5",
        "note: a remark",
        "help: did you mean `float`?",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
}

#[test]
fn shows_the_use_of_a_macro_and_then_its_body() {
    let (mut map, file) = map_with("#define TWICE(x) (x + y)\nint b = TWICE(oops);\n");
    let call_site = Span::new(file, 33, 44);
    let definition = Span::new(file, 8, 13);
    let expansion = map.add_expansion(Expansion { macro_name: Arc::from("TWICE"), call_site, definition });
    let body = Span { expansion, ..Span::new(file, 22, 23) };
    let text = render_text(&map, &[Diagnostic::error("e", body, "bad y")], false);
    assert!(text.contains("kernel.metal:2:9") && text.contains("^^^^^^^^^^^"), "{text}");
    assert!(
        text.contains("in the expansion of macro `TWICE`") && text.contains("kernel.metal:1:23"),
        "{text}"
    );

    let argument = Span { expansion, ..Span::new(file, 39, 43) };
    let text = render_text(&map, &[Diagnostic::error("e", argument, "bad oops")], false);
    assert!(text.contains("kernel.metal:2:15") && text.contains(" ^^^^\n"), "{text}");
    assert!(text.contains("in an argument of macro `TWICE`"), "{text}");
}

#[test]
fn a_frozen_map_keeps_its_expansions() {
    let (mut map, file) = map_with("A B");
    let expansion = |name: &str| Expansion {
        macro_name: Arc::from(name),
        call_site: Span::new(file, 0, 1),
        definition: Span::NONE,
    };
    let first = map.add_expansion(expansion("A"));
    map.freeze();
    let mut clone = map.clone();
    let second = clone.add_expansion(expansion("B"));
    let name = |map: &SourceMap, id| map.expansion(id).map(|expansion| expansion.macro_name.to_string());
    assert_eq!(name(&clone, first).as_deref(), Some("A"));
    assert_eq!(name(&clone, second).as_deref(), Some("B"));
    assert_eq!((name(&map, second), name(&map, ExpansionId::NONE)), (None, None));
}

#[test]
fn shows_how_a_header_was_included() {
    let (mut map, main) = map_with("x\n#include \"a.h\"\n");
    let header = map.add_file("a.h", "bad");
    map.set_included_from(header, Span::new(main, 11, 16));
    map.set_included_from(header, Span::new(main, 0, 1));
    let text = render_text(&map, &[Diagnostic::error("e", Span::new(header, 0, 3), "m")], false);
    assert!(text.contains("a.h:1:1") && text.contains("in the file included here"), "{text}");
    assert!(text.contains("kernel.metal:2:10"), "{text}");
    map.set_included_from(main, Span::new(header, 0, 1));
    assert!(render_text(&map, &[Diagnostic::error("e", Span::new(header, 0, 3), "m")], false).len() < 2_000);
}

#[test]
fn cuts_long_lines_but_counts_columns_from_their_start() {
    let line = format!("{}BAD{}", "x ".repeat(50_000), " y".repeat(50_000));
    let (map, file) = map_with(&line);
    let text = render_text(&map, &[Diagnostic::error("e", Span::new(file, 100_000, 100_003), "m")], false);
    assert!(text.len() < 2_000, "{} bytes", text.len());
    assert!(text.contains("kernel.metal:1:100001") && text.contains("BAD") && text.contains("^^^"), "{text}");
}

#[test]
fn json_has_positions_and_notes() {
    let (map, file) = map_with("ä b\nc");
    let diagnostic = Diagnostic::warning("w", Span::new(file, 3, 4), "m").with_note(Span::NONE, "n");
    let json: serde_json::Value =
        serde_json::from_str(&render_json(&map, &[diagnostic])).expect("valid JSON");
    let first = &json[0];
    assert_eq!(first["severity"], "warning");
    assert_eq!((&first["line"], &first["column"], &first["end_column"]), (&1.into(), &3.into(), &4.into()));
    assert_eq!(first["notes"][0]["message"], "n");
    assert!(first["notes"][0]["file"].is_null());
}

#[test]
fn odd_spans_do_not_panic() {
    for text in ["", "\n", "ä", "a\r\nb", "\u{feff}x", "\t\u{0}\u{1b}[31m", "日本\n語", "e\u{301}\u{200d}x"]
    {
        let (mut map, file) = map_with(text);
        let call_site = Span::new(file, 7, 3);
        let expansion = map.add_expansion(Expansion {
            macro_name: Arc::from("M\u{1b}"),
            call_site,
            definition: Span::NONE,
        });
        let offsets = [0, 1, 2, 3, 4, 5, 9, u32::MAX];
        for lo in offsets {
            for hi in offsets {
                for expansion in [ExpansionId::NONE, expansion, ExpansionId(77)] {
                    let span = Span { file, lo, hi, expansion };
                    let diagnostic = Diagnostic::error("e", span, "\u{7}m")
                        .with_label("l")
                        .with_secondary(Span::new(file, hi, lo), "s")
                        .with_note(Span::new(FileId(9), lo, hi), "n");
                    let diagnostics = [diagnostic];
                    let shown =
                        render_text(&map, &diagnostics, true) + &render_text(&map, &diagnostics, false);
                    assert!(
                        shown.contains("error") && !shown.contains('\u{7}') && !shown.contains("\u{1b}[31mx")
                    );
                    assert!(render_json(&map, &diagnostics).starts_with('['));
                }
            }
        }
    }
}
