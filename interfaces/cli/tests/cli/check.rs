//! `check` of workloads and programs: what is left out, what is sampled, and programs that fail.

use crate::support::{Bench, Ran};

/// `fine` is right; in `shift` each thread reads what another writes.
const KERNELS: &str = "
kernel void fine(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }
kernel void shift(device float* x, uint i [[thread_position_in_grid]]) {
    if (i > 0) { x[i - 1] = x[i]; }
}
kernel void meant(device uint* hint, uint i [[thread_position_in_grid]]) {
    [[anymetal::benign_race]] hint[0] = i;
}
";

/// Launches of these kernels, one after the other.
fn workload(kernels: &[&str]) -> String {
    let step = |(n, kernel): (usize, &&str)| {
        let after = if n == 0 { String::new() } else { format!("after = [\"{}\"]\n", n - 1) };
        format!(
            "[[step]]\nname = \"{n}\"\nqueue = \"q\"\nkernel = \"{kernel}\"\nargs = [\"x\"]\nthreads = 512\n\
             group = 64\n{after}"
        )
    };
    let steps: String = kernels.iter().enumerate().map(step).collect();
    format!("source = \"kernels.metal\"\n[buffers]\nx = \"iota:f32:512\"\n[[queue]]\nname = \"q\"\n{steps}")
}

fn bench(kernels: &[&str]) -> Bench {
    let bench = Bench::new();
    bench.write("kernels.metal", KERNELS);
    bench.write("work.toml", workload(kernels));
    bench
}

/// `check --json` of a program: `trace` of the workload.
fn check_program(bench: &Bench, options: &[&str]) -> Ran {
    let program = ["--", env!("CARGO_BIN_EXE_anymetal"), "trace", "work.toml", "-o", "timeline.json"];
    bench.run(&[&["check", "--json"], options, &program].concat())
}

fn check_workload(bench: &Bench, options: &[&str]) -> Ran {
    bench.run(&[&["check", "work.toml", "--json"], options].concat())
}

/// The kinds that were found, with the launch.
fn found(ran: &Ran) -> Vec<(String, u64)> {
    let json = ran.json();
    let findings = json["findings"].as_array().expect("a list");
    let mut found: Vec<(String, u64)> = findings
        .iter()
        .map(|finding| (finding["kind"].as_str().unwrap().to_owned(), finding["launch"].as_u64().unwrap()))
        .collect();
    found.sort();
    found.dedup();
    found
}

const EXPECTED: [&str; 3] = ["race-grid", "race-simdgroup", "race-threadgroup"];

#[test]
fn a_program_is_checked_without_a_change_to_it() {
    let bench = bench(&["fine", "shift"]);
    for ran in [check_program(&bench, &[]), check_workload(&bench, &[])] {
        let ran = ran.expect(3);
        assert_eq!(found(&ran), EXPECTED.map(|kind| (kind.to_owned(), 1)));
        assert_eq!(ran.json()["summary"]["launches"], 2);
    }
    let text =
        bench.run(&["check", "--", env!("CARGO_BIN_EXE_anymetal"), "trace", "work.toml", "-o", "t.json"]);
    let text = text.expect(3).stdout;
    assert!(text.contains("2 submissions; timeline in t.json"), "the program's own output: {text}");
    assert!(text.contains("if (i > 0) { x[i - 1] = x[i]; }"), "the source: {text}");
}

#[test]
fn kernels_and_launches_are_selected() {
    let bench = bench(&["shift", "fine", "shift"]);
    for check in [check_program, check_workload] {
        assert_eq!(found(&check(&bench, &["--launches", "1.."]).expect(3))[0], (EXPECTED[0].to_owned(), 2));
        assert_eq!(found(&check(&bench, &["--kernel", "/hif/"]).expect(3))[0], (EXPECTED[0].to_owned(), 0));
        let left_out = check(&bench, &["--kernel", "f*"]).expect(0).json();
        assert_eq!(left_out["summary"]["launches"], 1);
        let note = left_out["summary"]["notes"][0].as_str().unwrap().to_owned();
        assert!(note.starts_with("2 of 3 launches ran without checks"), "{note}");
        // Nothing was checked: that is not clean.
        check(&bench, &["--kernel", "other"]).expect(4);
        check(&bench, &["--launches", "2..2"]).expect(2).says(&["is no range of launches"]);
    }
}

#[test]
fn a_sample_of_threadgroups_says_that_it_is_one() {
    let bench = bench(&["fine"]);
    for check in [check_program, check_workload] {
        let json = check(&bench, &["--max-threadgroups", "3"]).expect(0).json();
        assert_eq!(json["summary"]["sampled"], serde_json::json!({ "threadgroups": 3, "of": 8 }));
    }
    let text = bench.run(&["check", "work.toml", "--max-threadgroups", "3"]).expect(0).stdout;
    assert!(text.ends_with("in 1 launch; sampled 3 of 8 threadgroups; suppressed 0\n"), "{text}");
}

#[test]
fn attributes_in_the_source_of_a_program_count() {
    let bench = bench(&["meant"]);
    for check in [check_program, check_workload] {
        let json = check(&bench, &[]).expect(0).json();
        assert!(json["summary"]["suppressed"].as_u64().unwrap() > 0);
    }
}

#[test]
fn a_program_that_fails_or_launches_nothing_is_not_clean() {
    let bench = bench(&["fine"]);
    let anymetal = env!("CARGO_BIN_EXE_anymetal");
    let reason = |program: &[&str]| {
        let ran = bench.run(&[&["check", "--json", "--"], program].concat()).expect(4);
        ran.json()["reason"].as_str().expect("it is incomplete").to_owned()
    };
    assert!(reason(&[anymetal, "devices"]).contains("launched no kernel"));
    let failed = reason(&[anymetal, "trace", "missing.toml", "-o", "t.json"]);
    assert!(failed.contains("the program failed: exit status: 1") && failed.contains("launched no kernel"));
    // The timeline cannot be written: it fails after its launches.
    let late = reason(&[anymetal, "trace", "work.toml", "-o", "missing/t.json"]);
    assert!(late.starts_with("the program failed: exit status: 1"), "{late}");
    bench.run(&["check", "--", "./missing"]).expect(1).says(&["cannot run ./missing"]);
    bench.run(&["check", "--"]).expect(2);
}

#[cfg(unix)]
#[test]
fn findings_of_all_processes_of_a_program_count() {
    let bench = bench(&["shift"]);
    bench.write("fine.toml", workload(&["fine"]));
    let anymetal = env!("CARGO_BIN_EXE_anymetal");
    let both = format!("{anymetal} trace work.toml -o a.json && {anymetal} trace fine.toml -o b.json");
    let ran = bench.run(&["check", "--json", "--", "sh", "-c", &both]).expect(3);
    assert_eq!((found(&ran).len(), &ran.json()["summary"]["launches"]), (3, &2.into()));
}

#[test]
fn settings_of_a_checked_program_are_checked() {
    let mut bench = bench(&["fine"]);
    bench.set("ANYMETAL_CHECK", "sanitize");
    bench.set("ANYMETAL_CHECK_OPTIONS", "only=races");
    let run = ["trace", "work.toml", "-o", "t.json"];
    bench.run(&run).expect(1).says(&["ANYMETAL_CHECK_OPTIONS", "`races` is no kind of finding"]);
    bench.set("ANYMETAL_CHECK_OPTIONS", "only=race");
    bench.set("ANYMETAL_CHECK_REPORT", bench.path("report.json").display().to_string());
    bench.run(&run).expect(0);
    let text = std::fs::read_to_string(bench.path("report.json")).expect("it was written");
    let report: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).expect("it is JSON");
    assert_eq!((&report["schema"], &report["summary"]["launches"]), (&1.into(), &1.into()));
}
