//! Kernels in CUDA C: what can be said of them without a GPU, with a shell script as the compiler.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anymetal_bench_peers::cuda::{Cuda, Modules};
use anymetal_bench_peers::job::{Argument, Contents, Job, JobStep};
use anymetal_bench_peers::peer::PeerError;

/// Writes its arguments into a file and copies the source to where the machine code goes.
const COPIES: &str =
    "#!/bin/sh\necho \"$@\" >> \"$0.log\"\nwhile [ \"$1\" != -o ]; do shift; done\ncp \"$3\" \"$2\"\n";
const FAILS: &str = "#!/bin/sh\necho nothing is declared >&2\nexit 1\n";

fn job(text: &'static str) -> Job<'static> {
    let step =
        JobStep { kernel: "scale", arguments: vec![Argument::Buffer(0)], global: [4, 1, 1], local: None };
    let buffers = vec![Contents::Zeroed(16)];
    Job { opencl: Vec::new(), cuda: Some(text), buffers, steps: vec![step], result: 0, product: None }
}

fn script(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("compiler");
    fs::write(&path, text).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    path
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn each_form_is_compiled_once_for_each_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let compiler = script(folder.path(), COPIES);
    let modules = Modules::new(&compiler, folder.path().join("kept"));
    modules.compile(&job("first"), "sm_90").expect("it compiles");
    modules.compile(&job("first"), "sm_90").expect("it is there");
    let log = || fs::read_to_string(folder.path().join("compiler.log")).expect("the log");
    let kept = folder.path().join("kept");
    let line = |options: &str, name: &str| {
        let [cubin, source] = ["cubin", "cu"].map(|kind| kept.join(format!("scale{name}.sm_90.{kind}")));
        format!("{options} -arch=sm_90 -cubin -o {} {}\n", cubin.display(), source.display())
    };
    assert_eq!(log(), line("-O3", "-O3") + &line("-O3 -use_fast_math", "-O3-use_fast_math"));
    modules.compile(&job("second"), "sm_90").expect("it compiles");
    assert_eq!(log().lines().count(), 4);
    assert_eq!(fs::read_to_string(kept.join("scale-O3.sm_90.cubin")).expect("the code"), "second");
    modules.compile(&job("second"), "sm_80").expect("it compiles");
    assert_eq!(log().lines().count(), 6);
}

#[test]
fn what_the_compiler_refuses_is_told_and_leaves_no_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = folder.path().join("kept");
    let compiler = script(folder.path(), COPIES);
    Modules::new(&compiler, &kept).compile(&job("first"), "sm_90").expect("it compiles");
    let compiler = script(folder.path(), FAILS);
    let error = Modules::new(&compiler, &kept).compile(&job("second"), "sm_90").expect_err("it fails");
    assert!(matches!(&error, PeerError::Build { log, .. } if log == "nothing is declared\n"), "{error}");
    assert!(!names(&kept).contains(&"scale-O3.sm_90.cubin".to_owned()));
}

#[test]
fn no_compiler_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let modules = Modules::new(folder.path().join("none"), folder.path().join("kept"));
    let error = modules.compile(&job("text"), "sm_90").expect_err("there is no such program");
    assert!(matches!(error, PeerError::NoCompiler { .. }), "{error}");
}

/// The driver's crate panics where the library is missing, unless it is asked first.
#[test]
fn a_machine_without_a_driver_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    match Cuda::open(0, Modules::new("nvcc", folder.path())) {
        Ok(_) | Err(PeerError::Call { .. } | PeerError::NoDriver) => {}
        Err(other) => panic!("{other}"),
    }
}
