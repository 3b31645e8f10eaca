//! What the audit log has of the manager's work, and what becomes of work when it cannot be written.

use std::fs;
use std::path::Path;

use crate::config::{AuditConfig, AuditDurability, AuditFailing, ServiceConfig};
use anymetal_audit::verify;
use serde_json::Value;

use super::notices::seen;
use super::*;
use anymetal::notice::{Notice, NoticeKind};

fn settings(folder: &Path, when_failing: AuditFailing) -> ServiceConfig {
    let audit = AuditConfig {
        folder: Some(folder.to_owned()),
        when_failing,
        durability: AuditDurability::System,
        rotate_bytes: 4096,
        ..AuditConfig::default()
    };
    ServiceConfig { audit, policy: policies(), ..ServiceConfig::default() }
}

fn audited(folder: &Path, when_failing: AuditFailing, plans: &[(&str, FaultPlan)]) -> Bench {
    Bench::with(plans, policies(), |builder| builder.settings(&settings(folder, when_failing)))
}

/// Each record of the log in a few words.
fn records(folder: &Path) -> Vec<String> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    files.sort();
    let lines = files.iter().flat_map(|path| {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    let fields = ["event", "execution", "device", "change", "policy", "decision", "outcome", "label"];
    let events = lines.map(|line| {
        let record: Value = serde_json::from_str(&line).unwrap();
        let word = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Object(outcome) => outcome["failed"]["class"].as_str().unwrap_or_default().to_owned(),
            other => other.to_string(),
        };
        let words = fields.iter().filter_map(|field| record.get(field)).map(word);
        words.collect::<Vec<_>>().join(" ")
    });
    events.collect()
}

#[test]
fn executions_failures_losses_and_decisions_are_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let plans = [("a", refusals(1, ErrorClass::Transient)), ("b", no_faults())];
    let bench = audited(folder.path(), AuditFailing::Stop, &plans);
    let increment = bench.kernel("increment");
    let y = bench.manager.buffer_with(&[1u32; 64], "y", Default::default()).unwrap();
    let run = || bench.run(bench.manager.launch(&increment).arg(&y).threads(64).once().execute_async());
    run().unwrap();
    bench.faults[0].lose();
    assert!(matches!(run(), Err(ManagerError::ContentsLost { .. })));
    bench.manager.audit().unwrap().flush().unwrap();
    let events = records(folder.path());
    let expected = [
        "opened",
        "compile a ok",
        "begin 0",
        "allocate a ok y",
        "attempt 0 a transient",
        "policy retry a/0",
        "end 0 a ok",
        "begin 1",
        "policy breaker open",
        "device a lost",
        "contents_lost a y",
        "end 1  lost",
    ];
    for line in expected {
        assert!(events.iter().any(|event| event == line), "`{line}` is missing in {events:#?}");
    }
    let place = |line: &str| events.iter().position(|event| event == line);
    assert!(
        place("begin 0") < place("attempt 0 a transient") && place("policy retry a/0") < place("end 0 a ok")
    );
    drop((increment, y));
    bench.assert_no_leaks();
    let report = verify(folder.path());
    assert!(report.holds(), "{report:?}");
    assert_eq!(records(folder.path()).last().map(String::as_str), Some("closed"));
}

/// Makes the log's next file impossible, as a full disk does.
fn fill(folder: &Path) -> std::path::PathBuf {
    let next = folder.join("audit-000001.jsonl");
    fs::create_dir(&next).unwrap();
    next
}

#[test]
fn nothing_new_runs_while_the_log_cannot_be_written_if_the_choice_is_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    let bench = audited(folder.path(), AuditFailing::Stop, &[("a", no_faults())]);
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[0u32; 64]).unwrap());
    let run = || bench.run(bench.manager.launch(&increment).arg(&y).threads(64).execute_async());
    let full = fill(folder.path());
    let log = Arc::clone(bench.manager.audit().unwrap());
    let mut ran = 0;
    while log.flush().is_ok() && run().is_ok() {
        ran += 1;
        assert!(ran < 1000, "the first file is never full");
    }
    let refused = run().unwrap_err();
    assert!(matches!(refused, ManagerError::Audit(_)), "{refused}");
    assert_eq!(refused.class(), ErrorClass::Exhausted);
    assert_eq!(y.read().unwrap(), vec![ran; 64], "what was begun has ended, nothing else ran");

    fs::remove_dir(full).unwrap();
    assert!(run().is_err(), "it is not tried at every call");
    bench.clock.advance(seconds(1));
    run().unwrap();
    assert_eq!(y.read().unwrap(), vec![ran + 1; 64]);
    drop((increment, y, log));
    bench.assert_no_leaks();
    let report = verify(folder.path());
    assert!(report.holds(), "{report:?}");
    let begun = records(folder.path()).iter().filter(|record| record.starts_with("begin ")).count();
    assert_eq!(begun as u32, ran + 1, "no execution that was refused, each that ran");
}

#[test]
fn work_goes_on_and_the_log_tells_what_it_lost_if_that_is_the_choice() {
    let folder = tempfile::tempdir().unwrap();
    let bench = audited(folder.path(), AuditFailing::GoOn, &[("a", no_faults())]);
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[0u32; 64]).unwrap());
    let run = || bench.run(bench.manager.launch(&increment).arg(&y).threads(64).execute_async());
    let full = fill(folder.path());
    let log = Arc::clone(bench.manager.audit().unwrap());
    for _ in 0..40 {
        run().unwrap();
        log.flush().unwrap();
    }
    assert!(log.lost() > 0);
    fs::remove_dir(full).unwrap();
    run().unwrap();
    log.flush().unwrap();
    assert_eq!(y.read().unwrap(), [41; 64]);
    assert!(records(folder.path()).iter().any(|record| record == "lost"));
    let notices = seen();
    let this_log = format!("audit log {}: ", folder.path().display());
    let is_expected =
        |notice: &Notice| notice.kind == NoticeKind::Audit && notice.message.starts_with(&this_log);
    let told = notices.iter().filter(|notice| is_expected(notice)).count();
    assert_eq!(told, 1, "once for one reason: {notices:?}");
    drop((increment, y, log));
    bench.assert_no_leaks();
    assert!(verify(folder.path()).holds());
}

#[test]
fn a_log_that_cannot_be_opened_stops_the_manager_or_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "no folder").unwrap();
    let build = |when_failing| {
        let device = Device::system_default().unwrap();
        Manager::builder().device(device).settings(&settings(&file, when_failing)).build()
    };
    assert!(matches!(build(AuditFailing::Stop), Err(ManagerError::Audit(_))));
    assert!(build(AuditFailing::GoOn).unwrap().audit().is_none());
}

#[test]
fn managers_of_one_process_write_the_log_that_the_settings_name_together() {
    let folder = tempfile::tempdir().unwrap();
    let one = audited(folder.path(), AuditFailing::Stop, &[("a", no_faults())]);
    let two = audited(folder.path(), AuditFailing::Stop, &[("b", no_faults())]);
    assert!(Arc::ptr_eq(one.manager.audit().unwrap(), two.manager.audit().unwrap()));
}
