//! What isolation costs: once per process, and per compile.
//!
//! `cargo run --release -p anymetal-driver --example isolation_cost -- [ROUNDS]`. Each round runs this
//! program twice, isolated and not, in turns. A run compiles one kernel from a fresh start, then others of
//! about its size, all with LLVM and without a disk cache. The cost is the difference of the medians. This
//! program is its own worker, so that no other executable need be of the same build.
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::process::Command;
use std::time::Instant;

use anymetal_driver::{
    CacheConfig, Compiler, CompilerOptions, Isolate, IsolateSettings, Source, SourceOptions, Specialisation,
    Target, WORKER_SUBCOMMAND, serve_worker,
};

/// Compiles of a run after the first.
const COMPILES: u32 = 30;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [WORKER_SUBCOMMAND, bytes] => {
            serve_worker(bytes.parse().expect("a number of bytes")).expect("a host started this program");
        }
        ["--here"] => measure(Isolate::Off),
        ["--isolated"] => {
            let worker = Some(std::env::current_exe().expect("this program has a path"));
            measure(Isolate::Compile(IsolateSettings { worker, ..IsolateSettings::default() }));
        }
        [] => compare(15),
        [rounds] => compare(rounds.parse().expect("a number of rounds")),
        _ => println!("usage: isolation_cost [ROUNDS]"),
    }
}

/// Prints microseconds: of the first compile, and the median of the others.
fn measure(isolate: Isolate) {
    let compiler = Compiler::new(&CompilerOptions { cache: CacheConfig::memory_only(), isolate });
    let compile = |number: u32| {
        let text = format!(
            "#include <metal_stdlib>
            using namespace metal;
            kernel void k(device float* y, device const float* x, constant float& a,
                          uint t [[thread_position_in_grid]]) {{
                y[t] = a * x[t] + y[t] * {number}.0f;
            }}"
        );
        let started = Instant::now();
        let library = compiler
            .library_for(Source::from_text("k.metal", text, SourceOptions::default()), Some(Target::CpuLlvm));
        let artifact =
            library.and_then(|library| library.artifact("k", &Specialisation::default(), Target::CpuLlvm));
        artifact.expect("the kernel compiles");
        started.elapsed().as_micros()
    };
    let first = compile(0);
    println!("{first} {}", median((1..=COMPILES).map(compile).collect()));
}

fn compare(rounds: u32) {
    let mut times = [const { (Vec::new(), Vec::new()) }; 2];
    for _ in 0..rounds {
        for (argument, times) in ["--here", "--isolated"].into_iter().zip(&mut times) {
            let program = std::env::current_exe().expect("this program has a path");
            let output = Command::new(program).arg(argument).output().expect("this program runs");
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let (first, others) = text.trim().split_once(' ').unwrap_or_else(|| panic!("{output:?}"));
            times.0.push(first.parse().expect("microseconds"));
            times.1.push(others.parse().expect("microseconds"));
        }
    }
    let least = times.each_ref().map(|(first, others)| [least(first), least(others)]);
    println!("least, first and later: {:?} us in this process, {:?} us isolated", least[0], least[1]);
    let [here, isolated] = times.map(|(first, others)| [median(first), median(others)]);
    for (name, here, isolated) in
        [("first compile", here[0], isolated[0]), ("later compiles", here[1], isolated[1])]
    {
        let cost = isolated as f64 - here as f64;
        println!("{name}: {here} us in this process, {isolated} us isolated, cost {:.2} ms", cost / 1000.0);
    }
}

fn least(values: &[u128]) -> u128 {
    values.iter().copied().min().expect("there are rounds")
}

fn median(mut values: Vec<u128>) -> u128 {
    values.sort_unstable();
    values[values.len() / 2]
}
