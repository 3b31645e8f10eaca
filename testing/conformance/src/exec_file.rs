//! Small programs that say in their first lines how they are run and what must come out.
//!
//! Lines that begin with `//!` are directives; the format is described in `tests/exec/README.md`. Start with
//! [`parse`]. Invariant: an unknown directive or a malformed value is an error, never ignored.

mod stage_input;
mod texture;

use crate::case::{Arg, Binding, Case, Constant, Expected, Faults, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::execute::Math;
use crate::pointers::PointerTo;
use crate::suite::Level;
use anymetal_hal::launch::functions;
use anymetal_types::tensor::TensorShape;
use anymetal_types::texture::BindingRole;
use stage_input::StageInput;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A parsed file.
#[derive(Clone, Debug)]
pub struct ExecFile {
    /// The path below `tests/exec`, without the extension.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// The math mode.
    pub math: Math,
    /// Whether kernels may access a buffer before the offset at which it is bound.
    pub whole_buffers: bool,
    /// Where the expected values come from, if the file says so.
    pub oracle: Option<Oracle>,
    /// What to run: one launch per `kernel` directive, or one.
    pub cases: Vec<Case>,
}

/// Where expected values come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Oracle {
    /// Clang runs the file as C++ (`tests/clang.rs`).
    Clang,
    /// Integers, and floats without rounding, that follow from the specification's text.
    Exact,
    /// NumPy.
    Numpy,
    /// mpmath, rounded once.
    Mpmath,
}

impl Oracle {
    fn named(name: &str) -> Result<Self, String> {
        match name {
            "clang" => Ok(Self::Clang),
            "exact" => Ok(Self::Exact),
            "numpy" => Ok(Self::Numpy),
            "mpmath" => Ok(Self::Mpmath),
            _ => Err(format!("unknown oracle `{name}`")),
        }
    }
}

/// The files below a folder, sorted.
pub fn files_below(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files_below(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "metal") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The folder of the repository's files.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/exec")
}

/// Reads a file's directives.
pub fn parse(name: &str, text: &str, _level: Level) -> Result<ExecFile, String> {
    let mut file = ExecFile {
        name: name.to_owned(),
        text: text.to_owned(),
        math: Math::Fast,
        whole_buffers: false,
        oracle: None,
        cases: Vec::new(),
    };
    let mut common: Vec<(String, String)> = Vec::new();
    let mut case: Option<(Case, StageInput)> = None;
    for (number, line) in text.lines().enumerate() {
        let Some(directive) = line.strip_prefix("//!") else { continue };
        let at = |message: String| format!("{name}, line {}: {message}", number + 1);
        let (key, value) = directive.split_once(':').ok_or_else(|| at("no `:` in the directive".into()))?;
        let (key, value) = (key.trim(), value.trim());
        match key {
            "kernel" => {
                file.cases.extend(finished(case.take()).map_err(at)?);
                let new = Case {
                    name: value.to_owned(),
                    launch: Launch::new(value, Grid::Threads([1, 1, 1]), [1, 1, 1]),
                    expected: Vec::new(),
                    faults: Faults::Never,
                    divergent_barriers: false,
                    library: false,
                };
                let mut open = (new, StageInput::default());
                common.iter().try_for_each(|(key, value)| apply(&mut open, key, value)).map_err(at)?;
                case = Some(open);
            }
            "math" => file.math = math(value).map_err(at)?,
            "oracle" => file.oracle = Some(Oracle::named(value).map_err(at)?),
            // Of `docs/language-coverage.md`, which `cargo xtask tidy` checks.
            "covers" => {}
            "bounds" if value == "buffer" => file.whole_buffers = true,
            _ => match &mut case {
                Some(case) => apply(case, key, value).map_err(at)?,
                None => common.push((key.to_owned(), value.to_owned())),
            },
        }
    }
    file.cases.extend(finished(case.take()).map_err(|message| format!("{name}: {message}"))?);
    if file.cases.is_empty() {
        return Err(format!("{name}: no `kernel` directive"));
    }
    let silent = file.cases.iter().find(|case| case.expected.is_empty());
    silent.map_or(Ok(file.clone()), |case| Err(format!("{name}: nothing is expected of `{}`", case.name)))
}

/// A table of visible functions; `null` is none.
fn function_table(names: &str) -> Vec<u8> {
    let names: Vec<&str> = names.split_whitespace().collect();
    let number = |name: &&str| if *name == "null" { 0 } else { anymetal_msl::function_number(name) };
    let entries = names.iter().map(|name| functions::entry(number(name), names.len() as u32));
    entries.flat_map(u64::to_le_bytes).collect()
}

fn math(value: &str) -> Result<Math, String> {
    match value {
        "safe" => Ok(Math::Safe),
        "fast" => Ok(Math::Fast),
        _ => Err(format!("unknown math mode `{value}`")),
    }
}

/// A launch whose directives are all read.
fn finished(open: Option<(Case, StageInput)>) -> Result<Option<Case>, String> {
    let finish = |(mut case, stage_input): (Case, StageInput)| {
        stage_input.finish(&mut case.launch)?;
        Ok(case)
    };
    open.map(finish).transpose()
}

/// Applies a directive to a launch.
fn apply((case, stage_input): &mut (Case, StageInput), key: &str, value: &str) -> Result<(), String> {
    if stage_input.apply(key, value)? {
        return Ok(());
    }
    let (word, index) = key.split_once(' ').map_or((key, None), |(word, index)| (word, Some(index.trim())));
    let index = || -> Result<u32, String> {
        let index = index.ok_or_else(|| format!("`{word}` needs an index"))?;
        index.parse().map_err(|_| format!("`{index}` is no index"))
    };
    match word {
        "threads" => case.launch.grid = Grid::Threads(extent(value)?),
        "groups" => case.launch.grid = Grid::Groups(extent(value)?),
        "group" => case.launch.group = extent(value)?,
        "arg" => {
            let binding = match value {
                "none" => Binding::Unbound,
                _ if value.starts_with("same ") => {
                    let (of, bytes) = match value["same ".len()..].split_once(' ') {
                        Some((of, bytes)) => (of, Some(range(bytes)?)),
                        None => (&value["same ".len()..], None),
                    };
                    let of = of.parse().map_err(|_| format!("`{value}` names no argument"))?;
                    Binding::Alias { of, bytes }
                }
                _ => match value.strip_prefix("functions ") {
                    Some(names) => Binding::Buffer { bytes: function_table(names), offset: 0 },
                    None => Binding::Buffer { bytes: values(value)?.bytes, offset: 0 },
                },
            };
            case.launch.args.push(Arg { index: index()?, binding });
        }
        "offset" => {
            let (index, wanted) = (index()?, value.parse());
            let wanted = wanted.map_err(|_| format!("`{value}` is no number of bytes"))?;
            let bound = case.launch.args.iter_mut().find(|arg| arg.index == index);
            match bound.map(|arg| &mut arg.binding) {
                Some(Binding::Buffer { bytes, offset }) if wanted <= bytes.len() => *offset = wanted,
                _ => return Err(format!("no `arg {index}` with so many bytes comes before its offset")),
            }
        }
        "shape" => {
            let index = BindingRole::TensorShape(index()?).index().ok_or("no tensor has that index")?;
            case.launch
                .args
                .push(Arg { index, binding: Binding::Buffer { bytes: shape(value)?, offset: 0 } });
        }
        "texture" => case.launch.args.extend(texture::bindings(index()?, value)?),
        "pointer" => case.launch.pointers.push(pointer(index()?, value)?),
        "threadgroup" => {
            let bytes = value.parse().map_err(|_| format!("`{value}` is no number of bytes"))?;
            case.launch.args.push(Arg { index: index()?, binding: Binding::Threadgroup(bytes) });
        }
        "constant" => case.launch.constants.push((index()?, constant(value)?)),
        "expect" => {
            let (value, tolerance) = match value.split_once(" within ") {
                Some((value, tolerance)) => (value, within(tolerance)?),
                None => (value, Tolerance::Bits),
            };
            let (index, data) = (index()?, values(value)?);
            case.expected.push(Expected { index, data, tolerance, agreement: tolerance });
        }
        "barriers" if value == "divergent" => case.divergent_barriers = true,
        "faults" if value == "yes" => case.faults = Faults::Always,
        _ => return Err(format!("unknown directive `{key}`")),
    }
    Ok(())
}

/// `EXTENT…` or `EXTENT… strides STRIDE…`: without strides, elements that follow one another.
fn shape(value: &str) -> Result<Vec<u8>, String> {
    let numbers = |text: &str| -> Result<Vec<u64>, String> {
        let number = |word: &str| word.parse().map_err(|_| format!("`{word}` is no extent or stride"));
        text.split_whitespace().map(number).collect()
    };
    let shape = match value.split_once("strides") {
        Some((extents, strides)) => TensorShape::with_strides(&numbers(extents)?, &numbers(strides)?),
        None => TensorShape::new(&numbers(value)?),
    };
    shape.map(|shape| shape.to_bytes()).map_err(|error| error.to_string())
}

/// `BYTE to M` or `BYTE to M+BYTE`.
fn pointer(holder: u32, value: &str) -> Result<PointerTo, String> {
    let bad = || format!("a pointer is `BYTE to ARG` or `BYTE to ARG+BYTE`, not `{value}`");
    let (at, target) = value.split_once(" to ").ok_or_else(bad)?;
    let (target, byte) = match target.split_once(['+', '-']) {
        Some((index, byte)) if target.contains('-') => (index, format!("-{byte}")),
        Some((index, byte)) => (index, byte.to_owned()),
        None => (target, "0".to_owned()),
    };
    Ok(PointerTo {
        holder,
        at: at.trim().parse().map_err(|_| bad())?,
        target: target.trim().parse().map_err(|_| bad())?,
        byte: byte.parse().map_err(|_| bad())?,
    })
}

fn within(text: &str) -> Result<Tolerance, String> {
    let (number, unit) =
        text.trim().split_once(' ').ok_or("a tolerance is `NUMBER ulp` or `NUMBER absolute`")?;
    let number: f64 = number.parse().map_err(|_| format!("`{number}` is no number"))?;
    match unit.trim() {
        "ulp" => Ok(Tolerance::Ulps(number)),
        "absolute" => Ok(Tolerance::Near { relative: 0.0, absolute: number }),
        _ => Err(format!("unknown tolerance `{text}`")),
    }
}

/// Bytes such as `4..12`.
fn range(text: &str) -> Result<Range<usize>, String> {
    let bounds = text.split_once("..").map(|(first, end)| (first.trim().parse(), end.trim().parse()));
    match bounds {
        Some((Ok(first), Ok(end))) if first <= end => Ok(first..end),
        _ => Err(format!("`{text}` is not a range of bytes")),
    }
}

fn extent(value: &str) -> Result<[u32; 3], String> {
    let mut extent = [1; 3];
    let parts: Vec<&str> = value.split(',').map(str::trim).collect();
    if parts.len() > 3 {
        return Err(format!("`{value}` has more than three dimensions"));
    }
    for (slot, part) in extent.iter_mut().zip(parts) {
        *slot = part.parse().map_err(|_| format!("`{part}` is no extent"))?;
    }
    Ok(extent)
}

fn constant(value: &str) -> Result<Constant, String> {
    match value {
        "true" => return Ok(Constant::Bool(true)),
        "false" => return Ok(Constant::Bool(false)),
        _ => {}
    }
    let integer = value.parse().map(Constant::Integer);
    integer.or_else(|_| value.parse().map(Constant::Float)).map_err(|_| format!("`{value}` is no constant"))
}

/// `TYPE VALUE…`: see the README.
fn values(text: &str) -> Result<Data, String> {
    let (dtype, rest) = text.split_once(char::is_whitespace).ok_or("values are `TYPE VALUE…`")?;
    let dtype = Dtype::named(dtype).ok_or_else(|| format!("unknown type `{dtype}`"))?;
    let mut reader = Reader { dtype, tokens: tokens(rest), next: 0 };
    let data = reader.sequence()?;
    match reader.tokens.get(reader.next) {
        None => Ok(data),
        Some(token) => Err(format!("unexpected `{token}`")),
    }
}

fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    for word in text.replace('(', " ( ").replace(')', " ) ").split_whitespace() {
        tokens.push(word.to_owned());
    }
    tokens
}

/// No test needs more elements.
const MAX_ELEMENTS: usize = 1 << 20;

struct Reader {
    dtype: Dtype,
    tokens: Vec<String>,
    next: usize,
}

impl Reader {
    fn sequence(&mut self) -> Result<Data, String> {
        let mut all = Data::new(self.dtype);
        while let Some(token) = self.tokens.get(self.next).cloned() {
            if token == ")" {
                break;
            }
            self.next += 1;
            if token == "(" {
                let part = self.sequence()?;
                let close = self.tokens.get(self.next).cloned().unwrap_or_default();
                if close != ")" {
                    return Err("a `(` is not closed".to_owned());
                }
                self.next += 1;
                let times = self.tokens.get(self.next).and_then(|next| next.strip_prefix('*'));
                let times = times.map(count).transpose()?.inspect(|_| self.next += 1).unwrap_or(1);
                repeat(&mut all, &part, times)?;
            } else {
                self.item(&token, &mut all)?;
            }
        }
        Ok(all)
    }

    /// `VALUE`, `VALUE*COUNT`, `FIRST..END` or `FIRST..END..STEP`.
    fn item(&self, token: &str, all: &mut Data) -> Result<(), String> {
        if let Some((value, times)) = token.split_once('*') {
            return repeat(all, &self.value(value)?, count(times)?);
        }
        let Some((first, rest)) = token.split_once("..") else {
            all.bytes.extend(self.value(token)?.bytes);
            return Ok(());
        };
        let (end, step) = rest.split_once("..").unwrap_or((rest, "1"));
        let number = |text: &str| text.parse::<i64>().map_err(|_| format!("`{text}` is no whole number"));
        let (first, end, step) = (number(first)?, number(end)?, number(step)?);
        if step == 0 || (end - first) / step > MAX_ELEMENTS as i64 {
            return Err(format!("`{token}` has too many elements"));
        }
        let mut at = first;
        while if step > 0 { at < end } else { at > end } {
            all.push_integer(at.into());
            at += step;
        }
        Ok(())
    }

    fn value(&self, text: &str) -> Result<Data, String> {
        let bad = || format!("`{text}` is no value");
        let mut data = Data::new(self.dtype);
        if let Some(digits) = text.strip_prefix("0x") {
            // Bits, for all types.
            let bits = u64::from_str_radix(digits, 16).map_err(|_| bad())?;
            data.bytes.extend(&bits.to_le_bytes()[..self.dtype.size()]);
        } else if let Ok(integer) = text.parse::<i128>() {
            // Not for -0.0, which has a point.
            data.push_integer(integer);
        } else if self.dtype.is_float() {
            let number = text.parse::<f64>().map_err(|_| bad())?;
            data.push_number(number);
        } else {
            match text {
                "true" => data.push_integer(1),
                "false" => data.push_integer(0),
                _ => return Err(bad()),
            }
        }
        Ok(data)
    }
}

fn count(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n <= MAX_ELEMENTS).ok_or_else(|| format!("`{text}` is no count"))
}

fn repeat(all: &mut Data, part: &Data, times: usize) -> Result<(), String> {
    if part.len().saturating_mul(times) > MAX_ELEMENTS {
        return Err("too many elements".to_owned());
    }
    (0..times).for_each(|_| all.bytes.extend(&part.bytes));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let numbers = |text: &str| {
            let data = values(text).expect(text);
            (0..data.len()).map(|i| data.number(i)).collect::<Vec<_>>()
        };
        assert_eq!(numbers("f32 1 2.5 -0.0 0x3f800000"), [1.0, 2.5, -0.0, 1.0]);
        assert_eq!(numbers("i32 3*2 0..3 (7 8)*2 10..0..-5"), [3., 3., 0., 1., 2., 7., 8., 7., 8., 10., 5.]);
        assert_eq!(values("u8 -1").expect("it wraps").bytes, [255]);
        assert_eq!(values("f16 inf").expect("a number").bytes, [0, 0x7c]);
        for bad in ["f32", "f33 1", "i32 1.5", "i32 (1", "i32 1)", "i32 1*9999999", "u8 0..1..0"] {
            assert!(values(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn directives_make_cases() {
        let text = "// Adds.\n//! threads: 4, 2\n//! group: 2\n//! kernel: add\n//! arg 0: i32 1\n//! expect 0: i32 2\n\
                    //! kernel: twice\n//! arg 0: f32 1\n//! expect 0: f32 2 within 1 ulp\n";
        let file = parse("add", text, Level::Sample).expect("it is well formed");
        assert_eq!(file.cases.len(), 2);
        assert_eq!(file.cases[0].launch.grid, Grid::Threads([4, 2, 1]));
        assert_eq!(file.cases[1].expected[0].tolerance, Tolerance::Ulps(1.0));
        assert!(parse("x", "//! kernel: k\n", Level::Sample).is_err(), "nothing is expected");
        assert!(parse("x", "//! kernel: k\n//! expct 0: i32 1\n", Level::Sample).is_err());
    }
}
