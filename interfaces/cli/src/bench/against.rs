//! `anymetal bench --against opencl`: the same algorithms in OpenCL C on every installed CPU runtime;
//! `--against oclgrind`: our sanitizer beside that of OpenCL; `--against nvcc`: the same algorithms in CUDA C
//! by the bare driver of the same GPU, and products of matrices by cuBLAS.
//!
//! All contenders take turns within each round: ours, every runtime, and the best Rust on processors. A
//! ratio is their time over ours, so more than 1 means that we are faster. Every peer's result is compared
//! with the same reference as ours; one that is wrong or does not compile has no ratio, and the table says
//! so.

mod cuda;
mod table;

use super::{chosen, median, oclgrind, prepare, processor_time, timed, unknown_suite};
use crate::failure::Failure;
use crate::workload::{self, Prepared, Workload};
use anymetal::{CheckMode, Device, DeviceKind, Queue};
use anymetal_bench_peers::job::Job;
use anymetal_bench_peers::opencl::{self, OpenCl};
use anymetal_bench_peers::peer::{Form, Loaded, PeerError, Runtime};
use serde::Serialize;
use std::time::Duration;

pub(super) use cuda::CudaArgs;

/// What `--against` can name.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub(crate) enum Peers {
    /// The OpenCL CPU runtimes that the ICD loader offers
    Opencl,
    /// Oclgrind looking for data races, beside our kernels under the sanitizer
    Oclgrind,
    /// CUDA C by `nvcc` on the same NVIDIA GPU, by the bare driver, and cuBLAS; needs `--device nvidia`
    Nvcc,
}

impl Peers {
    /// How our side is checked.
    fn check_mode(self) -> CheckMode {
        match self {
            Self::Opencl | Self::Nvcc => CheckMode::Bounds,
            Self::Oclgrind => CheckMode::Sanitize,
        }
    }

    /// Whether our side takes part without checks, too.
    fn also_unchecked(self) -> bool {
        matches!(self, Self::Nvcc)
    }

    fn runtimes(self, device: &Device, cuda: &CudaArgs) -> Result<Vec<Box<dyn Runtime>>, Failure> {
        let is_oclgrind = |runtime: &OpenCl| runtime.name().contains(oclgrind::PLATFORM);
        let boxed = |runtime| Box::new(runtime) as Box<dyn Runtime>;
        match self {
            Self::Opencl => Ok(opencl_runtimes()?.into_iter().map(boxed).collect()),
            Self::Oclgrind => Ok(opencl_runtimes()?.into_iter().filter(is_oclgrind).map(boxed).collect()),
            Self::Nvcc => cuda.runtimes(device),
        }
    }

    fn workloads(self) -> Vec<Workload> {
        match self {
            Self::Opencl | Self::Oclgrind => workload::all(),
            Self::Nvcc => workload::all().into_iter().chain(workload::large()).collect(),
        }
    }
}

fn opencl_runtimes() -> Result<Vec<OpenCl>, Failure> {
    opencl::runtimes().map_err(|error| told(&missing(&error)))
}

/// Runs of each form of a peer's job, of which the least counts when the form is chosen.
const TRIALS: usize = 3;

/// One contender's times over all rounds, in nanoseconds.
#[derive(Debug, Default, Serialize)]
struct Times {
    median_ns: u64,
    min_ns: u64,
    /// Median of the processor time of all threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    processor_ns: Option<u64>,
}

impl Times {
    /// These medians over those.
    fn over(&self, other: &Times) -> f64 {
        self.median_ns as f64 / other.median_ns as f64
    }
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

    /// Nothing if it was never started.
    fn times(self) -> Option<Times> {
        let min = self.wall.iter().min().copied()?;
        let processor = median(self.processor).as_nanos() as u64;
        Some(Times {
            median_ns: median(self.wall).as_nanos() as u64,
            min_ns: min.as_nanos() as u64,
            processor_ns: (processor > 0).then_some(processor),
        })
    }
}

/// How one peer did at one workload.
#[derive(Debug, Default, Serialize)]
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
    /// Its median over ours without checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    unchecked_ratio: Option<f64>,
    /// Why there is no ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

#[derive(Debug, Serialize)]
struct ComparisonRow {
    name: &'static str,
    size: String,
    ours: Times,
    #[serde(skip_serializing_if = "Option::is_none")]
    unchecked: Option<Times>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rust: Option<Times>,
    /// The Rust contender's median over ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    rust_ratio: Option<f64>,
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
    /// And of those without checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    unchecked_ratio: Option<f64>,
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
    cuda: &CudaArgs,
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
    let runtimes = peers.runtimes(device, cuda)?;
    if runtimes.is_empty() {
        return Err(told(oclgrind::MISSING));
    }
    let queue = device.queue()?;
    let mut rows = Vec::new();
    for workload in peers.workloads().iter().filter(|workload| chosen(suite, workload.name)) {
        if !json {
            eprintln!("{} …", workload.name);
        }
        rows.push(measure(workload, (device, peers), &queue, &runtimes, rounds)?);
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
    let means = runtimes.iter().map(|runtime| mean(runtime.as_ref(), &rows)).collect();
    let device = device.capabilities().hardware_name.clone();
    table::print(&Report { device, workloads: rows, geometric_means: means }, json);
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
type Contender<'a> = Result<Box<dyn Loaded + 'a>, String>;

fn measure(
    workload: &Workload,
    (device, against): (&Device, Peers),
    queue: &Queue,
    runtimes: &[Box<dyn Runtime>],
    rounds: u32,
) -> Result<ComparisonRow, Failure> {
    let mut ours = prepare(workload, device, against.check_mode())?;
    ours.reset()?;
    ours.run(queue).map_err(Failure::Run)?;
    let verdict = ours.verify()?;
    let unchecked = if against.also_unchecked() { Some(warm(workload, device, queue)?) } else { None };
    let contenders = runtimes.iter().filter_map(|runtime| contender(ours.as_ref(), runtime.as_ref()));
    let contenders: Vec<(&dyn Runtime, Contender<'_>)> = contenders.collect();
    let (mut us, mut bare, mut rust) = (Stopwatch::default(), Stopwatch::default(), Stopwatch::default());
    let on_processor = device.capabilities().kind == DeviceKind::Cpu;
    let mut watches: Vec<Stopwatch> = contenders.iter().map(|_| Stopwatch::default()).collect();
    for _ in 0..rounds {
        us.time(|| ours.run(queue)).map_err(Failure::Run)?;
        if let Some(unchecked) = &unchecked {
            bare.time(|| unchecked.run(queue)).map_err(Failure::Run)?;
        }
        for ((_, peer), watch) in contenders.iter().zip(&mut watches) {
            if let Ok(loaded) = peer {
                watch.time(|| loaded.run()).map_err(|error| told(&error.to_string()))?;
            }
        }
        if on_processor {
            rust.time(|| {
                ours.parallel();
                Ok::<_, Failure>(())
            })?;
        }
    }
    let [ours_times, unchecked_times, rust] = [us, bare, rust].map(Stopwatch::times);
    let own = Own {
        ours: ours_times.ok_or_else(|| told("no round was run"))?,
        unchecked: unchecked_times,
        on_processor,
    };
    let duels = contenders.into_iter().zip(watches);
    let duels = duels.map(|((runtime, peer), watch)| duel(runtime, peer, watch.times(), &own)).collect();
    Ok(ComparisonRow {
        name: workload.name,
        size: ours.size(),
        rust_ratio: rust.as_ref().map(|rust| rust.over(&own.ours)),
        ours: own.ours,
        unchecked: own.unchecked,
        rust,
        verified: verdict.correct,
        peers: duels,
    })
}

/// The workload without checks, after one run.
fn warm(workload: &Workload, device: &Device, queue: &Queue) -> Result<Box<dyn Prepared>, Failure> {
    let prepared = prepare(workload, device, CheckMode::Off)?;
    prepared.run(queue).map_err(Failure::Run)?;
    Ok(prepared)
}

/// Loads the workload's twin in the runtime's language, runs it once and verifies it; nothing if it has none.
fn contender<'a>(ours: &dyn Prepared, runtime: &'a dyn Runtime) -> Option<(&'a dyn Runtime, Contender<'a>)> {
    let job = ours.job()?;
    let forms = runtime.forms(&job);
    if forms.is_empty() {
        return None;
    }
    let verified = fastest(&job, &forms, runtime).and_then(|loaded| Ok((loaded.result()?, loaded)));
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
fn fastest<'a>(
    job: &Job<'_>,
    forms: &[Form],
    runtime: &'a dyn Runtime,
) -> Result<Box<dyn Loaded + 'a>, PeerError> {
    let mut best: Option<(Duration, Form)> = None;
    if forms.len() > 1 {
        for &form in forms {
            let loaded = runtime.load(job, form)?;
            // The first run warms up.
            loaded.run()?;
            let mut time = Duration::MAX;
            for _ in 0..TRIALS {
                time = time.min(timed(|| loaded.run())?);
            }
            if best.is_none_or(|(least, _)| time < least) {
                best = Some((time, form));
            }
        }
    }
    let loaded = runtime.load(job, best.map_or(forms[0], |(_, form)| form))?;
    loaded.run()?;
    Ok(loaded)
}

/// Our own times.
struct Own {
    ours: Times,
    unchecked: Option<Times>,
    /// Time of processors is time of the work.
    on_processor: bool,
}

fn duel(runtime: &dyn Runtime, peer: Contender<'_>, times: Option<Times>, own: &Own) -> Duel {
    let runtime = runtime.name().to_owned();
    let (times, failure) = match (peer, times) {
        (Ok(_), Some(times)) => (times, None),
        (failure, times) => (times.unwrap_or_default(), Some(failure.err().unwrap_or_default())),
    };
    if failure.is_some() {
        return Duel { runtime, failure, ..Duel::default() };
    }
    let processor = times.processor_ns.zip(own.ours.processor_ns).filter(|_| own.on_processor);
    Duel {
        runtime,
        ratio: Some(times.over(&own.ours)),
        processor_ratio: processor.map(|(theirs, ours)| theirs as f64 / ours as f64),
        unchecked_ratio: own.unchecked.as_ref().map(|unchecked| times.over(unchecked)),
        times: Some(times),
        failure: None,
    }
}

fn mean(runtime: &dyn Runtime, rows: &[ComparisonRow]) -> Mean {
    let duels = || rows.iter().flat_map(|row| &row.peers).filter(|duel| duel.runtime == runtime.name());
    let of = |ratio: fn(&Duel) -> Option<f64>| geometric_mean(&duels().filter_map(ratio).collect::<Vec<_>>());
    Mean {
        runtime: runtime.name().to_owned(),
        version: runtime.version().to_owned(),
        ratio: of(|duel| duel.ratio).unwrap_or_default(),
        processor_ratio: of(|duel| duel.processor_ratio),
        unchecked_ratio: of(|duel| duel.unchecked_ratio),
        workloads: duels().filter(|duel| duel.ratio.is_some()).count(),
    }
}

fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (!ratios.is_empty()).then(|| (logarithms / ratios.len() as f64).exp())
}
