//! Functions of the Metal library on constants give the bits that they give on the same values in memory, in
//! every math mode: whether the compiler evaluates a call does not show.

use std::fmt::Write as _;

use anymetal_conformance::case::{Arg, Binding, Grid, Launch};
use anymetal_conformance::execute::{Cpu, Executor, Source};

/// Functions of float arguments with the number of their arguments.
const FUNCTIONS: &[(&str, usize)] = &[
    ("acos", 1),
    ("acosh", 1),
    ("asin", 1),
    ("asinh", 1),
    ("atan", 1),
    ("atan2", 2),
    ("atanh", 1),
    ("ceil", 1),
    ("copysign", 2),
    ("cos", 1),
    ("cosh", 1),
    ("cospi", 1),
    ("divide", 2),
    ("exp", 1),
    ("exp10", 1),
    ("exp2", 1),
    ("fabs", 1),
    ("fdim", 2),
    ("floor", 1),
    ("fma", 3),
    ("fmax", 2),
    ("fmin", 2),
    ("fmod", 2),
    ("fract", 1),
    ("log", 1),
    ("log10", 1),
    ("log2", 1),
    ("mix", 3),
    ("nextafter", 2),
    ("pow", 2),
    ("powr", 2),
    ("precise::rsqrt", 1),
    ("rint", 1),
    ("round", 1),
    ("saturate", 1),
    ("sin", 1),
    ("sinh", 1),
    ("sinpi", 1),
    ("smoothstep", 3),
    ("sqrt", 1),
    ("step", 2),
    ("tan", 1),
    ("tanh", 1),
    ("tanpi", 1),
    ("trunc", 1),
];

/// Scaled by constants whose product is no float, before or after the function.
const SCALED: &[&str] = &[
    "A * 1e-30f * 1e36f * 1e5f",
    "A * 1e-36f * 1e-5f * 1e30f",
    "exp(-80.0f * A) * 1e36f * 1e5f",
    "A / 1e36f / 1e5f * 1e30f",
    "1e36f * (1e5f * (A * 1e-20f))",
];

const VALUES: &[&str] = &["0.3f", "1.7f", "9.0f", "-0.5f", "100.25f", "0.001f"];

/// The calls, with `A`, `B` and `C` for their arguments.
fn calls() -> Vec<String> {
    let of = |(name, count): &(&str, usize)| format!("{name}({})", ["A", "B", "C"][..*count].join(", "));
    FUNCTIONS.iter().map(of).chain(SCALED.iter().map(|&text| text.to_owned())).collect()
}

/// Each call with each value as the first argument: on constants, then on values in memory.
fn source(mode: &str) -> String {
    let mut text = format!(
        "#include <metal_stdlib>\nusing namespace metal;\n#pragma METAL fp math_mode({mode})\n\
         kernel void k(device const float* x [[buffer(0)]], device float* y [[buffer(1)]]) {{\n"
    );
    let mut place = 0;
    for call in calls() {
        for at in 0..VALUES.len() {
            let argument = |more: usize| (at + more) % VALUES.len();
            let with = |value: &dyn Fn(usize) -> String| {
                // The letters are no parts of names, which are lower case.
                call.replace('A', &value(at))
                    .replace('B', &value(argument(1)))
                    .replace('C', &value(argument(2)))
            };
            let constant = with(&|at| VALUES[at].to_owned());
            let loaded = with(&|at| format!("x[{at}]"));
            writeln!(text, "y[{place}] = {constant}; y[{}] = {loaded};", place + 1).expect("a string");
            place += 2;
        }
    }
    text + "}\n"
}

#[test]
fn constants_and_values_in_memory_give_the_same_bits() {
    let x: Vec<u8> = VALUES
        .iter()
        .flat_map(|value| value.trim_end_matches('f').parse::<f32>().expect("a number").to_le_bytes())
        .collect();
    let calls = calls();
    let mut differing = Vec::new();
    for mode in ["safe", "relaxed", "fast"] {
        let source = Source { name: mode.to_owned(), text: source(mode), ..Source::default() };
        let mut launch = Launch::new("k", Grid::Threads([1, 1, 1]), [1, 1, 1]);
        let results = vec![0; calls.len() * VALUES.len() * 8];
        for (index, bytes) in [(0, x.clone()), (1, results)] {
            launch.args.push(Arg { index, binding: Binding::Buffer { bytes, offset: 0 } });
        }
        let opened = Cpu.open(&source).unwrap_or_else(|error| panic!("{mode}: {error}"));
        let kernel = opened.prepare("k", &[]).unwrap_or_else(|error| panic!("{mode}: {error}"));
        let buffers = kernel.run(&launch).unwrap_or_else(|error| panic!("{mode}: {error}"));
        let floats: Vec<f32> =
            buffers[1].chunks(4).map(|b| f32::from_le_bytes(b.try_into().expect("four bytes"))).collect();
        for (number, pair) in floats.chunks(2).enumerate() {
            let is_same = pair[0].to_bits() == pair[1].to_bits() || pair.iter().all(|value| value.is_nan());
            if !is_same {
                let (call, value) = (&calls[number / VALUES.len()], VALUES[number % VALUES.len()]);
                differing.push(format!("{mode}: {call} of {value}: {:e}, in memory {:e}", pair[0], pair[1]));
            }
        }
    }
    assert!(differing.is_empty(), "{differing:#?}");
}
