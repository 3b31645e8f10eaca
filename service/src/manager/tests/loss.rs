//! Devices that are lost, at once or by a hang, and what is left of their buffers.

use anymetal_policy::ladder::{GiveUp, LadderPolicy, Rung};

use super::*;
use crate::manager::{AttemptError, Durability, LostBuffer};

fn two(first: FaultPlan) -> Bench {
    Bench::new(&[("a", first), ("b", no_faults())], policies())
}

#[test]
fn contents_with_a_host_copy_survive_their_device() {
    let bench = two(no_faults());
    let increment = bench.kernel("increment");
    let y = bench.manager.buffer_with(&[1u32; 64], "y", Durability::HostCopy).unwrap();
    let run = || bench.run(bench.manager.launch(&increment).arg(&y).threads(64).execute_async());
    assert_eq!(path(run()), "a ok @0ns+0ns");
    bench.faults[0].lose();
    assert_eq!(path(run()), "a lost @0ns+0ns, fallback b ok @0ns+0ns");
    assert_eq!((y.read().unwrap(), bench.manager.lost()), (vec![3; 64], Vec::new()));
    assert_eq!(path(run()), "b ok @0ns+0ns");
    let status = &bench.manager.devices()[0];
    assert!(status.lost.is_some() && status.generation == 1);
    drop((increment, y));
    bench.assert_no_leaks();
}

#[test]
fn contents_without_a_copy_are_listed_and_refused_until_they_are_written() {
    let bench = two(no_faults());
    let add = bench.kernel("add");
    let labelled = |label: &str| bench.manager.buffer_with(&[1u32; 64], label, Durability::Uploaded).unwrap();
    let (x, y, z) = (labelled("x"), labelled("y"), labelled("z"));
    let launch = |from, to, threads| bench.manager.launch(&add).arg(from).arg(to).threads(threads);
    let run = |from, to| bench.run(launch(from, to, 64).execute_async());
    run(&x, &y).unwrap();
    bench.faults[0].lose();
    let lost = ManagerError::ContentsLost { label: "y".to_owned(), device: "a".to_owned() };
    assert_eq!(run(&y, &z).unwrap_err(), lost);
    let listed = LostBuffer { label: "y".to_owned(), length: 256, device: "a".to_owned() };
    assert_eq!(bench.manager.lost(), [listed]);
    assert_eq!((y.read().unwrap_err(), y.write_at(1, &[5]).unwrap_err()), (lost.clone(), lost.clone()));
    let all_but_one = bench.run(launch(&x, &y, 63).execute_async());
    assert_eq!(all_but_one.unwrap_err(), lost, "what the kernel does not write would be made up");
    assert_eq!((z.read().unwrap(), x.read().unwrap()), (vec![1; 64], vec![1; 64]), "the host has these");
    y.discard();
    assert_eq!(path(bench.run(launch(&x, &y, 63).execute_async())), "b ok @0ns+0ns");
    assert_eq!(path(run(&x, &y)), "b ok @0ns+0ns");
    assert_eq!((y.read().unwrap(), bench.manager.lost()), (vec![2; 64], Vec::new()));
}

#[test]
fn writing_a_lost_buffer_makes_it_whole() {
    let bench = two(no_faults());
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 4]).unwrap());
    let run = || bench.run(bench.manager.launch(&increment).arg(&y).threads(4).once().execute_async());
    run().unwrap();
    bench.faults[0].lose();
    let refused = run().unwrap_err();
    assert!(matches!(refused, ManagerError::ContentsLost { .. }), "{refused}");
    assert_eq!(refused.class(), ErrorClass::Lost);
    y.write(&[7; 4]).unwrap();
    run().unwrap();
    assert_eq!(y.read().unwrap(), [8; 4]);
}

#[test]
fn a_loss_while_work_runs_is_no_loss_of_what_was_copied_before_it() {
    let completions = Faults::at(1, ErrorClass::Lost);
    let bench = two(no_faults().completions(completions));
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 64]).unwrap());
    let run = || bench.run(bench.manager.launch(&increment).arg(&y).threads(64).execute_async());
    run().unwrap();
    assert_eq!(path(run()), "a lost @0ns+0ns, fallback restored b ok @0ns+0ns");
    assert_eq!(y.read().unwrap(), [3; 64]);
}

#[test]
fn work_that_does_not_end_in_its_time_costs_its_device() {
    let hangs = Faults::at(1, ErrorClass::Lost);
    let plans = [("a", no_faults().hangs(hangs)), ("b", no_faults())];
    let bench = Bench::new(&plans, with_attempt_limit(seconds(5)));
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 64]).unwrap());
    let launch = || bench.manager.launch(&increment).arg(&y).threads(64);
    bench.run(launch().execute_async()).unwrap();
    let execution = bench.run(launch().execute_async());
    assert_eq!(path(execution), "a lost @0ns+6s, fallback restored b ok @6s+0ns", "with a second of grace");
    assert_eq!(y.read().unwrap(), [3; 64]);
    let expected = ["breaker a increment open", "lost a 1", "fallback b/0", "restored 1"];
    assert_eq!(bench.events(), expected);
    assert!(bench.manager.devices()[0].lost.as_ref().unwrap().1.contains("did not end within 6s"));
    drop((increment, y));
    bench.assert_no_leaks();
}

#[test]
fn a_lost_device_is_rebuilt_when_its_breaker_lets_a_probe_through() {
    let bench = Bench::new(&[("a", no_faults())], policies());
    let add = bench.kernel("add");
    let (x, y) =
        (bench.manager.buffer(&[4u32; 40]).unwrap(), bench.manager.buffer_zeroed::<u32>(40).unwrap());
    let run = || bench.run(bench.manager.launch(&add).arg(&x).arg(&y).threads(40).execute_async());
    bench.faults[0].lose();
    assert_eq!(failed(run()).why, GiveUp::NoRungLeft(ErrorClass::Lost));
    assert_eq!(failed(run()).why, GiveUp::BreakerOpen, "not at once");
    bench.clock.advance(seconds(10));
    assert_eq!(failed(run()).why, GiveUp::BreakerOpen, "the factory fails");
    bench.faults[0].revive();
    assert_eq!(failed(run()).why, GiveUp::BreakerOpen, "a failed probe opens it again");
    bench.clock.advance(seconds(10));
    assert_eq!(path(run()), "a ok @20s+0ns");
    assert_eq!(y.read().unwrap(), [5; 40]);
    assert_eq!((bench.manager.devices()[0].generation, &bench.manager.devices()[0].lost), (2, &None));
    let events = bench.events();
    let devices: Vec<_> =
        events.iter().filter(|event| event.contains("lost") || event.contains("rebuilt")).collect();
    assert_eq!(devices, ["lost a 1", "not rebuilt a", "rebuilt a 2"]);
}

#[test]
fn with_the_rung_that_waits_work_goes_on_once_a_device_is_back() {
    let ladder = LadderPolicy::builder().rungs(Rung::ALL).build().unwrap();
    let bench = Bench::new(&[("a", no_faults()), ("b", no_faults())], Policies { ladder, ..policies() });
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 64]).unwrap());
    let run = || bench.run(bench.manager.launch(&increment).arg(&y).threads(64).execute_async());
    y.read().unwrap();
    bench.faults.iter().for_each(|fault| fault.lose());
    assert_eq!(failed(run()).why, GiveUp::NoRungLeft(ErrorClass::Lost), "none of them refused yet");
    y.write(&[5; 64]).unwrap();
    bench.faults.iter().for_each(|fault| fault.revive());
    bench.clock.advance(seconds(3));
    assert_eq!(path(run()), "a breaker-open @3s+0ns, fallback b breaker-open @3s+0ns, wait a ok @10s+0ns");
    assert_eq!(y.read().unwrap(), [6; 64], "it ran once");
}

#[test]
fn a_failure_tells_what_was_tried_and_why_it_ended() {
    let bench = Bench::new(&[("a", no_faults())], policies());
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 4]).unwrap());
    bench.faults[0].lose();
    let failed = failed(bench.run(bench.manager.launch(&increment).arg(&y).threads(4).execute_async()));
    assert!(matches!(&failed.cause, Some(AttemptError::Work(error)) if matches!(**error, Error::Device(_))));
    let text = failed.to_string();
    assert!(
        text.starts_with("`increment` failed: cpu was lost") && text.ends_with("a lost @0ns+0ns"),
        "{text}"
    );
}
