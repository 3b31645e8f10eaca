//! `devices --topology` and `bench --suite devices` on machines with any number of devices.

use crate::support::Bench;

#[test]
fn the_topology_lists_each_pair_of_devices_or_says_that_there_is_none() {
    let bench = Bench::new();
    let json = bench.run(&["devices", "--topology", "--json"]).expect(0).json();
    let devices = json["devices"].as_array().unwrap().len();
    assert_eq!(json["pairs"].as_array().unwrap().len(), devices * (devices - 1));
    let text = bench.run(&["devices", "--topology"]).expect(0).stdout;
    assert!(text.contains(if devices == 1 { "There is one device" } else { "GB/s" }), "{text}");
}

#[test]
fn the_suite_of_several_devices_needs_two_of_one_driver() {
    let bench = Bench::new();
    bench.run(&["bench", "--suite", "devices", "--device", "cpu"]).expect(2).says(&["two devices"]);
    bench.run(&["bench", "--suite", "devices", "--device", "cpu,nowhere:7"]).expect(1).says(&["nowhere:7"]);
    let refused = bench.run(&["bench", "--suite", "devices", "--device", "cpu,cpu"]);
    refused.expect(1).says(&["one call of a driver"]);
}
