//! SIMD-group and quad-group functions do what the specification's tables say, whatever lanes are active.
#![allow(missing_docs, reason = "a test program")]

use anymetal_conformance::execute::{Cpu, Executor, Interpreter, Math};
use anymetal_conformance::lane_functions::{ELEMENTS, check};

fn check_all(math: Math, executor: &dyn Executor) {
    for element in ELEMENTS {
        if let Some(why) = check(element, math, executor) {
            panic!("{why}");
        }
    }
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
    check_all(Math::Fast, &Cpu);
}

#[test]
fn on_the_device_in_safe_math_mode() {
    check_all(Math::Safe, &Cpu);
}
