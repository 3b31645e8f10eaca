//! Random kernels, a few per run; and all that once differed.

use anymetal_conformance::differential::{check_file, check_seed};
use anymetal_conformance::machine::Machine;
use anymetal_conformance::suite::Level;
use std::path::Path;

#[test]
fn random_kernels_agree() {
    let machine = Machine::of_process().ok();
    let count = if Level::of_environment() == Level::Full { 2000 } else { 16 };
    let different: Vec<String> =
        (0..count).filter_map(|seed| check_seed(seed, machine.as_ref())).map(|(_, why)| why).collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn regressions_of_differential_tests_agree() {
    let machine = Machine::of_process().ok();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ir/differential");
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "ir")) {
        let text = std::fs::read_to_string(path).expect("the file can be read");
        if let Err(message) = check_file(&text, machine.as_ref()) {
            panic!("{}: {message}", path.display());
        }
    }
}
