//! C programs, built with the machine's compiler as users build them, and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
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

/// What `pkg-config` gives for a field: its words with the variables put in.
fn flags(package: &str, prefix: &Path, field: &str) -> Vec<String> {
    let line = package.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    let prefix = prefix.to_str().unwrap();
    let line = line.replace("${includedir}", "${prefix}/include").replace("${libdir}", "${prefix}/lib");
    line.replace("${prefix}", prefix).split_whitespace().map(str::to_owned).collect()
}

fn run(program: &str, source: &Path, extra: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let package = install(folder.path());
    let binary = folder.path().join("program");
    let compiler = std::env::var("CC").unwrap_or_else(|_| program.to_owned());
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
    Command::new(&binary).env("LD_LIBRARY_PATH", folder.path().join("lib")).output().unwrap()
}

#[test]
fn the_example_computes_and_tells_of_the_access_outside() {
    let ended = run("cc", &root().join("examples/saxpy.c"), &["-std=c11", "-pedantic"]);
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{out}\n{err}");
    assert!(out.contains("y[999] = 3997.0"), "{out}");
    assert!(out.contains("status 2: ") && out.contains("saxpy") && out.contains("1000"), "{out}");
}

#[test]
fn functions_are_linked_and_put_into_tables() {
    let ended = run("cc", &root().join("tests/functions.c"), &["-std=c11", "-pedantic"]);
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{out}\n{err}");
}

#[test]
fn mistakes_of_a_program_are_statuses_with_a_text() {
    let ended = run("cc", &root().join("tests/mistakes.c"), &["-std=c11"]);
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{out}\n{err}");
}
