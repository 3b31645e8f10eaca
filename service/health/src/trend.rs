//! Trends: how fast a series rises, and when it reaches a limit.
//!
//! Owns [`Trend`], the Theil–Sen estimator: the median of the slopes between all pairs of points (Sen, 1968).
//! Up to 29 % of the points may be outliers without moving it far.

use std::time::Duration;

use serde::Serialize;

use crate::anomaly::median;

/// More points are thinned out evenly: the number of slopes is quadratic.
const MAX_POINTS: usize = 128;
/// Fewer points tell nothing.
const MIN_POINTS: usize = 8;

/// A line through a series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Trend {
    /// By how much it rises per second.
    pub per_second: f64,
    /// Its value at the series' last point.
    pub now: f64,
    /// The median distance of points from it.
    pub spread: f64,
}

impl Trend {
    /// The line through those points; `None`: there are too few, or all are at one time.
    pub fn of(points: impl ExactSizeIterator<Item = (Duration, f64)>) -> Option<Self> {
        let step = points.len().div_ceil(MAX_POINTS).max(1);
        let all = points.len();
        // The last one is always among them.
        let kept = points.enumerate().filter(|(place, _)| (all - 1 - place).is_multiple_of(step));
        let points: Vec<(f64, f64)> = kept.map(|(_, (at, value))| (at.as_secs_f64(), value)).collect();
        if points.len() < MIN_POINTS {
            return None;
        }
        let mut slopes = Vec::with_capacity(points.len() * points.len() / 2);
        for (place, one) in points.iter().enumerate() {
            let later = &points[place + 1..];
            let slope = |other: &(f64, f64)| (other.1 - one.1) / (other.0 - one.0);
            slopes.extend(later.iter().map(slope).filter(|slope| slope.is_finite()));
        }
        let per_second = median(&slopes)?;
        let end = points.last()?.0;
        let at_end: Vec<f64> = points.iter().map(|(at, value)| value + per_second * (end - at)).collect();
        let now = median(&at_end)?;
        let distances: Vec<f64> = at_end.iter().map(|value| (value - now).abs()).collect();
        Some(Trend { per_second, now, spread: median(&distances)? })
    }

    /// How long until it reaches a limit above; `None`: it does not rise, or not beyond its own noise within
    /// `observed`, the time that the points span. Zero: it is there.
    pub fn time_to(&self, limit: f64, observed: Duration) -> Option<Duration> {
        if self.now >= limit {
            return Some(Duration::ZERO);
        }
        let rise = self.per_second * observed.as_secs_f64();
        if rise.is_nan() || rise <= 0.0 || rise <= 2.0 * self.spread {
            return None;
        }
        Duration::try_from_secs_f64((limit - self.now) / self.per_second).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: impl Fn(u32) -> f64, count: u32) -> Vec<(Duration, f64)> {
        (0..count).map(|n| (Duration::from_secs(u64::from(n)), values(n))).collect()
    }

    fn trend(values: impl Fn(u32) -> f64, count: u32) -> Option<Trend> {
        Trend::of(points(values, count).into_iter())
    }

    #[test]
    fn a_line_is_found_through_noise_and_outliers() {
        let noisy = |n: u32| {
            5.0 + 2.0 * f64::from(n) + f64::from(n % 3) + if n.is_multiple_of(10) { 500.0 } else { 0.0 }
        };
        let trend = trend(noisy, 300).unwrap();
        assert!((trend.per_second - 2.0).abs() < 0.05, "{trend:?}");
        let full = trend.time_to(5.0 + 2.0 * 400.0, Duration::from_secs(300)).unwrap();
        assert!((full.as_secs_f64() - 100.0).abs() < 5.0, "{full:?}");
    }

    #[test]
    fn what_does_not_rise_beyond_its_noise_never_reaches_a_limit() {
        let observed = Duration::from_secs(100);
        assert_eq!(trend(|n| f64::from(n % 7), 100).unwrap().time_to(100.0, observed), None);
        assert_eq!(trend(|n| 100.0 - f64::from(n), 100).unwrap().time_to(200.0, observed), None);
        assert_eq!(trend(f64::from, 100).unwrap().time_to(50.0, observed), Some(Duration::ZERO));
        assert_eq!(trend(f64::from, 5), None);
        assert_eq!(Trend::of(vec![(Duration::ZERO, 1.0); 20].into_iter()), None);
    }
}
