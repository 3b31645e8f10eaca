//! `devices --topology` and `bench --suite devices` on machines with any number of GPUs.

use crate::support::Bench;

#[test]
fn the_topology_lists_each_pair_of_gpus_or_says_that_there_is_none() {
    let bench = Bench::new();
    let json = bench.run(&["devices", "--topology", "--json"]).expect(0).json();
    let gpus = json["gpus"].as_array().unwrap().len();
    assert_eq!(json["pairs"].as_array().unwrap().len(), gpus * gpus.saturating_sub(1));
    let text = bench.run(&["devices", "--topology"]).expect(0).stdout;
    let words = ["There is no GPU", "There is one GPU"].get(gpus).copied().unwrap_or("GB/s");
    assert!(text.contains(words), "{text}");
}

#[test]
fn the_suite_of_several_devices_needs_two_that_are_linked() {
    let bench = Bench::new();
    bench.run(&["bench", "--suite", "devices", "--device", "cpu"]).expect(2).says(&["two devices"]);
    bench.run(&["bench", "--suite", "devices", "--device", "cpu,nowhere:7"]).expect(1).says(&["nowhere:7"]);
    let refused = bench.run(&["bench", "--suite", "devices", "--device", "cpu,cpu"]);
    refused.expect(1).says(&["copies to the memory of `cpu`"]);
}
