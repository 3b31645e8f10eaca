//! OTLP over HTTP: spans and metrics to a collector, as protobuf.
//!
//! Owns [`Otlp`], the exporter, with its two threads. [`layer`] takes spans from `tracing` into a bounded
//! queue, [`encode`] makes messages of `opentelemetry-proto`. Invariant: a collector that is slow or absent
//! costs memory up to the queue's bound, then spans, which are counted; it never costs the observed program
//! time.

mod encode;
pub mod layer;
mod spans;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use anymetal_hal::clock::Clock;
use anymetal_telemetry::record;
use prost::Message as _;

use crate::background::Background;
use crate::bounded::Bounded;
use crate::post::{BadTarget, PostError, Target};
use crate::store::Store;
use layer::OtlpLayer;
use spans::FinishedSpan;

/// Spans that wait to be sent.
const QUEUE: usize = 4096;
/// Spans of one request.
const BATCH: usize = 512;
/// How often a batch of spans is offered before it is given up.
const ATTEMPTS: u32 = 3;
const CONTENT_TYPE: &str = "application/x-protobuf";
const TRACES: &str = "otlp-traces";
const METRICS: &str = "otlp-metrics";

/// What is sent, where, how often.
#[derive(Debug, Clone)]
pub struct OtlpOptions {
    /// The collector: `http://127.0.0.1:4318`. `/v1/traces` and `/v1/metrics` are appended.
    pub endpoint: String,
    /// The attribute `service.name` of all that is sent.
    pub service: String,
    /// Between two requests of each kind.
    pub interval: Duration,
}

/// Why nothing can be exported.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// The endpoint is no target.
    #[error(transparent)]
    Target(#[from] BadTarget),
    /// The system has no thread to give.
    #[error("no thread for the exporter: {0}")]
    NoThread(#[from] std::io::Error),
}

/// Sends until it is dropped, and once more then.
#[derive(Debug)]
pub struct Otlp {
    queue: Arc<Bounded<FinishedSpan>>,
    time: UnixTime,
    threads: [Background; 2],
}

impl Otlp {
    /// Starts the exporter's threads.
    ///
    /// # Errors
    /// The endpoint is no target; the system has no thread to give.
    pub fn start(options: &OtlpOptions, store: Store, clock: Arc<dyn Clock>) -> Result<Self, OtlpError> {
        let endpoint = options.endpoint.trim_end_matches('/');
        let traces = Target::new(&format!("{endpoint}/v1/traces"))?;
        let metrics = Target::new(&format!("{endpoint}/v1/metrics"))?;
        let queue = Arc::new(Bounded::new(TRACES, QUEUE));
        let time = UnixTime::new(Arc::clone(&clock));
        let interval = options.interval;
        let mut spans = SpanSender {
            target: traces,
            queue: Arc::clone(&queue),
            service: options.service.clone(),
            pending: Vec::new(),
            attempts: 0,
        };
        let mut values =
            MetricSender { target: metrics, store, service: options.service.clone(), time: time.clone() };
        let threads = [
            Background::start("anymetal-otlp-t", Arc::clone(&clock), interval, move || spans.send())?,
            Background::start("anymetal-otlp-m", clock, interval, move || values.send())?,
        ];
        Ok(Otlp { queue, time, threads })
    }

    /// Takes spans from a subscriber that it is a layer of.
    pub fn layer(&self) -> OtlpLayer {
        OtlpLayer::new(Arc::clone(&self.queue), self.time.clone())
    }

    /// Sends what waits, and waits until that is done or given up.
    pub fn flush(&self) {
        self.threads.iter().for_each(Background::flush);
    }

    /// Spans that were given up.
    pub fn dropped(&self) -> u64 {
        self.queue.dropped()
    }
}

/// Unix time by an injected clock: the system's at the start, and the clock from then on.
#[derive(Debug, Clone)]
pub(crate) struct UnixTime {
    clock: Arc<dyn Clock>,
    /// Nanoseconds between the Unix epoch and the clock's zero.
    zero: u64,
    start: u64,
    /// The last time that was given, so that it never goes back.
    last: Arc<AtomicU64>,
}

impl UnixTime {
    fn new(clock: Arc<dyn Clock>) -> Self {
        let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let zero = nanoseconds(unix.saturating_sub(clock.now()));
        let start = zero.saturating_add(nanoseconds(clock.now()));
        UnixTime { clock, zero, start, last: Arc::new(AtomicU64::new(0)) }
    }

    fn now(&self) -> u64 {
        let now = self.zero.saturating_add(nanoseconds(self.clock.now()));
        self.last.fetch_max(now, Ordering::Relaxed).max(now)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

struct SpanSender {
    target: Target,
    queue: Arc<Bounded<FinishedSpan>>,
    service: String,
    /// Offered and not accepted.
    pending: Vec<FinishedSpan>,
    attempts: u32,
}

impl SpanSender {
    /// Sends batches until none waits or one is not accepted.
    fn send(&mut self) {
        loop {
            if self.pending.is_empty() {
                self.pending = self.queue.take(BATCH);
                self.attempts = 0;
            }
            if self.pending.is_empty() {
                return;
            }
            let body = encode::spans(&self.pending, &self.service).encode_to_vec();
            let sent = self.target.post(CONTENT_TYPE, &body);
            note(TRACES, &sent);
            match sent {
                Ok(()) => self.pending.clear(),
                Err(error) => {
                    self.attempts += 1;
                    if !error.may_pass() || self.attempts >= ATTEMPTS {
                        self.queue.drop_counted(self.pending.len() as u64);
                        self.pending.clear();
                    }
                    return;
                }
            }
        }
    }
}

impl Drop for SpanSender {
    fn drop(&mut self) {
        let left = self.pending.len() + self.queue.len();
        if left > 0 {
            self.queue.drop_counted(left as u64);
        }
    }
}

struct MetricSender {
    target: Target,
    store: Store,
    service: String,
    time: UnixTime,
}

impl MetricSender {
    /// Sends all values: they are sums from the start, so that one that was not accepted is made up for by
    /// the next.
    fn send(&mut self) {
        let snapshot = self.store.snapshot();
        if snapshot.families.is_empty() {
            return;
        }
        let message = encode::metrics(&snapshot, &self.service, self.time.start, self.time.now());
        note(METRICS, &self.target.post(CONTENT_TYPE, &message.encode_to_vec()));
    }
}

fn note(exporter: &str, sent: &Result<(), PostError>) {
    record::exported(exporter, if sent.is_ok() { "ok" } else { "failed" });
}
