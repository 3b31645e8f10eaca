//! `cargo xtask libmetal`: builds `libMetal.so` and puts it into a folder with headers for C, C++ and
//! Objective-C.
//!
//! `Metal/Metal.h` is written from the definitions of `objc2-metal` ([`declarations`] reads them,
//! [`header`] writes them as Objective-C); the other headers are our own, in
//! `interfaces/metal-abi/libmetal/include`.

mod constants;
mod declarations;
mod encoding;
mod header;
mod types;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use cargo_metadata::MetadataCommand;
use declarations::Declarations;

/// Where headers and library go by default, under the repository's root.
const PREFIX: &str = "target/libmetal";

/// Runs the tests. All packages are selected, so that the features of dependencies are those of the other
/// tests and nothing is built twice.
pub(crate) const TESTS: [&str; 7] =
    ["test", "--workspace", "--locked", "--features", "anymetal-libmetal/clang-tests", "--test", "programs"];

/// Names under which programs link with parts of what is one library here, and open it.
const OTHER_NAMES: [&str; 10] = [
    "BlocksRuntime",
    "CoreFoundation",
    "CoreGraphics",
    "Foundation",
    "MTLCompiler",
    "MetalPerformanceShaders",
    "QuartzCore",
    "System",
    "dispatch",
    "objc",
];

/// What `anymetal doctor --program` takes the names from that Apple declares.
pub(crate) const DECLARED: &str = "interfaces/metal-abi/inventory/declared.txt";

/// Writes [`DECLARED`].
pub(crate) fn write_declared(root: &Path) -> Result<(), String> {
    let names = declared(root).map_err(|error| error.to_string())?;
    fs::write(root.join(DECLARED), names).map_err(|error| format!("{DECLARED}: {error}"))
}

/// Builds and installs; the arguments are `--prefix FOLDER` and `--release`, or `--library FILE` to install a
/// library that was built before.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<PathBuf, String> {
    let mut prefix = root.join(PREFIX);
    let mut profile = "debug";
    let mut library = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match *argument {
            "--release" => profile = "release",
            "--prefix" => prefix = rest.next().map(PathBuf::from).ok_or("--prefix wants a folder")?,
            "--library" => library = Some(rest.next().map(PathBuf::from).ok_or("--library wants a file")?),
            other => {
                let options = "--prefix FOLDER, --library FILE and --release";
                return Err(format!("{other} is not understood: {options} are"));
            }
        }
    }
    install_headers(root, &prefix).map_err(|error| format!("{}: {error}", prefix.display()))?;
    let library = library.map_or_else(|| build_library(root, profile), Ok)?;
    let folder = prefix.join("lib");
    install_library(&library, &folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(prefix)
}

/// The library's file.
fn build_library(root: &Path, profile: &str) -> Result<PathBuf, String> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "-p", "anymetal-libmetal"]).current_dir(root);
    if profile == "release" {
        command.arg("--release");
    }
    let status = command.status().map_err(|error| format!("cargo does not start: {error}"))?;
    if !status.success() {
        return Err("the library does not build".to_owned());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join(profile).join("libMetal.so"))
}

fn install_library(built: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    // A program that runs keeps the library that it has loaded.
    let library = folder.join("libMetal.so");
    let _absent = fs::remove_file(&library);
    fs::hard_link(built, &library).or_else(|_| fs::copy(built, &library).map(drop))?;
    // Links, not linker scripts: programs that open libraries at run time (Python's `ctypes`) read ELF
    // files, and the dynamic linker knows by the file that a name is of a library that it has.
    for name in OTHER_NAMES {
        let other = folder.join(format!("lib{name}.so"));
        let _absent = fs::remove_file(&other);
        std::os::unix::fs::symlink("libMetal.so", other)?;
    }
    Ok(())
}

/// The generated files of `objc2-metal`, in order, and what they declare.
fn read_declarations(root: &Path) -> io::Result<(Vec<PathBuf>, Declarations)> {
    let generated = objc2_metal(root).map_err(io::Error::other)?.join("src/generated");
    let mut files: Vec<PathBuf> =
        fs::read_dir(generated)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.sort();
    let mut declarations = Declarations::default();
    for file in &files {
        let text = fs::read_to_string(file)?;
        declarations.read(&text).map_err(|error| io::Error::other(format!("{}: {error}", file.display())))?;
    }
    Ok((files, declarations))
}

/// The names of Metal's classes and methods, and the methods of its protocols with their type encodings,
/// one on each line.
fn declared(root: &Path) -> io::Result<String> {
    let (_, declarations) = read_declarations(root)?;
    let interfaces = declarations.classes.values().chain(declarations.protocols.values());
    let methods = interfaces.flat_map(|interface| &interface.methods);
    let methods = methods.map(|method| format!("method {}\n", method.name()));
    let classes = declarations.classes.keys().map(|name| format!("class {name}\n"));
    let encodings = encoding::Encodings::new(&declarations);
    let protocols = declarations.protocols.iter().flat_map(|(name, protocol)| {
        let of_instances = protocol.methods.iter().filter(|method| !method.of_class);
        let encodings = &encodings;
        of_instances.map(move |method| {
            let (selector, types) = (method.name(), encodings.method(method));
            let required = if method.is_optional { "optional" } else { "required" };
            format!("protocol {name} {required} {selector} {types}\n")
        })
    });
    Ok(classes.chain(methods).chain(protocols).collect::<BTreeSet<String>>().into_iter().collect())
}

fn install_headers(root: &Path, prefix: &Path) -> io::Result<()> {
    let include = prefix.join("include");
    copy_all(&root.join("interfaces/metal-abi/libmetal/include"), &include)?;
    let (files, declarations) = read_declarations(root)?;
    fs::create_dir_all(include.join("Metal"))?;
    fs::write(include.join("Metal/Metal.h"), header::write(&declarations))?;
    for file in &files {
        let Some(name) =
            file.file_stem().and_then(|name| name.to_str()).filter(|name| name.starts_with("MTL"))
        else {
            continue;
        };
        fs::write(include.join(format!("Metal/{name}.h")), "#import <Metal/Metal.h>\n")?;
    }
    Ok(())
}

/// The folder of the `objc2-metal` that the workspace's lock file names.
fn objc2_metal(root: &Path) -> Result<PathBuf, String> {
    let metadata = MetadataCommand::new().current_dir(root).exec().map_err(|error| error.to_string())?;
    let package = metadata.packages.iter().find(|package| package.name.as_str() == "objc2-metal");
    let package = package.ok_or("the workspace does not depend on objc2-metal")?;
    let folder = package.manifest_path.parent().ok_or("its manifest has no folder")?;
    Ok(folder.to_path_buf().into_std_path_buf())
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_all(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
