//! Each rung, and how they follow each other.

use anymetal_policy::breaker::BreakerState;
use anymetal_policy::ladder::GiveUp;
use anymetal_telemetry::collect::sums;
use anymetal_telemetry::names::metrics as names;

use super::*;
use anymetal::testing;

#[test]
fn work_that_is_refused_is_tried_again_after_a_delay() {
    let bench = Bench::new(&[("a", refusals(1, ErrorClass::Transient))], policies());
    let add = bench.kernel("add");
    let (x, y) =
        (bench.manager.buffer(&[4u32; 40]).unwrap(), bench.manager.buffer_zeroed::<u32>(40).unwrap());
    let execution = bench.run(bench.manager.launch(&add).arg(&x).arg(&y).threads(40).execute_async());
    assert_eq!(path(execution), "a transient @0ns+0ns, retry a ok @100ms+0ns");
    assert_eq!(y.read().unwrap(), [5; 40]);
    drop((add, x, y));
    bench.assert_no_leaks();
}

#[test]
fn idle_memory_is_released_where_memory_ran_out() {
    let allocations = Faults::at(4, ErrorClass::Exhausted);
    let bench = Bench::new(&[("a", no_faults().allocations(allocations))], one_attempt());
    let add = bench.kernel("add");
    let labelled = |label: &str| bench.manager.buffer_with(&[4u32; 40], label, Default::default()).unwrap();
    let (x, y, late) = (labelled("x"), labelled("y"), labelled("late"));
    // Two allocations of the manager's, and an idle one of the pool's.
    bench.run(bench.manager.launch(&add).arg(&x).arg(&y).threads(40).execute_async()).unwrap();
    drop(bench.devices[0].acquire::<u32>(1000).unwrap());
    assert!(bench.devices[0].pool().stats().idle_bytes > 0);
    let other = labelled("other");
    let execution = bench.run(bench.manager.launch(&add).arg(&late).arg(&other).threads(40).execute_async());
    assert_eq!(path(execution), "a exhausted @0ns+0ns, release-memory a ok @0ns+0ns");
    assert_eq!(bench.devices[0].pool().stats().idle_bytes, 0);
    let held: Vec<_> = bench.devices[0].live_buffers().into_iter().map(|buffer| buffer.label).collect();
    assert_eq!(held, ["y", "late", "other"], "the host still has `x`, and not the result `y`");
    assert_eq!((y.read().unwrap(), other.read().unwrap()), (vec![5; 40], vec![5; 40]));
}

#[test]
fn degraded_work_runs_alone_and_then_in_pieces() {
    let bench = Bench::new(&[("a", refusals(2, ErrorClass::Exhausted))], one_attempt());
    let add = bench.kernel("add");
    let (x, y) =
        (bench.manager.buffer(&[4u32; 41]).unwrap(), bench.manager.buffer_zeroed::<u32>(41).unwrap());
    let launch = bench.manager.launch(&add).arg(&x).arg(&y).threads(41).split(|piece, call| {
        let part = piece.range(41);
        let (x, y) = (x.view(part.clone()).unwrap(), y.view(part.clone()).unwrap());
        call.arg(x).arg(y).threads(part.len())
    });
    let execution = bench.run(launch.execute_async()).unwrap();
    let expected = "a exhausted @0ns+0ns, degrade a/1 exhausted @0ns+0ns, degrade a/2 ok @0ns+0ns";
    assert_eq!((execution.path.to_string().as_str(), execution.pieces), (expected, 2));
    assert!(execution.is_degraded() && execution.attempts() == 3);
    assert_eq!(y.read().unwrap(), [5; 41]);
}

#[test]
fn a_degraded_launch_runs_the_reduced_kernel() {
    let bench = Bench::new(&[("a", refusals(1, ErrorClass::Exhausted))], one_attempt());
    let source = "kernel void exact(device const float* x, device float* y,
                                    uint i [[thread_position_in_grid]]) { y[i] = x[i] + 0.0001f; }
                  kernel void coarse(device const float* x, device float* y,
                                     uint i [[thread_position_in_grid]]) { y[i] = float(half(x[i])); }
                  kernel void other(device const float* x, device half* y,
                                    uint i [[thread_position_in_grid]]) { y[i] = half(x[i]); }";
    let [exact, coarse, other] =
        ["exact", "coarse", "other"].map(|name| bench.manager.kernel(source, name).unwrap());
    let (x, y) =
        (bench.manager.buffer(&[1.0f32; 40]).unwrap(), bench.manager.buffer_zeroed::<f32>(40).unwrap());
    let launch = |reduced| bench.manager.launch(&exact).arg(&x).arg(&y).threads(40).reduced(reduced);
    let differs = bench.run(launch(&other).execute_async()).unwrap_err();
    assert!(matches!(differs, ManagerError::ReducedDiffers { .. }), "{differs}");
    let execution = bench.run(launch(&coarse).execute_async()).unwrap();
    assert!(execution.is_degraded() && execution.is_reduced);
    assert_eq!(y.read().unwrap(), [1.0; 40]);
    let execution = bench.run(launch(&coarse).execute_async()).unwrap();
    assert!(!execution.is_degraded() && !execution.is_reduced);
    assert_eq!(y.read().unwrap(), [1.0001f32; 40]);
}

#[test]
fn the_gauge_of_degraded_mode_is_up_for_as_long_as_an_attempt_is_degraded() {
    const DEVICE: &str = "the device of the test of the gauge";
    let bench = Bench::new(&[(DEVICE, refusals(1, ErrorClass::Exhausted))], one_attempt());
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 64]).unwrap());
    let gauge = || sums().get(&names::DEGRADED, &[DEVICE]);
    let during = Mutex::new(Vec::new());
    assert_eq!(gauge(), Some(0.0));
    let launch = bench.manager.launch(&increment).arg(&y).threads(64).verify(|_made| {
        lock(&during).push(gauge());
        Ok(true)
    });
    assert!(bench.run(launch.execute_async()).unwrap().is_degraded());
    assert_eq!((lock(&during).as_slice(), gauge()), (&[Some(1.0)][..], Some(0.0)));
    assert_eq!(sums().get(&names::MANAGER_STREAMS, &[DEVICE]), Some(1.0));
}

#[test]
fn pieces_keep_to_the_buffers_of_the_whole() {
    let bench = Bench::new(&[("a", refusals(2, ErrorClass::Exhausted))], one_attempt());
    let add = bench.kernel("add");
    let (x, y) = (bench.manager.buffer(&[4u32; 4]).unwrap(), bench.manager.buffer_zeroed::<u32>(4).unwrap());
    let launch = bench.manager.launch(&add).arg(&x).arg(&y).threads(4);
    // It would write what the whole only reads.
    let launch = launch.split(|_, call| call.arg(&y).arg(&x).threads(4));
    let failed = failed(bench.run(launch.execute_async()));
    assert_eq!(failed.why, GiveUp::Caller);
    assert_eq!((x.read().unwrap(), y.read().unwrap()), (vec![4; 4], vec![0; 4]));
}

#[test]
fn a_device_that_keeps_failing_is_left_and_its_breaker_opened() {
    let completions = Faults::by_chance(1_000_000, &[ErrorClass::Transient]);
    let plans = [("a", no_faults().completions(completions)), ("b", no_faults())];
    let bench = Bench::new(&plans, policies());
    let add = bench.kernel("add");
    let (x, y) =
        (bench.manager.buffer(&[4u32; 40]).unwrap(), bench.manager.buffer_zeroed::<u32>(40).unwrap());
    let run = || bench.run(bench.manager.launch(&add).arg(&x).arg(&y).threads(40).execute_async());
    let expected = "a transient @0ns+0ns, retry a transient @100ms+0ns, retry a transient @300ms+0ns, \
                    degrade a/1 transient @300ms+0ns, fallback b ok @300ms+0ns";
    assert_eq!(path(run()), expected);
    assert_eq!(
        bench.events(),
        ["retry a/0", "retry a/0", "degrade a/1", "fallback b/0", "breaker a add open"]
    );
    assert_eq!(path(run()), "b ok @300ms+0ns", "the first device is left out while its breaker is open");
    let breakers = bench.manager.breakers();
    let states: Vec<_> = breakers.iter().map(|breaker| (&*breaker.device, breaker.snapshot.state)).collect();
    assert_eq!(states, [("a", BreakerState::Open), ("b", BreakerState::Closed)]);
    assert!(breakers.iter().all(|breaker| breaker.work == "add"));
    assert_eq!(y.read().unwrap(), [5; 40]);
}

#[test]
fn work_returns_to_a_device_that_works_again() {
    let plans = [("a", refusals(4, ErrorClass::Transient)), ("b", no_faults())];
    let bench = Bench::new(&plans, policies());
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[0u32; 64]).unwrap());
    let run = || bench.run(bench.manager.launch(&increment).arg(&y).threads(64).execute_async());
    let device = || run().unwrap().device.to_string();
    assert_eq!((device(), device()), ("b".into(), "b".into()), "the breaker of `a` is open");
    bench.clock.advance(seconds(3600));
    assert_eq!((device(), device()), ("a".into(), "a".into()), "the contents follow the work");
    assert_eq!(y.read().unwrap(), [4; 64]);
}

#[test]
fn mistakes_are_told_and_not_tried_again() {
    let bench = Bench::new(&[("a", no_faults()), ("b", no_faults())], policies());
    let (add, y) = (bench.kernel("add"), bench.manager.buffer_zeroed::<u32>(10).unwrap());
    let x = bench.manager.buffer(&[1u32; 11]).unwrap();
    let outside = bench.manager.launch(&add).arg(&x).arg(&y).threads(11);
    let outside = failed(bench.run(outside.execute_async()));
    assert_eq!((outside.why, outside.path.attempts().len()), (GiveUp::Caller, 1));
    let one_device = bench.devices[0].buffer(&[0u32; 4]).unwrap();
    let foreign = bench.manager.launch(&add).arg(&x).arg(&one_device).threads(4).execute();
    assert!(foreign.unwrap_err().to_string().contains("a buffer of one device"));
    let elsewhere = Bench::new(&[("a", no_faults())], policies());
    let other = elsewhere.manager.buffer(&[0u32; 11]).unwrap();
    let foreign = bench.manager.launch(&add).arg(&x).arg(&other).threads(4).execute();
    assert_eq!(foreign.unwrap_err(), ManagerError::Foreign { what: "buffer" });
    assert!(matches!(
        bench.manager.kernel("kernel void k( {", "k"),
        Err(ManagerError::Call(Error::Compile(_)))
    ));
    assert_eq!(Manager::builder().build().unwrap_err(), ManagerError::NoDevice);
    let twice = Manager::builder().device(bench.devices[0].clone()).device(bench.devices[0].clone());
    assert!(matches!(twice.build(), Err(ManagerError::DuplicateDevice { .. })));
}

#[test]
fn the_deadline_of_a_call_ends_its_delays() {
    let bench = Bench::new(&[("a", refusals(9, ErrorClass::Transient))], policies());
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 8]).unwrap());
    let launch = bench.manager.launch(&increment).arg(&y).threads(8).deadline(Duration::from_millis(150));
    let failed = failed(bench.run(launch.execute_async()));
    assert!(failed.path.to_string().starts_with("a transient @0ns+0ns, retry a transient @100ms+0ns"));
    assert!(bench.clock.now() < Duration::from_millis(150), "a delay in vain is not waited for");
    assert_eq!(y.read().unwrap(), [1; 8]);
}

#[test]
fn results_can_be_checked() {
    let wrong = no_faults().wrong_results(Faults::at(0, ErrorClass::Transient));
    let bench = Bench::new(&[("a", wrong)], policies());
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 8]).unwrap());
    let launch = bench.manager.launch(&increment).arg(&y).threads(8);
    let execution = bench.run(launch.verify(|made| Ok(made.read(&y)? == [2; 8])).execute_async());
    assert_eq!(path(execution), "a transient @0ns+0ns, retry restored a ok @100ms+0ns");
    assert_eq!(y.read().unwrap(), [2; 8]);
}

#[test]
fn the_null_device_is_a_device() {
    let clock = ManualClock::new();
    let null = testing::null_device(&clock, RuntimeConfig::default());
    let manager = Manager::builder().device(null.clone()).clock(clock.clone()).build().unwrap();
    let add = manager.kernel(SOURCE, "add").unwrap();
    add.compile_ahead().unwrap();
    let (x, y) = (manager.buffer(&[4u32; 40]).unwrap(), manager.buffer_zeroed::<u32>(40).unwrap());
    assert_eq!(path(manager.launch(&add).arg(&x).arg(&y).threads(40).execute()), "null ok @0ns+0ns");
    drop((manager, add, x, y));
    null.assert_no_leaks();
}
