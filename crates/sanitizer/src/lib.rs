//! The sanitizer: finds races, accesses out of bounds, reads of undefined memory and wrong synchronisation
//! while the interpreter runs a kernel.
//!
//! Owns the kinds of findings ([`FindingKind`]) and the findings as typed values ([`Finding`]). Start with
//! [`FindingKind`]: it lists everything that is detected; then [`Session::launch`].
#![forbid(unsafe_code)]

mod detect;
mod finding;
mod kind;
mod report;
mod session;

pub use finding::{
    AccessedMemory, Action, Finding, MemorySpace, Position, Side, SourcePlace, Through, Value,
};
pub use kind::{FindingKind, KindGroup, Severity, UnknownKind};
pub use report::{FileSources, Sources, finding_text, summary_text};
pub use session::{ArgumentInfo, LaunchInfo, LaunchOutcome, SanitizerOptions, Session, Summary};
