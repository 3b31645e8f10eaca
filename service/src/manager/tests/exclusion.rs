//! Executions that share buffers.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Waker};

use anymetal_policy::adapt::AdaptivePolicy;
use anymetal_policy::bulkhead::BulkheadPolicy;
use anymetal_policy::ladder::GiveUp;
use anymetal_policy::virtual_time::{Simulated, run_all};

use super::*;
use crate::manager::Durability;

/// All work takes 10 ms, and there are four streams.
fn slow(policies: Policies) -> Bench {
    let latency = Duration::from_millis(10)..Duration::from_millis(10);
    let adapt = AdaptivePolicy::builder().minimum(4).build().unwrap();
    Bench::new(&[("a", no_faults().latency(latency))], Policies { adapt, ..policies })
}

#[test]
fn executions_that_write_a_shared_buffer_run_one_after_the_other() {
    let bench = slow(policies());
    let (add, increment) = (bench.kernel("add"), bench.kernel("increment"));
    let buffer = || bench.manager.buffer(&[1u32; 8]).unwrap();
    let (x, y, z) = (buffer(), buffer(), buffer());
    let launches = [
        bench.manager.launch(&increment).arg(&y).threads(8),
        bench.manager.launch(&increment).arg(&y).threads(8),
        bench.manager.launch(&add).arg(&x).arg(&z).threads(8),
    ];
    let futures: Vec<Simulated<'_, _>> =
        launches.into_iter().map(|launch| Box::pin(launch.execute_async()) as Simulated<'_, _>).collect();
    let paths: Vec<String> =
        run_all(&bench.clock, futures).into_iter().map(|ended| path(ended.unwrap())).collect();
    assert_eq!(paths, ["a ok @0ns+10ms", "a ok @10ms+10ms", "a ok @0ns+10ms"]);
    assert_eq!((y.read().unwrap(), z.read().unwrap()), (vec![3; 8], vec![2; 8]));
}

#[test]
fn abandoned_work_keeps_its_buffers_until_it_has_ended() {
    let bench = slow(policies());
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 8]).unwrap());
    {
        let mut abandoned = pin!(bench.manager.launch(&increment).arg(&y).threads(8).execute_async());
        assert!(abandoned.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    assert_eq!(bench.manager.core.gate.load(), (1, 0), "the device still writes");
    bench.clock.advance(Duration::from_millis(10));
    assert_eq!(bench.manager.core.gate.load(), (0, 0));
    assert_eq!(y.read().unwrap(), [1; 8], "the host's copy was still good");
    let launch = bench.manager.launch(&increment).arg(&y).threads(8);
    assert_eq!(path(bench.run(launch.execute_async())), "a ok @10ms+10ms");
}

#[test]
fn an_execution_that_is_abandoned_between_attempts_leaves_its_buffers_as_they_were() {
    let completions = Faults::at(1, ErrorClass::Transient);
    let bench = Bench::new(&[("a", no_faults().completions(completions))], policies());
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 8]).unwrap());
    let part = || y.view(0..4).unwrap();
    let launch = || bench.manager.launch(&increment).arg(part()).threads(4);
    bench.run(launch().execute_async()).unwrap();
    {
        let mut abandoned = pin!(launch().execute_async());
        assert!(abandoned.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(bench.events(), ["retry a/0"], "it waits for its second attempt");
    }
    assert_eq!((bench.manager.core.gate.load(), y.read().unwrap()), ((0, 0), vec![2, 2, 2, 2, 1, 1, 1, 1]));
}

#[test]
fn a_check_that_panics_leaves_its_buffers_as_they_were() {
    let bench = Bench::new(&[("a", no_faults())], policies());
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 8]).unwrap());
    let launch = || bench.manager.launch(&increment).arg(&y).threads(8);
    launch().execute().unwrap();
    let checked = launch().verify(|_| panic!("the check's own mistake"));
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| checked.execute()));
    assert!(ended.is_err() && y.read().unwrap() == [2; 8]);
    launch().execute().unwrap();
    assert_eq!(y.read().unwrap(), [3; 8]);
}

#[test]
fn an_execution_whose_turn_does_not_come_in_time_fails_without_an_attempt() {
    let bench = slow(policies());
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 8]).unwrap());
    let launch = || bench.manager.launch(&increment).arg(&y).threads(8);
    let late = launch().deadline(Duration::from_millis(5));
    let futures: Vec<Simulated<'_, _>> =
        vec![Box::pin(launch().execute_async()), Box::pin(late.execute_async())];
    let mut ended = run_all(&bench.clock, futures).into_iter().flatten();
    assert_eq!(path(ended.next().unwrap()), "a ok @0ns+10ms");
    let failed = failed(ended.next().unwrap());
    assert_eq!((failed.why, failed.path.attempts().len()), (GiveUp::Deadline, 0));
    assert_eq!(y.read().unwrap(), [2; 8]);
}

#[test]
fn a_full_bulkhead_sends_work_to_the_next_device() {
    let latency = Duration::from_millis(10)..Duration::from_millis(10);
    let adapt = AdaptivePolicy::builder().minimum(4).build().unwrap();
    let bulkhead = BulkheadPolicy::builder().concurrency(1).queue(0).build().unwrap();
    let policies = Policies { adapt, bulkhead: Some(bulkhead), ..one_attempt() };
    let slow = || no_faults().latency(latency.clone());
    let bench = Bench::new(&[("a", slow()), ("b", slow())], policies);
    let increment = bench.kernel("increment");
    let buffer = || bench.manager.buffer(&[1u32; 8]).unwrap();
    let (x, y) = (buffer(), buffer());
    let launch = |buffer| bench.manager.launch(&increment).arg(buffer).threads(8);
    for buffer in [&x, &y] {
        bench.run(launch(buffer).execute_async()).unwrap();
    }
    // The data of both is on the first device, which is preferred for it.
    let futures: Vec<Simulated<'_, _>> =
        vec![Box::pin(launch(&x).execute_async()), Box::pin(launch(&y).execute_async())];
    let paths: Vec<_> = run_all(&bench.clock, futures).into_iter().flatten().map(path).collect();
    assert_eq!(paths[0], "a ok @20ms+10ms");
    let expected = "a exhausted @20ms+0ns, degrade a/1 exhausted @20ms+0ns, fallback b ok @20ms+10ms";
    assert_eq!(paths[1], expected);
    assert_eq!(y.read().unwrap(), [3; 8]);
}

#[test]
fn threads_that_share_a_buffer_lose_no_update() {
    let faults = |seed| {
        no_faults()
            .seed(seed)
            .completions(Faults::by_chance(100_000, &[ErrorClass::Transient]))
            .partial_writes(Faults::by_chance(100_000, &[ErrorClass::Transient]))
    };
    let bench = Bench::new(&[("a", faults(1)), ("b", faults(2))], policies());
    let increment = bench.kernel("increment");
    let y = bench.manager.buffer_with(&[0u32; 64], "y", Durability::HostCopy).unwrap();
    let (succeeded, left) = (AtomicU32::new(0), AtomicBool::new(true));
    std::thread::scope(|scope| {
        let work = || {
            for _ in 0..40 {
                let done = bench.manager.launch(&increment).arg(&y).threads(64).execute();
                succeeded.fetch_add(u32::from(done.is_ok()), Ordering::Relaxed);
            }
        };
        let workers = [scope.spawn(work), scope.spawn(work)];
        let clock = &bench.clock;
        let left = &left;
        scope.spawn(move || {
            while left.load(Ordering::Relaxed) {
                clock.advance_to_next_alarm();
                std::thread::yield_now();
            }
        });
        let ended = workers.map(|worker| worker.join());
        left.store(false, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    let count = succeeded.into_inner();
    assert!(count > 70, "{count} of 80");
    assert_eq!(y.read().unwrap(), [count; 64], "an execution that failed changed nothing");
    drop((increment, y));
    bench.assert_no_leaks();
}
