//! Runs the passes over `tests/ir/<pass>/*.ir`: each file holds a module, a line `; after`, and
//! the module after the pass. `ANYMETAL_BLESS=1` writes what came out.

use std::path::{Path, PathBuf};

use anymetal_analysis::divergence::Geometry;
use anymetal_ir::{Function, FunctionConstantId, Module, parse_module, print_module, verify};
use anymetal_opt::{PassContext, SpecialiseError, pipeline};

const MARK: &str = "\n; after\n";

/// Runs a pass; gives the new text, or the error's.
type Pass = fn(&mut Module, &str) -> Result<(), String>;

fn on_each_function(module: &mut Module, pass: impl Fn(&Module, &mut Function) -> bool) {
    let mut functions = std::mem::take(&mut module.functions);
    for function in &mut functions {
        pass(module, function);
        anymetal_opt::compact::compact(function);
    }
    module.functions = functions;
}

/// Values from a header line such as `; constants: 3=7 5=1`: position and bits.
fn specialise(module: &mut Module, text: &str) -> Result<(), String> {
    let line = text.lines().find_map(|line| line.strip_prefix("; constants:")).unwrap_or("");
    let values: Vec<(FunctionConstantId, Option<u64>)> = line
        .split_whitespace()
        .map(|pair| {
            let (id, bits) = pair.split_once('=').expect("position=bits");
            (FunctionConstantId(id.parse().expect("a position")), Some(bits.parse().expect("bits")))
        })
        .collect();
    anymetal_opt::specialise(module, &values).map_err(|error: SpecialiseError| error.to_string())
}

/// Folders of passes over whole modules, and of the whole simplification.
const MODULE_PASSES: &[(&str, Pass)] = &[
    ("group-size", |module, _| {
        anymetal_opt::group_size::choose_by_group_size(module, [64, 1, 1])
            .map_err(|error| error.to_string())?;
        anymetal_opt::inline(module).map_err(|error| error.to_string())
    }),
    ("inline", |module, _| anymetal_opt::inline(module).map_err(|error| error.to_string())),
    ("optimise", |module, _| {
        anymetal_opt::inline(module).map_err(|error| error.to_string())?;
        anymetal_opt::optimise(module);
        Ok(())
    }),
    ("selective-inline", |module, _| {
        let mut manager = anymetal_opt::PassManager::default();
        let kept = anymetal_opt::KeptCalls { max_inlined: 0, ..anymetal_opt::KeptCalls::OF_LARGE_KERNELS };
        anymetal_opt::inline_selectively(module, kept, &mut manager).map_err(|error| error.to_string())?;
        Ok(())
    }),
    ("specialise", specialise),
];

/// Passes that leave dead code on purpose: their files show it removed.
const WITH_DCE: &[&str] = &["mem2reg", "speculate_select_loads", "sroa"];

/// The pass of a folder: of [`MODULE_PASSES`], or of the pipelines' list by its name with `-` for `_`.
fn run_pass(folder: &str, module: &mut Module, text: &str) -> Result<(), String> {
    if let Some((_, pass)) = MODULE_PASSES.iter().find(|(name, _)| *name == folder) {
        return pass(module, text);
    }
    let name = folder.replace('-', "_");
    let pass = pipeline::ALL.iter().find(|pass| pass.name == name);
    let pass = pass.unwrap_or_else(|| panic!("tests/ir/{folder} is the folder of no pass"));
    // A header line such as `; group: 64`: code for whole threadgroups of that many threads.
    let group = text.lines().find_map(|line| line.strip_prefix("; group:"));
    let geometry = group.map_or(Geometry::Line, |threads| {
        Geometry::Full([threads.trim().parse().expect("a number of threads"), 1, 1])
    });
    on_each_function(module, |module, function| {
        let context = PassContext { module, round: 0, geometry: Some(geometry), remarks: None };
        (pass.run)(function, &context)
            | (WITH_DCE.contains(&pass.name) && (pipeline::DCE.run)(function, &context))
    });
    Ok(())
}

/// What a folder holds, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    paths
}

/// The folders of `tests/ir`, by name.
fn folders() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ir");
    let name = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    entries(&root).into_iter().map(|path| (name(&path), path)).collect()
}

/// The module after the pass, as text, with every check on the way.
fn run(path: &Path, before: &str, folder: &str) -> String {
    let name = path.display();
    let mut module = parse_module(before).unwrap_or_else(|error| panic!("{name}:{error}"));
    if let Err(errors) = verify(&module) {
        panic!("{name}: before the pass: {}", errors[0]);
    }
    if let Err(message) = run_pass(folder, &mut module, before) {
        return format!("; error: {message}\n");
    }
    let text = print_module(&module);
    if let Err(errors) = verify(&module) {
        panic!("{name}: after the pass: {}\n{text}", errors[0]);
    }
    text
}

#[test]
fn pass_files_match_their_expected_output() {
    let bless = std::env::var_os("ANYMETAL_BLESS").is_some();
    for (folder, path) in folders() {
        for path in entries(&path) {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let (before, after) = text.split_once(MARK).unwrap_or((&text, ""));
            let found = run(&path, before, &folder);
            if bless {
                let text = format!("{}{MARK}{found}", before.trim_end_matches('\n'));
                std::fs::write(&path, text).expect("a writable file");
            } else {
                assert_eq!(found, after, "{}: set ANYMETAL_BLESS=1 to accept", path.display());
            }
        }
    }
}

#[test]
fn every_pass_has_a_folder_with_files() {
    let with_files = |(_, path): &(String, PathBuf)| !entries(path).is_empty();
    let tested: Vec<String> = folders().into_iter().filter(with_files).map(|(name, _)| name).collect();
    for pass in pipeline::ALL {
        assert!(tested.contains(&pass.name.replace('_', "-")), "tests/ir has no files for {}", pass.name);
    }
}
