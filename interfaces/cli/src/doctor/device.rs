//! The devices: what they are, and whether a kernel gives right results on each.

use std::time::{Duration, Instant};

use anymetal::reflection::Executor;
use anymetal::{Device, Error};

use super::finding::{Finding, bytes};

const PART: &str = "devices";
/// An odd number, so that the last threadgroup is partial.
const THREADS: u32 = 100_003;
/// Threadgroup memory, a barrier, a SIMD-group function and a store, in integers: exact everywhere.
const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void smoke(device const uint* x, device uint* y, constant uint& a, uint i [[thread_position_in_grid]],
                  uint t [[thread_index_in_threadgroup]])
{
    threadgroup uint shared[256];
    shared[t] = a * x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = shared[t] + 1;
}";

/// The findings, and whether every device works.
pub(super) fn check() -> (Vec<Finding>, bool) {
    match Device::all() {
        Err(error) => {
            let advice = "correct the setting or the machine; no kernel can run";
            (vec![Finding::problem(PART, "listing", error.to_string(), advice)], false)
        }
        Ok(devices) => {
            let mut findings: Vec<Finding> = devices.iter().map(describe).collect();
            let smoke: Vec<Finding> = devices.iter().map(smoke).collect();
            let all_work = smoke.iter().all(|finding| finding.advice.is_none());
            findings.extend(smoke);
            (findings, all_work)
        }
    }
}

fn describe(device: &Device) -> Finding {
    let facts = device.capabilities();
    let family = device.family().map(|family| format!(", as GPU family {family}")).unwrap_or_default();
    let value = format!(
        "{} ({}, {} units, {} of {} free; its driver is anymetal {}){family}",
        facts.hardware_name,
        facts.architecture,
        facts.compute_units,
        bytes(facts.working_set_bytes),
        bytes(facts.memory_bytes),
        env!("CARGO_PKG_VERSION"),
    );
    let name = device.name();
    // An eighth of the memory, or 512 MiB, is what builds and services leave at least.
    if facts.working_set_bytes < (facts.memory_bytes / 8).min(512 << 20) {
        return Finding::warning(PART, name, value, "end other programs, or set memory.budget");
    }
    Finding::ok(PART, name, value)
}

fn smoke(device: &Device) -> Finding {
    let name = format!("{}, smoke kernel", device.name());
    match run(device) {
        Ok(Ran { wrong: None, compile, run, executor }) => {
            let value = format!(
                "compiled in {:.1} ms, ran {THREADS} threads in {:.2} ms as {executor}, results are right",
                millis(compile),
                millis(run)
            );
            Finding::ok(PART, name, value)
        }
        Ok(Ran { wrong: Some(wrong), .. }) => {
            let advice = "please report this with the output of `anymetal doctor --json`";
            Finding::problem(PART, name, wrong, advice)
        }
        Err(error) => Finding::problem(PART, name, error.to_string(), "see the message"),
    }
}

struct Ran {
    compile: Duration,
    run: Duration,
    executor: &'static str,
    wrong: Option<String>,
}

fn run(device: &Device) -> Result<Ran, Error> {
    let start = Instant::now();
    let pipeline = device.library_from_source(SOURCE)?.pipeline("smoke")?;
    pipeline.warm_up([256])?;
    let compile = start.elapsed();
    let input: Vec<u32> = (0..THREADS).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let (x, y) = (device.buffer(&input)?, device.buffer_zeroed::<u32>(input.len())?);
    let queue = device.queue()?;
    let start = Instant::now();
    let launch = queue.launch(&pipeline).arg(&x).arg(&y).arg(3u32).threads(THREADS).group_size(256);
    launch.deadline(Duration::from_secs(30)).submit()?.wait()?;
    let run = start.elapsed();
    let got = y.read()?;
    let expected = |x: u32| x.wrapping_mul(3).wrapping_add(1);
    let first = input.iter().zip(&got).position(|(&x, &y)| expected(x) != y);
    let wrong = first.map(|at| format!("element {at} is {} and should be {}", got[at], expected(input[at])));
    Ok(Ran { compile, run, executor: executor(pipeline.executor()), wrong })
}

fn executor(executor: &Executor) -> &'static str {
    match executor {
        Executor::Interpreter { .. } => "interpreted code",
        _ => "machine code",
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
