//! Times added up by name, in the columns of `nsys stats`' `cuda_gpu_kern_sum`.

use std::collections::BTreeMap;

use anymetal::profile::{CountedWork, Profile};
use serde::Serialize;

use super::recorded::{Recorded, Work};

/// One name's times, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    pub(super) name: String,
    /// Of the time of all rows.
    pub(super) time_percent: f64,
    pub(super) total_ns: u64,
    pub(super) instances: usize,
    pub(super) avg_ns: f64,
    pub(super) med_ns: u64,
    pub(super) min_ns: u64,
    pub(super) max_ns: u64,
    pub(super) stddev_ns: u64,
    pub(super) p95_ns: u64,
    pub(super) p99_ns: u64,
    /// Of the counted work, over the time of the runs that it is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gflop_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gigabytes_per_second: Option<f64>,
}

/// The times of each name, sorted, with their statistics.
pub(super) fn profiles(recorded: &Recorded) -> BTreeMap<&str, Profile> {
    let mut samples: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for slice in &recorded.slices {
        samples.entry(&slice.name).or_default().push(slice.duration_ns);
    }
    let profile = |samples| Profile::new(samples, CountedWork::default(), recorded.source());
    samples.into_iter().map(|(name, samples)| (name, profile(samples))).collect()
}

/// Failures that a report names; more are counted.
const NAMED_FAILURES: usize = 20;

/// What failed, each text once with how often, the most frequent first; what is beyond the first is counted.
pub(super) fn failures(recorded: &Recorded) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    recorded.failures.iter().for_each(|failure| *counts.entry(failure).or_default() += 1);
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let (named, others) = counts.split_at(counts.len().min(NAMED_FAILURES));
    let told = |&(failure, count): &(&str, usize)| match count {
        1 => failure.to_owned(),
        _ => format!("{failure} ({count} times)"),
    };
    let rest: usize = others.iter().map(|(_, count)| count).sum();
    let rest = (rest > 0).then(|| format!("and {rest} more"));
    named.iter().map(told).chain(rest).collect()
}

/// The counted work of each name's runs, and their time in nanoseconds.
pub(super) fn counted(recorded: &Recorded) -> BTreeMap<&str, (Work, u64)> {
    let mut counted: BTreeMap<&str, (Work, u64)> = BTreeMap::new();
    for slice in &recorded.slices {
        let Some(work) = slice.work.as_ref().or_else(|| recorded.work.get(&slice.name)) else { continue };
        let (sum, time) = counted.entry(&slice.name).or_insert((Work { flop: 0.0, bytes: 0.0 }, 0));
        sum.flop += work.flop;
        sum.bytes += work.bytes;
        *time = time.saturating_add(slice.duration_ns);
    }
    counted
}

/// How long a device had work, of the time from the first start to the last end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Utilisation {
    pub(super) busy_ns: u64,
    pub(super) span_ns: u64,
}

impl Utilisation {
    /// In percent; 100 of no time.
    pub(super) fn percent(self) -> f64 {
        if self.span_ns == 0 { 100.0 } else { 100.0 * self.busy_ns as f64 / self.span_ns as f64 }
    }
}

/// Work of several queues at one time counts once. `None`: there was none.
pub(super) fn utilisation(recorded: &Recorded) -> Option<Utilisation> {
    let end = |start: u64, duration: u64| start.saturating_add(duration);
    let mut intervals: Vec<(u64, u64)> = recorded
        .slices
        .iter()
        .map(|slice| (slice.start_ns, end(slice.start_ns, slice.duration_ns)))
        .collect();
    intervals.sort_unstable();
    let &(first, _) = intervals.first()?;
    let (mut busy_ns, mut covered) = (0, first);
    for (start, end) in intervals {
        busy_ns += end.saturating_sub(start.max(covered));
        covered = covered.max(end);
    }
    Some(Utilisation { busy_ns, span_ns: covered - first })
}

/// The longest in all first.
pub(super) fn rows(recorded: &Recorded) -> Vec<Row> {
    let (profiles, counted) = (profiles(recorded), counted(recorded));
    // Per nanosecond is 10⁹ per second.
    let rate = |name: &str, of: fn(&Work) -> f64| {
        let (work, time) = counted.get(name)?;
        (of(work) > 0.0 && *time > 0).then(|| of(work) / *time as f64)
    };
    let total =
        |profile: &Profile| profile.samples_ns().iter().fold(0u64, |sum, one| sum.saturating_add(*one));
    let all: u64 = profiles.values().map(total).fold(0, u64::saturating_add);
    let row = |(name, profile): (&str, Profile)| {
        let (total_ns, instances) = (total(&profile), profile.samples_ns().len());
        let nanoseconds = |percent| profile.percentile(percent).as_nanos() as u64;
        Row {
            name: name.to_owned(),
            time_percent: if all == 0 { 0.0 } else { 100.0 * total_ns as f64 / all as f64 },
            total_ns,
            instances,
            avg_ns: total_ns as f64 / instances.max(1) as f64,
            med_ns: nanoseconds(50.0),
            min_ns: nanoseconds(0.0),
            max_ns: nanoseconds(100.0),
            stddev_ns: profile.deviation().as_nanos() as u64,
            p95_ns: nanoseconds(95.0),
            p99_ns: nanoseconds(99.0),
            gflop_per_second: rate(name, |work| work.flop),
            gigabytes_per_second: rate(name, |work| work.bytes),
        }
    };
    let mut rows: Vec<Row> = profiles.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    rows
}
