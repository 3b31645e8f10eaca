//! C programs of users: the example, and mistakes.

mod compiled;

use compiled::{root, run};

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
fn mistakes_of_a_program_are_statuses_with_a_text() {
    let ended = run(&root().join("tests/mistakes.c"), &["-std=c11"]);
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{out}\n{err}");
}
