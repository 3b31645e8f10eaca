//! The layers of the workspace: which crate may use which.
//!
//! A crate may use every crate of the layers below its own, and those that its own folder lists before it.
//! The two seams depend on it: compile without a device, execute without a compiler. Development dependencies
//! are exempt, because tests may reach everything. A new crate is added to [`LAYERS`] in the same change.
//! `cargo xtask gen` draws the layers in `ARCHITECTURE.md` ([`diagram`]).

pub(crate) mod diagram;

use std::collections::BTreeSet;
use std::path::Path;

use cargo_metadata::camino::Utf8Path;
use cargo_metadata::{DependencyKind, MetadataCommand};

/// A folder of crates, in the order in which they may use each other. The empty name is the crate that is
/// the folder itself.
struct Folder {
    name: &'static str,
    crates: &'static [&'static str],
}

const fn folder(name: &'static str, crates: &'static [&'static str]) -> Folder {
    Folder { name, crates }
}

/// The layers from the bottom up. Folders of the same layer do not use each other.
const LAYERS: &[&[Folder]] = &[
    &[folder("runtime", &["abi", "types", "environment", "files", "isolate", "telemetry", "hal", "core"])],
    &[
        folder("devices", &["testing", "cpu", "isolated", "nvidia", "apple"]),
        folder(
            "compiler",
            &[
                "diagnostics",
                "ir",
                "analysis",
                "opt",
                "interp",
                "analyze",
                "sanitizer",
                "msl",
                "translate",
                "simd",
                "codegen",
                "llvm",
                "driver",
            ],
        ),
    ],
    &[folder("anymetal", &["macros", ""])],
    &[
        folder("libraries", &["host-gemm", "tensor-ops"]),
        folder("service", &["policy", "audit", "telemetry-export", "health", ""]),
    ],
    &[folder("tools", &["bench-peers"])],
    &[folder("interfaces", &["c-api", "python", "metal-abi", "metal-abi/libmetal", "cargo-anymetal", "cli"])],
];

/// Folders above all layers: they may use everything, and nothing outside them may use them.
const ABOVE: &[&str] = &["testing", "xtask"];

/// Crates that may use less than their layer allows. A name that ends in `/` means all crates of the folder.
const NARROWER: &[(&str, &[&str])] = &[
    // A device gets artifacts and commands, and knows nothing of the execution layer.
    ("devices/cpu", DEVICE),
    ("devices/nvidia", DEVICE),
    // The worker has a CPU device.
    ("devices/isolated", &["runtime/hal", "runtime/isolate", "devices/cpu"]),
    ("devices/apple", DEVICE),
    // The only crate that knows LLVM is given text.
    ("compiler/llvm", &["runtime/environment"]),
    // Processes and messages; their meaning is that of the crates above.
    ("runtime/isolate", &["runtime/environment"]),
    ("anymetal/macros", &[]),
    // Clients of the facade, like any other program.
    ("libraries/", &["libraries/", "anymetal"]),
    ("interfaces/c-api", &["anymetal", "service"]),
    ("interfaces/cargo-anymetal", &["runtime/environment"]),
];

/// What a device may use.
const DEVICE: &[&str] = &["runtime/abi", "runtime/types", "runtime/environment", "runtime/hal"];

/// A dependency for building or running, as the folders of the two crates.
type Edge = (String, String);

/// The dependencies that break a rule, or why they could not be read.
pub(crate) fn check(root: &Path) -> Vec<String> {
    match edges(root) {
        Ok(edges) => violations(&edges),
        Err(error) => vec![error],
    }
}

/// All dependencies between crates of the workspace.
fn edges(root: &Path) -> Result<BTreeSet<Edge>, String> {
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec();
    let metadata = metadata.map_err(|error| format!("Cargo.toml: cargo metadata failed: {error}"))?;
    let shown = |path: &Utf8Path| {
        let relative = path.strip_prefix(&metadata.workspace_root).expect("members are below the root");
        relative.as_str().replace('\\', "/")
    };
    let of_package = |package: &cargo_metadata::Package| {
        let from = shown(package.manifest_path.parent().expect("a manifest is in a folder"));
        let used = package.dependencies.iter().filter(|used| used.kind != DependencyKind::Development);
        used.filter_map(|used| Some((from.clone(), shown(used.path.as_deref()?)))).collect::<Vec<_>>()
    };
    Ok(metadata.packages.iter().flat_map(of_package).collect())
}

/// Where a crate is in [`LAYERS`]: the layer, the folder, and the position within it.
struct Place {
    layer: usize,
    folder: &'static str,
    position: usize,
}

impl Place {
    fn of(krate: &str) -> Option<Self> {
        let (folder, name) = krate.split_once('/').unwrap_or((krate, ""));
        LAYERS.iter().enumerate().find_map(|(layer, folders)| {
            let found = folders.iter().find(|listed| listed.name == folder)?;
            let position = found.crates.iter().position(|listed| *listed == name)?;
            Some(Place { layer, folder: found.name, position })
        })
    }
}

fn is_above(krate: &str) -> bool {
    ABOVE.contains(&krate.split('/').next().unwrap_or(krate))
}

/// The rule that a dependency breaks.
fn broken_rule((from, to): &Edge) -> Option<&'static str> {
    const UNLISTED: &str = "which is not in the table of layers";
    if is_above(from) {
        return None;
    }
    let (Some(user), Some(used)) = (Place::of(from), Place::of(to)) else {
        return Some(UNLISTED);
    };
    let is_below = used.layer < user.layer;
    if !is_below && !(used.folder == user.folder && used.position < user.position) {
        return Some("which is not below it");
    }
    let is = |krate: &str, row: &str| krate == row || (row.ends_with('/') && krate.starts_with(row));
    let mut narrower = NARROWER.iter().filter(|(row, _)| is(from, row));
    let is_allowed = narrower.all(|(_, allowed)| allowed.iter().any(|row| is(to, row)));
    (!is_allowed).then_some("which its row in `NARROWER` excludes")
}

fn violations(edges: &BTreeSet<Edge>) -> Vec<String> {
    let broken = |edge: &Edge| {
        let rule = broken_rule(edge)?;
        Some(format!("{}: must not depend on {}, {rule} (xtask/src/layers.rs)", edge.0, edge.1))
    };
    edges.iter().filter_map(broken).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(from: &str, to: &str) -> Option<&'static str> {
        broken_rule(&(from.to_owned(), to.to_owned()))
    }

    #[test]
    fn the_workspace_keeps_to_the_table() {
        assert_eq!(check(&crate::workspace_root()), Vec::<String>::new());
    }

    #[test]
    fn lower_layers_and_earlier_crates_may_be_used() {
        for (from, to) in [
            ("compiler/ir", "compiler/diagnostics"),
            ("compiler/driver", "runtime/hal"),
            ("devices/testing", "runtime/core"),
            ("tools/bench-peers", "libraries/host-gemm"),
            ("interfaces/metal-abi/libmetal", "interfaces/metal-abi"),
            ("anymetal", "devices/cpu"),
            ("anymetal", "anymetal/macros"),
            ("interfaces/cli", "runtime/telemetry"),
            ("testing/misuse", "interfaces/c-api"),
            ("xtask", "compiler/ir"),
        ] {
            assert_eq!(rule(from, to), None, "{from} → {to}");
        }
    }

    #[test]
    fn arrows_upwards_and_sideways_are_found() {
        for (from, to) in [
            ("compiler/ir", "compiler/llvm"),
            ("runtime/core", "devices/cpu"),
            ("devices/cpu", "compiler/ir"),
            ("compiler/driver", "devices/cpu"),
            ("anymetal", "interfaces/cli"),
            ("libraries/tensor-ops", "service/policy"),
            ("anymetal", "testing/harness"),
            ("anymetal", "xtask"),
        ] {
            assert!(rule(from, to).is_some(), "{from} → {to}");
        }
    }

    #[test]
    fn narrower_rows_are_kept() {
        for (from, to) in [
            ("devices/cpu", "runtime/core"),
            ("compiler/llvm", "compiler/ir"),
            ("anymetal/macros", "compiler/msl"),
            ("libraries/tensor-ops", "runtime/core"),
            ("interfaces/c-api", "runtime/hal"),
        ] {
            assert!(rule(from, to).is_some(), "{from} → {to}");
        }
    }

    #[test]
    fn a_crate_that_is_not_listed_is_found() {
        assert!(rule("compiler/new", "compiler/ir").is_some());
        assert!(rule("compiler/driver", "compiler/new").is_some());
    }
}
