//! Spans and snapshots as OTLP's messages.

use anymetal_telemetry::names::metrics::METRICS;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, span, status};

use super::spans::{AttributeValue, Attributes, FinishedSpan, SpanEvent};
use crate::histogram::HistogramValue;
use crate::snapshot::{Family, Series, Snapshot, Value};

/// Spans as one request.
pub(super) fn spans(spans: &[FinishedSpan], service: &str) -> ExportTraceServiceRequest {
    let scope_spans = ScopeSpans {
        scope: Some(scope()),
        spans: spans.iter().map(one_span).collect(),
        ..ScopeSpans::default()
    };
    let of_resource = ResourceSpans {
        resource: Some(resource(service)),
        scope_spans: vec![scope_spans],
        ..ResourceSpans::default()
    };
    ExportTraceServiceRequest { resource_spans: vec![of_resource] }
}

/// A snapshot as one request. Times are nanoseconds since the Unix epoch.
pub(super) fn metrics(
    snapshot: &Snapshot,
    service: &str,
    start_ns: u64,
    now_ns: u64,
) -> ExportMetricsServiceRequest {
    let times = Times { start_ns, now_ns };
    let scope_metrics = ScopeMetrics {
        scope: Some(scope()),
        metrics: snapshot.families.iter().map(|family| one_metric(family, times)).collect(),
        ..ScopeMetrics::default()
    };
    let of_resource = ResourceMetrics {
        resource: Some(resource(service)),
        scope_metrics: vec![scope_metrics],
        ..ResourceMetrics::default()
    };
    ExportMetricsServiceRequest { resource_metrics: vec![of_resource] }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "anymetal".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    }
}

fn resource(service: &str) -> Resource {
    Resource { attributes: vec![text("service.name", service)], ..Resource::default() }
}

fn text(key: &str, value: &str) -> KeyValue {
    key_value(key, any_value::Value::StringValue(value.to_owned()))
}

fn key_value(key: &str, value: any_value::Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

fn attributes(attributes: &Attributes) -> Vec<KeyValue> {
    let value = |value: &AttributeValue| match value {
        AttributeValue::Text(text) => any_value::Value::StringValue(text.clone()),
        AttributeValue::Integer(integer) => any_value::Value::IntValue(*integer),
        AttributeValue::Float(float) => any_value::Value::DoubleValue(*float),
        AttributeValue::Bool(bool) => any_value::Value::BoolValue(*bool),
    };
    attributes.list.iter().map(|(name, one)| key_value(name, value(one))).collect()
}

fn one_span(of: &FinishedSpan) -> Span {
    let status = of.error().map(|message| Status { message, code: status::StatusCode::Error.into() });
    Span {
        trace_id: of.trace.to_vec(),
        span_id: of.id.to_vec(),
        parent_span_id: of.parent.map(|parent| parent.to_vec()).unwrap_or_default(),
        name: of.name.to_owned(),
        kind: span::SpanKind::Internal.into(),
        start_time_unix_nano: of.start_ns,
        end_time_unix_nano: of.end_ns,
        attributes: attributes(&of.attributes),
        dropped_attributes_count: of.attributes.left_out,
        events: of.events.iter().map(one_event).collect(),
        dropped_events_count: of.events_left_out,
        status,
        ..Span::default()
    }
}

fn one_event(of: &SpanEvent) -> span::Event {
    span::Event {
        time_unix_nano: of.time_ns,
        name: of.name.to_owned(),
        attributes: attributes(&of.attributes),
        dropped_attributes_count: of.attributes.left_out,
    }
}

#[derive(Clone, Copy)]
struct Times {
    start_ns: u64,
    now_ns: u64,
}

fn one_metric(family: &Family, times: Times) -> Metric {
    let known = METRICS.iter().find(|metric| metric.name == family.name);
    Metric {
        name: family.name.clone(),
        description: family.help.clone(),
        unit: known.map_or(String::new(), |metric| metric.unit.ucum().to_owned()),
        data: data(family, times),
        ..Metric::default()
    }
}

fn data(family: &Family, times: Times) -> Option<metric::Data> {
    let cumulative = i32::from(AggregationTemporality::Cumulative);
    let points = || family.series.iter().map(|series| number_point(series, times)).collect();
    Some(match family.series.first()?.value {
        Value::Counter(_) => metric::Data::Sum(Sum {
            data_points: points(),
            aggregation_temporality: cumulative,
            is_monotonic: true,
        }),
        Value::Gauge(_) => metric::Data::Gauge(Gauge { data_points: points() }),
        Value::Histogram(_) => metric::Data::Histogram(Histogram {
            data_points: family.series.iter().filter_map(|series| histogram_point(series, times)).collect(),
            aggregation_temporality: cumulative,
        }),
    })
}

fn labels(series: &Series) -> Vec<KeyValue> {
    series.labels.iter().map(|(name, value)| text(name, value)).collect()
}

fn number_point(series: &Series, times: Times) -> NumberDataPoint {
    let value = match &series.value {
        Value::Counter(value) => number_data_point::Value::AsInt(i64::try_from(*value).unwrap_or(i64::MAX)),
        other => number_data_point::Value::AsDouble(other.number()),
    };
    NumberDataPoint {
        attributes: labels(series),
        start_time_unix_nano: times.start_ns,
        time_unix_nano: times.now_ns,
        value: Some(value),
        ..NumberDataPoint::default()
    }
}

fn histogram_point(series: &Series, times: Times) -> Option<HistogramDataPoint> {
    let Value::Histogram(HistogramValue { bounds, counts, sum }) = &series.value else { return None };
    Some(HistogramDataPoint {
        attributes: labels(series),
        start_time_unix_nano: times.start_ns,
        time_unix_nano: times.now_ns,
        count: counts.iter().sum(),
        sum: Some(*sum),
        bucket_counts: counts.clone(),
        explicit_bounds: bounds.clone(),
        ..HistogramDataPoint::default()
    })
}
