//! `anymetal translate`: kernels in OpenCL C and CUDA C++ as Metal Shading Language.

use std::path::PathBuf;

use anymetal_translate::{Doubles, ForeignSource, Options, Translation, launches_toml, macro_of};
use clap::{Args, ValueEnum};

use crate::failure::{Failure, stderr_has_colour};
use crate::output;
use crate::source_file::{parse_definition, read};

/// Translate kernels in OpenCL C or CUDA C++ to the Metal Shading Language.
///
/// Names, comments and layout stay; host code is left out. `run`, `check`, `compile` and `analyze` take such
/// files directly; errors in the translated text name the line of the source.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  anymetal translate reduce.cl -o reduce.metal\n  anymetal translate physics.cl --double float\n  anymetal translate scan.cu -o scan.metal --launches scan.toml\n  anymetal run saxpy.cl -k saxpy --threads 1000 --arg x=iota:f32:1000 --arg y=zeros:f32:1000 --arg a=f32:2"
)]
pub(crate) struct TranslateArgs {
    /// The source, in OpenCL C or CUDA C++
    #[arg(value_name = "FILE.cl|FILE.cu")]
    file: PathBuf,
    /// Instantiate a kernel template, besides those that the source launches; may be repeated
    #[arg(short, long, value_name = "NAME<ARGUMENTS>")]
    kernel: Vec<String>,
    /// Search this folder for files that the source includes
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,
    /// Define a macro that the source counts on
    #[arg(short = 'D', value_name = "NAME[=VALUE]", value_parser = parse_definition)]
    define: Vec<String>,
    /// Write the launches that a CUDA source has, as a workload for `anymetal trace`
    #[arg(long, value_name = "OUT.toml")]
    launches: Option<PathBuf>,
    /// Write here instead of to stdout
    #[arg(short = 'o', value_name = "OUT.metal")]
    output: Option<PathBuf>,
    /// What becomes of `double`, which Metal does not have
    #[arg(long, value_enum, default_value_t = Double::Refuse)]
    double: Double,
    /// Say by `#line` that lines are those of the source
    #[arg(long)]
    line: bool,
    /// Print diagnostics as JSON
    #[arg(long)]
    json: bool,
}

/// `--double`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Double {
    /// An error
    Refuse,
    /// `float`, with a warning
    Float,
}

impl From<Double> for Doubles {
    fn from(double: Double) -> Self {
        match double {
            Double::Refuse => Self::Refuse,
            Double::Float => Self::Float,
        }
    }
}

/// Does it.
pub(crate) fn translate(args: &TranslateArgs) -> Result<(), Failure> {
    let macros = args.define.iter().map(|text| macro_of(text)).collect();
    let options = Options { doubles: args.double.into(), line_directive: args.line, macros };
    let path = args.file.as_path();
    let folder = Some(path.parent().unwrap_or(path));
    let foreign = ForeignSource { path, folder, includes: &args.include, kernels: &args.kernel };
    let translation = foreign.translated(&read(&args.file)?, &options);
    tell(&translation, args.json)?;
    if let Some(path) = &args.launches {
        let source = args.output.clone().unwrap_or_else(|| args.file.with_extension("metal"));
        let source = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        output::file(path, &launches_toml(&translation.launches, &source))?;
    }
    match &args.output {
        None => output::write(&translation.text),
        Some(path) => output::file(path, &translation.text),
    }
}

/// Tells what could not be translated.
fn tell(translation: &Translation, as_json: bool) -> Result<(), Failure> {
    if !translation.diagnostics.is_empty() {
        match as_json {
            true => eprint!("{}", translation.render_json()),
            false => eprint!("{}", translation.render_text(stderr_has_colour())),
        }
    }
    if translation.has_errors() { Err(Failure::Told(1)) } else { Ok(()) }
}
