//! `math-ulp`: measures the vector math library and prints the table of its accuracy.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

use std::process::ExitCode;

use anymetal_ir::{FpMode, Scalar};
use clap::Parser;
use math_ulp::catalog::{Bound, CATALOG, Entry};
use math_ulp::kernel::{Kernels, Variant, function_text};
use math_ulp::measure::{Subject, Worst, worst};
use math_ulp::{sample, speed};

/// Measures the accuracy and speed of the vector math library.
#[derive(Parser, Debug)]
struct Options {
    /// All 2^32 arguments of functions of one argument (minutes per function).
    #[arg(long)]
    full: bool,
    /// Only this function, by its MSL name.
    #[arg(long)]
    function: Option<String>,
    /// Print the LLVM IR instead of measuring.
    #[arg(long)]
    ir: bool,
    /// Arguments per function when not `--full`.
    #[arg(long, default_value_t = 4_000_000)]
    samples: usize,
}

/// One line of the table.
struct Row {
    entry: &'static Entry,
    mode: FpMode,
    worst: Worst,
    nanoseconds: f64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let wanted = |entry: &&Entry| options.function.as_deref().is_none_or(|name| name == entry.name);
    let entries: Vec<&'static Entry> = CATALOG.iter().filter(wanted).collect();
    if entries.is_empty() {
        eprintln!("no such function");
        return ExitCode::from(2);
    }
    let cases: Vec<(&'static Entry, FpMode)> =
        entries.iter().flat_map(|&entry| [(entry, FpMode::Safe), (entry, FpMode::Fast)]).collect();
    let variant =
        |&(entry, mode): &(&'static Entry, FpMode)| Variant { function: entry.function, scalar: Scalar::F32, mode, width: 32 };
    let variants: Vec<Variant> = cases.iter().map(variant).collect();
    if options.ir {
        for variant in variants {
            println!("{}", function_text(variant));
        }
        return ExitCode::SUCCESS;
    }
    let kernels = match Kernels::compile(&variants) {
        Ok(kernels) => kernels,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::FAILURE;
        }
    };
    println!("| function | mode | Metal's limit | bound | measured | worst argument | ns |");
    println!("|---|---|---|---|---|---|---|");
    for (index, &(entry, mode)) in cases.iter().enumerate() {
        let worst = measured(&kernels, index, entry, mode, &options);
        let nanoseconds = speed::nanoseconds(&kernels, index, entry.function);
        print_row(&Row { entry, mode, worst, nanoseconds });
    }
    ExitCode::SUCCESS
}

fn bound_of(entry: &Entry, mode: FpMode) -> Bound {
    if mode == FpMode::Fast { entry.fast } else { entry.precise }
}

fn measured(kernels: &Kernels, index: usize, entry: &Entry, mode: FpMode, options: &Options) -> Worst {
    let subject = Subject { index, function: entry.function, mode, bound: bound_of(entry, mode) };
    let chunks: Box<dyn Iterator<Item = [Vec<u32>; 3]>> = if options.full && entry.function.arity() == 1 {
        Box::new(sample::all_words())
    } else {
        Box::new(std::iter::once(sample::arguments(entry.function, options.samples)))
    };
    let mut output = Vec::new();
    let mut total = Worst::default();
    for [a, b, c] in chunks {
        let here = worst(kernels, subject, [&a, &b, &c], &mut output);
        if here.error > total.error {
            total = here;
        }
    }
    total
}

fn print_row(row: &Row) {
    let entry = row.entry;
    let fast = row.mode == FpMode::Fast;
    let metal = if fast { entry.metal_fast.to_owned() } else { format!("≤ {} ulp", entry.metal_precise) };
    let bound = bound_of(entry, row.mode);
    let (limit, measured) = match bound {
        Bound::Ulp(limit) => (format!("{limit:.1} ulp"), format!("{:.3} ulp", row.worst.error)),
        Bound::Absolute(limit) => (format!("{limit:.0e}"), format!("{:.2e}", row.worst.error)),
        Bound::UlpByExponent(base, factor) => {
            (format!("{base} + {factor}·|log2| ulp"), format!("{:.2} of it", row.worst.error))
        }
    };
    let words = &row.worst.arguments[..entry.function.arity()];
    let arguments: Vec<String> = words.iter().map(|&word| format!("{:e}", f32::from_bits(word))).collect();
    let place = if row.worst.error == 0.0 { String::new() } else { arguments.join(", ") };
    let mode = if fast { "fast" } else { "precise" };
    let alarm = if row.worst.error > bound.limit() { " **over**" } else { "" };
    println!(
        "| {} | {mode} | {metal} | {limit} | {measured}{alarm} | {place} | {:.2} |",
        entry.name, row.nanoseconds
    );
}
