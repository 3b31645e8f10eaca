//! Diagnostics as users see them: each file of `tests/ui` says beside its lines what must be reported there,
//! and has its rendering in a `.stderr` file beside it. `ANYMETAL_BLESS=1` writes the renderings.
//!
//! An annotation is `//~ ID` or `//~ ID: PART OF THE MESSAGE`; each `^` after `~` moves it a line up. A line
//! may have several. A line `// warnings: -Wall` has options of the compiler. With a line `// checked` the
//! whole file is checked without code, as by `compile --check`; otherwise all kernels are compiled. Errors
//! and warnings are both annotated. Files of `tests/ui/include` may be included, and are annotated like the
//! others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anymetal_driver::{
    CacheConfig, CompileError, Compiler, CompilerOptions, Emit, Source, SourceOptions, Specialisation,
    WarningOptions,
};
use serde_json::Value;

/// A diagnostic that is expected or was reported.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Report {
    /// Without its folder.
    file: String,
    line: u64,
    id: String,
    message: String,
}

/// The folder of the tests. Relative, so that renderings of included files are the same everywhere.
const FOLDER: &str = "../../tests/ui";

fn annotations(file: &str, text: &str) -> Vec<Report> {
    let mut expected = Vec::new();
    for (number, line) in (1u64..).zip(text.lines()) {
        for annotation in line.split("//~").skip(1) {
            let up = annotation.len() - annotation.trim_start_matches('^').len();
            let annotation = annotation[up..].trim();
            let (id, message) = annotation.split_once(':').unwrap_or((annotation, ""));
            expected.push(Report {
                file: file.to_owned(),
                line: number - up as u64,
                id: id.trim().to_owned(),
                message: message.trim().to_owned(),
            });
        }
    }
    expected
}

/// The annotations of a test and of the files that it includes from the folder `include`.
fn all_annotations(name: &str, text: &str) -> Vec<Report> {
    let mut expected = annotations(name, text);
    for included in metal_files(&Path::new(FOLDER).join("include")) {
        let included_name = file_name(&included);
        if text.contains(&format!("\"{included_name}\"")) {
            let text = std::fs::read_to_string(&included).expect("a readable file");
            expected.extend(annotations(&included_name, &text));
        }
    }
    expected
}

/// What was reported for a file.
#[derive(Default)]
struct Outcome {
    reports: BTreeSet<Report>,
    /// The renderings, without repetitions.
    rendered: Vec<String>,
}

impl Outcome {
    fn error(&mut self, name: &str, error: &CompileError) {
        assert!(matches!(error, CompileError::Source(_)), "{name}: {error}");
        self.reports(&error.render_json());
        self.render(error.render_text(false));
    }

    fn reports(&mut self, json: &str) {
        let list: Value = serde_json::from_str(json).expect("JSON");
        for diagnostic in list.as_array().expect("a list") {
            let text = |key: &str| diagnostic[key].as_str().unwrap_or_default().to_owned();
            self.reports.insert(Report {
                file: file_name(Path::new(&text("file"))),
                line: diagnostic["line"].as_u64().unwrap_or(0),
                id: text("id"),
                message: text("message"),
            });
        }
    }

    /// Warnings come rendered: `warning[ID]: MESSAGE`, then ` --> FILE:LINE:COLUMN`.
    fn warnings(&mut self, rendered: &str) {
        let mut lines = rendered.lines();
        while let Some(line) = lines.next() {
            let Some((id, message)) = line.strip_prefix("warning[").and_then(|rest| rest.split_once("]: "))
            else {
                continue;
            };
            let place = lines.next().and_then(|line| line.trim().strip_prefix("--> "));
            let parts: Vec<&str> = place.unwrap_or_default().rsplitn(3, ':').collect();
            let [_, number, file] = parts[..] else { panic!("a warning without a place: {line}") };
            self.reports.insert(Report {
                file: file_name(Path::new(file)),
                line: number.parse().expect("a line number"),
                id: id.to_owned(),
                message: message.to_owned(),
            });
        }
        if !rendered.is_empty() {
            self.render(rendered.to_owned());
        }
    }

    fn render(&mut self, text: String) {
        if !self.rendered.contains(&text) {
            self.rendered.push(text);
        }
    }
}

/// The options that a test asks for.
fn warning_options(text: &str) -> WarningOptions {
    let lines = text.lines().filter_map(|line| line.strip_prefix("// warnings: "));
    let flags = lines.flat_map(str::split_whitespace).map(|flag| {
        let flag = flag.strip_prefix("-W").unwrap_or_else(|| panic!("{flag} is no option of warnings"));
        flag.to_owned()
    });
    WarningOptions { flags: flags.collect(), ..WarningOptions::default() }
}

/// Compiles all kernels of the file.
fn compile(name: &str, text: &str) -> Outcome {
    let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
    let mut outcome = Outcome::default();
    let include_folders = vec![Path::new(FOLDER).join("include")];
    let options =
        SourceOptions { include_folders, warnings: warning_options(text), ..SourceOptions::default() };
    let source = Source::from_text(name, text, options);
    if text.lines().any(|line| line == "// checked") {
        let found = compiler.check_source(&source).expect("no bug");
        outcome.reports(&found.render_json());
        outcome.render(found.render_text(false));
        return outcome;
    }
    match compiler.library(source) {
        Err(error) => outcome.error(name, &error),
        Ok(library) => {
            outcome.warnings(library.warnings());
            for kernel in library.kernel_names() {
                match library.emit(kernel, &Specialisation::default(), Emit::FrontEndIr) {
                    Err(error) => outcome.error(name, &error),
                    Ok(_) => outcome.warnings(&library.kernel_warnings(kernel).expect("it compiled")),
                }
            }
        }
    }
    outcome
}

fn check(path: &Path, bless: bool) -> Vec<String> {
    let name = file_name(path);
    let text = std::fs::read_to_string(path).expect("a readable file");
    let Outcome { reports, rendered } = compile(&name, &text);
    let rendered = rendered.concat();
    let expected = all_annotations(&name, &text);
    let matches = |report: &Report, expected: &Report| {
        let same_place = report.file == expected.file && report.line == expected.line;
        same_place && report.id == expected.id && report.message.contains(&expected.message)
    };
    let mut problems = Vec::new();
    for missing in expected.iter().filter(|expected| !reports.iter().any(|report| matches(report, expected)))
    {
        problems.push(format!(
            "{}:{}: not reported: {}: {}",
            missing.file, missing.line, missing.id, missing.message
        ));
    }
    for surplus in reports.iter().filter(|report| !expected.iter().any(|expected| matches(report, expected)))
    {
        problems.push(format!(
            "{}:{}: not expected: {}: {}",
            surplus.file, surplus.line, surplus.id, surplus.message
        ));
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

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The `.metal` files of a folder, sorted.
fn metal_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder of the tests");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "metal"));
    files.sort();
    files
}

#[test]
fn every_file_reports_what_it_announces() {
    let bless = std::env::var_os("ANYMETAL_BLESS").is_some();
    let files = metal_files(Path::new(FOLDER));
    assert!(files.len() >= 30, "only {} files", files.len());
    let problems: Vec<String> = files.iter().flat_map(|path| check(path, bless)).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
