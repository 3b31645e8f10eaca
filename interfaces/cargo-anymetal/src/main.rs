//! `cargo anymetal`: runs a crate that is written for Metal on anymetal, without editing a file of
//! it.
//!
//! It copies the `objc2-metal` or `metal` that the crate depends on from where cargo keeps it, changes the
//! copy so that it links with `anymetal-metal-abi` ([`shim`]), and runs cargo with that copy in its
//! place, and likewise with the crates of other frameworks:
//!
//! ```text
//! cargo anymetal test --lib
//! cargo anymetal run --release --example hello
//! ```
//!
//! Everything after the command is cargo's. What is made lies in the target folder.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool reports to its terminal")]

mod availability;
mod declarations;
mod library;
mod settings;
mod shim;
mod verify;

use std::path::Path;
use std::process::{Command, ExitCode};

use shim::Implementation;

const USAGE: &str = "\
usage: cargo anymetal COMMAND [ARGUMENTS...]

Runs `cargo COMMAND ARGUMENTS...` (test, run, build, check, bench, ...) for the package here, with Metal's API
from anymetal instead of Apple's framework. No file of the package is changed, except Cargo.lock.

  cargo anymetal test --lib            the package's tests
  cargo anymetal shim                  only makes the changed crates, and prints the settings
                                       of cargo that put them in their places
  cargo anymetal --library FOLDER ...  any of these with the `libMetal.so` that `cargo xtask libmetal
                                       --prefix FOLDER` installed, in place of building anymetal with the package
  cargo anymetal verify                checks selectors and type encodings against those of objc2-metal
                                       and objc2-metal-performance-shaders

The package must depend on `objc2-metal` or `metal`, itself or through others. ANYMETAL_SOURCE names the folder with
anymetal's sources, if they have moved since this program was built.
";

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    // Cargo passes the name of the command on.
    if arguments.first().is_some_and(|first| first == "anymetal") {
        arguments.remove(0);
    }
    let (implementation, arguments) = match arguments.as_slice() {
        [option, prefix, rest @ ..] if option == "--library" => {
            (Implementation::Library(Path::new(prefix)), rest)
        }
        all => (Implementation::Crate, all),
    };
    match arguments.first().map(String::as_str) {
        None | Some("help" | "--help" | "-h") => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        Some("shim") => report(shim::make(implementation).map(|shim| {
            settings::patch(&shim).iter().for_each(|setting| println!("{setting}"));
        })),
        Some("verify") => report(verify::run()),
        Some(_) => report(run(implementation, arguments)),
    }
}

/// Runs cargo; its exit code is this program's.
fn run(implementation: Implementation<'_>, arguments: &[String]) -> Result<(), String> {
    let shim = shim::make(implementation)?;
    let mut command = Command::new(settings::cargo());
    settings::configure(command.arg(&arguments[0]), &settings::patch(&shim));
    if matches!(implementation, Implementation::Crate) {
        command.args(settings::OPTIMISE);
    }
    command.args(&arguments[1..]);
    let status = command.status().map_err(|error| format!("cargo does not start: {error}"))?;
    if status.success() { Ok(()) } else { std::process::exit(status.code().unwrap_or(1)) }
}

fn report(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("cargo anymetal: {message}");
            ExitCode::FAILURE
        }
    }
}
