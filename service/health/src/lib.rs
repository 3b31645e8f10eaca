//! Health: what the metrics say about the system, as states, alerts and reports.
//!
//! - [`state`] has the three states and the hysteresis between them.
//! - [`check`] turns a snapshot of metrics into a number, and the number into a state, by thresholds.
//! - [`series`] keeps each check's last values; [`anomaly`] and [`trend`] judge them.
//! - [`monitor`] does all that at each tick, and [`alert`]s go to its sinks; [`webhook`] is one (feature
//!   `webhook`).
//! - [`capacity`] tells how much is used, how fast that grows, and when it is full.
//! - [`service`] ticks by a clock, and answers `/livez`, `/readyz` and `/healthz`.
//!
//! Invariant: time is the injected clock's; memory is bounded by the number of checks; an alert's target that
//! is slow or absent holds up no tick.
#![forbid(unsafe_code)]

pub mod alert;
pub mod anomaly;
pub mod capacity;
pub mod check;
pub mod monitor;
pub mod series;
pub mod service;
pub mod state;
pub mod trend;
#[cfg(feature = "webhook")]
pub mod webhook;
