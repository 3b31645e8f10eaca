//! The manager's audit log: what is recorded, and when nothing new may run.
//!
//! Owns [`Audit`], which receives the manager's events and records those that a reader of the log
//! wants, by names that do not change. Invariants: the record of an execution's begin is written
//! before anything of it runs, or only queued where the settings allow it; if the log cannot be
//! written and the choice is to stop, nothing new begins. A record is taken with no lock held, since
//! it may wait for a place in the log's queue.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime};

use anymetal::notice::{self, NoticeKind};
use anymetal::profile::Clock;
use anymetal_audit::{AuditError, AuditLog, AuditOptions, Durability, Event, Outcome, WhenFailing};
use anymetal_hal::sync::lock;
use anymetal_policy::ladder::Ending;
use anymetal_telemetry::record;

use super::observe::{EndedExecution, ManagerEvent, Observe};
use crate::config::{AuditBegin, AuditConfig, AuditDurability, AuditFailing};

/// How often a log that stopped is tried again at most.
const RETRY_EVERY: Duration = Duration::from_secs(1);

/// How often a notice of lost records is given at most for one reason.
const NOTICE_EVERY: Duration = Duration::from_secs(60);

/// The logs that settings opened: managers of one process write the same one.
static OPENED: Mutex<Vec<Weak<AuditLog>>> = Mutex::new(Vec::new());

pub(super) struct Audit {
    log: Arc<AuditLog>,
    begin: AuditBegin,
    clock: Arc<dyn Clock>,
    /// When a stopped log was last tried again.
    retried: Mutex<Option<Duration>>,
    /// Dropped records that were reported.
    reported_lost: AtomicU64,
    last_notice: Mutex<Option<LossNotice>>,
}

/// The last notice of lost records.
struct LossNotice {
    at: Duration,
    reason: String,
    /// Records lost since then for that reason.
    more: u64,
}

impl Audit {
    pub(super) fn new(log: Arc<AuditLog>, begin: AuditBegin, clock: Arc<dyn Clock>) -> Self {
        let reported_lost = AtomicU64::new(log.lost());
        Audit { log, begin, clock, retried: Mutex::default(), reported_lost, last_notice: Mutex::default() }
    }

    pub(super) fn log(&self) -> &Arc<AuditLog> {
        &self.log
    }

    /// Records that an execution begins.
    ///
    /// # Errors
    /// The log cannot be written and the choice is to stop: the execution must not begin.
    pub(super) fn begin(&self, execution: u64, work: &str) -> Result<(), AuditError> {
        let record = || {
            let event = Event::Begin { execution, work: work.to_owned() };
            match self.begin {
                AuditBegin::Written => self.log.record_and_wait(event),
                AuditBegin::Queued => self.log.record(event),
            }
        };
        match record() {
            Err(AuditError::Stopped { reason }) => {
                if !self.may_retry() {
                    return self.count(Err(AuditError::Stopped { reason }));
                }
                let again = self.log.retry().and_then(|()| record());
                self.count(again)
            }
            taken => self.count(taken),
        }
    }

    fn may_retry(&self) -> bool {
        let now = self.clock.now();
        let mut retried = lock(&self.retried);
        let is_due = retried.is_none_or(|last| now.saturating_sub(last) >= RETRY_EVERY);
        if is_due {
            *retried = Some(now);
        }
        is_due
    }

    /// Counts a record, and those that the log gave up since the last one.
    fn count(&self, taken: Result<(), AuditError>) -> Result<(), AuditError> {
        match &taken {
            Ok(()) => record::audit_records("ok", 1),
            Err(error) => self.report_lost(1, error.to_string()),
        }
        let lost = self.log.lost();
        let reported = self.reported_lost.fetch_max(lost, Ordering::Relaxed);
        if lost > reported {
            self.report_lost(lost - reported, "records could not be written and were given up".to_owned());
        }
        taken
    }

    /// Counts lost records. A full disk loses many for one reason, so notices of it have a distance in time.
    fn report_lost(&self, count: u64, reason: String) {
        record::audit_records("lost", count);
        let now = self.clock.now();
        let more = {
            let mut last = lock(&self.last_notice);
            match &mut *last {
                Some(last) if last.reason == reason && now.saturating_sub(last.at) < NOTICE_EVERY => {
                    last.more += count;
                    return;
                }
                _ => {}
            }
            let more = last.take().filter(|last| last.reason == reason).map_or(0, |last| last.more);
            *last = Some(LossNotice { at: now, reason: reason.clone(), more: 0 });
            more
        };
        let since = if more > 0 { format!(" ({more} more since the last notice)") } else { String::new() };
        notice::emit(
            NoticeKind::Audit,
            format!("audit log {}: {reason}{since}", self.log.folder().display()),
        );
    }
}

impl Observe for Audit {
    fn observe(&self, event: &ManagerEvent<'_>) {
        if let Some(event) = event_of(event) {
            // What is over cannot be stopped. The loss is counted and reported, and if the choice is to stop
            // the next execution does not begin.
            let _counted = self.count(self.log.record(event));
        }
    }
}

/// What is recorded of an event of the manager; `None`: nothing.
fn event_of(event: &ManagerEvent<'_>) -> Option<Event> {
    let policy = |policy: &str, decision: String, detail: String| Event::policy(policy, decision, detail);
    Some(match event {
        ManagerEvent::Attempt { execution, work, record, cause } => {
            let Ending::Failed(class) = record.ending else { return None };
            let reason = cause.map(ToString::to_string).unwrap_or_default();
            let (device, work) = (record.device.to_string(), (*work).to_owned());
            let outcome = Outcome::failed(class, reason);
            Event::Attempt { execution: *execution, work, device, level: record.level, outcome }
        }
        ManagerEvent::Ended(EndedExecution { execution, work, device, failure, took, attempts, .. }) => {
            let outcome = match failure {
                None => Outcome::Ok,
                Some((class, reason)) => Outcome::failed(*class, *reason),
            };
            Event::End {
                execution: *execution,
                work: (*work).to_owned(),
                device: (*device).to_owned(),
                attempts: *attempts as u64,
                took_ns: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
                outcome,
            }
        }
        ManagerEvent::Rung(taken) => {
            let detail = format!("{} after {} on {}", taken.work, taken.reason, taken.from);
            policy(taken.rung.word(), format!("{}/{}", taken.device, taken.level), detail)
        }
        ManagerEvent::Restored { work, buffers } => policy("restore", format!("{buffers}"), (*work).into()),
        ManagerEvent::GaveUp { work, why } => policy("give-up", why.word().to_owned(), (*work).into()),
        ManagerEvent::Breaker { key, transition } => {
            let detail = format!("{} on {}: {}", key.work, key.device, transition.cause);
            policy("breaker", transition.to.word().to_owned(), detail)
        }
        ManagerEvent::Compiled { device, work, source, failure } => {
            let event = Event::compile(*device, *work, *source);
            match failure {
                None => event,
                Some(error) => event.with_outcome(Outcome::failed(error.class(), error.to_string())),
            }
        }
        ManagerEvent::Allocated { device, label, bytes, failure } => {
            let event = Event::allocate(*device, *label, *bytes);
            match failure {
                None => event,
                Some(error) => event.with_outcome(Outcome::failed(error.class(), error.to_string())),
            }
        }
        ManagerEvent::DeviceLost { device, generation, reason } => {
            device_event(device, "lost", *generation, reason)
        }
        ManagerEvent::DeviceRebuilt { device, generation } => {
            device_event(device, "rebuilt", *generation, "")
        }
        ManagerEvent::RebuildFailed { device, reason } => device_event(device, "not-rebuilt", 0, reason),
        ManagerEvent::ContentsLost { label, device } => {
            Event::ContentsLost { label: (*label).to_owned(), device: (*device).to_owned() }
        }
        ManagerEvent::Strain { state } => policy("strain", state.word().to_owned(), String::new()),
        ManagerEvent::Temperature { .. }
        | ManagerEvent::Power { .. }
        | ManagerEvent::SourceUnavailable { .. } => return None,
    })
}

fn device_event(device: &str, change: &str, generation: u64, reason: &str) -> Event {
    let (device, change, reason) = (device.to_owned(), change.to_owned(), reason.to_owned());
    Event::Device { device, change, generation, reason }
}

/// The log that the settings name. `Ok(None)`: they name none, or it cannot be opened and the choice
/// is to go on, which is reported as a notice.
pub(super) fn open(
    config: &AuditConfig,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Arc<AuditLog>>, AuditError> {
    let Some(folder) = &config.folder else { return Ok(None) };
    match open_once(folder.clone(), options(config, clock), clock) {
        Err(error) if config.when_failing == AuditFailing::GoOn => {
            notice::emit(NoticeKind::Audit, format!("there is no audit log: {error}"));
            Ok(None)
        }
        opened => opened.map(Some),
    }
}

/// The log of that folder: the one that this process has open, or a new one.
fn open_once(
    folder: PathBuf,
    options: AuditOptions,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<AuditLog>, AuditError> {
    let mut opened = lock(&OPENED);
    opened.retain(|known| known.strong_count() > 0);
    if let Some(known) = opened.iter().filter_map(Weak::upgrade).find(|known| known.folder() == folder) {
        return Ok(known);
    }
    let log = Arc::new(AuditLog::open(folder, options, Arc::clone(clock))?);
    opened.push(Arc::downgrade(&log));
    Ok(log)
}

fn options(config: &AuditConfig, clock: &Arc<dyn Clock>) -> AuditOptions {
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    AuditOptions {
        rotate_bytes: config.rotate_bytes,
        keep_files: config.keep_files,
        when_failing: match config.when_failing {
            AuditFailing::Stop => WhenFailing::Stop,
            AuditFailing::GoOn => WhenFailing::GoOn,
        },
        durability: match config.durability {
            AuditDurability::Disk => Durability::Disk,
            AuditDurability::System => Durability::System,
        },
        unix_time_at_zero: Some(unix.saturating_sub(clock.now())),
        ..AuditOptions::default()
    }
}

impl std::fmt::Debug for Audit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Audit").field("log", &self.log).finish_non_exhaustive()
    }
}
