//! The table of `docs/math-accuracy.md`.

use std::fmt::Write;

use anymetal_ir::{FpMode, MathFn};

use crate::catalog::{Bound, Entry};
use crate::measure::Worst;

/// The lines of the document between which the table is.
const BEGIN: &str = "<!-- table: cargo run --release -p math-ulp -- --stride 127 --write -->";
const END: &str = "<!-- end of table -->";

/// What one mode of a function gave.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The worst error found.
    pub worst: Worst,
    /// Time per element.
    pub nanoseconds: f64,
}

/// The head of the table.
pub fn head() -> String {
    "| function | mode | Metal's limit | our bound | worst found | at | ns per element | libm |\n\
     |---|---|---|---|---|---|---|---|\n"
        .to_owned()
}

/// One line of the table.
pub fn row(entry: &Entry, mode: FpMode, measured: Measured, library: Option<f64>) -> String {
    let fast = mode == FpMode::Fast;
    let metal = match (fast, entry.metal_precise) {
        (true, _) => entry.metal_fast.replace('|', "\\|"),
        (false, 0.5) => "correctly rounded".to_owned(),
        (false, limit) => format!("≤ {limit} ulp"),
    };
    let worst = measured.worst;
    let bound = entry.bound(mode);
    let (limit, found) = match bound {
        Bound::Ulp(limit) if limit > 0.5 && limit < 0.51 => {
            ("0.5 ulp".to_owned(), format!("{:.3} ulp", worst.error))
        }
        Bound::Ulp(limit) => (format!("{limit} ulp"), format!("{:.3} ulp", worst.error)),
        Bound::UlpByExponent(base, factor) => {
            (format!("{base} + {factor} \\|e\\| ulp"), format!("{:.2} of that", worst.error))
        }
    };
    let argument = |(place, &word): (usize, &u32)| match (entry.function, place) {
        (MathFn::Ldexp, 1) => word.cast_signed().to_string(),
        _ => format!("{:e}", f32::from_bits(word)),
    };
    let words = &worst.arguments[..entry.function.arity()];
    let arguments: Vec<String> = words.iter().enumerate().map(argument).collect();
    let place = if worst.error == 0.0 { String::new() } else { arguments.join(", ") };
    let mode = if fast { "fast" } else { "precise" };
    let alarm = if worst.error > bound.limit() { " **above the bound**" } else { "" };
    let library = library.map_or(String::new(), |time| format!("{time:.1}"));
    let mut line = String::new();
    writeln!(
        line,
        "| {} | {mode} | {metal} | {limit} | {found}{alarm} | {place} | {:.2} | {library} |",
        entry.name, measured.nanoseconds
    )
    .expect("writing to a string");
    line
}

/// The document with its table replaced; `None` if the marks are missing.
pub fn replace_table(document: &str, table: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{table}{END}{after}"))
}
