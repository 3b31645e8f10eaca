//! A collector stand-in that decodes what is sent, one that is not there, and one that never answers.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anymetal_hal::clock::{Clock, ManualClock};
use anymetal_telemetry::span;
use anymetal_telemetry_export::otlp::{Otlp, OtlpOptions};
use anymetal_telemetry_export::store::Store;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{metric, number_data_point};
use prost::Message;
use tracing_subscriber::layer::SubscriberExt;

/// A path and a body.
type Request = (String, Vec<u8>);

/// Answers every request with a status, and tells of it.
fn collector(status: &'static str) -> (String, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = channel();
    let sender = Arc::new(Mutex::new(sender));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let sender = Arc::clone(&sender);
            std::thread::spawn(move || {
                let mut stream = stream.unwrap();
                if let Some(request) = request(&mut stream) {
                    let answer =
                        format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                    stream.write_all(answer.as_bytes()).unwrap();
                    let _gone = sender.lock().unwrap().send(request);
                }
            });
        }
    });
    (endpoint, requests)
}

fn request(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some(end) = text.find("\r\n\r\n") {
            let length = text[..end].lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
            });
            assert!(text.to_lowercase().contains("content-type: application/x-protobuf"), "{text}");
            let start = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
            if bytes.len() >= start + length.unwrap() {
                let path = text.split_ascii_whitespace().nth(1).unwrap().to_owned();
                return Some((path, bytes[start..].to_vec()));
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
        }
    }
}

fn start(endpoint: &str, store: &Store, clock: Arc<ManualClock>) -> Otlp {
    let options = OtlpOptions {
        endpoint: endpoint.to_owned(),
        service: "test".to_owned(),
        interval: Duration::from_secs(3600),
    };
    Otlp::start(&options, store.clone(), clock).unwrap()
}

fn values(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &KeyValue| match value.value.clone().unwrap().value.unwrap() {
        any_value::Value::StringValue(text) => text,
        any_value::Value::IntValue(integer) => integer.to_string(),
        other => format!("{other:?}"),
    };
    attributes.iter().map(|value| (value.key.clone(), text(value))).collect()
}

#[test]
fn spans_arrive_with_their_parents_times_attributes_events_and_errors() {
    let (endpoint, requests) = collector("200 OK");
    let (clock, store) = (ManualClock::new(), Store::new());
    let otlp = start(&endpoint, &store, clock.clone());
    let subscriber = tracing_subscriber::registry().with(otlp.layer());
    tracing::subscriber::with_default(subscriber, || {
        let pipeline = span::pipeline("cpu", "saxpy");
        let entered = pipeline.enter();
        clock.advance(Duration::from_millis(2));
        let submission = span::submission("cpu", "queue", "label", 3, Some("saxpy"));
        anymetal_telemetry::event::retry("transient");
        submission.ran(1500, 20);
        submission.failed(&"out of bounds");
        clock.advance(Duration::from_millis(5));
        drop(submission);
        drop(entered);
    });
    otlp.flush();
    let (path, body) = requests.recv().unwrap();
    assert_eq!(path, "/v1/traces");
    let message = ExportTraceServiceRequest::decode(&*body).unwrap();
    let resource = message.resource_spans[0].resource.clone().unwrap();
    assert_eq!(values(&resource.attributes)["service.name"], "test");
    let [submission, pipeline] = message.resource_spans[0].scope_spans[0].spans.as_slice() else {
        panic!("{message:?}");
    };
    assert_eq!(
        (pipeline.name.as_str(), submission.name.as_str()),
        ("anymetal.pipeline", "anymetal.submission")
    );
    assert_eq!((&submission.parent_span_id, &submission.trace_id), (&pipeline.span_id, &pipeline.trace_id));
    assert!(pipeline.parent_span_id.is_empty());
    assert_eq!(submission.end_time_unix_nano - submission.start_time_unix_nano, 5_000_000);
    assert_eq!(pipeline.end_time_unix_nano - pipeline.start_time_unix_nano, 7_000_000);
    let attributes = values(&submission.attributes);
    assert_eq!((attributes["device_ns"].as_str(), attributes["commands"].as_str()), ("1500", "3"));
    assert_eq!(submission.status.clone().unwrap().message, "out of bounds");
    assert_eq!((pipeline.events.len(), pipeline.events[0].name.as_str()), (1, "anymetal.retry"));
    assert_eq!(otlp.dropped(), 0);
}

#[test]
fn metrics_arrive_as_sums_gauges_and_histograms() {
    let (endpoint, requests) = collector("200 OK");
    let store = Store::new();
    metrics::with_local_recorder(&store, || {
        metrics::counter!("anymetal_retries_total", "reason" => "lost").increment(4);
        metrics::gauge!("anymetal_pool_buffers", "device" => "cpu").set(7.0);
        metrics::histogram!("anymetal_compile_duration_seconds", "stage" => "parse").record(0.2);
    });
    let otlp = start(&endpoint, &store, ManualClock::new());
    otlp.flush();
    let (path, body) = requests.recv().unwrap();
    assert_eq!(path, "/v1/metrics");
    let message = ExportMetricsServiceRequest::decode(&*body).unwrap();
    let metrics = &message.resource_metrics[0].scope_metrics[0].metrics;
    let data = |name: &str| metrics.iter().find(|metric| metric.name == name).unwrap().data.clone().unwrap();
    let metric::Data::Sum(sum) = data("anymetal_retries_total") else { panic!() };
    assert!(sum.is_monotonic);
    assert_eq!(sum.data_points[0].value, Some(number_data_point::Value::AsInt(4)));
    assert_eq!(values(&sum.data_points[0].attributes)["reason"], "lost");
    let metric::Data::Gauge(gauge) = data("anymetal_pool_buffers") else { panic!() };
    assert_eq!(gauge.data_points[0].value, Some(number_data_point::Value::AsDouble(7.0)));
    let metric::Data::Histogram(histogram) = data("anymetal_compile_duration_seconds") else { panic!() };
    let point = &histogram.data_points[0];
    assert_eq!((point.count, point.sum), (1, Some(0.2)));
    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    let unit = metrics.iter().find(|metric| metric.name == "anymetal_compile_duration_seconds").unwrap();
    assert_eq!(unit.unit, "s");
}

#[test]
fn a_collector_that_is_not_there_costs_spans_that_are_counted_and_the_program_no_time() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let otlp = start(&format!("http://127.0.0.1:{port}"), &Store::new(), ManualClock::new());
    let subscriber = tracing_subscriber::registry().with(otlp.layer());
    tracing::subscriber::with_default(subscriber, || (0..10).for_each(|_| drop(span::execution("e"))));
    for _ in 0..3 {
        otlp.flush();
    }
    assert_eq!(otlp.dropped(), 10, "given up after three attempts");
}

#[test]
fn a_collector_that_never_answers_holds_up_no_span_and_the_queue_is_bounded() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let clock = ManualClock::new();
    let otlp = start(&endpoint, &Store::new(), clock.clone());
    let subscriber = tracing_subscriber::registry().with(otlp.layer());
    let (count, start) = (20_000, Instant::now());
    tracing::subscriber::with_default(subscriber, || {
        for turn in 0..count {
            if turn == 1000 {
                // The exporter's thread is from here on in a request without an answer.
                clock.advance(Duration::from_secs(3600));
                let _request = listener.accept().unwrap();
            }
            drop(span::execution("e"));
        }
    });
    let took = start.elapsed();
    assert!(otlp.dropped() >= count - 1000 - 4096 - 512, "{}", otlp.dropped());
    // Spans that waited for requests would take minutes: 37 batches of 512, three attempts of 3 s each.
    assert!(took < Duration::from_secs(60), "{took:?} for spans that are not sent");
    assert!(clock.now() > Duration::ZERO);
    drop(listener);
}

#[test]
fn a_refusal_that_cannot_pass_is_not_tried_again() {
    let (endpoint, requests) = collector("400 Bad Request");
    let otlp = start(&endpoint, &Store::new(), ManualClock::new());
    let subscriber = tracing_subscriber::registry().with(otlp.layer());
    tracing::subscriber::with_default(subscriber, || drop(span::execution("e")));
    otlp.flush();
    otlp.flush();
    assert_eq!((otlp.dropped(), requests.try_iter().count()), (1, 1));
}
