//! What telemetry costs: small dispatches with nothing listening, with metrics on, and with everything on,
//! against a build without telemetry.
//!
//! `cargo run --release -p anymetal-service --example telemetry_cost --features otlp`
//!
//! Each of the four is a separate process, because a recorder cannot be removed. The process without
//! telemetry is the example `dispatch_cost` of `anymetal`, which this program builds. They measure by turns,
//! so that a busy moment of the machine hits all alike, and the figures are medians of the ratios within a
//! turn. "Everything" is a recorder, `/metrics`, health, and OTLP to a collector that answers, one in 100
//! command buffers traced, which is the default. Goals: nothing listening under 1 %, everything under 5 %.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its terminal")]

mod collector;
mod listeners;
#[path = "../../../anymetal/examples/dispatch_cost/work.rs"]
mod work;

use std::error::Error as StdError;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

type Failure = Box<dyn StdError>;

/// What is measured, in order: each by the clock, and by the submitting thread's time on a processor, which
/// other programs of a busy machine change less.
const FIGURES: [&str; 6] = [
    "empty dispatch, submitted and waited for",
    "  its processor time",
    "4096 threads, submitted and waited for",
    "  its processor time",
    "the same, 100 in a command buffer, each",
    "  its processor time",
];

/// Measurements of each.
const TURNS: usize = 41;
/// The argument that makes this program measure.
const MEASURE: &str = "--measure";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [MEASURE, mode] => listeners::device(mode).and_then(|device| work::measure_lines(&device)),
        [] => compare(),
        _ => Err("usage: telemetry_cost".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("telemetry_cost: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A process that measures when it is told.
struct Measurer {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Measurer {
    fn start(program: &Path, mode: &str, collector: &str) -> Result<Self, Failure> {
        let mut command = Command::new(program);
        command.args([MEASURE, mode]).env("TELEMETRY_COST_COLLECTOR", collector);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let to = child.stdin.take().ok_or("no input")?;
        let from = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Measurer { child, to, from })
    }

    /// Nanoseconds for each dispatch, of each figure.
    fn turn(&mut self) -> Result<Vec<f64>, Failure> {
        writeln!(self.to)?;
        self.to.flush()?;
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        let figures: Vec<f64> = line.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        if figures.len() == FIGURES.len() { Ok(figures) } else { Err("a measuring process ended".into()) }
    }
}

impl Drop for Measurer {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

fn compare() -> Result<(), Failure> {
    let folder = std::env::temp_dir().join(format!("telemetry-cost-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let compared = compare_in(&folder);
    let _left = std::fs::remove_dir_all(&folder);
    compared
}

fn compare_in(folder: &Path) -> Result<(), Failure> {
    // A copy, because the build below may put another program in its place.
    let with = folder.join("with");
    std::fs::copy(std::env::current_exe()?, &with)?;
    let without = folder.join("without");
    std::fs::copy(build_without()?, &without)?;
    let collector = collector::start()?;
    let modes: [(&str, &Path, &str); 4] = [
        ("without telemetry", &without, "off"),
        ("nothing listening", &with, "off"),
        ("metrics on", &with, "metrics"),
        ("everything on", &with, "all"),
    ];
    let mut measurers = Vec::new();
    for (_, program, mode) in modes {
        measurers.push(Measurer::start(program, mode, collector.endpoint())?);
    }
    // The first turn compiles.
    for measurer in &mut measurers {
        measurer.turn()?;
    }
    let mut turns: Vec<Vec<Vec<f64>>> = Vec::new();
    for turn in 0..TURNS {
        let mut figures = vec![Vec::new(); measurers.len()];
        for place in 0..measurers.len() {
            // Who begins changes.
            let place = (place + turn) % measurers.len();
            figures[place] = measurers[place].turn()?;
        }
        turns.push(figures);
    }
    print(&modes.map(|(name, ..)| name), &turns);
    println!("requests that the collector had: {}", collector.requests());
    Ok(())
}

/// Builds the program without telemetry, and returns its path.
fn build_without() -> Result<PathBuf, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["build", "--release", "--quiet", "-p", "anymetal", "--example", "dispatch_cost"];
    let output = Command::new(cargo)
        .args(arguments)
        .args(["--no-default-features", "--features=cpu", "--message-format=json-render-diagnostics"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    for line in text.lines() {
        let message: serde_json::Value = serde_json::from_str(line)?;
        if message["target"]["name"] == "dispatch_cost"
            && let Some(program) = message["executable"].as_str()
        {
            return Ok(program.into());
        }
    }
    Err("the build without telemetry gave no program".into())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn print(modes: &[&str], turns: &[Vec<Vec<f64>>]) {
    for (figure, name) in FIGURES.iter().enumerate() {
        println!("{name}");
        for (place, mode) in modes.iter().enumerate() {
            let own = median(turns.iter().map(|turn| turn[place][figure]).collect());
            let ratios = turns.iter().map(|turn| turn[place][figure] / turn[0][figure]);
            let cost = (median(ratios.collect()) - 1.0) * 100.0;
            println!("  {mode:<20} {own:>9.1} ns   {cost:>+6.2} %");
        }
    }
}
