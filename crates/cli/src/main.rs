//! The anymetal command line.
fn main() {}
