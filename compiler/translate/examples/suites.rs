//! Translates and compiles all `.cu` and `.cl` files below folders, and counts the reasons of failures.
//!
//! `cargo run -p anymetal-translate --example suites -- FOLDER… [-I FOLDER] [-D NAME=VALUE] [--list]`
//!
//! A file counts as translated if the translation has no error, and as compiled if all its kernels have IR.
//! `double` becomes `float`. Files without kernels are not counted, nor those that others include.
#![allow(clippy::print_stdout, reason = "a command line tool reports to its terminal")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anymetal_diagnostics::Diagnostic;
use anymetal_msl::pp::{IncludeLoader, IncludedFile, NotLoaded};
use anymetal_msl::{CompileOptions, Library};
use anymetal_translate::{Doubles, Options, Translation, cuda_to_msl, opencl_to_msl};

/// How far a file came.
#[derive(Default)]
struct Count {
    files: usize,
    translated: usize,
    compiled: usize,
    kernels: usize,
    kernels_compiled: usize,
    reasons: BTreeMap<String, usize>,
}

/// Finds included files beside the including one, and in folders.
struct Files {
    folders: Vec<PathBuf>,
}

impl Files {
    fn find(&self, name: &str, from: &str) -> Option<(String, String)> {
        let beside = Path::new(from).parent().unwrap_or(Path::new("."));
        let folders = std::iter::once(beside).chain(self.folders.iter().map(PathBuf::as_path));
        folders.map(|folder| folder.join(name)).find_map(|path| {
            let bytes = std::fs::read(&path).ok()?;
            Some((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()))
        })
    }
}

impl IncludeLoader for Files {
    fn load(&mut self, name: &str, _angled: bool, from: &str) -> Result<IncludedFile, NotLoaded> {
        let (name, text) = self.find(name, from).ok_or(NotLoaded::Missing)?;
        Ok(IncludedFile { name, text })
    }
}

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "cu" || extension == "cl") {
            all.push(path);
        }
    }
}

/// Leaves out the files that others include: they are no sources by themselves.
fn without_included(all: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut included = std::collections::BTreeSet::new();
    for path in &all {
        let text = String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
        for line in text.lines().filter(|line| line.trim_start().starts_with("#include")) {
            let name = line.split(['"', '<', '>']).nth(1).unwrap_or_default();
            included.extend(path.parent().and_then(|folder| folder.join(name).canonicalize().ok()));
        }
    }
    all.into_iter().filter(|path| path.canonicalize().is_ok_and(|path| !included.contains(&path))).collect()
}

/// The reason in general: names are left out.
fn reason(diagnostic: &Diagnostic) -> String {
    let parts: Vec<&str> = diagnostic.message.split('`').collect();
    let quoted = parts.iter().enumerate().map(|(number, part)| match number % 2 {
        1 if !diagnostic.message.starts_with("Metal has no")
            && !diagnostic.message.contains("cannot find") =>
        {
            "…"
        }
        _ => part,
    });
    format!("{}: {}", diagnostic.id, quoted.collect::<Vec<_>>().join("`"))
}

fn translate(path: &Path, files: &mut Files, options: &Options) -> Option<Translation> {
    let source = String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned();
    let name = path.display().to_string();
    if path.extension().is_some_and(|extension| extension == "cl") {
        let includes = &mut |name: &str, _: bool, from: &str| files.find(name, from);
        return Some(opencl_to_msl(&name, &source, includes, options));
    }
    let includes = &mut |name: &str, _: bool, from: &str| files.find(name, from);
    Some(cuda_to_msl(&name, &source, includes, &[], options))
}

/// Looks at one file; gives the first error.
fn file(path: &Path, files: &mut Files, options: &Options, count: &mut Count) -> Option<String> {
    let translation = translate(path, files, options)?;
    if let Ok(folder) = std::env::var("SUITES_OUT") {
        let name = path.display().to_string().replace('/', "_");
        let _ = std::fs::write(Path::new(&folder).join(format!("{name}.metal")), &translation.text);
    }
    if !translation.text.contains("kernel") {
        return None;
    }
    count.files += 1;
    if let Some(error) =
        translation.diagnostics.iter().find(|one| one.severity == anymetal_diagnostics::Severity::Error)
    {
        *count.reasons.entry(reason(error)).or_default() += 1;
        return Some(format!("not translated: {}", error.message));
    }
    count.translated += 1;
    let name = format!("{}.metal", path.display());
    let (library, diagnostics) =
        Library::parse(&name, translation.text.as_bytes(), &CompileOptions::default(), files);
    let mut failed = None;
    let mut note = |list: &[Diagnostic], map: &anymetal_diagnostics::SourceMap, count: &mut Count| {
        let error = list.iter().find(|one| one.severity == anymetal_diagnostics::Severity::Error);
        let Some(error) = error.filter(|_| failed.is_none()) else { return };
        *count.reasons.entry(reason(error)).or_default() += 1;
        let line = map.location(map.outermost(error.span)).map_or(0, |(_, at)| at.line);
        let text = translation.text.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default().trim();
        failed = Some(format!("{} ({line}: {text})", error.message));
    };
    match library {
        None => note(&diagnostics.list, &diagnostics.map, count),
        Some(library) if library.kernels().is_empty() => {
            *count.reasons.entry("no template is instantiated by a launch".to_owned()).or_default() += 1;
            return Some("no template is instantiated by a launch".to_owned());
        }
        Some(library) => {
            for kernel in library.kernels() {
                count.kernels += 1;
                match library.module(&kernel.name) {
                    Ok(_) => count.kernels_compiled += 1,
                    Err(diagnostics) => note(&diagnostics.list, &diagnostics.map, count),
                }
            }
        }
    }
    count.compiled += usize::from(failed.is_none());
    Some(failed.unwrap_or_else(|| "compiled".to_owned()))
}

fn main() {
    let (mut folders, mut includes, mut macros, mut is_listed) = (Vec::new(), Vec::new(), Vec::new(), false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-I" => includes.extend(arguments.next().map(PathBuf::from)),
            "-D" => macros.extend(arguments.next().map(|text| {
                let (name, value) = text.split_once('=').unwrap_or((&text, "1"));
                (name.to_owned(), value.to_owned())
            })),
            "--list" => is_listed = true,
            _ => folders.push(PathBuf::from(argument)),
        }
    }
    let mut files = Files { folders: includes };
    let options = Options { doubles: Doubles::Float, line_directive: false, macros };
    for folder in folders {
        let (mut all, mut count) = (Vec::new(), Count::default());
        if folder.is_dir() {
            sources(&folder, &mut all)
        } else {
            all.push(folder.clone())
        }
        for path in without_included(all) {
            let result = file(&path, &mut files, &options, &mut count);
            if let Some(result) = result.filter(|_| is_listed) {
                println!("{}: {result}", path.display());
            }
        }
        let Count { files, translated, compiled, kernels, kernels_compiled, reasons } = count;
        println!("{}: {files} files, {translated} translated, {compiled} compiled", folder.display());
        println!("{kernels_compiled} of {kernels} kernels of files that parse");
        let mut reasons: Vec<(usize, String)> =
            reasons.into_iter().map(|(reason, count)| (count, reason)).collect();
        reasons.sort_by(|one, other| other.cmp(one));
        reasons.iter().for_each(|(count, reason)| println!("{count:5} {reason}"));
    }
}
