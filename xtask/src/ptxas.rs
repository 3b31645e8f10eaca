//! NVIDIA's assembler from its wheel, and the program that has it judge our PTX.
//!
//! The assembler is proprietary and no part of this repository: it is downloaded into `target/` once, and its
//! hash compared. It needs no GPU. `ANYMETAL_PTXAS` names another one.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The wheel's version: what the driver of CUDA 13.0 compiles with.
const VERSION: &str = "13.0.88";
/// SHA-256 of the wheel for x86-64, as the package index has it.
const WHEEL_SHA256: &str = "56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03";
/// The assembler within the wheel.
const MEMBER: &str = "nvidia/cu13/bin/ptxas";

/// What continuous integration assembles of the corpora: every so many-th kernel.
pub(crate) const SAMPLE: [&str; 2] = ["--every", "320"];

/// Builds the program and runs it with those arguments; true if all kernels were assembled.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--locked", "-p", "anymetal-conformance", "--bin", "ptxas", "--"]);
    assemble(root, cargo, arguments)
}

/// The same with the program as it was built before.
pub(crate) fn run_program(root: &Path, program: &Path, arguments: &[&str]) -> Result<bool, String> {
    assemble(root, Command::new(program), arguments)
}

fn assemble(root: &Path, mut command: Command, arguments: &[&str]) -> Result<bool, String> {
    command.arg("--assembler").arg(assembler(root)?).args(arguments).current_dir(root);
    let started = command.status();
    let told = |error| format!("{} does not start: {error}", command.get_program().display());
    started.map(|status| status.success()).map_err(told)
}

/// The assembler: named by the environment, there already, or downloaded now.
fn assembler(root: &Path) -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("ANYMETAL_PTXAS") {
        return Ok(PathBuf::from(path));
    }
    let folder = root.join("target/ptxas").join(VERSION);
    let path = folder.join(MEMBER);
    if !path.exists() {
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let requirements = folder.join("requirements.txt");
        let requirement = format!("nvidia-cuda-nvcc=={VERSION} --hash=sha256:{WHEEL_SHA256}\n");
        std::fs::write(&requirements, requirement).map_err(|error| error.to_string())?;
        let pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"];
        python(&folder, &[&pip[..], &["--only-binary=:all:", "-r", "requirements.txt"]].concat())?;
        python(&folder, &["-m", "zipfile", "-e", &wheel(&folder)?, "."])?;
        make_executable(&path)?;
    }
    Ok(path)
}

/// The name of the downloaded wheel.
fn wheel(folder: &Path) -> Result<String, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.into_iter().find(|name| name.ends_with(".whl")).ok_or_else(|| "pip left no wheel".to_owned())
}

fn python(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    match Command::new("python3").args(arguments).current_dir(folder).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("python3 {} fails", arguments.join(" "))),
        Err(error) => Err(format!("python3 does not start: {error}")),
    }
}

/// Archives of that kind carry no permissions that Python restores.
#[cfg(unix)]
fn make_executable(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    let permissions = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, permissions).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> Result<(), String> {
    Ok(())
}
