//! What a long-running process did, and what it needs to go on: an audit log and session state (REL-6).
//!
//! - [`AuditLog`] appends [`Event`]s as JSON lines. Each record holds a hash of the record before it, so that
//!   a record that is changed, removed or inserted later breaks the chain at a place that [`verify`] names.
//! - [`session::Session`] lists pipelines, tuning values and buffers; it is saved atomically and read back,
//!   or set aside when it is damaged.
//!
//! ```
//! use std::path::Path;
//! use anymetal_audit::{AuditLog, AuditOptions, Event, verify};
//! use anymetal_hal::clock::SystemClock;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder: &Path = folder.path();
//! let log = AuditLog::open(folder, AuditOptions::default(), SystemClock::shared())?;
//! log.record(Event::allocate("cpu", "weights", 4096))?;
//! log.close()?;
//! let report = verify(folder);
//! assert!(report.holds() && report.records() == 3); // opened, allocate, closed
//! # Ok(())
//! # }
//! ```
//!
//! The chain has no secret. Who can write the folder can write another consistent log; note the digest of the
//! newest record elsewhere ([`AuditLog::head`]) and compare it with [`Report::digest_of`] to rule that out.
#![forbid(unsafe_code)]

mod durable;
mod error;
mod event;
mod folder;
mod log;
mod record;
pub mod session;
mod verify;

pub use error::AuditError;
pub use event::{Event, Outcome};
pub use folder::Head;
pub use log::{AuditLog, AuditOptions, Durability, WhenFailing};
pub use record::Digest;
pub use verify::{BreakReason, Broken, CheckedFile, Note, Report, verify};
