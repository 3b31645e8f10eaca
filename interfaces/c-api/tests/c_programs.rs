//! C programs of users: the example, and mistakes.

mod compiled;

use compiled::{root, run, run_in};

#[test]
fn the_example_computes_and_tells_of_the_access_outside() {
    let ended = run(&root().join("examples/saxpy.c"), &["-std=c11", "-pedantic"]);
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{out}\n{err}");
    assert!(out.contains("y[999] = 3997.0"), "{out}");
    assert!(out.contains("status 2: ") && out.contains("saxpy") && out.contains("1000"), "{out}");
}

#[test]
fn functions_are_linked_and_put_into_tables() {
    let ended = run(&root().join("tests/functions.c"), &["-std=c11", "-pedantic"]);
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{out}\n{err}");
}

#[test]
fn resident_buffers_are_reached_by_address() {
    let ended = run(&root().join("tests/resident.c"), &["-std=c11", "-pedantic"]);
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{out}\n{err}");
}

/// Builds with debug assertions have compiler bugs on request.
#[cfg(debug_assertions)]
#[test]
fn a_compiler_bug_is_a_status_with_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let variables =
        [("ANYMETAL_TEST_COMPILER_BUG", "middle end"), ("ANYMETAL_CACHE", cache.to_str().unwrap())];
    let ended = run_in(&root().join("tests/compiler_bug.c"), &["-std=c11", "-pedantic"], &variables);
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success() && !err.contains("panicked"), "{out}\n{err}");
    assert!(out.contains("compiler bug in stage `middle end`, kernel `f`"), "{out}");
    let reproducer =
        out.lines().next().and_then(|line| line.split_once("the reproducer ")).expect("a path").1;
    assert!(std::fs::read_to_string(reproducer).unwrap().contains("kernel void f"), "{reproducer}");
}

#[test]
fn mistakes_of_a_program_are_statuses_with_a_text() {
    let ended = run(&root().join("tests/mistakes.c"), &["-std=c11"]);
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{out}\n{err}");
}
