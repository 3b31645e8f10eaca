//! Executions that share buffers.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Waker};

use anymetal_policy::adapt::AdaptivePolicy;
use anymetal_policy::virtual_time::{Simulated, run_all};

use super::*;
use crate::manager::Durability;

/// All work takes 10 ms, and there are four streams.
fn slow(policies: Policies) -> Bench {
    let latency = Duration::from_millis(10)..Duration::from_millis(10);
    let adapt = AdaptivePolicy::builder().minimum(4).build().unwrap();
    Bench::new(&[("a", FaultPlan { latency, ..no_faults() })], Policies { adapt, ..policies })
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
fn threads_that_share_a_buffer_lose_no_update() {
    let faults = |seed| FaultPlan {
        seed,
        completions: Faults::by_chance(100_000, &[ErrorClass::Transient]),
        partial_writes: Faults::by_chance(100_000, &[ErrorClass::Transient]),
        ..no_faults()
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
