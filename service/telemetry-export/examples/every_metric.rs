//! Prints every metric once, as `/metrics` would: for `promtool check metrics`.
//!
//! `cargo run -p anymetal-telemetry-export --example every_metric | promtool check metrics`
#![allow(clippy::print_stdout, reason = "an example talks to its terminal")]

use anymetal_telemetry::handle::{Counter, Gauge, Histogram, enable};
use anymetal_telemetry::names::MetricKind;
use anymetal_telemetry::names::metrics::METRICS;
use anymetal_telemetry_export::exposition;
use anymetal_telemetry_export::store::Store;

fn main() {
    let store = Store::new();
    metrics::with_local_recorder(&store, || {
        enable();
        for metric in METRICS {
            let labels: Vec<_> =
                metric.labels.iter().map(|label| (*label, "a \"quoted\" \\ value\n")).collect();
            match metric.kind {
                MetricKind::Counter => Counter::new(metric, &labels).add(1),
                MetricKind::Gauge => Gauge::new(metric, &labels).set(0.5),
                MetricKind::Histogram => Histogram::new(metric, &labels).record(0.5),
            }
        }
    });
    print!("{}", exposition::write(&store.snapshot()));
}
