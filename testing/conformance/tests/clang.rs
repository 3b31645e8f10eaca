//! The files of `tests/exec` that name clang as their oracle, run by clang as C++: what they expect of an
//! executor is what clang computes. Undefined behaviour ends the program.
//!
//! It is ignored because it needs `clang++`; `cargo xtask ci` runs it with `--ignored`. A feature instead
//! would compile the library of this crate once more.

use anymetal_conformance::case::{Binding, Case, Grid};
use anymetal_conformance::exec_file::{ExecFile, Oracle, files_below, folder, parse};
use anymetal_conformance::suite::Level;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn files() -> Vec<(PathBuf, ExecFile)> {
    let folder = folder();
    let mut files = Vec::new();
    for path in files_below(&folder).expect("tests/exec can be read") {
        let name = path.strip_prefix(&folder).unwrap_or(&path).with_extension("");
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        let file = parse(&name.to_string_lossy(), &text, Level::of_environment())
            .expect("the directives are well formed");
        if file.oracle == Some(Oracle::Clang) {
            files.push((path, file));
        }
    }
    files
}

/// A program that launches every kernel of the file and prints each expected buffer on a line.
fn program(path: &Path, file: &ExecFile) -> String {
    let path = path.canonicalize().expect("the file is there");
    let mut text = format!("#include \"{}\"\n#include \"launch.h\"\nint main() {{\n", path.display());
    for case in &file.cases {
        text.push_str(&launch(case));
    }
    text.push_str("}\n");
    text
}

fn launch(case: &Case) -> String {
    let mut text = "{\n".to_owned();
    let mut args: Vec<_> = case.launch.args.iter().collect();
    args.sort_by_key(|arg| arg.index);
    for arg in &args {
        let Binding::Buffer { bytes, offset: 0 } = &arg.binding else {
            panic!("{}: clang is given plain buffers only", case.name);
        };
        let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
        let _ = writeln!(text, "alignas(16) unsigned char arg{}[] = {{{}}};", arg.index, bytes.join(", "));
    }
    let names: Vec<String> = args.iter().map(|arg| format!("arg{}", arg.index)).collect();
    let Grid::Threads([threads, 1, 1]) = case.launch.grid else {
        panic!("{}: clang runs a row of threads one after the other", case.name);
    };
    let _ = writeln!(text, "void* all[] = {{{}}};", names.join(", "));
    let _ = writeln!(text, "launch({}, all, {threads});", case.name);
    for expected in &case.expected {
        let _ = writeln!(text, "print(arg{});", expected.index);
    }
    text.push_str("}\n");
    text
}

/// The folder of the headers that replace the Metal library.
fn headers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clang")
}

/// Compiles one file to another.
fn compile(folder: &Path, options: &[&str], from: &Path, to: &Path) {
    let mut clang = Command::new("clang++");
    clang.args(["-std=c++17", "-w", "-O1", "-ffp-contract=off"]);
    clang.args(["-fsanitize=undefined", "-fno-sanitize=shift-base", "-fsanitize-trap=all", "-I"]);
    clang.arg(folder).arg("-I").arg(headers()).args(options).arg("-o").args([to, from]);
    let output = clang.output().expect("clang++ starts");
    assert!(output.status.success(), "{}: {}", from.display(), String::from_utf8_lossy(&output.stderr));
}

/// What the program prints.
fn run(folder: &Path, library: &str, file: &ExecFile, program: &str) -> String {
    let name = file.name.replace('/', "-");
    let (source, binary) = (folder.join(format!("{name}.cpp")), folder.join(name));
    std::fs::write(&source, program).expect("the program is written");
    compile(folder, &["-include-pch", library], &source, &binary);
    let output = Command::new(&binary).output().expect("the program starts");
    assert!(output.status.success(), "{}: undefined behaviour, {}", file.name, output.status);
    String::from_utf8(output.stdout).expect("hexadecimal digits")
}

#[test]
#[ignore = "needs clang++"]
fn clang_computes_what_the_files_expect() {
    let folder = std::env::temp_dir().join(format!("anymetal-clang-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for programs");
    std::fs::write(folder.join("metal_stdlib"), "").expect("an empty library");
    let files = files();
    assert!(files.len() > 5, "{} files name clang as their oracle", files.len());
    // Most of the time goes into the headers of C++'s library.
    let library = folder.join("metal.pch");
    compile(&folder, &["-x", "c++-header"], &headers().join("metal.h"), &library);
    let library = library.to_str().expect("a path of plain characters");
    for (path, file) in &files {
        let printed = run(&folder, library, file, &program(path, file));
        let mut lines = printed.lines();
        for case in &file.cases {
            for expected in &case.expected {
                let hex: String = expected.data.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                let line = lines.next().expect("a line for each expected buffer");
                assert!(
                    line.starts_with(&hex),
                    "{}, {}:\nexpected {hex}\nclang    {line}",
                    file.name,
                    case.name
                );
            }
        }
    }
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}
