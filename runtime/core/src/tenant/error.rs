//! Why a tenant was refused.
//!
//! Owns [`QuotaError`]. Invariant: a refusal says what the limit is and how much of it is used, and has had
//! no effect but to be counted.

use std::time::Duration;

use anymetal_hal::error::ErrorClass;

/// Which part of a tenant's quota refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuotaError {
    /// Its bytes.
    #[error("tenant `{tenant}` may have {limit} bytes and has {used}; {requested} more are too many")]
    Bytes {
        /// The tenant's name.
        tenant: String,
        /// The bytes asked for.
        requested: u64,
        /// The bytes it has.
        used: u64,
        /// Its quota.
        limit: u64,
    },
    /// Its number of buffers.
    #[error("tenant `{tenant}` may have {limit} buffers and has {used}")]
    Buffers {
        /// The tenant's name.
        tenant: String,
        /// The buffers it has.
        used: u64,
        /// Its quota.
        limit: u64,
    },
    /// Its submissions that are not done.
    #[error("tenant `{tenant}` may have {limit} submissions that are not done and has {used}")]
    Submissions {
        /// The tenant's name.
        tenant: String,
        /// The submissions that are not done.
        used: u64,
        /// Its quota.
        limit: u64,
    },
    /// Its share of the device's time.
    #[error("tenant `{tenant}` has used its share of the device's time; it may go on in {retry_after:?}")]
    DeviceTime {
        /// The tenant's name.
        tenant: String,
        /// When it may submit again if it submits nothing meanwhile.
        retry_after: Duration,
    },
}

impl QuotaError {
    /// Quotas are used up for now, not for ever.
    pub fn class(&self) -> ErrorClass {
        ErrorClass::Exhausted
    }
}
