//! A service that goes on while its devices fail: requests from several threads, 5 % injected faults
//! and the loss of a device, which is rebuilt.
//!
//! The first quarter of the time nothing fails, for comparison. Each request adds a number in place
//! to its thread's sums and reads them back; every answer is compared. Exits with 1 if a request is
//! lost, an answer is wrong, an update was lost or made twice, or something leaks.
//!
//! `cargo run --release -p anymetal-service --example resilient_service -- --seconds 20 --threads 4`
//!
//! With `--soak` it prints memory and live resources twenty times on the way, which stay flat. With
//! `--timeline FILE` it writes what the first device ran before it was lost, for
//! `anymetal report FILE -o report.html`. Metrics and an audit log are kept where
//! `ANYMETAL_TELEMETRY_PROMETHEUS` and `ANYMETAL_AUDIT_FOLDER` say.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its terminal")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anymetal::config::RuntimeConfig;
use anymetal::error::{DeviceError, ErrorClass};
use anymetal::profile::{Clock, SystemClock, Trace};
use anymetal::testing::{FaultInjectingDevice, FaultPlan, Faults};
use anymetal::{Device, Error};
use anymetal_service::manager::Execution;
use anymetal_service::policy::breaker::BreakerPolicy;
use anymetal_service::policy::deadline::DeadlinePolicy;
use anymetal_service::policy::ladder::{LadderPolicy, Rung};
use anymetal_service::policy::policies::Policies;
use anymetal_service::policy::retry::RetryPolicy;
use anymetal_service::{Durability, ManagedKernel, Manager, ManagerError, ServiceLayers};

const COUNT: usize = 4096;
/// The latest commands that a trace keeps: some seconds.
const TRACED_COMMANDS: usize = 50_000;

const SOURCE: &str = r"
kernel void accumulate(device const uint* x, device uint* sums, uint i [[thread_position_in_grid]]) {
    sums[i] += x[i];
}
";

struct Arguments {
    seconds: u64,
    threads: usize,
    soak: bool,
    timeline: Option<PathBuf>,
}

fn main() -> ExitCode {
    match arguments().and_then(|arguments| serve(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("resilient_service: {error}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments { seconds: 20, threads: 4, soak: false, timeline: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--timeline" {
            arguments.timeline = Some(words.next().ok_or("--timeline needs a file")?.into());
            continue;
        }
        let mut number =
            || words.next().and_then(|text| text.parse::<u64>().ok()).filter(|number| *number > 0);
        let wrong = || format!("{word} needs a number above 0");
        match word.as_str() {
            "--soak" => arguments.soak = true,
            "--seconds" => arguments.seconds = number().ok_or_else(wrong)?,
            "--threads" => arguments.threads = number().ok_or_else(wrong)? as usize,
            _ => {
                return Err(format!(
                    "{word} is unknown; there are --seconds, --threads, --soak and --timeline"
                ));
            }
        }
    }
    Ok(arguments)
}

/// A device that fails by plan, and its latest generation.
struct Faulty {
    injecting: FaultInjectingDevice,
    latest: Arc<Mutex<Option<Device>>>,
    /// Of the first generation.
    trace: Arc<Mutex<Option<Trace>>>,
    is_traced: bool,
}

impl Faulty {
    fn new(seed: u64, per_million: u32) -> Result<Faulty, Error> {
        let faults = |classes| Faults::by_chance(per_million, classes);
        let plan = FaultPlan::default()
            .seed(seed)
            .commits(faults(&[ErrorClass::Transient, ErrorClass::Exhausted]))
            .completions(faults(&[ErrorClass::Transient]))
            .partial_writes(faults(&[ErrorClass::Transient]));
        let cpu = Device::system_default()?.as_hal().clone();
        let injecting = FaultInjectingDevice::new(cpu, plan, SystemClock::shared());
        Ok(Faulty { injecting, latest: Arc::default(), trace: Arc::default(), is_traced: false })
    }

    /// Makes it, and makes it anew once it is no longer lost.
    fn factory(&self) -> impl Fn() -> Result<Device, Error> + Send + Sync + 'static {
        let (injecting, latest) = (self.injecting.clone(), Arc::clone(&self.latest));
        let (trace, is_traced) = (Arc::clone(&self.trace), self.is_traced);
        move || {
            if injecting.is_lost() {
                let (device, reason) = ("faulty".to_owned(), "it is still lost".to_owned());
                return Err(DeviceError::DeviceLost { device, reason }.into());
            }
            let clock: Arc<dyn Clock> = SystemClock::shared();
            let device = Device::from_hal_with(Arc::new(injecting.clone()), RuntimeConfig::default(), clock);
            if is_traced {
                let mut trace = trace.lock().unwrap_or_else(PoisonError::into_inner);
                trace.get_or_insert_with(|| device.start_trace_with_capacity(TRACED_COMMANDS));
            }
            *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(device.clone());
            Ok(device)
        }
    }

    /// The last of what its first generation ran, if it is traced.
    fn trace(&self) -> Option<Trace> {
        self.trace.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn latest(&self) -> Option<Device> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Latencies in buckets of an eighth of a power of two, so that a soak's memory does not grow.
struct Latencies {
    buckets: Vec<u64>,
    count: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Latencies { buckets: vec![0; 64 * 8], count: 0 }
    }
}

impl Latencies {
    fn note(&mut self, latency: Duration) {
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX).max(8);
        let power = nanoseconds.ilog2();
        let eighth = (nanoseconds >> (power - 3)) & 7;
        self.buckets[power as usize * 8 + eighth as usize] += 1;
        self.count += 1;
    }

    fn merge(&mut self, other: &Latencies) {
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(bucket, more)| *bucket += more);
        self.count += other.count;
    }

    /// The upper end of the bucket that it is in: at most an eighth above it.
    fn percentile(&self, percent: u64) -> Duration {
        let mut left = self.count.saturating_mul(percent).div_ceil(100);
        let reaches = |&(_, bucket): &(usize, &u64)| {
            left = left.saturating_sub(*bucket);
            left == 0
        };
        let at = self.buckets.iter().enumerate().find(reaches).map_or(0, |(at, _)| at);
        let (power, eighth) = (at / 8, at % 8);
        Duration::from_nanos((9 + eighth as u64).saturating_mul(1 << power.saturating_sub(3)))
    }
}

/// What the requests of one phase took.
#[derive(Default)]
struct Served {
    latencies: Latencies,
    /// By the rungs that they took.
    paths: BTreeMap<String, u64>,
}

impl Served {
    fn note(&mut self, latency: Duration, execution: &Execution) {
        self.latencies.note(latency);
        let rungs = execution.path.attempts().iter().filter_map(|attempt| attempt.rung);
        let words: Vec<&str> = rungs.map(|rung| rung.word()).collect();
        let path = if words.is_empty() { "first attempt".to_owned() } else { words.join(", ") };
        *self.paths.entry(path).or_default() += 1;
    }

    fn merge(&mut self, other: Served) {
        self.latencies.merge(&other.latencies);
        for (path, count) in other.paths {
            *self.paths.entry(path).or_default() += count;
        }
    }

    fn print(&self, title: &str) {
        let (p50, p99) = (self.latencies.percentile(50), self.latencies.percentile(99));
        println!("{title}: {} requests, p50 {p50:?}, p99 {p99:?}", self.latencies.count);
        for (path, count) in &self.paths {
            println!("  {count:>8}  {path}");
        }
    }
}

fn serve(arguments: &Arguments) -> Result<(), String> {
    let told = |error: Error| error.to_string();
    let total = Duration::from_secs(arguments.seconds);
    let calm = [Faulty::new(1, 0).map_err(told)?, Faulty::new(2, 0).map_err(told)?];
    phase(&calm, total / 4, arguments, false)?.print("without faults");
    drop(calm);
    // Three kinds of faults, together 5 % of all attempts.
    let mut faulty = [Faulty::new(3, 17_000).map_err(told)?, Faulty::new(4, 17_000).map_err(told)?];
    faulty[0].is_traced = arguments.timeline.is_some();
    phase(&faulty, total * 3 / 4, arguments, true)?.print("with 5 % faults and the loss of a device");
    if let (Some(path), Some(trace)) = (&arguments.timeline, faulty[0].trace()) {
        let file = File::create(path).map(BufWriter::new);
        let written = file.and_then(|mut file| {
            trace.write_chrome_json(&mut file)?;
            file.flush()
        });
        written.map_err(|error| format!("{}: {error}", path.display()))?;
        let (kept, earlier) = (trace.submissions().len(), trace.left_out());
        println!("{}: the last {kept} submissions before the loss; {earlier} before them", path.display());
    }
    for device in &faulty {
        let injected = device.injecting.injected();
        println!(
            "injected: {} refusals, {} failures, {} partial writes",
            injected.commits, injected.completions, injected.partial_writes
        );
    }
    Ok(())
}

fn policies() -> Result<Policies, ManagerError> {
    Ok(Policies {
        // While one device is lost the other is alone: with 3 attempts and the degraded one, of 160,000
        // requests under 5 % faults one would be lost.
        retry: RetryPolicy::builder().attempts(8).base(Duration::from_millis(1)).build()?,
        breaker: Some(BreakerPolicy::builder().open_for(Duration::from_secs(1)).build()?),
        deadline: DeadlinePolicy::builder().attempt(Duration::from_secs(30)).build()?,
        // At 36,000 requests a second the breaker of one device opens by chance while the other is lost.
        ladder: LadderPolicy::builder().rungs(Rung::ALL).build()?,
        ..Policies::default()
    })
}

/// Serves for that long; with `loss`, the first device is lost after a third of it, and comes back
/// after a second third.
fn phase(devices: &[Faulty; 2], time: Duration, arguments: &Arguments, loss: bool) -> Result<Served, String> {
    let told = |error: ManagerError| error.to_string();
    let settings = ServiceLayers::load(None).and_then(|layers| layers.resolve());
    let settings = settings.map_err(|error| error.to_string())?;
    let mut builder = Manager::builder().settings(&settings).policies(policies().map_err(told)?);
    for (device, name) in devices.iter().zip(["first", "second"]) {
        builder = builder.device_from(name, device.factory()).map_err(told)?;
    }
    let manager = builder.build().map_err(told)?;
    let accumulate = manager.kernel(SOURCE, "accumulate").map_err(told)?;
    accumulate.compile_ahead().map_err(told)?;
    let (begun, ends) = (Instant::now(), AtomicBool::new(false));
    let served = std::thread::scope(|scope| {
        let work = || {
            let served = client(&manager, &accumulate, &ends);
            if served.is_err() {
                ends.store(true, Ordering::Relaxed);
            }
            served
        };
        let clients: Vec<_> = (0..arguments.threads).map(|_| scope.spawn(work)).collect();
        for tick in 1..=60u32 {
            std::thread::sleep((time * tick / 60).saturating_sub(begun.elapsed()));
            match tick {
                20 if loss => devices[0].injecting.lose(),
                40 if loss => devices[0].injecting.revive(),
                _ => {}
            }
            if arguments.soak && tick % 3 == 0 {
                println!("{}", usage(devices, begun.elapsed()));
            }
        }
        ends.store(true, Ordering::Relaxed);
        let mut all = Served::default();
        for client in clients {
            all.merge(client.join().map_err(|_| "a client panicked".to_owned())??);
        }
        Ok::<_, String>(all)
    })?;
    let generations: Vec<u64> = manager.devices().iter().map(|device| device.generation).collect();
    if loss && generations[0] < 2 {
        return Err(format!("the lost device was not rebuilt: {:?}", manager.devices()));
    }
    drop((accumulate, manager));
    let left = devices.iter().filter_map(Faulty::latest).flat_map(|device| device.live_buffers());
    match left.count() {
        0 => Ok(served),
        left => Err(format!("{left} buffers are left")),
    }
}

/// One client: requests until the end, each answer compared.
fn client(manager: &Manager, accumulate: &ManagedKernel, ends: &AtomicBool) -> Result<Served, String> {
    let lost = |error: ManagerError| format!("a request was lost: {error}");
    let sums = manager.buffer_zeroed_with::<u32>(COUNT, "sums", Durability::HostCopy).map_err(lost)?;
    let (mut served, mut expected) = (Served::default(), vec![0u32; COUNT]);
    for request in 1u32.. {
        if ends.load(Ordering::Relaxed) {
            break;
        }
        let begun = Instant::now();
        let numbers: Vec<u32> = (0..COUNT as u32).map(|i| i ^ request).collect();
        let x = manager.buffer(&numbers).map_err(lost)?;
        let launch = manager.launch(accumulate).arg(&x).arg(&sums).threads(COUNT);
        let execution = launch.execute().map_err(lost)?;
        let answer = sums.read().map_err(lost)?;
        served.note(begun.elapsed(), &execution);
        expected.iter_mut().zip(&numbers).for_each(|(sum, number)| *sum = sum.wrapping_add(*number));
        if answer != expected {
            return Err(format!("request {request} has a wrong answer; its path: {}", execution.path));
        }
    }
    Ok(served)
}

/// Memory and resources now.
fn usage(devices: &[Faulty; 2], at: Duration) -> String {
    let live = devices.iter().filter_map(Faulty::latest).map(|device| device.live_buffers().len());
    let live: Vec<String> = live.map(|count| count.to_string()).collect();
    let resident = std::fs::read_to_string("/proc/self/status").ok().and_then(|status| {
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?.to_owned();
        Some(line.trim_start_matches("VmRSS:").trim().to_owned())
    });
    let resident = resident.unwrap_or_else(|| "unknown".to_owned());
    format!("{:>6.1} s  resident {resident}, live buffers {}", at.as_secs_f64(), live.join(" and "))
}
