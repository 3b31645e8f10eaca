//! Round trips and errors of suppression files.

use super::{Suppressions, generate};
use crate::{AccessedMemory, Action, Finding, FindingKind, MemorySpace, Position, Side, SourcePlace, Value};

fn finding(kind: FindingKind, function: &str) -> Finding {
    let place =
        SourcePlace { file: "shaders/a b.metal".to_owned(), line: 7, column: 3, ..SourcePlace::default() };
    let side = Side {
        action: Action::Write,
        thread: Position::default(),
        bytes: 4,
        offset: 0,
        value: Some(Value(vec![1, 0, 0, 0])),
        place: SourcePlace { function: function.to_owned(), ..place },
    };
    Finding {
        kind,
        kernel: "sum<float *>\"\\\u{7f}\n".to_owned(),
        launch: 0,
        seed: None,
        message: String::new(),
        sides: vec![side],
        memory: Some(AccessedMemory {
            space: MemorySpace::Device,
            name: "out".to_owned(),
            label: None,
            bytes: 4,
            element_bytes: 4,
        }),
        remedy: None,
        count: 1,
    }
}

fn parsed(text: &str) -> Suppressions {
    let mut suppressions = Suppressions::default();
    suppressions.parse("s.toml", text).expect("it is well formed");
    suppressions
}

fn error(text: &str) -> String {
    Suppressions::default().parse("s.toml", text).expect_err("it is wrong").to_string()
}

#[test]
fn what_is_generated_suppresses_its_finding_and_no_other() {
    for &kind in FindingKind::ALL {
        for function in ["sum<float *>", ""] {
            let known = finding(kind, function);
            let suppressions = parsed(&generate(std::slice::from_ref(&known)));
            assert_eq!(suppressions.matching(&known), Some(0), "{kind}");
            let other_kind = FindingKind::ALL.iter().copied().find(|&other| other != kind).unwrap();
            assert_eq!(suppressions.matching(&finding(other_kind, function)), None, "{kind}");
            let other_kernel = Finding { kernel: "sum<float x>".to_owned(), ..known.clone() };
            assert_eq!(suppressions.matching(&other_kernel), None, "{kind}");
        }
    }
}

#[test]
fn a_finding_without_place_and_memory_is_suppressed_too() {
    for &kind in FindingKind::ALL {
        let bare = Finding { sides: Vec::new(), memory: None, ..finding(kind, "") };
        assert_eq!(parsed(&generate(std::slice::from_ref(&bare))).matching(&bare), Some(0), "{kind}");
    }
}

#[test]
fn equal_findings_are_generated_once_and_lines_may_move() {
    let first = finding(FindingKind::OutOfBounds, "f");
    let mut moved = first.clone();
    moved.sides[0].place.line = 9;
    let text = generate(&[first, moved.clone()]);
    assert_eq!(text.matches("[[suppress]]").count(), 1);
    assert_eq!(parsed(&text).matching(&moved), Some(0));
}

#[test]
fn every_field_narrows() {
    let known = finding(FindingKind::OutOfBounds, "f");
    for (fields, expected) in [
        ("", true),
        ("kernel = \"sum*\"", true),
        ("kernel = \"max*\"", false),
        ("file = \"a?b.metal\"", true),
        ("file = \"b.metal\"", false),
        ("line = 7", true),
        ("line = 8", false),
        ("function = \"f\"", true),
        ("function = \"g\"", false),
        ("variable = \"o*\"", true),
        ("variable = \"in\"", false),
        ("reason = \"known\"", true),
    ] {
        for kind in ["*", "bounds", "out-of-bounds"] {
            let text = format!("[[suppress]]\nkind = \"{kind}\"\n{fields}\n");
            assert_eq!(parsed(&text).matching(&known).is_some(), expected, "{text}");
        }
    }
}

#[test]
fn wrong_files_are_told_with_the_line() {
    let message = error("[[suppress]]\nkind = \"race-grid\"\n\n[[suppress]]\nkind = \"races\"\n");
    assert!(message.starts_with("s.toml:5: `races` is no kind of finding"), "{message}");
    let message = error("[[suppress]]\nkind = \"race-grid\"\nfnuction = \"f\"\n");
    assert!(message.starts_with("s.toml:3: unknown field `fnuction`"), "{message}");
    let message = error("\n[[suppress]]\nfile = \"a\"\n");
    assert!(message.starts_with("s.toml:2: missing field `kind`"), "{message}");
    let message = error("[[suppress]]\nkind = \"*\"\nline = \"7\"\n");
    assert!(message.starts_with("s.toml:3: invalid type"), "{message}");
    assert!(error("kind = ").starts_with("s.toml:1: "));
    assert!(error("[[supress]]\nkind = \"*\"").starts_with("s.toml:1: unknown field `supress`"));
}
