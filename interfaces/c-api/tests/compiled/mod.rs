//! Builds C programs with the machine's compiler as users build them, and runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder with the shared library of this build.
fn library_folder() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    assert!(folder.join("libanymetal_c.so").exists(), "no shared library in {}", folder.display());
    folder.to_owned()
}

/// An installation in a folder: header, library, pkg-config file.
fn install(prefix: &Path) -> String {
    std::fs::create_dir_all(prefix.join("include")).unwrap();
    std::fs::create_dir_all(prefix.join("lib")).unwrap();
    std::fs::copy(root().join("include/anymetal.h"), prefix.join("include/anymetal.h")).unwrap();
    std::fs::copy(library_folder().join("libanymetal_c.so"), prefix.join("lib/libanymetal_c.so")).unwrap();
    let template = std::fs::read_to_string(root().join("anymetal.pc.in")).unwrap();
    template.replace("@prefix@", prefix.to_str().unwrap()).replace("@version@", env!("CARGO_PKG_VERSION"))
}

/// The words of a field of the pkg-config file, with its variables substituted.
fn flags(package: &str, prefix: &Path, field: &str) -> Vec<String> {
    let line = package.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    let prefix = prefix.to_str().unwrap();
    let line = line.replace("${includedir}", "${prefix}/include").replace("${libdir}", "${prefix}/lib");
    line.replace("${prefix}", prefix).split_whitespace().map(str::to_owned).collect()
}

pub(crate) fn run(source: &Path, extra: &[&str]) -> Output {
    run_in(source, extra, &[])
}

/// As [`run`], with variables of the program's environment set.
pub(crate) fn run_in(source: &Path, extra: &[&str], variables: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let package = install(folder.path());
    let binary = folder.path().join("program");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let built = Command::new(compiler)
        .args(extra)
        .args(["-Wall", "-Wextra", "-Werror"])
        .args(flags(&package, folder.path(), "Cflags:"))
        .arg(source)
        .args(flags(&package, folder.path(), "Libs:"))
        .arg("-o")
        .arg(&binary)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let mut program = Command::new(&binary);
    program.env("LD_LIBRARY_PATH", folder.path().join("lib")).envs(variables.iter().copied());
    program.output().unwrap()
}
