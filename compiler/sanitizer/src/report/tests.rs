//! Golden reports of a few findings in each format, and SARIF against its JSON schema.

mod schema;

use expect_test::{expect, expect_file};

use super::{Report, RunOutcome, SourceTexts, Verdict};
use crate::marks::Marks;
use crate::suppress::Suppressions;
use crate::{
    AccessedMemory, Action, Finding, FindingKind, MemorySpace, Position, Side, SourcePlace, Through, Value,
};

const REDUCE: &str = "\
#include \"tile.h\"
kernel void reduce(device const float *in, device float *out, uint i [[thread_index_in_threadgroup]]) {
    threadgroup float tile[128];
\tSTORE(tile, i, in[i]);
    out[i] = tile[127 - i];
    if (i >= 100) return;
    threadgroup_barrier(mem_flags::mem_threadgroup); /* größer */ out[i / in[0]] = 0;
}
";
const TILE: &str = "#define STORE(tile, at, value) tile[at] = (value)\n";

fn sources() -> SourceTexts {
    let mut sources = SourceTexts::default();
    sources.insert("shaders/reduce.metal", REDUCE);
    sources.insert("shaders/tile.h", TILE);
    sources
}

fn place(file: &str, line: u32, column: u32) -> SourcePlace {
    let function = "reduce".to_owned();
    SourcePlace { file: format!("shaders/{file}"), line, column, function, through: Vec::new() }
}

fn side(action: Action, lane: u32, simdgroup: u32, place: SourcePlace) -> Side {
    let thread = simdgroup * 32 + lane;
    let thread = Position {
        threadgroup: [1, 0, 0],
        thread: [thread, 0, 0],
        grid: [128 + thread, 0, 0],
        simdgroup,
        lane,
    };
    Side { action, thread, bytes: 0, offset: 0, value: None, place }
}

fn finding(kind: FindingKind, message: &str, sides: Vec<Side>) -> Finding {
    Finding {
        kind,
        kernel: "reduce".to_owned(),
        launch: 2,
        seed: None,
        message: message.to_owned(),
        sides,
        memory: None,
        remedy: None,
        count: 1,
    }
}

fn memory(space: MemorySpace, name: &str, label: Option<&str>, bytes: u64) -> Option<AccessedMemory> {
    let label = label.map(str::to_owned);
    Some(AccessedMemory { space, name: name.to_owned(), label, bytes, element_bytes: 4 })
}

/// A race between a macro of a header and a line of the kernel.
fn race() -> Finding {
    let step = Through {
        what: "in expansion of macro `STORE`".to_owned(),
        file: "shaders/reduce.metal".to_owned(),
        line: 4,
        column: 2,
    };
    let write_place = SourcePlace { through: vec![step], ..place("tile.h", 1, 32) };
    let value = Some(Value(1.0f32.to_le_bytes().to_vec()));
    let write = Side { bytes: 4, offset: 12, value, ..side(Action::Write, 3, 0, write_place) };
    let read = Side { bytes: 4, offset: 12, ..side(Action::Read, 28, 3, place("reduce.metal", 5, 14)) };
    Finding {
        seed: Some(17),
        memory: memory(MemorySpace::Threadgroup, "tile", None, 512),
        remedy: Some("put `threadgroup_barrier(mem_flags::mem_threadgroup)` between the accesses".to_owned()),
        count: 1023,
        ..finding(
            FindingKind::RaceWithinThreadgroup,
            "nothing orders the accesses to `tile[3]`",
            vec![write, read],
        )
    }
}

fn out_of_bounds() -> Finding {
    let write = side(Action::Write, 4, 0, place("reduce.metal", 5, 5));
    let write = Side { bytes: 4, offset: 4096, value: Some(Value(vec![7, 0, 0, 0])), ..write };
    Finding {
        memory: memory(MemorySpace::Device, "out", Some("50% of sums"), 4000),
        remedy: Some("compare the index with the number of elements, 1000".to_owned()),
        count: 24,
        ..finding(FindingKind::OutOfBounds, "index 1024 of `out`, which has 1000 elements", vec![write])
    }
}

fn early_return() -> Finding {
    let sides = vec![
        side(Action::Return, 4, 3, place("reduce.metal", 6, 19)),
        side(Action::Barrier, 0, 0, place("reduce.metal", 7, 5)),
    ];
    finding(FindingKind::EarlyReturn, "28 of 128 threads returned before the barrier", sides)
}

fn lint() -> Finding {
    let sides = vec![side(Action::Arithmetic, 0, 0, place("reduce.metal", 7, 75))];
    finding(FindingKind::DivisionByZero, "`i / 0`", sides)
}

fn all() -> Vec<Finding> {
    vec![lint(), early_return(), race(), out_of_bounds()]
}

fn report(findings: Vec<Finding>, incomplete: Option<&str>) -> Report {
    let incomplete = incomplete.map(str::to_owned);
    let run = RunOutcome { launches: 3, incomplete, ..RunOutcome::default() };
    Report::new(findings, run, &Suppressions::default(), &Marks::default())
}

/// One finding suppressed by a file, one by a mark; a suppression without use.
fn suppressed() -> Report {
    let mut suppressions = Suppressions::default();
    let text = "[[suppress]]\nkind = \"early-return\"\nreason = \"Apple's GPUs only\"\n\n\
                [[suppress]]\nkind = \"race-grid\"\n";
    suppressions.parse("known.toml", text).expect("it is well formed");
    let mut marks = Marks::default();
    marks.scan("shaders/tile.h", "x; // anymetal: benign race, measured\n// anymetal: oops\n");
    let notes = vec!["2 of 64 threadgroups were checked".to_owned()];
    let run = RunOutcome { launches: 1, notes, not_kept: 5, ..RunOutcome::default() };
    Report::new(all(), run, &suppressions, &marks)
}

#[test]
fn text_of_findings() {
    expect_file!["tests/findings.txt"].assert_eq(&report(all(), None).text(&sources(), false));
}

#[test]
fn text_without_sources() {
    let text = report(vec![race()], None).text(&SourceTexts::default(), false);
    expect_file!["tests/no-sources.txt"].assert_eq(&text);
}

#[test]
fn text_of_suppressed_findings() {
    let text = suppressed().text(&sources(), false);
    let closing: Vec<&str> = text.lines().rev().take(5).collect();
    expect![[r#"
        warning: shaders/tile.h:2: `oops` is no mark; the marks are `benign race` and `allow(KIND, …)`
        note: unused suppression known.toml:6 (race-grid)
        note: 5 more findings not shown, since their number is limited
        note: 2 of 64 threadgroups were checked
        ERROR SUMMARY: 2 findings (25 occurrences) in 1 launch; suppressed 2
    "#]]
    .assert_eq(&closing.into_iter().rev().map(|line| format!("{line}\n")).collect::<String>());
}

#[test]
fn colour_is_a_choice() {
    assert!(report(all(), None).text(&sources(), true).contains("\u{1b}["));
    assert!(!report(all(), None).text(&sources(), false).contains('\u{1b}'));
}

#[test]
fn an_incomplete_run_is_never_zero_findings() {
    let reason = "kernel `reduce` was stopped after 1000000 steps";
    for findings in [vec![], all()] {
        let count = findings.len();
        let report = report(findings, Some(reason));
        let text = report.text(&sources(), false);
        assert_eq!(text.lines().last(), Some(format!("check incomplete: {reason}").as_str()));
        for format in [text, report.json(), report.sarif(&sources()), report.github()] {
            assert!(!format.contains("SUMMARY: 0") && format.contains(reason), "{count}: {format}");
        }
    }
    let nothing = Report::new(vec![], RunOutcome::default(), &Suppressions::default(), &Marks::default());
    assert!(matches!(nothing.verdict, Verdict::Incomplete(_)));
}

#[test]
fn a_clean_run_says_so() {
    let report = report(vec![], None);
    assert_eq!(report.verdict, Verdict::Clean);
    let text = "ERROR SUMMARY: 0 findings (0 occurrences) in 3 launches; suppressed 0\n";
    assert_eq!(report.text(&sources(), false), text);
    assert_eq!(report.github(), "");
}

#[test]
fn json_of_findings() {
    expect_file!["tests/findings.json"].assert_eq(&suppressed().json());
    let incomplete: serde_json::Value =
        serde_json::from_str(&report(vec![], Some("crashed")).json()).expect("it is JSON");
    assert_eq!((&incomplete["verdict"], &incomplete["reason"]), (&"incomplete".into(), &"crashed".into()));
    assert_eq!(incomplete["schema"], 1);
}

#[test]
fn github_annotations() {
    expect_file!["tests/findings.github"].assert_eq(&report(all(), Some("stopped, 50%\nor so")).github());
}

#[test]
fn sarif_of_findings() {
    let sarif = suppressed().sarif(&sources());
    let mut document: serde_json::Value = serde_json::from_str(&sarif).expect("it is JSON");
    document["runs"][0]["tool"]["driver"]["rules"].as_array_mut().expect("rules").truncate(2);
    expect_file!["tests/findings.sarif"].assert_eq(&format!("{document:#}\n"));
}

#[test]
fn fingerprints_survive_moved_lines() {
    let fingerprints = |moved: u32| {
        let mut sources = SourceTexts::default();
        sources.insert("shaders/reduce.metal", &("\n".repeat(moved as usize) + REDUCE));
        let mut findings = all();
        findings.push(race());
        for side in findings.iter_mut().flat_map(|finding| &mut finding.sides) {
            side.place.line += moved;
        }
        let document: serde_json::Value =
            serde_json::from_str(&report(findings, None).sarif(&sources)).expect("it is JSON");
        let results = document["runs"][0]["results"].as_array().expect("results").clone();
        results.iter().map(|result| result["partialFingerprints"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(fingerprints(0), fingerprints(10));
    let distinct: std::collections::BTreeSet<String> = fingerprints(0).into_iter().collect();
    assert_eq!(distinct.len(), 5);
}

#[test]
fn texts_of_findings_cannot_steer_a_terminal_or_a_workflow() {
    let mut odd = race();
    let text = "\u{1b}[2J\n::error::x\r";
    odd.kernel = text.to_owned();
    odd.message = text.to_owned();
    odd.remedy = Some(text.to_owned());
    odd.sides[0].place.file = text.to_owned();
    odd.sides[0].place.through[0].what = text.to_owned();
    odd.sides[0].place.through = vec![odd.sides[0].place.through[0].clone(); 1000];
    let report = report(vec![odd], Some(text));
    let shown = report.text(&sources(), false);
    assert!(!shown.contains(['\u{1b}', '\r']) && shown.lines().count() < 80, "{shown}");
    assert!(report.github().lines().all(|line| line.starts_with("::error ")));
    schema::validate(&report.sarif(&sources()));
}
