//! Vectors of 8 and 16, which Metal does not have: structures of two halves, `lo` and `hi`, with the
//! operators and functions that the source uses.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::builtins::{self, Conversion};
use super::declarations::vector;
use super::functions::{FUNCTIONS, Of};
use super::types::flag;
use super::{Translator, prelude};

/// What a source uses of vectors of 8 and 16.
#[derive(Debug, Default)]
pub(super) struct Wide {
    /// Those that it has: width and scalar.
    pub(super) types: BTreeSet<(u32, String)>,
    /// Those that have literals of parts of several widths.
    pub(super) literals: BTreeSet<(u32, String)>,
    /// Components that are read together: width, scalar, name.
    pub(super) picks: BTreeSet<(u32, String, String)>,
}

const COMPARISONS: [&str; 6] = ["<", ">", "<=", ">=", "==", "!="];

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

/// The components that a name stands for: `xyzw`, `s` with hexadecimal digits, halves.
pub(super) fn numbers(name: &str, width: u32) -> Option<Vec<u32>> {
    // The fourth component of three is undefined.
    let whole = width.next_multiple_of(2);
    let numbers: Vec<u32> = match name {
        "lo" => (0..whole / 2).collect(),
        "hi" => (whole / 2..width).collect(),
        "even" => (0..width).step_by(2).collect(),
        "odd" => (1..width).step_by(2).collect(),
        _ => match name.strip_prefix(['s', 'S']).filter(|digits| !digits.is_empty()) {
            Some(digits) => digits.chars().map(|digit| digit.to_digit(16)).collect::<Option<_>>()?,
            None => name.chars().map(|c| "xyzw".find(c).map(|n| n as u32)).collect::<Option<_>>()?,
        },
    };
    numbers.iter().all(|&number| number < width).then_some(numbers)
}

/// Where components of a vector are, if Metal has a name for them: those of a structure of halves are one of
/// its parts, or up to four of one quarter.
pub(super) fn path(width: u32, numbers: &[u32]) -> Option<String> {
    if numbers.iter().copied().eq(0..width) {
        return Some(String::new());
    }
    if width <= 4 {
        // Metal names four components at most.
        return (numbers.len() <= 4)
            .then(|| numbers.iter().map(|&number| component(width, number)).collect());
    }
    let half = width / 2;
    let is_low = numbers.iter().all(|&number| number < half);
    if !is_low && numbers.iter().any(|&number| number < half) {
        return None;
    }
    let inner: Vec<u32> = numbers.iter().map(|&number| number % half).collect();
    let rest = path(half, &inner)?;
    let part = if is_low { "lo" } else { "hi" };
    Some(if rest.is_empty() { part.to_owned() } else { format!("{part}.{rest}") })
}

/// Whether a structure has a constructor of parts of these widths.
pub(super) fn has_constructor(width: u32, parts: &[u32]) -> bool {
    let are_all = |size: u32| parts.iter().all(|&part| part == size);
    let count = parts.len() as u32;
    (count == width && are_all(1))
        || (count == 2 && are_all(width / 2))
        || (width == 16 && count == 4 && are_all(4))
}

impl Translator<'_> {
    /// Notes a vector of 8 or 16 that the source names; `double` is `float`.
    pub(super) fn note_wide(&mut self, word: &str) {
        let word = word.replace("double", "float");
        if let Some((scalar, width)) = vector(&word).filter(|(_, width)| *width > 4) {
            self.wide.types.insert((8, scalar.to_owned()));
            if width == 16 {
                self.wide.types.insert((16, scalar.to_owned()));
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
        for (width, scalar) in &self.wide.types {
            structure(&mut out, *width, scalar);
        }
        for (width, scalar) in &self.wide.types {
            operators(&mut out, *width, scalar);
            self.flags(&mut out, *width, scalar, &called);
            self.whole_functions(&mut out, *width, scalar, &called);
            memory(&mut out, *width, scalar, &called);
        }
        self.literals(&mut out);
        self.picks(&mut out);
        self.upsampled(&mut out, &called);
        self.conversions(&mut out, &called);
        if !out.is_empty() {
            out.push('\n');
        }
        out
    }

    /// Conversions, a quarter at a time.
    fn conversions(&self, out: &mut String, called: &BTreeSet<&str>) {
        for name in called {
            let Some(conversion) = name.strip_prefix("convert_").and_then(Conversion::of) else { continue };
            let Some((scalar, width)) = vector(&conversion.ty).filter(|(_, width)| *width > 4) else {
                continue;
            };
            let quarter = Conversion { ty: format!("{scalar}4"), ..conversion.clone() };
            let (before, after) = quarter.around();
            let parts: &[&str] =
                if width == 8 { &["lo", "hi"] } else { &["lo.lo", "lo.hi", "hi.lo", "hi.hi"] };
            let parts: Vec<String> = parts.iter().map(|part| format!("{before}x.{part}{after}")).collect();
            for (_, from) in self.wide.types.iter().filter(|(other, _)| *other == width) {
                let _ = writeln!(
                    out,
                    "inline {scalar}{width} {name}({from}{width} x) {{ return {scalar}{width}({}); }}",
                    parts.join(", ")
                );
            }
        }
    }

    /// Functions that are called, a half at a time.
    fn whole_functions(&self, out: &mut String, width: u32, scalar: &str, called: &BTreeSet<&str>) {
        let is_float = matches!(scalar, "float" | "half");
        let mut written = BTreeSet::new();
        for (of, signature, words) in FUNCTIONS {
            let is_there = match of {
                Of::Floats => is_float,
                Of::Integers => !is_float,
                Of::Numbers => true,
            };
            for word in words.iter().filter(|word| is_there && called.contains(**word)) {
                // Of names that differ in precision only, the calls are rewritten to Metal's.
                let function = builtins::metals_name(word);
                if written.insert((function, *signature)) {
                    self.by_halves(out, width, scalar, function, signature);
                }
            }
        }
        for word in called.iter().filter(|_| scalar == "float") {
            let Some((result, parameters)) = prelude::each(word) else { continue };
            let letter = |ty: &&str| match *ty {
                "float" => 'T',
                "int" => 'I',
                "uint" => 'V',
                ty => unreachable!("no letter for `{ty}`"),
            };
            let signature: String = [result].iter().chain(&parameters).map(letter).collect();
            self.by_halves(out, width, scalar, word, &signature);
        }
    }

    fn by_halves(&self, out: &mut String, width: u32, scalar: &str, function: &str, signature: &str) {
        let unsigned = if scalar.starts_with('u') { scalar.to_owned() } else { format!("u{scalar}") };
        let component = |letter: char| match letter {
            'F' => flag(scalar),
            'I' | 'Q' => "int",
            'V' => "uint",
            'U' => &*unsigned,
            _ => scalar,
        };
        let has_types = signature.chars().all(|letter| {
            matches!(letter, 'S' | 'K') || self.wide.types.contains(&(width, component(letter).to_owned()))
        });
        if !has_types {
            return; // The source has no variables of these types, so it calls the function with others.
        }
        let ty = |letter: char| match letter {
            'S' => scalar.to_owned(),
            'K' => "int".to_owned(),
            'P' | 'Q' => format!("thread {}{width}*", component(letter)),
            _ => format!("{}{width}", component(letter)),
        };
        let (result, parameters) = signature.split_at(1);
        let letters: Vec<(char, char)> = parameters.chars().zip('a'..).collect();
        let list: Vec<String> =
            letters.iter().map(|(letter, name)| format!("{} {name}", ty(*letter))).collect();
        let (space, name) = function.split_once("::").unwrap_or(("", function));
        let is_metals = prelude::find(function).is_none() && !function.starts_with("cl_");
        let full = match space {
            "" if is_metals && width == 8 => format!("metal::{name}"),
            _ => function.to_owned(),
        };
        let half = |half: &str| {
            let args: Vec<String> = letters
                .iter()
                .map(|(letter, name)| match letter {
                    'S' | 'K' => name.to_string(),
                    'P' | 'Q' => format!("&{name}->{half}"),
                    _ => format!("{name}.{half}"),
                })
                .collect();
            let call = format!("{full}({})", args.join(", "));
            match result {
                "F" if is_metals && width == 8 => format!("-{}4({call})", flag(scalar)),
                "U" if width == 8 => format!("{unsigned}4({call})"),
                _ => call,
            }
        };
        let result = ty(result.chars().next().expect("a signature begins with the result"));
        let text = format!(
            "inline {result} {name}({}) {{ return {result}({}, {}); }}",
            list.join(", "),
            half("lo"),
            half("hi")
        );
        let _ = match space {
            "" => writeln!(out, "{text}"),
            _ => writeln!(out, "namespace metal {{ namespace {space} {{ {text} }} }}"),
        };
    }

    /// Comparisons and logic, of which the result is -1 or 0 in each component.
    fn flags(&self, out: &mut String, width: u32, scalar: &str, called: &BTreeSet<&str>) {
        let name = format!("{scalar}{width}");
        let flags = format!("{}{width}", flag(scalar));
        if !self.wide.types.contains(&(width, flag(scalar).to_owned())) {
            return;
        }
        let half = |operation: &str| match width {
            8 => format!("-{}4({operation})", flag(scalar)),
            _ => operation.to_owned(),
        };
        for operator in COMPARISONS {
            let (low, high) =
                (half(&format!("a.lo {operator} b.lo")), half(&format!("a.hi {operator} b.hi")));
            let _ = writeln!(
                out,
                "inline {flags} operator{operator}({name} a, {name} b) {{ return {flags}({low}, {high}); }}"
            );
        }
        let _ = writeln!(out, "inline {flags} operator!({name} a) {{ return a == {name}(0); }}");
        for (operator, bits) in [("&&", "&"), ("||", "|")] {
            let _ = writeln!(
                out,
                "inline {flags} operator{operator}({name} a, {name} b) {{ return (a != {name}(0)) {bits} (b != {name}(0)); }}"
            );
        }
        if flags == name {
            // What the signs choose from may be of any type.
            let _ = writeln!(
                out,
                "template <typename T> inline T cl_choose({name} c, T a, T b) {{ return T(cl_choose(c.lo, a.lo, b.lo), cl_choose(c.hi, a.hi, b.hi)); }}"
            );
        }
        if called.contains("select") && !matches!(scalar, "float" | "half") {
            let _ = writeln!(
                out,
                "template <typename T> inline T cl_select(T a, T b, {name} c) {{ return T(cl_select(a.lo, b.lo, c.lo), cl_select(a.hi, b.hi, c.hi)); }}"
            );
        }
        for (function, joint) in [("any", "||"), ("all", "&&")] {
            if flags == name && called.contains(function) {
                let _ = writeln!(
                    out,
                    "inline int cl_{function}({name} a) {{ return cl_{function}(a.lo) {joint} cl_{function}(a.hi); }}"
                );
            }
        }
    }

    /// Vectors of parts of several widths, put down one after the other.
    fn literals(&self, out: &mut String) {
        if self.wide.literals.is_empty() {
            return;
        }
        out.push_str(
            "template <typename S, typename T> inline void cl_put(thread S* e, thread uint& n, T x) { e[n++] = S(x); }\n\
             template <typename S, typename T, int N> inline void cl_put(thread S* e, thread uint& n, vec<T, N> x) {\n    \
             for (int i = 0; i < N; i++) e[n++] = S(x[i]);\n}\n",
        );
        for (width, scalar) in &self.wide.types {
            let _ = writeln!(
                out,
                "template <typename S> inline void cl_put(thread S* e, thread uint& n, {scalar}{width} x) {{ cl_put(e, n, x.lo); cl_put(e, n, x.hi); }}"
            );
        }
        out.push_str(
            "template <typename S> inline void cl_put_all(thread S*, thread uint&) {}\n\
             template <typename S, typename T, typename... R> inline void cl_put_all(thread S* e, thread uint& n, T x, R... rest) {\n    \
             cl_put(e, n, x);\n    cl_put_all(e, n, rest...);\n}\n",
        );
        for (width, scalar) in &self.wide.literals {
            let elements = (0..*width).map(|n| format!("e[{n}]")).collect::<Vec<_>>().join(", ");
            let _ = writeln!(
                out,
                "template <typename... P> inline {scalar}{width} cl_{scalar}{width}(P... parts) {{\n    {scalar} e[{width}] = {{}};\n    \
                 uint n = 0;\n    cl_put_all(e, n, parts...);\n    return {scalar}{width}({elements});\n}}"
            );
        }
    }

    /// Functions that give components of several quarters.
    fn picks(&self, out: &mut String) {
        for (width, scalar, name) in &self.wide.picks {
            let numbers = numbers(name, *width).unwrap_or_default();
            let parts: Vec<String> = numbers.iter().map(|&n| format!("v.{}", component(*width, n))).collect();
            let _ = writeln!(
                out,
                "inline {scalar}{} cl_{name}({scalar}{width} v) {{ return {scalar}{}({}); }}",
                numbers.len(),
                numbers.len(),
                parts.join(", ")
            );
        }
    }

    /// `upsample` of vectors whose results are as wide.
    fn upsampled(&self, out: &mut String, called: &BTreeSet<&str>) {
        if !called.contains("upsample") {
            return;
        }
        for (high, low, result) in super::prelude::UPSAMPLED {
            for width in [8, 16] {
                let is_there = |scalar: &str| self.wide.types.contains(&(width, scalar.to_owned()));
                if is_there(high) && is_there(low) && is_there(result) {
                    let _ = writeln!(
                        out,
                        "inline {result}{width} upsample({high}{width} a, {low}{width} b) {{ return {result}{width}(upsample(a.lo, b.lo), upsample(a.hi, b.hi)); }}"
                    );
                }
            }
        }
    }
}

fn structure(out: &mut String, width: u32, scalar: &str) {
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
    if !is_float {
        let _ = writeln!(out, "inline {name} operator~({name} a) {{ return {name}(~a.lo, ~a.hi); }}");
    }
    for space in ["thread", "device", "threadgroup"] {
        for (operator, step) in [("++", "+"), ("--", "-")] {
            let _ = writeln!(
                out,
                "inline {space} {name}& operator{operator}({space} {name}& a) {{ a = a {step} {name}(1); return a; }}\n\
                 inline {name} operator{operator}({space} {name}& a, int) {{ {name} old = a; a = a {step} {name}(1); return old; }}"
            );
        }
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
