//! `anymetal trace`: runs a described workload and writes a timeline.
//!
//! [`description`] is the file's form, [`program`] turns it into queues, buffers, launches and graphs.
//! Everything that can be wrong with the description is found before anything runs.

mod description;
mod program;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anymetal::profile::Trace;
use anymetal::{CheckMode, CompileOptions, Device, Family};
use clap::Args;

use crate::device_choice;
use crate::failure::Failure;
use crate::output;
use crate::report::recorded::Work;
use description::Description;
use program::Program;

const FORMAT: &str = r#"The file, in TOML:
  source = "kernels.metal"          # relative to the file
  repeat = 3                        # rounds; each begins when the one before has ended

  [buffers]                         # SPEC as for `anymetal run --arg`
  image = "rand:u8:65536:7"
  blurred = "zeros:u8:65536"

  [[queue]]
  name = "compute"
  priority = "high"                 # low, normal or high; normal if missing

  [[step]]                          # a submission; steps of one queue run in order
  name = "blur"
  queue = "compute"
  kernel = "blur"
  args = ["image", "blurred", "u32:256"]   # buffers, scalars, hex:, none; in the order of their indices
  threads = [256, 256]              # or groups = [...]
  group = [32, 8]                   # optional with threads
  flop = 65536                      # of one run, for the roofline of `anymetal report`; optional, as bytes
  bytes = 131072
  after = ["upload"]                # earlier steps of other queues

  [[step]]                          # instead of a kernel: copy = ["from", "to"], or fill = "buffer" with value = 0,
  name = "all"                      # or a graph, over several queues
  graph = "branches"
  queues = ["compute", "other"]

  [[graph]]
  name = "branches"
  [[graph.node]]                    # as a step, without queue; nodes that touch the same buffers keep their order
  name = "double"
  kernel = "scale"
  args = ["x", "y", "f32:2"]
  threads = 1000"#;

/// Run a described workload and write when what ran, for Perfetto.
///
/// The timeline has a track for each queue with its submissions and their commands, arrows for what waited
/// for what, and counters. Open it at ui.perfetto.dev or chrome://tracing.
#[derive(Args, Debug)]
#[command(after_help = FORMAT)]
pub(crate) struct TraceArgs {
    /// The workload
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// Where to write the timeline
    #[arg(short, long, value_name = "OUT.json")]
    out: PathBuf,
    /// The device to use (see `anymetal devices`)
    #[arg(long)]
    device: Option<String>,
    /// Refuse what GPUs of that family refuse, see `anymetal devices --families`
    #[arg(long, value_name = "FAMILY")]
    family: Option<Family>,
}

/// Runs a workload with every launch under the sanitizer.
pub(crate) fn run_under_sanitizer(
    file: &Path,
    device: Option<&str>,
    family: Option<Family>,
) -> Result<(), Failure> {
    let description = Description::read(file)?;
    let device = device_choice::choose(device, family)?.device;
    let options = CompileOptions::new().check_mode(CheckMode::Sanitize);
    let program = Program::new(&device, &description, file, &options)?;
    (0..description.repeat.get()).try_for_each(|_| program.run().map_err(Failure::Run))
}

/// A workload that ran.
pub(crate) struct Ran {
    pub(crate) device: Device,
    pub(crate) trace: Trace,
    pub(crate) rounds: u32,
    /// The counted work of one run, by name.
    pub(crate) work: BTreeMap<String, Work>,
}

/// Runs a workload and records it.
pub(crate) fn run_traced(file: &Path, device: Option<&str>, family: Option<Family>) -> Result<Ran, Failure> {
    let description = Description::read(file)?;
    let device = device_choice::choose(device, family)?.device;
    let program = Program::new(&device, &description, file, &CompileOptions::default())?;
    let trace = device.start_trace();
    let rounds = description.repeat.get();
    for _ in 0..rounds {
        program.run().map_err(Failure::Run)?;
    }
    let work = description
        .work()
        .into_iter()
        .map(|(name, counted)| (name, Work { flop: counted.flop as f64, bytes: counted.bytes as f64 }));
    Ok(Ran { work: work.collect(), device, trace, rounds })
}

/// Runs the subcommand.
pub(crate) fn trace(args: &TraceArgs) -> Result<(), Failure> {
    let Ran { trace, rounds, .. } = run_traced(&args.file, args.device.as_deref(), args.family)?;
    let submissions = trace.submissions().len();
    output::stream(&args.out, |out| trace.write_chrome_json(out))?;
    let path = args.out.display();
    output::line(&format!("{rounds} rounds, {submissions} submissions; timeline in {path}"))
}
