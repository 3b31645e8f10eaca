//! `anymetal demo`: a tour of this machine.
//!
//! Lists the devices, compiles ten kernels, runs each, checks each against an independent reference,
//! measures it against the machine's own limits, and writes a report folder. Everything printed was
//! measured or computed in this run.

mod picture;
mod report;

use crate::limits::{self, Limits};
use crate::workload::{self, Bound, Picture, Prepared, Scale, Verdict, Work, Workload};
use anymetal::{CompileOptions, Device, Error, LibraryDescriptor, Queue};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Options of `anymetal demo`.
#[derive(clap::Args, Debug)]
pub(crate) struct DemoArgs {
    /// The folder for the report
    #[arg(short, long, default_value = "anymetal-report")]
    out: PathBuf,
    /// The device to use (see `anymetal devices`)
    #[arg(long)]
    device: Option<String>,
}

/// The results of one workload.
#[derive(Debug)]
pub(crate) struct DemoRow {
    pub(crate) name: &'static str,
    pub(crate) size: String,
    pub(crate) bound: Bound,
    pub(crate) compile_cold: Duration,
    pub(crate) compile_cached: Duration,
    /// Start, since the tour's, and duration of each measured run.
    pub(crate) runs: Vec<(Duration, Duration)>,
    /// The median.
    pub(crate) time: Duration,
    /// Bytes that buffers took while it ran.
    pub(crate) memory_bytes: u64,
    pub(crate) work: Work,
    pub(crate) verdict: Verdict,
}

impl DemoRow {
    /// The rate in units of [`DemoRow::limit`].
    pub(crate) fn rate(&self) -> f64 {
        let seconds = self.time.as_secs_f64();
        match self.bound {
            Bound::Memory => self.work.bytes / seconds,
            Bound::Compute => self.work.flops / seconds,
        }
    }

    /// The machine's limit that bounds this workload.
    pub(crate) fn limit(&self, limits: &Limits) -> f64 {
        match self.bound {
            Bound::Memory => limits.copy,
            Bound::Compute => limits.flops,
        }
    }
}

/// Runs the tour; false when a result was wrong.
pub(crate) fn run(args: &DemoArgs) -> Result<bool, Error> {
    let start = Instant::now();
    report::devices(&Device::all()?);
    let device = match &args.device {
        Some(name) => Device::by_name(name)?,
        None => Device::system_default()?,
    };
    let queue = device.queue()?;
    let workloads = workload::tour();
    let bar = progress(workloads.len() as u64 + 1);
    bar.set_message("measuring the machine");
    let limits = limits::measure(&device, &queue)?;
    bar.inc(1);
    let mut rows = Vec::new();
    let mut pictures = Vec::new();
    for workload in &workloads {
        bar.set_message(workload.name);
        let (row, picture) = measure(workload, &device, &queue, start)?;
        rows.push(row);
        pictures.extend(picture);
        bar.inc(1);
    }
    bar.finish_and_clear();
    report::table(&rows, &limits);
    let written = report::write(&args.out, &device, &rows, &pictures, &limits);
    report::closing(&args.out, written, start.elapsed());
    Ok(rows.iter().all(|row| row.verdict.correct))
}

/// A bar on a terminal, nothing elsewhere.
fn progress(steps: u64) -> ProgressBar {
    let bar = ProgressBar::new(steps);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar
}

fn measure(
    workload: &Workload,
    device: &Device,
    queue: &Queue,
    tour: Instant,
) -> Result<(DemoRow, Option<Picture>), Error> {
    // A comment with the time makes the text new, so that no cache knows it; compiling the same text
    // again then shows what the caches save.
    let stamp = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let fresh = format!("// {}\n{}", stamp.as_nanos(), workload.source);
    let (cold, prepared) = First::new(workload, device, queue, &fresh)?;
    let verdict = prepared.verify()?;
    let runs = runs(prepared.as_ref(), queue, tour)?;
    let time = median(&runs);
    let memory_bytes = device.allocated_bytes();
    let (cached, _) = First::new(workload, device, queue, &fresh)?;
    // The picture is taken of a single run on fresh inputs.
    prepared.reset()?;
    prepared.run(queue)?;
    let picture = prepared.picture()?;
    let row = DemoRow {
        name: workload.name,
        size: prepared.size(),
        bound: workload.bound,
        compile_cold: cold.compile_time(time),
        compile_cached: cached.compile_time(time),
        runs,
        time,
        memory_bytes,
        work: prepared.work(),
        verdict,
    };
    Ok((row, picture))
}

fn options(workload: &Workload) -> CompileOptions {
    CompileOptions::new().file_name(format!("{}.metal", workload.kernels[0]))
}

/// What it took from source text to first results. Code is made when a threadgroup size is first launched, so
/// compiling is making the pipelines and what the first run takes longer than others.
struct First {
    pipelines: Duration,
    run: Duration,
}

impl First {
    fn new(
        workload: &Workload,
        device: &Device,
        queue: &Queue,
        source: &str,
    ) -> Result<(Self, Box<dyn Prepared>), Error> {
        let start = Instant::now();
        let library =
            device.create_library(&LibraryDescriptor::from_source(source).options(&options(workload)))?;
        for kernel in workload.kernels {
            library.pipeline(kernel)?;
        }
        let pipelines = start.elapsed();
        let prepared = (workload.prepare)(device, &library, Scale::Demo)?;
        prepared.reset()?;
        let start = Instant::now();
        prepared.run(queue)?;
        Ok((First { pipelines, run: start.elapsed() }, prepared))
    }

    fn compile_time(&self, usual_run: Duration) -> Duration {
        self.pipelines + self.run.saturating_sub(usual_run)
    }
}

/// Start and duration of runs that fill about a second.
fn runs(prepared: &dyn Prepared, queue: &Queue, tour: Instant) -> Result<Vec<(Duration, Duration)>, Error> {
    let mut runs = Vec::new();
    let start = Instant::now();
    while runs.len() < 3 || (start.elapsed() < Duration::from_millis(800) && runs.len() < 200) {
        let begin = Instant::now();
        prepared.run(queue)?;
        runs.push((begin - tour, begin.elapsed()));
    }
    Ok(runs)
}

fn median(runs: &[(Duration, Duration)]) -> Duration {
    let mut times: Vec<Duration> = runs.iter().map(|(_, time)| *time).collect();
    times.sort_unstable();
    times[times.len() / 2]
}
