//! The sanitizer: finds races, accesses out of bounds, reads of undefined memory and wrong synchronisation
//! while the interpreter runs a kernel.
//!
//! Owns the kinds of findings ([`FindingKind`]) and the findings as typed values ([`Finding`]). Start with
//! [`FindingKind`]: it lists everything that is detected.
#![forbid(unsafe_code)]

mod finding;
mod kind;

pub use finding::{
    AccessedMemory, Action, Finding, MemorySpace, Position, Side, SourcePlace, Through, Value,
};
pub use kind::{FindingKind, KindGroup, Severity, UnknownKind};
