//! `cargo xtask c-library PREFIX`: builds the C library and installs it under a folder: header,
//! shared library, pkg-config file.

use std::io;
use std::path::Path;
use std::process::Command;

/// Does it; false if the build failed.
pub(crate) fn install(root: &Path, prefix: &Path) -> io::Result<bool> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--release", "--locked", "-p", "anymetal-c-api"]).current_dir(root);
    if !build.status()?.success() {
        return Ok(false);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let (include, lib) = (prefix.join("include"), prefix.join("lib"));
    let packages = lib.join("pkgconfig");
    std::fs::create_dir_all(&include)?;
    std::fs::create_dir_all(&packages)?;
    let source = root.join("interfaces/c-api");
    std::fs::copy(source.join("include/anymetal.h"), include.join("anymetal.h"))?;
    std::fs::copy(target.join("release/libanymetal_c.so"), lib.join("libanymetal_c.so"))?;
    let prefix = std::path::absolute(prefix)?;
    let package = std::fs::read_to_string(source.join("anymetal.pc.in"))?
        .replace("@prefix@", &prefix.to_string_lossy())
        .replace("@version@", env!("CARGO_PKG_VERSION"));
    std::fs::write(packages.join("anymetal.pc"), package)?;
    println!("installed under {}", prefix.display());
    Ok(true)
}
