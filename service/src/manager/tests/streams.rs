//! The number of streams by load, heat and power.

use anymetal_policy::adapt::{AdaptivePolicy, Power, SimulatedPower, SimulatedThermal, ThermalState};
use anymetal_policy::virtual_time::{Simulated, run_all};

use super::*;

#[test]
fn heat_and_power_lower_the_streams_and_are_read_once_a_second() {
    let (heat, power) = (SimulatedThermal::new(), SimulatedPower::new());
    let adapt = AdaptivePolicy::builder().minimum(2).maximum(8).power_budget(Power::watts(100));
    let policies = Policies { adapt: adapt.build().unwrap(), ..policies() };
    let sources = (heat.clone(), power.clone());
    let bench =
        Bench::with(&[("a", no_faults())], policies, |builder| builder.thermal(sources.0).power(sources.1));
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32; 8]).unwrap());
    let run = || {
        bench.run(bench.manager.launch(&increment).arg(&y).threads(8).execute_async()).unwrap();
        bench.events()
    };
    assert_eq!(run(), Vec::<String>::new());
    heat.set(ThermalState::Critical);
    assert_eq!(run(), Vec::<String>::new(), "not a second later");
    bench.clock.advance(seconds(1));
    assert_eq!(run(), ["strain critical"]);
    heat.set(ThermalState::Nominal);
    power.set(Power::watts(100));
    bench.clock.advance(seconds(1));
    assert_eq!(run(), ["strain serious"]);
    assert_eq!(bench.manager.devices()[0].streams, 2);
}

#[test]
fn more_streams_are_used_while_work_waits() {
    let latency = Duration::from_millis(200)..Duration::from_millis(200);
    let bench = Bench::new(&[("a", no_faults().latency(latency))], policies());
    let increment = bench.kernel("increment");
    let buffers: Vec<_> = (0..8).map(|_| bench.manager.buffer(&[1u32; 8]).unwrap()).collect();
    let futures: Vec<Simulated<'_, _>> = buffers
        .iter()
        .map(|y| {
            Box::pin(bench.manager.launch(&increment).arg(y).threads(8).execute_async()) as Simulated<'_, _>
        })
        .collect();
    let ended: Vec<Option<Result<Execution, ManagerError>>> = run_all(&bench.clock, futures);
    assert!(ended.into_iter().flatten().filter(Result::is_ok).count() == 8);
    let streams = bench.manager.devices()[0].streams;
    assert!((2..=8).contains(&streams), "{streams}");
    assert!(bench.clock.now() < Duration::from_millis(8 * 200), "not one after the other");
    assert!(buffers.iter().all(|y| y.read().unwrap() == [2; 8]));
}
