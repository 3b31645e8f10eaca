//! `cargo xtask ledger`: the gain of each pass and each feature of the code generator, on three sets of
//! kernels.
//!
//! For each kernel of `xtask/ledger/workloads.toml` and each switch that `--disable-pass` takes: if the code
//! differs without it, launches with and without it take turns, and the results are compared. Writes
//! `xtask/ledger/results.json`, from which `cargo xtask gen` makes the table of `docs/reference/passes.md`.
//! Start with [`run`].

mod program;
pub(crate) mod results;
mod workload;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anymetal_opt::pass_options::optional_names;

use program::Program;
use results::{Measurement, Results};
use workload::Workload;

const USAGE: &str = "\
usage: cargo xtask ledger --program ANYMETAL [OPTION...]

  --program FILE   the command-line tool, best of a release build
  --suites FOLDER  where `testing/suites/suites.py get` put the suites; without it their kernels are left out
  --set NAME       only kernels of this set: bench, suites, corpora
  --kernel TEXT    only kernels whose name contains the text
  --switch NAME    only this pass or feature; may be given several times
  --rounds N       rounds in which launches with and without take turns (default: 5)
  --repeat N       launches of a round (default: 5)
  --jobs N         kernels that are measured at once, each on its share of the processors (default: 1)
  --compile-time   measure compile time, which only a release build has the right to
";

/// The options of the command line.
struct Options {
    program: PathBuf,
    suites: Option<PathBuf>,
    set: Option<String>,
    kernel: String,
    switches: Vec<String>,
    rounds: usize,
    repeat: usize,
    jobs: usize,
    compile_time: bool,
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            program: PathBuf::new(),
            suites: None,
            set: None,
            kernel: String::new(),
            switches: Vec::new(),
            rounds: 5,
            repeat: 5,
            jobs: 1,
            compile_time: false,
        };
        let mut rest = arguments.iter();
        while let Some(&option) = rest.next() {
            if option == "--compile-time" {
                options.compile_time = true;
                continue;
            }
            let value = (*rest.next().ok_or(USAGE)?).to_owned();
            let number = || value.parse().map_err(|_| format!("`{value}` is not a number"));
            match option {
                "--program" => options.program = value.into(),
                "--suites" => options.suites = Some(value.into()),
                "--set" => options.set = Some(value),
                "--kernel" => options.kernel = value,
                "--switch" if optional_names().any(|name| name == value) => options.switches.push(value),
                "--switch" => return Err(format!("there is no pass or feature `{value}`")),
                "--rounds" => options.rounds = number()?,
                "--repeat" => options.repeat = number()?,
                "--jobs" => options.jobs = number()?,
                _ => return Err(USAGE.to_owned()),
            }
        }
        let counts = [options.rounds, options.repeat, options.jobs];
        if options.program.as_os_str().is_empty() || counts.contains(&0) {
            return Err(USAGE.to_owned());
        }
        Ok(options)
    }

    /// The threads that each launch may use.
    fn threads(&self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        processors.div_ceil(self.jobs)
    }

    fn includes(&self, workload: &Workload) -> bool {
        self.set.as_ref().is_none_or(|set| *set == workload.set) && workload.name().contains(&self.kernel)
    }
}

/// Measures, and adds what it measured to the results; `false` if a kernel's results depend on a switch.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let mut options = Options::parse(arguments)?;
    if options.switches.is_empty() {
        options.switches = optional_names().map(str::to_owned).collect();
    }
    let mut results = Results::read(root)?;
    results.describe(&options)?;
    let mut workloads = workload::all(root, options.suites.as_deref())?;
    workloads.retain(|workload| options.includes(workload));
    let queue = Mutex::new(workloads.iter());
    let results = Mutex::new(results);
    std::thread::scope(|scope| {
        let work = |job| {
            let program = Program::new(&options, job);
            while let Some(workload) = next(&queue) {
                let measured = measure_switches(&program, &options, workload).inspect_err(|_| {
                    // The other jobs finish their kernels and stop.
                    while next(&queue).is_some() {}
                })?;
                let mut results = results.lock().expect("no job panics while it has the results");
                measured.into_iter().for_each(|measurement| results.add(measurement));
                // Whatever ends a long measurement leaves what was measured.
                results.write(root)?;
            }
            Ok::<(), String>(())
        };
        let jobs = Vec::from_iter((0..options.jobs).map(|job| scope.spawn(move || work(job))));
        jobs.into_iter().try_for_each(|job| job.join().expect("a job returns its errors"))
    })?;
    let results = results.into_inner().expect("no job panics while it has the results");
    results.print_means();
    Ok(workloads.iter().all(|workload| results.agree_on(workload)))
}

/// The next kernel to measure.
fn next<'a>(queue: &Mutex<impl Iterator<Item = &'a Workload>>) -> Option<&'a Workload> {
    queue.lock().expect("an iterator of a slice does not panic").next()
}

/// Measures one kernel with and without each switch.
fn measure_switches(
    program: &Program,
    options: &Options,
    workload: &Workload,
) -> Result<Vec<Measurement>, String> {
    let with = program.code(workload, None)?;
    let mut measurements = Vec::new();
    for switch in &options.switches {
        let measurement = match program.code(workload, Some(switch))? == with {
            true => Measurement::same_code(workload, switch),
            false => measure(program, options, workload, switch)?,
        };
        if !measurement.is_same_code() {
            println!("{measurement}");
        }
        measurements.push(measurement);
    }
    Ok(measurements)
}

/// Launches and compiles a kernel with and without a pass or feature in turns.
fn measure(
    program: &Program,
    options: &Options,
    workload: &Workload,
    switch: &str,
) -> Result<Measurement, String> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    let (mut compile_with, mut compile_without) = (Vec::new(), Vec::new());
    let mut agrees = true;
    for round in 0..options.rounds {
        let one = program.launch(workload, None)?;
        let other = program.launch(workload, Some(switch))?;
        if round == 0 {
            agrees = workload.agree(&one.output, &other.output);
        }
        with.push(one.time_ns);
        without.push(other.time_ns);
        if options.compile_time {
            compile_with.push(program.compile(workload, None)?);
            compile_without.push(program.compile(workload, Some(switch))?);
        }
    }
    // More digits than these are noise.
    let ratio = |with: &[f64], without: &[f64]| (1e3 * least(without) / least(with)).round() / 1e3;
    Ok(Measurement {
        set: workload.set.clone(),
        kernel: workload.name(),
        switch: switch.to_owned(),
        run_time: Some(ratio(&with, &without)),
        compile_time: options.compile_time.then(|| ratio(&compile_with, &compile_without)),
        agrees,
    })
}

/// The least of some times: what disturbs a launch only makes it longer.
fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}
