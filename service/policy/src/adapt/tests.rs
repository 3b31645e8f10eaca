//! Streams under load and heat; readers of files as Linux has them.

use std::fs;
use std::path::Path;

use super::*;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn busy(streams: usize, latency: u64) -> Load {
    Load { waiting: 5, running: streams, latency: Some(ms(latency)), exhausted: false }
}

#[test]
fn streams_grow_one_by_one_while_work_waits_and_are_halved_when_it_gets_slow() {
    let mut streams = AdaptiveStreams::new(AdaptivePolicy::builder().maximum(8).build().unwrap());
    let grown: Vec<_> =
        (0..9).map(|step| streams.observe(ms(100 * step), busy(streams.streams(), 10))).collect();
    assert_eq!(grown, [2, 3, 4, 5, 6, 7, 8, 8, 8]);
    assert_eq!(streams.observe(ms(1000), busy(8, 20)), 8, "twice the best is tolerated");
    assert_eq!(streams.observe(ms(1100), busy(8, 30)), 4);
    assert_eq!(streams.observe(ms(1150), busy(4, 30)), 4, "not twice within the interval");
    assert_eq!(streams.observe(ms(1200), Load { exhausted: true, ..Load::default() }), 2);
    assert_eq!(streams.observe(ms(1300), Load { exhausted: true, ..Load::default() }), 1);
    assert_eq!(streams.observe(ms(1400), Load { exhausted: true, ..Load::default() }), 1, "the fewest");
    assert_eq!(streams.observe(ms(1500), Load { waiting: 1, ..Load::default() }), 1, "one is idle");
}

#[test]
fn the_best_latency_fades_so_that_slower_work_is_not_slow_for_ever() {
    let mut streams = AdaptiveStreams::new(AdaptivePolicy::default());
    streams.observe(ms(0), busy(9, 1));
    let later = (1..200).map(|step| streams.observe(ms(100 * step), busy(16, 10)));
    assert!(later.last().unwrap() > 8);
}

#[test]
fn a_number_that_is_known_from_before_is_kept_within_the_bounds() {
    let policy = AdaptivePolicy::builder().minimum(2).maximum(8).build().unwrap();
    assert_eq!([0, 5, 100].map(|known| AdaptiveStreams::starting_with(policy, known).streams()), [2, 5, 8]);
}

#[test]
fn heat_lowers_the_ceiling_at_once_and_cooling_frees_it() {
    let (source, mut streams) = (SimulatedThermal::new(), AdaptiveStreams::new(AdaptivePolicy::default()));
    (0..30).for_each(|step| {
        streams.observe(ms(100 * step), busy(16, 10));
    });
    let mut seen = Vec::new();
    for heat in [ThermalState::Fair, ThermalState::Serious, ThermalState::Critical, ThermalState::Nominal] {
        source.set(heat);
        seen.push(streams.set_heat(source.thermal_state().unwrap()));
    }
    assert_eq!(seen, [12, 8, 1, 1]);
    assert_eq!(streams.observe(ms(9000), busy(1, 10)), 2, "load decides about more");
    streams.set_heat(ThermalState::Critical);
    assert_eq!(streams.observe(ms(9900), busy(1, 10)), 1, "not above the ceiling");
}

#[test]
fn power_above_its_budget_strains_as_heat_does() {
    let policy = AdaptivePolicy::builder().power_budget(Power::watts(100)).build().unwrap();
    let source = SimulatedPower::new();
    for (watts, state) in [
        (89, ThermalState::Nominal),
        (90, ThermalState::Fair),
        (100, ThermalState::Serious),
        (120, ThermalState::Critical),
    ] {
        source.set(Power::watts(watts));
        let power = source.power(ms(0)).unwrap();
        assert_eq!(policy.strain(ThermalState::Nominal, power), state, "{watts} W");
        assert_eq!(AdaptivePolicy::default().strain(ThermalState::Nominal, power), ThermalState::Nominal);
    }
    assert_eq!(policy.strain(ThermalState::Critical, None), ThermalState::Critical);
    let refused = AdaptivePolicy::builder().power_budget(Power::watts(0)).build().unwrap_err();
    assert_eq!(refused.to_string(), "adapt.power-budget = 0: no machine runs without power");
}

#[test]
fn impossible_bounds_are_refused() {
    let refused = |builder: AdaptivePolicyBuilder| builder.build().unwrap_err().to_string();
    let policy = AdaptivePolicy::builder;
    assert_eq!(refused(policy().minimum(0)), "adapt.minimum = 0: without a stream nothing runs");
    assert_eq!(refused(policy().minimum(4).maximum(3)), "adapt.maximum = 3: fewer than adapt.minimum");
    assert!(refused(policy().tolerance(Ratio::ONE)).starts_with("adapt.tolerance = 1"));
    assert!(refused(policy().decrease(Ratio::ONE)).starts_with("adapt.decrease = 1"));
    assert!(refused(policy().interval(ms(0))).starts_with("adapt.interval = 0ns"));
    assert_eq!(policy().minimum(40).build().unwrap().maximum(), 40, "the default gives way");
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    fs::create_dir_all(folder).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), format!("{text}\n")).unwrap();
    }
}

#[test]
fn thermal_zones_are_read_in_relation_to_their_trip_points() {
    let folder = tempfile::tempdir().unwrap();
    let (source, root) = (LinuxThermal::new(folder.path()), folder.path());
    assert_eq!(source.thermal_state().unwrap_err().reason, "no zone has a temperature");
    write(&root.join("cooling_device0"), &[("temp", "999999")]);
    write(&root.join("thermal_zone0"), &[("type", "acpitz"), ("temp", "27800")]);
    write(&root.join("thermal_zone7"), &[("type", "acpitz"), ("temp", "31000")]);
    assert_eq!(source.thermal_state(), Ok(ThermalState::Nominal));
    assert_eq!(source.temperatures(), [("acpitz".to_owned(), 31.0)], "the hottest of the type");
    let zone = root.join("thermal_zone1");
    let trips = [
        ("trip_point_0_type", "passive"),
        ("trip_point_0_temp", "70000"),
        ("trip_point_1_type", "critical"),
        ("trip_point_1_temp", "95000"),
        ("trip_point_2_type", "hot"),
        ("trip_point_2_temp", "0"),
    ];
    write(&zone, &trips);
    for (temperature, state) in [
        ("64999", ThermalState::Nominal),
        ("65000", ThermalState::Fair),
        ("70000", ThermalState::Serious),
        ("89999", ThermalState::Serious),
        ("90000", ThermalState::Critical),
        ("unreadable", ThermalState::Nominal),
    ] {
        write(&zone, &[("temp", temperature)]);
        assert_eq!(source.thermal_state(), Ok(state), "{temperature}");
    }
    let missing = LinuxThermal::new(root.join("none")).thermal_state().unwrap_err();
    assert!(missing.to_string().starts_with("the temperature cannot be read from "), "{missing}");
}

#[test]
fn power_is_the_energy_of_all_packages_over_time() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let rapl = Rapl::new(root);
    assert_eq!(rapl.power(ms(0)).unwrap_err().reason, "there is no package");
    let [one, two] = ["intel-rapl:0", "intel-rapl:1"].map(|name| root.join(name));
    write(&one, &[("energy_uj", "1000000"), ("max_energy_range_uj", "9000000")]);
    write(&two, &[("energy_uj", "8500000"), ("max_energy_range_uj", "9000000")]);
    write(&root.join("intel-rapl:0:0"), &[("energy_uj", "part of a package")]);
    write(&root.join("intel-rapl"), &[("enabled", "1")]);
    assert_eq!(rapl.power(ms(0)), Ok(None));
    write(&one, &[("energy_uj", "3000000")]);
    write(&two, &[("energy_uj", "500000")]);
    assert_eq!(rapl.power(ms(500)), Ok(Some(Power { milliwatts: 6_000 })), "2 J and 1 J, started again");
    assert_eq!(rapl.power(ms(500)), Ok(None), "no time has passed");
    assert_eq!(rapl.power(ms(1500)), Ok(Some(Power { milliwatts: 0 })));
    write(&one, &[("energy_uj", "?")]);
    let error = rapl.power(ms(2000)).unwrap_err();
    assert!(error.to_string().ends_with("intel-rapl:0/energy_uj: `?` is not a count"), "{error}");
}
