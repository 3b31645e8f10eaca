//! All policies of a program, as its settings give them.

use crate::adapt::AdaptivePolicy;
use crate::breaker::BreakerPolicy;
use crate::bulkhead::BulkheadPolicy;
use crate::deadline::DeadlinePolicy;
use crate::ladder::LadderPolicy;
use crate::retry::RetryPolicy;

/// All policies; each was checked by its builder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policies {
    /// Attempts and their delays.
    pub retry: RetryPolicy,
    /// The breaker of each device and kernel; `None`: there are none.
    pub breaker: Option<BreakerPolicy>,
    /// The bulkhead of each device; `None`: there are none.
    pub bulkhead: Option<BulkheadPolicy>,
    /// The time of each call and attempt.
    pub deadline: DeadlinePolicy,
    /// What is tried after a failure.
    pub ladder: LadderPolicy,
    /// The number of streams.
    pub adapt: AdaptivePolicy,
    /// The most bytes that are copied so that work which changes them can run again.
    pub snapshot_limit: u64,
}

impl Default for Policies {
    fn default() -> Self {
        Policies {
            retry: RetryPolicy::default(),
            breaker: Some(BreakerPolicy::default()),
            bulkhead: None,
            deadline: DeadlinePolicy::default(),
            ladder: LadderPolicy::default(),
            adapt: AdaptivePolicy::default(),
            snapshot_limit: 256 << 20,
        }
    }
}
