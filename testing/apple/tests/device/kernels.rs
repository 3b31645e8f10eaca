//! Pipelines: constants, what the device tells of a kernel, archives.

use anymetal_hal::artifact::{Access, ArgumentKind};

use super::*;

#[test]
fn function_constants_and_threadgroup_memory_reach_the_kernel() {
    let bench = Bench::new();
    let x = bench.buffer(&[0; 5]);
    let constants = dispatch(&bench.pipeline("constants"), vec![bound_from(0, &x, 4)], 4, 4);
    bench.run(vec![Command::Dispatch(constants)]).unwrap();
    assert_eq!(values(&x), [0, 40, 41, 42, 43]);
    let rotate = dispatch(&bench.pipeline("rotate_rows"), vec![bound(0, &x)], 5, 5);
    let rotate = rotate.with_threadgroup_memory(vec![threadgroup(0, 20)]);
    bench.run(vec![Command::Dispatch(rotate)]).unwrap();
    assert_eq!(values(&x), [40, 41, 42, 43, 0]);
}

#[test]
fn the_device_tells_limits_and_how_arguments_are_used() {
    let bench = Bench::new();
    let pipeline = bench.pipeline("rotate_rows");
    let kernel = pipeline.kernel();
    assert!((1..=1024).contains(&kernel.max_threads_per_threadgroup));
    assert!(kernel.simd_width.is_power_of_two() && kernel.threadgroup_static_bytes >= 32);
    let x = kernel.argument(ArgumentKind::Buffer, 0).unwrap();
    assert_eq!((x.name.as_str(), x.type_name.as_str(), x.access), ("x", "uint", Access::ReadWrite));
    assert!(kernel.argument(ArgumentKind::ThreadgroupMemory, 0).is_some());
    let scale = bench.pipeline("scale");
    assert_eq!(scale.kernel().argument(ArgumentKind::Buffer, 2).unwrap().access, Access::Read);
}

#[test]
fn kernels_are_kept_in_an_archive() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = AppleOptions::default();
    options.archive = Some(folder.path().join("kernels.archive"));
    let first = Bench::with(&options);
    let _pipeline = first.pipeline("scale");
    first.device.save_archive().unwrap();
    assert!(folder.path().join("kernels.archive").exists());
    let second = Bench::with(&options);
    let (pipeline, x) = (second.pipeline("scale"), second.buffer(&[2]));
    second.run(vec![scale(&pipeline, &x, 21, 1)]).unwrap();
    assert_eq!(values(&x), [42]);
    std::fs::write(folder.path().join("kernels.archive"), "no archive").unwrap();
    let refused = AppleDevice::open(0, &options).unwrap_err().to_string();
    assert!(refused.contains("kernels.archive"), "{refused}");
}

#[test]
fn marks_change_no_results() {
    let mut options = AppleOptions::default();
    options.debug_marks = true;
    let bench = Bench::with(&options);
    let (pipeline, x) = (bench.pipeline("scale"), bench.buffer(&[3]));
    let submission = CommandList::new(vec![scale(&pipeline, &x, 2, 1), copy((&x, 0), (&bench.buffer(&[0]), 0), 4)]).label("marked");
    bench.queue.submit(submission).unwrap().wait().unwrap();
    assert_eq!(values(&x), [6]);
}
