//! What the sanitizer found in this process.
//!
//! Kernels run under it if their library was compiled with [`crate::CheckMode::Sanitize`], or if the
//! settings demand it of all (`ANYMETAL_CHECK=sanitize`). All report to one session. A program that
//! knows nothing of it is checked from outside, by `anymetal check -- PROGRAM`, or by hand:
//! `ANYMETAL_CHECK_REPORT` names a file for a [`SessionFile`], or a folder for one of each process,
//! which is up to date after each launch; `ANYMETAL_CHECK_OPTIONS` has the words of
//! [`SanitizerOptions`]. Each new finding is a [`crate::notice::Notice`], too.
//!
//! ```
//! # fn main() -> Result<(), anymetal::Error> {
//! use anymetal::{CheckMode, CompileOptions, Device, LibraryDescriptor, sanitizer};
//!
//! let source = "kernel void shift(device float* x, uint i [[thread_position_in_grid]]) {
//!     x[i] = x[i + 1];
//! }";
//! let options = CompileOptions::new().check_mode(CheckMode::Sanitize);
//! let device = Device::system_default()?;
//! let library = device.create_library(&LibraryDescriptor::from_source(source).options(&options))?;
//! let shift = library.pipeline("shift")?;
//! let x = device.buffer(&[0f32; 64])?;
//! device.queue()?.launch(&shift).threads(64).arg(&x).submit()?.wait()?;
//! let kinds: Vec<&str> = sanitizer::findings().iter().map(|finding| finding.kind.id()).collect();
//! assert_eq!(kinds, ["race-simdgroup", "out-of-bounds", "race-threadgroup"]);
//! # Ok(())
//! # }
//! ```

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anymetal_core::config::KernelsConfig;
use anymetal_driver::sanitizer::Session;
pub use anymetal_driver::sanitizer::{
    AccessedMemory, Action, Filter, FilterError, Finding, FindingKind, KernelPattern, KindGroup,
    KindSelector, LaunchRange, MemorySpace, Position, SanitizerOptions, SessionFile, SessionFileError,
    SessionSummary, Severity, Side, SourcePlace, Through, UnknownKind, Value, marks, report, suppress,
};
use anymetal_driver::{AfterLaunch, SharedSession};
use anymetal_telemetry::record;

use crate::error::Error;
use crate::notice::{self, NoticeKind};

/// Bytes of updates after which the report is written anew.
const MAX_APPENDED: usize = 1 << 20;

static SESSION: OnceLock<SharedSession> = OnceLock::new();

/// The file for the findings, as the settings of the first device say that has a kernel checked.
static REPORT: OnceLock<Option<PathBuf>> = OnceLock::new();

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

/// The report of what was found in this process so far. Marks in the sources count.
pub fn report(suppressions: &suppress::Suppressions) -> report::Report {
    session().lock().report(suppressions)
}

/// The sources of the kernels that ran, for reports as text.
pub fn sources() -> report::SourceTexts {
    session().lock().sources().clone()
}

/// Settings of a device that has kernels checked; those of the first one count.
pub(crate) fn apply(settings: &KernelsConfig) -> Result<(), Error> {
    let options = settings.check_options.as_deref().map(str::parse);
    if let Some(options) = options.transpose().map_err(Error::CheckOptions)? {
        configure(options);
    }
    REPORT.get_or_init(|| settings.check_report.clone());
    Ok(())
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
    let file = REPORT.get().cloned().flatten().map(|path| Mutex::new(ReportFile::new(path)));
    let told = AtomicUsize::new(0);
    Arc::new(move |session: &SharedSession| {
        let session = session.lock();
        let findings = session.findings();
        let first = told.swap(findings.len(), Ordering::Relaxed);
        for finding in findings.get(first..).unwrap_or_default() {
            record::finding(finding.kind.id());
            notice::emit(
                NoticeKind::Finding,
                format!("{}: {}: {}", finding.kernel, finding.kind, finding.message),
            );
        }
        let Some(file) = &file else { return };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.update(&session) {
            notice::emit(NoticeKind::Other, format!("cannot write {}: {error}", file.path.display()));
        }
    })
}

/// The file that findings are written to. Invariant: it is whole at any time but for its last line, since its
/// reader may come when the program has been killed.
struct ReportFile {
    path: PathBuf,
    /// Findings in the file's first line; `None` if there is none yet.
    findings: Option<usize>,
    /// Bytes after the first line.
    appended: usize,
}

impl ReportFile {
    fn new(path: PathBuf) -> Self {
        Self { path: own_file(path), findings: None, appended: 0 }
    }

    fn update(&mut self, session: &Session) -> std::io::Result<()> {
        let findings = session.findings().len();
        if self.findings != Some(findings) || self.appended > MAX_APPENDED {
            let mut beside = self.path.as_os_str().to_owned();
            beside.push(".new");
            let line = SessionFile::of(session).to_line();
            anymetal_files::create(Path::new(&beside))?.write_all(line.as_bytes())?;
            std::fs::rename(&beside, &self.path)?;
            (self.findings, self.appended) = (Some(findings), 0);
            return Ok(());
        }
        let line = SessionFile::update_line(session);
        self.appended += line.len();
        anymetal_files::append(&self.path)?.write_all(line.as_bytes())
    }
}

/// A file of this process in a folder; any other path is the file.
fn own_file(path: PathBuf) -> PathBuf {
    if !path.is_dir() {
        return path;
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    path.join(format!("{}-{}.json", std::process::id(), since.as_nanos()))
}
