//! What recording one submission costs in the store: two counters and three histograms; nanoseconds, the
//! least of forty rounds.
//!
//! `cargo run --release -p anymetal-telemetry-export --example record_cost`
#![allow(clippy::print_stdout, reason = "an example talks to its terminal")]

use std::time::Instant;

use anymetal_telemetry::handle::{Counter, Histogram};
use anymetal_telemetry::names::metrics as names;
use anymetal_telemetry_export::store::Store;

fn main() {
    assert!(Store::new().install().is_ok());
    let device = [("device", "cpu")];
    let ok = Counter::new(&names::SUBMISSIONS, &[("device", "cpu"), ("outcome", "ok")]);
    let duration = Histogram::new(&names::SUBMISSION_DURATION, &device);
    let wait = Histogram::new(&names::SUBMISSION_WAIT, &device);
    let labels = [("device", "cpu"), ("backend", "cpu"), ("kernel", "k")];
    let dispatches = Counter::new(&names::DISPATCHES, &labels);
    let took = Histogram::new(&names::DISPATCH_DURATION, &labels);
    let mut best = f64::INFINITY;
    for _ in 0..40 {
        let start = Instant::now();
        for i in 0..100_000u64 {
            let value = (900 + i % 300) as f64 * 1e-9;
            ok.add(1);
            duration.record(value);
            wait.record(value * 0.1);
            dispatches.add(1);
            took.record(value);
        }
        best = best.min(start.elapsed().as_nanos() as f64 / 100_000.0);
    }
    println!("{best:.1} ns for each submission");
}
