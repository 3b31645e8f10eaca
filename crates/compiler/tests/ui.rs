//! Diagnostics as users see them: each file of `tests/ui` says beside its lines what must be said there, and
//! has its rendering in a `.stderr` file beside it. `ANYMETAL_BLESS=1` writes the renderings.
//!
//! An annotation is `//~ ID` or `//~ ID: PART OF THE MESSAGE`; each `^` after `~` moves it a line up.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anymetal_compiler::{
    CacheConfig, CompileError, Compiler, CompilerOptions, Emit, Source, SourceOptions, Specialisation,
};
use serde_json::Value;

/// A diagnostic that was announced or that came.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reported {
    line: u64,
    id: String,
    message: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ui")
}

fn annotations(text: &str) -> Vec<Reported> {
    let mut told = Vec::new();
    for (number, line) in (1u64..).zip(text.lines()) {
        let Some((_, annotation)) = line.split_once("//~") else { continue };
        let up = annotation.len() - annotation.trim_start_matches('^').len();
        let annotation = annotation[up..].trim();
        let (id, message) = annotation.split_once(':').unwrap_or((annotation, ""));
        told.push(Reported {
            line: number - up as u64,
            id: id.trim().to_owned(),
            message: message.trim().to_owned(),
        });
    }
    told
}

/// Everything that compiling all kernels of the file says: structured, and rendered without repetitions.
fn compile(name: &str, text: &str) -> (BTreeSet<Reported>, String) {
    let compiler = Compiler::new(&CompilerOptions { cache: CacheConfig::memory_only() });
    let mut errors: Vec<CompileError> = Vec::new();
    let mut rendered = Vec::new();
    match compiler.library(Source::from_text(name, text, SourceOptions::default())) {
        Err(error) => errors.push(error),
        Ok(library) => {
            if !library.warnings().is_empty() {
                rendered.push(library.warnings().to_owned());
            }
            for kernel in library.kernel_names() {
                errors.extend(library.emit(kernel, &Specialisation::default(), Emit::FrontEndIr).err());
            }
        }
    }
    let mut told = BTreeSet::new();
    for error in &errors {
        assert!(matches!(error, CompileError::Source(_)), "{name}: {error}");
        let list: Value = serde_json::from_str(&error.render_json()).expect("JSON");
        for diagnostic in list.as_array().expect("a list") {
            told.insert(Reported {
                line: diagnostic["line"].as_u64().unwrap_or(0),
                id: diagnostic["id"].as_str().unwrap_or_default().to_owned(),
                message: diagnostic["message"].as_str().unwrap_or_default().to_owned(),
            });
        }
        let text = error.render_text(false);
        if !rendered.contains(&text) {
            rendered.push(text);
        }
    }
    (told, rendered.concat())
}

fn check(path: &Path, bless: bool) -> Vec<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).expect("a readable file");
    let (told, rendered) = compile(&name, &text);
    let expected = annotations(&text);
    let matches = |told: &Reported, expected: &Reported| {
        told.line == expected.line && told.id == expected.id && told.message.contains(&expected.message)
    };
    let mut problems = Vec::new();
    for missing in expected.iter().filter(|expected| !told.iter().any(|told| matches(told, expected))) {
        problems.push(format!("{name}:{}: not said: {}: {}", missing.line, missing.id, missing.message));
    }
    for surplus in told.iter().filter(|told| !expected.iter().any(|expected| matches(told, expected))) {
        problems.push(format!("{name}:{}: not expected: {}: {}", surplus.line, surplus.id, surplus.message));
    }
    let golden = path.with_extension("stderr");
    if bless {
        std::fs::write(&golden, &rendered).expect("a writable file");
    } else if std::fs::read_to_string(&golden).unwrap_or_default() != rendered {
        problems.push(format!(
            "{name}: the rendering changed; see it with ANYMETAL_BLESS=1. It is now:\n{rendered}"
        ));
    }
    problems
}

#[test]
fn every_file_gives_its_annotated_diagnostics() {
    let bless = std::env::var_os("ANYMETAL_BLESS").is_some();
    let entries = std::fs::read_dir(folder()).expect("the folder of the tests");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "metal"));
    files.sort();
    assert!(files.len() >= 10, "only {} files", files.len());
    let problems: Vec<String> = files.iter().flat_map(|path| check(path, bless)).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
