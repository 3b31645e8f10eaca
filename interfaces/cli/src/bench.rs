//! `anymetal bench`: medians and ratios, everything in one run.
//!
//! For each workload the contenders take turns (ours with checks, ours without, a plain Rust loop on
//! one core, rayon on all), so that a noisy moment hits all of them; medians are compared. Nothing is
//! reported that was not measured here. With `--against` the contenders are others' compilers: see
//! [`against`].

mod against;
mod devices;
mod exec;
mod host_memory;
mod oclgrind;
mod processor_time;

use crate::failure::Failure;
use crate::limits::{self, Limits, Probe};
use crate::workload::{self, Bound, Prepared, Scale, Workload};
use anymetal::{CheckMode, CompileOptions, Device, Error, LibraryDescriptor, Queue};
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Options of `anymetal bench`.
#[derive(clap::Args, Debug)]
pub(crate) struct BenchArgs {
    /// What to measure: `kernels`, `dispatch`, `exec` (the execution layer), `devices` (two of them), or the
    /// name of one workload
    #[arg(long, default_value = "all")]
    suite: String,
    /// The device to use (see `anymetal devices`), two with a comma between them for `--suite devices`
    #[arg(long)]
    device: Option<String>,
    /// Rounds in which the contenders take turns
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..1000))]
    rounds: u32,
    /// Compare with other runtimes instead, on the same algorithms
    #[arg(long, value_enum)]
    against: Option<against::Peers>,
    #[command(flatten)]
    cuda: against::CudaArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// One workload's medians, in nanoseconds, and what they mean.
#[derive(Debug, Serialize)]
struct Measured {
    name: &'static str,
    size: String,
    bound: &'static str,
    checked_ns: u64,
    unchecked_ns: u64,
    plain_ns: u64,
    rayon_ns: u64,
    /// GB/s or GFLOP/s of the checked kernel.
    rate: f64,
    /// Multiply-adds or copying of all cores or of the GPU, timed in turns with the kernel, in the same unit.
    limit: f64,
    /// Share of that limit.
    of_limit: f64,
    /// Time of the best Rust version over ours.
    speedup: f64,
    /// Time of the plain one-core loop over ours.
    speedup_over_plain: f64,
    /// What the checks cost, as a share.
    check_cost: f64,
    verified: bool,
}

/// The cost of an empty dispatch, in nanoseconds.
#[derive(Debug, Serialize)]
struct Dispatch {
    /// Many in one command buffer.
    batched_ns: f64,
    /// One at a time, submitted and waited for.
    round_trip_ns: f64,
}

#[derive(Debug, Serialize)]
struct Report {
    device: String,
    multiply_add_gflops: f64,
    copy_gbps: f64,
    /// For processors only.
    read_gbps: Option<f64>,
    #[serde(skip)]
    limits: Limits,
    workloads: Vec<Measured>,
    dispatch: Option<Dispatch>,
}

/// Runs the benchmark.
pub(crate) fn run(args: &BenchArgs) -> Result<bool, Failure> {
    host_memory::ask_for_huge_pages();
    if args.cuda.only_compile()? {
        return Ok(true);
    }
    if args.suite == "devices" {
        return devices::run(args.device.as_deref(), args.rounds, args.json);
    }
    let device = match &args.device {
        Some(name) => Device::by_name(name)?,
        None => Device::system_default()?,
    };
    if let Some(peers) = args.against {
        return against::run(peers, &args.cuda, &args.suite, &device, args.rounds, args.json);
    }
    if args.suite == "exec" {
        return exec::run(&device, args.rounds, args.json);
    }
    let measures_dispatches = matches!(args.suite.as_str(), "all" | "dispatch");
    let chosen: Vec<Workload> =
        workload::all().into_iter().filter(|workload| chosen(&args.suite, workload.name)).collect();
    if chosen.is_empty() && !measures_dispatches {
        unknown_suite(&args.suite);
        return Ok(false);
    }
    let queue = device.queue()?;
    let limits = limits::measure(&device, &queue)?;
    let mut workloads = Vec::new();
    for workload in chosen {
        if !args.json {
            eprintln!("{} …", workload.name);
        }
        workloads.push(measure(&workload, &device, &queue, args.rounds)?);
    }
    let dispatch = measures_dispatches.then(|| dispatch(&device, &queue)).transpose()?;
    let right = workloads.iter().all(|workload| workload.verified);
    let report = Report {
        device: device.capabilities().hardware_name.clone(),
        multiply_add_gflops: limits.flops / 1e9,
        copy_gbps: limits.copy / 1e9,
        read_gbps: limits.read.map(|read| read / 1e9),
        limits,
        workloads,
        dispatch,
    };
    print(&report, args.json);
    Ok(right)
}

/// Whether the requested suite includes a workload.
fn chosen(suite: &str, name: &str) -> bool {
    matches!(suite, "all" | "kernels") || name.contains(suite)
}

fn unknown_suite(suite: &str) {
    let names: Vec<_> = workload::all().iter().map(|workload| workload.name).collect();
    let names = names.join(", ");
    eprintln!(
        "no suite or workload is called `{suite}`; there are: all, kernels, dispatch, exec, devices, {names}"
    );
}

fn options(workload: &Workload, check_mode: CheckMode) -> CompileOptions {
    let file_name = format!("{}.metal", workload.kernels[0]);
    CompileOptions::new().file_name(file_name).check_mode(check_mode)
}

fn prepare(workload: &Workload, device: &Device, mode: CheckMode) -> Result<Box<dyn Prepared>, Error> {
    let library = device
        .create_library(&LibraryDescriptor::from_source(workload.source).options(&options(workload, mode)))?;
    let scale = if mode == CheckMode::Sanitize { Scale::Sanitizer } else { Scale::Bench };
    (workload.prepare)(device, &library, scale)
}

fn measure(workload: &Workload, device: &Device, queue: &Queue, rounds: u32) -> Result<Measured, Error> {
    let mut checked = prepare(workload, device, CheckMode::Bounds)?;
    checked.reset()?;
    checked.run(queue)?;
    let verdict = checked.verify()?;
    let unchecked = prepare(workload, device, CheckMode::Off)?;
    unchecked.run(queue)?;
    let mut limit = match workload.bound {
        Bound::Memory => Probe::copy(device, queue)?,
        Bound::Compute => Probe::multiply_add(device, queue)?,
    };
    limit.run()?;
    let mut times = [const { Vec::new() }; 5];
    for round in 0..rounds {
        // What went before leaves caches full of what it wrote, for the next to write back: the second of two
        // runs of the same code takes up to a sixth less. So these two change places.
        for contender in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let pipeline = if contender == 0 { &checked } else { &unchecked };
            times[contender].push(timed(|| pipeline.run(queue))?);
        }
        times[2].push(timed(|| {
            checked.plain();
            Ok::<_, Error>(())
        })?);
        times[3].push(timed(|| {
            checked.parallel();
            Ok::<_, Error>(())
        })?);
        times[4].push(timed(|| limit.run())?);
    }
    let check_cost = mean_ratio(&times[0], &times[1]) - 1.0;
    let [ours, off, plain, rayon, most] = times.map(median);
    let work = checked.work();
    let (amount, bound) = match workload.bound {
        Bound::Memory => (work.bytes, "memory"),
        Bound::Compute => (work.flops, "compute"),
    };
    let rate = amount / ours.as_secs_f64();
    let limit = limit.amount() / most.as_secs_f64();
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    Ok(Measured {
        name: workload.name,
        size: checked.size(),
        bound,
        checked_ns: ours.as_nanos() as u64,
        unchecked_ns: off.as_nanos() as u64,
        plain_ns: plain.as_nanos() as u64,
        rayon_ns: rayon.as_nanos() as u64,
        rate: rate / 1e9,
        limit: limit / 1e9,
        of_limit: rate / limit,
        speedup: ratio(plain.min(rayon), ours),
        speedup_over_plain: ratio(plain, ours),
        check_cost,
        verified: verdict.correct,
    })
}

fn timed<E>(run: impl FnOnce() -> Result<(), E>) -> Result<Duration, E> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed())
}

/// How much longer `a` takes than `b`: the geometric mean of the ratios of medians in even and in odd rounds,
/// between which the two change places.
fn mean_ratio(a: &[Duration], b: &[Duration]) -> f64 {
    let ratio = |first: usize| {
        let [a, b] = [a, b].map(|times| median(times.iter().skip(first).step_by(2).copied().collect()));
        a.as_secs_f64() / b.as_secs_f64()
    };
    if a.len() < 2 { ratio(0) } else { (ratio(0) * ratio(1)).sqrt() }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

const EMPTY: &str = "kernel void empty(uint i [[thread_position_in_grid]]) {}";

fn dispatch(device: &Device, queue: &Queue) -> Result<Dispatch, Error> {
    let pipeline = device.library_from_source(EMPTY)?.pipeline("empty")?;
    const BATCH: u32 = 1000;
    let mut batched = Vec::new();
    let mut round_trip = Vec::new();
    for _ in 0..15 {
        let mut commands = queue.command_buffer()?;
        let mut encoder = commands.compute_encoder();
        encoder.set_pipeline(&pipeline);
        for _ in 0..BATCH {
            encoder.dispatch_threads(256usize, 256usize)?;
        }
        encoder.end_encoding();
        batched.push(timed(|| {
            commands.commit()?.wait()?;
            Ok::<_, Error>(())
        })?);
        round_trip.push(timed(|| {
            for _ in 0..BATCH {
                queue.launch(&pipeline).threads(256usize).group_size(256usize).submit()?.wait()?;
            }
            Ok::<_, Error>(())
        })?);
    }
    let each = |times| median(times).as_nanos() as f64 / f64::from(BATCH);
    Ok(Dispatch { batched_ns: each(batched), round_trip_ns: each(round_trip) })
}

fn print_json(report: &impl Serialize) {
    match serde_json::to_string_pretty(report) {
        Ok(text) => println!("{text}"),
        Err(error) => eprintln!("the report cannot be written as JSON: {error}"),
    }
}

/// How busy the machine is: figures taken on a loaded one say less.
fn load_average() -> String {
    match std::fs::read_to_string("/proc/loadavg") {
        Ok(text) => format!("load average {}", text.split(' ').next().unwrap_or_default()),
        Err(_) => "load average not known".to_owned(),
    }
}

fn print(report: &Report, json: bool) {
    if json {
        print_json(report);
        return;
    }
    println!("{}; {}", report.device, load_average());
    println!("At most, before the kernels: {}", report.limits);
    println!("of limit: of multiply-adds or copying in turns with the kernel, medians of all rounds");
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_header([
        "kernel",
        "size",
        "time",
        "rate",
        "of limit",
        "vs plain loop",
        "vs best Rust",
        "checks",
        "verified",
    ]);
    for row in &report.workloads {
        let unit = if row.bound == "memory" { "GB/s" } else { "GFLOP/s" };
        table.add_row([
            row.name.to_owned(),
            row.size.clone(),
            format!("{:.2} ms", row.checked_ns as f64 / 1e6),
            format!("{:.1} {unit}", row.rate),
            format!("{:.2}", row.of_limit),
            format!("{:.2}×", row.speedup_over_plain),
            format!("{:.2}×", row.speedup),
            format!("{:+.1} %", row.check_cost * 100.0),
            if row.verified { "yes" } else { "NO" }.to_owned(),
        ]);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    if !report.workloads.is_empty() {
        println!("{table}");
    }
    if let Some(dispatch) = &report.dispatch {
        println!(
            "empty dispatch: {:.2} µs batched in one command buffer, {:.2} µs submitted and waited for one by one",
            dispatch.batched_ns / 1e3,
            dispatch.round_trip_ns / 1e3
        );
    }
}
