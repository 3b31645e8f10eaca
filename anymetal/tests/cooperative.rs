//! Cooperative launches through the facade: what is refused, that nothing hangs, deadlines and faults.

use std::time::Duration;

use anymetal::graph::{Executable, GraphBuilder, PlanOptions};
use anymetal::{Device, Error, Pipeline};
use anymetal_hal::artifact::KernelInfo;
use anymetal_hal::error::DeviceError;

const SOURCE: &str = r"
#include <metal_stdlib>
#include <anymetal_groups>
using namespace metal;

kernel void turn(device uint* x, device uint* y, uint i [[thread_position_in_grid]],
                 uint n [[threads_per_grid]]) {
    x[i] = i;
    anymetal::grid_sync();
    y[i] = x[n - 1 - i];
}
kernel void plain(device uint* x, uint i [[thread_position_in_grid]]) { x[i] = i; }
kernel void forever(device uint* x, uint i [[thread_position_in_grid]]) {
    while (x[i] == 0) anymetal::grid_sync();
}
kernel void beyond(device uint* x, uint i [[thread_position_in_grid]]) {
    anymetal::grid_sync();
    x[i + 1] = i;
    anymetal::grid_sync();
}
";

fn pipeline(device: &Device, name: &str) -> Pipeline {
    device.library_from_source(SOURCE).unwrap().pipeline(name).unwrap()
}

fn info(pipeline: &Pipeline) -> &KernelInfo {
    pipeline.kernel()
}

fn device_error<T: std::fmt::Debug>(result: Result<T, Error>) -> DeviceError {
    match result {
        Err(Error::Device(error)) => error,
        other => panic!("{other:?} is no device's error"),
    }
}

#[test]
fn reflection_tells_that_a_kernel_needs_it() {
    let device = Device::system_default().unwrap();
    assert!(info(&pipeline(&device, "turn")).grid_barriers);
    assert!(!info(&pipeline(&device, "plain")).grid_barriers);
}

#[test]
fn threadgroups_see_what_all_wrote_before_the_barrier() {
    let device = Device::system_default().unwrap();
    let (turn, plain) = (pipeline(&device, "turn"), pipeline(&device, "plain"));
    let queue = device.queue().unwrap();
    for n in [1u32, 31, 1000, 5000] {
        let (x, y) = (device.buffer_zeroed::<u32>(5000).unwrap(), device.buffer_zeroed::<u32>(5000).unwrap());
        let launch = queue.launch(&turn).arg(&x).arg(&y).threads(n).group_size(64);
        launch.cooperative().submit().unwrap().wait().unwrap();
        let found = y.read().unwrap();
        assert!((0..n).all(|i| found[i as usize] == n - 1 - i), "{n}");
        // A kernel without barriers may be launched so, too.
        let launch = queue.launch(&plain).arg(&x).threads(n).group_size(64);
        launch.cooperative().submit().unwrap().wait().unwrap();
    }
    let (x, y) = (device.buffer_zeroed::<u32>(512).unwrap(), device.buffer_zeroed::<u32>(512).unwrap());
    let mut commands = queue.command_buffer().unwrap();
    let mut encoder = commands.compute_encoder();
    encoder.set_pipeline(&turn);
    encoder.set_buffer(0, &x, 0).unwrap();
    encoder.set_buffer(1, &y, 0).unwrap();
    encoder.dispatch_threadgroups_cooperative(8, 64).unwrap();
    encoder.end_encoding();
    commands.commit().unwrap().wait().unwrap();
    assert!(y.read().unwrap().iter().rev().copied().eq(0..512));
}

#[test]
fn other_launches_are_refused_before_anything_runs() {
    let device = Device::system_default().unwrap();
    let turn = pipeline(&device, "turn");
    let queue = device.queue().unwrap();
    let (x, y) = (device.buffer_zeroed::<u32>(64).unwrap(), device.buffer_zeroed::<u32>(64).unwrap());
    let refused = DeviceError::NotCooperative { kernel: "turn".to_owned() };
    let launch = || queue.launch(&turn).arg(&x).arg(&y).group_size(32);
    assert_eq!(device_error(launch().threads(64).submit()), refused);
    let counts = device.buffer(&[2u32, 1, 1]).unwrap();
    let counts = counts.view(0..3).unwrap();
    assert_eq!(device_error(launch().groups_from(&counts).submit()), refused);
    assert_eq!(x.read().unwrap(), [0; 64]);
    assert!(format!("{refused}").contains("--cooperative"));
}

#[test]
fn a_grid_that_does_not_fit_is_refused_with_the_limit() {
    let device = Device::by_name("cpu").unwrap();
    let turn = pipeline(&device, "turn");
    let queue = device.queue().unwrap();
    let (x, y) = (device.buffer_zeroed::<u32>(64).unwrap(), device.buffer_zeroed::<u32>(64).unwrap());
    let launch = queue.launch(&turn).arg(&x).arg(&y).groups(1 << 20).group_size(32).cooperative();
    match device_error(launch.submit()) {
        DeviceError::CooperativeGridTooLarge { groups, limit, .. } => {
            assert_eq!(groups, 1 << 20);
            assert!((64..groups).contains(&limit), "{limit}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn endless_meetings_end_at_the_deadline() {
    let device = Device::system_default().unwrap();
    let forever = pipeline(&device, "forever");
    let queue = device.queue().unwrap();
    let x = device.buffer_zeroed::<u32>(256).unwrap();
    let launch = queue.launch(&forever).arg(&x).threads(256).group_size(32).cooperative();
    let stopped = launch.deadline(Duration::from_millis(50)).submit().unwrap().wait();
    let stopped = stopped.map(|_| ()).unwrap_err();
    assert!(matches!(&stopped, Error::Device(DeviceError::DeadlineExceeded { .. })), "{stopped:?}");
}

#[test]
fn faults_are_told_and_all_threadgroups_end() {
    let device = Device::system_default().unwrap();
    let beyond = pipeline(&device, "beyond");
    let queue = device.queue().unwrap();
    let x = device.buffer_zeroed::<u32>(256).unwrap();
    let launch = queue.launch(&beyond).arg(&x).threads(256).group_size(32).cooperative();
    match device_error(launch.submit().unwrap().wait().map(|_| ())) {
        DeviceError::OutOfBounds(fault) => assert_eq!(fault.element_index, Some(256)),
        other => panic!("{other}"),
    }
    assert_eq!(x.read().unwrap()[255], 254);
}

#[test]
fn graphs_do_not_hold_such_kernels() {
    let device = Device::system_default().unwrap();
    let turn = pipeline(&device, "turn");
    let (x, y) = (device.buffer_zeroed::<u32>(64).unwrap(), device.buffer_zeroed::<u32>(64).unwrap());
    let mut builder = GraphBuilder::new("meeting");
    let node = turn.node().arg(&x).arg(&y).threads(64).group_size(32).build().unwrap();
    builder.kernel("turn", node).unwrap();
    let graph = Executable::new(&builder.build().unwrap(), PlanOptions::default()).unwrap();
    let queue = device.queue().unwrap();
    let refused = queue.submit_graph(&graph).and_then(|submitted| submitted.wait().map(|_| ()));
    assert!(format!("{:?}", refused.unwrap_err()).contains("NotCooperative"));
    assert_eq!(x.read().unwrap(), [0; 64]);
}
