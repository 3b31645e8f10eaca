//! Inputs: reproducible pseudo-random elements.

use crate::data::{Data, Dtype};

/// A stream of pseudo-random numbers (xorshift64*).
#[derive(Clone, Debug)]
pub struct Inputs {
    state: u64,
}

impl Inputs {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    /// The stream of a text.
    pub fn named(name: &str) -> Self {
        Self::new(name.bytes().fold(7, |hash: u64, byte| hash.wrapping_mul(31).wrapping_add(byte.into())))
    }

    /// The next word.
    pub fn word(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.word() >> 16) as usize % bound.max(1)
    }

    /// A number between two, rounded to nothing in particular.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.word() >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// Numbers between two bounds, in a type; for integer types they are whole.
    pub fn numbers(&mut self, dtype: Dtype, count: usize, low: f64, high: f64) -> Data {
        let low = if dtype.is_float() || dtype.0.is_signed() { low } else { low.max(0.0) };
        Data::from_numbers(dtype, (0..count).map(|_| self.between(low, high)))
    }

    /// Any values of an integer type.
    pub fn integers(&mut self, dtype: Dtype, count: usize) -> Data {
        Data::from_integers(dtype, (0..count).map(|_| i128::from(self.word())))
    }

    /// Integers of an integer type between 0 and `bound`, exclusive.
    pub fn indices(&mut self, dtype: Dtype, count: usize, bound: usize) -> Data {
        Data::from_integers(dtype, (0..count).map(|_| self.below(bound) as i128))
    }

    /// A random order of the numbers below `count`.
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }
}
