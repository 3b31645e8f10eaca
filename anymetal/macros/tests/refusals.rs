//! What Rust allows and kernels do not: each file of `refusals/` with the errors that rustc shows for it.

#[test]
fn what_device_code_cannot_do_is_refused_where_it_stands() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/refusals/*.rs");
}
