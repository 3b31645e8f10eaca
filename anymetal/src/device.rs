//! Devices: which there are, and what is made from them.
//!
//! Owns [`Device`], a cheap handle: the device below with its execution layer, which [`crate::memory`] and
//! [`crate::queue`] show. Which devices a process has is in [`crate::machine`]. Invariant: handles of the
//! same device and settings share pool, budget, history and listing.

use std::sync::{Arc, Once};

use anymetal_core::config::{CheckSetting, Layers, RuntimeConfig};
use anymetal_core::event::Event;
use anymetal_core::history::History;
use anymetal_core::memory::allocator::Allocator;
use anymetal_core::memory::budget::Budget;
use anymetal_core::memory::pool::Pool;
use anymetal_core::memory::registry::Registry;
use anymetal_core::stream::StreamOptions;
use anymetal_core::stream::context::Context;
use anymetal_core::stream::group::StreamGroup;
use anymetal_core::tenant::{Tenant, TenantLimits};
use anymetal_core::trace::Trace;
use anymetal_driver::Target;
use anymetal_hal::artifact::Artifact;
use anymetal_hal::caches::{self, CacheOwner};
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::clock::Clock;
use anymetal_hal::device::Device as HalDevice;
use anymetal_hal::error::DeviceError;
use anymetal_hal::pipeline::Pipeline as HalPipeline;
use anymetal_telemetry::collect::{Collect, Sums, add_collector};
use anymetal_telemetry::names::metrics as names;
use anymetal_testing::emulated::EmulatedDevice;

use crate::code_account::CodeAccount;
use anymetal_types::family::Family;

use crate::compile::CompiledLibrary;
use crate::error::Error;
use crate::executor::Executor;
use crate::library::{CheckMode, CompileOptions, Library};
use crate::library_descriptor::{LibraryDescriptor, Origin};
use crate::machine;
use crate::queue::{Queue, QueueGroup};
use crate::sanitizer;
use crate::transfer::Transfers;

/// A processor or GPU that runs Metal kernels, with pool, budget and queues over it.
#[derive(Debug, Clone)]
pub struct Device {
    pub(crate) shared: Arc<Shared>,
    /// Whose quota what is made from this handle is charged to.
    pub(crate) tenant: Option<Tenant>,
}

/// A device with its execution layer.
#[derive(Debug)]
pub(crate) struct Shared {
    hal: Arc<dyn HalDevice>,
    /// The machine's own, which `hal` may emulate a family on.
    own: Arc<dyn HalDevice>,
    config: RuntimeConfig,
    context: Context,
    pub(crate) budget: Budget,
    pub(crate) pool: Pool,
    pub(crate) registry: Registry,
    pub(crate) allocator: Allocator,
    pub(crate) transfers: Transfers,
    /// Set once its pool is trimmed by time.
    pub(crate) trimming: Once,
    code: Arc<CodeAccount>,
}

impl Device {
    /// The device that the settings name (`ANYMETAL_DEVICE`, or `device` in the file that `ANYMETAL_CONFIG`
    /// names), or else this machine's best: its first GPU, or its processor where there is none, where
    /// libLLVM cannot make code for it, or where kernels run in a worker process (`ANYMETAL_ISOLATE=run`).
    ///
    /// The same device each time: a process has one device for each set of settings, with one pool and one
    /// budget. [`Device::by_name`], [`Device::all`] and [`Device::with_settings`] give the one in use too if
    /// theirs are the same. If it cannot be made, the next call tries again.
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// use anymetal::Device;
    ///
    /// let device = Device::system_default()?;
    /// assert!(device.is_same(&Device::by_name(device.name())?));
    /// # Ok(())
    /// # }
    /// ```
    pub fn system_default() -> Result<Device, Error> {
        machine::default_device()
    }

    /// The device with those settings: the one in use with equal settings, or else a new one, with pool,
    /// budget and listing of its own. It ends with its last handle.
    pub fn with_settings(settings: &Layers) -> Result<Device, Error> {
        machine::with_settings(settings)
    }

    /// All devices of this machine with the settings of environment and file, the default one first.
    pub fn all() -> Result<Vec<Device>, Error> {
        machine::all(&Layers::load(None)?)
    }

    /// The device of that name, such as `cpu`, with the settings of environment and file.
    pub fn by_name(name: &str) -> Result<Device, Error> {
        let mut settings = Layers::load(None)?;
        settings.code.device = Some(name.to_owned());
        machine::with_settings(&settings)
    }

    /// A device over `hal` with its settings, and the clock that all limits go by.
    pub(crate) fn from_parts(
        hal: Arc<dyn HalDevice>,
        config: RuntimeConfig,
        clock: Arc<dyn Clock>,
    ) -> Device {
        let own = hal;
        let hal: Arc<dyn HalDevice> = match config.family {
            Some(family) => Arc::new(EmulatedDevice::new(Arc::clone(&own), family)),
            None => Arc::clone(&own),
        };
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
        let code = Arc::new(CodeAccount::new(hal.name(), config.memory.code_bytes));
        let caches: Arc<dyn CacheOwner> = Arc::<CodeAccount>::clone(&code);
        caches::register(Arc::downgrade(&caches));
        let trimming = Once::new();
        let shared = Shared {
            hal,
            own,
            config,
            context,
            budget,
            pool,
            registry,
            allocator,
            transfers,
            trimming,
            code,
        };
        let shared = Arc::new(shared);
        let collector: Arc<dyn Collect> = Arc::<Shared>::clone(&shared);
        add_collector(Arc::downgrade(&collector));
        Device { shared, tenant: None }
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

    /// The family of GPUs whose refusals it has, if its settings name one (`family`, `ANYMETAL_FAMILY`).
    pub fn family(&self) -> Option<Family> {
        self.shared.config.family
    }

    /// The same hardware as a device of its own, with pool and budget of its own, that refuses what GPUs of a
    /// family refuse: kernels when their pipeline is made, buffers when they are made.
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// use anymetal::{Device, Family};
    ///
    /// let device = Device::system_default()?.with_family(Family::Apple5);
    /// let source = "using namespace metal;
    ///     kernel void sum(device float* y, uint i [[thread_position_in_grid]]) { y[i] = simd_sum(y[i]); }";
    /// let refused = device.library_from_source(source)?.pipeline("sum").unwrap_err().to_string();
    /// assert!(refused.contains("SIMD-scoped reduction operations at source.metal:2"), "{refused}");
    /// assert!(refused.contains("apple5 does not have") && refused.contains("apple7 and later"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_family(&self, family: Family) -> Device {
        let mut config = self.shared.config.clone();
        config.family = Some(family);
        self.separate(config)
    }

    /// The same hardware with other settings and a separate pool, budget and listing.
    pub(crate) fn separate(&self, config: RuntimeConfig) -> Device {
        Device::from_parts(Arc::clone(&self.shared.own), config, Arc::clone(self.shared.context.clock()))
    }

    /// Whether both are handles of one device, with one pool and one budget.
    pub fn is_same(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// What kernels that are compiled now run as; of one kernel [`crate::Pipeline::executor`] tells. Looks
    /// for libLLVM at the first call.
    pub fn executor(&self) -> Executor {
        Executor::of_new_code()
    }

    /// Compiles MSL source with default options. Kernels are compiled down to device code when their pipeline
    /// is made.
    pub fn library_from_source(&self, source: &str) -> Result<Library, Error> {
        self.create_library(&LibraryDescriptor::from_source(source))
    }

    /// Compiles source or a file with options, or takes ready code.
    pub fn create_library(&self, descriptor: &LibraryDescriptor<'_>) -> Result<Library, Error> {
        let target = Target::of_device(self.capabilities());
        let options = || self.with_requirements(&descriptor.options);
        let (compiled, label) = match &descriptor.origin {
            Origin::Source(source) => {
                let options = options()?;
                (CompiledLibrary::from_source(source, &options, target)?, options.file_name)
            }
            Origin::File(path) => {
                let compiled = CompiledLibrary::from_file(path, &options()?, target)?;
                (compiled, path.to_string_lossy().into_owned())
            }
            Origin::Artifact(artifact) => {
                let required = self.config().kernels.require_machine_code;
                (CompiledLibrary::from_artifact(Arc::clone(artifact), required), String::new())
            }
        };
        Ok(Library::new(self.clone(), compiled, label))
    }

    /// What the settings require is required of every library.
    pub(crate) fn with_requirements(&self, options: &CompileOptions) -> Result<CompileOptions, Error> {
        let mut options = options.clone();
        options.require_machine_code |= self.config().kernels.require_machine_code;
        options.family = self.family().or(options.family);
        match self.config().kernels.check {
            CheckSetting::Library => {}
            CheckSetting::Bounds => options.check_mode = CheckMode::Bounds,
            CheckSetting::Sanitize => options.check_mode = CheckMode::Sanitize,
            CheckSetting::Off => options.check_mode = CheckMode::Off,
        }
        self.check_supported(options.check_mode)?;
        if options.check_mode == CheckMode::Sanitize {
            sanitizer::apply(&self.config().kernels)?;
        }
        Ok(options)
    }

    /// Refuses checks that the device cannot make.
    fn check_supported(&self, mode: CheckMode) -> Result<(), Error> {
        let (what, is_there) = match mode {
            CheckMode::Bounds | CheckMode::Pages => {
                ("checks of accesses against what is bound", self.capabilities().checks_accesses)
            }
            // It runs in the interpreter.
            CheckMode::Sanitize => ("the sanitizer", Target::of_device(self.capabilities()) == Target::Cpu),
            CheckMode::WhereSupported | CheckMode::Off => return Ok(()),
        };
        if is_there {
            return Ok(());
        }
        let alternative = "run the kernel on the device `cpu`, which has them".to_owned();
        let device = self.name().to_owned();
        Err(DeviceError::Unsupported { device, what: what.to_owned(), alternative }.into())
    }

    /// The device's pipeline of a kernel, known to the history.
    pub(crate) fn pipeline_of(
        &self,
        artifact: &Arc<Artifact>,
        kernel: &str,
    ) -> Result<Arc<dyn HalPipeline>, Error> {
        let code = self.new_code(artifact, kernel)?;
        self.code().add(artifact, &code, None);
        Ok(code)
    }

    /// As [`Device::pipeline_of`], for code that the caller adds to the account.
    pub(crate) fn new_code(
        &self,
        artifact: &Arc<Artifact>,
        kernel: &str,
    ) -> Result<Arc<dyn HalPipeline>, Error> {
        Ok(self.context().pipeline(artifact, kernel)?)
    }

    /// The account of its pipelines' code.
    pub(crate) fn code(&self) -> &CodeAccount {
        &self.shared.code
    }

    /// A queue with the limits that the settings say.
    pub fn queue(&self) -> Result<Queue, Error> {
        self.create_queue(&self.queue_descriptor())
    }

    /// What [`Device::queue`] makes a queue with, to be changed for [`Device::create_queue`].
    pub fn queue_descriptor(&self) -> StreamOptions {
        let options = self.shared.config.streams.options(StreamOptions::default());
        options.tenant(self.tenant.clone())
    }

    /// A queue with a label, limits, a priority, a tenant, a default deadline.
    pub fn create_queue(&self, descriptor: &StreamOptions) -> Result<Queue, Error> {
        let options = self.with_default_deadline(descriptor.clone());
        Ok(Queue::new(self.clone(), self.shared.context.stream(options)?))
    }

    /// The options with the deadline of the settings, if they have the default one.
    fn with_default_deadline(&self, options: StreamOptions) -> StreamOptions {
        let deadline = options.deadline.or(self.shared.config.streams.deadline);
        options.deadline(deadline)
    }

    /// So many queues, at least one; `None`: as many as this device was measured to be worth.
    pub fn queues(&self, count: impl Into<Option<usize>>) -> Result<QueueGroup, Error> {
        self.create_queue_group(count, &self.queue_descriptor())
    }

    /// As [`Device::queues`], all with that descriptor, their numbers after the label.
    pub fn create_queue_group(
        &self,
        count: impl Into<Option<usize>>,
        descriptor: &StreamOptions,
    ) -> Result<QueueGroup, Error> {
        let options = self.with_default_deadline(descriptor.clone());
        Ok(QueueGroup::new(self.clone(), StreamGroup::new(&self.shared.context, count.into(), &options)?))
    }

    /// An event from the device's pool, with the value 0.
    pub fn event(&self) -> Result<Event, Error> {
        Ok(self.shared.context.event()?)
    }

    /// Someone whose queues and buffers are counted and limited together.
    pub fn tenant(&self, name: impl Into<String>, limits: TenantLimits) -> Tenant {
        Tenant::new(name, limits, Arc::clone(self.shared.context.clock()))
    }

    /// The same device for a tenant: buffers, uploads, heaps, imports and acquisitions that are made from
    /// this handle are charged to its quota, and so is the work of queues with the options of
    /// [`Device::queue_descriptor`].
    pub fn for_tenant(&self, tenant: &Tenant) -> Device {
        Device { shared: Arc::clone(&self.shared), tenant: Some(tenant.clone()) }
    }

    /// The history of what queues gave the device, if the settings have one.
    pub fn history(&self) -> Option<&History> {
        self.shared.context.history()
    }

    /// Starts a trace of everything that the queues are given from now on, or gives the one that was started:
    /// `trace.to_chrome_json()` is a file for Perfetto. It keeps the latest 131,072 commands.
    pub fn start_trace(&self) -> Trace {
        self.shared.context.start_trace()
    }

    /// As [`Device::start_trace`], with the latest `commands` commands, and at least one submission.
    pub fn start_trace_with_capacity(&self, commands: usize) -> Trace {
        self.shared.context.start_trace_with_capacity(commands)
    }

    /// The clock by which its limits and waits go.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        self.context().clock()
    }

    pub(crate) fn context(&self) -> &Context {
        &self.shared.context
    }

    /// Whether it has a library of matrix products ([`crate::CommandBuffer::multiply`]); the error says why
    /// not.
    pub fn matrix_products(&self) -> Result<(), Error> {
        Ok(self.shared.hal.matrix_products()?)
    }

    /// What its clock shows now, in nanoseconds, if command buffers can sample it
    /// ([`crate::CommandBuffer::sample_time`]); the error says that they cannot.
    /// [`crate::profile::Timing`] is by the same clock.
    pub fn clock_ns(&self) -> Result<u64, Error> {
        Ok(self.shared.hal.clock_ns()?)
    }

    pub(crate) fn hal(&self) -> &Arc<dyn HalDevice> {
        &self.shared.hal
    }
}

impl Collect for Shared {
    fn collect(&self, sums: &mut Sums) {
        let (device, budget) = ([self.hal.name()], self.budget.stats());
        sums.add(&names::MEMORY_BYTES, &device, budget.reserved as f64);
        sums.add(&names::MEMORY_LIMIT, &device, budget.limit as f64);
        sums.add(&names::BUFFERS, &device, self.registry.totals().count as f64);
    }
}

impl Shared {
    /// Whether it is over that device.
    pub(crate) fn is_of(&self, hal: &Arc<dyn HalDevice>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.own), Arc::as_ptr(hal))
    }

    pub(crate) fn config(&self) -> &RuntimeConfig {
        &self.config
    }
}
