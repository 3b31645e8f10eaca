//! Marks in the source: taken without a word, wherever a statement or declaration begins, and found with the
//! lines that they are about.

use anymetal_ir::print_module;
use anymetal_msl::pp::MemoryIncludes;
use anymetal_msl::{CompileOptions, Library, MarkedLines};

fn library(source: &str) -> Library {
    let text = format!("#include <metal_stdlib>\nusing namespace metal;\n{source}");
    let options = CompileOptions::default();
    let (library, diagnostics) =
        Library::parse("a.metal", text.as_bytes(), &options, &mut MemoryIncludes::default());
    assert!(diagnostics.list.is_empty(), "{}", diagnostics.render_text(false));
    let library = library.expect("a program without errors parses");
    let all = library.check_all();
    assert!(all.list.is_empty(), "{}", all.render_text(false));
    library
}

/// The marked lines; the source's first is 3.
fn lines(source: &str) -> Vec<(u32, u32)> {
    library(source).marks().iter().map(|mark: &MarkedLines| mark.lines).collect()
}

const SOURCE: &str = "
kernel void k(device uint* o [[buffer(0)]], uint t [[thread_position_in_grid]]) {
  o[t] = 1;
  MARK o[0] = t;
  MARK
  for (uint n = 0; n < 4; n++) {
    o[n] = t;
  }
  if (t > 1) MARK o[1] = o[0] +
    t;
  MARK uint v = o[2];
  MARK { o[3] = v; }
  MARK return;
}
MARK void f(device uint* o) {
  o[0]++;
}
void g(device uint* o) MARK {
  o[0]++;
}
";

const MARKS: [&str; 3] = [
    "[[anymetal::benign_race]]",
    "__attribute__((annotate(\"anymetal_benign_race\")))",
    "[[clang::annotate(\"anymetal:benign_race\")]]",
];

#[test]
fn marks_are_found_with_what_they_are_about() {
    for mark in MARKS {
        let found = lines(&SOURCE.replace("MARK", mark));
        let wanted = [(6, 6), (7, 10), (11, 12), (13, 13), (14, 14), (15, 15), (17, 19), (20, 22)];
        assert_eq!(found, wanted, "{mark}");
        let marks = library(&SOURCE.replace("MARK", mark)).marks();
        assert!(marks.iter().all(|mark| mark.text == "benign_race"), "{marks:?}");
    }
}

#[test]
fn marks_change_nothing() {
    let module = |source: &str| library(source).module("k").unwrap();
    let plain = SOURCE.replace("MARK", &" ".repeat(MARKS[0].len()));
    assert_eq!(print_module(&module(&SOURCE.replace("MARK", MARKS[0]))), print_module(&module(&plain)));
}

#[test]
fn a_mark_of_a_macro_is_at_its_use() {
    let found =
        lines("#define BENIGN [[anymetal::benign_race]]\nvoid f(device uint* o) {\n  BENIGN o[0] = 1;\n}");
    assert_eq!(found, [(5, 5)]);
}

#[test]
fn a_mark_at_the_end_is_about_nothing_more() {
    assert_eq!(lines("void f() {}\nvoid g() { [[anymetal::benign_race]]; }"), [(4, 4)]);
    for end in
        ["[[anymetal::benign_race]]", "void f() { [[anymetal::benign_race]]", "[[anymetal::benign_race"]
    {
        // Errors, but no panic.
        let options = CompileOptions::default();
        let (_, diagnostics) =
            Library::parse("a.metal", end.as_bytes(), &options, &mut MemoryIncludes::default());
        assert_eq!(diagnostics.has_errors(), end != MARKS[0]);
    }
}

#[test]
fn other_attributes_are_no_marks() {
    let source = "[[clang::annotate(\"benign race of anymetal\")]] void f() {}
        __attribute__((annotate(\"other\"))) void g() {}";
    assert_eq!(lines(source), []);
}

#[test]
fn what_an_annotation_says_is_passed_on() {
    let source = "void f(device uint* o) {
          [[clang::annotate(\"anymetal: allow(race-grid): a hint\")]] o[0] = 1;
        }";
    let marks = library(source).marks();
    let [mark] = &marks[..] else { panic!("{marks:?}") };
    assert_eq!((mark.text.as_str(), mark.lines), ("allow(race-grid): a hint", (4, 4)));
}
