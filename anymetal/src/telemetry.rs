//! Telemetry: metrics, spans and events of all layers.
//!
//! With the feature `telemetry`, all layers record through the facades of the crates `metrics` and
//! `tracing`. `docs/telemetry.md` lists the names. A program that installs a recorder or a subscriber
//! receives them. This crate installs neither and opens no connection: the crate `anymetal-service` exports
//! metrics and traces.

/// Brings the gauges of pools, memory and queues up to date; for programs with a recorder of their own,
/// before they read it.
pub use anymetal_telemetry::collect::collect;
/// Says that a recorder is installed, for one that is a type without size, which is not seen.
pub use anymetal_telemetry::handle::enable as enable_metrics;
/// Whether the process has a recorder. Handles that are made before it has one record nothing.
pub use anymetal_telemetry::handle::metrics_on;
/// The names of all metrics, spans and events.
pub use anymetal_telemetry::names;
/// The series of a tensor operation's work, for libraries of them.
pub use anymetal_telemetry::operation::OperationMetrics;
/// Has one command buffer in that number traced; at first all are, where a subscriber is interested.
pub use anymetal_telemetry::span::sample_submissions;
