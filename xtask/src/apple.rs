//! Apple's device under tests: over Metal on a Mac, elsewhere over `interfaces/metal-abi`.
//!
//! The tests are a workspace of their own (`testing/apple`), because what they are patched with depends on
//! this one. They are built into this one's target folder, with this one's versions of what both use.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What type-checks the device for Macs. Needs `rustup target add` of the target, no SDK; the facade would
/// need a C compiler for it.
pub(crate) const TYPES: [&str; 6] =
    ["check", "--locked", "-p", "anymetal-apple", "--target", "aarch64-apple-darwin"];

/// What continuous integration compares: as many programs and kernels as take a minute.
pub(crate) const SAMPLE: [&str; 2] = ["--every", "400"];

/// Runs the device's unit tests and its tests, the runtime's tests on it, and the comparison with the CPU
/// device with those arguments; true if all passed.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let workspace = Workspace::prepare(root)?;
    Ok(workspace.cargo(&["test", "--test", "unit", "--test", "device", "--test", "runtime"])?
        && workspace.cargo(&[&["test", "--quiet", "--test", "compare", "--"], arguments].concat())?)
}

struct Workspace {
    folder: PathBuf,
    target: PathBuf,
    /// Settings of cargo that put the changed crates in their places; none on a Mac.
    patch: Vec<String>,
}

impl Workspace {
    fn prepare(root: &Path) -> Result<Self, String> {
        let (folder, target) = (root.join("testing/apple"), root.join("target"));
        let lock = std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"));
        lock.map_err(|error| format!("Cargo.lock cannot be copied: {error}"))?;
        let mut workspace = Workspace { folder, target, patch: Vec::new() };
        if !cfg!(target_vendor = "apple") {
            workspace.patch = workspace.shim(root)?;
        }
        Ok(workspace)
    }

    /// Makes the changed crates; gives the settings that put them in their places.
    fn shim(&self, root: &Path) -> Result<Vec<String>, String> {
        let manifest = root.join("Cargo.toml");
        let mut command = self.command();
        command.args(["run", "--quiet", "--manifest-path"]).arg(manifest);
        command.args(["-p", "cargo-anymetal", "--", "shim"]).stderr(Stdio::inherit());
        let output = command.output().map_err(|error| format!("cargo does not start: {error}"))?;
        if !output.status.success() {
            return Err("cargo anymetal shim fails".to_owned());
        }
        Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(&self.folder).env("CARGO_TARGET_DIR", &self.target);
        command
    }

    /// Runs cargo there; true if it succeeds.
    fn cargo(&self, arguments: &[&str]) -> Result<bool, String> {
        let mut command = self.command();
        command.args(arguments.first());
        command.args(self.patch.iter().flat_map(|patch| ["--config", patch]));
        let status = command.args(arguments.iter().skip(1)).status();
        status.map(|status| status.success()).map_err(|error| format!("cargo does not start: {error}"))
    }
}
