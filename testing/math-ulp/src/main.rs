//! `math-ulp`: measures the vector math library and prints the table of its accuracy.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

use std::path::PathBuf;
use std::process::ExitCode;

use anymetal_ir::{FpMode, Scalar};
use clap::Parser;
use math_ulp::catalog::{CATALOG, Entry};
use math_ulp::kernel::{Kernels, Variant, assembly, function_text};
use math_ulp::measure::{Subject, Worst, worst};
use math_ulp::report::{self, Measured};
use math_ulp::{sample, speed};

/// Measures the accuracy and speed of the vector math library.
#[derive(Parser, Debug)]
struct Options {
    /// Also try all 2^32 arguments of functions of one argument (minutes per function).
    #[arg(long)]
    full: bool,
    /// Also try every N-th of the 2^32 arguments.
    #[arg(long, value_name = "N")]
    stride: Option<u32>,
    /// Only this function, by its MSL name.
    #[arg(long)]
    function: Option<String>,
    /// Chosen arguments per function.
    #[arg(long, default_value_t = 4_000_000)]
    samples: usize,
    /// Put the table into docs/math-accuracy.md.
    #[arg(long)]
    write: bool,
    /// Print the LLVM IR instead of measuring.
    #[arg(long)]
    ir: bool,
    /// Print the machine code instead of measuring.
    #[arg(long)]
    asm: bool,
}

type Case = (&'static Entry, Variant);

fn main() -> ExitCode {
    let options = Options::parse();
    let wanted = |entry: &&Entry| options.function.as_deref().is_none_or(|name| name == entry.name);
    let cases: Vec<Case> = CATALOG.iter().filter(wanted).flat_map(cases_of).collect();
    if cases.is_empty() {
        eprintln!("no such function");
        return ExitCode::from(2);
    }
    let variants: Vec<Variant> = cases.iter().map(|&(_, variant)| variant).collect();
    let outcome = if options.ir {
        Ok(variants.into_iter().map(function_text).collect())
    } else if options.asm {
        assembly(&variants, None)
    } else {
        Kernels::compile(&variants).and_then(|kernels| table(&kernels, &cases, &options))
    };
    match outcome {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn cases_of(entry: &'static Entry) -> [Case; 2] {
    [FpMode::Safe, FpMode::Fast]
        .map(|mode| (entry, Variant { function: entry.function, scalar: Scalar::F32, mode, width: 32 }))
}

fn table(kernels: &Kernels, cases: &[Case], options: &Options) -> Result<String, String> {
    let mut table = report::head();
    for (index, &(entry, variant)) in cases.iter().enumerate() {
        let subject = Subject { index, variant, bound: entry.bound(variant.mode) };
        let worst = measure(kernels, subject, options);
        let nanoseconds = speed::nanoseconds(kernels, index, entry.function);
        let library =
            if variant.mode == FpMode::Fast { None } else { speed::library_nanoseconds(entry.function) };
        let row = report::row(entry, variant.mode, Measured { worst, nanoseconds }, library);
        eprint!("{row}");
        table += &row;
    }
    if options.write {
        write_document(&table)?;
    }
    Ok(table)
}

fn measure(kernels: &Kernels, subject: Subject, options: &Options) -> Worst {
    let function = subject.variant.function;
    let stride = if options.full { Some(1) } else { options.stride };
    let strided = stride.filter(|_| function.arity() == 1).map(sample::strided_words);
    let chosen = std::iter::once(sample::arguments(function, options.samples));
    let mut output = Vec::new();
    let mut total = Worst::default();
    for [a, b, c] in chosen.chain(strided.into_iter().flatten()) {
        let here = worst(kernels, subject, [&a, &b, &c], &mut output);
        if here.error > total.error {
            total = here;
        }
    }
    total
}

fn write_document(table: &str) -> Result<(), String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/math-accuracy.md");
    let document = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let document =
        report::replace_table(&document, table).ok_or("the document has no marks for the table")?;
    std::fs::write(&path, document).map_err(|error| format!("{}: {error}", path.display()))
}
