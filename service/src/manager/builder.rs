//! What a manager is made of.
//!
//! Owns [`ManagerBuilder`]. Invariant: devices have different names.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anymetal::profile::{Clock, SystemClock};
use anymetal::{Device, Error};
use anymetal_audit::AuditLog;
use anymetal_policy::adapt::{PowerSource, ThermalSource};
use anymetal_policy::breaker::Breakers;
use anymetal_policy::policies::Policies;

use super::Manager;
use super::audit::{self, Audit};
use super::core::{Core, CoreParts};
use super::error::ManagerError;
use super::kept::SessionStore;
use super::observe::{Both, BreakersTold, Observe, Recorded};
use super::slot::{DeviceSlot, Factory};
use super::strain::LoadMonitor;
use crate::config::{AuditConfig, ServiceConfig};

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
    audit: Option<Arc<AuditLog>>,
    /// Of the settings; a log of the program's own counts more.
    audit_config: AuditConfig,
    session_file: Option<PathBuf>,
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
            audit: None,
            audit_config: AuditConfig::default(),
            session_file: None,
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

    /// The policies; without this the defaults. [`ServiceConfig`] has those of the settings.
    pub fn policies(mut self, policies: Policies) -> Self {
        self.policies = policies;
        self
    }

    /// Policies, audit log and session of settings.
    pub fn settings(mut self, settings: &ServiceConfig) -> Self {
        self.policies = settings.policy.clone();
        self.audit_config = settings.audit.clone();
        self.session_file.clone_from(&settings.session.file);
        self
    }

    /// The audit log: executions, failed attempts, decisions of policies, losses. If it cannot be
    /// written, its options say whether work goes on or nothing new begins.
    pub fn audit(mut self, log: impl Into<Arc<AuditLog>>) -> Self {
        self.audit = Some(log.into());
        self
    }

    /// The file, `.toml` or `.json`, that keeps pipelines, tuning values and the manifest of buffers
    /// from one process to the next. One that is damaged is set aside and told as a notice.
    pub fn session_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.session_file = Some(path.into());
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
        if self.devices.is_empty() {
            return Err(ManagerError::NoDevice);
        }
        let ManagerBuilder { devices, policies, clock, .. } = self;
        let log = match self.audit {
            Some(log) => Some(log),
            None => audit::open(&self.audit_config, &clock)?,
        };
        let audit = log.map(|log| Arc::new(Audit::new(log, self.audit_config.begin, Arc::clone(&clock))));
        let kept = self.session_file.map(SessionStore::open).transpose()?;
        let mut slots: Vec<DeviceSlot> = Vec::new();
        for (index, (name, device, factory)) in devices.into_iter().enumerate() {
            if slots.iter().any(|slot| **slot.name() == *name) {
                return Err(ManagerError::DuplicateDevice { name });
            }
            let streams = kept.as_ref().and_then(|kept| kept.streams(&name));
            slots.push(DeviceSlot::new(index, device, factory, &policies, &clock, Arc::from(name), streams));
        }
        let observer = match &audit {
            Some(audit) => Arc::new(Both(self.observer, Arc::clone(audit))),
            None => self.observer,
        };
        let breakers = match policies.breaker {
            Some(policy) => {
                let told = Arc::new(BreakersTold(Arc::clone(&observer)));
                Some(Breakers::new(policy, Arc::clone(&clock), MAX_BREAKERS)?.with_listener(told))
            }
            None => None,
        };
        let strain = LoadMonitor::new(policies.adapt, self.thermal, self.power);
        let hang_grace = self.hang_grace;
        let core = Core::new(CoreParts {
            clock,
            policies,
            slots,
            breakers,
            strain,
            observer,
            hang_grace,
            audit,
            kept,
        });
        Ok(Manager { core })
    }
}

impl fmt::Debug for ManagerBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.devices.iter().map(|(name, ..)| name.as_str()).collect();
        formatter.debug_struct("ManagerBuilder").field("devices", &names).finish_non_exhaustive()
    }
}
