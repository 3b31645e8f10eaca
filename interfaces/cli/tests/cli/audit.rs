//! `anymetal audit verify` on logs that hold, are cut off, or were changed.

use std::fs;
use std::path::Path;

use anymetal_audit::{AuditLog, AuditOptions, Event};
use anymetal_driver::hal::clock::ManualClock;

use crate::support::Bench;

fn write(folder: &Path) {
    let log = AuditLog::open(folder, AuditOptions::default(), ManualClock::new()).unwrap();
    log.record(Event::compile("cpu", "saxpy", "5a")).unwrap();
    log.close().unwrap();
}

#[test]
fn a_log_that_holds_ends_with_0_and_a_changed_one_with_1_and_the_place() {
    let bench = Bench::new();
    let folder = bench.path("log");
    write(&folder);
    let ran = bench.run(&["audit", "verify", "log"]).expect(0);
    assert!(ran.stdout.contains("audit-000000.jsonl: records 0 to 2 hold\n3 records hold"), "{}", ran.stdout);
    let json = bench.run(&["audit", "verify", "log", "--json"]).expect(0).json();
    assert_eq!((&json["holds"], &json["records"], &json["broken"]), (&true.into(), &3.into(), &().into()));
    let digest = json["digest"].as_str().unwrap();
    bench.run(&["audit", "verify", "log", "--expect", digest]).expect(0);
    bench.run(&["audit", "verify", "log", "--expect", &"0".repeat(64)]).expect(1);
    bench.run(&["audit", "verify", "log", "--expect", "7"]).expect(2);

    let file = folder.join("audit-000000.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    fs::write(&file, whole.replace("saxpy", "sgemm")).unwrap();
    let ran = bench.run(&["audit", "verify", "log"]).expect(1);
    let broken = "broken: audit-000000.jsonl:2: tampered: it was changed after it was written";
    assert!(ran.stdout.contains(broken), "{}", ran.stdout);
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    fs::write(&file, lines[..2].concat()).unwrap();
    let json = bench.run(&["audit", "verify", "log", "--json"]).expect(1).json();
    assert_eq!((&json["broken"]["line"], &json["broken"]["truncated"]), (&3.into(), &true.into()));
    bench.run(&["audit", "verify", "log/audit-000000.jsonl"]).expect(0);
    bench.run(&["audit", "verify", "nowhere"]).expect(1);
}
