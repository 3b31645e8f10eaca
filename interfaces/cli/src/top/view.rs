//! What is shown: values of one look, and rates and latencies between two.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anymetal_telemetry::names::metrics;

use super::histogram::Histogram;
use super::samples::{Samples, label};
use super::scrape::Scrape;

/// One frame's values.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct View {
    /// Between the two looks; `None`: there was only one, and rates are not known.
    pub(super) between: Option<Duration>,
    pub(super) devices: Vec<DeviceRow>,
    /// The kernels that took most time first.
    pub(super) kernels: Vec<KernelRow>,
    /// Breakers that are not closed, and how many there are.
    pub(super) breakers: Vec<(String, &'static str)>,
    pub(super) breaker_count: usize,
    /// Components that are not healthy, and how many there are.
    pub(super) unhealthy: Vec<(String, &'static str)>,
    pub(super) component_count: usize,
    /// Of compiled kernels looked for in caches, the share found.
    pub(super) cache_hits: Option<f64>,
    /// Since the process started: retries, fallbacks, deadlines exceeded, device losses.
    pub(super) recovery: [f64; 4],
    /// What the execution manager does; `None`: the process has none.
    pub(super) executions: Option<Executions>,
}

/// Requests to the execution manager.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Executions {
    /// Per second.
    pub(super) rate: Option<f64>,
    /// All attempts included.
    pub(super) latency: Latency,
    /// Since the process started: those that failed for good.
    pub(super) failed: f64,
    /// Devices, each with the streams that the manager uses and whether it works in degraded mode.
    pub(super) devices: Vec<(String, f64, bool)>,
}

/// Percentiles of device times, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Latency {
    pub(super) p50: Option<f64>,
    pub(super) p95: Option<f64>,
    pub(super) p99: Option<f64>,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct DeviceRow {
    pub(super) name: String,
    /// Per second.
    pub(super) dispatches: Option<f64>,
    pub(super) latency: Latency,
    pub(super) in_flight: f64,
    pub(super) waiting: f64,
    /// Per second.
    pub(super) errors: Option<f64>,
    pub(super) memory_bytes: f64,
    pub(super) memory_limit: Option<f64>,
    pub(super) buffers: f64,
    pub(super) pool_used: f64,
    pub(super) pool_free: f64,
    pub(super) pool_buffers: f64,
}

/// A kernel on a device.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KernelRow {
    pub(super) kernel: String,
    pub(super) device: String,
    pub(super) backend: String,
    /// Per second.
    pub(super) dispatches: Option<f64>,
    pub(super) latency: Latency,
    /// Of the device time of all kernels.
    pub(super) time_share: f64,
    /// Since the process started.
    pub(super) total: f64,
}

impl Latency {
    fn of(histogram: &Histogram) -> Self {
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|share| histogram.quantile(share));
        Latency { p50, p95, p99 }
    }
}

impl View {
    /// Of a look and, if there was one, the look before.
    pub(super) fn new(before: Option<&Scrape>, now: &Scrape) -> Self {
        let between = before.map(|before| now.at.saturating_duration_since(before.at));
        View::of(before.map(|before| &before.samples), &now.samples, between)
    }

    /// Of samples that were taken so long apart.
    pub(super) fn of(before: Option<&Samples>, now: &Samples, between: Option<Duration>) -> Self {
        let rates = Rates {
            before,
            seconds: between.map(|between| between.as_secs_f64()).filter(|time| *time > 0.0),
        };
        let breakers =
            states(now, metrics::BREAKER_STATE.name, &["device", "kernel"], &["closed", "half-open", "open"]);
        let health =
            states(now, metrics::HEALTH_STATE.name, &["component"], &["healthy", "degraded", "unhealthy"]);
        let (hits, misses) = (now.total(metrics::CACHE_HITS.name), now.total(metrics::CACHE_MISSES.name));
        View {
            between,
            devices: devices(now, &rates),
            kernels: kernels(now, &rates),
            breaker_count: breakers.len(),
            breakers: breakers.into_iter().filter(|(_, state)| *state != "closed").collect(),
            component_count: health.len(),
            unhealthy: health.into_iter().filter(|(_, state)| *state != "healthy").collect(),
            cache_hits: (hits + misses > 0.0).then(|| hits / (hits + misses)),
            recovery: [
                metrics::RETRIES.name,
                metrics::FALLBACKS.name,
                metrics::DEADLINES.name,
                metrics::DEVICE_LOSSES.name,
            ]
            .map(|name| now.total(name)),
            executions: executions(now, &rates),
        }
    }
}

/// What rates are made of.
struct Rates<'a> {
    before: Option<&'a Samples>,
    seconds: Option<f64>,
}

impl Rates<'_> {
    /// Of a counter; one that went down was started again, and all of it is new.
    fn of(&self, before: f64, now: f64) -> Option<f64> {
        let new = if before <= now { now - before } else { now };
        Some(new / self.seconds?)
    }

    fn histograms<const N: usize>(&self, labels: [&str; N]) -> BTreeMap<[String; N], Histogram> {
        self.before
            .map(|before| Histogram::by_labels(before, metrics::DISPATCH_DURATION.name, labels))
            .unwrap_or_default()
    }
}

fn executions(now: &Samples, rates: &Rates<'_>) -> Option<Executions> {
    let name = metrics::EXECUTIONS.name;
    if now.of(name).is_empty() {
        return None;
    }
    let times = |samples: &Samples| {
        Histogram::by_labels(samples, metrics::EXECUTION_DURATION.name, []).remove(&[]).unwrap_or_default()
    };
    let (total, before) = (now.total(name), rates.before.map_or(0.0, |before| before.total(name)));
    let recent = times(now).since(rates.before.map(times).as_ref());
    let degraded = now.by_label(metrics::DEGRADED.name, "device");
    let streams = now.by_label(metrics::MANAGER_STREAMS.name, "device");
    let device = |(device, streams): (&str, f64)| {
        let is_degraded = degraded.get(device).is_some_and(|state| *state > 0.0);
        (device.to_owned(), streams, is_degraded)
    };
    let ok = now.by_label(name, "outcome").get("ok").copied().unwrap_or(0.0);
    Some(Executions {
        rate: rates.of(before, total),
        latency: Latency::of(&recent),
        failed: total - ok,
        devices: streams.into_iter().map(device).collect(),
    })
}

fn devices(now: &Samples, rates: &Rates<'_>) -> Vec<DeviceRow> {
    let by_device = |name| now.by_label(name, "device");
    let earlier = |name| rates.before.map(|before| before.by_label(name, "device")).unwrap_or_default();
    let value = |values: &BTreeMap<&str, f64>, device: &str| values.get(device).copied().unwrap_or(0.0);
    let rate = |name: &'static str, device: &str| {
        rates.of(value(&earlier(name), device), value(&by_device(name), device))
    };
    let pool = |device: &str, state: &str| {
        let ours = now.of(metrics::POOL_BYTES.name).iter();
        let ours = ours.filter(|sample| label(sample, "device") == device && label(sample, "state") == state);
        ours.fold(0.0, |sum, sample| sum + sample.value)
    };
    let (latencies, latencies_before) = (
        Histogram::by_labels(now, metrics::DISPATCH_DURATION.name, ["device"]),
        rates.histograms(["device"]),
    );
    let shown = [
        metrics::DISPATCHES.name,
        metrics::MEMORY_BYTES.name,
        metrics::COMMAND_BUFFERS_IN_FLIGHT.name,
        metrics::POOL_BYTES.name,
    ];
    let all: BTreeSet<&str> = shown.iter().flat_map(|name| by_device(name).into_keys()).collect();
    let row = |device: &str| {
        let key = [device.to_owned()];
        let latency = latencies.get(&key).map(|all| Latency::of(&all.since(latencies_before.get(&key))));
        DeviceRow {
            name: device.to_owned(),
            dispatches: rate(metrics::DISPATCHES.name, device),
            latency: latency.unwrap_or_default(),
            in_flight: value(&by_device(metrics::COMMAND_BUFFERS_IN_FLIGHT.name), device),
            waiting: value(&by_device(metrics::COMMAND_BUFFERS_WAITING.name), device),
            errors: rate(metrics::ERRORS.name, device),
            memory_bytes: value(&by_device(metrics::MEMORY_BYTES.name), device),
            memory_limit: by_device(metrics::MEMORY_LIMIT.name).get(device).copied(),
            buffers: value(&by_device(metrics::BUFFERS.name), device),
            pool_used: pool(device, "used"),
            pool_free: pool(device, "free"),
            pool_buffers: value(&by_device(metrics::POOL_BUFFERS.name), device),
        }
    };
    all.into_iter().map(row).collect()
}

const KERNEL: [&str; 3] = ["kernel", "device", "backend"];

fn kernels(now: &Samples, rates: &Rates<'_>) -> Vec<KernelRow> {
    let counts = |samples: &Samples| {
        let mut counts: BTreeMap<[String; 3], f64> = BTreeMap::new();
        for sample in samples.of(metrics::DISPATCHES.name) {
            *counts.entry(KERNEL.map(|name| label(sample, name).to_owned())).or_default() += sample.value;
        }
        counts
    };
    let (totals, totals_before) = (counts(now), rates.before.map(counts).unwrap_or_default());
    let (times, times_before) =
        (Histogram::by_labels(now, metrics::DISPATCH_DURATION.name, KERNEL), rates.histograms(KERNEL));
    let recent: BTreeMap<&[String; 3], Histogram> =
        times.iter().map(|(key, all)| (key, all.since(times_before.get(key)))).collect();
    // Sampled times stand for all dispatches.
    let time_of = |key: &[String; 3]| {
        let new = totals.get(key).copied().unwrap_or(0.0) - totals_before.get(key).copied().unwrap_or(0.0);
        let sampled = recent.get(key).filter(|times| times.count > 0.0);
        sampled.map_or(0.0, |times| times.sum / times.count * if new > 0.0 { new } else { times.count })
    };
    let keys: BTreeSet<&[String; 3]> = totals.keys().chain(times.keys()).collect();
    let whole: f64 = keys.iter().map(|key| time_of(key)).sum();
    let row = |key: &[String; 3]| {
        let total = totals.get(key).copied().unwrap_or(0.0);
        let [kernel, device, backend] = key.clone();
        KernelRow {
            kernel,
            device,
            backend,
            dispatches: rates.of(totals_before.get(key).copied().unwrap_or(0.0), total),
            latency: recent.get(key).map(Latency::of).unwrap_or_default(),
            time_share: if whole > 0.0 { time_of(key) / whole } else { 0.0 },
            total,
        }
    };
    let mut rows: Vec<KernelRow> = keys.into_iter().map(row).collect();
    rows.sort_by(|a, b| {
        b.time_share
            .total_cmp(&a.time_share)
            .then(b.total.total_cmp(&a.total))
            .then_with(|| a.kernel.cmp(&b.kernel))
    });
    rows
}

/// Gauges that hold the number of a state, by what they are of.
fn states(
    now: &Samples,
    name: &str,
    labels: &[&str],
    words: &[&'static str; 3],
) -> Vec<(String, &'static str)> {
    let of = |sample: &super::samples::Sample| {
        let parts = labels.iter().map(|name| label(sample, name)).filter(|part| !part.is_empty());
        let word = if sample.value.fract() == 0.0 { words.get(sample.value as usize) } else { None };
        (parts.collect::<Vec<_>>().join(" "), word.copied().unwrap_or("unknown"))
    };
    now.of(name).iter().map(of).collect()
}
