//! Devices: which there are, and what is made from them.
//!
//! Owns [`Device`], a cheap handle: the device below with its execution layer, which [`crate::memory`] and
//! [`crate::queue`] show. Invariant: there is one CPU device per process, so that all handles share its workers;
//! handles that were made alike share pool, budget and listing too.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use anymetal_compiler::{Compiler, CpuLevel};
use anymetal_device_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::artifact::Artifact;
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::clock::{Clock, SystemClock};
use anymetal_hal::device::Device as HalDevice;
use anymetal_hal::error::DeviceError;
use anymetal_runtime::config::{Layers, RuntimeConfig};
use anymetal_runtime::event::Event;
use anymetal_runtime::history::History;
use anymetal_runtime::memory::allocator::Allocator;
use anymetal_runtime::memory::budget::Budget;
use anymetal_runtime::memory::pool::Pool;
use anymetal_runtime::memory::registry::Registry;
use anymetal_runtime::stream::StreamOptions;
use anymetal_runtime::stream::context::Context;
use anymetal_runtime::stream::group::StreamGroup;
use anymetal_runtime::tenant::{Tenant, TenantLimits};
use anymetal_runtime::trace::Trace;

use crate::compile::CompiledLibrary;
use crate::error::Error;
use crate::library::{CompileOptions, Library};
use crate::queue::{Queue, QueueGroup};
use crate::transfer::Transfers;

/// A processor or GPU that runs Metal kernels, with pool, budget and queues over it.
#[derive(Debug, Clone)]
pub struct Device {
    pub(crate) shared: Arc<Shared>,
    /// Whose account what is made from this handle is on.
    pub(crate) tenant: Option<Tenant>,
}

/// A device with its execution layer.
#[derive(Debug)]
pub(crate) struct Shared {
    hal: Arc<dyn HalDevice>,
    config: RuntimeConfig,
    context: Context,
    pub(crate) budget: Budget,
    pub(crate) pool: Pool,
    pub(crate) registry: Registry,
    pub(crate) allocator: Allocator,
    pub(crate) transfers: Transfers,
}

impl Device {
    /// The device that the settings name (`ANYMETAL_DEVICE`, or `device` in the file that `ANYMETAL_CONFIG`
    /// names), or else this machine's best: so far its processor.
    pub fn system_default() -> Result<Device, Error> {
        static DEFAULT: OnceLock<Result<Device, Error>> = OnceLock::new();
        DEFAULT.get_or_init(|| Device::with_settings(&Layers::load(None)?)).clone()
    }

    /// A device of its own settings: with pool, budget and queues apart from those of [`Device::system_default`].
    pub fn with_settings(settings: &Layers) -> Result<Device, Error> {
        let config = settings.resolve()?;
        let hal = match &config.device {
            Some(name) => hal_named(name)?,
            None => hal_cpu()?,
        };
        Ok(Device::from_parts(hal, config, SystemClock::shared()))
    }

    /// All devices of this machine, the default one first.
    pub fn all() -> Result<Vec<Device>, Error> {
        let config = Layers::load(None)?.resolve()?;
        let device = |hal| Device::from_parts(hal, config.clone(), SystemClock::shared());
        Ok(hal_all()?.into_iter().map(device).collect())
    }

    /// The device of that name, such as `cpu`, with the settings of environment and file.
    pub fn by_name(name: &str) -> Result<Device, Error> {
        let mut settings = Layers::load(None)?;
        settings.code.device = Some(name.to_owned());
        Device::with_settings(&settings)
    }

    /// A device made elsewhere, with options of its own, or one that wraps another; with the default settings.
    pub fn from_hal(inner: Arc<dyn HalDevice>) -> Device {
        Device::from_parts(inner, RuntimeConfig::default(), SystemClock::shared())
    }

    /// A device made elsewhere, its settings, and the clock that all limits go by.
    pub fn from_parts(hal: Arc<dyn HalDevice>, config: RuntimeConfig, clock: Arc<dyn Clock>) -> Device {
        let budget = match config.memory.budget {
            Some(bytes) => Budget::new(bytes),
            None => Budget::of(hal.capabilities()),
        };
        let options = config.memory.pool_options(budget.clone());
        let pool = Pool::new(Arc::clone(&hal), Arc::clone(&clock), options);
        let registry = Registry::new(Arc::clone(&clock), config.memory.backtraces);
        registry.attach(pool.inventory());
        let allocator = Allocator::new(Arc::clone(&hal), budget.clone(), registry.clone());
        let transfers = Transfers::default();
        let context = Context::with(Arc::clone(&hal), clock, config.history.history());
        let shared = Shared { hal, config, context, budget, pool, registry, allocator, transfers };
        Device { shared: Arc::new(shared), tenant: None }
    }

    /// The name by which it is chosen.
    pub fn name(&self) -> &str {
        self.shared.hal.name()
    }

    /// What it can do.
    pub fn capabilities(&self) -> &Capabilities {
        self.shared.hal.capabilities()
    }

    /// The settings that count for it.
    pub fn config(&self) -> &RuntimeConfig {
        &self.shared.config
    }

    /// Compiles MSL source with default options.
    pub fn library_from_source(&self, source: &str) -> Result<Library, Error> {
        self.library_from_source_with(source, &CompileOptions::default())
    }

    /// Compiles MSL source. Kernels are compiled down to device code when their pipeline is made.
    pub fn library_from_source_with(&self, source: &str, options: &CompileOptions) -> Result<Library, Error> {
        let compiled = CompiledLibrary::from_source(source, options)?;
        Ok(Library::new(self.clone(), compiled))
    }

    /// Compiles a file of MSL; its folder is searched for includes first.
    pub fn library_from_file(
        &self,
        path: impl Into<PathBuf>,
        options: &CompileOptions,
    ) -> Result<Library, Error> {
        let compiled = CompiledLibrary::from_file(&path.into(), options)?;
        Ok(Library::new(self.clone(), compiled))
    }

    /// A library of code that was compiled before. Machine code in it runs with the rights of the process, so
    /// take it only from where you would take a program.
    pub fn library_from_artifact(&self, artifact: Arc<Artifact>) -> Library {
        Library::new(self.clone(), CompiledLibrary::from_artifact(artifact))
    }

    /// A queue with the limits that the settings say.
    pub fn queue(&self) -> Result<Queue, Error> {
        self.queue_with(self.queue_options())
    }

    /// What [`Device::queue`] makes a queue with, to be changed for [`Device::queue_with`].
    pub fn queue_options(&self) -> StreamOptions {
        let options = self.shared.config.streams.options(StreamOptions::default());
        StreamOptions { tenant: self.tenant.clone(), ..options }
    }

    /// A queue with a label, limits, a priority, a tenant.
    pub fn queue_with(&self, options: StreamOptions) -> Result<Queue, Error> {
        Ok(Queue::new(self.shared.context.stream(options)?))
    }

    /// So many queues, at least one; `None`: as many as this device was measured to be worth.
    pub fn queues(&self, count: impl Into<Option<usize>>) -> Result<QueueGroup, Error> {
        self.queues_with(count, &self.queue_options())
    }

    /// As [`Device::queues`], all with those options, their numbers behind the label.
    pub fn queues_with(
        &self,
        count: impl Into<Option<usize>>,
        options: &StreamOptions,
    ) -> Result<QueueGroup, Error> {
        Ok(QueueGroup::new(StreamGroup::new(&self.shared.context, count.into(), options)?))
    }

    /// An event from the device's pool, with the value 0.
    pub fn event(&self) -> Result<Event, Error> {
        Ok(self.shared.context.event()?)
    }

    /// Someone whose queues and buffers are counted and limited together.
    pub fn tenant(&self, name: impl Into<String>, limits: TenantLimits) -> Tenant {
        Tenant::new(name, limits, Arc::clone(self.shared.context.clock()))
    }

    /// The same device on a tenant's account: buffers, uploads and rents that are made from this handle are charged to
    /// its quota, and so is the work of queues with the options of [`Device::queue_options`].
    pub fn for_tenant(&self, tenant: &Tenant) -> Device {
        Device { shared: Arc::clone(&self.shared), tenant: Some(tenant.clone()) }
    }

    /// The history of what the queues gave the device, if the settings ask for one.
    pub fn history(&self) -> Option<&History> {
        self.shared.context.history()
    }

    /// Starts a trace of everything that the queues are given from now on, or gives the one that was started:
    /// `trace.to_chrome_json()` is a file for Perfetto.
    pub fn start_trace(&self) -> Trace {
        self.shared.context.start_trace()
    }

    /// The context of all queues, for what this crate does not wrap.
    pub fn context(&self) -> &Context {
        &self.shared.context
    }

    /// The device below, for what this crate does not wrap.
    pub fn hal(&self) -> &Arc<dyn HalDevice> {
        &self.shared.hal
    }
}

/// The one CPU device of the process.
fn hal_cpu() -> Result<Arc<dyn HalDevice>, Error> {
    static CPU: OnceLock<Result<Arc<dyn HalDevice>, Error>> = OnceLock::new();
    let make = || -> Result<Arc<dyn HalDevice>, Error> {
        let level = Compiler::cpu_level()?;
        let vector_extension = level.map(CpuLevel::vector_extension);
        let options = CpuDeviceOptions { vector_extension, ..CpuDeviceOptions::from_environment()? };
        Ok(Arc::new(CpuDevice::new(&options)?))
    };
    CPU.get_or_init(make).clone()
}

fn hal_all() -> Result<Vec<Arc<dyn HalDevice>>, Error> {
    Ok(vec![hal_cpu()?])
}

fn hal_named(name: &str) -> Result<Arc<dyn HalDevice>, Error> {
    let devices = hal_all()?;
    let found = devices.iter().find(|device| device.name().eq_ignore_ascii_case(name.trim())).cloned();
    found.ok_or_else(|| {
        let existing = devices.iter().map(|device| device.name().to_owned()).collect();
        DeviceError::UnknownDevice { name: name.to_owned(), existing }.into()
    })
}
