//! Mutated programs for the front end: spliced, damaged, repeated tokens of real ones.
//!
//! The front end must return, in bounded time and memory, and never panic. [`mutate`] makes a program from a
//! corpus of texts and a seed; [`check`] compiles it, with all its entry points.

use crate::candle::input::Inputs;
use anymetal_harness::panics;
use anymetal_ir::verify;
use anymetal_msl::pp::MemoryIncludes;
use anymetal_msl::{CompileOptions, Library};
use std::time::{Duration, Instant};

/// No program may take longer.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Entry points compiled of one program.
const KERNELS: usize = 8;

/// Text that is inserted at random: openings without ends, extremes, rare words.
const ODDITIES: &[&str] = &[
    "(",
    ")",
    "{",
    "}",
    "[[",
    "]]",
    "<",
    ">",
    ">>",
    "template <typename T>",
    "template <>",
    "struct",
    "constant",
    "threadgroup",
    "device",
    "thread",
    "kernel",
    "constexpr",
    "static_assert(",
    "decltype(",
    "sizeof(",
    "0",
    "18446744073709551615",
    "0xffffffffffffffffu",
    "1e400",
    "-1",
    "'",
    "\"",
    "\\\n",
    "#define X(a) a##a\n",
    "#if 1 /\n",
    "#include \"x\"\n",
    "operator",
    "typename",
    "using",
    "enum",
    "union",
    "switch (",
    "case",
    "default:",
    "for (;;)",
    "while (true)",
    "return",
    "auto",
    "half4",
    "float3x3",
    "vec<int, 5>",
    "array<T, 0>",
    "\u{0}",
    "é",
    "...",
    "::",
    "->",
    "?:",
    "T::template f<",
    "this",
    "[[buffer(31)]]",
    "[[host_name(\"k\")]]",
    "__attribute__((x))",
];

/// A text cut into tokens that keep their white space.
#[derive(Clone, Debug)]
pub struct Program {
    tokens: Vec<String>,
}

impl Program {
    /// Words, numbers, white space and single characters.
    pub fn new(text: &str) -> Self {
        let mut tokens: Vec<String> = Vec::new();
        let mut last = Kind::Other;
        for character in text.chars() {
            let kind = Kind::of(character);
            match tokens.last_mut() {
                Some(token) if kind == last && kind != Kind::Other => token.push(character),
                _ => tokens.push(character.to_string()),
            }
            last = kind;
        }
        Self { tokens }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Space,
    Other,
}

impl Kind {
    fn of(character: char) -> Self {
        match character {
            c if c.is_alphanumeric() || c == '_' => Self::Word,
            c if c.is_whitespace() => Self::Space,
            _ => Self::Other,
        }
    }
}

/// A program of a corpus, changed in a few places.
pub fn mutate(corpus: &[Program], seed: u64) -> String {
    let mut random = Inputs::new(seed);
    let mut tokens = corpus[random.below(corpus.len())].tokens.clone();
    // Long programs hide what few changes do: often only a part is taken.
    if tokens.len() > 4000 && random.below(4) != 0 {
        let start = random.below(tokens.len() - 2000);
        let length = 500 + random.below(3000);
        tokens = tokens.into_iter().skip(start).take(length).collect();
    }
    for _ in 0..1 + random.below(8) {
        change(&mut tokens, corpus, &mut random);
    }
    tokens.concat()
}

fn change(tokens: &mut Vec<String>, corpus: &[Program], random: &mut Inputs) {
    let at = random.below(tokens.len() + 1);
    let span =
        |random: &mut Inputs, from: usize, length: usize| from..(from + 1 + random.below(30)).min(length);
    match random.below(9) {
        0 => tokens.insert(at, ODDITIES[random.below(ODDITIES.len())].to_owned()),
        1 if at < tokens.len() => {
            let range = span(random, at, tokens.len());
            tokens.drain(range);
        }
        2 if at < tokens.len() => {
            let range = span(random, at, tokens.len());
            let copy: Vec<String> = tokens[range].to_vec();
            let times = [1, 1, 2, 50][random.below(4)];
            let copies = std::iter::repeat_n(copy, times).flatten();
            tokens.splice(at..at, copies);
        }
        3 if at < tokens.len() => {
            let other = random.below(tokens.len());
            tokens.swap(at, other);
        }
        4 => {
            let other = &corpus[random.below(corpus.len())].tokens;
            if !other.is_empty() {
                let start = random.below(other.len());
                let range = span(random, start, other.len());
                tokens.splice(at..at, other[range].iter().cloned());
            }
        }
        5 if at < tokens.len() => {
            let other = random.below(tokens.len());
            tokens[at] = tokens[other].clone();
        }
        6 => {
            let depth = [2, 20, 300, 5000][random.below(4)];
            let open = ["(", "{", "[", "<", "-", "!", "*", "if (1) ", "struct S {", "x<"][random.below(10)];
            tokens.insert(at, open.repeat(depth));
        }
        7 => tokens.truncate(at),
        _ => tokens.insert(at, ODDITIES[random.below(ODDITIES.len())].to_owned()),
    }
}

/// Compiles a program; what must not happen, as a message.
pub fn check(text: &str) -> Result<(), String> {
    let start = Instant::now();
    let outcome = panics::caught(|| compile(text));
    let late = start.elapsed();
    match outcome {
        Err(panic) => Err(format!("panic at {}: {}", panic.place, panic.message)),
        Ok(Err(message)) => Err(message),
        Ok(Ok(())) if late > PATIENCE => Err(format!("took {:.1} s", late.as_secs_f64())),
        Ok(Ok(())) => Ok(()),
    }
}

fn compile(text: &str) -> Result<(), String> {
    let options = CompileOptions::default();
    let (library, diagnostics) =
        Library::parse("fuzz.metal", text.as_bytes(), &options, &mut MemoryIncludes::default());
    // Rendering must survive every place, too.
    let _ = diagnostics.render_text(false);
    let Some(library) = library else {
        return match diagnostics.has_errors() {
            true => Ok(()),
            false => Err("there is no library, and no error either".to_owned()),
        };
    };
    for kernel in library.kernels().iter().take(KERNELS) {
        match library.module(&kernel.name) {
            Err(diagnostics) if diagnostics.has_errors() => {
                let _ = diagnostics.render_json();
            }
            Err(_) => return Err(format!("`{}` has no module, and no error either", kernel.name)),
            Ok(module) => verify(&module).map_err(|errors| {
                let first = errors.first().map(ToString::to_string).unwrap_or_default();
                format!("`{}`: the module is invalid: {first}", kernel.name)
            })?,
        }
    }
    let _ = library.check_all().render_text(false);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_the_text() {
        let text = "kernel void f(device int* p) {\n  p[0] = 1; // é\n}\n";
        assert_eq!(Program::new(text).tokens.concat(), text);
        let corpus = [Program::new(text)];
        assert_eq!(mutate(&corpus, 7), mutate(&corpus, 7));
        assert!((0..20).any(|seed| mutate(&corpus, seed) != text));
    }
}
