//! Kernels in a worker process: results and errors equal those of this process, and each end of a worker is a
//! typed error after which the next launch works.
#![cfg(target_os = "linux")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anymetal::command::{Cancellation, Deadline, ResourceUsage};
use anymetal::error::{DeviceError, ErrorClass};
use anymetal::memory::HeapDescriptor;
use anymetal::reflection::Artifact;
use anymetal::{CheckMode, CompileOptions, Device, Error, Library, LibraryDescriptor};
use anymetal_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_driver::hal::artifact::ArtifactCode;
use anymetal_driver::{
    COMPILER_IDENTITY, CacheConfig, Compiler, CompilerOptions, IsolateSettings, Source, SourceOptions,
    Specialisation, Target,
};
use rustix::process::{Pid, Signal, kill_process};

const SOURCE: &str = r#"
#include <metal_stdlib>
#include <metal_logging>
using namespace metal;

kernel void saxpy(device const float* x, device float* y, constant float& a, uint i [[thread_position_in_grid]]) {
    y[i] += a * x[i];
}
kernel void count(device atomic_uint* bins, uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(bins + i % 7, i, memory_order_relaxed);
}
kernel void reverse(device uint* y, threadgroup uint* shared, uint i [[thread_position_in_grid]],
                    uint t [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
    shared[t] = y[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = shared[n - 1 - t];
}
kernel void decide(device uint* groups) { groups[0] = 3; groups[1] = groups[2] = 1; }
kernel void mark(device uint* y, uint i [[thread_position_in_grid]]) { y[i] = i + 1; }
struct Mesh { device float* values; uint count; };
kernel void sum(constant Mesh* meshes, device float* out, uint i [[thread_position_in_grid]]) {
    float total = 0;
    for (uint k = 0; k < meshes[i].count; k++) total += meshes[i].values[k];
    out[i] = total;
}
kernel void speak(device const uint* x, uint i [[thread_position_in_grid]]) {
    if (i % 50 == 3) os_log_default.log("thread %u has %u", i, x[i]);
}
kernel void endless(device const volatile uint* flag) { while (*flag == 0) {} }
kernel void past_the_end(device uint* y, uint i [[thread_position_in_grid]]) { y[i + 1] = i; }
"#;

fn settings() -> IsolateSettings {
    let worker = Some(PathBuf::from(env!("CARGO_BIN_EXE_anymetal")));
    IsolateSettings { worker, ..IsolateSettings::default() }
}

fn options() -> CpuDeviceOptions {
    CpuDeviceOptions { threads: Some(2), ..CpuDeviceOptions::default() }
}

fn isolated_with(settings: &IsolateSettings) -> Device {
    let device = anymetal_isolated::open(&options(), settings, COMPILER_IDENTITY);
    Device::from_hal(device.unwrap_or_else(|error| panic!("no device: {error}")))
}

fn isolated() -> Device {
    isolated_with(&settings())
}

fn here() -> Device {
    Device::from_hal(std::sync::Arc::new(CpuDevice::new(&options()).expect("a device")))
}

fn library(device: &Device) -> Library {
    let options =
        CompileOptions::new().logging(true).check_mode(CheckMode::Bounds).file_name("test.metal".to_owned());
    device.create_library(&LibraryDescriptor::from_source(SOURCE).options(&options)).expect("a library")
}

/// What all kernels write and log, in bits.
fn results(device: &Device) -> Result<(Vec<Vec<u32>>, Vec<String>), Error> {
    let library = library(device);
    let queue = device.queue()?;
    let mut values = Vec::new();
    let n = 1000_usize;
    let floats: Vec<f32> = (0..n).map(|i| i as f32 * 0.25).collect();
    let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<u32>>();

    let (x, y) = (device.buffer(&floats)?, device.buffer(&vec![1.0f32; n])?);
    let saxpy = library.pipeline("saxpy")?;
    for _ in 0..3 {
        queue.launch(&saxpy).arg(&x).arg(&y).arg(2.5f32).threads(n).submit()?.wait()?;
    }
    values.push(bits(y.read()?));

    let bins = device.buffer_zeroed::<u32>(7)?;
    queue.launch(&library.pipeline("count")?).arg(&bins).threads(n).submit()?.wait()?;
    values.push(bins.read()?);

    let order = device.buffer(&(0..256u32).collect::<Vec<_>>())?;
    let reverse = library.pipeline("reverse")?;
    let launch = queue.launch(&reverse).arg(&order).threads(256).group_size(64);
    launch.threadgroup_memory(0, 256).submit()?.wait()?;
    values.push(order.read()?);

    let (groups, marks) = (device.buffer_zeroed::<u32>(3)?, device.buffer_zeroed::<u32>(128)?);
    queue.launch(&library.pipeline("decide")?).arg(&groups).threads(1).submit()?;
    let mark = library.pipeline("mark")?;
    queue.launch(&mark).arg(&marks).groups_from(&groups.view(0..3)?).group_size(32).submit()?.wait()?;
    values.push(marks.read()?);

    let heap = device.create_heap(&HeapDescriptor::new(1 << 16).label("heap"))?;
    let part = heap.buffer_zeroed::<u32>(100)?;
    queue.launch(&mark).arg(&part).threads(100).submit()?.wait()?;
    values.push(part.read()?);

    let meshes: Vec<[u64; 2]> = [&x, &y].map(|of| [of.gpu_address().unwrap(), of.len() as u64]).to_vec();
    let (meshes, sums) = (device.buffer(&meshes)?, device.buffer_zeroed::<f32>(2)?);
    let sum = library.pipeline("sum")?;
    let launch = queue.launch(&sum).arg(&meshes).arg(&sums).threads(2);
    launch.use_resources([&x, &y], ResourceUsage::Read).submit()?.wait()?;
    values.push(bits(sums.read()?));

    let submission = queue.launch(&library.pipeline("speak")?).arg(&marks).threads(128).submit()?;
    submission.wait()?;
    let logs = submission.logs().expect("a log").messages.iter().map(ToString::to_string).collect();
    Ok((values, logs))
}

#[track_caller]
fn device_error<T: std::fmt::Debug>(result: Result<T, Error>) -> DeviceError {
    match result {
        Err(Error::Device(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Checks that a device runs kernels.
#[track_caller]
fn works(device: &Device, library: &Library) {
    let y = device.buffer_zeroed::<u32>(64).expect("a buffer");
    let queue = device.queue().expect("a queue");
    let mark = library.pipeline("mark").expect("a pipeline");
    queue.launch(&mark).arg(&y).threads(64).submit().and_then(|work| work.wait()).expect("it runs");
    assert_eq!(y.read().expect("the bytes"), (1..=64).collect::<Vec<u32>>());
}

/// The workers with that memory limit, which differs between tests.
fn workers(memory_bytes: u64) -> Vec<Pid> {
    let memory_bytes = memory_bytes + options().stack_bytes();
    let children = std::fs::read_dir("/proc").expect("processes").flatten().filter_map(|entry| {
        let id: i32 = entry.file_name().to_str()?.parse().ok()?;
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        let argument = format!("\0worker\0{memory_bytes}\0--run\0");
        Pid::from_raw(id).filter(|_| String::from_utf8_lossy(&command).contains(&argument))
    });
    children.collect()
}

#[test]
fn values_and_logs_equal_those_of_this_process() {
    let (isolated, here) = (isolated(), here());
    let expected = results(&here).expect("results");
    assert_eq!(expected.1.len(), 3);
    assert_eq!(results(&isolated).expect("results"), expected);
}

#[test]
fn errors_equal_those_of_this_process() {
    let run = |device: &Device| {
        let library = library(device);
        let y = device.buffer_zeroed::<u32>(64).expect("a buffer");
        let past_the_end = library.pipeline("past_the_end").expect("a pipeline");
        let queue = device.queue().expect("a queue");
        let launch = || queue.launch(&past_the_end).arg(&y).threads(64).group_size(32);
        let fault = device_error(launch().submit().and_then(|work| work.wait()));
        let missing = device_error(queue.launch(&past_the_end).threads(64).submit().map(drop));
        let size = device_error(launch().group_size(4096).submit().map(drop));
        (fault, missing, size, y.read().expect("the bytes"))
    };
    let isolated = run(&isolated());
    assert!(matches!(isolated.0, DeviceError::OutOfBounds(_)), "{:?}", isolated.0);
    assert_eq!(isolated, run(&here()));
}

#[test]
fn a_kernel_without_end_meets_its_deadline() {
    let device = isolated();
    let library = library(&device);
    let flag = device.buffer(&[0u32]).expect("a buffer");
    let queue = device.queue().expect("a queue");
    let endless = library.pipeline("endless").expect("a pipeline");
    let after = Duration::from_millis(200);
    let launch = queue.launch(&endless).arg(&flag).threads(1).deadline(Deadline::After(after));
    let started = Instant::now();
    let error = device_error(launch.submit().and_then(|work| work.wait()));
    assert_eq!(error, DeviceError::DeadlineExceeded { kernel: Some("endless".to_owned()), after });
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    works(&device, &library);
}

#[test]
fn a_kernel_without_end_is_stopped_by_its_submitter() {
    let device = isolated();
    let library = library(&device);
    let (endless, flag) = (library.pipeline("endless").unwrap(), device.buffer(&[0u32]).unwrap());
    let queue = device.queue().unwrap();
    let running = queue.launch(&endless).arg(&flag).threads(1).submit().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(running.cancel(), Cancellation::TooLate);
    assert_eq!(running.stop(), Cancellation::Stopping);
    let error = device_error(running.wait());
    assert_eq!(error, DeviceError::Stopped { kernel: Some("endless".to_owned()) });
    works(&device, &library);
}

#[test]
fn a_killed_worker_fails_its_launch_and_is_replaced() {
    let memory_bytes = (4 << 30) + 11;
    let device = isolated_with(&IsolateSettings { memory_bytes, ..settings() });
    let library = library(&device);
    let kept = device.buffer(&[7u32; 16]).expect("a buffer");
    let address = kept.gpu_address().expect("an address");
    let flag = device.buffer(&[0u32]).expect("a buffer");
    let queue = device.queue().expect("a queue");
    let endless = library.pipeline("endless").expect("a pipeline");
    for signal in [Signal::KILL, Signal::ABORT, Signal::SYS] {
        let work = queue.launch(&endless).arg(&flag).threads(1).submit().expect("it is accepted");
        let [worker] = workers(memory_bytes)[..] else { panic!("one worker") };
        kill_process(worker, signal).expect("it runs");
        let error = device_error(work.wait());
        assert!(matches!(&error, DeviceError::DeviceLost { .. }), "{error:?}");
        assert_eq!(error.class(), ErrorClass::Lost);
        works(&device, &library);
        assert_ne!(workers(memory_bytes), [worker]);
        assert_eq!(kept.read().expect("the bytes"), [7; 16]);
        assert_eq!(kept.gpu_address().expect("an address"), address);
    }
    let mark = library.pipeline("mark").expect("a pipeline");
    queue.launch(&mark).arg(&kept).threads(16).submit().and_then(|work| work.wait()).expect("it runs");
    assert_eq!(kept.read().expect("the bytes"), (1..=16).collect::<Vec<u32>>());
}

#[test]
fn dropping_everything_ends_the_worker() {
    let memory_bytes = (4 << 30) + 12;
    let device = isolated_with(&IsolateSettings { memory_bytes, ..settings() });
    works(&device, &library(&device));
    assert_eq!(workers(memory_bytes).len(), 1);
    drop(device);
    let started = Instant::now();
    while !workers(memory_bytes).is_empty() {
        assert!(started.elapsed() < Duration::from_secs(10), "a worker is left");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Replaces the machine code of a kernel by one that the sandbox must stop.
#[cfg(target_arch = "x86_64")]
#[test]
fn code_that_makes_a_forbidden_system_call_ends_the_worker_alone() {
    // mov eax, 57 (fork); syscall; ret
    const FORK: [u8; 8] = [0xb8, 57, 0, 0, 0, 0x0f, 0x05, 0xc3];
    let device = isolated();
    let library = library(&device);
    let options = CompilerOptions::with_cache(CacheConfig::memory_only());
    let source = Source::from_text(
        "test.metal",
        "kernel void k(device uint* y, uint i [[thread_position_in_grid]]) { y[i] = i; }",
        SourceOptions::default(),
    );
    let parsed = Compiler::new(&options).library(source).expect("it parses");
    let artifact = parsed.artifact("k", &Specialisation::default(), Target::CpuLlvm).expect("code");
    let ArtifactCode::Object(object) = &artifact.code else { panic!("{:?}", artifact.code) };
    let mut bytes = object.to_vec();
    let entry = entry_offset(&bytes, &artifact.kernels[0].symbol);
    bytes[entry..entry + FORK.len()].copy_from_slice(&FORK);
    let hostile = Artifact::clone(&artifact).code(ArtifactCode::Object(bytes.into()));
    let hostile = device.create_library(&LibraryDescriptor::from_artifact(std::sync::Arc::new(hostile)));
    let hostile = hostile.expect("a library");
    let y = device.buffer_zeroed::<u32>(64).expect("a buffer");
    let queue = device.queue().expect("a queue");
    let pipeline = hostile.pipeline("k").expect("a pipeline");
    let error =
        device_error(queue.launch(&pipeline).arg(&y).threads(64).submit().and_then(|work| work.wait()));
    let DeviceError::DeviceLost { reason, .. } = &error else { panic!("{error:?}") };
    assert!(reason.contains("system call that its sandbox denies"), "{reason}");
    works(&device, &library);
}

/// Where the code of a function begins in an ELF object.
#[cfg(target_arch = "x86_64")]
fn entry_offset(object: &[u8], symbol: &str) -> usize {
    let word = |at: usize| u32::from_le_bytes(object[at..at + 4].try_into().expect("four bytes")) as usize;
    let long = |at: usize| u64::from_le_bytes(object[at..at + 8].try_into().expect("eight bytes")) as usize;
    let half = |at: usize| usize::from(u16::from_le_bytes([object[at], object[at + 1]]));
    let (sections, size, count) = (long(0x28), half(0x3a), half(0x3c));
    let section = |number: usize| sections + number * size;
    let table = (0..count).map(section).find(|at| word(at + 4) == 2).expect("a table of symbols");
    let names = long(section(word(table + 0x28)) + 0x18);
    let entries = long(table + 0x18)..long(table + 0x18) + long(table + 0x20);
    let named = |at: &usize| object[names + word(*at)..].starts_with(format!("{symbol}\0").as_bytes());
    let entry = entries.step_by(24).find(named).expect("the symbol");
    long(section(half(entry + 6)) + 0x18) + long(entry + 8)
}
