//! Developer tasks: check, test, tidy, tables.
fn main() {}
