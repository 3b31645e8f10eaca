//! Functions that OpenCL C has and Metal lacks. Those that are called precede the translation.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use crate::prelude::Prelude;

/// The name under which the prelude has it, of functions that Metal has with another meaning.
const RENAMED: &[(&str, &str)] = &[
    ("select", "cl_select"),
    ("sincos", "cl_sincos"),
    ("fract", "cl_fract"),
    ("modf", "cl_modf"),
    ("frexp", "cl_frexp"),
];

/// Comparisons in macros that are used with numbers and vectors.
const COMPARISONS: &[(&str, &str)] = &[
    ("cl_less", "<"),
    ("cl_greater", ">"),
    ("cl_less_equal", "<="),
    ("cl_greater_equal", ">="),
    ("cl_equal", "=="),
    ("cl_not_equal", "!="),
];

/// The types of the high and the low half of `upsample`, and of its result.
pub(super) const UPSAMPLED: [(&str, &str, &str); 6] = [
    ("char", "uchar", "short"),
    ("uchar", "uchar", "ushort"),
    ("short", "ushort", "int"),
    ("ushort", "ushort", "uint"),
    ("int", "uint", "long"),
    ("uint", "uint", "ulong"),
];

fn prelude() -> &'static Prelude {
    static PRELUDE: OnceLock<Prelude> = OnceLock::new();
    PRELUDE
        .get_or_init(|| Prelude::new(concat!(include_str!("../math.metal"), include_str!("prelude.metal"))))
}

/// The prelude's function for a call; `atom_add` is another name of `atomic_add`.
pub(super) fn find(word: &str) -> Option<&'static str> {
    let newer = word.strip_prefix("atom_").map(|rest| format!("atomic_{rest}"));
    let word = newer.as_deref().unwrap_or(word);
    if word == "upsample" {
        return Some("upsample");
    }
    prelude().find(word)
}

/// The result and the parameters of a function that is applied to the components of vectors.
pub(super) fn each(word: &str) -> Option<(&'static str, Vec<&'static str>)> {
    prelude().each(word)
}

/// Another name for calls, if it has one.
pub(super) fn renamed(name: &'static str) -> Option<&'static str> {
    match RENAMED.iter().find(|(known, _)| *known == name) {
        Some((_, renamed)) => Some(renamed),
        // `atom_add` is called by its newer name.
        None if name.starts_with("atomic_") => Some(name),
        None => None,
    }
}

/// The text of these functions.
pub(super) fn text(names: &BTreeSet<&'static str>) -> String {
    let mut out = prelude().text(&names.iter().map(|name| (*name).to_owned()).collect());
    for name in names {
        match *name {
            "upsample" => upsample(&mut out),
            "cl_compare" => compare(&mut out),
            name => {
                if let Some((result, parameters)) = prelude().each(name) {
                    components(&mut out, name, result, &parameters);
                }
            }
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// A function of numbers for each component of vectors.
fn components(out: &mut String, name: &str, result: &str, parameters: &[&str]) {
    let letters = &["x", "y", "z"][..parameters.len()];
    let list: Vec<String> =
        parameters.iter().zip(letters).map(|(ty, letter)| format!("vec<{ty}, N> {letter}")).collect();
    let parts: Vec<String> = letters.iter().map(|letter| format!("{letter}[i]")).collect();
    out.push_str(&format!(
        "template <int N> inline vec<{result}, N> {name}({}) {{\n    vec<{result}, N> result;\n    \
         for (int i = 0; i < N; i++) {{\n        result[i] = {name}({});\n    }}\n    return result;\n}}\n",
        list.join(", "),
        parts.join(", ")
    ));
}

fn upsample(out: &mut String) {
    for (high, low, result) in UPSAMPLED {
        let bits = match low {
            "uchar" => 8,
            "ushort" => 16,
            _ => 32,
        };
        out.push_str(&format!(
            "inline {result} upsample({high} a, {low} b) {{\n    return {result}(({result}(a) << {bits}) | {result}(b));\n}}\n\
             template <int N> inline vec<{result}, N> upsample(vec<{high}, N> a, vec<{low}, N> b) {{\n    \
             return (vec<{result}, N>(a) << {bits}) | vec<{result}, N>(b);\n}}\n"
        ));
    }
}

fn compare(out: &mut String) {
    out.push_str("template <typename T> struct cl_flag {\n    using type = int;\n};\n");
    for (of, flag) in [
        ("char", "char"),
        ("uchar", "char"),
        ("short", "short"),
        ("ushort", "short"),
        ("half", "short"),
        ("long", "long"),
        ("ulong", "long"),
    ] {
        out.push_str(&format!("template <> struct cl_flag<{of}> {{\n    using type = {flag};\n}};\n"));
    }
    for (name, operator) in COMPARISONS {
        out.push_str(&format!(
            "template <typename A, typename B> inline int {name}(A a, B b) {{\n    return a {operator} b;\n}}\n\
             template <typename T, int N> inline vec<typename cl_flag<T>::type, N> {name}(vec<T, N> a, vec<T, N> b) {{\n    \
             return -vec<typename cl_flag<T>::type, N>(a {operator} b);\n}}\n\
             template <typename T, int N, typename S> inline vec<typename cl_flag<T>::type, N> {name}(vec<T, N> a, S b) {{\n    \
             return {name}(a, vec<T, N>(b));\n}}\n\
             template <typename T, int N, typename S> inline vec<typename cl_flag<T>::type, N> {name}(S a, vec<T, N> b) {{\n    \
             return {name}(vec<T, N>(a), b);\n}}\n"
        ));
    }
}
