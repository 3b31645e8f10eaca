//! Prints `docs/fault-matrix.md`: what becomes of work under every fault and every stack of
//! policies, in virtual time.
//!
//! `cargo run -p anymetal-service --example fault_matrix > docs/fault-matrix.md`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its terminal")]

mod matrix;

use std::process::ExitCode;

fn main() -> ExitCode {
    match matrix::document() {
        Ok(document) => {
            print!("{document}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("fault_matrix: {error}");
            ExitCode::FAILURE
        }
    }
}
