//! Satisfies the libraries that `objc2`, `objc2-foundation`, `dispatch2`, `block` and `metal` name on the
//! linker's command line: their symbols are in this crate, so empty linker scripts stand in for them.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::{env, fs, io};

const LIBRARIES: [&str; 5] = ["objc", "gnustep-base", "dispatch", "BlocksRuntime", "System"];

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let (Some(folder), Ok(vendor)) = (env::var_os("OUT_DIR"), env::var("CARGO_CFG_TARGET_VENDOR")) else {
        return Err(io::Error::other("cargo did not say where to write or for what"));
    };
    if vendor == "apple" {
        return Ok(());
    }
    let folder = PathBuf::from(folder);
    for library in LIBRARIES {
        fs::write(folder.join(format!("lib{library}.so")), "/* The symbols are in anymetal-metal-abi. */\n")?;
    }
    println!("cargo:rustc-link-search=native={}", folder.display());
    Ok(())
}
