//! Random kernels go through everything that this crate does.

use super::{RandomOptions, kernel};
use crate::{Module, parse_module, passes, print_module, verify};

fn check(module: &Module, when: &str, seed: u64) {
    if let Err(errors) = verify(module) {
        panic!("seed {seed}, {when}: {}\n{module}", errors[0]);
    }
}

fn options(seed: u64) -> RandomOptions {
    let mut options = RandomOptions { statements: 20 + (seed % 100) as usize, ..RandomOptions::default() };
    options.out_of_bounds = seed.is_multiple_of(5);
    options.small_floats = !seed.is_multiple_of(3);
    options
}

#[test]
fn every_kernel_verifies_and_round_trips() {
    for seed in 0..300 {
        let module = kernel(seed, &options(seed)).module;
        check(&module, "as generated", seed);
        let text = print_module(&module);
        let read = parse_module(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(print_module(&read), text, "seed {seed}");
        check(&read, "read back", seed);
    }
}

#[test]
fn the_same_seed_gives_the_same_kernel() {
    let options = RandomOptions::default();
    assert_eq!(kernel(7, &options), kernel(7, &options));
    assert_ne!(kernel(7, &options).module, kernel(8, &options).module);
}

#[test]
fn passes_keep_kernels_valid_and_come_to_an_end() {
    for seed in 0..300 {
        let mut module = kernel(seed, &options(seed)).module;
        passes::inline(&mut module).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        check(&module, "inlined", seed);
        let mut functions = std::mem::take(&mut module.functions);
        for round in 0..4 {
            type Step = fn(&Module, &mut crate::Function) -> bool;
            let steps: [(&str, Step); 5] = [
                ("fold", passes::fold::fold),
                ("split", |_, function| passes::split::split(function)),
                ("forward", |_, function| passes::forward::forward(function)),
                ("reuse", |_, function| passes::reuse::reuse(function)),
                ("dead", |_, function| passes::dead::dead(function)),
            ];
            for (name, step) in steps {
                for function in &mut functions {
                    step(&module, function);
                }
                let whole = Module { functions: functions.clone(), ..module.clone() };
                check(&whole, &format!("{name}, round {round}"), seed);
            }
        }
        module.functions = functions;
        passes::optimise(&mut module);
        check(&module, "optimised", seed);
        let before = print_module(&module);
        passes::optimise(&mut module);
        let after = print_module(&module);
        assert_eq!(after, before, "seed {seed}: optimising again changes something");
    }
}
