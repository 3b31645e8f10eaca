//! What running again needs: nothing is run twice silently.

use anymetal_policy::idempotence::NotRetryable;
use anymetal_policy::ladder::GiveUp;

use super::*;
use crate::manager::{Durability, ManagedBuffer};

fn half_written(number: u64) -> FaultPlan {
    no_faults().partial_writes(Faults::at(number, ErrorClass::Transient))
}

#[test]
fn work_in_place_is_restored_before_it_runs_again() {
    for durability in [Durability::Uploaded, Durability::HostCopy] {
        let bench = Bench::new(&[("a", half_written(1))], policies());
        let increment = bench.kernel("increment");
        let y = bench.manager.buffer_with(&[1u32; 64], "y", durability).unwrap();
        let run = || bench.run(bench.manager.launch(&increment).arg(&y).threads(64).execute_async());
        run().unwrap(); // the host's copy is stale then, or made anew
        let execution = run();
        assert_eq!(path(execution), "a transient @0ns+0ns, retry restored a ok @100ms+0ns");
        assert_eq!(bench.events(), ["retry a/0", "restored 1"]);
        assert_eq!(y.read().unwrap(), [3; 64]);
    }
}

#[test]
fn a_part_of_a_buffer_is_restored_by_itself() {
    let bench = Bench::new(&[("a", half_written(1)), ("b", no_faults())], one_attempt());
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 64]).unwrap());
    let run = |start: usize| {
        let part = y.view(start..64).unwrap();
        bench.run(bench.manager.launch(&increment).arg(part).threads(64 - start).execute_async())
    };
    run(0).unwrap();
    let execution = run(32).unwrap();
    assert!(execution.attempts() == 2 && execution.path.to_string().contains("degrade restored a/1 ok"));
    let mut expected = vec![2u32; 32];
    expected.extend([3; 32]);
    assert_eq!(y.read().unwrap(), expected);
}

#[test]
fn what_is_restored_follows_the_work_to_the_next_device() {
    let completions = Faults::default().exactly(vec![1, 2]).classes(vec![ErrorClass::Transient]);
    let plans = [("a", no_faults().completions(completions)), ("b", no_faults())];
    let bench = Bench::new(&plans, one_attempt());
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 64]).unwrap());
    let run = || {
        let part = y.view(16..64).unwrap();
        bench.run(bench.manager.launch(&increment).arg(part).threads(48).execute_async())
    };
    run().unwrap();
    let execution = run().unwrap();
    assert!(execution.fell_back() && &*execution.device == "b");
    let mut expected = vec![1u32; 16];
    expected.extend([3; 48]);
    assert_eq!(y.read().unwrap(), expected);
}

#[test]
fn work_that_runs_once_is_not_run_again_after_it_may_have_written() {
    let bench = Bench::new(&[("a", half_written(1))], policies());
    let increment = bench.kernel("increment");
    let y = bench.manager.buffer_with(&[1u32; 64], "y", Durability::Uploaded).unwrap();
    let launch = || bench.manager.launch(&increment).arg(&y).threads(64).once();
    bench.run(launch().execute_async()).unwrap();
    let failed = failed(bench.run(launch().execute_async()));
    assert_eq!(failed.why, GiveUp::NotRetryable(NotRetryable::Declared));
    assert_eq!((failed.path.attempts().len(), failed.unspecified.as_slice()), (1, &["y".to_owned()][..]));
    assert_eq!(bench.events(), ["gave up: not-retryable"]);
}

#[test]
fn work_that_runs_once_is_tried_again_where_it_was_refused() {
    let bench = Bench::new(&[("a", refusals(1, ErrorClass::Transient))], policies());
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 64]).unwrap());
    let launch = bench.manager.launch(&increment).arg(&y).threads(64).once();
    assert_eq!(path(bench.run(launch.execute_async())), "a transient @0ns+0ns, retry a ok @100ms+0ns");
    assert_eq!(y.read().unwrap(), [2; 64]);
}

#[test]
fn a_failure_for_good_leaves_what_it_restored() {
    let completions = Faults::default().exactly((1..9).collect()).classes(vec![ErrorClass::Transient]);
    let bench = Bench::new(&[("a", no_faults().completions(completions))], policies());
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 64]).unwrap());
    let run = || bench.run(bench.manager.launch(&increment).arg(&y).threads(64).execute_async());
    run().unwrap();
    let failed = failed(run());
    assert_eq!(failed.why, GiveUp::NoRungLeft(ErrorClass::Transient));
    assert_eq!((failed.unspecified.len(), y.read().unwrap()), (0, vec![2; 64]), "as before the failure");
}

#[test]
fn work_larger_than_the_limit_for_copies_fails_instead_of_running_twice() {
    let bench = Bench::new(&[("a", half_written(0))], Policies { snapshot_limit: 255, ..policies() });
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 64]).unwrap());
    let run = |launch: super::super::ManagedLaunch<'_>| bench.run(launch.execute_async());
    let failed = failed(run(bench.manager.launch(&increment).arg(&y).threads(64)));
    let why = NotRetryable::SnapshotTooLarge { needs: 256, limit: 255 };
    assert_eq!(failed.why, GiveUp::NotRetryable(why));
    assert_eq!(y.read().unwrap(), [1; 64], "what the host uploaded is still there");
}

#[test]
fn declared_idempotent_work_runs_again_without_copies() {
    let bench = Bench::new(&[("a", half_written(0))], Policies { snapshot_limit: 0, ..policies() });
    let increment = bench.kernel("increment");
    let y = bench.manager.buffer(&[1u32; 64]).unwrap();
    let launch = bench.manager.launch(&increment).arg(&y).threads(64).idempotent();
    assert_eq!(bench.run(launch.execute_async()).unwrap().attempts(), 2);
}

/// A manager whose buffer `y` is on device `a` alone, and whose next work of `a` fails by that plan.
fn with_result_on_device(plan: FaultPlan, limit: u64) -> (Bench, ManagedKernel, [ManagedBuffer<u32>; 2]) {
    let policies = Policies { snapshot_limit: limit, ..policies() };
    let bench = Bench::new(&[("a", plan), ("b", no_faults())], policies);
    let add = bench.kernel("add");
    let buffers = [bench.manager.buffer(&[1u32; 64]).unwrap(), bench.manager.buffer(&[9u32; 64]).unwrap()];
    let [x, y] = &buffers;
    bench.run(bench.manager.launch(&add).arg(x).arg(y).threads(64).execute_async()).unwrap();
    (bench, add, buffers)
}

#[test]
fn an_output_that_is_written_as_a_whole_is_neither_copied_nor_restored() {
    let (bench, add, [x, y]) = with_result_on_device(half_written(1), 0);
    x.write(&[4; 64]).unwrap();
    let execution = bench.run(bench.manager.launch(&add).arg(&x).arg(&y).threads(64).execute_async());
    assert_eq!(path(execution), "a transient @0ns+0ns, retry a ok @100ms+0ns");
    assert_eq!((bench.events(), y.read().unwrap()), (vec!["retry a/0".to_owned()], vec![5; 64]));
}

#[test]
fn an_output_that_is_written_in_part_is_restored() {
    let (bench, add, [x, y]) = with_result_on_device(half_written(1), 1000);
    x.write(&[4; 64]).unwrap();
    let execution = bench.run(bench.manager.launch(&add).arg(&x).arg(&y).threads(48).execute_async());
    assert_eq!(path(execution), "a transient @0ns+0ns, retry restored a ok @100ms+0ns");
    let expected = [[5u32; 48].as_slice(), &[2; 16]].concat();
    assert_eq!(y.read().unwrap(), expected);

    let (bench, add, [x, y]) = with_result_on_device(half_written(1), 0);
    let failed = failed(bench.run(bench.manager.launch(&add).arg(&x).arg(&y).threads(48).execute_async()));
    assert!(matches!(failed.why, GiveUp::NotRetryable(NotRetryable::SnapshotTooLarge { .. })), "{failed}");
}

#[test]
fn an_output_that_is_written_as_a_whole_needs_no_contents_on_the_next_device() {
    let (bench, add, [x, y]) = with_result_on_device(no_faults(), 0);
    bench.faults[0].lose();
    x.write(&[4; 64]).unwrap();
    let execution = bench.run(bench.manager.launch(&add).arg(&x).arg(&y).threads(64).execute_async());
    assert_eq!(path(execution), "a lost @0ns+0ns, fallback b ok @0ns+0ns");
    assert_eq!((y.read().unwrap(), bench.manager.lost()), (vec![5; 64], Vec::new()));
}

#[test]
fn an_output_whose_writing_failed_for_good_is_named_and_lost_contents_stay_lost() {
    let (bench, add, [x, y]) = with_result_on_device(half_written(1), 0);
    let launch = || bench.manager.launch(&add).arg(&x).arg(&y).threads(64).once();
    assert_eq!(failed(bench.run(launch().execute_async())).unspecified, [""]);
    bench.faults[0].lose();
    bench.faults[1].lose();
    assert!(bench.run(launch().execute_async()).is_err());
    assert!(matches!(y.read(), Err(ManagerError::ContentsLost { .. })));
}
