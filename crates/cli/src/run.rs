//! `anymetal run`: one kernel, its arguments from files or generators, its results to files or the terminal.
//!
//! Order of work: read and compile the source, match what the command line gives to the kernel's reflection,
//! fill buffers, launch, save and print. Everything that can be wrong with the input is found before the
//! launch.

mod arguments;
pub(crate) mod contents;
mod results;
pub(crate) mod spec;
mod timing;
mod which;

use std::time::{Duration, Instant};

use anymetal::{ArgumentKind, KernelInfo, Pipeline, Queue};
use anymetal_compiler::hal::command::Grid;
use anymetal_compiler::{Library, Specialisation, Target};
use clap::Args;
use serde_json::{Value, json};

use crate::device_choice::{self, Choice};
use crate::extent::Extent;
use crate::failure::{Failure, report_notes};
use crate::output;
use crate::source_file::SourceFile;
use arguments::{Bound, bind};
use results::{Print, Save};
use spec::ArgumentSpec;
use timing::Times;
use which::Sized;

const EXAMPLES: &str = "\
SPEC is one of:
  path.npy               a NumPy file: bool, integers, float16, float32; any number of dimensions, C order
  path.bin               the bytes of a file, for structures and anything else
  zeros:TYPE:COUNT       COUNT elements of zero
  iota:TYPE:COUNT        0, 1, 2, …
  rand:TYPE:COUNT[:SEED] SplitMix64 from SEED (default 0): floats uniform in [0, 1), integers over all values
  TYPE:VALUE[,VALUE…]    values, such as f32:2.0, u32:640,480 or u64:0xff; also for vectors (u32:1,2,3 for a uint3),
                         arrays and structures of one type, element after element
  hex:BYTES              bytes, such as hex:00ff10
  none                   nothing is bound
TYPE is one of: i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 bool
I is a buffer's index or the argument's name.

Examples:
  anymetal run saxpy.metal -k saxpy --threads 1000 --arg x=iota:f32:1000 --arg y=rand:f32:1000:7 \\
      --arg a=f32:2.0 --print y:8 --save y=out.npy
  anymetal run blur.metal -k blur --threads 640,480 --group 16,16 --arg 0=in.npy --arg 1=zeros:f32:307200 \\
      --constant radius=u32:3 --save 1=out.npy --repeat 20 --json";

/// Run one kernel.
///
/// Compiles FILE.metal, binds the arguments, launches the kernel once (or --repeat times, each from the same
/// inputs), and saves or prints buffers afterwards. Every access is checked against the bindings; a kernel
/// that leaves its buffers, or runs longer than --timeout, ends with exit code 4.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    source: SourceFile,
    /// The kernel
    #[arg(short, long, value_name = "NAME")]
    kernel: String,
    /// The grid in threads; the last threadgroups may be partial
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = Extent::parse, required_unless_present = "groups")]
    threads: Option<Extent>,
    /// The grid in whole threadgroups
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = Extent::parse, conflicts_with = "threads")]
    groups: Option<Extent>,
    /// Threads per threadgroup (default: 256, 16,16 or 8,8,4, or less if the kernel allows less)
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = Extent::parse)]
    group: Option<Extent>,
    /// Bind an argument; once for each buffer of the kernel
    #[arg(long = "arg", value_name = "I=SPEC", value_parser = ArgumentSpec::parse)]
    arguments: Vec<ArgumentSpec>,
    /// Give a threadgroup memory argument its length
    #[arg(long, value_name = "I=BYTES", value_parser = Sized::parse_required)]
    threadgroup_memory: Vec<Sized>,
    /// Write a buffer to a .npy file afterwards
    #[arg(long, value_name = "I=OUT.npy", value_parser = Save::parse)]
    save: Vec<Save>,
    /// Print the first elements of a buffer afterwards (10, or COUNT)
    #[arg(long, value_name = "I[:COUNT]", value_parser = Print::parse)]
    print: Vec<Print>,
    /// The device, see `anymetal devices`; `interpreter` is accepted too
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Launch that often and report minimum, median and 95th percentile of the times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    repeat: u32,
    /// Stop each launch after that many seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = parse_seconds)]
    timeout: Duration,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is no number of seconds"))?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(timeout) if !timeout.is_zero() => Ok(timeout),
        _ => Err("the timeout must be more than 0 seconds".to_owned()),
    }
}

/// The output of a finished run.
struct Outcome {
    device: String,
    interpreted: bool,
    compile: Duration,
    group: [u32; 3],
    times: Times,
    printed: Vec<results::Printed>,
}

/// Does it.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let outcome = execute(args);
    report_notes();
    if args.json {
        output::json(&to_json(args, &outcome))?;
        return outcome.map(drop);
    }
    let outcome = outcome?;
    let [x, y, z] = outcome.group;
    let (what, extent) = match (&args.threads, &args.groups) {
        (Some(threads), _) => ("threads", threads),
        (None, groups) => ("threadgroups", groups.as_ref().unwrap_or(&Extent::ONE)),
    };
    output::line(&format!(
        "{} on {}: {extent} {what} in threadgroups of {x}x{y}x{z}, {}",
        args.kernel,
        outcome.device,
        outcome.times.to_text()
    ))?;
    outcome.printed.iter().try_for_each(|printed| output::line(&printed.to_text()))
}

fn execute(args: &RunArgs) -> Result<Outcome, Failure> {
    let choice = device_choice::choose(args.device.as_deref())?;
    let start = Instant::now();
    let library = args.source.library(Some(choice.target))?;
    let (pipeline, group, interpreted) = make_pipeline(args, &library, &choice)?;
    let compile = start.elapsed();
    let info = pipeline.kernel();
    let arguments = bind(info, &args.arguments, &choice.device)?;
    let threadgroup_memory = threadgroup_memory(info, &args.threadgroup_memory)?;
    // Names are checked before the run, so that a slip does not cost its results.
    let saves = results::resolve_saves(&args.save, info, &arguments)?;
    let prints = results::resolve_prints(&args.print, info, &arguments)?;
    let queue = choice.device.queue()?;
    let mut times = Times::default();
    for round in 0..args.repeat {
        for argument in arguments.iter().filter(|argument| round == 0 || argument.is_written()) {
            argument.fill()?;
        }
        launch(args, &queue, &pipeline, group, &arguments, &threadgroup_memory, &mut times)?;
    }
    saves.iter().try_for_each(|save| save.write())?;
    let printed = prints.iter().map(|print| print.read()).collect::<Result<_, _>>()?;
    Ok(Outcome { device: choice.name, interpreted, compile, group, times, printed })
}

/// Compiles the kernel for the grid and the threadgroup size that the run will have.
fn make_pipeline(
    args: &RunArgs,
    library: &Library,
    choice: &Choice,
) -> Result<(Pipeline, [u32; 3], bool), Failure> {
    let dimensions = args.threads.as_ref().or(args.groups.as_ref()).map_or(1, Extent::dimensions);
    let mut group = args.group.as_ref().map_or(default_group(dimensions, u32::MAX), Extent::to_array);
    if args.group.is_some() {
        check_group(group, choice)?;
    }
    loop {
        let grid = match (&args.threads, &args.groups) {
            (Some(threads), _) => Grid::Threads(threads.to_array()),
            (None, groups) => Grid::Threadgroups(groups.as_ref().unwrap_or(&Extent::ONE).to_array()),
        };
        let specialisation = Specialisation {
            group_size: Some(group),
            whole_threadgroups_only: grid.is_whole(group),
            ..args.source.specialisation()
        };
        let artifact = library.artifact(&args.kernel, &specialisation, choice.target)?;
        let kernel = artifact.kernel(&args.kernel);
        let limit = kernel.map_or(u32::MAX, |kernel| kernel.max_threads_per_threadgroup);
        let fitting = default_group(dimensions, limit);
        if args.group.is_none() && fitting != group {
            group = fitting;
            continue;
        }
        let interpreted = choice.target == Target::Interpreter
            || matches!(artifact.code, anymetal_compiler::hal::artifact::ArtifactCode::Interpreter(_));
        let pipeline = choice.device.library_from_artifact(artifact).pipeline(&args.kernel)?;
        return Ok((pipeline, group, interpreted));
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

/// 256, 16×16 or 8×8×4, made smaller until it fits the limit.
fn default_group(dimensions: usize, limit: u32) -> [u32; 3] {
    let mut size: [u32; 3] = match dimensions {
        0 | 1 => [256, 1, 1],
        2 => [16, 16, 1],
        _ => [8, 8, 4],
    };
    while size.iter().product::<u32>() > limit.max(1) {
        // The last of the largest: keeps rows long.
        let largest = (0..3).max_by_key(|&dimension| size[dimension]).unwrap_or(0);
        size[largest] = (size[largest] / 2).max(1);
    }
    size
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

/// One launch, waited for and timed.
fn launch(
    args: &RunArgs,
    queue: &Queue,
    pipeline: &Pipeline,
    group: [u32; 3],
    arguments: &[Bound],
    threadgroup_memory: &[(u32, u64)],
    times: &mut Times,
) -> Result<(), Failure> {
    let mut launch = queue.launch(pipeline).group_size(group).deadline(args.timeout);
    launch = match (&args.threads, &args.groups) {
        (Some(threads), _) => launch.threads(threads.to_array()),
        (None, groups) => launch.groups(groups.as_ref().unwrap_or(&Extent::ONE).to_array()),
    };
    for argument in arguments {
        launch = match &argument.buffer {
            Some(buffer) => launch.arg_at(argument.index, buffer),
            None => launch.arg_at(argument.index, anymetal::Unbound),
        };
    }
    for &(index, bytes) in threadgroup_memory {
        launch = launch.threadgroup_memory(index, bytes);
    }
    let start = Instant::now();
    let submitted = launch.submit()?;
    let timing = submitted.wait().map_err(Failure::Run)?;
    times.push(start.elapsed(), timing.device_time());
    Ok(())
}

fn to_json(args: &RunArgs, outcome: &Result<Outcome, Failure>) -> Value {
    match outcome {
        Ok(outcome) => {
            let mut object = json!({
                "kernel": args.kernel,
                "device": outcome.device,
                "status": "ok",
                "interpreted": outcome.interpreted,
                "threadgroup": outcome.group,
                "repeat": args.repeat,
                "compile_ns": outcome.compile.as_nanos() as u64,
                "time_ns": outcome.times.to_json(),
                "gpu_time_ns": outcome.times.device_median_ns(),
                "error": null,
            });
            let printed = outcome.printed.iter().map(results::Printed::to_json);
            object["outputs"] = printed.collect();
            object
        }
        Err(failure) => json!({
            "kernel": args.kernel,
            "device": args.device,
            "status": failure.status(),
            "time_ns": null,
            "gpu_time_ns": null,
            "error": failure.to_json(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_groups_fit_the_kernels_limit() {
        assert_eq!(default_group(1, 1024), [256, 1, 1]);
        assert_eq!(default_group(2, 128), [16, 8, 1]);
        assert_eq!(default_group(3, 1), [1, 1, 1]);
    }

    #[test]
    fn timeouts_are_positive_numbers() {
        assert_eq!(parse_seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["0", "-1", "nan", "inf", "x", "1e300"] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
    }
}
