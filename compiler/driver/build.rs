//! Gives the compiler an identity for cache keys: a hash over the sources of every crate that decides what
//! code comes out. A rebuilt compiler then never meets the objects of another one, and no version number has
//! to be raised by hand.

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

/// The folders, from the root of the workspace, of the crates whose sources decide what a compilation gives
/// and what host and worker processes say to each other.
const CRATES: &[&str] = &[
    "compiler/analysis",
    "compiler/codegen",
    "compiler/diagnostics",
    "compiler/driver",
    "compiler/interp",
    "compiler/ir",
    "compiler/llvm",
    "compiler/msl",
    "compiler/opt",
    "compiler/sanitizer",
    "devices/isolated",
    "runtime/abi",
    "runtime/files",
    "runtime/hal",
    "runtime/isolate",
    "runtime/types",
];

fn main() {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let root = here.join("../..");
    let mut hasher = DefaultHasher::new();
    for name in CRATES {
        let folder = root.join(name);
        // A crate that moved would silently leave the hash.
        assert!(folder.join("Cargo.toml").exists(), "the compiler's identity needs the crate {name}");
        for part in ["src", "lib", "Cargo.toml"] {
            let path = folder.join(part);
            if path.exists() {
                println!("cargo::rerun-if-changed={}", path.display());
                add(&path, &mut hasher);
            }
        }
    }
    println!("cargo::rustc-env=ANYMETAL_COMPILER_SOURCES={:016x}", hasher.finish());
}

/// Adds a file, or all files of a folder in the order of their names.
fn add(path: &Path, hasher: &mut DefaultHasher) {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| add(entry, hasher));
        return;
    }
    hasher.write(path.file_name().map_or(&[], |name| name.as_encoded_bytes()));
    hasher.write(&std::fs::read(path).unwrap_or_default());
    hasher.write_u8(0xff);
}
