//! Times of repeated launches.

use std::time::Duration;

use serde_json::{Value, json};

/// How long launches took, as the host and as the device saw it.
#[derive(Debug, Default)]
pub(crate) struct Times {
    host: Vec<Duration>,
    device: Vec<Duration>,
}

impl Times {
    /// Adds a launch.
    pub(crate) fn push(&mut self, host: Duration, device: Duration) {
        self.host.push(host);
        self.device.push(device);
    }

    /// Minimum, median and 95th percentile from submission to the end of the wait.
    pub(crate) fn to_json(&self) -> Value {
        let [min, median, p95] = statistics(&self.host).map(|time| time.as_nanos() as u64);
        json!({ "min": min, "median": median, "p95": p95 })
    }

    /// The median by the device's clock.
    pub(crate) fn device_median_ns(&self) -> u64 {
        statistics(&self.device)[1].as_nanos() as u64
    }

    /// For people.
    pub(crate) fn to_text(&self) -> String {
        let [min, median, p95] = statistics(&self.host);
        match self.host.len() {
            1 => format!("{median:.1?}"),
            runs => format!("median {median:.1?} of {runs} runs (min {min:.1?}, p95 {p95:.1?})"),
        }
    }
}

/// Minimum, median and 95th percentile; each is a time that was measured.
fn statistics(times: &[Duration]) -> [Duration; 3] {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    // The nearest rank: the smallest time that at least that share of the launches did not exceed.
    let at = |percent: usize| {
        let rank = (sorted.len() * percent).div_ceil(100).max(1) - 1;
        sorted.get(rank).copied().unwrap_or_default()
    };
    [at(0), at(50), at(95)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_times() {
        let times: Vec<Duration> = (1..=100).rev().map(Duration::from_nanos).collect();
        assert_eq!(statistics(&times).map(|time| time.as_nanos()), [1, 50, 95]);
        assert_eq!(statistics(&times[..1]).map(|time| time.as_nanos()), [100; 3]);
        assert_eq!(statistics(&[]), [Duration::ZERO; 3]);
    }
}
