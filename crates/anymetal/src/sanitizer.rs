//! What the sanitizer found in this process.
//!
//! Kernels run under it if their library was compiled with [`crate::CheckMode::Sanitize`], or if the settings
//! demand it of all (`ANYMETAL_CHECK=sanitize`). All report to one session. A program that knows nothing of
//! it is checked from outside: `ANYMETAL_CHECK_REPORT` names a file that holds the findings as JSON after
//! each launch. Each new finding is a [`crate::Notice`], too.
//!
//! ```
//! # fn main() -> Result<(), anymetal::Error> {
//! use anymetal::{CheckMode, CompileOptions, Device, sanitizer};
//!
//! let source = "kernel void shift(device float* x, uint i [[thread_position_in_grid]]) {
//!     x[i] = x[i + 1];
//! }";
//! let options = CompileOptions { check_mode: CheckMode::Sanitize, ..CompileOptions::default() };
//! let device = Device::system_default()?;
//! let shift = device.library_from_source_with(source, &options)?.pipeline("shift")?;
//! let x = device.buffer(&[0f32; 64])?;
//! device.queue()?.launch(&shift).threads(64).arg(&x).submit()?.wait()?;
//! let kinds: Vec<&str> = sanitizer::findings().iter().map(|finding| finding.kind.id()).collect();
//! assert_eq!(kinds, ["race-simdgroup", "out-of-bounds", "race-threadgroup"]);
//! # Ok(())
//! # }
//! ```

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

pub use anymetal_compiler::sanitizer::{
    AccessedMemory, Action, Filter, FilterError, Finding, FindingKind, KindGroup, KindSelector, MemorySpace,
    Position, SanitizerOptions, SessionSummary, Severity, Side, SourcePlace, Through, UnknownKind, Value,
    marks, report, suppress,
};
use anymetal_compiler::{AfterLaunch, SharedSession};
use anymetal_telemetry::record;

use crate::notice::{NoticeKind, notify};

/// Between two writes of the report without a new finding.
const MIN_BETWEEN_WRITES_MS: u64 = 100;

static SESSION: OnceLock<SharedSession> = OnceLock::new();

/// Sets what is detected in this process. False, and nothing changes, if a kernel was compiled for the
/// sanitizer before.
pub fn configure(options: SanitizerOptions) -> bool {
    SESSION.set(SharedSession::new(options)).is_ok()
}

/// The findings of this process so far, in order of first occurrence.
pub fn findings() -> Vec<Finding> {
    SESSION.get().map_or_else(Vec::new, |session| session.lock().findings().to_vec())
}

/// What ran under the sanitizer in this process.
pub fn summary() -> SessionSummary {
    SESSION.get().map_or_else(SessionSummary::default, |session| session.lock().summary())
}

/// The report of what was found in this process so far.
pub fn report(suppressions: &suppress::Suppressions, marks: &marks::Marks) -> report::Report {
    let session = session();
    let session = session.lock();
    session.report(suppressions, marks)
}

/// The session of this process.
pub(crate) fn session() -> SharedSession {
    SESSION.get_or_init(|| SharedSession::new(SanitizerOptions::default())).clone()
}

/// What is done after each launch.
pub(crate) fn after() -> AfterLaunch {
    static AFTER: OnceLock<AfterLaunch> = OnceLock::new();
    AFTER.get_or_init(report_writer).clone()
}

fn report_writer() -> AfterLaunch {
    let path = std::env::var_os("ANYMETAL_CHECK_REPORT").filter(|path| !path.is_empty());
    let told = AtomicUsize::new(0);
    let (start, written) = (Instant::now(), AtomicU64::new(0));
    Arc::new(move |session: &SharedSession| {
        let session = session.lock();
        let findings = session.findings();
        let first = told.swap(findings.len(), Ordering::Relaxed);
        for finding in findings.get(first..).unwrap_or_default() {
            record::finding(finding.kind.id());
            notify(NoticeKind::Finding, format!("{}: {}: {}", finding.kernel, finding.kind, finding.message));
        }
        let Some(path) = &path else { return };
        // Launches without anything new change the summary alone; a file for each would slow the program.
        let now = start.elapsed().as_millis() as u64;
        let is_due = now.saturating_sub(written.load(Ordering::Relaxed)) > MIN_BETWEEN_WRITES_MS;
        if is_due || findings.len() > first || session.summary().launches == 1 {
            written.store(now, Ordering::Relaxed);
            write_report(Path::new(path), findings, &session.summary());
        }
    })
}

fn write_report(path: &Path, findings: &[Finding], summary: &SessionSummary) {
    let report = serde_json::json!({ "schema": 1, "findings": findings, "summary": summary });
    if let Err(error) = std::fs::write(path, report.to_string()) {
        notify(NoticeKind::Other, format!("cannot write {}: {error}", path.display()));
    }
}
