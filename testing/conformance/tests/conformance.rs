//! The conformance suite, instantiated per executor by one line.

use anymetal_conformance::candle::{self, family};
use anymetal_conformance::case::Case;
use anymetal_conformance::execute::{
    Analysis, Cpu, Executor, Interpreter, Math, Sanitized, Source, UncheckedCpu,
};
use anymetal_conformance::expectation::Expectations;
use anymetal_conformance::suite::{CasesOf, Level, Oracle, Outcome, hash, run_family, run_kernels};
use anymetal_conformance::{demo, llama, metal_examples};

/// Devices are compared with the interpreter, too.
fn oracle_of(executor: &dyn Executor) -> Oracle {
    if ["interpreter", "sanitizer", "analysis"].contains(&executor.name()) {
        Oracle::None
    } else {
        Oracle::Interpreter
    }
}

fn check(executor: &dyn Executor, name: &str) {
    let family = family(name);
    // The other entry points of that file are never called.
    let is_called = |kernel: &str| name != "quantized" || candle::quantized::is_called(kernel);
    let wanted = |kernel: &str| is_called(kernel) && is_sampled(executor, name, kernel);
    let source = family.source();
    let outcome = run_kernels(&source, family.cases_of, executor, oracle_of(executor), &wanted);
    // The smaller sample without checks may have none of a family.
    expect_good(&outcome, name, !executor.checks() && Level::of_environment() == Level::Sample);
}

fn expect_good(outcome: &Outcome, name: &str, may_be_none: bool) {
    if outcome.subjects > 0 || !may_be_none {
        outcome.assert_good(name);
    }
}

/// One kernel in this many is run: `every` with checks, fewer kernels without.
fn one_of(executor: &dyn Executor, every: usize) -> usize {
    if executor.checks() { every } else { 6 * every }
}

/// In safe math mode, device and interpreter agree bit for bit.
fn check_bits(name: &str) {
    const EVERY: usize = 48;
    let family = family(name);
    let full = Level::of_environment() != Level::Sample;
    let few =
        |kernel: &str| ["affine_", "powf_", "elu_", "where_"].iter().any(|name| kernel.starts_with(name));
    let every = |kernel: &str| if few(kernel) { EVERY / 8 } else { EVERY };
    let wanted = |kernel: &str| full || hash(kernel) % every(kernel) == 5;
    let source = Source { math: Math::Safe, ..family.source() };
    run_kernels(&source, family.cases_of, &Cpu, Oracle::Bits, &wanted).assert_good(name);
}

/// The kernels that are run without `ANYMETAL_FULL`: machine code takes time to make, and large kernels take
/// time to interpret. Which ones, their names decide, so that every type and every operation is among them.
fn is_sampled(executor: &dyn Executor, family: &str, kernel: &str) -> bool {
    const ALWAYS: &[&str] = &[
        "affine_f32",
        "badd_f32_strided",
        "is_u32_f32",
        "asort_asc_f32",
        "softmax_f32",
        "fast_argmin_f32_strided",
        "sdpa_vector_float_64",
        "carg_block_sort_float32_uint32_bn128_tn8",
        "kernel_mul_mv_q4_0_f32",
        "gemm_nn_f32_f32_32_32_16_2_2",
    ];
    const SMALL_FAMILIES: &[&str] = &["fill_", "rand_", "affine_"];
    const LARGE_FAMILIES: &[&str] =
        &["reduce", "gemv", "mlx_gemm", "mlx_sort", "scaled_dot_product_attention", "quantized"];
    let is_device = executor.name() != "interpreter";
    let every = match (is_device, LARGE_FAMILIES.contains(&family)) {
        (true, true) => one_of(executor, 160),
        (true, false) => one_of(executor, 24),
        (false, true) => 16,
        (false, false) => 2,
    };
    let hash = hash(kernel);
    let is_of_interest = (kernel.starts_with("where_") || kernel.starts_with("asort_"))
        && hash.is_multiple_of(3)
        || SMALL_FAMILIES.iter().any(|family| kernel.starts_with(family));
    Level::of_environment() != Level::Sample
        || hash.is_multiple_of(every)
        || ALWAYS.contains(&kernel)
        || executor.checks() && is_of_interest
}

/// The cases of 2^20 + 7 elements of a family.
fn large(cases: Option<Vec<Case>>) -> Option<Vec<Case>> {
    let is_large = |case: &Case| case.name.starts_with("1048583 ");
    cases.map(|cases| cases.into_iter().filter(is_large).take(2).collect())
}

/// The case with most threads.
fn largest(cases: Option<Vec<Case>>) -> Option<Vec<Case>> {
    cases.map(|cases| cases.into_iter().max_by_key(|case| case.launch.threads()).into_iter().collect())
}

fn run_large(executor: &dyn Executor, source: &Source, cases_of: CasesOf, kernels: &[&str]) {
    let wanted = |kernel: &str| kernels.contains(&kernel);
    run_kernels(source, cases_of, executor, Oracle::None, &wanted).assert_good(kernels[0]);
}

/// The conformance kernels that every executor runs at 2^20 + 7 elements.
fn check_large(executor: &dyn Executor) {
    let run = |name: &str, cases_of: CasesOf, kernels: &[&str]| {
        run_large(executor, &family(name).source(), cases_of, kernels);
    };
    let sum = |kernel: &str, _| large(metal_examples::cases(kernel, Level::Full));
    run_large(executor, &metal_examples::plain(), sum, &["sum"]);
    run("affine", |k, _| large(candle::affine::cases(k, Level::Full)), &["affine_f32"]);
    run("binary", |k, _| large(candle::binary::cases(k, Level::Full)), &["badd_f32_strided"]);
    run("indexing", |k, _| largest(candle::indexing::cases(k, Level::Full)), &["is_u32_f32"]);
    run("sort", |k, _| largest(candle::sort::cases(k, Level::Full)), &["asort_asc_f32"]);
}

#[test]
fn interpreter_large() {
    check_large(&Interpreter::default());
}

/// More of them at a size that keeps all workers busy.
#[test]
fn cpu_large() {
    check_large(&Cpu);
    let run = |name: &str, cases_of: CasesOf, kernels: &[&str]| {
        run_large(&Cpu, &family(name).source(), cases_of, kernels);
    };
    run("affine", |k, _| large(candle::affine::cases(k, Level::Full)), &["affine_u8_strided"]);
    run("binary", |k, _| large(candle::binary::cases(k, Level::Full)), &["bmul_bf16"]);
    run("unary", |k, _| large(candle::unary::cases(k, Level::Full)), &["exp_f32", "gelu_f16_strided"]);
    let casts = &["cast_f32_f16", "cast_i64_bf16_strided"];
    run("cast", |k, _| large(candle::cast::cases(k, Level::Full)), casts);
    run("ternary", |k, _| large(candle::ternary::cases(k, Level::Full)), &["where_u8_f32"]);
}

/// One test per family.
macro_rules! suite {
    ($executor:ident, $value:expr) => {
        mod $executor {
            use super::*;

            suite!(@families $value, fill cast affine unary binary ternary indexing sort random conv
                reduce mlx_sort gemv mlx_gemm scaled_dot_product_attention quantized);

            #[test]
            fn sum_with_atomics() {
                let oracle = oracle_of(&$value);
                run_family(&metal_examples::plain(), metal_examples::cases, &$value, oracle).assert_good("sum");
            }

            #[test]
            fn sum_with_an_argument_buffer() {
                let cases = metal_examples::argument_buffer_cases;
                run_family(&metal_examples::argument_buffer(), cases, &$value, Oracle::None).assert_good("sum");
            }

            #[test]
            fn random_numbers_have_the_requested_distribution() {
                let source = family("random").source();
                let mut outcome = Outcome::default();
                let result = match candle::random::statistics(&source, &$value) {
                    Ok(messages) if messages.is_empty() => Ok(()),
                    Ok(messages) => Err(messages.join("; ")),
                    Err(error) => Err(error.to_string()),
                };
                outcome.note(&Expectations::of_repository(), &$value, "rand_statistics", result);
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
suite!(unchecked_cpu, UncheckedCpu);
suite!(sanitized, Sanitized);
suite!(analysis, Analysis);

/// One test per family, in safe math mode.
macro_rules! bit_for_bit {
    ($($family:ident)*) => {
        mod bit_for_bit {
            $(
                #[test]
                fn $family() {
                    super::check_bits(stringify!($family));
                }
            )*
        }
    };
}

bit_for_bit!(cast affine unary binary ternary);

/// A family of llama.cpp's, those of its kernels that have references.
fn check_llama(executor: &dyn Executor, name: &str) {
    const LARGE: &[&str] = &["unary", "binbcast", "quantize", "mul_", "fa_f", "fa_q", "fa_vec"];
    const ALWAYS: &[&str] = &[
        "kernel_mul_mv_q4_0_f32",
        "kernel_mul_mm_q4_0_f32",
        "kernel_get_rows_q4_K",
        "kernel_soft_max_f32",
        "kernel_bin_fuse_f32_f32_f32",
        "kernel_unary_f16_f16",
        "kernel_mul_mm_id_q4_0_f32",
        "kernel_mul_mv_id_q4_0_f32",
        "kernel_mul_mv_mma_q4_0_f32_nt2_rt2",
        "kernel_flash_attn_ext_vec_f16_dk64_dv64",
        "kernel_flash_attn_ext_vec_q4_0_dk64_dv64_q4_ne2",
        "kernel_flash_attn_ext_f16_dk64_dv64",
        "kernel_flash_attn_ext_f32_dk64_dv64",
        "kernel_flash_attn_ext_q4_0_dk64_dv64",
        "kernel_flash_attn_ext_q8_0_dk64_dv64",
    ];
    let family = llama::family(name);
    let is_device = executor.name() != "interpreter";
    let all = Level::of_environment() != Level::Sample;
    let is_small = !LARGE.iter().any(|large| name.starts_with(large));
    let every = match (is_small, is_device) {
        (true, false) => 1,
        (true, true) => one_of(executor, 6),
        (false, false) if name.starts_with("fa_vec") => 60,
        (false, false) if name.starts_with("fa_") => 16,
        (false, false) => 8,
        (false, true) if name.starts_with("fa_") => one_of(executor, 200),
        (false, true) => one_of(executor, 60),
    };
    let wanted = |kernel: &str| {
        let is_sampled = all || ALWAYS.contains(&kernel) || hash(kernel).is_multiple_of(every);
        (family.covers)(kernel) && is_sampled
    };
    let outcome = run_kernels(&family.source(), family.cases_of, executor, oracle_of(executor), &wanted);
    // A device's sample may have none of a small family.
    expect_good(&outcome, name, is_device && !all);
}

/// One test per family of llama.cpp's, per executor.
macro_rules! llama_suite {
    ($executor:ident, $value:expr) => {
        mod $executor {
            use super::*;

            llama_suite!(@families $value, softmax argsort norm unary binbcast misc pool tri upscale rope
                conv gated_delta_net solve_tri ssm wkv reduce quantize mul_mv mul_mm
                mul_mm_tensors mul_mv_mma
                fa_aux fa_f16 fa_f32 fa_q4_0 fa_q4_1 fa_q5_0 fa_q5_1 fa_q8_0
                fa_vec_f16 fa_vec_f32 fa_vec_q4_0 fa_vec_q4_1 fa_vec_q5_0 fa_vec_q5_1 fa_vec_q8_0);
        }
    };
    (@families $value:expr, $($family:ident)*) => {
        $(
            #[test]
            fn $family() {
                check_llama(&$value, stringify!($family));
            }
        )*
    };
}

llama_suite!(llama_interpreter, Interpreter::default());
llama_suite!(llama_cpu, Cpu);
llama_suite!(llama_unchecked_cpu, UncheckedCpu);
llama_suite!(llama_sanitized, Sanitized);
llama_suite!(llama_analysis, Analysis);

/// The demo's kernels, all of them.
#[test]
fn demo_under_the_sanitizer() {
    let mut outcome = Outcome::default();
    for file in demo::FILES {
        outcome.merge(run_family(&demo::source(file), demo::cases, &Sanitized, Oracle::Interpreter));
    }
    outcome.assert_good("demo");
}

/// As [`check_bits`], over all of llama.cpp's kernels.
fn check_llama_bits(name: &str) {
    const EVERY: usize = 40;
    let family = llama::family(name);
    let full = Level::of_environment() != Level::Sample;
    let wanted = |kernel: &str| (family.covers)(kernel) && (full || hash(kernel) % EVERY == 5);
    let source = Source { math: Math::Safe, ..family.source() };
    let outcome = run_kernels(&source, family.cases_of, &Cpu, Oracle::Bits, &wanted);
    // The sample may have none of a small family.
    if outcome.subjects > 0 || full {
        outcome.assert_good(name);
    }
}

/// One test per family of llama.cpp's, in safe math mode.
macro_rules! llama_bit_for_bit {
    ($($family:ident)*) => {
        mod llama_bit_for_bit {
            $(
                #[test]
                fn $family() {
                    super::check_llama_bits(stringify!($family));
                }
            )*
        }
    };
}

llama_bit_for_bit!(softmax argsort norm unary binbcast misc pool tri upscale rope conv gated_delta_net solve_tri ssm wkv
    reduce quantize mul_mv mul_mm mul_mm_tensors mul_mv_mma fa_aux);
