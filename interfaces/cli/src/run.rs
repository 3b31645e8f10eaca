//! `anymetal run`: one kernel, its arguments from files or generators, its results to files or the terminal.
//!
//! Order of work: read and compile the source, match what the command line gives to the kernel's reflection,
//! fill buffers, launch, save and print. Everything that can be wrong with the input is found before the
//! launch.

pub(crate) mod arguments;
pub(crate) mod contents;
pub(crate) mod logs;
mod picture;
mod results;
pub(crate) mod spec;
pub(crate) mod tensors;
pub(crate) mod textures;
pub(crate) mod timing;
pub(crate) mod which;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anymetal::log::Logs;
use anymetal::reflection::Effort;
use clap::Args;
use serde_json::{Value, json};

use crate::call::{KernelCall, SPECS};
use crate::device_choice;
use crate::failure::{Failure, report_notes};
use crate::output;
use crate::report::{self, recorded::Recorded};
use crate::source_file::Checking;
use results::{Print, Save};
use timing::Times;

const EXAMPLES: &str = "\
Examples:
  anymetal run saxpy.metal -k saxpy --threads 1000 --arg x=iota:f32:1000 --arg y=rand:f32:1000:7 \\
      --arg a=f32:2.0 --print y:8 --save y=out.npy
  anymetal run blur.metal -k blur --threads 640,480 --group 16,16 --arg 0=in.npy --arg 1=zeros:f32:307200 \\
      --constant radius=u32:3 --save 1=out.npy --repeat 20 --json
  anymetal run sobel.metal -k sobel --threads 640,480 --arg in=photo.png:rgba8unorm_srgb \\
      --arg out=texture:r8unorm:640x480 --save out=edges.png";

/// Run one kernel.
///
/// Compiles FILE.metal, binds the arguments, launches the kernel once (or --repeat times, each from the same
/// inputs), and saves or prints buffers afterwards. Every access is checked against the bindings; a kernel
/// that leaves its buffers, or runs longer than --timeout, ends with exit code 4.
#[derive(Args, Debug)]
#[command(after_help = format!("{SPECS}\n\n{EXAMPLES}"))]
pub(crate) struct RunArgs {
    #[command(flatten)]
    call: KernelCall,
    #[command(flatten)]
    checking: Checking,
    /// Write a buffer to a .npy file afterwards, or a texture to a .png file
    #[arg(long, value_name = "I=OUT.npy|I=OUT.png", value_parser = Save::parse)]
    save: Vec<Save>,
    /// Print the first elements of a buffer afterwards (10, or COUNT)
    #[arg(long, value_name = "I[:COUNT]", value_parser = Print::parse)]
    print: Vec<Print>,
    /// Launch that often and report minimum, median and 95th percentile of the times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    repeat: u32,
    /// Write a report of the launches to this file; its ending (.html, .json, .csv, .txt) chooses the format
    #[arg(long, value_name = "OUT")]
    report: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// The output of a finished run.
struct Outcome {
    device: String,
    interpreted: bool,
    effort: Effort,
    compile: Duration,
    group: [u32; 3],
    times: Times,
    printed: Vec<results::Printed>,
}

/// Does it.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let mut logs = Vec::new();
    let outcome = execute(args, &mut logs);
    report_notes();
    if args.json {
        let mut object = to_json(args, &outcome);
        if args.call.source.logs() {
            logs::add_to_json(&mut object, &logs);
        }
        output::json(&object)?;
        return outcome.map(drop);
    }
    // Also of a run that fails: a message of `log_fault` is why.
    logs::lines(&logs).iter().try_for_each(|line| output::line(line))?;
    let outcome = outcome?;
    let [x, y, z] = outcome.group;
    output::line(&format!(
        "{} on {}: {} in threadgroups of {x}x{y}x{z}, {}",
        args.call.kernel,
        outcome.device,
        args.call.extent_text(),
        outcome.times.to_text()
    ))?;
    outcome.printed.iter().try_for_each(|printed| output::line(&printed.to_text()))
}

fn execute(args: &RunArgs, logs: &mut Vec<Arc<Logs>>) -> Result<Outcome, Failure> {
    let choice = device_choice::choose(args.call.device.as_deref(), args.call.family)?;
    let start = Instant::now();
    let library = args.call.source.library(Some(choice.target), Some(&args.call.kernel))?;
    let pipeline = args.call.pipeline(&library, &choice, args.checking.mode())?;
    let described = start.elapsed();
    let (launch, queue) = (args.call.bind(&choice, pipeline)?, choice.device.queue()?);
    let start = Instant::now();
    let group = launch.compile(&queue)?;
    let compile = described + start.elapsed();
    let interpreted = !launch.pipeline.executor().is_machine_code();
    let effort = launch.pipeline.reduced_effort().map_or(Effort::Full, |reduced| reduced.effort);
    // Names are checked before the run, so that a slip does not cost its results.
    let saves = results::resolve_saves(&args.save, launch.info(), &launch.arguments)?;
    let pictures = results::resolve_pictures(&args.save, launch.info(), &launch.resources)?;
    let prints = results::resolve_prints(&args.print, launch.info(), &launch.arguments)?;
    let trace = args.report.as_ref().map(|_| choice.device.start_trace());
    let mut times = Times::default();
    for round in 0..args.repeat {
        for argument in launch.arguments.iter().filter(|argument| round == 0 || argument.is_written()) {
            argument.fill()?;
        }
        launch.resources.textures.iter().try_for_each(|texture| texture.fill(round == 0))?;
        launch.submit(&queue, &mut times, logs)?;
    }
    if let (Some(out), Some(trace)) = (&args.report, trace) {
        let title = format!("{} of {}", args.call.kernel, args.call.source.path().display());
        let mut recorded = Recorded::of_trace(&choice.device, &trace, &title);
        recorded.ceilings = report::measured_ceilings(&choice.device, report::Format::of(out));
        report::save(&recorded, out)?;
    }
    saves.iter().try_for_each(|save| save.write())?;
    pictures.iter().try_for_each(|picture| picture.write())?;
    let printed = prints.iter().map(|print| print.read()).collect::<Result<_, _>>()?;
    Ok(Outcome { device: choice.name, interpreted, effort, compile, group, times, printed })
}

fn to_json(args: &RunArgs, outcome: &Result<Outcome, Failure>) -> Value {
    match outcome {
        Ok(outcome) => {
            let mut object = json!({
                "kernel": args.call.kernel,
                "device": outcome.device,
                "status": "ok",
                "interpreted": outcome.interpreted,
                "effort": outcome.effort.word(),
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
            "kernel": args.call.kernel,
            "device": args.call.device,
            "status": failure.status(),
            "time_ns": null,
            "gpu_time_ns": null,
            "error": failure.to_json(),
        }),
    }
}
