//! What a manager is made of.
//!
//! Owns [`ManagerBuilder`]. Invariant: devices have different names.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anymetal_hal::clock::{Clock, SystemClock};
use anymetal_policy::adapt::{PowerSource, ThermalSource};
use anymetal_policy::breaker::Breakers;
use anymetal_policy::policies::Policies;

use super::Manager;
use super::core::Core;
use super::error::ManagerError;
use super::observe::{BreakersTold, Observe, Recorded};
use super::slot::{Factory, Slot};
use super::strain::Strain;
use crate::device::Device;
use crate::error::Error;

/// The most breakers, one for each device and kernel or graph.
const MAX_BREAKERS: usize = 4096;

/// How long after its deadline an attempt may take to end before its device counts as lost: devices
/// stop work at the deadline themselves, if they still can.
const HANG_GRACE: Duration = Duration::from_secs(1);

/// A manager in the making; [`Manager::builder`] begins one.
#[must_use = "the manager is made by `build`"]
pub struct ManagerBuilder {
    devices: Vec<(String, Device, Option<Factory>)>,
    policies: Policies,
    clock: Arc<dyn Clock>,
    thermal: Option<Box<dyn ThermalSource>>,
    power: Option<Box<dyn PowerSource>>,
    observer: Arc<dyn Observe>,
    hang_grace: Duration,
}

impl ManagerBuilder {
    pub(super) fn new() -> Self {
        ManagerBuilder {
            devices: Vec::new(),
            policies: Policies::default(),
            clock: SystemClock::shared(),
            thermal: None,
            power: None,
            observer: Arc::new(Recorded),
            hang_grace: HANG_GRACE,
        }
    }

    /// A device under its own name; of devices that are equally good the first is preferred. If it
    /// is lost it stays lost.
    pub fn device(mut self, device: Device) -> Self {
        self.devices.push((device.name().to_owned(), device, None));
        self
    }

    /// A device under a name, made by the function now, and again after each loss.
    pub fn device_from(
        mut self,
        name: impl Into<String>,
        make: impl Fn() -> Result<Device, Error> + Send + Sync + 'static,
    ) -> Result<Self, ManagerError> {
        let device = make()?;
        self.devices.push((name.into(), device, Some(Box::new(make))));
        Ok(self)
    }

    /// The policies; without this the defaults. [`crate::RuntimeConfig`] has those of the settings.
    pub fn policies(mut self, policies: Policies) -> Self {
        self.policies = policies;
        self
    }

    /// The clock that deadlines, delays and breakers go by; without this the system's.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Where the heat is read; without this nowhere.
    pub fn thermal(mut self, source: impl ThermalSource + 'static) -> Self {
        self.thermal = Some(Box::new(source));
        self
    }

    /// Where the power is measured; without this nowhere. It counts if the policies have a budget.
    pub fn power(mut self, source: impl PowerSource + 'static) -> Self {
        self.power = Some(Box::new(source));
        self
    }

    /// How long after its deadline an attempt may take to end before its device counts as lost;
    /// without this a second.
    pub fn hang_grace(mut self, grace: Duration) -> Self {
        self.hang_grace = grace;
        self
    }

    #[cfg(test)]
    pub(super) fn observer(mut self, observer: Arc<dyn Observe>) -> Self {
        self.observer = observer;
        self
    }

    /// The manager.
    pub fn build(self) -> Result<Manager, ManagerError> {
        let ManagerBuilder { devices, policies, clock, thermal, power, observer, hang_grace } = self;
        if devices.is_empty() {
            return Err(ManagerError::NoDevice);
        }
        let mut slots: Vec<Slot> = Vec::new();
        for (index, (name, device, factory)) in devices.into_iter().enumerate() {
            if slots.iter().any(|slot| **slot.name() == *name) {
                return Err(ManagerError::DuplicateDevice { name });
            }
            slots.push(Slot::new(index, device, factory, &policies, &clock, Arc::from(name)));
        }
        let breakers = match policies.breaker {
            Some(policy) => {
                let told = Arc::new(BreakersTold(Arc::clone(&observer)));
                Some(Breakers::new(policy, Arc::clone(&clock), MAX_BREAKERS)?.with_listener(told))
            }
            None => None,
        };
        let strain = Strain::new(policies.adapt, thermal, power);
        let core = Core::new(clock, policies, slots, breakers, strain, observer, hang_grace);
        Ok(Manager { core })
    }
}

impl fmt::Debug for ManagerBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.devices.iter().map(|(name, ..)| name.as_str()).collect();
        formatter.debug_struct("ManagerBuilder").field("devices", &names).finish_non_exhaustive()
    }
}
