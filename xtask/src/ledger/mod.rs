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
                _ => return Err(USAGE.to_owned()),
            }
        }
        if options.program.as_os_str().is_empty() || options.rounds == 0 || options.repeat == 0 {
            return Err(USAGE.to_owned());
        }
        Ok(options)
    }

    fn includes(&self, workload: &Workload) -> bool {
        self.set.as_ref().is_none_or(|set| *set == workload.set) && workload.name().contains(&self.kernel)
    }
}

/// Measures, and adds what it measured to the results; `false` if a kernel's results depend on a switch.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let options = Options::parse(arguments)?;
    let program = Program { path: options.program.clone(), repeat: options.repeat };
    let mut switches: Vec<&str> = options.switches.iter().map(String::as_str).collect();
    if switches.is_empty() {
        switches = optional_names().collect();
    }
    let mut results = Results::read(root)?;
    results.describe(&program, &options)?;
    let mut agree = true;
    for workload in workload::all(root, options.suites.as_deref())? {
        if !options.includes(&workload) {
            continue;
        }
        let with = program.code(&workload, None)?;
        for &switch in &switches {
            let measurement = match program.code(&workload, Some(switch))? == with {
                true => Measurement::same_code(&workload, switch),
                false => measure(&program, &options, &workload, switch)?,
            };
            if !measurement.is_same_code() {
                println!("{measurement}");
            }
            agree &= measurement.agrees;
            results.add(measurement);
        }
        // Whatever ends a long measurement leaves what was measured.
        results.write(root)?;
    }
    results.print_means();
    Ok(agree)
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
    let ratio = |with: &[f64], without: &[f64]| least(without) / least(with);
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
