//! What small dispatches cost: prints the figures of one measurement for each line of its input.
//!
//! `echo | cargo run --release -p anymetal --example dispatch_cost`
//!
//! The example `telemetry_cost` of `anymetal-service` compares itself with this program, which is then built
//! without the feature `telemetry`.
#![allow(clippy::print_stdout, reason = "an example talks to its terminal")]

mod work;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    work::measure_lines(&anymetal::Device::system_default()?)
}
