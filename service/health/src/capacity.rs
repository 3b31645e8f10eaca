//! The capacity report: how much is used, how fast it grows, when it is full.
//!
//! Owns [`CapacityReport`], a value with a text and a JSON form. Invariant: what is not known is absent, not
//! zero.

use std::fmt;
use std::time::Duration;

use anymetal_telemetry::names::metrics as names;
use anymetal_telemetry_export::histogram::HistogramValue;
use anymetal_telemetry_export::snapshot::{Snapshot, Value};
use serde::Serialize;

use crate::monitor::{Monitor, time_to};

/// The capacity of all devices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CapacityReport {
    /// Seconds until the memory budget is used up, by its trend.
    pub memory_full_in_seconds: Option<f64>,
    /// By device.
    pub devices: Vec<DeviceCapacity>,
}

/// The capacity of a device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceCapacity {
    /// Its name.
    pub device: String,
    /// Bytes of live buffers.
    pub memory_bytes: Option<f64>,
    /// The budget.
    pub memory_limit_bytes: Option<f64>,
    /// Live buffers.
    pub buffers: Option<f64>,
    /// Bytes of the pool that holders have.
    pub pool_used_bytes: Option<f64>,
    /// Bytes of the pool that are idle.
    pub pool_free_bytes: Option<f64>,
    /// Queues.
    pub streams: Option<f64>,
    /// Command buffers that the device has.
    pub in_flight: Option<f64>,
    /// Command buffers that wait for the device.
    pub waiting: Option<f64>,
    /// Dispatches so far.
    pub dispatches: Option<f64>,
    /// The median duration of timed dispatches, in seconds.
    pub dispatch_p50_seconds: Option<f64>,
    /// The 99th percentile of the same.
    pub dispatch_p99_seconds: Option<f64>,
    /// Seconds that command buffers took on the device so far, all together.
    pub busy_seconds: Option<f64>,
}

impl CapacityReport {
    /// The capacity by a monitor's last snapshot; `None`: it has not ticked.
    pub fn of(monitor: &Monitor) -> Option<Self> {
        let snapshot = monitor.last_snapshot()?;
        let full_in = monitor.series("memory").and_then(|ring| time_to(ring, 1.0));
        Some(Self::of_snapshot(snapshot, full_in))
    }

    /// The capacity by a snapshot, and the time until the memory is full if that is known.
    pub fn of_snapshot(snapshot: &Snapshot, memory_full_in: Option<Duration>) -> Self {
        let mut devices: Vec<&str> = Vec::new();
        for name in [names::STREAMS.name, names::MEMORY_LIMIT.name, names::SUBMISSIONS.name] {
            let series = snapshot.family(name).into_iter().flat_map(|family| &family.series);
            let labels = series.flat_map(|series| &series.labels);
            devices.extend(labels.filter(|(name, _)| name == "device").map(|(_, device)| device.as_str()));
        }
        devices.sort_unstable();
        devices.dedup();
        CapacityReport {
            memory_full_in_seconds: memory_full_in.map(|left| left.as_secs_f64()),
            devices: devices.into_iter().map(|device| DeviceCapacity::of(snapshot, device)).collect(),
        }
    }

    /// The report as JSON.
    pub fn to_json(&self) -> String {
        // Numbers, texts and lists of them have a form in JSON.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

impl DeviceCapacity {
    fn of(snapshot: &Snapshot, device: &str) -> Self {
        let of_device = [("device", device)];
        let sum = |name: &str| snapshot.sum(name, &of_device);
        let pool = |state| snapshot.sum(names::POOL_BYTES.name, &[("device", device), ("state", state)]);
        let dispatches = merged(snapshot, names::DISPATCH_DURATION.name, &of_device);
        let submissions = merged(snapshot, names::SUBMISSION_DURATION.name, &of_device);
        let quantile = |share| dispatches.as_ref().and_then(|all: &HistogramValue| all.quantile(share));
        DeviceCapacity {
            device: device.to_owned(),
            memory_bytes: sum(names::MEMORY_BYTES.name),
            memory_limit_bytes: sum(names::MEMORY_LIMIT.name),
            buffers: sum(names::BUFFERS.name),
            pool_used_bytes: pool("used"),
            pool_free_bytes: pool("free"),
            streams: sum(names::STREAMS.name),
            in_flight: sum(names::COMMAND_BUFFERS_IN_FLIGHT.name),
            waiting: sum(names::COMMAND_BUFFERS_WAITING.name),
            dispatches: sum(names::DISPATCHES.name),
            dispatch_p50_seconds: quantile(0.5),
            dispatch_p99_seconds: quantile(0.99),
            busy_seconds: submissions.map(|all| all.sum),
        }
    }
}

/// The histograms of those series as one; they have the same bounds.
fn merged(snapshot: &Snapshot, name: &str, labels: &[(&str, &str)]) -> Option<HistogramValue> {
    let mut merged: Option<HistogramValue> = None;
    for series in snapshot.series(name, labels) {
        let Value::Histogram(one) = &series.value else { continue };
        match &mut merged {
            None => merged = Some(one.clone()),
            Some(merged) => {
                merged.counts.iter_mut().zip(&one.counts).for_each(|(sum, count)| *sum += count);
                merged.sum += one.sum;
            }
        }
    }
    merged
}

impl fmt::Display for CapacityReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.memory_full_in_seconds {
            Some(seconds) => writeln!(formatter, "memory is full in {seconds:.0} s by its trend")?,
            None => writeln!(formatter, "memory does not fill up by its trend")?,
        }
        for device in &self.devices {
            writeln!(formatter, "{}", device.device)?;
            let rows = [
                ("memory, bytes", device.memory_bytes),
                ("memory limit, bytes", device.memory_limit_bytes),
                ("buffers", device.buffers),
                ("pool used, bytes", device.pool_used_bytes),
                ("pool free, bytes", device.pool_free_bytes),
                ("queues", device.streams),
                ("command buffers in flight", device.in_flight),
                ("command buffers waiting", device.waiting),
                ("dispatches", device.dispatches),
                ("busy, s", device.busy_seconds),
            ];
            for (name, value) in rows {
                match value {
                    Some(value) => writeln!(formatter, "  {name:<26} {value:>16}")?,
                    None => writeln!(formatter, "  {name:<26} {:>16}", "not known")?,
                }
            }
            if let (Some(p50), Some(p99)) = (device.dispatch_p50_seconds, device.dispatch_p99_seconds) {
                let (p50, p99) = (p50 * 1e6, p99 * 1e6);
                writeln!(formatter, "  dispatch, µs               {p50:>7.1} median, {p99:.1} p99")?;
            }
        }
        Ok(())
    }
}
