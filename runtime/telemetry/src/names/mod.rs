//! The names: of metrics, of their labels, of spans and events.
//!
//! Owns [`Metric`] and the tables that [`document`](document::document) and recorders are made from. Names
//! are stable: programs, dashboards and alerts rely on them. Conventions are Prometheus': one prefix, base
//! units, `_total` for counters.

pub mod document;
pub mod metrics;
pub mod spans;

/// How a metric behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// Only goes up.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Observations in buckets.
    Histogram,
}

/// What a metric counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A number that stands for a state.
    State,
    /// Degrees Celsius.
    Celsius,
    /// Watts.
    Watts,
}

impl Unit {
    /// Its name in documents.
    pub fn word(self) -> &'static str {
        match self {
            Unit::Count => "count",
            Unit::Seconds => "seconds",
            Unit::Bytes => "bytes",
            Unit::State => "state",
            Unit::Celsius => "degrees Celsius",
            Unit::Watts => "watts",
        }
    }

    /// Its code in the Unified Code for Units of Measure, as OTLP has it.
    pub fn ucum(self) -> &'static str {
        match self {
            Unit::Count | Unit::State => "1",
            Unit::Seconds => "s",
            Unit::Bytes => "By",
            Unit::Celsius => "Cel",
            Unit::Watts => "W",
        }
    }
}

/// The part of the system that records a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Source to code.
    Compiler,
    /// Pipelines, queues, submissions, graphs.
    Execution,
    /// Tensor operations.
    Operations,
    /// Buffers, pools, budgets.
    Memory,
    /// Retries, breakers, fallbacks, the execution manager.
    Recovery,
    /// Health and alerts.
    Health,
    /// Telemetry itself.
    Telemetry,
}

impl Layer {
    /// All of them, in the order of documents.
    pub const ALL: [Layer; 7] = [
        Layer::Compiler,
        Layer::Execution,
        Layer::Operations,
        Layer::Memory,
        Layer::Recovery,
        Layer::Health,
        Layer::Telemetry,
    ];

    /// Its name in documents.
    pub fn word(self) -> &'static str {
        match self {
            Layer::Compiler => "Compiler",
            Layer::Execution => "Execution",
            Layer::Operations => "Tensor operations",
            Layer::Memory => "Memory",
            Layer::Recovery => "Recovery",
            Layer::Health => "Health",
            Layer::Telemetry => "Telemetry itself",
        }
    }
}

/// One metric.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metric {
    /// Its name, in full.
    pub name: &'static str,
    /// How it behaves.
    pub kind: MetricKind,
    /// What it counts in.
    pub unit: Unit,
    /// Its labels, all of which every series has.
    pub labels: &'static [&'static str],
    /// What it tells, on one line.
    pub help: &'static str,
    /// Who records it.
    pub layer: Layer,
}

/// One label.
#[derive(Debug)]
#[non_exhaustive]
pub struct Label {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub values: &'static str,
}

/// The labels.
pub const LABELS: &[Label] = &[
    Label {
        name: "backend",
        values: "what runs the kernel: `cpu` (machine code), `interpreter`, `null`, `unknown`",
    },
    Label { name: "bulkhead", values: "the name of the bulkhead that refused" },
    Label { name: "cache", values: "`memory` or `disk`" },
    Label { name: "class", values: "of the error: `transient`, `exhausted`, `lost`, `caller`" },
    Label { name: "component", values: "the name of a component of health" },
    Label { name: "device", values: "the device's name: `cpu`" },
    Label { name: "direction", values: "`upload`, `download`, `device` (within the device)" },
    Label { name: "exporter", values: "`otlp-traces`, `otlp-metrics`, `webhook`, `prometheus`" },
    Label { name: "from", values: "the device that the work was taken from" },
    Label {
        name: "kernel",
        values: "the kernel's name; from the 101st name of a process on `other` (`anymetal_telemetry_label_overflows_total`)",
    },
    Label { name: "kind", values: "of a finding, as `anymetal check` names it: `race-threadgroup`" },
    Label { name: "label", values: "the label whose values are more than are kept" },
    Label { name: "mode", values: "of a graph's run: `whole`, `streams`, `pieces`" },
    Label {
        name: "operation",
        values: "a tensor operation, `fused` for several in one kernel; from the 201st name of a process on `other`",
    },
    Label { name: "origin", values: "`own`, `pool`, `import`, `heap`" },
    Label { name: "outcome", values: "`ok`, or what happened instead, in one word" },
    Label { name: "path", values: "`own` kernels or a `vendor` library" },
    Label { name: "reason", values: "why, in one word: mostly an error's class" },
    Label { name: "severity", values: "`info`, `warning`, `critical`" },
    Label { name: "stage", values: "`parse`, `lower`, `prepare`, `generate`, `machine-code`" },
    Label { name: "state", values: "`used` or `free`" },
    Label {
        name: "step",
        values: "a rung of the recovery ladder: `retry`, `trim`, `degrade`, `fallback`, `rebuild`, `wait`",
    },
    Label { name: "to", values: "the device that took the work, or the state that was entered" },
    Label { name: "zone", values: "a sensor's name" },
];

#[cfg(test)]
mod tests {
    use super::metrics::METRICS;
    use super::{LABELS, Label, MetricKind, Unit};

    #[test]
    fn names_follow_the_conventions_and_are_listed_once() {
        for (place, metric) in METRICS.iter().enumerate() {
            let name = metric.name;
            assert!(name.starts_with("anymetal_"), "{name}");
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
            assert!(!METRICS[..place].iter().any(|other| other.name == name), "{name} twice");
            assert_eq!(name.ends_with("_total"), metric.kind == MetricKind::Counter, "{name}");
            let base = name.trim_end_matches("_total");
            let suffix = match metric.unit {
                Unit::Seconds => "_seconds",
                Unit::Bytes => "_bytes",
                Unit::Celsius => "_celsius",
                Unit::Watts => "_watts",
                Unit::Count | Unit::State => "",
            };
            assert!(base.ends_with(suffix), "{name} does not end with its unit");
            assert!(metric.help.ends_with('.') && !metric.help.contains('\n'), "{name}: {}", metric.help);
        }
    }

    #[test]
    fn every_label_is_described_and_used() {
        let used = |name: &str| METRICS.iter().any(|metric| metric.labels.contains(&name));
        assert!(LABELS.is_sorted_by_key(|label| label.name));
        for Label { name, .. } in LABELS {
            assert!(used(name), "no metric has the label {name}");
        }
        for metric in METRICS {
            for name in metric.labels {
                assert!(LABELS.iter().any(|label| label.name == *name), "{}: {name}", metric.name);
            }
        }
    }
}
