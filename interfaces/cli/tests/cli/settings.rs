//! Settings from the environment and from the file that `ANYMETAL_CONFIG` names, seen from outside.

use anymetal_driver::CpuLevel;

use crate::support::{Bench, files};

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
fn invalid_settings_are_reported_with_their_source() {
    let said = |variables: &[(&str, &str)], file: &str, parts: &[&str]| {
        bench(variables, file).run(RUN).expect(1).says(parts);
    };
    let named = ("ANYMETAL_CONFIG", "settings.toml");
    said(&[named], "[memory]\nbudgt = 1\n", &["settings.toml", "line 2", "`budget`"]);
    said(&[named], "[streams]\nin-flight = 0\n", &["streams.in-flight = 0 (from settings.toml)"]);
    said(&[("ANYMETAL_CONFIG", "none.toml")], "", &["none.toml"]);
    said(&[("ANYMETAL_STREAMS_WAIT", "ten")], "", &["ANYMETAL_STREAMS_WAIT: `ten` is not a time"]);
    let level = ["no valid value for ANYMETAL_CPU_LEVEL", "`avx2`"];
    said(&[("ANYMETAL_CPU_LEVEL", "avx2")], "", &level);
    said(&[("ANYMETAL_CPU_LEVEL", "avx2"), ("ANYMETAL_LLVM", "none")], "", &level);
    said(&[("ANYMETAL_DEVICE", "abacus")], "", &["there is no device `abacus`"]);
}

/// This machine's levels of x86-64; none on others.
fn levels() -> impl Iterator<Item = CpuLevel> {
    CpuLevel::ALL.into_iter().filter(|level| level.is_available())
}

#[test]
fn code_and_architecture_are_of_the_level() {
    for level in levels() {
        let bench = bench(&[("ANYMETAL_CPU_LEVEL", level.name())], "");
        let code = bench.run(&["compile", "twice.metal", "-k", "twice", "--emit", "asm"]).expect(0).stdout;
        let registers = ["%xmm", "%ymm", "%zmm"];
        let widest = registers.iter().rposition(|name| code.contains(name));
        assert_eq!(widest, Some(level as usize), "{level}: {code}");
        let devices = bench.run(&["devices", "--json"]).expect(0).json();
        let architecture = devices["devices"][0]["architecture"].as_str().unwrap().to_owned();
        assert_eq!(architecture, format!("x86_64 {}", level.vector_extension()));
    }
}

#[test]
fn levels_do_not_share_cached_code() {
    let mut bench = bench(&[], "");
    let folder = bench.path("cache");
    bench.set("ANYMETAL_CACHE", folder.to_str().unwrap());
    let mut files_of_levels = 0;
    // The processor's own is no level's.
    for level in std::iter::once("").chain(levels().map(CpuLevel::name)) {
        bench.set("ANYMETAL_CPU_LEVEL", level);
        for _ in 0..2 {
            bench.run(RUN).expect(0);
        }
        files_of_levels += 2;
        let expected = 1 + files_of_levels;
        assert_eq!(
            files(&folder).len(),
            expected,
            "a manifest, a description and an object for each: `{level}`"
        );
    }
}
