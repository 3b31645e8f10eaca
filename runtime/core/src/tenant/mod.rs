//! Tenants: those who share a device, each within a quota of bytes, buffers, submissions and device time.
//!
//! Owns [`Tenant`] and what it hands out, [`MemoryCharge`] and [`WorkCharge`]. Pools charge what a tenant
//! acquisitions, streams charge its command buffers and ask it before they hand one to a device. Too much is
//! refused with a [`QuotaError`]; only for a place with the devices a stream waits instead, in the order of
//! asking.
//!
//! Invariant: a charge is taken whole or not at all, and given back exactly once, when it is dropped; nothing
//! is above its limit at any moment. Device time cannot be known before: a submission is admitted while the
//! debt is below the share, and adds what it took when it ends; the debt goes down evenly with the clock.
//! Concurrency: one mutex; streams are asked outside it.

mod error;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anymetal_hal::clock::Clock;
use anymetal_hal::completion::Timing;

use crate::stream::StreamCore;
use crate::sync::{Mutex, lock};

pub use error::QuotaError;

/// What a tenant may have; `None` is without limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TenantLimits {
    /// Bytes of device memory.
    pub bytes: Option<u64>,
    /// Buffers.
    pub buffers: Option<u64>,
    /// Command buffers that are being encoded, waiting or running; more are refused.
    pub submissions: Option<u64>,
    /// Submissions that devices have at once, at least one; more wait in their streams.
    pub in_flight: Option<u64>,
    /// A share of the device's time.
    pub device_time: Option<TimeShare>,
}

impl TenantLimits {
    /// No limit.
    pub fn new() -> Self {
        TenantLimits::default()
    }

    /// At most that many bytes of device memory.
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// At most that many buffers.
    pub fn buffers(mut self, count: u64) -> Self {
        self.buffers = Some(count);
        self
    }

    /// At most that many command buffers that are being encoded, waiting or running.
    pub fn submissions(mut self, count: u64) -> Self {
        self.submissions = Some(count);
        self
    }

    /// At most that many submissions with devices at once.
    pub fn in_flight(mut self, count: u64) -> Self {
        self.in_flight = Some(count);
        self
    }

    /// That share of the device's time.
    pub fn device_time(mut self, share: TimeShare) -> Self {
        self.device_time = Some(share);
        self
    }
}

/// So much device time in each span of that length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeShare {
    /// The device time.
    pub time: Duration,
    /// The span.
    pub per: Duration,
}

/// Someone whose use of a device is counted and limited.
#[derive(Clone)]
pub struct Tenant {
    shared: Arc<TenantShared>,
}

struct TenantShared {
    id: u64,
    name: String,
    limits: TenantLimits,
    clock: Arc<dyn Clock>,
    usage: Mutex<Usage>,
}

#[derive(Default)]
struct Usage {
    now: TenantUsage,
    /// When all device time used so far is paid off. The debt at a moment is what is left until then.
    paid_off_at: Duration,
    /// Streams that wait for a place with the devices.
    waiting: VecDeque<Arc<StreamCore>>,
}

/// What a tenant has at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TenantUsage {
    /// Bytes of device memory.
    pub bytes: u64,
    /// Buffers.
    pub buffers: u64,
    /// Command buffers that are being encoded, waiting or running.
    pub submissions: u64,
    /// Submissions that devices have.
    pub in_flight: u64,
    /// All device time that its submissions took.
    pub device_time: Duration,
    /// Requests refused so far.
    pub refusals: u64,
}

impl Tenant {
    /// A tenant with these limits.
    pub fn new(name: impl Into<String>, limits: TenantLimits, clock: Arc<dyn Clock>) -> Self {
        // Not a type of `crate::sync`: models would make the counter anew, and nothing is ordered by it.
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let id = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let usage = Mutex::new(Usage::default());
        Tenant { shared: Arc::new(TenantShared { id, name: name.into(), limits, clock, usage }) }
    }

    /// A number that no other tenant of the process has, also after this one is dropped.
    pub(crate) fn id(&self) -> u64 {
        self.shared.id
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// What it has now.
    pub fn usage(&self) -> TenantUsage {
        lock(&self.shared.usage).now
    }

    /// Takes one buffer of that many bytes from the quota.
    pub fn charge_memory(&self, bytes: u64) -> Result<MemoryCharge, QuotaError> {
        self.charge(bytes, 1)
    }

    /// Takes bytes of memory that others own from the quota, such as those of a staging ring while an upload
    /// is in flight.
    pub fn charge_bytes(&self, bytes: u64) -> Result<MemoryCharge, QuotaError> {
        self.charge(bytes, 0)
    }

    fn charge(&self, bytes: u64, buffers: u64) -> Result<MemoryCharge, QuotaError> {
        let limits = &self.shared.limits;
        let mut usage = lock(&self.shared.usage);
        let (used, count) = (usage.now.bytes, usage.now.buffers);
        let after = used.saturating_add(bytes);
        let tenant = || self.shared.name.clone();
        let refusal = match (limits.bytes, limits.buffers) {
            (Some(limit), _) if after > limit => {
                Some(QuotaError::Bytes { tenant: tenant(), requested: bytes, used, limit })
            }
            (_, Some(limit)) if count.saturating_add(buffers) > limit => {
                Some(QuotaError::Buffers { tenant: tenant(), used: count, limit })
            }
            _ => None,
        };
        if let Some(refusal) = refusal {
            usage.now.refusals += 1;
            return Err(refusal);
        }
        usage.now.bytes = after;
        usage.now.buffers += buffers;
        Ok(MemoryCharge { shared: Arc::clone(&self.shared), bytes, buffers })
    }

    /// Takes one submission from the quota; hold the charge until its work has ended.
    pub fn charge_work(&self) -> Result<WorkCharge, QuotaError> {
        let TenantShared { name, limits, clock, .. } = &*self.shared;
        let now = clock.now();
        let mut usage = lock(&self.shared.usage);
        let owing = usage.paid_off_at.saturating_sub(now);
        let used = usage.now.submissions;
        let refusal = match (limits.submissions, limits.device_time) {
            (Some(limit), _) if used >= limit => {
                Some(QuotaError::Submissions { tenant: name.clone(), used, limit })
            }
            (_, Some(share)) if owing >= share.per => {
                let retry_after = owing - share.per + Duration::from_nanos(1);
                Some(QuotaError::DeviceTime { tenant: name.clone(), retry_after })
            }
            _ => None,
        };
        if let Some(refusal) = refusal {
            usage.now.refusals += 1;
            return Err(refusal);
        }
        usage.now.submissions += 1;
        Ok(WorkCharge { shared: Arc::clone(&self.shared) })
    }

    /// Takes a place with the devices, or notes that the stream waits for one.
    pub(crate) fn try_enter(&self, stream: &Arc<StreamCore>) -> bool {
        let mut usage = lock(&self.shared.usage);
        // A limit of nothing would have its streams wait for ever.
        let limit = self.shared.limits.in_flight.map_or(u64::MAX, |limit| limit.max(1));
        if usage.now.in_flight < limit {
            usage.now.in_flight += 1;
            return true;
        }
        if !usage.waiting.iter().any(|waiting| Arc::ptr_eq(waiting, stream)) {
            usage.waiting.push_back(Arc::clone(stream));
        }
        false
    }

    /// Gives a place back.
    pub(crate) fn leave(&self) {
        let waiting = {
            let mut usage = lock(&self.shared.usage);
            usage.now.in_flight -= 1;
            // All of them: the first may have nothing to run any more, and the others line up again in order.
            std::mem::take(&mut usage.waiting)
        };
        waiting.iter().for_each(|stream| stream.pump_soon());
    }
}

impl TimeShare {
    /// The time in which so much device time is paid off.
    fn span_of(self, used: Duration) -> Duration {
        let nanoseconds = used.as_nanos().saturating_mul(self.per.as_nanos());
        let span = nanoseconds.div_ceil(self.time.as_nanos().max(1));
        Duration::from_nanos(u64::try_from(span).unwrap_or(u64::MAX))
    }
}

/// A part of a memory quota, given back when dropped.
pub struct MemoryCharge {
    shared: Arc<TenantShared>,
    bytes: u64,
    buffers: u64,
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        let mut usage = lock(&self.shared.usage);
        usage.now.bytes -= self.bytes;
        usage.now.buffers -= self.buffers;
    }
}

/// One submission's part of a quota. Dropping it ends it without device time.
pub struct WorkCharge {
    shared: Arc<TenantShared>,
}

impl WorkCharge {
    /// Ends it with the time that the work took.
    pub fn finish(self, timing: Timing) {
        let took = timing.device_time();
        let now = self.shared.clock.now();
        let mut usage = lock(&self.shared.usage);
        usage.now.device_time = usage.now.device_time.saturating_add(took);
        if let Some(share) = self.shared.limits.device_time {
            usage.paid_off_at = usage.paid_off_at.max(now).saturating_add(share.span_of(took));
        }
    }
}

impl Drop for WorkCharge {
    fn drop(&mut self) {
        lock(&self.shared.usage).now.submissions -= 1;
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TenantShared { name, limits, .. } = &*self.shared;
        let usage = self.usage();
        formatter
            .debug_struct("Tenant")
            .field("name", name)
            .field("limits", limits)
            .field("usage", &usage)
            .finish()
    }
}

impl fmt::Debug for MemoryCharge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MemoryCharge")
            .field("tenant", &self.shared.name)
            .field("bytes", &self.bytes)
            .finish()
    }
}

impl fmt::Debug for WorkCharge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WorkCharge").field("tenant", &self.shared.name).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use anymetal_hal::clock::ManualClock;

    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn worked(time: Duration) -> Timing {
        Timing::default().ended_ns(time.as_nanos() as u64)
    }

    #[test]
    fn memory_is_refused_whole_and_given_back() {
        let limits = TenantLimits { bytes: Some(100), buffers: Some(2), ..TenantLimits::default() };
        let tenant = Tenant::new("blue", limits, ManualClock::new());
        let first = tenant.charge_memory(60).unwrap();
        let refused = tenant.charge_memory(41).unwrap_err();
        assert_eq!(refused.to_string(), "tenant `blue` may have 100 bytes and has 60; 41 more are too many");
        assert_eq!(tenant.usage(), TenantUsage { bytes: 60, buffers: 1, refusals: 1, ..Default::default() });
        let second = tenant.charge_memory(40).unwrap();
        assert!(matches!(tenant.charge_memory(0), Err(QuotaError::Buffers { used: 2, limit: 2, .. })));
        drop((first, second));
        assert_eq!((tenant.usage().bytes, tenant.usage().buffers), (0, 0));
    }

    #[test]
    fn submissions_are_limited() {
        let limits = TenantLimits { submissions: Some(1), ..TenantLimits::default() };
        let tenant = Tenant::new("blue", limits, ManualClock::new());
        let work = tenant.charge_work().unwrap();
        assert!(matches!(tenant.charge_work(), Err(QuotaError::Submissions { used: 1, limit: 1, .. })));
        work.finish(worked(MILLISECOND));
        assert_eq!(tenant.usage().device_time, MILLISECOND);
        assert!(tenant.charge_work().is_ok(), "without a share device time is only counted");
    }

    #[test]
    fn device_time_is_paid_off_with_the_clock() {
        let share = TimeShare { time: 10 * MILLISECOND, per: 100 * MILLISECOND };
        let limits = TenantLimits { device_time: Some(share), ..TenantLimits::default() };
        let clock = ManualClock::new();
        let tenant = Tenant::new("blue", limits, clock.clone());
        tenant.charge_work().unwrap().finish(worked(9 * MILLISECOND));
        tenant.charge_work().unwrap().finish(worked(5 * MILLISECOND));
        let Err(QuotaError::DeviceTime { retry_after, .. }) = tenant.charge_work() else {
            panic!("14 ms are more than 10 ms");
        };
        assert!(retry_after == 40 * MILLISECOND + Duration::from_nanos(1), "{retry_after:?}");
        clock.advance(retry_after - Duration::from_nanos(1));
        assert!(tenant.charge_work().is_err());
        clock.advance(Duration::from_nanos(1));
        drop(tenant.charge_work().unwrap());
        clock.advance(100 * MILLISECOND);
        tenant.charge_work().unwrap().finish(worked(9 * MILLISECOND));
        assert!(tenant.charge_work().is_ok(), "old debt is gone");
    }
}
