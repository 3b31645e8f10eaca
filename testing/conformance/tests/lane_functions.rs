//! SIMD-group and quad-group functions do what the specification's tables say, whatever lanes are active.
//!
//! On the device each type is tested in one of the two math modes; with `ANYMETAL_FULL` in both.
#![allow(missing_docs, reason = "a test program")]

use anymetal_conformance::execute::{Cpu, Executor, Interpreter, Math};
use anymetal_conformance::lane_functions::{ELEMENTS, check};
use anymetal_conformance::suite::Level;

fn check_all(math: Math, executor: &dyn Executor) {
    check_every((0, 1), math, executor);
}

/// Tests one type of `every`, beginning with the `first`.
fn check_every((first, every): (usize, usize), math: Math, executor: &dyn Executor) {
    for element in ELEMENTS.into_iter().skip(first).step_by(every) {
        if let Some(why) = check(element, math, executor) {
            panic!("{why}");
        }
    }
}

fn every_on_device() -> usize {
    if Level::of_environment() == Level::Sample { 2 } else { 1 }
}

#[test]
fn in_the_interpreter() {
    check_all(Math::Fast, &Interpreter::default());
}

#[test]
fn in_the_interpreter_without_passes() {
    check_all(Math::Safe, &Interpreter { unoptimised: true });
}

#[test]
fn on_the_device_in_fast_math_mode() {
    check_every((0, every_on_device()), Math::Fast, &Cpu);
}

#[test]
fn on_the_device_in_safe_math_mode() {
    check_every((every_on_device() - 1, every_on_device()), Math::Safe, &Cpu);
}
