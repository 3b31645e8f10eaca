//! The options that all subcommands with a source share, and reading that source.

use std::path::{Path, PathBuf};

use anymetal::{CheckMode, FunctionConstants};
use anymetal_driver::{
    CompileError, Compiler, Definition, Level, Library, MathMode, PassOptions, Source, SourceOptions,
    Specialisation, Target, Translated, TranslationOptions, WarningOptions, check_optional,
};
use anymetal_files::{FileError, MAX_SOURCE_BYTES};
use clap::{Args, ValueEnum};

use crate::constant::Constant;
use crate::failure::{Failure, report_notes, stderr_has_colour};
use crate::translate::Double;

/// As many errors as clang reports.
const ERROR_LIMIT: usize = 20;

/// A source and how to read it.
#[derive(Args, Debug)]
pub(crate) struct SourceFile {
    /// The source, in Metal Shading Language, OpenCL C or CUDA C++
    #[arg(value_name = "FILE.metal|FILE.cl|FILE.cu")]
    file: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// Give a function constant its value, as in width=u32:640 or 0=bool:true
    #[arg(long, value_name = "ID|NAME=TYPE:VALUE", value_parser = Constant::parse)]
    constant: Vec<Constant>,
    #[command(flatten)]
    passes: Passes,
}

/// How sources are read, and what is reported of them.
#[derive(Args, Debug, Clone)]
pub(crate) struct Reading {
    /// Define a macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]", value_parser = parse_definition)]
    define: Vec<String>,
    /// Search this folder for included files
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,
    /// What becomes of `double` in OpenCL C and CUDA C++, which Metal does not have
    #[arg(long, value_enum, default_value_t = Double::Refuse)]
    double: Double,
    /// What the compiler may do to float arithmetic
    #[arg(long, value_enum, default_value_t = Math::Fast)]
    math: Math,
    /// Report a group of warnings, as clang does: -Wall, -Wextra, -Wno-unused-value, -Werror, -Werror=shadow
    #[arg(short = 'W', value_name = "GROUP", allow_hyphen_values = true)]
    warnings: Vec<String>,
    /// Report no warnings
    #[arg(short = 'w')]
    no_warnings: bool,
    /// Stop after this many errors; 0 reports all
    #[arg(long, value_name = "N", default_value_t = ERROR_LIMIT)]
    error_limit: usize,
    /// Write the messages of kernels (`os_log`) to their log
    #[arg(long)]
    logging: bool,
}

/// Which passes of the compiler run.
#[derive(Args, Debug)]
struct Passes {
    /// How much the compiler does: 0 only what is required, 1 also what simplifies code, 2 everything
    #[arg(short = 'O', value_name = "LEVEL", default_value_t)]
    level: Level,
    /// Leave out this pass, or `codegen:FEATURE` of the code generator; may be given several times
    #[arg(long, value_name = "PASS", value_parser = parse_optional_pass)]
    disable_pass: Vec<String>,
    /// Run only the first N executions of passes; `compile --print-after all` has their numbers
    #[arg(long, value_name = "N")]
    opt_bisect_limit: Option<u64>,
}

impl Passes {
    fn options(&self) -> PassOptions {
        let options = PassOptions::new().level(self.level).bisect_limit(self.opt_bisect_limit);
        let disable = |options: PassOptions, pass: &String| options.disable(pass);
        self.disable_pass.iter().try_fold(options, disable).expect("their names were checked")
    }
}

fn parse_optional_pass(name: &str) -> Result<String, String> {
    check_optional(name).map(|()| name.to_owned())
}

/// Whether generated code checks accesses.
#[derive(Args, Debug)]
pub(crate) struct Checking {
    /// Whether accesses out of bounds are caught; `off` is for measuring trusted kernels
    #[arg(long, value_enum, default_value_t = Checks::Bounds)]
    checks: Checks,
}

impl Checking {
    /// Whether they are checked.
    pub(crate) fn is_on(&self) -> bool {
        self.checks == Checks::Bounds
    }

    /// How the crate checks them.
    pub(crate) fn mode(&self) -> CheckMode {
        if self.is_on() { CheckMode::WhereSupported } else { CheckMode::Off }
    }
}

/// `--math`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Math {
    /// Nothing that changes a result
    Safe,
    /// Reassociation and contraction; infinities and NaNs are kept
    Relaxed,
    /// As Metal's default: infinities and NaNs may be assumed away
    Fast,
}

/// `--checks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Checks {
    /// Out of bounds, loads give zero, stores are dropped, and the run ends with an error
    Bounds,
    /// An access out of bounds may crash this process
    Off,
}

pub(crate) fn parse_definition(text: &str) -> Result<String, String> {
    let name = text.split(['=', '(']).next().unwrap_or_default();
    let valid = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if valid { Ok(text.to_owned()) } else { Err(format!("`{name}` is no name for a macro")) }
}

impl SourceFile {
    /// Where it is, as the user wrote it.
    pub(crate) fn path(&self) -> &Path {
        &self.file
    }

    /// How the source is read.
    pub(crate) fn reading(&self) -> &Reading {
        &self.reading
    }

    /// Whether messages of kernels are written to their log.
    pub(crate) fn logs(&self) -> bool {
        self.reading.logging
    }

    /// Reads and parses the source, of which kernels will be compiled for a target, if for any. Warnings go
    /// to stderr. `kernel` is the one that will be compiled, if it is one: a template of CUDA's is
    /// instantiated for it.
    pub(crate) fn library(
        &self,
        target: Option<Target>,
        kernel: Option<&String>,
    ) -> Result<Library, Failure> {
        let source = self.source_at(&self.file, kernel)?;
        let library = Compiler::global().library_for(source, target);
        report_notes();
        let library = library.map_err(|error: CompileError| Failure::Compile(error))?;
        if !library.warnings().is_empty() {
            eprint!("{}", library.warnings());
        }
        Ok(library)
    }

    /// Reads a source, perhaps another file than the one given, with the same options.
    pub(crate) fn source_at(&self, path: &Path, kernel: Option<&String>) -> Result<Source, Failure> {
        self.reading.report_unknown_options();
        self.reading.source_at(path, kernel)
    }

    /// The values of function constants.
    pub(crate) fn constants(&self) -> FunctionConstants {
        let add = |constants: FunctionConstants, constant: &Constant| constant.added_to(constants);
        self.constant.iter().fold(FunctionConstants::new(), add)
    }

    /// Which passes run.
    pub(crate) fn passes(&self) -> PassOptions {
        self.passes.options()
    }

    /// What the options say about compiling a kernel, with checks.
    pub(crate) fn specialisation(&self) -> Specialisation {
        let constants =
            self.constant.iter().map(|constant| (constant.key.clone(), constant.value())).collect();
        Specialisation { constants, passes: self.passes(), ..Specialisation::default() }
    }
}

impl Reading {
    /// With more options of warnings, as if they were last on the command line.
    pub(crate) fn with_warnings(mut self, flags: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(flags);
        self
    }

    /// With more folders for included files, after those of the command line.
    pub(crate) fn with_include_folders(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.include.extend(folders);
        self
    }

    fn warning_options(&self) -> WarningOptions {
        WarningOptions {
            flags: self.warnings.clone(),
            silent: self.no_warnings,
            error_limit: self.error_limit,
        }
    }

    /// Warns of options of warnings that do not exist.
    pub(crate) fn report_unknown_options(&self) {
        for flag in self.warning_options().unknown() {
            eprintln!("warning: unknown warning option '-W{flag}' [-Wunknown-warning-option]");
        }
    }

    /// Reads a source. Those in other languages are translated.
    pub(crate) fn source_at(&self, path: &Path, kernel: Option<&String>) -> Result<Source, Failure> {
        let bytes = read(path)?;
        let warnings = self.warning_options();
        let options = SourceOptions {
            definitions: self.define.iter().cloned().map(Definition::Define).collect(),
            include_folders: self.include.clone(),
            math_mode: match self.math {
                Math::Safe => MathMode::Safe,
                Math::Relaxed => MathMode::Relaxed,
                Math::Fast => MathMode::Fast,
            },
            logging: self.logging,
            warnings,
            ..SourceOptions::default()
        };
        let kernels = kernel.cloned().into_iter().collect();
        let translation = TranslationOptions { doubles: self.double.into(), kernels };
        let translated = Source::from_file(path, bytes, options).translated(&translation);
        let Translated { source, warnings } = translated.map_err(Failure::Compile)?;
        eprint!("{}", warnings.render_text(stderr_has_colour()));
        Ok(source)
    }
}

/// The bytes of a regular file of at most 64 MiB.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    anymetal_files::read(path, MAX_SOURCE_BYTES).map_err(|error| unreadable(path, &error))
}

/// The text of a regular file of at most 64 MiB.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    anymetal_files::read_text(path, MAX_SOURCE_BYTES).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &FileError) -> Failure {
    Failure::Input(format!("cannot read {}: {}", path.display(), error.reason()))
}
