//! `docs/telemetry.md`, made from the tables of names.

use std::fmt::Write as _;

use super::metrics::METRICS;
use super::spans::{EVENTS, SPANS, SpanName};
use super::{LABELS, Layer, Metric, MetricKind};

const HEAD: &str = "\
# Telemetry

<!-- Made by `cargo xtask gen` from runtime/telemetry/src/names. -->

Every name that the library emits. Metrics go through the facade of the crate `metrics`, spans and events through
`tracing`; the library installs neither a recorder nor a subscriber unless the settings demand it.
How to watch a program is in [how-to/observe-a-program.md](how-to/observe-a-program.md).

Names are stable. A new label value is no change of a name, a new label is one.

";

const SPANS_HEAD: &str = "
## Spans

The target of all is `anymetal`.

";

/// `docs/telemetry.md`.
pub fn document() -> String {
    let mut text = HEAD.to_owned();
    for layer in Layer::ALL {
        let _ = writeln!(text, "## Metrics: {}\n", layer.word());
        text.push_str("| metric | kind | unit | labels | meaning |\n|---|---|---|---|---|\n");
        METRICS.iter().filter(|metric| metric.layer == layer).for_each(|metric| row(metric, &mut text));
        text.push('\n');
    }
    text.push_str("## Labels\n\n| label | values |\n|---|---|\n");
    for label in LABELS {
        let _ = writeln!(text, "| `{}` | {} |", label.name, label.values);
    }
    text.push_str(SPANS_HEAD);
    span_table(SPANS, &mut text);
    text.push_str("\n## Events\n\n");
    span_table(EVENTS, &mut text);
    text
}

fn row(metric: &Metric, text: &mut String) {
    let kind = match metric.kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram => "histogram",
    };
    let labels = list(metric.labels);
    let (name, unit, help) = (metric.name, metric.unit.word(), metric.help);
    let _ = writeln!(text, "| `{name}` | {kind} | {unit} | {labels} | {help} |");
}

fn span_table(spans: &[&SpanName], text: &mut String) {
    text.push_str("| name | level | fields | meaning |\n|---|---|---|---|\n");
    for span in spans {
        let (name, level, fields, help) = (span.name, span.level, list(span.fields), span.help);
        let _ = writeln!(text, "| `{name}` | {level} | {fields} | {help} |");
    }
}

fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
