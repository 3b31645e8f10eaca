//! The working set: how many bytes all pools of a device may hold together, and what happens when they run
//! out.
//!
//! Owns [`Budget`], its [`Reservation`]s and [`Pressure`]. A reservation that does not fit first makes every
//! pool give up idle blocks; only if that is not enough is it refused. (Waiting for memory that submitted
//! work still uses is the pool's part: [`crate::memory::pool::Pool::acquire_within`].)
//!
//! Invariant: the bytes reserved never exceed the limit that held when they were reserved, and each
//! reservation gives its bytes back exactly once, when it is dropped. Concurrency: `state` is behind one
//! lock, which is never held while a pool is trimmed, since pools give reservations back.

use std::fmt;
use std::sync::{Arc, Weak};

use anymetal_hal::capabilities::Capabilities;

use crate::memory::error::MemoryError;
use crate::sync::{Mutex, lock};

/// Something that holds memory it could do without.
pub trait Trim: Send + Sync {
    /// Gives up at least so many bytes if it can; says how many.
    fn trim_bytes(&self, bytes: u64) -> u64;
}

/// How near the budget is to its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pressure {
    /// Less than 80 percent is reserved.
    Normal,
    /// 80 percent or more: caches should be small.
    Elevated,
    /// 95 percent or more: caches should be empty, and new work should wait.
    Critical,
}

/// The bytes that a device's working set may take.
#[derive(Clone)]
pub struct Budget {
    shared: Arc<BudgetShared>,
}

struct BudgetShared {
    state: Mutex<BudgetState>,
}

struct BudgetState {
    limit: u64,
    reserved: u64,
    peak: u64,
    trimmers: Vec<Weak<dyn Trim>>,
}

/// Bytes of a budget, given back when dropped.
pub struct Reservation {
    shared: Arc<BudgetShared>,
    bytes: u64,
}

/// A budget's figures at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BudgetStats {
    /// The limit.
    pub limit: u64,
    /// The bytes reserved.
    pub reserved: u64,
    /// The most bytes that were ever reserved.
    pub peak: u64,
}

impl Budget {
    /// A budget of that many bytes.
    pub fn new(limit: u64) -> Self {
        let state = BudgetState { limit, reserved: 0, peak: 0, trimmers: Vec::new() };
        Budget { shared: Arc::new(BudgetShared { state: Mutex::new(state) }) }
    }

    /// The working set that a device recommends.
    pub fn of(capabilities: &Capabilities) -> Self {
        Budget::new(capabilities.working_set_bytes)
    }

    /// Changes the limit. What is reserved beyond a lower one stays until it is given back.
    pub fn set_limit(&self, limit: u64) {
        lock(&self.shared.state).limit = limit;
    }

    /// Has something trimmed under pressure, while it lives.
    pub fn add_trimmer(&self, trimmer: Weak<dyn Trim>) {
        let mut state = lock(&self.shared.state);
        state.trimmers.retain(|known| known.strong_count() > 0);
        state.trimmers.push(trimmer);
    }

    /// Takes bytes, after trimming if need be.
    pub fn reserve(&self, bytes: u64) -> Result<Reservation, MemoryError> {
        let missing = match self.try_reserve(bytes) {
            Ok(reservation) => return Ok(reservation),
            Err(missing) => missing,
        };
        self.trim(missing);
        self.try_reserve(bytes).map_err(|_| {
            let state = lock(&self.shared.state);
            MemoryError::OverBudget { requested: bytes, reserved: state.reserved, limit: state.limit }
        })
    }

    /// Takes bytes, or says how many are missing.
    fn try_reserve(&self, bytes: u64) -> Result<Reservation, u64> {
        let mut state = lock(&self.shared.state);
        let after = state.reserved.saturating_add(bytes);
        if after > state.limit {
            return Err(after - state.limit);
        }
        state.reserved = after;
        state.peak = state.peak.max(after);
        Ok(Reservation { shared: Arc::clone(&self.shared), bytes })
    }

    /// Has the holders of idle memory give up at least so many bytes, one after the other; says how many they
    /// gave. Call it too when the system reports pressure.
    pub fn trim(&self, bytes: u64) -> u64 {
        let trimmers = lock(&self.shared.state).trimmers.clone();
        let mut freed = 0;
        for trimmer in trimmers.iter().filter_map(Weak::upgrade) {
            if freed >= bytes {
                break;
            }
            freed += trimmer.trim_bytes(bytes - freed);
        }
        freed
    }

    /// How near the limit is.
    pub fn pressure(&self) -> Pressure {
        let stats = self.stats();
        let percent = u128::from(stats.reserved) * 100 / u128::from(stats.limit.max(1));
        match percent {
            0..80 => Pressure::Normal,
            80..95 => Pressure::Elevated,
            _ => Pressure::Critical,
        }
    }

    /// The figures.
    pub fn stats(&self) -> BudgetStats {
        let state = lock(&self.shared.state);
        BudgetStats { limit: state.limit, reserved: state.reserved, peak: state.peak }
    }
}

impl Reservation {
    /// Its bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        lock(&self.shared.state).reserved -= self.bytes;
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stats().fmt(formatter)
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reservation").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct Cache(Mutex<Vec<Reservation>>);

    impl Trim for Cache {
        fn trim_bytes(&self, bytes: u64) -> u64 {
            let mut held = lock(&self.0);
            let mut freed = 0;
            while freed < bytes
                && let Some(reservation) = held.pop()
            {
                freed += reservation.bytes();
            }
            freed
        }
    }

    #[test]
    fn pressure_trims_before_it_refuses_and_totals_go_down_again() {
        let budget = Budget::new(100);
        let cached = (0..4).map(|_| budget.reserve(10).unwrap()).collect();
        let cache: Arc<dyn Trim> = Arc::new(Cache(Mutex::new(cached)));
        budget.add_trimmer(Arc::downgrade(&cache));
        let first = budget.reserve(55).unwrap();
        assert_eq!(budget.pressure(), Pressure::Critical);
        let second = budget.reserve(20).unwrap();
        assert_eq!(budget.stats().reserved, 55 + 20 + 20, "two of the four cached ones went");
        let refused = budget.reserve(60).unwrap_err();
        assert_eq!(refused, MemoryError::OverBudget { requested: 60, reserved: 75, limit: 100 });
        assert_eq!(budget.pressure(), Pressure::Normal);
        drop((first, second));
        assert_eq!(budget.stats(), BudgetStats { limit: 100, reserved: 0, peak: 95 });
        drop(cache);
        assert!(budget.reserve(u64::MAX).is_err());
    }
}
