//! A seed as a random kernel: the interpreter and the CPU's code must leave the same bytes.
#![no_main]

use anymetal_conformance::differential::check_seed;
use anymetal_conformance::machine::Machine;
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

fuzz_target!(|seed: u64| {
    static MACHINE: OnceLock<Option<Machine>> = OnceLock::new();
    let machine = MACHINE.get_or_init(|| Machine::of_process().ok());
    if let Some((_, why)) = check_seed(seed, machine.as_ref()) {
        panic!("{why}");
    }
});
