//! The sanitizer: finds races, accesses out of bounds, reads of undefined memory and wrong synchronisation
//! while the interpreter runs a kernel.
//!
//! Owns the kinds of findings ([`FindingKind`]), the findings as typed values ([`Finding`]), the detectors,
//! which findings are wanted ([`Filter`]) and allowed ([`suppress`], [`marks`]), and the reports
//! ([`report`]). Start with [`FindingKind`]: it lists everything that is detected; then [`Session::launch`].
#![forbid(unsafe_code)]

mod detect;
mod filter;
mod finding;
mod glob;
mod kind;
pub mod marks;
mod options;
pub mod report;
mod session;
mod session_file;
pub mod suppress;

pub use filter::{Filter, FilterError, KernelPattern, KindSelector, LaunchRange};
pub use finding::{
    AccessedMemory, Action, Finding, MemorySpace, Position, Side, SourcePlace, Through, Value,
};
pub use kind::{FindingKind, KindGroup, Severity, UnknownKind};
pub use options::SanitizerOptions;
pub use session::{ArgumentInfo, LaunchInfo, LaunchOutcome, ResidentInfo, Session, SessionSummary};
pub use session_file::{SessionFile, SessionFileError};
