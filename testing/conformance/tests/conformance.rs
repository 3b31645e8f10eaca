//! The conformance suite, instantiated per executor by one line.

use anymetal_conformance::candle::{self, family};
use anymetal_conformance::case::Case;
use anymetal_conformance::execute::{Cpu, Executor, Interpreter};
use anymetal_conformance::expectation::Expectations;
use anymetal_conformance::metal_examples;
use anymetal_conformance::suite::{CasesOf, Level, Outcome, run_family, run_kernels};

/// Whether results are compared with the interpreter's, too.
fn has_oracle(executor: &dyn Executor) -> bool {
    executor.name() != "interpreter"
}

fn check(executor: &dyn Executor, name: &str) {
    let family = family(name);
    let wanted = |kernel: &str| executor.name() == "interpreter" || is_sampled(kernel);
    run_kernels(&family.source(), family.cases_of, executor, has_oracle(executor), &wanted).assert_good(name);
}

/// The kernels that devices run without `ANYMETAL_FULL`: machine code takes time to make. Which ones, their
/// names decide, so that every type and every operation is among them.
fn is_sampled(kernel: &str) -> bool {
    const EVERY: usize = 12;
    const ALWAYS: &[&str] = &["affine_f32", "badd_f32_strided", "is_u32_f32", "asort_asc_f32"];
    const SMALL_FAMILIES: &[&str] = &["fill_", "rand_", "affine_"];
    let hash = kernel.bytes().fold(0usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    Level::of_environment() != Level::Sample
        || hash.is_multiple_of(EVERY)
        || (kernel.starts_with("where_") || kernel.starts_with("asort_")) && hash.is_multiple_of(3)
        || ALWAYS.contains(&kernel)
        || SMALL_FAMILIES.iter().any(|family| kernel.starts_with(family))
}

/// The cases of 2^20 + 7 elements of a family.
fn large(cases: Option<Vec<Case>>) -> Option<Vec<Case>> {
    let is_large = |case: &Case| case.name.starts_with("1048583 ");
    cases.map(|cases| cases.into_iter().filter(is_large).take(2).collect())
}

/// A few kernels at a size that keeps all workers busy. The interpreter runs these with `ANYMETAL_FULL=1`.
#[test]
fn cpu_large() {
    let run = |name: &str, cases_of: CasesOf, kernels: &[&str]| {
        let wanted = |kernel: &str| kernels.contains(&kernel);
        run_kernels(&family(name).source(), cases_of, &Cpu, false, &wanted).assert_good(name);
    };
    run("affine", |k, _| large(candle::affine::cases(k, Level::Full)), &["affine_f32", "affine_u8_strided"]);
    run("binary", |k, _| large(candle::binary::cases(k, Level::Full)), &["badd_f32_strided", "bmul_bf16"]);
    run("unary", |k, _| large(candle::unary::cases(k, Level::Full)), &["exp_f32", "gelu_f16_strided"]);
    run(
        "cast",
        |k, _| large(candle::cast::cases(k, Level::Full)),
        &["cast_f32_f16", "cast_i64_bf16_strided"],
    );
    run("ternary", |k, _| large(candle::ternary::cases(k, Level::Full)), &["where_u8_f32"]);
}

/// One test per family.
macro_rules! suite {
    ($executor:ident, $value:expr) => {
        mod $executor {
            use super::*;

            suite!(@families $value, fill cast affine unary binary ternary indexing sort random conv);

            #[test]
            fn sum_with_atomics() {
                let oracle = has_oracle(&$value);
                run_family(&metal_examples::plain(), metal_examples::cases, &$value, oracle).assert_good("sum");
            }

            #[test]
            fn sum_with_an_argument_buffer() {
                let cases = metal_examples::argument_buffer_cases;
                run_family(&metal_examples::argument_buffer(), cases, &$value, false).assert_good("sum");
            }

            #[test]
            fn random_numbers_are_distributed_as_asked() {
                let source = family("random").source();
                let mut outcome = Outcome::default();
                let result = match candle::random::statistics(&source, &$value) {
                    Ok(messages) if messages.is_empty() => Ok(()),
                    Ok(messages) => Err(messages.join("; ")),
                    Err(error) => Err(error.to_string()),
                };
                outcome.note(&Expectations::of_repository(), $value.name(), "rand_statistics", result);
                outcome.assert_good("random");
            }
        }
    };
    (@families $value:expr, $($family:ident)*) => {
        $(
            #[test]
            fn $family() {
                check(&$value, stringify!($family));
            }
        )*
    };
}

suite!(interpreter, Interpreter::default());
suite!(cpu, Cpu);
