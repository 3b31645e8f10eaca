//! `anymetal bench --against opencl`: the same algorithms in OpenCL C on every installed CPU runtime; and
//! `--against oclgrind`: our sanitizer beside that of OpenCL.
//!
//! All contenders take turns within each round: ours, every runtime, and the best Rust. A
//! ratio is their time over ours, so more than 1 means that we are faster. Every peer's result is compared
//! with the same reference as ours; one that is wrong or does not compile has no ratio, and the table says
//! so.

use super::{chosen, median, oclgrind, prepare, processor_time, timed, unknown_suite};
use crate::failure::Failure;
use crate::workload::{self, Prepared, Workload};
use anymetal::{CheckMode, Device, Queue};
use anymetal_bench_peers::opencl::{self, Job, Loaded, PeerError, Runtime};
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;
use std::time::Duration;

/// What `--against` can name.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub(crate) enum Peers {
    /// The OpenCL CPU runtimes that the ICD loader offers
    Opencl,
    /// Oclgrind looking for data races, beside our kernels under the sanitizer
    Oclgrind,
}

impl Peers {
    /// How our side is checked.
    fn check_mode(self) -> CheckMode {
        match self {
            Self::Opencl => CheckMode::Bounds,
            Self::Oclgrind => CheckMode::Sanitize,
        }
    }

    fn runtimes(self) -> Result<Vec<Runtime>, Failure> {
        let runtimes = opencl::runtimes().map_err(|error| told(&missing(&error)))?;
        let is_oclgrind = |runtime: &Runtime| runtime.name().contains(oclgrind::PLATFORM);
        match self {
            Self::Opencl => Ok(runtimes),
            Self::Oclgrind => Ok(runtimes.into_iter().filter(is_oclgrind).collect()),
        }
    }
}

/// One contender's times over all rounds, in nanoseconds.
#[derive(Debug, Serialize)]
struct Times {
    median_ns: u64,
    min_ns: u64,
    /// Median of the processor time of all threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    processor_ns: Option<u64>,
}

/// A contender's runs so far.
#[derive(Default)]
struct Stopwatch {
    wall: Vec<Duration>,
    processor: Vec<Duration>,
}

impl Stopwatch {
    fn time<E>(&mut self, run: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let before = processor_time::so_far();
        self.wall.push(timed(run)?);
        let spent = processor_time::so_far().zip(before).map(|(after, before)| after.saturating_sub(before));
        self.processor.extend(spent);
        Ok(())
    }

    fn times(self) -> Times {
        let min = self.wall.iter().min().copied().unwrap_or_default();
        let processor = median(self.processor).as_nanos() as u64;
        Times {
            median_ns: median(self.wall).as_nanos() as u64,
            min_ns: min.as_nanos() as u64,
            processor_ns: (processor > 0).then_some(processor),
        }
    }
}

/// How one peer did at one workload.
#[derive(Debug, Serialize)]
struct Duel {
    runtime: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<Times>,
    /// Its median over ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    /// Its processor time over ours: says more on a busy machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    processor_ratio: Option<f64>,
    /// Why there is no ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

#[derive(Debug, Serialize)]
struct ComparisonRow {
    name: &'static str,
    size: String,
    ours: Times,
    rust: Times,
    /// The Rust contender's median over ours.
    rust_ratio: f64,
    verified: bool,
    peers: Vec<Duel>,
}

#[derive(Debug, Serialize)]
struct Mean {
    runtime: String,
    version: String,
    /// Geometric mean of the ratios.
    ratio: f64,
    /// And of those of processor time.
    #[serde(skip_serializing_if = "Option::is_none")]
    processor_ratio: Option<f64>,
    /// Of how many workloads.
    workloads: usize,
}

#[derive(Debug, Serialize)]
struct Report {
    device: String,
    workloads: Vec<ComparisonRow>,
    geometric_means: Vec<Mean>,
}

/// Runs the comparison; false when a result of ours or of a peer is wrong.
pub(super) fn run(
    peers: Peers,
    suite: &str,
    device: &Device,
    rounds: u32,
    json: bool,
) -> Result<bool, Failure> {
    if let Peers::Oclgrind = peers
        && let Some(status) = oclgrind::run_with_its_driver()?
    {
        return Ok(status);
    }
    let runtimes = peers.runtimes()?;
    if runtimes.is_empty() {
        return Err(told(oclgrind::MISSING));
    }
    let queue = device.queue()?;
    let mut rows = Vec::new();
    for workload in workload::all().iter().filter(|workload| chosen(suite, workload.name)) {
        if !json {
            eprintln!("{} …", workload.name);
        }
        rows.push(measure(workload, (device, peers.check_mode()), &queue, &runtimes, rounds)?);
    }
    if rows.is_empty() {
        unknown_suite(suite);
        return Ok(false);
    }
    let findings = anymetal::sanitizer::findings();
    for finding in &findings {
        eprintln!("{}: {}: {}", finding.kernel, finding.kind, finding.message);
    }
    let is_right = |row: &ComparisonRow| row.verified && row.peers.iter().all(|duel| duel.failure.is_none());
    let right = findings.is_empty() && rows.iter().all(is_right);
    let means = runtimes.iter().map(|runtime| mean(runtime, &rows)).collect();
    let device = device.capabilities().hardware_name.clone();
    print(&Report { device, workloads: rows, geometric_means: means }, json);
    Ok(right)
}

/// A peer's failure is the machine's, not the input's.
fn told(message: &str) -> Failure {
    eprintln!("error: {message}");
    Failure::Told(4)
}

fn missing(error: &PeerError) -> String {
    match error {
        PeerError::NoRuntime => "no OpenCL CPU runtime is installed. Debian and Ubuntu have one in the packages \
             `pocl-opencl-icd` and `ocl-icd-libopencl1`; Intel's comes from PyPI as `intel-opencl-rt` with \
             `intel-cmplr-lib-rt`, and wants a file in /etc/OpenCL/vendors (or the folder that OCL_ICD_VENDORS \
             names) with the path of its libintelocl.so"
            .to_owned(),
        other => other.to_string(),
    }
}

/// A runtime's job, or why it cannot take part.
type Contender<'a> = Result<Loaded<'a>, String>;

fn measure(
    workload: &Workload,
    (device, mode): (&Device, CheckMode),
    queue: &Queue,
    runtimes: &[Runtime],
    rounds: u32,
) -> Result<ComparisonRow, Failure> {
    let mut ours = prepare(workload, device, mode)?;
    ours.reset()?;
    ours.run(queue).map_err(Failure::Run)?;
    let verdict = ours.verify()?;
    let contenders = runtimes.iter().filter_map(|runtime| contender(ours.as_ref(), runtime));
    let contenders: Vec<(&Runtime, Contender<'_>)> = contenders.collect();
    let (mut us, mut rust) = (Stopwatch::default(), Stopwatch::default());
    let mut watches: Vec<Stopwatch> = contenders.iter().map(|_| Stopwatch::default()).collect();
    for _ in 0..rounds {
        us.time(|| ours.run(queue)).map_err(Failure::Run)?;
        for ((_, peer), watch) in contenders.iter().zip(&mut watches) {
            if let Ok(loaded) = peer {
                watch.time(|| loaded.run()).map_err(|error| told(&error.to_string()))?;
            }
        }
        rust.time(|| {
            ours.parallel();
            Ok::<_, Failure>(())
        })?;
    }
    let (our_times, rust) = (us.times(), rust.times());
    let duels = contenders.into_iter().zip(watches);
    let duels =
        duels.map(|((runtime, peer), watch)| duel(runtime, peer, watch.times(), &our_times)).collect();
    Ok(ComparisonRow {
        name: workload.name,
        size: ours.size(),
        rust_ratio: rust.median_ns as f64 / our_times.median_ns as f64,
        ours: our_times,
        rust,
        verified: verdict.correct,
        peers: duels,
    })
}

/// Loads the workload's OpenCL twin, runs it once and verifies it; nothing if it has none.
fn contender<'a>(ours: &dyn Prepared, runtime: &'a Runtime) -> Option<(&'a Runtime, Contender<'a>)> {
    let job = ours.job()?;
    let verified = fastest(&job, runtime).and_then(|loaded| Ok((loaded.result()?, loaded)));
    let outcome = match verified {
        Err(error) => Err(error.to_string()),
        Ok((results, loaded)) => {
            let verdict = ours.check(&results);
            if verdict.correct { Ok(loaded) } else { Err(format!("wrong result: {}", verdict.detail)) }
        }
    };
    Some((runtime, outcome))
}

/// The form of the job that this runtime does best, after one run on fresh buffers.
fn fastest<'a>(job: &Job<'_>, runtime: &'a Runtime) -> Result<Loaded<'a>, PeerError> {
    let mut best: Option<(Duration, &'static str)> = None;
    if job.forms.len() > 1 {
        for form in &job.forms {
            let loaded = runtime.load(job, form)?;
            // The first run warms up.
            loaded.run()?;
            let time = timed(|| loaded.run())?;
            if best.is_none_or(|(least, _)| time < least) {
                best = Some((time, form));
            }
        }
    }
    let form = best.map(|(_, form)| form).or(job.forms.first().copied()).unwrap_or_default();
    let loaded = runtime.load(job, form)?;
    loaded.run()?;
    Ok(loaded)
}

fn duel(runtime: &Runtime, peer: Contender<'_>, times: Times, ours: &Times) -> Duel {
    let runtime = runtime.name().to_owned();
    if let Err(failure) = peer {
        return Duel { runtime, times: None, ratio: None, processor_ratio: None, failure: Some(failure) };
    }
    let processor = times.processor_ns.zip(ours.processor_ns);
    Duel {
        runtime,
        ratio: Some(times.median_ns as f64 / ours.median_ns as f64),
        processor_ratio: processor.map(|(theirs, ours)| theirs as f64 / ours as f64),
        times: Some(times),
        failure: None,
    }
}

fn mean(runtime: &Runtime, rows: &[ComparisonRow]) -> Mean {
    let duels = || rows.iter().flat_map(|row| &row.peers).filter(|duel| duel.runtime == runtime.name());
    let ratios: Vec<f64> = duels().filter_map(|duel| duel.ratio).collect();
    let processor: Vec<f64> = duels().filter_map(|duel| duel.processor_ratio).collect();
    Mean {
        runtime: runtime.name().to_owned(),
        version: runtime.version().to_owned(),
        ratio: geometric_mean(&ratios).unwrap_or_default(),
        processor_ratio: geometric_mean(&processor),
        workloads: ratios.len(),
    }
}

fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (!ratios.is_empty()).then(|| (logarithms / ratios.len() as f64).exp())
}

fn print(report: &Report, json: bool) {
    if json {
        super::print_json(report);
        return;
    }
    println!("{}; {}", report.device, super::load_average());
    println!(
        "Times of the peers over ours (more than 1: we are faster), by medians; in brackets by processor time"
    );
    let mut header = vec!["kernel".to_owned(), "size".to_owned(), "ours".to_owned()];
    header.extend(report.geometric_means.iter().map(|mean| mean.runtime.clone()));
    header.extend(["Rust, all cores".to_owned(), "verified".to_owned()]);
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_header(header);
    for row in &report.workloads {
        let mut cells =
            vec![row.name.to_owned(), row.size.clone(), format!("{:.2} ms", row.ours.median_ns as f64 / 1e6)];
        for mean in &report.geometric_means {
            let duel = row.peers.iter().find(|duel| duel.runtime == mean.runtime);
            cells.push(
                duel.map_or_else(|| "–".to_owned(), |duel| ratio_cell(duel.ratio, duel.processor_ratio)),
            );
        }
        cells.push(format!("{:.2}×", row.rust_ratio));
        cells.push(if row.verified { "yes" } else { "NO" }.to_owned());
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    for mean in &report.geometric_means {
        println!(
            "geometric mean of {} kernels: {} {} ({})",
            mean.workloads,
            ratio_cell(Some(mean.ratio), mean.processor_ratio),
            mean.runtime,
            mean.version
        );
    }
    for (row, duel) in report.workloads.iter().flat_map(|row| row.peers.iter().map(move |duel| (row, duel))) {
        if let Some(failure) = &duel.failure {
            println!("{} on {}: {failure}", row.name, duel.runtime);
        }
    }
}

fn ratio_cell(ratio: Option<f64>, processor: Option<f64>) -> String {
    match (ratio, processor) {
        (Some(ratio), Some(processor)) => format!("{ratio:.2}× ({processor:.2})"),
        (Some(ratio), None) => format!("{ratio:.2}×"),
        _ => "failed".to_owned(),
    }
}
