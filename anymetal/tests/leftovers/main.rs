//! Memory that a kernel has not written shows nothing of other kernels, tenants, or of the host.

use std::sync::Arc;

use anymetal::tenant::TenantLimits;
use anymetal::{Buffer, CheckMode, CompileOptions, Device, Error, Library, LibraryDescriptor, Queue};
use anymetal_cpu::{CpuDevice, CpuDeviceOptions};

/// Words that each probe may write.
const WORDS: usize = 1 << 15;
const GROUP: usize = 128;
/// Bytes of the dynamic threadgroup memory of `victim` and `dynamic_threadgroup`.
const GIVEN_BYTES: u64 = 4096;

const MODES: [CheckMode; 4] = [CheckMode::Bounds, CheckMode::Pages, CheckMode::Off, CheckMode::Sanitize];

fn device(threads: usize) -> Device {
    let options = CpuDeviceOptions { threads: Some(threads), ..CpuDeviceOptions::default() };
    Device::from_hal(Arc::new(CpuDevice::new(&options).unwrap()))
}

fn library(device: &Device, check_mode: CheckMode) -> Library {
    let options = CompileOptions::new().check_mode(check_mode).file_name("probes.metal");
    device
        .create_library(&LibraryDescriptor::from_source(include_str!("probes.metal")).options(&options))
        .unwrap()
}

/// Leaves addresses and secrets below the caller's frame.
#[inline(never)]
fn dirty_stack(depth: usize) -> usize {
    let local = 0u8;
    let words: [usize; 1024] = std::array::from_fn(|n| match n % 2 {
        0 => &raw const local as usize,
        _ => 0x5ec2_e700_5ec2_e700,
    });
    let words = std::hint::black_box(words);
    words[depth] ^ if depth > 0 { dirty_stack(depth - 1) } else { 0 }
}

/// Runs a kernel of the library over a few threadgroups and returns what it wrote.
fn run(queue: &Queue, library: &Library, kernel: &str, groups: usize) -> Result<Vec<u32>, Error> {
    let device = library.device();
    let out: Buffer<u32> = device.buffer_zeroed(WORDS)?;
    let zero = device.buffer(&[0u32])?;
    let pipeline = library.pipeline(kernel)?;
    let mut launch = queue.launch(&pipeline).arg(&out).arg(&zero).threads(groups * GROUP).group_size(GROUP);
    if matches!(kernel, "victim" | "dynamic_threadgroup") {
        launch = launch.threadgroup_memory(0, GIVEN_BYTES);
    }
    launch.submit()?.wait()?;
    out.read()
}

/// Fails if the words are not what memory begins with.
#[track_caller]
fn assert_clean(words: &[u32], mode: CheckMode, what: &str) {
    let is_clean = |word: u32| {
        word == 0
            || mode == CheckMode::Sanitize && word.to_ne_bytes().iter().all(|byte| [0, 0xa5].contains(byte))
    };
    let found: Vec<(usize, u32)> =
        (0..).zip(words.iter().copied()).filter(|(_, word)| !is_clean(*word)).collect();
    assert!(
        found.is_empty(),
        "{what} {mode:?}: {} words, first {:x?}",
        found.len(),
        &found[..found.len().min(4)]
    );
}

/// Runs a probe after the victim, in each mode, on devices whose workers share memory with the caller and
/// not.
fn probe(kernel: &str, modes: &[CheckMode]) {
    for threads in [1, 2] {
        let device = device(threads);
        let queue = device.queue().unwrap();
        for &mode in modes {
            let library = library(&device, mode);
            for groups in [1, 5] {
                run(&queue, &library, "victim", groups).unwrap();
                std::hint::black_box(dirty_stack(40));
                let words = run(&queue, &library, kernel, groups).unwrap();
                assert_clean(&words, mode, kernel);
            }
        }
    }
}

macro_rules! probes {
    ($($kernel:ident: $modes:expr;)*) => {
        $(#[test]
        fn $kernel() {
            probe(stringify!($kernel), &$modes);
        })*
    };
}

probes! {
    static_threadgroup: MODES;
    dynamic_threadgroup: MODES;
    between_variables: MODES;
    beyond_variables: [CheckMode::Pages];
    large_array: MODES;
    small_array: MODES;
    divergent_array: MODES;
    constant_offsets: MODES;
    array_across_barrier: MODES;
    variable_across_barrier: MODES;
    padding: MODES;
    partly_written: MODES;
    missing_return: MODES;
    inactive_lanes: MODES;
    matrix: MODES;
    matrix_in_loop: MODES;
    matrix_across_barrier: MODES;
    called_array: MODES;
}

/// Runs `either` as a writer on one queue, and as a reader on another.
fn write_and_read(mode: CheckMode, writer: &Queue, reader: &Queue) {
    let [of_writer, of_reader] = [writer, reader].map(|queue| library(queue.device(), mode));
    let words = |queue: &Queue, library: &Library, z: u32| {
        let (out, z) = (library.device().buffer_zeroed::<u32>(WORDS)?, library.device().buffer(&[z])?);
        let pipeline = library.pipeline("either")?;
        let launch = queue.launch(&pipeline).arg(&out).arg(&z).threads(GROUP).group_size(GROUP);
        launch.submit()?.wait()?;
        out.read()
    };
    let written = words(writer, &of_writer, 1).unwrap();
    assert_eq!(written[..3], [0x5ec2_e700, 0x5ec2_e701, 0x5ec2_e702], "{mode:?}: the writer runs");
    assert_clean(&words(reader, &of_reader, 0).unwrap(), mode, "either");
}

#[test]
fn tenants_queues_and_devices_that_share_a_pipeline_or_a_thread_see_nothing_of_each_other() {
    for mode in MODES {
        let (one, other) = (device(1), device(1));
        let [a, b] = ["a", "b"].map(|name| one.tenant(name, TenantLimits::default()));
        let [of_a, of_b] = [&a, &b].map(|tenant| one.for_tenant(tenant).queue().unwrap());
        let queue = one.queue().unwrap();
        write_and_read(mode, &of_a, &of_b);
        write_and_read(mode, &queue, &of_a);
        write_and_read(mode, &queue, &queue);
        write_and_read(mode, &queue, &other.queue().unwrap());
    }
}

#[test]
fn dispatches_of_one_command_buffer_see_nothing_of_each_other() -> Result<(), Error> {
    let device = device(1);
    let queue = device.queue()?;
    for mode in MODES {
        let pipeline = library(&device, mode).pipeline("either")?;
        let [written, read] = [device.buffer_zeroed::<u32>(WORDS)?, device.buffer_zeroed::<u32>(WORDS)?];
        let mut commands = queue.command_buffer()?;
        for (out, z) in [(&written, 1u32), (&read, 0)] {
            let mut encoder = commands.compute_encoder();
            encoder.set_pipeline(&pipeline);
            encoder.set_buffer(0, out, 0)?;
            encoder.set_buffer(1, &device.buffer(&[z])?, 0)?;
            encoder.dispatch_threads(GROUP as u32, GROUP as u32)?;
        }
        commands.commit()?.wait()?;
        assert_eq!(written.read()?[0], 0x5ec2_e700);
        assert_clean(&read.read()?, mode, "either");
    }
    Ok(())
}

#[test]
fn acquired_buffers_show_nothing_of_another_tenant() -> Result<(), Error> {
    let device = device(1);
    let [a, b] = ["a", "b"].map(|name| device.for_tenant(&device.tenant(name, TenantLimits::default())));
    for holder in [&a, &b, &device, &a] {
        let buffer = holder.acquire::<u32>(1000)?;
        assert_eq!(buffer.read()?, [0; 1000]);
        buffer.write(&[0x5ec2_e700; 1000])?;
        drop(buffer);
        assert_eq!(holder.acquire::<u32>(1000)?.read()?, [0x5ec2_e700; 1000], "its own data stay");
    }
    Ok(())
}
