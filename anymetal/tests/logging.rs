//! Messages from kernels: what arrives, in which order, what is lost, and that the interpreter and machine
//! code write the same. The sizes that kernels require are tested here, too.
//!
//! covers: MSL 6.19
//! oracle: exact

use std::sync::Arc;

use anymetal::error::{DeviceError, ErrorClass};
use anymetal::log::{LogLevel, Logs};
use anymetal::{CheckMode, CompileOptions, Device, Error, LibraryDescriptor, MathMode};

const SOURCE: &str = r#"
#include <metal_stdlib>
#include <metal_logging>
using namespace metal;

constant os_log own("com.example.app", "solver");

enum Side { left, right = 7 };

inline void inner(float x, uint i) {
    if (i % 32 == 5) os_log_default.log_debug("inner %u has %g", i, x);
}

template <typename T> void outer(T x, uint i) {
    inner(float(x) * 0.5f, i);
    own.log_with_type(log_type_info, "outer %.2f", x);
}

kernel void plain(device const float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    os_log_default.log("thread %u has %f", i, x[i]);
}

kernel void nested(device const float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i % 40 == 5) outer(x[i], i);
}

kernel void kinds(device const float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    half h = 1.5h;
    long big = -5000000000l;
    own.log_error("%d %5u|%-5d|%x %c %ld", int(x[0]) - 3, 42u, 7, 255u, 'z', big);
    own.log_error("%f %e %g %a %*.*f", h, 12345.678f, 1e-5f, 1.0f, 8, 2, 3.14159f);
    own.log_error("%v4hlf %v2hhu %v3d", float4(1, 2, 3, 4), uchar2(5, 250), short3(-1, 0, 1));
    own.log_error("%d %d %lu 100%%", true, right, ulong(18446744073709551615ul));
}

kernel void grid(uint2 at [[thread_position_in_grid]]) {
    for (uint n = 0; n < 2; ++n) os_log_default.log("step %u", n);
}

kernel void fails(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    y[i] = i;
    if (i >= 3) own.log_fault("value %u is too large", i);
}

[[required_threads_per_threadgroup(8, 4)]]
kernel void required(device uint* y [[buffer(0)]], uint2 at [[thread_position_in_grid]]) { y[at.x] = at.y; }
"#;

fn options(check_mode: CheckMode) -> CompileOptions {
    CompileOptions::new().logging(true).math_mode(MathMode::Safe).check_mode(check_mode)
}

/// Runs a kernel over floats and gives its messages.
fn logs(check_mode: CheckMode, kernel: &str, count: usize) -> Result<Arc<Logs>, Error> {
    let device = Device::system_default()?;
    let pipeline = device
        .create_library(&LibraryDescriptor::from_source(SOURCE).options(&options(check_mode)))?
        .pipeline(kernel)?;
    let x = device.buffer(&(0..count).map(|i| i as f32 + 0.25).collect::<Vec<_>>())?;
    let submission = device.queue()?.launch(&pipeline).arg(&x).threads(count).group_size(32).submit()?;
    submission.wait()?;
    Ok(submission.logs().expect("the kernel has a log"))
}

fn texts(logs: &Logs) -> Vec<&str> {
    logs.messages.iter().map(|message| message.text.as_str()).collect()
}

#[test]
fn each_thread_has_its_message_and_they_come_by_threadgroup() -> Result<(), Error> {
    let logs = logs(CheckMode::Bounds, "plain", 200)?;
    assert_eq!((logs.messages.len(), logs.dropped), (200, 0));
    let groups: Vec<u32> = logs.messages.iter().map(|message| message.threadgroup[0]).collect();
    assert!(groups.is_sorted(), "{groups:?}");
    let mut seen: Vec<u32> = Vec::new();
    for message in &logs.messages {
        let i = message.thread[0];
        assert_eq!(message.text, format!("thread {i} has {:.6}", i as f32 + 0.25));
        assert_eq!((message.level, message.kernel.as_str()), (LogLevel::Default, "plain"));
        assert_eq!((message.subsystem.as_str(), message.threadgroup), ("", [i / 32, 0, 0]));
        seen.push(i);
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..200).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn messages_come_from_functions_and_templates() -> Result<(), Error> {
    let logs = logs(CheckMode::Bounds, "nested", 64)?;
    assert_eq!(texts(&logs), ["inner 5 has 2.625", "outer 5.25", "outer 45.25"]);
    let levels: Vec<LogLevel> = logs.messages.iter().map(|message| message.level).collect();
    assert_eq!(levels, [LogLevel::Debug, LogLevel::Info, LogLevel::Info]);
    let own = &logs.messages[1];
    assert_eq!((own.subsystem.as_str(), own.category.as_str()), ("com.example.app", "solver"));
    Ok(())
}

#[test]
fn every_conversion_is_printed_as_by_printf() -> Result<(), Error> {
    let logs = logs(CheckMode::Bounds, "kinds", 1)?;
    let expected = [
        "-3    42|7    |ff z -5000000000",
        "1.500000 1.234568e+04 1e-05 0x1p+0     3.14",
        "1.000000, 2.000000, 3.000000, 4.000000 5, 250 -1, 0, 1",
        "1 7 18446744073709551615 100%",
    ];
    assert_eq!(texts(&logs), expected);
    Ok(())
}

#[test]
fn the_interpreter_and_machine_code_write_the_same() -> Result<(), Error> {
    for (kernel, count) in [("plain", 100), ("nested", 100), ("kinds", 1)] {
        let sorted = |check_mode| -> Result<Vec<_>, Error> {
            let logs = logs(check_mode, kernel, count)?;
            let mut messages: Vec<_> =
                logs.messages.iter().map(|message| (message.thread, message.text.clone())).collect();
            messages.sort();
            Ok(messages)
        };
        assert_eq!(sorted(CheckMode::Bounds)?, sorted(CheckMode::Sanitize)?, "{kernel}");
    }
    assert!(anymetal::sanitizer::findings().is_empty(), "a log is no race");
    Ok(())
}

#[test]
fn a_full_log_counts_what_it_loses() -> Result<(), Error> {
    let device = Device::system_default()?;
    let library = device
        .create_library(&LibraryDescriptor::from_source(SOURCE).options(&options(CheckMode::Bounds)))?;
    let grid = library.pipeline("grid")?;
    let queue = device.queue()?;
    let mut commands = queue.command_buffer()?.log_bytes(1024);
    let mut encoder = commands.compute_encoder();
    encoder.set_pipeline(&grid);
    encoder.dispatch_threads((64, 64), (8, 8))?;
    encoder.dispatch_threads((2, 1), (1, 1))?;
    encoder.end_encoding();
    let submission = commands.commit()?;
    submission.wait()?;
    let logs = submission.logs().expect("the kernels have a log");
    // A record has six words; the header takes four of the log's.
    let fitting = (1024 / 4 - 4) / 6;
    assert_eq!(logs.messages.len(), fitting);
    assert_eq!(logs.dropped, 64 * 64 * 2 + 4 - fitting as u64);
    assert!(logs.messages.iter().all(|message| message.text.starts_with("step ")));
    Ok(())
}

#[test]
fn messages_of_a_thread_keep_their_order() -> Result<(), Error> {
    let device = Device::system_default()?;
    let library = device
        .create_library(&LibraryDescriptor::from_source(SOURCE).options(&options(CheckMode::Bounds)))?;
    let queue = device.queue()?;
    let submission = queue.launch(&library.pipeline("grid")?).threads((5, 3)).group_size((2, 2)).submit()?;
    submission.wait()?;
    let logs = submission.logs().expect("the kernel has a log");
    for y in 0..3 {
        for x in 0..5 {
            let own = logs.messages.iter().filter(|message| message.thread == [x, y, 0]);
            assert_eq!(own.map(|message| message.text.as_str()).collect::<Vec<_>>(), ["step 0", "step 1"]);
        }
    }
    let groups: Vec<[u32; 3]> = logs.messages.iter().map(|message| message.threadgroup).collect();
    assert!(groups.is_sorted_by_key(|[x, y, z]| [*z, *y, *x]), "{groups:?}");
    Ok(())
}

#[test]
fn a_fault_is_an_error_of_its_command_buffer() -> Result<(), Error> {
    let device = Device::system_default()?;
    let library = device
        .create_library(&LibraryDescriptor::from_source(SOURCE).options(&options(CheckMode::Bounds)))?;
    let (y, queue) = (device.buffer_zeroed::<u32>(5)?, device.queue()?);
    let submission = queue.launch(&library.pipeline("fails")?).arg(&y).threads(5).submit()?;
    let after = queue.launch(&library.pipeline("fails")?).arg(&y).threads(1).after(&submission).submit()?;
    let error = submission.wait().expect_err("a message of `log_fault`");
    assert_eq!(error.to_string(), "kernel `fails`, thread (3, 0, 0): value 3 is too large");
    assert_eq!(error.class(), ErrorClass::Caller);
    assert!(after.wait().is_err(), "what depends on it does not run");
    let logs = submission.logs().expect("the kernel has a log");
    assert_eq!(texts(&logs), ["value 3 is too large", "value 4 is too large"]);
    assert_eq!(y.read()?, [0, 1, 2, 3, 4], "the kernel went on");
    Ok(())
}

#[test]
fn without_logging_there_is_no_log() -> Result<(), Error> {
    let device = Device::system_default()?;
    let fails = device.library_from_source(SOURCE)?.pipeline("fails")?;
    assert_eq!(fails.kernel().arguments.len(), 1);
    let y = device.buffer_zeroed::<u32>(5)?;
    let submission = device.queue()?.launch(&fails).arg(&y).threads(5).submit()?;
    submission.wait()?;
    assert_eq!((submission.logs(), y.read()?), (None, vec![0, 1, 2, 3, 4]));
    Ok(())
}

#[test]
fn a_kernel_runs_with_the_size_that_it_requires() -> Result<(), Error> {
    let device = Device::system_default()?;
    let required = device.library_from_source(SOURCE)?.pipeline("required")?;
    let (y, queue) = (device.buffer_zeroed::<u32>(8)?, device.queue()?);
    queue.launch(&required).arg(&y).threads((8, 4)).submit()?.wait()?;
    let refused = queue.launch(&required).arg(&y).threads((8, 4)).group_size((4, 8)).submit();
    let Err(Error::Device(error)) = refused else { panic!("{refused:?}") };
    assert!(
        matches!(error, DeviceError::GroupSizeMismatch { needs: [8, 4, 1], got: [4, 8, 1], .. }),
        "{error}"
    );
    Ok(())
}
