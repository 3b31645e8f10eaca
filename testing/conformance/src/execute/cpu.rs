//! The CPU device, or another that is to be tested, through the public crate, with default options but for
//! one: all memory that kernels are given is directly next to pages that may not be accessed, so code that
//! reaches outside ends the process.

use super::{Buffers, ExecError, Executor, Math, Opened, Prepared, Source};
use crate::case::{Arg, Binding, Constant, Grid, Launch};
use anymetal::argument::{Scalar, Unbound};
use anymetal::command::ResourceUsage;
use anymetal::config::{Level, PassOptions};
use anymetal::error::DeviceError;
use anymetal::sanitizer::report::{Report, RunOutcome, SourceTexts};
use anymetal::sanitizer::{self, Finding, KindGroup};
use anymetal::{
    Buffer, CheckMode, CompileOptions, Device, Error, FunctionConstants, Library, LibraryDescriptor,
    MathMode, Pipeline, PipelineDescriptor, Queue,
};
use anymetal_cpu::{CpuDevice, CpuDeviceOptions, Guard};
use anymetal_driver::Compiler;
use anymetal_hal::artifact::ArgumentKind;
use anymetal_hal::command_failure::CommandFailure;
use anymetal_llvm::CpuLevel;
use anymetal_opt::Feature;
use anymetal_opt::pass_options::optional_names;
use anymetal_types::texture::format_constant;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The CPU device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

/// The CPU device, and code without bounds checks: for launches that stay in bounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct UncheckedCpu;

/// The sanitizer: a launch in which it finds something fails.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sanitized;

/// The CPU device, and code without some passes or features of the code generator.
#[derive(Clone, Debug)]
pub struct CpuWithPasses {
    /// Its name in messages.
    name: &'static str,
    passes: PassOptions,
}

impl CpuWithPasses {
    /// At the levels below the default, without each pass that is not required, and without each feature of
    /// the code generator.
    pub fn variants() -> Vec<Self> {
        let levels = Level::ALL.into_iter().filter(|level| *level != Level::default());
        let at = |level| PassOptions::new().level(level);
        let all = levels.map(at).chain(optional_names().map(|name| without(PassOptions::new(), name)));
        all.map(|passes| CpuWithPasses { name: format!("cpu {passes}").leak(), passes }).collect()
    }

    /// Without any feature of the code generator.
    pub fn without_features() -> Self {
        let names = Feature::ALL.iter().map(|feature| feature.name());
        CpuWithPasses { name: "cpu without features", passes: names.fold(PassOptions::new(), without) }
    }
}

fn without(passes: PassOptions, name: &str) -> PassOptions {
    passes.disable(name).expect("passes that are not required can be disabled, and features")
}

/// A device that was made elsewhere. Accesses are checked where it can.
#[derive(Clone, Debug)]
pub struct OnDevice {
    /// Its name in expectations and messages.
    pub name: &'static str,
    /// The device.
    pub device: Device,
}

/// The one device of the process. `ANYMETAL_CPU_GUARD=before` has the pages before the memory, not after it.
pub(crate) fn guarded() -> Result<Device, Error> {
    static DEVICE: OnceLock<Result<Arc<CpuDevice>, Error>> = OnceLock::new();
    let make = || {
        let options = CpuDeviceOptions::from_environment()?;
        let vector_extension = Compiler::cpu_level()?.map(CpuLevel::vector_extension);
        let guard = Some(options.guard.unwrap_or(Guard::Behind));
        Ok(Arc::new(CpuDevice::new(&CpuDeviceOptions { vector_extension, guard, ..options })?))
    };
    DEVICE.get_or_init(make).clone().map(|device| Device::from_hal(device))
}

/// What expectations call it: a GPU has gaps of its own.
fn executor_name() -> &'static str {
    match std::env::var("ANYMETAL_TEST_DEVICE") {
        Ok(name) if name.starts_with("nvidia") => "nvidia",
        _ => "cpu",
    }
}

/// That of the executor without checks.
fn unchecked_executor_name() -> &'static str {
    match executor_name() {
        "nvidia" => "nvidia without checks",
        _ => "cpu without checks",
    }
}

/// The device that is tested: the guarded CPU device, or the one that `ANYMETAL_TEST_DEVICE` names.
fn tested() -> Result<Device, Error> {
    match std::env::var("ANYMETAL_TEST_DEVICE") {
        Ok(name) => Device::by_name(&name),
        Err(_) => guarded(),
    }
}

impl Executor for Cpu {
    fn name(&self) -> &'static str {
        executor_name()
    }

    fn open(&self, source: &Source) -> Result<Box<dyn Opened>, ExecError> {
        opened(source, CheckMode::Bounds)
    }
}

impl Executor for UncheckedCpu {
    fn name(&self) -> &'static str {
        unchecked_executor_name()
    }

    fn expected_as(&self) -> &'static str {
        executor_name()
    }

    fn checks(&self) -> bool {
        false
    }

    fn open(&self, source: &Source) -> Result<Box<dyn Opened>, ExecError> {
        opened(source, CheckMode::Off)
    }
}

impl Executor for CpuWithPasses {
    fn name(&self) -> &'static str {
        self.name
    }

    fn open(&self, source: &Source) -> Result<Box<dyn Opened>, ExecError> {
        let options = options(source, CheckMode::Bounds).passes(self.passes.clone());
        opened_on(&tested().map_err(failed)?, source, &options)
    }
}

impl Executor for OnDevice {
    fn name(&self) -> &'static str {
        self.name
    }

    fn open(&self, source: &Source) -> Result<Box<dyn Opened>, ExecError> {
        opened_on(&self.device, source, &options(source, CheckMode::WhereSupported))
    }
}

impl Executor for Sanitized {
    fn name(&self) -> &'static str {
        "sanitizer"
    }

    fn open(&self, source: &Source) -> Result<Box<dyn Opened>, ExecError> {
        opened(source, CheckMode::Sanitize)
    }
}

fn opened(source: &Source, check_mode: CheckMode) -> Result<Box<dyn Opened>, ExecError> {
    let device = match check_mode {
        CheckMode::Sanitize => guarded(),
        _ => tested(),
    };
    opened_on(&device.map_err(failed)?, source, &options(source, check_mode))
}

fn options(source: &Source, check_mode: CheckMode) -> CompileOptions {
    CompileOptions::new()
        .file_name(source.name.clone())
        .include_folders(source.include_dirs.clone())
        .defines(source.defines.iter().map(|name| ((*name).to_owned(), None)))
        .math_mode(match source.math {
            Math::Safe => MathMode::Safe,
            Math::Fast => MathMode::Fast,
        })
        .check_mode(check_mode)
        .whole_buffers(source.whole_buffers)
}

fn opened_on(
    device: &Device,
    source: &Source,
    options: &CompileOptions,
) -> Result<Box<dyn Opened>, ExecError> {
    let library = device
        .create_library(&LibraryDescriptor::from_source(&source.text).options(options))
        .map_err(|error| ExecError::Compile(error.to_string()))?;
    Ok(Box::new(OpenedLibrary { library, is_sanitized: options.check_mode == CheckMode::Sanitize }))
}

struct OpenedLibrary {
    library: Library,
    is_sanitized: bool,
}

impl Opened for OpenedLibrary {
    fn kernels(&self) -> Vec<String> {
        self.library.kernel_names()
    }

    fn prepare(&self, kernel: &str, constants: &[(u32, Constant)]) -> Result<Box<dyn Prepared>, ExecError> {
        // As with Metal, there may be values for constants that a kernel does not have; `pipeline`
        // refuses them.
        let info = self.library.reflect(kernel).map_err(|error| ExecError::Compile(error.to_string()))?;
        // The first of those that programs do not see.
        let is_hidden = |index: u32| index >= format_constant(0);
        let is_known =
            |index: u32| is_hidden(index) || info.function_constants.iter().any(|known| known.index == index);
        let constants = constants.iter().filter(|(index, _)| is_known(*index));
        let constants = constants.fold(FunctionConstants::new(), |all, &(index, value)| match value {
            Constant::Bool(value) => all.with(index, value),
            // Their bits are those of a word without sign.
            Constant::Integer(value) if is_hidden(index) => {
                all.with(index, Scalar::Integer((value as u64).into()))
            }
            Constant::Integer(value) => all.with(index, value),
            Constant::Float(value) => all.with(index, value),
        });
        let pipeline = self.library.pipeline(PipelineDescriptor::new(kernel).constants(constants.clone()));
        let pipeline = pipeline.map_err(|error| ExecError::Compile(error.to_string()))?;
        let queue = self.library.device().queue().map_err(failed)?;
        let (device, is_sanitized) = (self.library.device().clone(), self.is_sanitized);
        Ok(Box::new(PreparedPipeline { device, queue, pipeline, is_sanitized }))
    }
}

struct PreparedPipeline {
    device: Device,
    queue: Queue,
    pipeline: Pipeline,
    is_sanitized: bool,
}

/// Held from before a launch under the sanitizer until its findings are taken: all launches of the process
/// report to one session.
static SANITIZED: Mutex<()> = Mutex::new(());

impl PreparedPipeline {
    /// Writes the launch's pointers into its buffers; the addresses of all of them.
    fn link(&self, launch: &Launch, buffers: &[Option<Buffer<u8>>]) -> Result<Vec<u64>, ExecError> {
        if launch.pointers.is_empty() {
            return Ok(Vec::new());
        }
        let address = |buffer: &Option<Buffer<u8>>| buffer.as_ref().map_or(Ok(0), Buffer::gpu_address);
        let addresses = buffers.iter().map(address).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let read = |buffer: &Option<Buffer<u8>>| buffer.as_ref().map_or(Ok(Vec::new()), Buffer::read);
        let mut contents = buffers.iter().map(read).collect::<Result<Buffers, _>>().map_err(failed)?;
        launch.write_pointers(&mut contents, &addresses);
        for (buffer, bytes) in buffers.iter().zip(&contents) {
            buffer.as_ref().map_or(Ok(()), |buffer| buffer.write(bytes)).map_err(failed)?;
        }
        Ok(addresses)
    }

    fn takes(&self, arg: &Arg) -> bool {
        let kind = match arg.binding {
            Binding::Alias { .. } | Binding::Buffer { .. } | Binding::Unbound => ArgumentKind::Buffer,
            Binding::Threadgroup(_) => ArgumentKind::ThreadgroupMemory,
        };
        let arguments = &self.pipeline.kernel().arguments;
        arguments.iter().any(|known| known.index == arg.index && known.kind == kind && known.enabled)
    }
}

/// What a binding holds; at least a byte, since there are no empty buffers.
fn contents(arg: &Arg) -> Vec<u8> {
    match &arg.binding {
        Binding::Buffer { bytes, .. } if !bytes.is_empty() => bytes.clone(),
        _ => vec![0],
    }
}

impl Prepared for PreparedPipeline {
    fn run(&self, launch: &Launch) -> Result<Buffers, ExecError> {
        let mut buffers: Vec<Option<Buffer<u8>>> = Vec::new();
        let mut build = self.queue.launch(&self.pipeline);
        for (position, arg) in launch.args.iter().enumerate() {
            let mut buffer = None;
            // As with Metal's encoder, what a kernel does not take may be bound; a launch's builder refuses
            // it.
            if !self.takes(arg) {
                buffers.push(Some(self.device.buffer(&contents(arg)).map_err(failed)?));
                continue;
            }
            build = match &arg.binding {
                Binding::Buffer { bytes, offset } => {
                    let whole = self.device.buffer(bytes).map_err(failed)?;
                    let view = whole.view(*offset..bytes.len()).map_err(failed)?;
                    buffer = Some(whole);
                    build.arg_at(arg.index, view)
                }
                Binding::Alias { .. } => {
                    let place = launch.buffer_of(position);
                    let whole = buffers.get(place).and_then(Option::as_ref);
                    let whole = whole
                        .ok_or_else(|| ExecError::Failed("no buffer comes before its alias".to_owned()))?;
                    let bytes = launch.bound_bytes(position).unwrap_or(0..whole.len());
                    let view = whole.view(bytes).map_err(failed)?;
                    build.arg_at(arg.index, view)
                }
                Binding::Unbound => build.arg_at(arg.index, Unbound),
                Binding::Threadgroup(bytes) => build.threadgroup_memory(arg.index, *bytes),
            };
            buffers.push(buffer);
        }
        let addresses = self.link(launch, &buffers)?;
        if !launch.pointers.is_empty() {
            // What the kernel takes is resident with the access of its arguments.
            let is_taken = |position: usize| {
                let taken = &self.pipeline.kernel().arguments;
                taken.iter().any(|argument| argument.index == launch.args[position].index)
            };
            let others = (0..buffers.len()).filter(|position| !is_taken(*position));
            let others = others.filter_map(|position| buffers[position].as_ref());
            build = build.use_resources(others, ResourceUsage::ReadWrite);
        }
        build = match launch.grid {
            Grid::Threads(threads) => build.threads(threads),
            Grid::Groups(groups) => build.groups(groups),
        };
        let alone = || SANITIZED.lock().unwrap_or_else(PoisonError::into_inner);
        let _alone = self.is_sanitized.then(alone);
        let known = sanitizer::findings().len();
        if self.pipeline.kernel().grid_barriers {
            build = build.cooperative();
        }
        let outcome = build.group_size(launch.group).submit().and_then(|submitted| submitted.wait());
        let read = |buffer: &Option<Buffer<u8>>| match buffer {
            Some(buffer) => buffer.read().map_err(failed),
            None => Ok(Vec::new()),
        };
        let mut buffers = buffers.iter().map(read).collect::<Result<Buffers, _>>()?;
        launch.mark_pointers(&mut buffers, &addresses);
        match outcome {
            Ok(_) => found_since(known, buffers),
            Err(Error::Device(DeviceError::OutOfBounds(place))) => {
                Err(ExecError::Fault(place.to_string(), buffers))
            }
            Err(Error::Device(error @ DeviceError::CommandBufferFailed { .. })) if is_page_fault(&error) => {
                Err(ExecError::Fault(error.to_string(), buffers))
            }
            Err(error) => Err(failed(error)),
        }
    }
}

/// Whether a device says of a command buffer that it accessed memory that it has not.
fn is_page_fault(error: &DeviceError) -> bool {
    matches!(error, DeviceError::CommandBufferFailed { failure: CommandFailure::PageFault, .. })
}

/// What the sanitizer has found since, as an error.
fn found_since(known: usize, buffers: Buffers) -> Result<Buffers, ExecError> {
    let findings = sanitizer::findings().split_off(known);
    if findings.is_empty() {
        return Ok(buffers);
    }
    let is_fault = |finding: &Finding| finding.kind.group() == KindGroup::Bounds;
    let only_faults = findings.iter().all(is_fault);
    let run = RunOutcome::default().launches(1);
    let report = Report::new(findings, run, &Default::default(), &Default::default());
    let text = report.text(&SourceTexts::default(), false);
    Err(if only_faults { ExecError::Fault(text, buffers) } else { ExecError::Failed(text) })
}

fn failed(error: Error) -> ExecError {
    ExecError::Failed(error.to_string())
}
