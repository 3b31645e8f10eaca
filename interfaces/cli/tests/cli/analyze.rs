//! `analyze --roofline`: where kernels are under ceilings that are measured on the device.

use crate::support::Bench;

const KERNELS: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void scale(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
    y[i] = 2 * x[i];
}
#define FOUR(text) text text text text
kernel void iterate(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
    float value = x[i];
    FOUR(FOUR(FOUR(FOUR(value = fma(value, value, 0.25f);))))
    y[i] = value;
}
kernel void loops(device const float* x, device float* y, constant uint& steps, uint i [[thread_position_in_grid]]) {
    float value = x[i];
    for (uint step = 0; step < steps; ++step) value = fma(value, value, 0.25f);
    y[i] = value;
}";

#[test]
fn kernels_are_under_the_measured_roofline() {
    let bench = Bench::new();
    bench.write("kernels.metal", KERNELS);
    let json = bench.run(&["analyze", "kernels.metal", "--roofline", "--json"]).expect(0).json();
    let roofline = &json["roofline"];
    let ceiling = |name: &str| roofline["ceilings"][name].as_f64().unwrap();
    let (flop, bytes) = (ceiling("flop_per_second"), ceiling("bytes_per_second"));
    assert!(flop > 0.0 && bytes > 0.0, "{roofline}");
    assert_eq!(roofline["ridge"].as_f64().unwrap(), flop / bytes);
    let place = |name: &str| {
        let kernels = roofline["kernels"].as_array().unwrap();
        let place = kernels.iter().find(|place| place["kernel"] == name).unwrap();
        let rate = |bound: &str| place[bound].as_f64().unwrap();
        (place["limited_by"].clone(), rate("least_flop_per_second"), rate("most_flop_per_second"))
    };
    // One operation on eight bytes, 512, and as many as an argument says.
    assert_eq!(place("scale"), ("memory".into(), bytes / 8.0, bytes / 8.0));
    assert_eq!(place("iterate"), ("arithmetic".into(), flop, flop));
    assert_eq!(place("loops"), ("either".into(), 0.0, flop));
    let text = bench.run(&["analyze", "kernels.metal", "-k", "scale", "--roofline"]).expect(0).stdout;
    assert!(text.contains("roofline of cpu: limited by memory, at most "), "{text}");
}

#[test]
fn a_device_is_for_a_roofline_and_must_exist() {
    let bench = Bench::new();
    bench.write("kernels.metal", KERNELS);
    bench.run(&["analyze", "kernels.metal", "--device", "cpu"]).expect(2).says(&["--roofline"]);
    bench.run(&["analyze", "kernels.metal", "--roofline", "--device", "tpu"]).expect(1).says(&["tpu"]);
}
