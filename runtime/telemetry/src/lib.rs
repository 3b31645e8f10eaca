//! What the system tells of itself: the names of all spans, events and metrics, and the functions that record
//! them.
//!
//! The crate is a leaf, so that every layer can use it: it knows none of ours. It installs nothing. Metrics
//! go to the recorder that the process has installed for the `metrics` facade, spans and events to its
//! `tracing` subscriber; while there is neither, a look at two atomics is all that a hot path pays
//! ([`handle::metrics_on`]). Without the feature `emit` not even that is left.
//!
//! - [`names`] is the only place that spells a name; `docs/telemetry.md` is made from it.
//! - [`handle`] binds a metric to the values of its labels: look-ups happen when a handle is made, not when
//!   it is used.
//! - [`kernel`] keeps what is recorded of a kernel's dispatches, with a bounded number of kernel names.
//! - [`operation`] keeps what is recorded of a tensor operation's work.
//! - [`record`] has one function for each rare event: a retry, a fallback, a finding.
//! - [`span`] makes the spans, [`collect`] sums up gauges when someone reads them.
#![forbid(unsafe_code)]

pub mod collect;
#[cfg_attr(not(feature = "emit"), path = "event_disabled.rs")]
pub mod event;
#[cfg_attr(not(feature = "emit"), path = "handle_disabled.rs")]
pub mod handle;
pub mod kernel;
pub mod names;
pub mod operation;
pub mod record;
#[cfg_attr(not(feature = "emit"), path = "span_disabled.rs")]
pub mod span;
