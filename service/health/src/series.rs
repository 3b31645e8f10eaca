//! The last values of a check.
//!
//! Owns [`Ring`]. Invariant: it holds a fixed number of values; times do not fall.

use std::collections::VecDeque;
use std::time::Duration;

/// Values with their times, the oldest first; a new one pushes the oldest out.
#[derive(Debug, Clone)]
pub struct Ring {
    capacity: usize,
    points: VecDeque<(Duration, f64)>,
}

impl Ring {
    /// Room for `capacity` values, at least one.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Ring { capacity, points: VecDeque::with_capacity(capacity) }
    }

    /// Adds a value. One that is not finite, or from before the last, is left out.
    pub fn push(&mut self, at: Duration, value: f64) {
        if !value.is_finite() || self.points.back().is_some_and(|(last, _)| *last > at) {
            return;
        }
        if self.points.len() == self.capacity {
            self.points.pop_front();
        }
        self.points.push_back((at, value));
    }

    /// The values with their times, the oldest first.
    pub fn points(&self) -> impl ExactSizeIterator<Item = (Duration, f64)> + '_ {
        self.points.iter().copied()
    }

    /// The values, the oldest first.
    pub fn values(&self) -> Vec<f64> {
        self.points.iter().map(|(_, value)| *value).collect()
    }

    /// The last value.
    pub fn last(&self) -> Option<f64> {
        self.points.back().map(|(_, value)| *value)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_and_what_makes_no_sense_is_left_out() {
        let mut ring = Ring::new(2);
        for (at, value) in [(1, 1.0), (2, f64::NAN), (2, 2.0), (1, 9.0), (3, 3.0)] {
            ring.push(Duration::from_secs(at), value);
        }
        assert_eq!((ring.values(), ring.last()), (vec![2.0, 3.0], Some(3.0)));
    }
}
