//! Packs what a machine with a GPU and without a toolchain needs to test and measure.
//!
//! | part of `target/gpu/` | what |
//! |---|---|
//! | `libLLVM.so.xz` | the toolchain's libLLVM |
//! | `programs.tar.xz` | stripped test programs, the `anymetal` command, sources of kernels |
//! | `run.sh` | unpacks them, runs each test by itself, and writes one report |
//!
//! Test programs name files by the path of the repository that they were built in; `run.sh` puts a link
//! there. Crates with kernels are found through a script named `cargo` that prints metadata saved here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cargo_metadata::{Message, MetadataCommand};

/// All parts together have at most so many bytes.
const MAX_BYTES: u64 = 60_000_000;

/// Test programs: the package, the option that selects it, and the name of the target.
const TESTS: [(&str, &[&str], &str); 3] = [
    ("anymetal-nvidia", &["--lib"], "anymetal_nvidia"),
    ("anymetal-conformance", &["--test", "exec"], "exec"),
    ("anymetal-conformance", &["--test", "conformance"], "conformance"),
];

/// Folders and files that test programs read, from the repository's root.
const READ: [&str; 4] = [
    "tests/exec",
    "testing/conformance/expectations.toml",
    "testing/corpora",
    "interfaces/cli/src/demo/kernels",
];

/// The crates whose kernels tests compile, and the kinds of files that they need of them.
const CORPORA: [&str; 4] = ["candle-metal-kernels", "llama-cpp-sys-2", "metal", "whisper-rs-sys"];
const KERNEL_FILES: [&str; 3] = ["metal", "h", "metalh"];
/// Stands for the folder of the package in the saved metadata.
const HERE: &str = "@HERE@";

/// Makes the package; says how many bytes it has.
pub(crate) fn pack(root: &Path) -> Result<u64, String> {
    let target = root.join("target/gpu");
    let staging = target.join("programs");
    if staging.exists() {
        fs::remove_dir_all(&staging).map_err(|error| at(&staging, &error))?;
    }
    for (package, select, name) in TESTS {
        let arguments = [&["test", "--no-run", "-p", package], select].concat();
        program(root, &arguments, name, &staging.join("bin").join(name))?;
    }
    let command = ["build", "--release", "-p", "anymetal-cli", "--bin", "anymetal"];
    program(root, &command, "anymetal", &staging.join("bin/anymetal"))?;
    for path in READ {
        copy(&root.join(path), &staging.join("root").join(path), &|_| true)?;
    }
    corpora(root, &staging)?;
    write(&staging.join("root.txt"), &root.display().to_string())?;
    compress_programs(&target)?;
    compress_llvm(&target)?;
    write(&target.join("run.sh"), include_str!("gpu/run.sh"))?;
    let parts = ["programs.tar.xz", "libLLVM.so.xz", "run.sh"].map(|name| target.join(name));
    let bytes = parts.iter().map(|part| fs::metadata(part).map_or(0, |metadata| metadata.len())).sum();
    if bytes > MAX_BYTES {
        return Err(format!("the package has {bytes} bytes, more than {MAX_BYTES}"));
    }
    Ok(bytes)
}

fn at(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| at(folder, &error))?;
    }
    fs::write(path, text).map_err(|error| at(path, &error))
}

/// Builds a program and puts it there without symbols.
fn program(root: &Path, arguments: &[&str], name: &str, to: &Path) -> Result<(), String> {
    let mut build = Command::new(env!("CARGO"));
    build.args(arguments).args(["--locked", "--message-format", "json-render-diagnostics"]);
    let output = build.current_dir(root).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cargo does not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo {} fails", arguments.join(" ")));
    }
    let executable = Message::parse_stream(&*output.stdout).filter_map(Result::ok).find_map(|message| {
        let Message::CompilerArtifact(artifact) = message else { return None };
        artifact.executable.filter(|_| artifact.target.name == name)
    });
    let executable = executable.ok_or_else(|| format!("cargo made no program `{name}`"))?;
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(|error| at(folder, &error))?;
    }
    run(Command::new("strip").arg("-o").arg(to).arg(executable))
}

fn run(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("{} fails", command.get_program().display())),
        Err(error) => Err(format!("{} does not start: {error}", command.get_program().display())),
    }
}

/// Copies a file, or the files of a folder that are wanted.
fn copy(from: &Path, to: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<(), String> {
    if from.is_dir() {
        for entry in fs::read_dir(from).map_err(|error| at(from, &error))? {
            let entry = entry.map_err(|error| at(from, &error))?;
            copy(&entry.path(), &to.join(entry.file_name()), wanted)?;
        }
        return Ok(());
    }
    if !wanted(from) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(|error| at(folder, &error))?;
    }
    fs::copy(from, to).map(drop).map_err(|error| at(from, &error))
}

/// The kernels of the corpora, and what `cargo metadata` says of them.
fn corpora(root: &Path, staging: &Path) -> Result<(), String> {
    let mut command = MetadataCommand::new();
    command.manifest_path(root.join("testing/corpora/Cargo.toml"));
    command.other_options(vec!["--locked".to_owned()]);
    let output = command.cargo_command().output();
    let output = output.map_err(|error| format!("cargo does not start: {error}"))?;
    let mut text = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
    let metadata = MetadataCommand::parse(&text).map_err(|error| error.to_string())?;
    for name in CORPORA {
        let package = metadata.packages.iter().find(|package| package.name.as_str() == name);
        let manifest = &package.ok_or_else(|| format!("testing/corpora has no `{name}`"))?.manifest_path;
        let folder = manifest.parent().ok_or_else(|| format!("{manifest} has no folder"))?;
        let is_kernel_file = |path: &Path| {
            path.extension().is_some_and(|extension| KERNEL_FILES.iter().any(|kind| extension == *kind))
        };
        let packed = PathBuf::from("corpora").join(name);
        copy(folder.as_std_path(), &staging.join(&packed), &is_kernel_file)?;
        text = text.replace(folder.as_str(), &format!("{HERE}/{}", packed.display()));
    }
    write(&staging.join("metadata.json"), &text)?;
    let script = format!(
        "#!/bin/sh\n# Stands for cargo: prints the metadata saved with the package.\n\
         here=$(cd \"$(dirname \"$0\")/..\" && pwd)\nexec sed \"s|{HERE}|$here|g\" \"$here/metadata.json\"\n"
    );
    let path = staging.join("bin/cargo");
    write(&path, &script)?;
    run(Command::new("chmod").arg("+x").arg(&path))
}

fn compress_programs(target: &Path) -> Result<(), String> {
    let mut tar = Command::new("tar");
    tar.env("XZ_OPT", "-9").arg("-cJf").arg(target.join("programs.tar.xz"));
    run(tar.arg("-C").arg(target).arg("programs"))
}

/// The library changes with the toolchain only, and takes minutes.
fn compress_llvm(target: &Path) -> Result<(), String> {
    let packed = target.join("libLLVM.so.xz");
    let library = toolchain_llvm()?;
    let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    if modified(&packed).is_some_and(|packed| modified(&library).is_some_and(|library| packed > library)) {
        return Ok(());
    }
    let whole = target.join("libLLVM.so.xz.new");
    let output = fs::File::create(&whole).map_err(|error| at(&whole, &error))?;
    run(Command::new("xz").args(["-9", "-c"]).arg(&library).stdout(output))?;
    fs::rename(&whole, &packed).map_err(|error| at(&packed, &error))
}

/// The toolchain's libLLVM: the largest of its libraries of that name, since others are linker scripts.
fn toolchain_llvm() -> Result<PathBuf, String> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output();
    let output = output.map_err(|error| format!("rustc does not start: {error}"))?;
    let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let folder = Path::new(&sysroot).join("lib");
    let entries = fs::read_dir(&folder).map_err(|error| at(&folder, &error))?;
    let is_llvm = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("libLLVM");
    let libraries = entries.filter_map(Result::ok).filter(is_llvm);
    let libraries = libraries.filter_map(|entry| Some((entry.metadata().ok()?.len(), entry.path())));
    let (_, path) = libraries.max().ok_or_else(|| format!("no libLLVM in {}", folder.display()))?;
    Ok(path)
}
