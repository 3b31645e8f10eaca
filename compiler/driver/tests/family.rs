//! What each family of GPUs refuses of the kernels of `tests/family`. Beside each file is a `.txt` with one
//! line for each kernel and family that refuses it; `ANYMETAL_BLESS=1` writes them.
//!
//! Function constants are `false`, and `true` where the line says so.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anymetal_driver::types::family::Family;
use anymetal_driver::{
    CacheConfig, CompileError, Compiler, CompilerOptions, ConstantKey, ConstantValue, Library, Source,
    SourceOptions, Specialisation,
};

const FOLDER: &str = "../../tests/family";

fn library(path: &Path) -> Library {
    let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
    let name = path.file_name().unwrap().to_str().unwrap();
    let text = std::fs::read(path).unwrap();
    compiler.library(Source::from_text(name, text, SourceOptions::default())).unwrap()
}

fn refusals(library: &Library, value: bool) -> String {
    let constants = vec![(ConstantKey::Index(0), ConstantValue::from(value))];
    let specialisation =
        Specialisation { constants, ignore_unknown_constants: true, ..Specialisation::default() };
    let mut text = String::new();
    for kernel in library.kernel_names() {
        for family in Family::ALL {
            match library.check_family(kernel, &specialisation, family) {
                Ok(()) => {}
                Err(CompileError::Family(refusal)) => writeln!(text, "{refusal}").unwrap(),
                Err(other) => panic!("{kernel}: {other}"),
            }
        }
    }
    text
}

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "metal")).collect();
    files.sort();
    files
}

#[test]
fn each_family_refuses_what_its_file_says() {
    let bless = std::env::var_os("ANYMETAL_BLESS").is_some();
    let mut wrong = Vec::new();
    for path in files() {
        let library = library(&path);
        let (off, on) = (refusals(&library, false), refusals(&library, true));
        let on = if on == off { String::new() } else { format!("with true:\n{on}") };
        let (text, expected) = (off + &on, path.with_extension("txt"));
        if bless {
            std::fs::write(expected, text).unwrap();
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != text {
            wrong.push(format!("{}:\n{text}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(files().len() > 5);
}
