//! The state that everything made from a device shares.
//!
//! Owns [`DeviceShared`] and [`NvidiaOptions`]. Invariant: a device that was lost stays lost. This module
//! uses no buffer, queue or pipeline, so that those can use it.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::clock::Clock;
use anymetal_hal::code_cache::CodeCache;
use anymetal_hal::command::DEFAULT_DEADLINE;
use anymetal_hal::error::DeviceError;

use crate::capabilities;
use crate::driver::Driver;

/// How a device is made.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NvidiaOptions {
    /// The deadline of submissions that do not give one.
    pub default_deadline: Duration,
    /// Where the code that the driver compiles for the card is kept.
    pub code_cache: Option<Arc<dyn CodeCache>>,
}

impl NvidiaOptions {
    /// With the driver's code kept there.
    pub fn with_code_cache(self, code_cache: Option<Arc<dyn CodeCache>>) -> Self {
        NvidiaOptions { code_cache, ..self }
    }
}

impl Default for NvidiaOptions {
    fn default() -> Self {
        NvidiaOptions { default_deadline: DEFAULT_DEADLINE, code_cache: None }
    }
}

/// What everything made from a device shares.
#[derive(Debug)]
pub(crate) struct DeviceShared {
    pub(crate) name: String,
    pub(crate) capabilities: Capabilities,
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: NvidiaOptions,
    pub(crate) allocated: AtomicU64,
    made_at: Duration,
    /// Why nothing of the device is to be used any more, if a kernel could not be stopped.
    lost: OnceLock<String>,
}

impl DeviceShared {
    pub(crate) fn new(
        name: String,
        driver: Arc<dyn Driver>,
        options: &NvidiaOptions,
        clock: Arc<dyn Clock>,
    ) -> Self {
        DeviceShared {
            name,
            capabilities: capabilities::of(driver.card()),
            driver,
            made_at: clock.now(),
            clock,
            options: options.clone(),
            allocated: AtomicU64::new(0),
            lost: OnceLock::new(),
        }
    }

    /// Notes that a kernel does not stop; gives the error of everything that follows.
    pub(crate) fn lose(&self, reason: String) -> DeviceError {
        let reason = self.lost.get_or_init(|| reason).clone();
        DeviceError::DeviceLost { device: self.name.clone(), reason }
    }

    /// Whether a kernel runs on that did not stop.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// An error if a kernel runs on that did not stop.
    pub(crate) fn check_alive(&self) -> Result<(), DeviceError> {
        self.lost.get().map_or(Ok(()), |reason| Err(self.lose(reason.clone())))
    }

    /// The device's clock: nanoseconds since it was made.
    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.now().saturating_sub(self.made_at).as_nanos() as u64
    }

    pub(crate) fn wrong_device(&self, what: &'static str) -> DeviceError {
        DeviceError::WrongDevice { what, device: self.name.clone() }
    }
}
