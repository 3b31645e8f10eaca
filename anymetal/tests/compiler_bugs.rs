//! A bug of the compiler, or of the interpreter, is an error with a report, and the process goes on.
//!
//! Builds with debug assertions have bugs on request (`ANYMETAL_TEST_COMPILER_BUG`); others have none to
//! test.
#![cfg(debug_assertions)]

use std::path::Path;
use std::process::Command;

use anymetal::error::{CompilerBug, DeviceError, ErrorClass};
use anymetal::{Device, Error};

const SOURCE: &str = "kernel void twice(device uint* y, uint i [[thread_position_in_grid]]) { y[i] *= 2; }";
const CHILD: &str = "ANYMETAL_TEST_CHILD";

/// Runs a test of this file in a separate process in which that stage has a bug.
fn with_bug(test: &str, stage: &str, llvm: Option<&str>) {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env(CHILD, folder.path());
    child.env("ANYMETAL_CACHE", folder.path().join("cache")).env("ANYMETAL_TEST_COMPILER_BUG", stage);
    if let Some(llvm) = llvm {
        child.env("ANYMETAL_LLVM", llvm);
    }
    let output = child.output().unwrap();
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && printed.contains("1 passed"), "{stage}: {printed}");
}

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

fn compile() -> Result<anymetal::Pipeline, Error> {
    Device::system_default()?.library_from_source(SOURCE)?.pipeline("twice")
}

fn check_reproducer(path: &Path) {
    assert!(path.parent().unwrap().ends_with("anymetal-reproducers"), "{}", path.display());
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(SOURCE) && text.contains("injected_bug.rs"), "{text}");
}

#[test]
fn a_bug_of_a_stage_is_a_compile_error_with_a_reproducer() {
    if !is_child() {
        for stage in ["front end", "middle end", "code generator"] {
            with_bug("a_bug_of_a_stage_is_a_compile_error_with_a_reproducer", stage, None);
        }
        return;
    }
    let stage = std::env::var("ANYMETAL_TEST_COMPILER_BUG").unwrap();
    let error = compile().unwrap_err();
    assert!(error.is_bug() && error.class() == ErrorClass::Lost, "{error}");
    let Error::Compile(failure) = &error else { panic!("{error:?}") };
    assert_eq!(failure.id(), "compiler-bug");
    let bug: &CompilerBug = failure.compiler_bug().unwrap();
    assert_eq!(bug.stage, stage);
    let kernel = (stage != "front end").then_some("twice");
    assert_eq!(bug.kernel.as_deref(), kernel);
    assert!(bug.place.as_ref().unwrap().contains("injected_bug.rs:"), "{bug}");
    check_reproducer(bug.reproducer.as_ref().unwrap().as_ref().unwrap());
    // Nothing is kept of the failure but the failure.
    assert!(compile().unwrap_err().is_bug());
}

#[test]
fn a_bug_of_the_interpreter_ends_the_launch_and_nothing_else() -> Result<(), Error> {
    if !is_child() {
        let test = "a_bug_of_the_interpreter_ends_the_launch_and_nothing_else";
        with_bug(test, "interpreted run", Some("none"));
        return Ok(());
    }
    let device = Device::system_default()?;
    let (twice, queue) = (compile()?, device.queue()?);
    let y = device.buffer(&[1u32, 2, 3])?;
    for _round in 0..2 {
        let error = queue.launch(&twice).arg(&y).threads(3).submit()?.wait().unwrap_err();
        assert!(error.is_bug(), "{error}");
        let Error::Device(DeviceError::InterpreterBug { kernel, report }) = &error else {
            panic!("{error:?}");
        };
        assert_eq!(kernel, "twice");
        assert!(report.contains("stage `interpreted run`, kernel `twice`"), "{report}");
        check_reproducer(Path::new(report.rsplit_once("the reproducer ").expect("a path").1));
    }
    assert_eq!(y.read()?, [1, 2, 3], "the device goes on");
    Ok(())
}
