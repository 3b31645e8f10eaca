//! The writer on disks that fill up, folders that are left in the middle, and clocks that stand still.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anymetal_hal::clock::ManualClock;
use anymetal_hal::error::ErrorClass;

use super::*;
use crate::verify::{Note, verify};
use crate::{BreakReason, Outcome};

/// A folder whose disk is full when a test says so.
struct SmallDisk {
    inner: FolderStorage,
    full: Arc<AtomicBool>,
    appends: Arc<AtomicU64>,
}

impl Storage for SmallDisk {
    fn append(&mut self, file: u32, bytes: &[u8]) -> io::Result<()> {
        self.appends.fetch_add(1, Ordering::SeqCst);
        if self.full.load(Ordering::SeqCst) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.inner.append(file, bytes)
    }

    fn length(&mut self, file: u32) -> u64 {
        self.inner.length(file)
    }

    fn write_head(&mut self, head: Head) -> io::Result<()> {
        match self.full.load(Ordering::SeqCst) {
            true => Err(io::Error::from(io::ErrorKind::StorageFull)),
            false => self.inner.write_head(head),
        }
    }

    fn files(&mut self) -> io::Result<Vec<u32>> {
        self.inner.files()
    }

    fn last_of(&mut self, file: u32) -> Option<Head> {
        self.inner.last_of(file)
    }

    fn remove(&mut self, file: u32) -> io::Result<()> {
        self.inner.remove(file)
    }
}

struct Small {
    folder: tempfile::TempDir,
    full: Arc<AtomicBool>,
    log: AuditLog,
}

fn small(options: AuditOptions) -> Small {
    let folder = tempfile::tempdir().unwrap();
    let full = Arc::new(AtomicBool::new(false));
    let inner = FolderStorage::new(folder.path(), options.durability);
    let disk = SmallDisk { inner, full: Arc::clone(&full), appends: Arc::default() };
    let log = AuditLog::start(folder.path().to_owned(), options, ManualClock::new(), None, disk).unwrap();
    Small { folder, full, log }
}

fn event(number: u32) -> Event {
    Event::dispatch("cpu", format!("kernel{number}"), [number, 1, 1], [32, 1, 1])
}

fn options(when_failing: WhenFailing) -> AuditOptions {
    AuditOptions { when_failing, durability: Durability::System, queue: 8, ..AuditOptions::default() }
}

#[test]
fn a_full_disk_stops_work_and_nothing_is_lost() {
    let Small { folder, full, log } = small(options(WhenFailing::Stop));
    log.record(event(0)).unwrap();
    log.flush().unwrap();
    full.store(true, Ordering::SeqCst);
    log.record(event(1)).unwrap();
    let stopped = log.flush().unwrap_err();
    assert!(matches!(stopped, AuditError::Stopped { .. }) && stopped.class() == ErrorClass::Exhausted);
    assert_eq!(log.record(event(2)), Err(stopped.clone()), "work without it is refused");
    assert!(matches!(log.retry(), Err(AuditError::Stopped { .. })), "the disk is still full");
    full.store(false, Ordering::SeqCst);
    log.retry().unwrap();
    log.record(event(3)).unwrap();
    log.close().unwrap();
    let report = verify(folder.path());
    assert!(report.holds(), "{:?}", report.broken());
    assert_eq!((report.records(), report.notes()), (5, &[][..]), "opened, 0, 1, 3, closed");
}

#[test]
fn a_record_that_was_waited_for_is_written_or_refused_for_good() {
    let Small { folder, full, log } = small(options(WhenFailing::Stop));
    log.record_and_wait(event(0)).unwrap();
    assert_eq!(log.head().map(|head| head.seq), Some(1), "it is on the disk");
    full.store(true, Ordering::SeqCst);
    assert!(matches!(log.record_and_wait(event(1)), Err(AuditError::Stopped { .. })));
    assert!(matches!(log.record_and_wait(event(2)), Err(AuditError::Stopped { .. })));
    full.store(false, Ordering::SeqCst);
    log.retry().unwrap();
    log.flush().unwrap();
    log.record_and_wait(event(3)).unwrap();
    log.close().unwrap();
    let report = verify(folder.path());
    assert!(report.holds(), "{:?}", report.broken());
    assert_eq!(report.records(), 4, "opened, 0, 3, closed");
}

#[test]
fn a_backlog_is_written_as_far_as_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let inner = FolderStorage::new(folder.path(), Durability::System);
    let disk = Room { inner, left: 2000 };
    let clock = ManualClock::new();
    let queue = 64;
    let options = AuditOptions { queue, ..options(WhenFailing::Stop) };
    let log = AuditLog::start(folder.path().to_owned(), options, clock, None, disk).unwrap();
    for number in 0..20 {
        if log.record(event(number)).is_err() {
            break;
        }
    }
    assert!(log.flush().is_err());
    drop(log);
    let records = verify(folder.path()).records();
    assert!((4..20).contains(&records), "2,000 bytes hold several records, not {records}");
}

/// A disk with so many bytes left.
struct Room {
    inner: FolderStorage,
    left: usize,
}

impl Storage for Room {
    fn append(&mut self, file: u32, bytes: &[u8]) -> io::Result<()> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        self.inner.append(file, bytes)
    }

    fn length(&mut self, file: u32) -> u64 {
        self.inner.length(file)
    }

    fn write_head(&mut self, head: Head) -> io::Result<()> {
        self.inner.write_head(head)
    }

    fn files(&mut self) -> io::Result<Vec<u32>> {
        self.inner.files()
    }

    fn last_of(&mut self, file: u32) -> Option<Head> {
        self.inner.last_of(file)
    }

    fn remove(&mut self, file: u32) -> io::Result<()> {
        self.inner.remove(file)
    }
}

#[test]
fn a_full_disk_lets_work_go_on_and_the_gap_is_told() {
    let Small { folder, full, log } = small(options(WhenFailing::GoOn));
    full.store(true, Ordering::SeqCst);
    for number in 0..5 {
        log.record(event(number)).unwrap();
        log.flush().unwrap();
    }
    assert_eq!(log.lost(), 5);
    full.store(false, Ordering::SeqCst);
    log.record(event(5)).unwrap();
    log.close().unwrap();
    let report = verify(folder.path());
    assert!(report.holds(), "{:?}", report.broken());
    assert_eq!(report.notes(), [Note::Lost { count: 5, seq: 1 }]);
    assert_eq!(report.records(), 4, "opened, lost, 5, closed");
}

#[test]
fn closing_on_a_full_disk_is_told() {
    let Small { folder, full, log } = small(options(WhenFailing::Stop));
    full.store(true, Ordering::SeqCst);
    assert!(matches!(log.close(), Err(AuditError::Stopped { .. })));
    assert_eq!(verify(folder.path()).notes(), [Note::NotClosed]);
}

#[test]
fn records_of_many_threads_form_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let options = AuditOptions { queue: 4, ..options(WhenFailing::Stop) };
    let log = AuditLog::open(folder.path(), options, clock.clone()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (log, clock) = (&log, &clock);
            scope.spawn(move || {
                for number in 0..100 {
                    clock.advance(Duration::from_nanos(7));
                    log.record(event(thread * 100 + number)).unwrap();
                }
            });
        }
    });
    log.flush().unwrap();
    let head = log.head().unwrap();
    assert_eq!(head.seq, 400);
    log.close().unwrap();
    let report = verify(folder.path());
    assert!(report.holds() && report.records() == 402, "{:?}", report.broken());
    assert_eq!((report.digest_of(400), report.find(head.digest)), (Some(head.digest), Some(400)));
}

#[test]
fn files_rotate_and_old_ones_are_removed_as_the_log_says() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = AuditOptions { rotate_bytes: 4096, ..options(WhenFailing::Stop) };
    let write = |options: &AuditOptions, from: u32| {
        let log = AuditLog::open(folder.path(), options.clone(), ManualClock::new()).unwrap();
        (from..from + 100).for_each(|number| log.record(event(number)).unwrap());
        log.close().unwrap();
        verify(folder.path())
    };
    let report = write(&options, 0);
    assert!(report.holds() && report.files().len() > 4, "{:?}", report.broken());
    assert_eq!((report.records(), report.notes().len()), (102, 0));
    options.keep_files = std::num::NonZeroU32::new(3);
    for round in 1..4 {
        let report = write(&options, 100 * round);
        assert!(report.holds(), "{:?}", report.broken());
        assert_eq!(report.files().len(), 3);
        assert!(matches!(report.notes(), [Note::Removed { .. }]), "{:?}", report.notes());
    }
    // More than the log says is not all right.
    let first = folder.path().join(&verify(folder.path()).files()[0].name);
    std::fs::remove_file(first).unwrap();
    let broken = verify(folder.path()).broken().unwrap().reason.clone();
    assert!(matches!(broken, BreakReason::MissingStart { .. }), "{broken}");
}

/// A folder whose files are full after each append, so that each chunk of records begins a file.
struct FullFiles(FolderStorage);

impl Storage for FullFiles {
    fn append(&mut self, file: u32, bytes: &[u8]) -> io::Result<()> {
        self.0.append(file, bytes)
    }

    fn length(&mut self, file: u32) -> u64 {
        if self.0.length(file) > 0 { u64::MAX } else { 0 }
    }

    fn write_head(&mut self, head: Head) -> io::Result<()> {
        self.0.write_head(head)
    }

    fn files(&mut self) -> io::Result<Vec<u32>> {
        self.0.files()
    }

    fn last_of(&mut self, file: u32) -> Option<Head> {
        self.0.last_of(file)
    }

    fn remove(&mut self, file: u32) -> io::Result<()> {
        self.0.remove(file)
    }
}

#[test]
fn the_closing_record_is_the_last_one_where_it_begins_a_file() {
    for (keep, records) in [(1, 0), (1, 1), (1, 5), (2, 0), (2, 1), (2, 5), (3, 5)] {
        let folder = tempfile::tempdir().unwrap();
        let keep_files = std::num::NonZeroU32::new(keep);
        let options = AuditOptions { keep_files, ..options(WhenFailing::Stop) };
        let storage = FullFiles(FolderStorage::new(folder.path(), options.durability));
        let path = folder.path().to_owned();
        let log = AuditLog::start(path, options, ManualClock::new(), None, storage).unwrap();
        for number in 0..records {
            log.record(event(number)).unwrap();
            log.flush().unwrap();
        }
        let before = crate::folder::files(folder.path()).unwrap();
        log.close().unwrap();
        let after = crate::folder::files(folder.path()).unwrap();
        assert!(after.last() > before.last(), "the closing record begins a file: {before:?}, {after:?}");
        assert_eq!(after.len(), (keep as usize).min(records as usize + 2));
        let report = verify(folder.path());
        assert!(report.holds(), "{keep}, {records}: {:?}", report.broken());
        let notes = report.notes();
        assert!(
            notes.iter().all(|note| matches!(note, Note::Removed { .. })),
            "{keep}, {records}: {notes:?}"
        );
    }
}

#[test]
fn a_log_that_was_cut_off_is_continued_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let open = || AuditLog::open(folder.path(), options(WhenFailing::Stop), ManualClock::new()).unwrap();
    open().close().unwrap();
    for round in 0..3 {
        // As a process that ends while it writes leaves it.
        let name = crate::folder::file_name(round);
        let path = folder.path().join(&name);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend_from_slice(b"{\"seq\":2,\"time");
        std::fs::write(&path, bytes).unwrap();
        let torn = verify(folder.path()).broken().unwrap().clone();
        assert_eq!((torn.file, torn.reason), (name, BreakReason::Torn { bytes: 14 }));
        let log = open();
        log.record(event(round)).unwrap();
        log.close().unwrap();
        let report = verify(folder.path());
        assert!(report.holds(), "{:?}", report.broken());
        assert_eq!(report.notes().len(), round as usize + 1);
    }
}

#[test]
fn a_damaged_log_is_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    let open = || AuditLog::open(folder.path(), options(WhenFailing::Stop), ManualClock::new());
    open().unwrap().close().unwrap();
    let path = folder.path().join("audit-000000.jsonl");
    let whole = std::fs::read(&path).unwrap();
    let lines = whole.split_inclusive(|&byte| byte == b'\n').next().unwrap();
    std::fs::write(&path, lines).unwrap();
    let error = open().unwrap_err();
    let reason = BreakReason::Truncated { head: 1, records: 1 };
    let broken = crate::Broken { file: "audit-000000.jsonl".to_owned(), line: 2, reason };
    assert_eq!(error, AuditError::Broken(broken));
    let mut changed = whole;
    changed[9] ^= 1;
    std::fs::write(&path, changed).unwrap();
    assert!(matches!(open(), Err(AuditError::Broken(broken)) if broken.reason == BreakReason::Changed));
}

#[test]
fn one_log_writes_a_folder_at_a_time_and_options_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let open = |options| AuditLog::open(folder.path(), options, ManualClock::new());
    let log = open(AuditOptions::default()).unwrap();
    assert!(matches!(open(AuditOptions::default()), Err(AuditError::InUse { .. })));
    drop(log);
    assert!(verify(folder.path()).notes().is_empty(), "dropping closes it");
    open(AuditOptions::default()).unwrap();
    let invalid = open(AuditOptions { rotate_bytes: 10, ..AuditOptions::default() }).unwrap_err();
    assert_eq!(invalid.to_string(), "audit.rotate-bytes = 10: files have at least 4096 bytes");
    assert!(matches!(
        open(AuditOptions { queue: 0, ..AuditOptions::default() }),
        Err(AuditError::Invalid { .. })
    ));
}

#[test]
fn texts_of_any_length_are_written_as_lines_that_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let log = AuditLog::open(folder.path(), AuditOptions::default(), ManualClock::new()).unwrap();
    let long = "\u{1}ä".repeat(1 << 20);
    let failed = Outcome::failed(ErrorClass::Lost, long.clone());
    log.record(Event::compile(long.clone(), long.clone(), long).with_outcome(failed)).unwrap();
    log.close().unwrap();
    let report = verify(folder.path());
    assert!(report.holds() && report.records() == 3, "{:?}", report.broken());
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn open(folder: &std::path::Path) -> Result<AuditLog, AuditError> {
        AuditLog::open(folder, AuditOptions::default(), ManualClock::new())
    }

    /// The path and the reason of the refusal.
    fn refused(folder: &std::path::Path) -> String {
        match open(folder) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{} is accepted", folder.display()),
        }
    }

    #[test]
    fn named_pipes_are_refused_without_waiting() {
        for name in ["audit.lock", "audit-000000.jsonl"] {
            let folder = tempfile::tempdir().unwrap();
            assert!(
                std::process::Command::new("mkfifo")
                    .arg(folder.path().join(name))
                    .status()
                    .unwrap()
                    .success()
            );
            let error = refused(folder.path());
            assert!(error.contains(name) && error.contains("a named pipe"), "{error}");
        }
    }

    #[test]
    fn a_folder_or_file_that_others_can_write_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let set_mode = |path: &std::path::Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        drop(open(folder.path()).unwrap());
        set_mode(folder.path(), 0o777);
        assert!(refused(folder.path()).contains("mode 0777"));
        set_mode(folder.path(), 0o700);
        set_mode(&folder.path().join("audit.lock"), 0o666);
        assert!(refused(folder.path()).contains("mode 0666"));
        set_mode(&folder.path().join("audit.lock"), 0o600);
        drop(open(folder.path()).unwrap());
    }
}
