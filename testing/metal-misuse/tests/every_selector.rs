//! Every selector of every class, and every exported function, with arguments that are not allowed.
#![cfg(not(target_vendor = "apple"))]
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anymetal_metal_misuse::functions::{EXEMPT, FUNCTIONS, FUNCTIONS_OF_X86_64};

#[test]
fn no_call_ends_by_a_signal_an_abort_or_a_bug() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_metal-misuse"));
    let output = program.args(["--walk", "0"]).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let calls: u64 = text.split(' ').next().and_then(|calls| calls.parse().ok()).expect("it prints a count");
    assert!(calls > 5000, "the walk covers all methods: {text}");
}

#[test]
fn every_exported_function_is_called_or_exempt() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interfaces/metal-abi/src");
    let mut exported = BTreeSet::new();
    scan(&root, &mut exported);
    assert!(exported.len() > 100, "the scan finds functions");
    let called = FUNCTIONS.iter().chain(FUNCTIONS_OF_X86_64).map(|(name, _)| *name);
    let known: BTreeSet<&str> = called.chain(EXEMPT.iter().map(|(name, _)| *name)).collect();
    let missing: Vec<_> = exported.iter().filter(|name| !known.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "in neither list of `functions.rs`: {missing:?}");
}

/// The names of exported functions in a folder. Those that macros name are not found.
fn scan(folder: &Path, exported: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it is read").path();
        if path.is_dir() {
            scan(&path, exported);
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("sources are text");
        for after in text.split("#[unsafe(no_mangle)]").skip(1) {
            let item = after.split(['{', ';']).next().unwrap_or_default();
            let name = item.split(" fn ").nth(1).and_then(|rest| rest.split('(').next());
            exported.extend(name.filter(|name| !name.starts_with('$')).map(str::to_owned));
        }
    }
}
