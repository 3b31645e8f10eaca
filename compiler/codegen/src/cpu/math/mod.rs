//! The math library of CPU code: every [`MathFn`] as LLVM IR text on vectors of lanes.
//!
//! [`library_function`] writes one function; [`Library`] collects the ones a module needs, each
//! once, with the intrinsics that they declare. The text is straight-line vector code: selects
//! instead of branches, never a call per lane. The exceptions are uniform branches on "any lane":
//! the reduction of huge arguments of `sin`, `cos` and `tan`, and the later steps of `fmod`.
//!
//! What must hold:
//! * The text parses and means the same on LLVM 18 to 23, and uses only intrinsics that every
//!   target lowers without a call to libm when it has fused multiply-add.
//! * No instruction carries `nnan` or `ninf`; no conversion is made whose result could be poison.
//!   Lanes are independent: garbage or poison in one lane does not reach another.
//! * Results do not depend on the width: a uniform value computed at width 1 equals the lane of a
//!   vector. (No instruction may be contracted or reassociated; each `fma` is written.)
//! * `Safe` and `Relaxed` select the precise tier: the accuracy of the MSL specification's table
//!   8.1 over the whole domain, denormals included, and C's special cases (annex F). `Fast` selects
//!   the fast tier: table 8.2; it may treat denormals as zero, and NaN and infinite *arguments* are
//!   nobody's promise, but finite arguments overflow to infinity, underflow to zero and saturate as
//!   users expect. The measured accuracy of both stands in `docs/math-accuracy.md`.
//!
//! Signature of every function: arguments and result are `<W x T>`, or plain `T` at width 1, with
//! `T` of `half`, `i16` (the bits of a `bfloat`), `float`, `i8` to `i64`. The classification functions return
//! `<W x i1>`; `FrexpExponent` and `Ilogb` return `<W x i32>`; `Ldexp`'s second argument is `<W x i32>`.
//!
//! Start with [`library_function`]; `body.rs` is the small text builder that all files use.

mod basic;
mod body;
mod classify;
mod coefficients;
mod exponential;
mod huge;
mod hyperbolic;
mod integer;
mod inverse;
mod library;
mod logarithm;
mod narrow;
mod power;
mod rounding;
mod trigonometric;
mod value;

use anymetal_ir::{FpMode, MathFn, Scalar};

use body::{Body, Inline, Lane};
pub use library::Library;
use value::Val;

use anymetal_simd::target::CpuFeatures;

/// One function of the library as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MathDef {
    /// Its name, without the `@`.
    pub name: String,
    /// `define internal … { … }`.
    pub ir_text: String,
    /// Declarations of the `llvm.*` intrinsics that it calls, one line each.
    pub declares: Vec<String>,
    /// Functions that it calls, to be defined in the same module.
    pub depends: Vec<MathDef>,
}

/// Attributes that functions which call the library must carry, as text for `attributes #n = { … }`.
///
/// x86's estimate of a reciprocal square root has 12 bits before AVX-512, and one step of refinement, which
/// is what LLVM does, leaves 3.2 ulp: two there.
pub fn caller_attributes(features: &CpuFeatures) -> &'static str {
    if features.avx512 || features.neon { "" } else { "\"reciprocal-estimates\"=\"sqrtf:2,vec-sqrtf:2\" " }
}

/// How accurate, decided by the [`FpMode`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tier {
    /// MSL specification, table 8.1.
    Precise,
    /// MSL specification, table 8.2.
    Fast,
}

impl Tier {
    fn of(mode: FpMode) -> Self {
        match mode {
            FpMode::Safe | FpMode::Relaxed => Self::Precise,
            FpMode::Fast => Self::Fast,
        }
    }
}

/// Writes `function` for vectors of `width` lanes of `scalar` (width 1: scalars).
///
/// `scalar` is the type of the first argument: a float type, or an integer type for the four
/// integer functions.
///
/// # Panics
/// If `scalar` is not a type that `function` takes: the IR verifier excludes it.
pub fn library_function(function: MathFn, scalar: Scalar, mode: FpMode, width: u32) -> MathDef {
    let tier = Tier::of(mode);
    let lane = Lane::of(scalar);
    let body = Body::new(width);
    let mut arguments = vec![lane; function.arity()];
    if function == MathFn::Ldexp {
        arguments[1] = Lane::I32;
    }
    let arguments = body.arguments(&arguments);
    assert!(!arguments.is_empty(), "{function:?} takes a number");
    let result = match scalar {
        Scalar::F16 | Scalar::Bf16 => narrow::emit(function, tier, &body, &arguments),
        Scalar::F32 => single(function, tier, &body, &arguments),
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => integer::emit(function, &body, &arguments),
        Scalar::Bool => panic!("no math function takes bool: {function:?}"),
    };
    let inline = if is_large(function) { Inline::Compiler } else { Inline::Always };
    body.finish(&function_name(function, scalar, tier, width), &arguments, result, inline)
}

/// Fast `rsqrt` of `float` numbers that are positive and normal or infinite, or NaN: without care for zero.
fn rsqrt_of_positive_normal(width: u32) -> MathDef {
    let body = Body::new(width);
    let arguments = body.arguments(&[Lane::F32]);
    let result = basic::rsqrt_of_normal(arguments[0]);
    body.finish(&format!("am_rsqrt_normal_f32_fast_w{width}"), &arguments, result, Inline::Always)
}

fn function_name(function: MathFn, scalar: Scalar, tier: Tier, width: u32) -> String {
    let function = format!("{function:?}").to_lowercase();
    let tier = if tier == Tier::Fast { "fast" } else { "precise" };
    format!("am_{function}_{}_{tier}_w{width}", scalar.name())
}

/// Functions whose text is worth a call: left to LLVM's judgement.
fn is_large(function: MathFn) -> bool {
    matches!(function, MathFn::Fmod)
}

/// The function on `float` lanes.
fn single<'b>(function: MathFn, tier: Tier, body: &'b Body, arguments: &[Val<'b>]) -> Val<'b> {
    let x = arguments[0];
    match function {
        MathFn::Floor | MathFn::Ceil | MathFn::Trunc | MathFn::Rint | MathFn::Round => {
            rounding::emit(function, x)
        }
        MathFn::IsNan | MathFn::IsInf | MathFn::IsFinite | MathFn::IsNormal | MathFn::SignBit => {
            classify::emit(function, x)
        }
        MathFn::Sin => trigonometric::sin(body, x),
        MathFn::Cos => trigonometric::cos(body, x),
        MathFn::Tan => trigonometric::tan(body, x),
        MathFn::SinPi => trigonometric::sin_pi(tier, x),
        MathFn::CosPi => trigonometric::cos_pi(tier, x),
        MathFn::TanPi => trigonometric::tan_pi(tier, x),
        MathFn::Asin => inverse::asin(tier, x),
        MathFn::Acos => inverse::acos(tier, x),
        MathFn::Atan => inverse::atan(tier, x),
        MathFn::Atan2 => inverse::atan2(tier, x, arguments[1]),
        MathFn::Sinh => hyperbolic::sinh(tier, x),
        MathFn::Cosh => hyperbolic::cosh(tier, x),
        MathFn::Tanh => hyperbolic::tanh(tier, x),
        MathFn::Asinh => hyperbolic::asinh(tier, body, x),
        MathFn::Acosh => hyperbolic::acosh(tier, body, x),
        MathFn::Atanh => hyperbolic::atanh(tier, body, x),
        MathFn::Exp => exponential::exp(tier, x),
        MathFn::Exp2 => exponential::exp2(tier, x),
        MathFn::Exp10 => exponential::exp10(tier, x),
        MathFn::Log => logarithm::log(tier, x),
        MathFn::Log2 => logarithm::log2(tier, x),
        MathFn::Log10 => logarithm::log10(tier, x),
        MathFn::Pow => power::pow(tier, x, arguments[1]),
        MathFn::Powr => power::powr(tier, x, arguments[1]),
        _ => basic::emit(function, tier, body, arguments),
    }
}
