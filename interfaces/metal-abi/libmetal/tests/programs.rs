//! Programs in C and Objective-C, compiled by clang against the installed headers and library.
//!
//! `cargo xtask libmetal --test` runs them. They fail where clang is missing.
#![cfg(not(target_vendor = "apple"))]
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use object::{Object, ObjectSymbol};

/// The library of this build. To have it built for itself would build most of the workspace again, with other
/// features of what it uses.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("tests have a path");
    let library = test.with_file_name("libMetal.so");
    assert!(library.exists(), "{} is missing", library.display());
    library
}

/// A folder of the test's own with headers and library.
fn installed(test: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let mut install = Command::new(env!("CARGO"));
    install.args(["run", "--quiet", "-p", "xtask", "--", "libmetal", "--prefix"]).arg(&prefix);
    install.arg("--library").arg(library());
    let output = install.current_dir(root).output().expect("cargo starts");
    succeeded("cargo xtask libmetal", &output);
    prefix
}

fn succeeded(what: &str, output: &Output) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{what}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
}

/// Compiles a program and runs it; it reports that all is so.
fn run(test: &str, program: &str, flags: &[&str]) {
    let output = output(test, program, flags);
    succeeded(program, &output);
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{program}: all is so\n"));
}

/// Compiles a program and runs it.
fn output(test: &str, program: &str, flags: &[&str]) -> Output {
    let prefix = installed(test);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(program);
    let binary = prefix.join(test);
    let mut compile = Command::new("clang");
    compile.args(["-O1", "-g", "-fblocks", "-Wall", "-Werror", "-Wno-unused-function"]).args(flags);
    compile.arg("-I").arg(prefix.join("include")).arg(source).arg("-o").arg(&binary);
    compile.arg("-L").arg(prefix.join("lib")).args(["-lMetal", "-lm"]);
    let output = compile.output().expect("clang is not installed; Debian's package is `clang`");
    succeeded("clang", &output);
    Command::new(&binary).env("LD_LIBRARY_PATH", prefix.join("lib")).output().expect("it starts")
}

const OBJECTIVE_C: [&str; 3] = ["-fobjc-runtime=gnustep-2.1", "-fexceptions", "-fobjc-exceptions"];

#[test]
fn c_sends_messages_by_hand_and_dispatches() {
    run("c_dispatch", "dispatch.c", &[]);
}

#[test]
fn compiled_objective_c_has_its_language_features() {
    run("objective_c_language", "language.m", &OBJECTIVE_C);
}

#[test]
fn objective_c_dispatches_with_a_completion_handler() {
    run("objective_c_dispatch", "dispatch.m", &OBJECTIVE_C);
}

#[test]
fn memory_stays_flat_over_many_command_buffers_without_a_pool() {
    run("flat_memory", "bench.c", &[]);
}

#[test]
fn the_main_threads_pool_is_not_drained_at_exit() {
    run("exit", "exit.m", &OBJECTIVE_C);
}

#[test]
fn an_exception_that_leaves_a_handler_ends_the_program_with_its_text() {
    let output = output("handler", "handler.m", &OBJECTIVE_C);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{text}");
    let expected = "*** Terminating app due to uncaught exception 'HandlerException', reason: 'thrown 42'";
    assert!(text.contains(expected), "{text}");
}

/// The functions and constants, for `anymetal doctor --program`. With ANYMETAL_TEST_BLESS the list is
/// written.
#[test]
fn the_list_of_symbols_is_that_of_the_library() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../inventory/symbols.txt");
    let bytes = std::fs::read(library()).expect("it can be read");
    let file = object::File::parse(&*bytes).expect("it is an ELF file");
    let defined = file.dynamic_symbols().filter(|symbol| !symbol.is_undefined() && symbol.is_global());
    let names = defined.filter_map(|symbol| symbol.name().ok().map(str::to_owned));
    // Classes are in the list of classes.
    let names: BTreeSet<String> = names.filter(|name| !name.starts_with("._OBJC_")).collect();
    let list: String = names.iter().map(|name| format!("symbol {name}\n")).collect();
    if std::env::var_os("ANYMETAL_TEST_BLESS").is_some() {
        std::fs::write(&path, &list).expect("it can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == list, "{} is out of date; ANYMETAL_TEST_BLESS=1 writes it", path.display());
}
