//! Histograms with fixed buckets.
//!
//! Owns [`FixedHistogram`] and the bounds of the buckets. Invariant: recording takes no lock, and
//! allocates only when a thread first observes; memory does not grow with the number of observations.

use std::sync::atomic::{AtomicU64, Ordering};

use metrics::HistogramFn;

use crate::shards::Sharded;

/// Upper bounds of buckets of seconds: 250 ns to 100 s.
const SECONDS: &[f64] = &[
    2.5e-7, 5e-7, 1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2,
    2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0,
];

/// Upper bounds of buckets of bytes: 256 B to 64 GiB, by fours.
const BYTES: &[f64] = &[
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262144.0,
    1048576.0,
    4194304.0,
    16777216.0,
    67108864.0,
    268435456.0,
    1073741824.0,
    4294967296.0,
    17179869184.0,
    68719476736.0,
];

/// Upper bounds of buckets of counts.
const COUNTS: &[f64] = &[1.0, 2.0, 3.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 10000.0];

/// The bounds for a metric, by the unit at the end of its name.
pub fn bounds_of(name: &str) -> &'static [f64] {
    match name {
        name if name.ends_with("_seconds") => SECONDS,
        name if name.ends_with("_bytes") => BYTES,
        _ => COUNTS,
    }
}

/// The power of two that a positive number has, rounded down.
fn exponent(number: f64) -> i32 {
    (number.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

/// Observations, counted in buckets.
#[derive(Debug)]
pub struct FixedHistogram {
    bounds: &'static [f64],
    /// For each power of two from that of the first bound on: how many bounds are below it.
    below: Box<[usize]>,
    cells: Sharded<Cells>,
}

/// What some threads have observed.
#[derive(Debug)]
struct Cells {
    /// One more than bounds: the last is of what is above all.
    counts: Box<[AtomicU64]>,
    /// The bits of the sum.
    sum: AtomicU64,
}

impl Cells {
    fn new(bounds: &[f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Cells { counts, sum: AtomicU64::new(0f64.to_bits()) }
    }
}

/// A histogram at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct HistogramValue {
    /// The upper bounds, rising.
    pub bounds: Vec<f64>,
    /// How many observations are in each bucket and in no one before; one more than bounds.
    pub counts: Vec<u64>,
    /// The sum of all observations.
    pub sum: f64,
}

impl FixedHistogram {
    /// No observations.
    pub fn new(bounds: &'static [f64]) -> Self {
        let exponents = bounds.first().zip(bounds.last()).map(|(low, high)| exponent(*low)..=exponent(*high));
        let count_below = |power: i32| bounds.partition_point(|bound| *bound < 2f64.powi(power));
        let below = exponents.into_iter().flatten().map(count_below).collect();
        FixedHistogram { bounds, below, cells: Sharded::new(|| Cells::new(bounds)) }
    }

    /// The first bucket whose bound is not below the value. Within a power of two there are few bounds, and
    /// times of one kind are in the same ones: walking them is faster than a search.
    fn bucket(&self, value: f64) -> usize {
        let Some(first) = self.bounds.first().filter(|first| value > **first) else { return 0 };
        let power = (exponent(value) - exponent(*first)) as usize;
        let mut bucket = self.below[power.min(self.below.len() - 1)];
        while self.bounds.get(bucket).is_some_and(|bound| *bound < value) {
            bucket += 1;
        }
        bucket
    }

    /// What it holds.
    pub fn value(&self) -> HistogramValue {
        let (mut counts, mut sum) = (vec![0u64; self.bounds.len() + 1], 0.0);
        for cells in self.cells.all() {
            for (count, more) in counts.iter_mut().zip(&cells.counts) {
                *count = count.wrapping_add(more.load(Ordering::Relaxed));
            }
            sum += f64::from_bits(cells.sum.load(Ordering::Relaxed));
        }
        HistogramValue { bounds: self.bounds.to_vec(), counts, sum }
    }

    fn add(&self, value: f64, times: u64) {
        // Not a number is in no bucket, and would spoil the sum.
        if value.is_nan() {
            return;
        }
        let bucket = self.bucket(value);
        let (cells, adding) = self.cells.mine(|| Cells::new(self.bounds));
        adding.count(&cells.counts[bucket], times);
        adding.sum(&cells.sum, value * times as f64);
    }
}

impl HistogramFn for FixedHistogram {
    fn record(&self, value: f64) {
        self.add(value, 1);
    }

    fn record_many(&self, value: f64, count: usize) {
        self.add(value, count as u64);
    }
}

impl HistogramValue {
    /// How many observations there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The value below which that share of the observations lies, interpolated within its bucket; `None`: no
    /// observations. Of the bucket above all bounds the answer is the last bound.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 || self.bounds.is_empty() {
            return None;
        }
        let rank = share.clamp(0.0, 1.0) * count as f64;
        let (mut below, mut lower) = (0u64, 0.0);
        for (&bound, &inside) in self.bounds.iter().zip(&self.counts) {
            let up_to = below + inside;
            if inside > 0 && up_to as f64 >= rank {
                return Some(
                    lower + (bound - lower) * ((rank - below as f64) / inside as f64).clamp(0.0, 1.0),
                );
            }
            (below, lower) = (up_to, bound);
        }
        self.bounds.last().copied()
    }

    /// The mean; `None`: no observations.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observations_are_in_the_first_bucket_whose_bound_is_not_below_them() {
        let histogram = FixedHistogram::new(&[1.0, 2.0]);
        for value in [0.5, 1.0, 1.5, 2.0, 9.0, f64::NAN] {
            histogram.record(value);
        }
        histogram.record_many(1.5, 2);
        let value = histogram.value();
        assert_eq!((value.counts.as_slice(), value.sum), (&[2, 4, 1][..], 17.0));
        assert_eq!((value.count(), value.mean()), (7, Some(17.0 / 7.0)));
    }

    #[test]
    fn every_value_is_in_the_bucket_that_a_search_finds() {
        for bounds in [SECONDS, BYTES, COUNTS, &[]] {
            let histogram = FixedHistogram::new(bounds);
            let near = |bound: f64| [bound.next_down(), bound, bound.next_up(), 1.3 * bound, 0.7 * bound];
            let odd = [0.0, -1.0, f64::MIN_POSITIVE / 2.0, 1e300, f64::INFINITY, f64::NEG_INFINITY];
            for value in bounds.iter().flat_map(|bound| near(*bound)).chain(odd) {
                let expected = bounds.partition_point(|bound| *bound < value);
                assert_eq!(histogram.bucket(value), expected, "{value}");
            }
        }
    }

    #[test]
    fn quantiles_are_interpolated_and_end_at_the_last_bound() {
        let histogram = FixedHistogram::new(&[1.0, 3.0]);
        assert_eq!(histogram.value().quantile(0.5), None);
        (0..4).for_each(|_| histogram.record(2.0));
        assert_eq!(histogram.value().quantile(0.5), Some(2.0));
        histogram.record_many(100.0, 96);
        assert_eq!(histogram.value().quantile(0.99), Some(3.0));
    }

    #[test]
    fn bounds_rise() {
        for bounds in [SECONDS, BYTES, COUNTS] {
            assert!(bounds.is_sorted_by(|one, next| one < next));
        }
    }
}
