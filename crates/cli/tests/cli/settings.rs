//! Settings from the environment and from the file that `ANYMETAL_CONFIG` names, seen from outside.

use crate::support::Bench;

const KERNEL: &str = "kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }";

fn bench(variables: &[(&str, &str)], file: &str) -> Bench {
    let mut bench = Bench::new();
    bench.write("twice.metal", KERNEL);
    bench.write("settings.toml", file);
    variables.iter().for_each(|(name, value)| bench.set(name, *value));
    bench
}

const RUN: &[&str] = &["run", "twice.metal", "-k", "twice", "--threads", "1000", "--arg", "x=iota:f32:1000"];

#[test]
fn variables_count_over_the_file_and_the_file_over_the_defaults() {
    let small = "[memory]\nbudget = '1 KiB'\n";
    bench(&[], small).run(RUN).expect(0);
    let named = ("ANYMETAL_CONFIG", "settings.toml");
    let refused = bench(&[named], small).run(RUN).expect(4);
    refused.says(&["4000 bytes are above the working set", "raise the budget"]);
    bench(&[named, ("ANYMETAL_MEMORY_BUDGET", "1 MiB")], small).run(RUN).expect(0);
}

#[test]
fn what_makes_no_sense_is_told_with_its_place() {
    let said = |variables: &[(&str, &str)], file: &str, parts: &[&str]| {
        bench(variables, file).run(RUN).expect(1).says(parts);
    };
    let named = ("ANYMETAL_CONFIG", "settings.toml");
    said(&[named], "[memory]\nbudgt = 1\n", &["settings.toml", "line 2", "`budget`"]);
    said(&[named], "[streams]\nin-flight = 0\n", &["streams.in-flight = 0 (from settings.toml)"]);
    said(&[("ANYMETAL_CONFIG", "none.toml")], "", &["none.toml"]);
    said(&[("ANYMETAL_STREAMS_WAIT", "ten")], "", &["ANYMETAL_STREAMS_WAIT: `ten` is not a time"]);
    said(&[("ANYMETAL_DEVICE", "abacus")], "", &["there is no device `abacus`"]);
}
