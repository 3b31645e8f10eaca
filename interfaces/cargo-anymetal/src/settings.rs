//! What cargo is told on its command line.

use std::ffi::OsString;

use crate::shim::{ChangedCrate, Shim};

/// The cargo that started this program, or the one on the path.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The settings that put the changed crates in their places.
pub(crate) fn patch(shim: &Shim) -> Vec<String> {
    let of_crate = |changed: &ChangedCrate| {
        let path = changed.folder.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
        ["--config".to_owned(), format!("patch.crates-io.{}.path=\"{path}\"", changed.name)]
    };
    shim.crates.iter().flat_map(of_crate).collect()
}

/// The settings that have the compiler in anymetal optimised in development builds too: it is a
/// dependency, and slow without.
pub(crate) const OPTIMISE: [&str; 2] = ["--config", "profile.dev.package.\"*\".opt-level=2"];
