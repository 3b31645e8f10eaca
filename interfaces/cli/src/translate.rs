//! `anymetal translate`: kernels in OpenCL C and CUDA C++ as Metal Shading Language.

use std::path::{Path, PathBuf};

use anymetal_files::MAX_SOURCE_BYTES;
use anymetal_files::roots::{NotFound, Roots};
use anymetal_translate::{
    Diagnostic, Doubles, Options, Span, Translation, cuda_to_msl, launches_toml, opencl_to_msl,
};
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
    let foreign = Foreign { path: &args.file, includes: &args.include, kernels: &args.kernel };
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

/// `NAME=VALUE`, or `NAME`, which is 1.
fn macro_of(text: &str) -> (String, String) {
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    (name.to_owned(), value.to_owned())
}

/// A source in another language than MSL.
pub(crate) struct Foreign<'a> {
    /// Its file.
    pub(crate) path: &'a Path,
    /// Folders of files that it includes.
    pub(crate) includes: &'a [PathBuf],
    /// Kernels with template arguments that are to be there.
    pub(crate) kernels: &'a [String],
}

impl Foreign<'_> {
    /// Whether it is one, by its name.
    pub(crate) fn is_foreign(path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension == "cl" || extension == "cu")
    }

    /// The MSL: what `anymetal translate` prints, with the lines of the source.
    pub(crate) fn to_msl(
        &self,
        bytes: &[u8],
        double: Double,
        definitions: &[String],
    ) -> Result<Vec<u8>, Failure> {
        let macros = definitions.iter().map(|text| macro_of(text)).collect();
        let options = Options { doubles: double.into(), line_directive: true, macros };
        let translation = self.translated(bytes, &options);
        if translation.has_errors() {
            return Err(Failure::Translate(Box::new(translation)));
        }
        eprint!("{}", translation.render_text(stderr_has_colour()));
        Ok(translation.text.into_bytes())
    }

    fn translated(&self, bytes: &[u8], options: &Options) -> Translation {
        let (name, source) = (self.path.display().to_string(), String::from_utf8_lossy(bytes));
        let mut refused = Vec::new();
        let includes = &mut |name: &str, _: bool, from: &str| self.included(name, from, &mut refused);
        let mut translation = match self.path.extension() {
            Some(extension) if extension == "cu" => {
                cuda_to_msl(&name, &source, includes, self.kernels, options)
            }
            _ => opencl_to_msl(&name, &source, includes, options),
        };
        translation.diagnostics.extend(refused);
        translation
    }

    /// A file in the folder of the including file, or in an include folder. A refused file is left out with a
    /// warning, like headers of the host that are not found.
    fn included(&self, name: &str, from: &str, refused: &mut Vec<Diagnostic>) -> Option<(String, String)> {
        let folder_of = |path: &Path| match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        let (own, beside) = (folder_of(self.path), folder_of(Path::new(from)));
        let roots: Vec<&Path> =
            std::iter::once(own.as_path()).chain(self.includes.iter().map(PathBuf::as_path)).collect();
        let allowed = Roots::new(roots.iter().copied());
        let shown = || roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>().join(", ");
        let mut first_refusal = None;
        for folder in std::iter::once(beside.as_path()).chain(self.includes.iter().map(PathBuf::as_path)) {
            let path = folder.join(name);
            let (id, message) = match allowed.read(folder, Path::new(name), MAX_SOURCE_BYTES) {
                Ok(found) => {
                    let text = String::from_utf8_lossy(&found.bytes).into_owned();
                    return Some((path.display().to_string(), text));
                }
                Err(NotFound::Absent) => continue,
                Err(NotFound::Outside) => {
                    ("include-outside-roots", "is outside of the include folders".to_owned())
                }
                Err(NotFound::Refused(error)) => {
                    ("unreadable-include", format!("cannot be read: {}", error.reason()))
                }
            };
            let message = format!("`{}`, which {from} includes, {message}", path.display());
            let diagnostic = Diagnostic::warning(id, Span::NONE, message);
            first_refusal.get_or_insert(
                diagnostic.with_note(Span::NONE, format!("files are read below: {}", shown())),
            );
        }
        refused.extend(first_refusal);
        None
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
