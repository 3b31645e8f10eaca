//! One launch of one kernel, as the command line describes it: what `run` and `check` share.
//!
//! Owns [`KernelCall`], its options, and [`Launch`], which is made of them. Kernels are compiled and launched
//! through the crate `anymetal`, as programs do it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anymetal::command::Deadline;
use anymetal::log::Logs;
use anymetal::reflection::{ArgumentKind, KernelInfo};
use anymetal::tensor::TensorShape;
use anymetal::tuning::{Key, ShapeClass, default_group_size};
use anymetal::{CheckMode, CompileOptions, Family, Pipeline, PipelineDescriptor, Queue, parsed};
use anymetal_driver::{CompileError, Library, Specialisation};
use clap::Args;

use crate::device_choice::Choice;
use crate::extent::Extent;
use crate::failure::Failure;
use crate::run::arguments::{Bound, bind};
use crate::run::spec::{ArgumentSpec, Spec};
use crate::run::tensors;
use crate::run::textures::{self, Resources};
use crate::run::timing::Times;
use crate::run::which::Sized;
use crate::source_file::SourceFile;

/// How arguments are written, for `--help`.
pub(crate) const SPECS: &str = "\
SPEC is one of:
  path.npy               a NumPy file: bool, integers, float16, float32; any number of dimensions, C order
  path.bin               the bytes of a file, for structures and anything else
  zeros:TYPE:COUNT       COUNT elements of zero
  iota:TYPE:COUNT        0, 1, 2, …
  rand:TYPE:COUNT[:SEED] SplitMix64 from SEED (default 0): floats uniform in [0, 1), integers over all values
  TYPE:VALUE[,VALUE…]    values, such as f32:2.0, u32:640,480 or u64:0xff; also for vectors (u32:1,2,3 for a uint3),
                         arrays and structures of one type, element after element
  hex:BYTES              bytes, such as hex:00ff10
  functions:NAME[,NAME…] a visible_function_table of functions of the file; null for an entry without one
  picture.png[:FORMAT]   a picture as a texture2d, of the file's own format or of rgba8unorm_srgb, r32float, …
  texture:FORMAT:WxH     a texture2d of zeros, such as texture:rgba16float:640x480
  sampler:WORD[,WORD…]   a sampler: nearest, linear, mip_nearest, mip_linear, pixel, clamp_to_edge, clamp_to_zero,
                         repeat, mirrored_repeat, clamp_to_border
  shape:W[xH…][:1xW…]    extents (and strides) of a tensor, the fastest first, beside the option with its elements
  none                   nothing is bound
TYPE is one of: i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 bool
I is the index of a buffer, texture or sampler, or the argument's name.";

/// A kernel, its arguments and its grid.
#[derive(Args, Debug)]
pub(crate) struct KernelCall {
    #[command(flatten)]
    pub(crate) source: SourceFile,
    /// The kernel
    #[arg(short, long, value_name = "NAME")]
    pub(crate) kernel: String,
    /// The grid in threads; the last threadgroups may be partial
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = Extent::parse, required_unless_present = "groups")]
    threads: Option<Extent>,
    /// The grid in whole threadgroups
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = Extent::parse, conflicts_with = "threads")]
    groups: Option<Extent>,
    /// Threads per threadgroup (default: what `anymetal tune` found, or what suits grid and kernel: 256,
    /// 32,8 or 32,4,2 over large grids)
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = Extent::parse)]
    group: Option<Extent>,
    /// Keep all threadgroups in progress at once, for a kernel with barriers of the grid
    #[arg(long)]
    cooperative: bool,
    /// Bind an argument; once for each buffer of the kernel
    #[arg(long = "arg", value_name = "I=SPEC", value_parser = ArgumentSpec::parse)]
    arguments: Vec<ArgumentSpec>,
    /// Give a threadgroup memory argument its length
    #[arg(long, value_name = "I=BYTES", value_parser = Sized::parse_required)]
    threadgroup_memory: Vec<Sized>,
    /// The device, see `anymetal devices`; `interpreter` is accepted too
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    /// Refuse what GPUs of that family refuse, see `anymetal devices --families`
    #[arg(long, value_name = "FAMILY")]
    pub(crate) family: Option<Family>,
    /// Stop each launch after that many seconds; 0: no deadline (default: the setting streams.deadline,
    /// ANYMETAL_STREAMS_DEADLINE, or else 60)
    #[arg(long, value_name = "SECONDS", value_parser = parse_deadline)]
    timeout: Option<Deadline>,
}

/// A call whose arguments have their buffers.
pub(crate) struct Launch<'a> {
    call: &'a KernelCall,
    pub(crate) pipeline: Pipeline,
    /// The threadgroup size; `None`: the crate's choice.
    group: Option<[u32; 3]>,
    pub(crate) arguments: Vec<Bound>,
    pub(crate) resources: Resources,
    shapes: Vec<(u32, TensorShape)>,
    threadgroup_memory: Vec<(u32, u64)>,
}

impl KernelCall {
    /// The grid in words, such as `1000 threads`.
    pub(crate) fn extent_text(&self) -> String {
        match (&self.threads, &self.groups) {
            (Some(threads), _) => format!("{threads} threads"),
            (None, groups) => format!("{} threadgroups", groups.as_ref().unwrap_or(&Extent::ONE)),
        }
    }

    /// The grid with the number of its dimensions, if it is in threads.
    pub(crate) fn threads_given(&self) -> Option<([u32; 3], usize)> {
        self.threads.as_ref().map(|threads| (threads.to_array(), threads.dimensions()))
    }

    /// The threadgroup size, if it is given.
    pub(crate) fn group_given(&self) -> Option<[u32; 3]> {
        self.group.as_ref().map(Extent::to_array)
    }

    /// What the call is known by in the tuning database; `None` for a grid in threadgroups.
    pub(crate) fn tuning_key(
        &self,
        library: &Library,
        specialisation: &Specialisation,
        choice: &Choice,
    ) -> Result<Option<Key>, Failure> {
        let Some((threads, dimensions)) = self.threads_given() else { return Ok(None) };
        let description = library.description(&self.kernel, specialisation, choice.target)?;
        let hardware = &choice.device.capabilities().hardware_name;
        let shape = ShapeClass::of(threads, dimensions);
        Ok(Some(Key::new(&self.kernel, &description.fingerprint, hardware, shape)))
    }

    /// The pipeline of the kernel of a parsed source.
    pub(crate) fn pipeline(
        &self,
        parsed: &Library,
        choice: &Choice,
        check_mode: CheckMode,
    ) -> Result<Pipeline, Failure> {
        self.check_functions(parsed)?;
        let options = CompileOptions::new().check_mode(check_mode).passes(self.source.passes());
        let library = parsed::library(&choice.device, parsed.clone(), choice.target, &options)?;
        Ok(library.pipeline(PipelineDescriptor::new(&self.kernel).constants(self.source.constants()))?)
    }

    /// Tables may have the functions of the file.
    fn check_functions(&self, library: &anymetal_driver::Library) -> Result<(), Failure> {
        let existing = library.visible_functions();
        let given = self.arguments.iter().filter_map(|given| match &given.spec {
            Spec::Functions(names) => Some(names.iter().flatten()),
            _ => None,
        });
        match given.flatten().find(|name| !existing.contains(name)) {
            Some(name) => {
                let (name, existing) = (name.clone(), existing.to_vec());
                Err(CompileError::UnknownFunction { name, existing }.into())
            }
            None => Ok(()),
        }
    }

    /// The threadgroup size of a launch of `kernel` that is not left to the crate: a grid of threadgroups
    /// needs one.
    fn group(&self, kernel: &KernelInfo, choice: &Choice) -> Result<Option<[u32; 3]>, Failure> {
        match (self.group_given(), &self.groups) {
            (Some(group), _) => check_group(group, choice).map(|()| Some(group)),
            (None, Some(groups)) if kernel.required_threads_per_threadgroup.is_none() => {
                let most = |axis| if axis < groups.dimensions() { u32::MAX } else { 1 };
                let limits = choice.device.capabilities().into();
                Ok(Some(default_group_size([0, 1, 2].map(most), kernel, limits)))
            }
            (None, _) => Ok(None),
        }
    }

    /// Makes the arguments' buffers and textures.
    pub(crate) fn bind(&self, choice: &Choice, pipeline: Pipeline) -> Result<Launch<'_>, Failure> {
        let info = pipeline.kernel();
        let group = self.group(info, choice)?;
        let arguments = bind(info, &self.arguments, &choice.device)?;
        let resources = textures::bind(info, &self.arguments, &choice.device)?;
        let shapes = tensors::shapes(info, &self.arguments, &arguments)?;
        let threadgroup_memory = threadgroup_memory(info, &self.threadgroup_memory)?;
        Ok(Launch { call: self, pipeline, group, arguments, resources, shapes, threadgroup_memory })
    }
}

impl Launch<'_> {
    /// The launch with threadgroups of that size.
    pub(crate) fn with_group(mut self, group: [u32; 3]) -> Self {
        self.group = Some(group);
        self
    }

    /// The kernel's description.
    pub(crate) fn info(&self) -> &KernelInfo {
        self.pipeline.kernel()
    }

    /// What the buffers that a launch may write hold, by index.
    pub(crate) fn results(&self) -> Result<Vec<(u32, Vec<u8>)>, Failure> {
        let written = self.arguments.iter().filter(|argument| argument.is_written());
        let read = |argument: &Bound| Some((argument.index, argument.buffer.as_ref()?.read()));
        written.filter_map(read).map(|(index, bytes)| Ok((index, bytes?))).collect()
    }

    /// Compiles the code that [`Launch::submit`] runs, and returns the threadgroup size.
    pub(crate) fn compile(&self, queue: &Queue) -> Result<[u32; 3], Failure> {
        Ok(self.begin(queue).warm_up()?)
    }

    /// The launch as the crate has it.
    fn begin<'q>(&'q self, queue: &'q Queue) -> anymetal::Launch<'q> {
        let mut launch = queue.launch(&self.pipeline).deadline(self.call.timeout.unwrap_or_default());
        launch = match (&self.call.threads, &self.call.groups) {
            (Some(threads), _) => launch.threads(threads.extents()),
            (None, groups) => launch.groups(groups.as_ref().unwrap_or(&Extent::ONE).extents()),
        };
        if let Some(group) = self.group {
            launch = launch.group_size(group);
        }
        for argument in &self.arguments {
            launch = match &argument.buffer {
                Some(buffer) => launch.arg_at(argument.index, buffer),
                None => launch.arg_at(argument.index, anymetal::argument::Unbound),
            };
        }
        for bound in &self.resources.textures {
            launch = launch.texture(bound.index, &bound.texture);
        }
        for (index, sampler) in &self.resources.samplers {
            launch = launch.sampler(*index, sampler);
        }
        for (index, shape) in &self.shapes {
            launch = launch.tensor_shape(*index, shape);
        }
        for &(index, bytes) in &self.threadgroup_memory {
            launch = launch.threadgroup_memory(index, bytes);
        }
        if self.call.cooperative {
            launch = launch.cooperative();
        }
        launch
    }

    /// Launches once and waits; the buffers are as they are. Messages of the kernel are added to `logs`.
    pub(crate) fn submit(
        &self,
        queue: &Queue,
        times: &mut Times,
        logs: &mut Vec<Arc<Logs>>,
    ) -> Result<(), Failure> {
        let launch = self.begin(queue);
        let start = Instant::now();
        let submitted = launch.submit()?;
        let ended = submitted.wait();
        logs.extend(submitted.logs());
        let timing = ended.map_err(Failure::Run)?;
        times.push(start.elapsed(), timing.device_time());
        Ok(())
    }
}

/// A number of seconds; 0: no deadline.
fn parse_deadline(text: &str) -> Result<Deadline, String> {
    let seconds = text.parse().map_err(|_| format!("`{text}` is not a number of seconds"))?;
    Deadline::from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// A number of seconds above 0.
pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is no number of seconds"))?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(timeout) if !timeout.is_zero() => Ok(timeout),
        _ => Err("the timeout must be more than 0 seconds".to_owned()),
    }
}

/// Refuses a size that no kernel can have, before any code is made for it.
fn check_group(group: [u32; 3], choice: &Choice) -> Result<(), Failure> {
    let facts = choice.device.capabilities();
    let threads: u128 = group.iter().map(|&extent| u128::from(extent)).product();
    if threads == 0 || threads > u128::from(facts.max_threads_per_threadgroup) {
        let limit = facts.max_threads_per_threadgroup;
        return Err(Failure::Input(format!(
            "a threadgroup has 1 to {limit} threads, but --group asks for {threads}"
        )));
    }
    Ok(())
}

fn threadgroup_memory(info: &KernelInfo, given: &[Sized]) -> Result<Vec<(u32, u64)>, Failure> {
    let find = |sized: &Sized| {
        let argument = sized.which.find(info, ArgumentKind::ThreadgroupMemory)?;
        Ok((argument.index, sized.size.unwrap_or(0)))
    };
    let found: Vec<(u32, u64)> = given.iter().map(find).collect::<Result<_, Failure>>()?;
    let missing = info.arguments.iter().find(|argument| {
        argument.enabled
            && argument.kind == ArgumentKind::ThreadgroupMemory
            && !found.iter().any(|(index, _)| *index == argument.index)
    });
    match missing {
        Some(argument) => Err(Failure::Input(format!(
            "kernel `{}`: the length of threadgroup memory argument {} `{}` is missing; give --threadgroup-memory \
             {}=BYTES",
            info.name, argument.index, argument.name, argument.name
        ))),
        None => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_are_numbers_and_zero_turns_them_off() {
        assert_eq!(parse_deadline("0.5"), Ok(Deadline::After(Duration::from_millis(500))));
        assert_eq!((parse_deadline("0"), parse_deadline("-0.0")), (Ok(Deadline::Never), Ok(Deadline::Never)));
        for text in ["-1", "nan", "inf", "-inf", "x", "", "1e300"] {
            assert!(parse_deadline(text).is_err(), "{text}");
        }
    }

    #[test]
    fn budgets_are_positive_numbers() {
        assert_eq!(parse_seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["0", "-1", "nan", "inf", "x", "1e300"] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
    }
}
