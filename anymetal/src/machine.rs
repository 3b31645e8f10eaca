//! The devices of this machine, each once in a process for each set of settings.
//!
//! Owns the process's CPU device, its GPUs and the list of devices in use. Invariant: two requests for the
//! same device with equal settings give the same [`Device`], so that its pool, budget and listing are the
//! same, as long as a handle of the first is alive; the default device lives as long as the process. Errors
//! are not remembered: the next request tries again. Concurrency: one lock for each of the four statics,
//! taken in the order default, then devices, CPU or GPUs; none of the last three while holding another.

use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};

use anymetal_core::config::{Layers, RuntimeConfig};
use anymetal_driver::{Compiler, Isolate, suggest};
use anymetal_environment::VARIABLES;
use anymetal_hal::clock::SystemClock;
use anymetal_hal::device::Device as HalDevice;
use anymetal_hal::error::DeviceError;

use crate::apple;
use crate::cpu;
use crate::device::{Device, Shared};
use crate::error::Error;
use crate::notice::{self, NoticeKind};
use crate::nvidia;

/// The name of the CPU device.
const CPU_NAME: &str = "cpu";

static DEFAULT: Mutex<Option<Device>> = Mutex::new(None);
static DEVICES: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());
static CPU: Mutex<Option<Arc<dyn HalDevice>>> = Mutex::new(None);
static GPUS: Mutex<Vec<(Gpu, Arc<dyn HalDevice>)>> = Mutex::new(Vec::new());

/// A GPU by its number among those of its maker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gpu {
    Apple(u32),
    Nvidia(u32),
}

/// The default device, made by the first request that succeeds.
pub(crate) fn default_device() -> Result<Device, Error> {
    let mut default = lock(&DEFAULT);
    match &*default {
        Some(device) => Ok(device.clone()),
        None => Ok(default.insert(with_settings(&Layers::load(None)?)?).clone()),
    }
}

/// The device that the settings name, or else the machine's best.
pub(crate) fn with_settings(settings: &Layers) -> Result<Device, Error> {
    let config = settings.resolve()?;
    Ok(shared_device(default_hal(&config)?, config))
}

/// All devices with those settings: the default one first, then GPUs, then the CPU.
pub(crate) fn all(settings: &Layers) -> Result<Vec<Device>, Error> {
    let config = settings.resolve()?;
    let default = default_hal(&config)?;
    let mut devices = every()?;
    devices.retain(|hal| !Arc::ptr_eq(hal, &default));
    devices.insert(0, default);
    Ok(devices.into_iter().map(|hal| shared_device(hal, config.clone())).collect())
}

/// The device that the settings name, or else the first GPU that starts and that code can be made for, or
/// else the CPU. Where kernels run in a worker process, which only the CPU's do, it is the CPU.
fn default_hal(config: &RuntimeConfig) -> Result<Arc<dyn HalDevice>, Error> {
    if let Some(name) = &config.device {
        return named(name);
    }
    let in_worker = matches!(Isolate::from_environment(), Isolate::Run(_));
    let best = Gpu::all().filter(|gpu| !in_worker && gpu.has_compiler()).find_map(|gpu| started(gpu).ok());
    best.map_or_else(started_cpu, Ok)
}

/// Notes variables that nothing reads, which are misspelt ones.
fn report_unknown_variables() {
    static REPORTED: Once = Once::new();
    REPORTED.call_once(|| {
        for name in anymetal_environment::unknown() {
            let meant = suggest(&name, VARIABLES.iter().map(|variable| variable.name));
            let hint = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
            notice::emit(
                NoticeKind::Settings,
                format!("nothing reads the environment variable {name}{hint}"),
            );
        }
    });
}

/// The device in use with these settings, or a new one.
fn shared_device(hal: Arc<dyn HalDevice>, mut config: RuntimeConfig) -> Device {
    report_unknown_variables();
    // By which name it was found makes no difference.
    config.device = Some(hal.name().to_owned());
    let mut devices = lock(&DEVICES);
    devices.retain(|device| device.strong_count() > 0);
    let same = |device: &Arc<Shared>| device.is_of(&hal) && *device.config() == config;
    if let Some(shared) = devices.iter().filter_map(Weak::upgrade).find(same) {
        return Device { shared, tenant: None };
    }
    let device = Device::from_parts(hal, config, SystemClock::shared());
    devices.push(Arc::downgrade(&device.shared));
    device
}

/// The one CPU device of the process.
fn started_cpu() -> Result<Arc<dyn HalDevice>, Error> {
    let mut started = lock(&CPU);
    match &*started {
        Some(device) => Ok(Arc::clone(device)),
        None => Ok(Arc::clone(started.insert(cpu::open()?))),
    }
}

impl Gpu {
    /// The makers, with how their names begin.
    const MAKERS: [(&str, fn(u32) -> Gpu); 2] = [("apple", Gpu::Apple), ("nvidia", Gpu::Nvidia)];

    /// All that there are.
    fn all() -> impl Iterator<Item = Gpu> {
        (0..apple::count()).map(Gpu::Apple).chain((0..nvidia::count()).map(Gpu::Nvidia))
    }

    fn name(self) -> String {
        match self {
            Gpu::Apple(number) => format!("apple:{number}"),
            Gpu::Nvidia(number) => format!("nvidia:{number}"),
        }
    }

    /// The one that a name means: `nvidia:1`, or `nvidia` for the first.
    fn of_name(name: &str) -> Option<Gpu> {
        let name = name.to_ascii_lowercase();
        let (number, make) = Gpu::MAKERS
            .iter()
            .find_map(|(maker, make)| name.strip_prefix(maker).map(|number| (number, make)))?;
        match number {
            "" => Some(make(0)),
            number => number.strip_prefix(':').and_then(|number| number.parse().ok()).map(make),
        }
    }

    /// Why there are none of its maker.
    fn why_none(self) -> Option<String> {
        match self {
            Gpu::Apple(_) => apple::why_none(),
            Gpu::Nvidia(_) => nvidia::why_none(),
        }
    }

    /// Whether kernels can be compiled for it here: for Apple's the system does that.
    fn has_compiler(self) -> bool {
        match self {
            Gpu::Apple(_) => true,
            Gpu::Nvidia(_) => Compiler::llvm().is_ok_and(|llvm| llvm.info().has_nvptx),
        }
    }

    fn open(self) -> Result<Arc<dyn HalDevice>, DeviceError> {
        match self {
            Gpu::Apple(number) => apple::open(number),
            Gpu::Nvidia(number) => nvidia::open(number),
        }
    }
}

/// The GPUs of the process, each started when it is first asked for.
fn started(gpu: Gpu) -> Result<Arc<dyn HalDevice>, Error> {
    let mut started = lock(&GPUS);
    if let Some((_, device)) = started.iter().find(|(known, _)| *known == gpu) {
        return Ok(Arc::clone(device));
    }
    let device = gpu.open()?;
    started.push((gpu, Arc::clone(&device)));
    Ok(device)
}

/// Every device that starts; GPUs first.
fn every() -> Result<Vec<Arc<dyn HalDevice>>, Error> {
    let mut devices: Vec<_> = Gpu::all().filter_map(|gpu| started(gpu).ok()).collect();
    if cpu::AVAILABLE {
        devices.push(started_cpu()?);
    }
    Ok(devices)
}

fn named(name: &str) -> Result<Arc<dyn HalDevice>, Error> {
    let name = name.trim();
    if CPU_NAME.eq_ignore_ascii_case(name) {
        return started_cpu();
    }
    let unknown = || {
        let cpu = cpu::AVAILABLE.then(|| CPU_NAME.to_owned());
        let existing = cpu.into_iter().chain(Gpu::all().map(Gpu::name)).collect();
        DeviceError::UnknownDevice { name: name.to_owned(), existing }
    };
    let gpu = Gpu::of_name(name).ok_or_else(unknown)?;
    if let Some(reason) = gpu.why_none() {
        return Err(DeviceError::Unavailable { device: name.to_owned(), reason }.into());
    }
    if !Gpu::all().any(|known| known == gpu) {
        return Err(unknown().into());
    }
    started(gpu)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
