//! Files from which a compiler bug can be reproduced.
//!
//! Owns [`Reproducers`]. Invariants: a file is its owner's only, at most [`MAX_BYTES`] long, and there are at
//! most [`MAX_FILES`]; the same bug of the same source is one file. Where nothing can be written, the reason
//! is part of the error.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anymetal_files::trusted;
use anymetal_hal::artifact::ScalarType;
use anymetal_msl::CompileOptions;
use anymetal_msl::token::MathMode;
use anymetal_types::scalar_value::Scalar;

use super::{CompilerBug, catch, run};
use crate::constants::{ConstantKey, ConstantValue};
use crate::includes::FileIncludes;
use crate::key::Key;
use crate::library::{Specialisation, Target};
use crate::source::Source;

/// Files that are kept; the oldest go first.
const MAX_FILES: usize = 32;
/// A larger source is not written.
const MAX_BYTES: usize = 16 << 20;
/// Next to the cache's folder, or in the system's folder for temporary files.
const FOLDER: &str = "anymetal-reproducers";

/// Where reproducers are written.
#[derive(Debug)]
pub(crate) struct Reproducers {
    /// The first that can be used is used.
    folders: Vec<PathBuf>,
    /// Whether the text has the files that the source includes: reading it is the front end's work.
    resolves: bool,
}

/// The compile in which the bug occurred.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) source: &'a Source,
    pub(crate) kernel: Option<&'a str>,
    pub(crate) specialisation: Option<&'a Specialisation>,
    pub(crate) target: Option<Target>,
}

impl Reproducers {
    /// For a compiler with that cache folder, which reads sources in this process or does not.
    pub(crate) fn beside(cache: Option<&Path>, resolves: bool) -> Self {
        let beside = cache.and_then(Path::parent).map(|parent| parent.join(FOLDER));
        let folders = beside.into_iter().chain([std::env::temp_dir().join(FOLDER)]).collect();
        Reproducers { folders, resolves }
    }

    /// Writes a file, and returns its path or the reason why there is none.
    pub(super) fn write(&self, request: &Request<'_>, bug: &CompilerBug) -> Result<PathBuf, String> {
        let source = match self.resolves {
            true => source_text(request.source),
            false => String::from_utf8_lossy(&request.source.bytes).into_owned(),
        };
        let text = header(request, bug) + &source;
        if text.len() > MAX_BYTES {
            return Err(format!("the source with its includes has more than {MAX_BYTES} bytes"));
        }
        let mut reasons = Vec::new();
        for folder in &self.folders {
            match write_in(folder, &file_name(request, &text), &text) {
                Ok(path) => return Ok(path),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(reasons.join("; "))
    }
}

fn write_in(folder: &Path, name: &str, text: &str) -> Result<PathBuf, anymetal_files::FileError> {
    let folder = trusted::create_folder(folder)?;
    let path = folder.join(name);
    // The name is a hash of the text.
    if trusted::open(&path).is_ok() {
        return Ok(path);
    }
    remove_oldest(&folder);
    let mut file = trusted::create_new(&path)?;
    let written = file.write_all(text.as_bytes());
    written.map_err(|source| anymetal_files::FileError::System { path: path.clone(), source })?;
    Ok(path)
}

/// Makes room for another file.
fn remove_oldest(folder: &Path) {
    let modified = |path: &Path| fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    let mut files: Vec<(SystemTime, PathBuf)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "metal"))
        .map(|path| (modified(&path).unwrap_or(SystemTime::UNIX_EPOCH), path))
        .collect();
    files.sort();
    for (_, path) in files.iter().take((files.len() + 1).saturating_sub(MAX_FILES)) {
        // One that cannot be removed is one file too many, and no reason to lose the new one.
        let _ = fs::remove_file(path);
    }
}

fn file_name(request: &Request<'_>, text: &str) -> String {
    let kernel = request.kernel.unwrap_or("source");
    let plain: String = kernel.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40).collect();
    format!("{plain}-{}.metal", &Key::of_bytes(text.as_bytes()).to_string()[..16])
}

/// The replay command and the circumstances, as comments.
fn header(request: &Request<'_>, bug: &CompilerBug) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        for part in value.lines() {
            let _ = writeln!(text, "// {name}: {part}");
        }
    };
    line("reproducer", &format!("a bug of anymetal {}", env!("CARGO_PKG_VERSION")));
    match bug.stage {
        run::STAGE => {
            line("replay", "a launch of the kernel by the interpreter, with the arguments that it had")
        }
        _ => line("replay", &format!("anymetal compile THIS_FILE{}", arguments(request))),
    }
    line("stage", bug.stage);
    line("pass", bug.pass.unwrap_or_default());
    line("kernel", bug.kernel.as_deref().unwrap_or_default());
    line("place", bug.place.as_deref().unwrap_or_default());
    line("source", &request.source.name);
    line("options", &format!("{:?}", request.source.options));
    line("specialisation", &request.specialisation.map(|given| format!("{given:?}")).unwrap_or_default());
    line("target", &request.target.map(|target| format!("{target:?}")).unwrap_or_default());
    line("message", &bug.message);
    text
}

/// The arguments of `anymetal compile` that make the same request, as far as it has them. Definitions are in
/// the text.
fn arguments(request: &Request<'_>) -> String {
    let mut text = String::new();
    let options = &request.source.options;
    let math = match options.math_mode {
        MathMode::Safe => "safe",
        MathMode::Relaxed => "relaxed",
        MathMode::Fast => "fast",
    };
    let _ = match request.kernel {
        Some(kernel) => write!(text, " -k '{kernel}' --math {math}"),
        None => write!(text, " --all --math {math}"),
    };
    if options.logging {
        text.push_str(" --logging");
    }
    for flag in &options.warnings.flags {
        let _ = write!(text, " '-W{flag}'");
    }
    if options.warnings.silent {
        text.push_str(" -w");
    }
    match request.target {
        Some(Target::Nvidia { .. }) => text.push_str(" --device nvidia"),
        Some(Target::Interpreter) => text.push_str(" --device interpreter"),
        Some(Target::Cpu | Target::CpuLlvm | Target::Metal) | None => {}
    }
    let Some(given) = request.specialisation else { return text };
    for (key, value) in &given.constants {
        let _ = write!(text, " --constant '{}={}'", key_text(key), value_text(*value));
    }
    if let Some([x, y, z]) = given.group_size {
        let _ = write!(text, " --group {x},{y},{z}");
        text.push_str(if given.whole_threadgroups_only { " --whole" } else { "" });
    }
    text.push_str(if given.checks { "" } else { " --checks off" });
    text
}

fn key_text(key: &ConstantKey) -> String {
    match key {
        ConstantKey::Index(index) => index.to_string(),
        ConstantKey::Name(name) => name.clone(),
        ConstantKey::Component(of, component) => format!("{}[{component}]", key_text(of)),
    }
}

/// As `--constant` takes it. Values without a type get the usual one.
fn value_text(value: ConstantValue) -> String {
    match value {
        ConstantValue::Converted(Scalar::Bool(value)) => format!("bool:{value}"),
        ConstantValue::Converted(Scalar::Integer(value)) => format!("i32:{value}"),
        ConstantValue::Converted(Scalar::Float(value)) => format!("f32:{value}"),
        ConstantValue::Typed(ty, bits) => match ty {
            ScalarType::Bool => format!("bool:{}", bits != 0),
            ScalarType::F32 => format!("f32:{}", f32::from_bits(bits as u32)),
            ScalarType::F16 => format!("f16:{}", half::f16::from_bits(bits as u16)),
            ScalarType::BF16 => format!("bf16:{}", half::bf16::from_bits(bits as u16)),
            ScalarType::I8 => format!("i8:{}", bits as i8),
            ScalarType::I16 => format!("i16:{}", bits as i16),
            ScalarType::I32 => format!("i32:{}", bits as i32),
            ScalarType::I64 => format!("i64:{}", bits as i64),
            ScalarType::U8 => format!("u8:{bits}"),
            ScalarType::U16 => format!("u16:{bits}"),
            ScalarType::U32 => format!("u32:{bits}"),
            ScalarType::U64 => format!("u64:{bits}"),
        },
    }
}

/// The source after includes; as it is if the preprocessor itself fails.
fn source_text(source: &Source) -> String {
    let options = CompileOptions {
        definitions: source.options.definitions.clone(),
        math_mode: source.options.math_mode,
        metal_version: source.options.language_version,
        logging: source.options.logging,
        warnings: source.options.warnings.clone(),
    };
    let mut includes = FileIncludes::new(source);
    let resolve = || Ok(anymetal_msl::resolve_includes(&source.name, &source.bytes, &options, &mut includes));
    catch("reproducer", resolve).unwrap_or_else(|_| String::from_utf8_lossy(&source.bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::caught;
    use super::*;
    use crate::error::CompileError;
    use crate::source::SourceOptions;
    use anymetal_msl::pp::Definition;

    fn bug_of(reproducers: &Reproducers, source: &Source, specialisation: &Specialisation) -> CompilerBug {
        let request = Request {
            source,
            kernel: Some("scale"),
            specialisation: Some(specialisation),
            target: Some(Target::Cpu),
        };
        let result: Result<(), _> = caught(reproducers, &request, || panic!("broken"));
        let Err(CompileError::Internal(bug)) = result else { panic!("{result:?}") };
        *bug
    }

    fn source(folder: &Path, text: &str) -> Source {
        let definitions = vec![Definition::Define("N=3".to_owned())];
        let options = SourceOptions { definitions, ..SourceOptions::default() };
        Source::from_file(&folder.join("main.metal"), text.into(), options)
    }

    #[test]
    fn a_bug_leaves_a_private_file_with_all_that_reproduces_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.h"), "constant float two = N;\n").unwrap();
        let source = source(folder.path(), "#include \"a.h\"\nkernel void scale() {}\n");
        let specialisation = Specialisation {
            constants: vec![(
                ConstantKey::Name("width".to_owned()),
                ConstantValue::Typed(ScalarType::I32, 7),
            )],
            group_size: Some([32, 1, 1]),
            ..Specialisation::default()
        };
        let reproducers = Reproducers::beside(Some(&folder.path().join("cache")), true);
        let bug = bug_of(&reproducers, &source, &specialisation);
        assert_eq!(bug.kernel.as_deref(), Some("scale"));
        let path = bug.reproducer.clone().unwrap().unwrap();
        assert!(
            path.starts_with(fs::canonicalize(folder.path()).unwrap().join(FOLDER)),
            "{}",
            path.display()
        );
        let text = fs::read_to_string(&path).unwrap();
        for part in [
            " -k 'scale' --math fast --constant 'width=i32:7' --group 32,1,1\n",
            "// message: broken\n",
            env!("CARGO_PKG_VERSION"),
            "#define N 3\n",
            "constant float two = N;\n",
            "kernel void scale() {}\n",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(bug.to_string().contains(&path.display().to_string()));
        // The same bug again is the same file.
        assert_eq!(bug_of(&reproducers, &source, &specialisation).reproducer, Some(Ok(path)));
        assert_eq!(fs::read_dir(folder.path().join(FOLDER)).unwrap().count(), 1);
    }

    #[test]
    fn files_are_bounded_in_number_and_size() {
        let folder = tempfile::tempdir().unwrap();
        let reproducers = Reproducers::beside(Some(&folder.path().join("cache")), true);
        for number in 0..MAX_FILES + 3 {
            let source = source(folder.path(), &format!("// {number}\n"));
            assert!(bug_of(&reproducers, &source, &Specialisation::default()).reproducer.unwrap().is_ok());
        }
        assert_eq!(fs::read_dir(folder.path().join(FOLDER)).unwrap().count(), MAX_FILES);
        let large = source(folder.path(), &"// x\n".repeat(MAX_BYTES / 5 + 1));
        let refused = bug_of(&reproducers, &large, &Specialisation::default()).reproducer;
        assert!(refused.unwrap().is_err_and(|reason| reason.contains(&MAX_BYTES.to_string())));
    }

    #[test]
    fn where_nothing_can_be_written_the_error_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let blocked = folder.path().join("file");
        fs::write(&blocked, "not a folder").unwrap();
        let reproducers = Reproducers { folders: vec![blocked.clone()], resolves: true };
        let bug = bug_of(&reproducers, &source(folder.path(), ""), &Specialisation::default());
        let reason = bug.reproducer.clone().unwrap().unwrap_err();
        assert!(reason.contains(&blocked.display().to_string()), "{reason}");
        assert!(bug.to_string().contains("no reproducer was written"));
    }
}
