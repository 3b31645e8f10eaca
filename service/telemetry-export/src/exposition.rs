//! Prometheus' text format, version 0.0.4.
//!
//! Invariant: any snapshot gives valid text: names of other programs' metrics are made valid, values and
//! helps are escaped.

use std::fmt::Write as _;

use anymetal_telemetry::names::MetricKind;

use crate::snapshot::{Family, Series, Snapshot, Value};

/// The content type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A snapshot as text.
pub fn write(snapshot: &Snapshot) -> String {
    let mut text = String::new();
    let mut written: Vec<String> = Vec::new();
    for family in &snapshot.families {
        let name = valid_name(&family.name, true);
        // Two names that become one when they are made valid: the first stays.
        if !written.contains(&name) {
            write_family(&name, family, &mut text);
            written.push(name);
        }
    }
    text
}

fn write_family(name: &str, family: &Family, text: &mut String) {
    if !family.help.is_empty() {
        let _ = writeln!(text, "# HELP {name} {}", escaped(&family.help, false));
    }
    let kind = match family.kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram => "histogram",
    };
    let _ = writeln!(text, "# TYPE {name} {kind}");
    family.series.iter().for_each(|series| write_series(name, series, text));
}

fn write_series(name: &str, series: &Series, text: &mut String) {
    let labels = labels(&series.labels);
    match &series.value {
        Value::Counter(value) => line(name, "", &labels, None, &value.to_string(), text),
        Value::Gauge(value) => line(name, "", &labels, None, &number(*value), text),
        Value::Histogram(histogram) => {
            let mut up_to = 0;
            for (bound, count) in histogram.bounds.iter().zip(&histogram.counts) {
                up_to += count;
                line(name, "_bucket", &labels, Some(&number(*bound)), &up_to.to_string(), text);
            }
            let count = histogram.count().to_string();
            line(name, "_bucket", &labels, Some("+Inf"), &count, text);
            line(name, "_sum", &labels, None, &number(histogram.sum), text);
            line(name, "_count", &labels, None, &count, text);
        }
    }
}

fn line(name: &str, suffix: &str, labels: &str, bound: Option<&str>, value: &str, text: &mut String) {
    let bound = bound.map(|bound| format!("le=\"{bound}\""));
    let parts: Vec<&str> =
        [labels, bound.as_deref().unwrap_or_default()].into_iter().filter(|part| !part.is_empty()).collect();
    let _ = match parts.is_empty() {
        true => writeln!(text, "{name}{suffix} {value}"),
        false => writeln!(text, "{name}{suffix}{{{}}} {value}", parts.join(",")),
    };
}

fn labels(labels: &[(String, String)]) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut parts = Vec::new();
    for (name, value) in labels {
        let mut name = valid_name(name, false);
        // The bound of a bucket is Prometheus' own.
        if name == "le" {
            name.push('_');
        }
        if !names.contains(&name) {
            parts.push(format!("{name}=\"{}\"", escaped(value, true)));
            names.push(name);
        }
    }
    parts.join(",")
}

fn number(value: f64) -> String {
    match value {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        value if value.is_nan() => "NaN".to_owned(),
        value => value.to_string(),
    }
}

fn valid_name(name: &str, of_metric: bool) -> String {
    let valid = |(place, c): (usize, char)| match c {
        'a'..='z' | 'A'..='Z' | '_' => c,
        '0'..='9' if place > 0 => c,
        ':' if of_metric => c,
        _ => '_',
    };
    let name: String = name.chars().enumerate().map(valid).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

fn escaped(text: &str, quotes: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '"' if quotes => escaped.push_str("\\\""),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::HistogramValue;

    fn family(name: &str, kind: MetricKind, labels: &[(&str, &str)], value: Value) -> Family {
        let labels = labels.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Family { name: name.into(), kind, help: "It\ncounts.".into(), series: vec![Series { labels, value }] }
    }

    #[test]
    fn each_kind_has_its_lines() {
        let histogram = HistogramValue { bounds: vec![0.001, 1.0], counts: vec![2, 0, 1], sum: 5.5 };
        let snapshot = Snapshot {
            families: vec![
                family("a_total", MetricKind::Counter, &[("k", "say \"a\\b\"")], Value::Counter(3)),
                family("b", MetricKind::Gauge, &[], Value::Gauge(f64::NAN)),
                family("c_seconds", MetricKind::Histogram, &[("d", "cpu")], Value::Histogram(histogram)),
            ],
        };
        let expected = r#"# HELP a_total It\ncounts.
# TYPE a_total counter
a_total{k="say \"a\\b\""} 3
# HELP b It\ncounts.
# TYPE b gauge
b NaN
# HELP c_seconds It\ncounts.
# TYPE c_seconds histogram
c_seconds_bucket{d="cpu",le="0.001"} 2
c_seconds_bucket{d="cpu",le="1"} 2
c_seconds_bucket{d="cpu",le="+Inf"} 3
c_seconds_sum{d="cpu"} 5.5
c_seconds_count{d="cpu"} 3
"#;
        assert_eq!(write(&snapshot), expected);
    }

    #[test]
    fn names_of_others_are_made_valid() {
        let snapshot = Snapshot {
            families: vec![
                family("http.requests-1", MetricKind::Gauge, &[("le", "x"), ("1b", "y")], Value::Gauge(1.0)),
                family("http_requests_1", MetricKind::Gauge, &[], Value::Gauge(2.0)),
            ],
        };
        let text = write(&snapshot);
        assert!(text.ends_with("http_requests_1{le_=\"x\",_b=\"y\"} 1\n"), "{text}");
    }
}
