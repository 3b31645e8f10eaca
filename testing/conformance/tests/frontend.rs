//! Mutated programs, a few per run; and all that once failed.

use anymetal_conformance::exec_file::files_below;
use anymetal_conformance::mutation::{Program, check, mutate};
use anymetal_conformance::suite::Level;
use std::path::Path;

fn texts(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(folder);
    let paths = files_below(&folder).unwrap_or_default();
    let read = |path: &Path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    paths.iter().map(|path| (path.display().to_string(), read(path).expect("the file can be read"))).collect()
}

#[test]
fn mutated_programs_end_without_panics() {
    let programs: Vec<Program> = texts("exec").iter().map(|(_, text)| Program::new(text)).collect();
    let count = if Level::of_environment() == Level::Full { 3000 } else { 150 };
    let failed: Vec<String> = (0..count)
        .filter_map(|seed| {
            check(&mutate(&programs, seed)).err().map(|message| format!("seed {seed}: {message}"))
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn regressions_of_the_front_end_do_not_panic() {
    for (name, text) in texts("msl/fuzz") {
        check(&text).unwrap_or_else(|message| panic!("{name}: {message}"));
    }
}
