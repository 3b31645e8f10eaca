//! What cargo is told on its command line.

use std::ffi::OsString;

use crate::shim::Shim;

/// The cargo that started this program, or the one on the path.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The settings that put the changed crate in its place. The compiler in anymetal is compiled with
/// optimisation in development builds too: it is a dependency, and slow without.
pub(crate) fn of(shim: &Shim) -> Vec<String> {
    let path = shim.folder.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    vec![
        "--config".to_owned(),
        format!("patch.crates-io.objc2-metal.path=\"{path}\""),
        "--config".to_owned(),
        "profile.dev.package.\"*\".opt-level=2".to_owned(),
    ]
}
