//! Logs that were tampered with in every way there is.

use std::fs;
use std::path::Path;

use anymetal_hal::clock::ManualClock;
use anymetal_hal::error::ErrorClass;
use proptest::prelude::*;

use super::*;
use crate::log::{AuditLog, AuditOptions, Durability};
use crate::{Event, Outcome};

const FIRST: &str = "audit-000000.jsonl";

/// A closed log of five records.
fn log() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let options = AuditOptions { durability: Durability::System, ..AuditOptions::default() };
    let log = AuditLog::open(folder.path(), options, ManualClock::new()).unwrap();
    log.record(Event::compile("cpu", "saxpy", "5a")).unwrap();
    log.record(Event::allocate("cpu", "", 0).with_outcome(Outcome::failed(ErrorClass::Exhausted, "no")))
        .unwrap();
    log.record(Event::refuse("launch", "too large", ErrorClass::Caller)).unwrap();
    log.close().unwrap();
    folder
}

fn lines(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join(FIRST)).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn with_lines(folder: &Path, lines: &[String]) -> Report {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(folder.join(FIRST), text).unwrap();
    verify(folder)
}

#[track_caller]
fn assert_broken(report: &Report, line: u64, reason: &BreakReason) {
    let broken = report.broken().expect("it is noticed");
    assert_eq!((broken.line, &broken.reason), (line, reason));
}

#[test]
fn a_log_that_nobody_touched_holds() {
    let folder = log();
    let report = verify(folder.path());
    assert!(report.holds() && report.notes().is_empty());
    assert_eq!(
        report.files(),
        [CheckedFile { name: FIRST.into(), records: 5, first: Some(0), last: Some(4) }]
    );
    let alone = verify(&folder.path().join(FIRST));
    assert!(alone.holds() && alone.notes() == [Note::OneFile] && alone.records() == 5);
}

#[test]
fn every_byte_of_every_file_is_under_the_chain() {
    let folder = log();
    for name in [FIRST, "audit.head"] {
        let path = folder.path().join(name);
        let whole = fs::read(&path).unwrap();
        for place in 0..whole.len() {
            for bit in [0, 5, 7] {
                let mut changed = whole.clone();
                changed[place] ^= 1 << bit;
                fs::write(&path, &changed).unwrap();
                let report = verify(folder.path());
                assert!(!report.holds(), "{name}: byte {place}, bit {bit}");
            }
        }
        fs::write(&path, &whole).unwrap();
    }
    assert!(verify(folder.path()).holds());
}

#[test]
fn the_first_broken_record_is_named() {
    let folder = log();
    let whole = lines(folder.path());
    let mut changed = whole.clone();
    changed[2] = changed[2].replace("exhausted", "transient");
    assert_broken(&with_lines(folder.path(), &changed), 3, &BreakReason::Changed);
    let mut removed = whole.clone();
    removed.remove(1);
    let reason = BreakReason::Sequence { expected: 1, found: 2 };
    assert_broken(&with_lines(folder.path(), &removed), 2, &reason);
    let mut swapped = whole.clone();
    swapped.swap(1, 2);
    let reason = BreakReason::Sequence { expected: 1, found: 2 };
    assert_broken(&with_lines(folder.path(), &swapped), 2, &reason);
    let mut doubled = whole.clone();
    doubled.insert(2, whole[1].clone());
    let reason = BreakReason::Sequence { expected: 2, found: 1 };
    assert_broken(&with_lines(folder.path(), &doubled), 3, &reason);
    let mut foreign = whole.clone();
    foreign.insert(3, "{}".to_owned());
    assert_broken(&with_lines(folder.path(), &foreign), 4, &BreakReason::NotARecord("it is too short"));
}

#[test]
fn a_record_with_a_digest_of_its_own_does_not_follow() {
    let folder = log();
    let mut forged = lines(folder.path());
    let event = Event::compile("cpu", "other", "00");
    let record = crate::record::Record::open(forged[0].as_bytes()).unwrap();
    forged[1] = crate::record::seal(1, 0, &event, record.digest).unwrap().0.trim_end().to_owned();
    assert_broken(&with_lines(folder.path(), &forged), 3, &BreakReason::DoesNotFollow);
    let last = forged.len() - 1;
    let whole = log();
    let mut end = lines(whole.path());
    let before = crate::record::Record::open(end[last - 1].as_bytes()).unwrap();
    end[last] = crate::record::seal(4, 0, &event, before.digest).unwrap().0.trim_end().to_owned();
    assert_broken(&with_lines(whole.path(), &end), 5, &BreakReason::HeadDiffers { seq: 4 });
}

#[test]
fn a_missing_end_is_told_from_a_changed_one() {
    let folder = log();
    let whole = lines(folder.path());
    let report = with_lines(folder.path(), &whole[..3]);
    assert_broken(&report, 4, &BreakReason::Truncated { head: 4, records: 3 });
    assert!(report.broken().unwrap().reason.is_truncation() && report.records() == 3);
    fs::write(folder.path().join(FIRST), whole.join("\n")).unwrap();
    let torn = verify(folder.path());
    assert_broken(&torn, 5, &BreakReason::Truncated { head: 4, records: 4 });
    fs::remove_file(folder.path().join("audit.head")).unwrap();
    assert_broken(&with_lines(folder.path(), &whole), 0, &BreakReason::HeadMissing);
    fs::remove_file(folder.path().join(FIRST)).unwrap();
    assert_broken(&verify(folder.path()), 0, &BreakReason::NoFiles);
}

#[test]
fn a_missing_start_is_noticed() {
    let folder = log();
    let whole = lines(folder.path());
    let report = with_lines(folder.path(), &whole[1..]);
    assert_broken(&report, 1, &BreakReason::MissingStart { first: 1 });
}

#[test]
fn what_is_no_log_is_no_log() {
    let folder = tempfile::tempdir().unwrap();
    assert_broken(&verify(folder.path()), 0, &BreakReason::NoFiles);
    let missing = verify(&folder.path().join("none.jsonl"));
    assert!(matches!(missing.broken().unwrap().reason, BreakReason::Unreadable(_)));
}

proptest! {
    #[test]
    fn any_files_are_verified_without_a_panic(
        records in proptest::collection::vec(any::<u8>(), 0..600),
        head in proptest::collection::vec(any::<u8>(), 0..120),
    ) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FIRST), records).unwrap();
        fs::write(folder.path().join("audit.head"), head).unwrap();
        prop_assert!(!verify(folder.path()).holds());
    }

    #[test]
    fn lines_in_any_other_order_break_the_chain(picks in proptest::collection::vec(0usize..5, 0..7)) {
        let folder = log();
        let whole = lines(folder.path());
        let picked: Vec<String> = picks.iter().map(|&pick| whole[pick].clone()).collect();
        prop_assert_eq!(with_lines(folder.path(), &picked).holds(), picks == [0, 1, 2, 3, 4]);
    }
}
