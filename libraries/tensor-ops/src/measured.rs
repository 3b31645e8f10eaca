//! The device time of calls: for metrics, and for profiles.
//!
//! Owns [`CallTimes`], [`OpProfile`]. A call's pieces are those that its thread has handed over since it
//! counted a call before; nothing is kept while nobody listens. Invariant: a time is the device's own, of
//! work that ended well, or the host's, of what a library there has done; rates are counted work over it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use anymetal::Submission;
use anymetal::profile::CountedWork;
use anymetal::telemetry::{OperationMetrics, metrics_on};

use crate::context::Ops;
use crate::counted::{CallRecord, Path};
use crate::error::OpError;

/// The most calls of a profile; those that follow are left out, and counted.
const MAX_CALLS: usize = 1 << 16;
/// Submissions of calls that were not counted yet; older ones are let go.
const MAX_MADE: usize = 1024;

/// What listens to the times of a context's calls.
#[derive(Default)]
pub(crate) struct CallTimes {
    made: Mutex<Vec<(ThreadId, Piece)>>,
    /// Profiles that are being taken.
    open: AtomicUsize,
    profiled: Mutex<Profiled>,
}

#[derive(Default)]
struct Profiled {
    calls: Vec<(CallRecord, Vec<Piece>)>,
    left_out: usize,
}

/// A piece of a call's work.
#[derive(Clone)]
pub(crate) enum Piece {
    Submission(Submission),
    /// Done by a library on the host, in so many nanoseconds.
    Host(u64),
}

/// A profile that is being taken.
struct Open<'a>(&'a CallTimes);

/// A call with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredCall {
    /// The call, with its counted work. A replay of a recording is one, named `replay`.
    pub record: CallRecord,
    /// When its first command started, by the device's clock; of what a library on the host did, the end of
    /// the call before.
    pub started_ns: u64,
    /// The device time of all that it led to, with the host's time of a library there.
    pub device_ns: u64,
}

/// What the calls of an operation by one path took together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpTotal {
    /// The operation.
    pub operation: &'static str,
    /// Who did it.
    pub path: Path,
    /// How many calls they were.
    pub calls: usize,
    /// Their device time.
    pub device_ns: u64,
    /// Their work.
    pub work: CountedWork,
}

/// The calls of a piece of a program, with their device times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpProfile {
    /// In their order.
    pub calls: Vec<MeasuredCall>,
    /// Calls that were too many to keep.
    pub left_out: usize,
    device: String,
}

impl CallTimes {
    fn is_on(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0 || metrics_on()
    }

    /// Notes what a call has handed to the device.
    pub(crate) fn made(&self, submission: &Submission) {
        self.add(|| Piece::Submission(submission.clone()));
    }

    /// Notes what a call has had done on the host.
    pub(crate) fn made_on_host(&self, time: Duration) {
        self.add(|| Piece::Host(time.as_nanos() as u64));
    }

    fn add(&self, piece: impl FnOnce() -> Piece) {
        if self.is_on() {
            let mut made = lock(&self.made);
            if made.len() == MAX_MADE {
                made.remove(0);
            }
            made.push((std::thread::current().id(), piece()));
        }
    }

    /// What this thread has handed over and no call has counted.
    pub(crate) fn take(&self) -> Vec<Piece> {
        let mut made = lock(&self.made);
        if made.is_empty() {
            return Vec::new();
        }
        let own = std::thread::current().id();
        made.extract_if(.., |(thread, _)| *thread == own).map(|(_, piece)| piece).collect()
    }

    /// Leaves to a later call what [`CallTimes::take`] gave.
    pub(crate) fn give_back(&self, pieces: Vec<Piece>) {
        let own = std::thread::current().id();
        lock(&self.made).extend(pieces.into_iter().map(|piece| (own, piece)));
    }

    /// A call of that work is all that was handed over.
    pub(crate) fn counted(&self, record: CallRecord, pieces: Vec<Piece>, metrics: Option<OperationMetrics>) {
        if self.open.load(Ordering::Relaxed) > 0 {
            let mut profiled = lock(&self.profiled);
            match profiled.calls.len() < MAX_CALLS {
                true => profiled.calls.push((record, pieces.clone())),
                false => profiled.left_out += 1,
            }
        }
        let Some(metrics) = metrics.filter(|_| !pieces.is_empty()) else { return };
        let (mut host, mut earlier) = (0u64, Vec::new());
        for piece in pieces {
            match piece {
                Piece::Submission(submission) => earlier.push(submission),
                Piece::Host(nanoseconds) => host += nanoseconds,
            }
        }
        let Some(last) = earlier.pop() else { return metrics.took(host) };
        // Those of one queue end in their order.
        last.on_done(move |outcome| {
            let ends = earlier.iter().map(Submission::outcome).chain([Some(outcome.clone())]);
            let times = ends.map(|end| Some(end?.ok()?.device_time().as_nanos() as u64));
            if let Some(nanoseconds) = times.sum::<Option<u64>>() {
                metrics.took(host + nanoseconds);
            }
        });
    }

    fn open(&self) -> (Open<'_>, usize) {
        self.open.fetch_add(1, Ordering::Relaxed);
        drop(self.take());
        (Open(self), lock(&self.profiled).calls.len())
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.0.open.fetch_sub(1, Ordering::Relaxed) == 1 {
            *lock(&self.0.profiled) = Profiled::default();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ops {
    /// Runs a piece of a program, waits for its work, and gives the device time of each call in it, which is
    /// what the context and its clones are called with meanwhile.
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal_tensor_ops::OpError> {
    /// # let ops = anymetal_tensor_ops::Ops::new(&anymetal::Device::system_default()?)?;
    /// let x = ops.ones(&[256, 256], anymetal_tensor_ops::DType::F32)?;
    /// let (_y, profile) = ops.profile(|ops| ops.exp(&ops.matmul(&x, &x)?))?;
    /// println!("{profile}"); // calls, device time, GFLOP/s and GB/s of each operation
    /// assert_eq!(profile.totals().len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn profile<T>(
        &self,
        run: impl FnOnce(&Ops) -> Result<T, OpError>,
    ) -> Result<(T, OpProfile), OpError> {
        self.wait()?;
        let times = self.call_times();
        let (open, first) = times.open();
        let made = run(self)?;
        self.wait()?;
        let profiled = lock(&times.profiled);
        let mut calls: Vec<MeasuredCall> = Vec::new();
        for (record, pieces) in &profiled.calls[first..] {
            let before = calls.last().map(|call| call.started_ns + call.device_ns);
            calls.extend(measured(*record, pieces, before));
        }
        // Those on the host before the first of the device.
        for at in (1..calls.len()).rev() {
            if calls[at - 1].started_ns == 0 {
                calls[at - 1].started_ns = calls[at].started_ns.saturating_sub(calls[at - 1].device_ns);
            }
        }
        let left_out = profiled.left_out;
        drop(profiled);
        drop(open);
        Ok((made, OpProfile { calls, left_out, device: self.device().name().to_owned() }))
    }
}

/// None if it did nothing, or that failed. `before` is when the call before ended.
fn measured(record: CallRecord, pieces: &[Piece], before: Option<u64>) -> Option<MeasuredCall> {
    let (mut started_ns, mut device_ns) = (None, 0);
    for piece in pieces {
        match piece {
            Piece::Submission(submission) => {
                let timing = submission.outcome()?.ok()?;
                started_ns = Some(started_ns.map_or(timing.started_ns, |at: u64| at.min(timing.started_ns)));
                device_ns += timing.device_time().as_nanos() as u64;
            }
            Piece::Host(nanoseconds) => device_ns += nanoseconds,
        }
    }
    let started_ns = started_ns.or(before).unwrap_or(0);
    (!pieces.is_empty()).then_some(MeasuredCall { record, started_ns, device_ns })
}

impl OpTotal {
    /// 10⁹ arithmetic operations per second; none if none were counted or no time passed.
    pub fn gflops(&self) -> Option<f64> {
        self.rate(self.work.flop)
    }

    /// 10⁹ bytes per second; none if none were counted or no time passed.
    pub fn gigabytes_per_second(&self) -> Option<f64> {
        self.rate(self.work.bytes)
    }

    fn rate(&self, count: u64) -> Option<f64> {
        (count > 0 && self.device_ns > 0).then(|| count as f64 / self.device_ns as f64)
    }
}

impl OpProfile {
    /// The calls added up by operation and path, what took longest first.
    pub fn totals(&self) -> Vec<OpTotal> {
        let mut totals = BTreeMap::<(&'static str, Path), OpTotal>::new();
        for MeasuredCall { record, device_ns, .. } in &self.calls {
            let CallRecord { operation, path, work } = *record;
            let none = OpTotal { operation, path, calls: 0, device_ns: 0, work: CountedWork::default() };
            let total = totals.entry((operation, path)).or_insert(none);
            total.calls += 1;
            total.device_ns += device_ns;
            total.work.flop = total.work.flop.saturating_add(work.flop);
            total.work.bytes = total.work.bytes.saturating_add(work.bytes);
        }
        let mut totals: Vec<OpTotal> = totals.into_values().collect();
        totals.sort_by_key(|total| std::cmp::Reverse(total.device_ns));
        totals
    }

    /// The profile as a saved report, which `anymetal report` shows as a table, as CSV, or as HTML with
    /// figures: its text is JSON.
    pub fn to_report(&self, title: &str) -> String {
        let first = self.calls.iter().map(|call| call.started_ns).min().unwrap_or(0);
        let slice = |call: &MeasuredCall| {
            let CallRecord { operation, path, work } = call.record;
            let vendor = if path == Path::Vendor { " (vendor)" } else { "" };
            format!(
                "{{\"queue\":0,\"name\":\"{operation}{vendor}\",\"start_ns\":{},\"duration_ns\":{},\
                 \"work\":{{\"flop\":{},\"bytes\":{}}}}}",
                call.started_ns.saturating_sub(first),
                call.device_ns,
                work.flop,
                work.bytes
            )
        };
        let slices: Vec<String> = self.calls.iter().map(slice).collect();
        format!(
            "{{\"schema\":1,\"title\":{},\"device\":{},\"clock\":\"device\",\"left_out\":{},\"slices\":[\n{}\n]}}\n",
            quoted(title),
            quoted(&self.device),
            self.left_out,
            slices.join(",\n")
        )
    }
}

/// A string of JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if u32::from(control) < 0x20 => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

impl fmt::Display for OpProfile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{:<28}{:>8}{:>8}{:>14}{:>12}{:>10}",
            "operation", "path", "calls", "device us", "GFLOP/s", "GB/s"
        )?;
        let rate = |rate: Option<f64>| rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.2}"));
        for total in self.totals() {
            let path = if total.path == Path::Vendor { "vendor" } else { "own" };
            writeln!(
                formatter,
                "{:<28}{path:>8}{:>8}{:>14.1}{:>12}{:>10}",
                total.operation,
                total.calls,
                total.device_ns as f64 / 1e3,
                rate(total.gflops()),
                rate(total.gigabytes_per_second())
            )?;
        }
        if self.left_out > 0 {
            writeln!(formatter, "{} calls were too many to keep", self.left_out)?;
        }
        Ok(())
    }
}
