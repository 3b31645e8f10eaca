//! Random kernels: the CPU's code and the interpreter must leave the same bytes.

mod support;

use anymetal_ir::{Module, Op};
use anymetal_ir_random::{RandomKernel, RandomOptions, kernel};
use anymetal_opt::{KeptCalls, PassManager, inline, inline_selectively, optimise};
use support::{Launch, agree};

fn check(seed: u64, options: &RandomOptions, specialise: bool, optimised: bool) {
    let random = kernel(seed, options);
    let mut module = random.module.clone();
    inline(&mut module).expect("random kernels can be inlined");
    if optimised {
        optimise(&mut module);
    }
    compare(&module, &random, &format!("seed {seed} optimised {optimised}"), specialise);
}

/// Every function that can be called is. Returns how many calls there are.
fn check_calls(seed: u64, options: &RandomOptions) -> usize {
    let random = kernel(seed, options);
    let mut module = random.module.clone();
    inline_selectively(&mut module, KeptCalls::ALL, &mut PassManager::default())
        .expect("random kernels can be inlined");
    compare(&module, &random, &format!("seed {seed} with calls"), seed.is_multiple_of(2));
    let insts = module.functions.iter().flat_map(|function| &function.insts);
    insts.filter(|inst| matches!(inst.op, Op::Call(..))).count()
}

fn compare(module: &Module, random: &RandomKernel, what: &str, specialise: bool) {
    let mut launch = Launch::new(random.threads, random.threads_per_group);
    launch.specialise = specialise;
    if std::env::var_os("ANYMETAL_DUMP").is_some() {
        let directory = std::env::temp_dir();
        let _ = std::fs::write(directory.join("random.ir"), anymetal_ir::print_module(module));
        let _ = std::fs::write(directory.join("random.ll"), support::text(module, "k", &launch));
    }
    agree(module, "k", &launch, &random.buffers, &format!("{what} specialise {specialise}"));
}

/// `ANYMETAL_SEEDS=FROM..TO` runs others, as `.ci/nightly` does.
fn seeds(default: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let given = std::env::var("ANYMETAL_SEEDS").ok();
    let parsed = given.and_then(|text| {
        let (from, to) = text.split_once("..")?;
        Some(from.parse().ok()?..to.parse().ok()?)
    });
    parsed.unwrap_or(default)
}

fn run(options: &RandomOptions) {
    // The last ones found faults once.
    for seed in seeds(0..6).chain([12, 146, 291]) {
        check(seed, options, seed % 2 == 0, seed % 3 != 0);
    }
}

fn plain() -> RandomOptions {
    RandomOptions {
        floats: false,
        small_floats: false,
        simd: false,
        divergent_simd: false,
        threadgroup: false,
        atomics: false,
        ..RandomOptions::default()
    }
}

#[test]
fn integers_and_control_flow() {
    run(&plain());
}

#[test]
fn floats() {
    run(&RandomOptions { floats: true, small_floats: true, ..plain() });
}

#[test]
fn flat_indices() {
    run(&RandomOptions { flat_indices: true, ..plain() });
}

#[test]
fn accesses_out_of_bounds() {
    run(&RandomOptions { out_of_bounds: true, ..plain() });
}

#[test]
fn simd_operations() {
    run(&RandomOptions { simd: true, divergent_simd: true, floats: true, ..plain() });
}

#[test]
fn atomic_operations() {
    run(&RandomOptions { atomics: true, ..plain() });
}

#[test]
fn barriers() {
    run(&RandomOptions { threadgroup: true, ..plain() });
}

#[test]
fn everything() {
    run(&RandomOptions::default());
}

#[test]
fn functions_that_are_called() {
    let options =
        RandomOptions { statements: 120, out_of_bounds: true, floats: true, small_floats: true, ..plain() };
    let calls: usize = seeds(0..12).map(|seed| check_calls(seed, &options)).sum();
    assert!(calls > 4, "only {calls} calls were kept");
}
