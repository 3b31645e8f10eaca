//! The order in which threadgroups and SIMD-groups run.
//!
//! Owns [`Schedule`]. Invariant: a schedule depends on its seed alone, so that a run can be repeated.

/// The order of a run. Every order is one that a device may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Schedule {
    /// Threadgroups x fastest, one after the other; each SIMD-group as far as it goes.
    #[default]
    InOrder,
    /// Threadgroups and SIMD-groups in another order, SIMD-groups interrupted at accesses to memory, and of
    /// lanes that write one address at once another one wins.
    Shuffled {
        /// Equal seeds give equal orders.
        seed: u64,
    },
}

/// SplitMix64.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}

/// The turns of the SIMD-groups of a threadgroup.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turns {
    InOrder,
    Random(Random),
}

impl Turns {
    pub(crate) fn new(schedule: Schedule) -> Self {
        match schedule {
            Schedule::InOrder => Self::InOrder,
            Schedule::Shuffled { seed } => Self::Random(Random::new(seed)),
        }
    }

    /// The order of the next round.
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        if let Self::Random(random) = self {
            for last in (1..count).rev() {
                order.swap(last, random.below(last as u64 + 1) as usize);
            }
        }
        order
    }

    /// How many loop iterations, and accesses to memory if that is another order, the next turn has.
    pub(crate) fn length(&mut self, in_order: u32) -> u32 {
        match self {
            Self::InOrder => in_order,
            Self::Random(random) => 1 + random.below(40) as u32,
        }
    }

    /// The order in which the lanes of one instruction write: 0 is ascending, see `machine/memory.rs`.
    pub(crate) fn lane_order(&mut self) -> u32 {
        match self {
            Self::InOrder => 0,
            Self::Random(random) => random.below(32) as u32,
        }
    }

    pub(crate) fn interrupts_accesses(&self) -> bool {
        matches!(self, Self::Random(_))
    }
}

/// A permutation of `0..count` that takes no memory: `n -> a n + b`, with `a` coprime to `count`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    count: u64,
    factor: u64,
    first: u64,
}

impl Permutation {
    pub(crate) fn new(schedule: Schedule, count: u64) -> Self {
        let Schedule::Shuffled { seed } = schedule else {
            // Every other schedule starts threadgroups in order.
            return Self { count, factor: 1, first: 0 };
        };
        let mut random = Random::new(seed ^ 0x6772_6f75_7073);
        let first = random.below(count);
        let mut factor = random.below(count).max(1);
        while gcd(factor, count) > 1 {
            factor = if factor + 1 < count { factor + 1 } else { 1 };
        }
        Self { count, factor, first }
    }

    pub(crate) fn at(&self, n: u64) -> u64 {
        let product = u128::from(n) * u128::from(self.factor) + u128::from(self.first);
        (product % u128::from(self.count.max(1))) as u64
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_reach_everything_once() {
        for count in [1, 2, 6, 7, 12, 97, 100] {
            for seed in 0..10 {
                let order = Permutation::new(Schedule::Shuffled { seed }, count);
                let mut seen: Vec<u64> = (0..count).map(|n| order.at(n)).collect();
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..count), "{count} with seed {seed}");
            }
        }
    }
}
