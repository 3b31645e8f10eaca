//! `anymetal tune`: which threadgroup size is fastest, by measuring; launches without a size have it from
//! then on.

use std::collections::BTreeMap;
use std::time::Duration;

use anymetal::tuning::{SearchOptions, Trial, Tuned, Verdict, database, search};
use anymetal_driver::Specialisation;
use clap::Args;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use serde_json::json;

use crate::call::{KernelCall, Launch, SPECS};
use crate::device_choice::{self, Choice};
use crate::failure::{Failure, report_notes};
use crate::output;
use crate::run::timing::Times;
use crate::source_file::Checking;

/// Find the fastest threadgroup size by measuring.
///
/// Launches the kernel with each size that makes whole SIMD-groups, in turns, and leaves sizes early that are
/// slow. A size whose results differ from those of the default size is refused. What was found is kept by
/// kernel (its source and options), device and class of grid (each axis rounded up to a power of two), and
/// launches that name no size have it from then on: `anymetal run`, and the crate's.
#[derive(Args, Debug)]
#[command(
    after_help = format!("{SPECS}\n\nExample:\n  anymetal tune saxpy.metal -k saxpy --threads 1000000 \\\n      --arg x=rand:f32:1000000 --arg y=rand:f32:1000000 --arg a=f32:2.0")
)]
pub(crate) struct TuneArgs {
    #[command(flatten)]
    call: KernelCall,
    #[command(flatten)]
    checking: Checking,
    /// The sum of launches' times after which the search ends
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = crate::call::parse_seconds)]
    budget: Duration,
    /// The most launches of each size
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Show what was found and keep nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub(crate) fn tune(args: &TuneArgs) -> Result<(), Failure> {
    let choice = device_choice::choose(args.call.device.as_deref(), args.call.family)?;
    let mut bench = Bench::new(args, choice)?;
    let sizes = bench.candidates()?;
    let options = SearchOptions::default().budget(args.budget).rounds(args.rounds);
    let mut failure = None;
    let found = search(&sizes, &options, |size| {
        bench.measure(size).map_err(|error| {
            let text = error.message();
            failure.get_or_insert(error);
            text
        })
    });
    let tuned = found.map_err(|reason| {
        failure.unwrap_or_else(|| Failure::Input(reason.unwrap_or_else(|| "no size was measured".to_owned())))
    })?;
    report_notes();
    let kept = if args.dry_run { None } else { Some(bench.keep(&tuned)?) };
    if args.json {
        return output::json(&to_json(args, &bench, &tuned, kept.as_deref()));
    }
    output::write(&text(args, &bench, &tuned, kept.as_deref()))
}

/// Launches of one kernel with any size.
struct Bench<'a> {
    args: &'a TuneArgs,
    choice: Choice,
    library: anymetal_driver::Library,
    queue: anymetal::Queue,
    launches: BTreeMap<[u32; 3], Launch<'a>>,
    /// What the buffers that are written hold after a launch with the default size, by index.
    expected: Option<Vec<(u32, Vec<u8>)>>,
}

impl<'a> Bench<'a> {
    fn new(args: &'a TuneArgs, choice: Choice) -> Result<Self, Failure> {
        let library = args.call.source.library(Some(choice.target), Some(&args.call.kernel))?;
        let queue = choice.device.queue()?;
        Ok(Bench { args, choice, library, queue, launches: BTreeMap::new(), expected: None })
    }

    fn specialisation(&self) -> Specialisation {
        Specialisation { checks: self.args.checking.is_on(), ..self.args.call.source.specialisation() }
    }

    /// The default size first.
    fn candidates(&self) -> Result<Vec<[u32; 3]>, Failure> {
        let call = &self.args.call;
        let (threads, dimensions) = call.threads_given().ok_or_else(|| {
            Failure::Input(
                "tune needs --threads: a grid in threadgroups has its size in its meaning".to_owned(),
            )
        })?;
        if call.group_given().is_some() {
            return Err(Failure::Input("tune finds the threadgroup size: leave out --group".to_owned()));
        }
        let kernel = self.library.describe(&call.kernel, &self.specialisation())?;
        if let Some([x, y, z]) = kernel.required_threads_per_threadgroup {
            let name = &call.kernel;
            return Err(Failure::Input(format!("kernel `{name}` demands threadgroups of {x}x{y}x{z}")));
        }
        let limits = self.choice.device.capabilities().into();
        Ok(anymetal::tuning::candidates(threads, dimensions, &kernel, limits))
    }

    /// The device's time for one launch of that size, from the same inputs as every other. The first launch
    /// of a size is not measured, but its results are compared.
    fn measure(&mut self, size: [u32; 3]) -> Result<Duration, Failure> {
        if !self.launches.contains_key(&size) {
            let launch = self.launch(size)?;
            once(&self.queue, &launch)?;
            let results = launch.results()?;
            match &self.expected {
                None => self.expected = Some(results),
                Some(expected) if *expected == results => {}
                Some(_) => {
                    return Err(Failure::Input("its results are not those of the default size".to_owned()));
                }
            }
            self.launches.insert(size, launch);
        }
        let launch = self.launches.get(&size).ok_or_else(|| Failure::Input("no such size".to_owned()))?;
        once(&self.queue, launch)
    }

    fn launch(&self, size: [u32; 3]) -> Result<Launch<'a>, Failure> {
        let call = &self.args.call;
        let pipeline = call.pipeline(&self.library, &self.choice, self.args.checking.mode())?;
        let launch = call.bind(&self.choice, pipeline)?.with_group(size);
        launch.compile(&self.queue)?;
        Ok(launch)
    }

    /// Puts the result into the database; says where that is.
    fn keep(&self, tuned: &Tuned) -> Result<String, Failure> {
        let key = self.args.call.tuning_key(&self.library, &self.specialisation(), &self.choice)?;
        let key = key.ok_or_else(|| Failure::Input("tune needs --threads".to_owned()))?;
        let database = database();
        database.insert(key, tuned.entry()).map_err(|error| Failure::Input(error.to_string()))?;
        Ok(match database.path() {
            Some(path) => path.display().to_string(),
            None => return Err(Failure::Input("there is no cache folder to keep the result in".to_owned())),
        })
    }
}

fn once(queue: &anymetal::Queue, launch: &Launch<'_>) -> Result<Duration, Failure> {
    launch.arguments.iter().try_for_each(crate::run::arguments::Bound::fill)?;
    let mut times = Times::default();
    launch.submit(queue, &mut times, &mut Vec::new())?;
    Ok(Duration::from_nanos(times.device_median_ns()))
}

fn size_text([x, y, z]: [u32; 3]) -> String {
    format!("{x}x{y}x{z}")
}

fn verdict(trial: &Trial, best: bool) -> String {
    match &trial.verdict {
        _ if best => "best".to_owned(),
        Verdict::Finished => String::new(),
        Verdict::TooSlow => "left early".to_owned(),
        Verdict::Refused(reason) => reason.lines().next().unwrap_or_default().to_owned(),
        other => other.word().replace('_', " "),
    }
}

fn text(args: &TuneArgs, bench: &Bench<'_>, tuned: &Tuned, kept: Option<&str>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(["threadgroup", "median", "best", "launches", ""]);
    let mut order: Vec<(usize, &Trial)> = tuned.trials.iter().enumerate().collect();
    order.sort_by_key(|(_, trial)| (trial.samples.count() == 0, trial.samples.median()));
    for (place, trial) in order {
        let time =
            |time: Duration| if trial.samples.count() == 0 { String::new() } else { format!("{time:.1?}") };
        let default = if place == 0 { ", default" } else { "" };
        let said = format!("{}{default}", verdict(trial, place == tuned.best));
        table.add_row([
            size_text(trial.size),
            time(trial.samples.median()),
            time(trial.samples.best()),
            trial.samples.count().to_string(),
            said.trim_start_matches(", ").to_owned(),
        ]);
    }
    for column in table.column_iter_mut().skip(1).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let (kernel, extent, device) = (&args.call.kernel, args.call.extent_text(), &bench.choice.name);
    let (best, default) = (size_text(tuned.best().size), size_text(tuned.default().size));
    let found = match tuned.best {
        0 => format!("{default}, the default, is the fastest"),
        _ => format!("{best} is {:.2} times as fast as {default}", tuned.speedup()),
    };
    let kept = kept.map_or_else(|| "not kept".to_owned(), |path| format!("kept in {path}"));
    format!("{kernel} on {device}, {extent}\n{}\n{found}; {kept}\n", table.trim_fmt())
}

fn to_json(args: &TuneArgs, bench: &Bench<'_>, tuned: &Tuned, kept: Option<&str>) -> serde_json::Value {
    let trial = |(place, trial): (usize, &Trial)| {
        json!({
            "threadgroup": trial.size,
            "median_ns": trial.samples.median().as_nanos() as u64,
            "min_ns": trial.samples.best().as_nanos() as u64,
            "launches": trial.samples.count(),
            "verdict": trial.verdict.word(),
            "reason": match &trial.verdict { Verdict::Refused(reason) => Some(reason), _ => None },
            "default": place == 0,
        })
    };
    json!({
        "kernel": args.call.kernel,
        "device": bench.choice.name,
        "grid": args.call.threads_given().map(|(threads, _)| threads),
        "best": tuned.best().size,
        "default": tuned.default().size,
        "speedup": tuned.speedup(),
        "trials": tuned.trials.iter().enumerate().map(trial).collect::<Vec<_>>(),
        "database": kept,
    })
}
