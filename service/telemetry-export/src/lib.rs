//! What listens to telemetry: a store of metrics, and the ways out of it.
//!
//! - [`store`] is a recorder for the `metrics` facade; [`snapshot`] is what it holds at one moment, as
//!   values.
//! - [`exposition`] writes a snapshot as Prometheus' text, [`scrape`] reads that text strictly.
//! - [`server`] answers GET requests: `/metrics`, and whatever else a program has to tell.
//! - [`otlp`] sends traces and metrics to a collector (feature `otlp`); [`post`] sends one request (feature
//!   `post`).
//! - [`bounded`] is the queue before every target, [`background`] the thread behind it.
//!
//! Invariant: nothing here slows the work that is observed. Recording is a few additions to memory of the
//! thread, memory is bounded by the number of series, queues are bounded and count what they drop, and
//! targets are spoken to by threads of their own.
#![forbid(unsafe_code)]

pub mod background;
pub mod bounded;
mod counter;
pub mod exposition;
pub mod histogram;
#[cfg(feature = "otlp")]
pub mod otlp;
#[cfg(feature = "post")]
pub mod post;
pub mod scrape;
pub mod server;
mod shards;
pub mod snapshot;
pub mod store;
