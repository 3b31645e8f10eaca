//! What cargo is told on its command line.

use std::ffi::OsString;
use std::process::Command;

use crate::shim::{ChangedCrate, Shim};

/// The cargo that started this program, or the one on the path.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The settings that put the changed crates in their places, as lines of a configuration file of cargo and
/// values of its `--config`. Their keys differ, because a program may depend on several versions of a crate.
pub(crate) fn patch(shim: &Shim) -> Vec<String> {
    let of_crate = |(number, changed): (usize, &ChangedCrate)| {
        let path = changed.folder.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
        let (name, key) = (&changed.name, format!("patch.crates-io.anymetal-{number}"));
        [format!("{key}.package=\"{name}\""), format!("{key}.path=\"{path}\"")]
    };
    shim.crates.iter().enumerate().flat_map(of_crate).collect()
}

/// Adds settings to the arguments of cargo.
pub(crate) fn configure(command: &mut Command, settings: &[String]) {
    command.args(settings.iter().flat_map(|setting| ["--config", setting]));
}

/// The settings that have the compiler in anymetal optimised in development builds too: it is a
/// dependency, and slow without.
pub(crate) const OPTIMISE: [&str; 2] = ["--config", "profile.dev.package.\"*\".opt-level=2"];
