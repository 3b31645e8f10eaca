//! Deadlines: the default, its setting, those of a queue and of a launch, and none.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anymetal::command::{Cancellation, Deadline};
use anymetal::config::{Layers, Span};
use anymetal::error::{DeviceError, ErrorKind};
use anymetal::graph::{Executable, GraphBuilder, PlanOptions};
use anymetal::{Device, Error, Outcome, QueueDescriptor};

/// One test at a time: a driver may wait for the kernels of all when it loads code or frees memory.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const SOURCE: &str = "kernel void until_set(device const volatile uint* flag) { while (*flag == 0) {} }";

/// A device with the setting; zero is no deadline.
fn device(deadline: Duration) -> Result<Device, Error> {
    let mut settings = Layers::default();
    settings.code.streams.deadline = Some(Span(deadline));
    Device::with_settings(&settings)
}

fn stopped_after(outcome: Outcome) -> Duration {
    match outcome {
        Err(Error::Device(DeviceError::DeadlineExceeded { after, .. })) => after,
        other => panic!("it was not stopped: {other:?}"),
    }
}

#[test]
fn the_nearest_deadline_counts() -> Result<(), Error> {
    let _alone = alone();
    let (setting, of_queue, of_launch) =
        (Duration::from_millis(70), Duration::from_millis(60), Duration::from_millis(50));
    let device = device(setting)?;
    let until_set = device.library_from_source(SOURCE)?.pipeline("until_set")?;
    let flag = device.buffer(&[0u32])?;
    let queue = device.queue()?;
    let with_options = device.create_queue(&QueueDescriptor::default())?;
    let own = device.create_queue(&QueueDescriptor::default().deadline(of_queue))?;
    for (queue, default) in [(&queue, setting), (&with_options, setting), (&own, of_queue)] {
        let launch = || queue.launch(&until_set).arg(&flag).threads(1);
        assert_eq!(stopped_after(launch().submit()?.wait()), default);
        assert_eq!(stopped_after(launch().run()), default);
        assert_eq!(stopped_after(launch().deadline(Deadline::Default).submit()?.wait()), default);
        assert_eq!(stopped_after(launch().deadline(of_launch).submit()?.wait()), of_launch);
        let mut graph = GraphBuilder::new("endless");
        graph.kernel("loop", until_set.node().arg(&flag).threads(1).build()?)?;
        let graph = Executable::new(&graph.build()?, PlanOptions::default())?;
        assert_eq!(stopped_after(queue.submit_graph(&graph)?.wait()), default);
        assert_eq!(stopped_after(queue.submit_graph_within(&graph, of_launch)?.wait()), of_launch);
    }
    Ok(())
}

#[test]
fn without_a_deadline_work_runs_to_its_end() -> Result<(), Error> {
    let _alone = alone();
    for (setting, deadline) in
        [(Duration::from_millis(50), Deadline::Never), (Duration::ZERO, Deadline::Default)]
    {
        let device = device(setting)?;
        let until_set = device.library_from_source(SOURCE)?.pipeline("until_set")?;
        let event = device.event()?;
        let x = device.buffer(&[1u32])?;
        let queue = device.queue()?;
        let mut commands = queue.command_buffer()?.deadline(deadline);
        commands.wait_event(&event, 1)?;
        let waits = commands.commit()?;
        let launch = queue.launch(&until_set).arg(&x).threads(1).deadline(deadline).submit()?;
        assert!(waits.wait_timeout(Duration::from_millis(300)).is_none(), "{setting:?}: it was stopped");
        event.signal(1);
        waits.wait()?;
        launch.wait()?;
    }
    Ok(())
}

#[test]
fn running_work_is_stopped_by_its_submitter() -> Result<(), Error> {
    let _alone = alone();
    let device = Device::system_default()?;
    let until_set = device.library_from_source(SOURCE)?.pipeline("until_set")?;
    let (queue, flag) = (device.queue()?, device.buffer(&[0u32])?);
    let launch = |threads: u32| queue.launch(&until_set).arg(&flag).threads(threads).submit();
    for threads in [1, 1000] {
        let (running, next) = (launch(threads)?, launch(threads)?);
        std::thread::sleep(Duration::from_millis(5));
        // It runs by now, or is still to begin.
        assert!(matches!(running.stop(), Cancellation::Stopping | Cancellation::Removed));
        assert_eq!(running.wait().unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(running.stop(), Cancellation::Ended);
        assert!(!next.is_done(), "the other goes on");
        next.stop();
        assert_eq!(next.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    }
    // The queue works on.
    let set = device.buffer(&[1u32])?;
    queue.launch(&until_set).arg(&set).threads(1).submit()?.wait()?;
    Ok(())
}

#[test]
fn a_runaway_kernel_is_stopped_while_others_compile_and_free() -> Result<(), Error> {
    let _alone = alone();
    let device = device(Duration::from_millis(200))?;
    let until_set = device.library_from_source(SOURCE)?.pipeline("until_set")?;
    let (queue, flag) = (device.queue()?, device.buffer(&[0u32])?);
    std::thread::scope(|scope| {
        let runaway = scope.spawn(|| -> Result<(), Error> {
            for _ in 0..5 {
                stopped_after(queue.launch(&until_set).arg(&flag).threads(1).submit()?.wait());
            }
            Ok(())
        });
        let mut number = 0;
        while !runaway.is_finished() {
            let source = format!("kernel void add(device uint* y) {{ y[0] += {number}; }}");
            let add = device.library_from_source(&source)?.pipeline("add")?;
            let y = device.buffer(&[1u32; 1 << 16])?;
            device.queue()?.launch(&add).arg(&y).threads(1).submit()?.wait()?;
            assert_eq!(y.read()?[0], 1 + number);
            number += 1;
        }
        runaway.join().expect("no panic")
    })
}

#[test]
fn work_that_waits_for_an_event_is_stopped() -> Result<(), Error> {
    let _alone = alone();
    let device = Device::system_default()?;
    let until_set = device.library_from_source(SOURCE)?.pipeline("until_set")?;
    let (queue, set, never) = (device.queue()?, device.buffer(&[1u32])?, device.event()?);
    let launch = || queue.launch(&until_set).arg(&set).threads(1);
    let mut commands = queue.command_buffer()?;
    let mut encoder = commands.compute_encoder();
    encoder.set_pipeline(&until_set);
    encoder.set_buffer(0, &set, 0)?;
    encoder.dispatch_threads(1, 1)?;
    encoder.end_encoding();
    commands.wait_event(&never, 1)?;
    let waiting = commands.commit()?;
    let next = launch().submit()?;
    std::thread::sleep(Duration::from_millis(5));
    assert!(matches!(waiting.stop(), Cancellation::Stopping | Cancellation::Removed));
    assert_eq!(waiting.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    next.wait()?;
    Ok(())
}
