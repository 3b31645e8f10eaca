//! Holds every function to its bound on a sample, every width and machine level to the same bits, and
//! the narrow types to theirs.

use anymetal_codegen::cpu::math::library_function;
use anymetal_ir::{FpMode, MathFn, Scalar};
use anymetal_llvm::{CpuLevel, Llvm};
use math_ulp::catalog::{Bound, CATALOG, Entry};
use math_ulp::kernel::{Kernels, Variant, assembly, module};
use math_ulp::measure::{Subject, worst};
use math_ulp::sample::{self, Random};

const MODES: [FpMode; 2] = [FpMode::Safe, FpMode::Fast];
const SAMPLES: usize = 60_000;

fn variants(scalar: Scalar, width: u32, keep: impl Fn(&Entry) -> bool) -> Vec<(&'static Entry, Variant)> {
    let entries = CATALOG.iter().filter(|entry| keep(entry));
    entries
        .flat_map(|entry| {
            MODES.map(|mode| (entry, Variant { function: entry.function, scalar, mode, width }))
        })
        .collect()
}

fn compile(cases: &[(&Entry, Variant)]) -> Kernels {
    let variants: Vec<Variant> = cases.iter().map(|&(_, variant)| variant).collect();
    Kernels::compile(&variants).expect("the library compiles")
}

#[test]
fn every_function_keeps_its_bound() {
    let cases = variants(Scalar::F32, 32, |_| true);
    let kernels = compile(&cases);
    let mut output = Vec::new();
    let mut failures = Vec::new();
    for (index, &(entry, variant)) in cases.iter().enumerate() {
        let bound = entry.bound(variant.mode);
        let [a, b, c] = sample::arguments(entry.function, SAMPLES);
        let found = worst(&kernels, Subject { index, variant, bound }, [&a, &b, &c], &mut output);
        if found.error > bound.limit() {
            failures.push(format!("{} {:?}: {found:?}", entry.name, variant.mode));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn relaxed_functions_are_the_precise_ones() {
    for entry in CATALOG {
        let of = |mode| library_function(entry.function, Scalar::F32, mode, 32);
        assert_eq!(of(FpMode::Relaxed), of(FpMode::Safe), "{}", entry.name);
    }
}

#[test]
fn our_bounds_are_below_those_of_the_specification() {
    for entry in CATALOG {
        let Bound::Ulp(limit) = entry.precise else { panic!("{}: precise bounds are in ulp", entry.name) };
        assert!(limit <= entry.metal_precise + 1e-5, "{}", entry.name);
    }
}

/// Against exact integers, not a reference with an error of its own. From one to four, all of
/// two binades: every other argument is one of these times a power of four.
#[test]
fn precise_rsqrt_is_correctly_rounded() {
    let variant = Variant { function: MathFn::Rsqrt, scalar: Scalar::F32, mode: FpMode::Safe, width: 32 };
    let kernels = Kernels::compile(&[variant]).expect("compiles");
    let mut output = vec![0; 1 << 16];
    for start in (1.0_f32.to_bits()..4.0_f32.to_bits()).step_by(1 << 16) {
        let words: Vec<u32> = (start..start + (1 << 16)).collect();
        kernels.run(0, [&words, &words, &words], &mut output);
        for (&word, &got) in words.iter().zip(&output) {
            let (x, r) = (f32::from_bits(word), f32::from_bits(got));
            // x = X 2^-23 and r = R 2^-24 exactly; r ± half a unit is (2R ± 1) 2^-25.
            let scaled_x = (x * 8_388_608.0) as u128;
            let scaled_r = (r * 16_777_216.0) as u128;
            let product = |middle: u128| middle * middle * scaled_x;
            let one = 1_u128 << (25 + 25 + 23);
            let nearest = product(2 * scaled_r - 1) < one && one < product(2 * scaled_r + 1);
            assert!(nearest, "rsqrt({x}) = {r}");
        }
    }
}

/// Runs all functions on the same arguments with two sets of kernels and compares the bits.
fn assert_same_bits(wide: &Kernels, other: &Kernels, cases: &[(&Entry, Variant)], what: &str) {
    for (index, &(entry, variant)) in cases.iter().enumerate() {
        let [a, b, c] = sample::arguments(entry.function, 6_000);
        let mut left = vec![0; a.len()];
        let mut right = vec![0; a.len()];
        wide.run(index, [&a, &b, &c], &mut left);
        other.run(index, [&a, &b, &c], &mut right);
        for i in 0..left.len() {
            let nan = |word: u32| f32::from_bits(word).is_nan();
            // The bits of a NaN are unspecified.
            let same = left[i] == right[i] || (nan(left[i]) && nan(right[i]));
            assert!(
                same,
                "{} {:?} {what}: {:08x} {:08x}: {:08x} and {:08x}",
                entry.name, variant.mode, a[i], b[i], left[i], right[i]
            );
        }
    }
}

/// The machine's estimate depends on width and machine.
fn exact(entry: &Entry) -> bool {
    entry.function != MathFn::Rsqrt
}

#[test]
fn results_do_not_depend_on_the_width() {
    let cases = variants(Scalar::F32, 32, exact);
    let wide = compile(&cases);
    for width in [1, 8, 16] {
        let other = compile(&variants(Scalar::F32, width, exact));
        assert_same_bits(&wide, &other, &cases, &format!("at width {width}"));
    }
}

#[test]
fn results_do_not_depend_on_the_level() {
    let cases = variants(Scalar::F32, 32, exact);
    let plain: Vec<Variant> = cases.iter().map(|&(_, variant)| variant).collect();
    let wide = compile(&cases);
    for level in CpuLevel::ALL.into_iter().filter(|level| level.is_available()) {
        let other = Kernels::compile_for(&plain, Some(level)).expect("compiles");
        assert_same_bits(&wide, &other, &cases, &format!("on {level}"));
    }
}

/// All 65536 arguments of each function of one argument, within one ulp of the narrow type.
fn narrow_functions(scalar: Scalar) {
    let taken = |entry: &Entry| entry.function.arity() == 1 && entry.function != MathFn::IsNormal;
    let cases = variants(scalar, 32, taken);
    let kernels = compile(&cases);
    let words: Vec<u32> = (0..=0xFFFF).collect();
    let mut output = Vec::new();
    let mut failures = Vec::new();
    for (index, &(entry, variant)) in cases.iter().enumerate() {
        let exact = entry.metal_precise <= 0.5;
        let bound = Bound::Ulp(if exact { 0.501 } else { 1.0 });
        let subject = Subject { index, variant, bound };
        let found = worst(&kernels, subject, [&words, &words, &words], &mut output);
        if found.error > bound.limit() {
            failures.push(format!("{} {:?}: {found:?}", entry.name, variant.mode));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn half_functions_are_within_one_ulp() {
    narrow_functions(Scalar::F16);
}

#[test]
fn bfloat_functions_are_within_one_ulp() {
    narrow_functions(Scalar::Bf16);
}

#[test]
fn narrow_functions_of_several_arguments() {
    for scalar in [Scalar::F16, Scalar::Bf16] {
        let taken = |entry: &Entry| entry.function.arity() > 1 && entry.function != MathFn::NextAfter;
        let cases = variants(scalar, 32, taken);
        let kernels = compile(&cases);
        let mut random = Random::new(5);
        let mut column = || (0..32_000).map(|_| random.word() & 0xFFFF).collect::<Vec<u32>>();
        let [a, b, c] = [column(), column(), column()];
        let small: Vec<u32> = b.iter().map(|word| (word % 60).wrapping_sub(30)).collect();
        let mut output = Vec::new();
        for (index, &(entry, variant)) in cases.iter().enumerate() {
            // Powers lose bits with the size of the exponent in fast mode.
            let power = matches!(entry.function, MathFn::Pow | MathFn::Powr) && variant.mode == FpMode::Fast;
            if power || (entry.function == MathFn::Fmod && variant.mode == FpMode::Fast) {
                continue;
            }
            let second = if entry.function == MathFn::Ldexp { &small } else { &b };
            let bound = Bound::Ulp(1.0);
            let found = worst(&kernels, Subject { index, variant, bound }, [&a, second, &c], &mut output);
            assert!(found.error <= 1.0, "{} {scalar:?} {:?}: {found:?}", entry.name, variant.mode);
        }
    }
}

#[test]
fn narrow_neighbours_and_normals() {
    for scalar in [Scalar::F16, Scalar::Bf16] {
        let variant = |function| Variant { function, scalar, mode: FpMode::Safe, width: 32 };
        let kernels =
            Kernels::compile(&[variant(MathFn::NextAfter), variant(MathFn::IsNormal)]).expect("compiles");
        let words: Vec<u32> = (0..=0xFFFF).collect();
        let mut output = vec![0; words.len()];
        kernels.run(1, [&words, &words, &words], &mut output);
        let (infinity, smallest) = if scalar == Scalar::F16 { (0x7C00, 0x400) } else { (0x7F80, 0x80) };
        for (&word, &got) in words.iter().zip(&output) {
            let normal = (smallest..infinity).contains(&(word & 0x7FFF));
            assert_eq!(got, u32::from(normal), "isnormal({word:04x})");
        }
        // Towards +∞: the next bits, with the sign as magnitude.
        let up = vec![infinity; words.len()];
        kernels.run(0, [&words, &up, &up], &mut output);
        for (&word, &got) in words.iter().zip(&output) {
            let next = match word {
                _ if word & 0x7FFF > infinity => continue,
                _ if word == infinity => infinity,
                0x8000 => 1,
                _ if word > 0x8000 => word - 1,
                _ => word + 1,
            };
            assert_eq!(got, next, "nextafter({word:04x}, ∞)");
        }
    }
}

#[test]
fn integer_functions() {
    let functions = [MathFn::PopCount, MathFn::Clz, MathFn::Ctz, MathFn::ReverseBits];
    let mut random = Random::new(6);
    let mut words: Vec<u32> = (0..32).map(|i| 1 << i).chain([0, u32::MAX]).collect();
    words.resize_with(3200, || random.word());
    for scalar in [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64] {
        let variant = |function| Variant { function, scalar, mode: FpMode::Safe, width: 32 };
        let kernels = Kernels::compile(&functions.map(variant)).expect("compiles");
        let bits = scalar.bits();
        for (index, function) in functions.into_iter().enumerate() {
            let mut output = vec![0; words.len()];
            kernels.run(index, [&words, &words, &words], &mut output);
            for (&word, &got) in words.iter().zip(&output) {
                let value = u64::from(word) & (u64::MAX >> (64 - bits));
                let truth = match function {
                    MathFn::PopCount => u64::from(value.count_ones()),
                    MathFn::Clz => u64::from(value.leading_zeros() - (64 - bits)),
                    MathFn::Ctz => u64::from(value.trailing_zeros().min(bits)),
                    _ => value.reverse_bits() >> (64 - bits),
                };
                assert_eq!(got, truth as u32, "{function:?} of {value:x} as {scalar:?}");
            }
        }
    }
}

#[test]
fn fast_mode_keeps_common_properties() {
    let value = |function, x: f32, y: f32| {
        let variant = Variant { function, scalar: Scalar::F32, mode: FpMode::Fast, width: 32 };
        let kernels = Kernels::compile(&[variant]).expect("compiles");
        let (a, b) = ([x.to_bits(); 32], [y.to_bits(); 32]);
        let mut output = vec![0; 32];
        kernels.run(0, [&a, &b, &b], &mut output);
        f32::from_bits(output[31])
    };
    let infinity = f32::INFINITY;
    assert_eq!(value(MathFn::Exp, -infinity, 0.0), 0.0, "masked scores of attention");
    assert_eq!(value(MathFn::Exp, -1e30, 0.0), 0.0);
    assert_eq!(value(MathFn::Exp, 1000.0, 0.0), infinity);
    assert_eq!(value(MathFn::Exp, infinity, 0.0), infinity);
    assert_eq!(value(MathFn::Exp, 0.0, 0.0), 1.0);
    assert!(value(MathFn::Exp, f32::from_bits(0x7FC0_0123), 0.0).is_nan());
    assert_eq!(value(MathFn::Exp2, 10.0, 0.0), 1024.0);
    assert_eq!(value(MathFn::Log, 0.0, 0.0), -infinity);
    assert_eq!(value(MathFn::Log, 1.0, 0.0), 0.0);
    assert_eq!(value(MathFn::Log2, 8.0, 0.0), 3.0);
    assert_eq!(value(MathFn::Tanh, 1e30, 0.0), 1.0);
    assert_eq!(value(MathFn::Tanh, -infinity, 0.0), -1.0);
    let close = |got: f32, want: f32| (got / want - 1.0).abs() < 1e-6;
    assert!(close(value(MathFn::Pow, -3.0, 2.0), 9.0), "squares written as powers");
    assert!(close(value(MathFn::Pow, -2.0, 3.0), -8.0));
    assert_eq!(value(MathFn::Pow, 0.0, 2.0), 0.0);
    assert_eq!(value(MathFn::Pow, 0.0, 0.0), 1.0);
    assert_eq!(value(MathFn::Pow, 0.0, f32::MIN_POSITIVE), 0.0);
    for zero in [0.0, -0.0, f32::from_bits(1)] {
        assert_eq!(value(MathFn::Rsqrt, zero, 0.0), infinity.copysign(zero));
    }
    assert!(value(MathFn::Rsqrt, -1.0, 0.0).is_nan());
    assert_eq!(value(MathFn::Fmod, 1e30, 1e-30), 0.0);
    assert!(value(MathFn::Sin, 3e38, 0.0).abs() <= 1.0);
    assert_eq!(value(MathFn::Atan2, 0.0, 0.0), 0.0);
    assert!((value(MathFn::Fmod, 7.5, 2.0) - 1.5).abs() < 1e-6);
}

#[test]
fn the_text_is_portable_and_repeatable() {
    let all: Vec<Variant> = [Scalar::F32, Scalar::F16, Scalar::Bf16]
        .into_iter()
        .flat_map(|scalar| variants(scalar, 32, |_| true))
        .map(|(_, variant)| variant)
        .collect();
    let text = module(&all);
    assert_eq!(text, module(&all));
    for word in ["nnan", "ninf", "fptosi", "fptoui", "nsw", "nuw"] {
        assert!(!text.contains(word), "{word} can make poison");
    }
    // Vector intrinsics for which LLVM calls libm once per lane.
    for name in ["exp", "exp2", "log", "log2", "log10", "pow", "sin", "cos", "tan", "round", "ldexp"] {
        assert!(!text.contains(&format!("@llvm.{name}.")), "llvm.{name}");
    }
    let mut declared: Vec<&str> = text.lines().filter(|line| line.starts_with("declare")).collect();
    let count = declared.len();
    declared.sort_unstable();
    declared.dedup();
    assert_eq!(declared.len(), count);
}

/// Functions that the machine code calls and that are not ours.
fn called_from_outside(assembly: &str) -> Vec<&str> {
    let callee = |line: &'_ str| {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(".extern"), Some(".func"), _) => true,
            (Some("bl" | "callq" | "call"), Some(name), _) => !name.starts_with("am_"),
            _ => false,
        }
    };
    assembly.lines().filter(|line| !line.contains("call.uni") && callee(line)).collect()
}

#[test]
fn other_targets_need_no_c_library_either() {
    assert_eq!(called_from_outside("\tbl\tfmaf\n\tbl\tam_x\n.extern .func f\n").len(), 2);
    let llvm = Llvm::load().expect("libLLVM");
    let targets = [(llvm.host_target().aarch64(), 32), (llvm.host_target().nvptx("sm_80", "+ptx70"), 1)];
    for (target, width) in targets {
        let name = target.architecture.triple();
        let all: Vec<Variant> = [Scalar::F32, Scalar::F16, Scalar::Bf16]
            .into_iter()
            .flat_map(|scalar| variants(scalar, width, |_| true))
            .map(|(_, variant)| variant)
            .collect();
        let text = assembly(&all, Some(target)).expect(name);
        let outside = called_from_outside(&text);
        assert!(outside.is_empty(), "{name}: {outside:?}");
    }
}
