//! `anymetal run --logging`: messages of kernels as lines and as JSON.

use crate::support::{Bench, source};

#[test]
fn messages_are_lines_by_threadgroup() {
    let bench = Bench::new();
    let file = source("messages.metal");
    let base = ["run", &file, "-k", "notes", "--threads", "12", "--group", "4", "--arg", "x=iota:f32:12"];
    let ran = bench.run(&[&base[..], &["--logging"]].concat()).expect(0);
    let lines: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("notes (")).collect();
    let expected = [
        "notes (1,0,0) error [tests:cli]: x[1] is 1.0",
        "notes (5,0,0) error [tests:cli]: x[5] is 5.0",
        "notes (9,0,0) error [tests:cli]: x[9] is 9.0",
    ];
    assert_eq!(lines, expected, "{}", ran.stdout);
    let silent = bench.run(&base).expect(0);
    assert!(!silent.stdout.contains("x[1]"), "{}", silent.stdout);
    let json = bench.run(&[&base[..], &["--logging", "--json"]].concat()).expect(0);
    let object: serde_json::Value = serde_json::from_str(&json.stdout).expect("an object");
    assert_eq!(object["logs"].as_array().map(Vec::len), Some(3));
    assert_eq!(object["logs"][1]["thread"], serde_json::json!([5, 0, 0]));
    assert_eq!(object["logs"][1]["threadgroup"], serde_json::json!([1, 0, 0]));
    assert_eq!(object["logs_dropped"], 0);
}

#[test]
fn a_fault_fails_the_run_and_is_printed() {
    let bench = Bench::new();
    let file = source("messages.metal");
    let base = ["run", &file, "-k", "breaks", "--threads", "8", "--arg", "x=iota:f32:8", "--logging"];
    let ran = bench.run(&base).expect(4).says(&["kernel `breaks`, thread (5, 0, 0): x[5] is 5"]);
    assert!(ran.stdout.contains("breaks (5,0,0) fault: x[5] is 5"), "{}", ran.stdout);
}
