//! Vectors of 8 and 16, which Metal does not have: structures of two halves, `lo` and `hi`, with the
//! operators and functions that the source uses.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::Translator;
use super::declarations::vector;

/// Functions of vectors, by how many they take.
const FUNCTIONS: &[(&str, &str, usize)] = &[
    ("sqrt", "sqrt", 1),
    ("rsqrt", "rsqrt", 1),
    ("native_sqrt", "fast::sqrt", 1),
    ("native_rsqrt", "fast::rsqrt", 1),
    ("exp", "exp", 1),
    ("exp2", "exp2", 1),
    ("native_exp", "fast::exp", 1),
    ("log", "log", 1),
    ("log2", "log2", 1),
    ("native_log", "fast::log", 1),
    ("sin", "sin", 1),
    ("cos", "cos", 1),
    ("native_sin", "fast::sin", 1),
    ("native_cos", "fast::cos", 1),
    ("tanh", "tanh", 1),
    ("fabs", "fabs", 1),
    ("abs", "abs", 1),
    ("floor", "floor", 1),
    ("ceil", "ceil", 1),
    ("rint", "rint", 1),
    ("trunc", "trunc", 1),
    ("min", "min", 2),
    ("max", "max", 2),
    ("fmin", "fmin", 2),
    ("fmax", "fmax", 2),
    ("pow", "pow", 2),
    ("native_powr", "fast::powr", 2),
    ("fma", "fma", 3),
    ("mad", "fma", 3),
    ("clamp", "clamp", 3),
    ("mix", "mix", 3),
];

const NUMBERS: [&str; 4] = ["+", "-", "*", "/"];
const BITS: [&str; 6] = ["%", "&", "|", "^", "<<", ">>"];

/// The halves' components, in order.
fn component(width: u32, number: u32) -> String {
    match (width, number < width / 2) {
        (..=4, _) => "xyzw"[number as usize..=number as usize].to_owned(),
        (_, true) => format!("lo.{}", component(width / 2, number)),
        (_, false) => format!("hi.{}", component(width / 2, number - width / 2)),
    }
}

/// What stands for the components that hexadecimal digits name: one of them, or a half.
pub(super) fn components(width: u32, digits: &str) -> Option<String> {
    let numbers: Option<Vec<u32>> = digits.chars().map(|digit| digit.to_digit(16)).collect();
    let numbers = numbers.filter(|numbers| numbers.iter().all(|&number| number < width))?;
    let half = width / 2;
    match *numbers {
        [one] => Some(component(width, one)),
        _ if numbers.iter().copied().eq(0..half) => Some("lo".to_owned()),
        _ if numbers.iter().copied().eq(half..width) => Some("hi".to_owned()),
        _ => None,
    }
}

impl Translator<'_> {
    /// Notes a vector of 8 or 16 that the source names; `double` is `float`.
    pub(super) fn note_wide(&mut self, word: &str) {
        let word = word.replace("double", "float");
        if let Some((scalar, width)) = vector(&word).filter(|(_, width)| *width > 4) {
            self.wides.insert((8, scalar.to_owned()));
            if width == 16 {
                self.wides.insert((16, scalar.to_owned()));
            }
        }
    }

    /// The structures and functions, to stand before the text.
    pub(super) fn wide_types(&self) -> String {
        let mut out = String::new();
        let called: BTreeSet<&str> = (0..self.text.len())
            .filter(|&token| self.text.at(token + 1) == "(")
            .map(|token| self.text.at(token))
            .collect();
        for (width, scalar) in &self.wides {
            self.structure(&mut out, *width, scalar);
            operators(&mut out, *width, scalar);
            functions(&mut out, *width, scalar, &called);
            memory(&mut out, *width, scalar, &called);
        }
        for (width, scalar) in &self.wides {
            let to = format!("{scalar}{width}");
            let half = format!("{scalar}{}", width / 2);
            if !called.contains(&*format!("convert_{to}")) {
                continue;
            }
            for (_, from) in self.wides.iter().filter(|(other, _)| other == width) {
                let part = match width {
                    8 => half.clone(),
                    _ => format!("convert_{half}"),
                };
                let _ = writeln!(
                    out,
                    "inline {to} convert_{to}({from}{width} x) {{ return {to}({part}(x.lo), {part}(x.hi)); }}"
                );
            }
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out
    }

    fn structure(&self, out: &mut String, width: u32, scalar: &str) {
        let name = format!("{scalar}{width}");
        let half = format!("{scalar}{}", width / 2);
        let list = |prefix: &str, numbers: std::ops::Range<u32>| {
            numbers.map(|n| format!("{prefix}x{n}")).collect::<Vec<_>>().join(", ")
        };
        let (all, low, high) =
            (list(&format!("{scalar} "), 0..width), list("", 0..width / 2), list("", width / 2..width));
        let _ = write!(
            out,
            "struct {name} {{\n    {half} lo, hi;\n    {name}() = default;\n    {name}({scalar} x) : lo(x), hi(x) {{}}\n    \
             {name}({half} a, {half} b) : lo(a), hi(b) {{}}\n    \
             {name}({all}) :\n        lo({low}), hi({high}) {{}}\n"
        );
        if width == 16 {
            let _ = writeln!(
                out,
                "    {name}({scalar}4 a, {scalar}4 b, {scalar}4 c, {scalar}4 d) : lo(a, b), hi(c, d) {{}}"
            );
        }
        out.push_str("};\n");
    }
}

fn operators(out: &mut String, width: u32, scalar: &str) {
    let name = format!("{scalar}{width}");
    let is_float = matches!(scalar, "float" | "half");
    let bits: &[&str] = if is_float { &[] } else { &BITS };
    for operator in NUMBERS.iter().chain(bits) {
        let _ = writeln!(
            out,
            "inline {name} operator{operator}({name} a, {name} b) {{ return {name}(a.lo {operator} b.lo, a.hi {operator} b.hi); }}"
        );
        for space in ["thread", "device", "threadgroup"] {
            let _ = writeln!(
                out,
                "inline {space} {name}& operator{operator}=({space} {name}& a, {name} b) {{ a = a {operator} b; return a; }}"
            );
        }
    }
    let _ = writeln!(out, "inline {name} operator-({name} a) {{ return {name}(-a.lo, -a.hi); }}");
}

fn functions(out: &mut String, width: u32, scalar: &str, called: &BTreeSet<&str>) {
    let name = format!("{scalar}{width}");
    let is_float = matches!(scalar, "float" | "half");
    let mut written = BTreeSet::new();
    for (word, msl, count) in FUNCTIONS {
        let is_there = is_float || matches!(*word, "abs" | "min" | "max" | "clamp");
        // Of names that differ in precision only, the calls are rewritten to Metal's.
        if !(is_there && called.contains(word) && written.insert(msl)) {
            continue;
        }
        let (space, function) =
            msl.split_once("::").map_or(("", *msl), |(space, function)| (space, function));
        let letters = &["a", "b", "c"][..*count];
        let parameters = letters.iter().map(|x| format!("{name} {x}")).collect::<Vec<_>>().join(", ");
        let half = |half: &str| letters.iter().map(|x| format!("{x}.{half}")).collect::<Vec<_>>().join(", ");
        let full = if space.is_empty() && width == 8 { format!("metal::{msl}") } else { (*msl).to_owned() };
        let text = format!(
            "inline {name} {function}({parameters}) {{ return {name}({full}({}), {full}({})); }}",
            half("lo"),
            half("hi")
        );
        let _ = match space {
            "" => writeln!(out, "{text}"),
            _ => writeln!(out, "namespace metal {{ namespace {space} {{ {text} }} }}"),
        };
    }
}

fn memory(out: &mut String, width: u32, scalar: &str, called: &BTreeSet<&str>) {
    let name = format!("{scalar}{width}");
    let elements =
        |numbers: std::ops::Range<u32>| numbers.map(|n| format!("p[{n}]")).collect::<Vec<_>>().join(", ");
    if called.contains(&*format!("vload{width}")) {
        for space in ["device", "constant", "threadgroup", "thread"] {
            let _ = writeln!(
                out,
                "inline {name} vload{width}(size_t i, {space} const {scalar}* p) {{\n    p += {width} * i;\n    \
                 return {name}({});\n}}",
                elements(0..width)
            );
        }
    }
    if called.contains(&*format!("vstore{width}")) {
        for space in ["device", "threadgroup", "thread"] {
            let stores: String =
                (0..width).map(|n| format!("    p[{n}] = v.{};\n", component(width, n))).collect();
            let _ = writeln!(
                out,
                "inline void vstore{width}({name} v, size_t i, {space} {scalar}* p) {{\n    p += {width} * i;\n{stores}}}"
            );
        }
    }
}
