//! Built-in functions whose arguments have one type, or a vector's type and its component's: the signatures
//! that OpenCL C gives them.
//!
//! Owns [`FUNCTIONS`], of which `wide` makes the forms for vectors of 8 and 16, and [`conversions`]: the
//! casts without which Metal's overloads for each type are ambiguous.

use super::prelude;
use super::types::{NUMBER, Type};

/// The types of which a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Floats,
    Integers,
    Numbers,
}

type Row = (Of, &'static str, &'static [&'static str]);

/// The letters are the result and the parameters: `T` is the vector's type, `S` its component's, `F` that of
/// flags, `I` integers, `K` one integer, `U` the unsigned integers of `T`, and `P` and `Q` are pointers to
/// `T` and `I`.
pub(super) const FUNCTIONS: &[Row] = &[
    (
        Of::Floats,
        "TT",
        &[
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atanh",
            "ceil",
            "cos",
            "cosh",
            "cospi",
            "exp",
            "exp2",
            "exp10",
            "fabs",
            "floor",
            "log",
            "log2",
            "log10",
            "rint",
            "round",
            "rsqrt",
            "sign",
            "sin",
            "sinh",
            "sinpi",
            "sqrt",
            "tan",
            "tanh",
            "tanpi",
            "trunc",
            "native_exp",
            "native_exp2",
            "native_exp10",
            "native_log",
            "native_log2",
            "native_log10",
            "native_sin",
            "native_cos",
            "native_tan",
            "native_sqrt",
            "native_rsqrt",
            "half_exp",
            "half_exp2",
            "half_exp10",
            "half_log",
            "half_log2",
            "half_log10",
            "half_sin",
            "half_cos",
            "half_tan",
            "half_sqrt",
            "half_rsqrt",
        ],
    ),
    (
        Of::Floats,
        "TTT",
        &[
            "atan2",
            "copysign",
            "fdim",
            "fmax",
            "fmin",
            "fmod",
            "nextafter",
            "pow",
            "powr",
            "step",
            "native_powr",
            "half_powr",
        ],
    ),
    (Of::Floats, "TTS", &["fmax", "fmin"]),
    (Of::Floats, "TST", &["step"]),
    (Of::Floats, "TTTT", &["fma", "mad", "mix", "smoothstep", "bitselect"]),
    (Of::Floats, "TTTS", &["mix"]),
    (Of::Floats, "TTI", &["ldexp"]),
    (Of::Floats, "TTK", &["ldexp"]),
    (Of::Floats, "IT", &["ilogb"]),
    (Of::Floats, "FT", &["isnan", "isinf", "isfinite", "isnormal", "signbit"]),
    (Of::Floats, "FTT", &["isordered", "isunordered"]),
    (
        Of::Floats,
        "FTT",
        &["isequal", "isnotequal", "isgreater", "isgreaterequal", "isless", "islessequal", "islessgreater"],
    ),
    (Of::Floats, "TTP", &["fract", "modf", "sincos"]),
    (Of::Floats, "TTQ", &["frexp", "lgamma_r"]),
    (Of::Floats, "TTTQ", &["remquo"]),
    (Of::Numbers, "TTT", &["min", "max"]),
    (Of::Numbers, "TTS", &["min", "max"]),
    (Of::Numbers, "TTTT", &["clamp"]),
    (Of::Numbers, "TTSS", &["clamp"]),
    (Of::Integers, "UT", &["abs"]),
    (Of::Integers, "UTT", &["abs_diff"]),
    (Of::Integers, "TT", &["clz", "popcount"]),
    (Of::Integers, "TTT", &["rotate", "hadd", "rhadd", "mul_hi", "add_sat", "sub_sat"]),
    (Of::Integers, "TTTT", &["mad_hi", "mad_sat"]),
];

/// Functions that templates of the prelude define for all types.
const TEMPLATES: &[Row] = &[
    (Of::Floats, "TT", &["degrees", "radians", "native_recip", "half_recip"]),
    (Of::Floats, "TTT", &["native_divide", "half_divide"]),
    (Of::Integers, "TTT", &["mul24"]),
    (Of::Integers, "TTTT", &["mad24"]),
    (Of::Numbers, "TTTT", &["bitselect"]),
    (Of::Numbers, "TTTC", &["select"]),
];

/// What becomes of the arguments of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Conversions {
    /// They remain: they have one type, one of them decides, or there are none that are known.
    None,
    /// These arguments are converted to the type.
    To(&'static str, Vec<usize>),
    /// Uses of a macro differ in the types of the arguments.
    Varied,
}

/// The numbers among the arguments of a call that have to be converted: of arguments of several types the
/// usual arithmetic conversions [C99 6.3.1.8] find the one, and functions of floats take integers as `float`.
/// Vectors decide by themselves, since Metal converts numbers to them.
pub(super) fn conversions(name: &str, args: &[Type]) -> Conversions {
    let Some((of, parameters)) = signature(name, args.len()) else { return Conversions::None };
    let generic: Vec<usize> = (0..args.len()).filter(|&at| parameters[at]).collect();
    let types: Option<Vec<&'static str>> = generic.iter().map(|&at| args[at].arithmetic()).collect();
    let Some(types) = types else { return Conversions::None };
    let is_float = |ty: &&str| matches!(*ty, "half" | "float");
    let has_float = types.iter().any(is_float);
    let common = types.iter().copied().reduce(|left, right| Type::arithmetic_of(left, right));
    let Some(common) = common else { return Conversions::None };
    let is_decided = match of {
        // Of Metal's overloads the one for this argument's type fits best.
        Of::Floats => has_float,
        Of::Integers => has_float || types.iter().all(|ty| *ty == common),
        Of::Numbers => types.iter().all(|ty| *ty == common),
    };
    let to = if of == Of::Floats { "float" } else { common };
    match () {
        () if types.contains(&NUMBER) => Conversions::Varied,
        () if is_decided => Conversions::None,
        () => {
            let differs = |(_, ty): &(usize, &'static str)| *ty != to;
            let all = generic.into_iter().zip(types).filter(differs).map(|(at, _)| at).collect();
            Conversions::To(to, all)
        }
    }
}

/// The type of which a call is, given the common type of its arguments.
pub(super) fn generic_type(name: &str, count: usize, common: Type) -> Type {
    let is_of_floats = matches!(signature(name, count), Some((Of::Floats, _)));
    match common.arithmetic() {
        Some("half" | "float") | None => common,
        Some(_) if is_of_floats => Type::scalar("float"),
        Some(_) => common,
    }
}

/// The types of which a function with this number of arguments is, and which parameters have that type.
fn signature(name: &str, count: usize) -> Option<(Of, Vec<bool>)> {
    let rows = TEMPLATES.iter().chain(FUNCTIONS);
    let mut found = rows.filter(|(_, letters, names)| letters.len() == count + 1 && names.contains(&name));
    if let Some((of, letters, _)) = found.next() {
        return Some((*of, letters.chars().skip(1).map(|letter| matches!(letter, 'T' | 'S')).collect()));
    }
    let (_, parameters) = prelude::each(name)?;
    (parameters.len() == count)
        .then(|| (Of::Floats, parameters.into_iter().map(|parameter| parameter == "float").collect()))
}
