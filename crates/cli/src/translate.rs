//! `anymetal translate`: kernels in OpenCL C as Metal Shading Language.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anymetal_translate::{Doubles, Options, Translation, opencl_to_msl};
use clap::{Args, ValueEnum};

use crate::failure::{Failure, stderr_has_colour};
use crate::output;
use crate::source_file::read;

/// Translate kernels in OpenCL C to the Metal Shading Language.
///
/// Names, comments and layout stay. `run`, `check`, `compile` and others take such files directly; errors in
/// the translated text name it as FILE.cl.metal.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  anymetal translate reduce.cl -o reduce.metal\n  anymetal translate physics.cl --double float\n  anymetal run saxpy.cl -k saxpy --threads 1000 --arg x=iota:f32:1000 --arg y=zeros:f32:1000 --arg a=f32:2"
)]
pub(crate) struct TranslateArgs {
    /// The source, in OpenCL C
    #[arg(value_name = "FILE.cl")]
    file: PathBuf,
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
enum Double {
    /// An error
    Refuse,
    /// `float`, with a warning
    Float,
}

/// Does it.
pub(crate) fn translate(args: &TranslateArgs) -> Result<(), Failure> {
    let doubles = match args.double {
        Double::Refuse => Doubles::Refuse,
        Double::Float => Doubles::Float,
    };
    let options = Options { doubles, line_directive: args.line };
    let translation = translated(&args.file, &read(&args.file)?, &options);
    tell(&translation, args.json)?;
    match &args.output {
        None => output::write(&translation.text),
        Some(path) => output::file(path, &translation.text),
    }
}

/// Whether a file is OpenCL C, by its name.
pub(crate) fn is_opencl(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("cl"))
}

/// The MSL of a source in OpenCL C: what `anymetal translate` prints.
pub(crate) fn to_msl(path: &Path, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let translation = translated(path, bytes, &Options::default());
    tell(&translation, false)?;
    Ok(translation.text.into_bytes())
}

fn translated(path: &Path, bytes: &[u8], options: &Options) -> Translation {
    opencl_to_msl(&path.display().to_string(), &String::from_utf8_lossy(bytes), options)
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
