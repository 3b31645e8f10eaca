//! Profiling: the same work N times, and what its times say.
//!
//! Owns [`Profiler`], [`Profile`] and its statistics. Invariant: percentiles are of the samples themselves,
//! with no interpolation; every profile says whose clock measured it; warm-up rounds are run and not counted.
//! Rates come from work that the caller counted, never from a guess.

use std::fmt;
use std::time::Duration;

use crate::stream::Stream;
use crate::stream::context::Context;
use crate::submission::ExecError;
use crate::submission::command_buffer::CommandBuffer;

/// How often to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profiler {
    /// Rounds before the measured ones.
    pub warm_up: usize,
    /// Measured rounds, at least one.
    pub iterations: usize,
    /// What one round does, counted by the caller.
    pub work: CountedWork,
}

/// Work of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountedWork {
    /// Floating-point operations.
    pub flop: u64,
    /// Bytes read and written.
    pub bytes: u64,
}

/// Whose clock measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeSource {
    /// The device's: from the start of the first command to the end of the last.
    Device,
    /// The stream's clock on the host: from the commit to the end of the wait.
    Host,
}

/// The times of one kind of round.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Sorted.
    samples_ns: Vec<u64>,
    work: CountedWork,
    source: TimeSource,
}

impl Default for Profiler {
    fn default() -> Self {
        Profiler { warm_up: 3, iterations: 30, work: CountedWork::default() }
    }
}

impl Profiler {
    /// Runs the rounds one after the other; `encode` fills the command buffer of each.
    pub fn run(
        &self,
        stream: &Stream,
        mut encode: impl FnMut(&mut CommandBuffer) -> Result<(), ExecError>,
    ) -> Result<Profile, ExecError> {
        self.run_encoded(stream.context(), || {
            let mut command_buffer = stream.command_buffer()?;
            encode(&mut command_buffer)?;
            Ok(command_buffer)
        })
    }

    /// As [`Profiler::run`], with command buffers that `encode` makes, of a stream of that context.
    pub fn run_encoded<E: From<ExecError>>(
        &self,
        context: &Context,
        mut encode: impl FnMut() -> Result<CommandBuffer, E>,
    ) -> Result<Profile, E> {
        let by_device = context.device().capabilities().supports_timestamps;
        let source = if by_device { TimeSource::Device } else { TimeSource::Host };
        let mut samples_ns = Vec::with_capacity(self.iterations.max(1));
        for round in 0..self.warm_up + self.iterations.max(1) {
            let command_buffer = encode()?;
            let start = context.clock().now();
            let timing = command_buffer.commit().wait()?;
            let time = match source {
                TimeSource::Device => timing.device_time(),
                TimeSource::Host => context.clock().now().saturating_sub(start),
            };
            if round >= self.warm_up {
                samples_ns.push(time.as_nanos() as u64);
            }
        }
        Ok(Profile::new(samples_ns, self.work, source))
    }
}

impl Profile {
    /// The statistics of samples in nanoseconds; of none, all are zero.
    pub fn new(mut samples_ns: Vec<u64>, work: CountedWork, source: TimeSource) -> Self {
        samples_ns.sort_unstable();
        Profile { samples_ns, work, source }
    }

    /// The samples, sorted.
    pub fn samples_ns(&self) -> &[u64] {
        &self.samples_ns
    }

    /// Whose clock measured.
    pub fn source(&self) -> TimeSource {
        self.source
    }

    /// The least time that so many percent of the samples do not exceed: 0 is the fastest, 100 the slowest.
    pub fn percentile(&self, percent: f64) -> Duration {
        let rank = (percent.clamp(0.0, 100.0) / 100.0 * self.samples_ns.len() as f64).ceil() as usize;
        let sample = self.samples_ns.get(rank.saturating_sub(1));
        Duration::from_nanos(sample.copied().unwrap_or(0))
    }

    /// The middle sample.
    pub fn median(&self) -> Duration {
        self.percentile(50.0)
    }

    /// The mean.
    pub fn mean(&self) -> Duration {
        let sum: u128 = self.samples_ns.iter().map(|&sample| u128::from(sample)).sum();
        Duration::from_nanos((sum / self.samples_ns.len().max(1) as u128) as u64)
    }

    /// The standard deviation of the sample.
    pub fn deviation(&self) -> Duration {
        let mean = self.mean().as_nanos() as f64;
        let squares: f64 = self.samples_ns.iter().map(|&sample| (sample as f64 - mean).powi(2)).sum();
        let freedom = self.samples_ns.len().saturating_sub(1).max(1) as f64;
        Duration::from_nanos((squares / freedom).sqrt() as u64)
    }

    /// The samples more than one and a half interquartile ranges outside the quartiles (Tukey's fences).
    pub fn outliers(&self) -> Vec<Duration> {
        let (low, high) = (self.percentile(25.0), self.percentile(75.0));
        let fence = (high - low).mul_f64(1.5);
        let (low, high) = (low.saturating_sub(fence), high.saturating_add(fence));
        let samples = self.samples_ns.iter().map(|&sample| Duration::from_nanos(sample));
        samples.filter(|sample| *sample < low || *sample > high).collect()
    }

    /// 10⁹ floating-point operations per second at the median; `None` if none were counted or no time passed.
    pub fn gflops(&self) -> Option<f64> {
        self.rate(self.work.flop)
    }

    /// 10⁹ bytes per second at the median; `None` if none were counted or no time passed.
    pub fn gigabytes_per_second(&self) -> Option<f64> {
        self.rate(self.work.bytes)
    }

    /// Per nanosecond is 10⁹ per second.
    fn rate(&self, count: u64) -> Option<f64> {
        let nanoseconds = self.median().as_nanos() as f64;
        (count > 0 && nanoseconds > 0.0).then(|| count as f64 / nanoseconds)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |duration: Duration| duration.as_nanos() as f64 / 1e3;
        let [least, half, most] = [0.0, 50.0, 100.0].map(|percent| micros(self.percentile(percent)));
        let [p95, p99] = [95.0, 99.0].map(|percent| micros(self.percentile(percent)));
        let clock = match self.source {
            TimeSource::Device => "the device's clock",
            TimeSource::Host => "the host's clock",
        };
        write!(
            formatter,
            "{} rounds by {clock}: median {half:.1} us (least {least:.1}, p95 {p95:.1}, p99 {p99:.1}, most \
             {most:.1}, deviation {:.1}), {} outliers",
            self.samples_ns.len(),
            micros(self.deviation()),
            self.outliers().len()
        )?;
        if let Some(gflops) = self.gflops() {
            write!(formatter, ", {gflops:.2} GFLOP/s")?;
        }
        match self.gigabytes_per_second() {
            Some(rate) => write!(formatter, ", {rate:.2} GB/s"),
            None => Ok(()),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn profile(samples: Vec<u64>) -> Profile {
        let work = CountedWork { flop: 400, bytes: 100 };
        Profile::new(samples, work, TimeSource::Device)
    }

    #[test]
    fn percentiles_are_samples() {
        let profile = profile((1..=100).rev().collect());
        let percentiles =
            [0.0, 1.0, 50.0, 95.0, 99.0, 100.0].map(|percent| profile.percentile(percent).as_nanos());
        assert_eq!(percentiles, [1, 1, 50, 95, 99, 100]);
        assert_eq!((profile.mean().as_nanos(), profile.deviation().as_nanos()), (50, 29));
        assert_eq!((profile.gflops(), profile.gigabytes_per_second()), (Some(8.0), Some(2.0)));
        assert!(profile.outliers().is_empty());
    }

    #[test]
    fn outliers_are_told_and_do_not_move_the_median() {
        let mut samples = vec![100; 50];
        samples.extend([101; 49]);
        samples.push(90_000);
        let profile = profile(samples);
        assert_eq!(profile.outliers(), [Duration::from_nanos(90_000)]);
        assert_eq!(profile.median().as_nanos(), 100);
        let text = profile.to_string();
        assert!(
            text.starts_with("100 rounds by the device's clock: median 0.1 us")
                && text.contains("1 outliers")
        );
    }

    #[test]
    fn nothing_measured_is_nothing_claimed() {
        let profile = profile(Vec::new());
        assert_eq!((profile.median(), profile.deviation()), (Duration::ZERO, Duration::ZERO));
        assert_eq!((profile.gflops(), profile.outliers().len()), (None, 0));
    }
}
