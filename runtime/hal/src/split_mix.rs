//! Reproducible random numbers: SplitMix64, by its published constants.
//!
//! Owns [`SplitMix64`] and [`finalise`]. Invariant: the numbers of a seed never change, on any
//! machine, since fault plans and jitter are repeated by their seed.

/// The step of the generator's state: 2^64 divided by the golden ratio, made odd.
pub const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes the bits of a state into a random number.
pub const fn finalise(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// A sequence of random numbers from a seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The sequence of that seed.
    pub const fn new(seed: u64) -> Self {
        SplitMix64 { state: seed }
    }

    /// The next number.
    pub const fn next_number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        finalise(self.state)
    }

    /// The next number, from 0 to `largest`, both included; each is as likely as any other up to
    /// 2^-64.
    pub const fn next_up_to(&mut self, largest: u64) -> u64 {
        ((self.next_number() as u128 * (largest as u128 + 1)) >> 64) as u64
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one_and_ranges_are_kept() {
        let mut numbers = SplitMix64::new(1_234_567);
        assert_eq!(numbers.next_number(), 6_457_827_717_110_365_317);
        assert_eq!(numbers.next_number(), 3_203_168_211_198_807_973);
        let drawn: Vec<_> = (0..100).map(|_| numbers.next_up_to(3)).collect();
        assert!((0..=3).all(|number| drawn.contains(&number)) && drawn.iter().all(|drawn| *drawn <= 3));
        assert_eq!(numbers.next_up_to(0), 0);
    }
}
