//! Which crate of the workspace may use which: the dependency diagram as a table.
//!
//! The two seams depend on it: compile without a device, execute without a compiler. A new crate is
//! added here in the same change that adds it. Development dependencies are free, since tests may
//! reach everything, but they are never a reason for a normal one.

use std::collections::BTreeMap;
use std::path::Path;

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Each crate with the crates of ours that it may depend on, in pipeline order.
const ALLOWED: &[(&str, &[&str])] = &[
    ("anymetal-diagnostics", &[]),
    // How files are opened, wherever one is read.
    ("anymetal-files", &[]),
    ("anymetal-ir", &["anymetal-diagnostics", "anymetal-abi"]),
    ("anymetal-analysis", &["anymetal-ir"]),
    ("anymetal-opt", &["anymetal-ir", "anymetal-analysis"]),
    // Names and functions that every layer records with.
    ("anymetal-telemetry", &[]),
    // Plain types that code generators, the interpreter and devices agree on.
    ("anymetal-abi", &[]),
    // The one reader of environment variables.
    ("anymetal-environment", &[]),
    // Formats, shapes, families.
    ("anymetal-types", &["anymetal-abi"]),
    ("anymetal-msl", &["anymetal-ir", "anymetal-opt", "anymetal-diagnostics", "anymetal-abi"]),
    ("anymetal-interp", &["anymetal-ir", "anymetal-analysis", "anymetal-abi"]),
    ("anymetal-sanitizer", &["anymetal-interp", "anymetal-ir"]),
    // What kernels do, from their IR; compares itself with runs of the interpreter.
    ("anymetal-analyze", &["anymetal-ir", "anymetal-analysis", "anymetal-interp"]),
    ("anymetal-llvm", &["anymetal-environment"]),
    // Processes and messages; what they are about is the compiler's.
    ("anymetal-isolate", &["anymetal-environment"]),
    ("anymetal-codegen", &["anymetal-ir", "anymetal-analysis", "anymetal-opt", "anymetal-abi"]),
    (
        "anymetal-driver",
        &[
            "anymetal-diagnostics",
            "anymetal-environment",
            "anymetal-files",
            "anymetal-ir",
            "anymetal-analysis",
            "anymetal-opt",
            "anymetal-msl",
            "anymetal-codegen",
            "anymetal-llvm",
            "anymetal-interp",
            "anymetal-analyze",
            "anymetal-sanitizer",
            "anymetal-hal",
            "anymetal-types",
            "anymetal-isolate",
            "anymetal-telemetry",
        ],
    ),
    ("anymetal-hal", &["anymetal-abi", "anymetal-types"]),
    // A device never sees ir, msl or llvm.
    ("anymetal-cpu", &["anymetal-environment", "anymetal-hal"]),
    ("anymetal-nvidia", &["anymetal-environment", "anymetal-hal", "anymetal-types"]),
    ("anymetal-apple", &["anymetal-hal", "anymetal-types"]),
    // Null, fault-injecting, recording and emulating devices.
    ("anymetal-testing", &["anymetal-core", "anymetal-hal", "anymetal-types"]),
    // Time and error classes; what is logged is the callers'.
    ("anymetal-audit", &["anymetal-files", "anymetal-hal"]),
    // Recovery policies know error classes and the clock, no work and no device.
    ("anymetal-policy", &["anymetal-hal"]),
    (
        "anymetal-core",
        &["anymetal-environment", "anymetal-files", "anymetal-hal", "anymetal-types", "anymetal-telemetry"],
    ),
    // What listens to telemetry.
    ("anymetal-telemetry-export", &["anymetal-hal", "anymetal-telemetry"]),
    ("anymetal-health", &["anymetal-hal", "anymetal-telemetry", "anymetal-telemetry-export"]),
    ("anymetal-translate", &["anymetal-diagnostics"]),
    ("anymetal-macros", &[]),
    // Products of matrices over slices.
    ("anymetal-host-gemm", &[]),
    // Nothing that listens, stores or posts: that is the service's, above it.
    (
        "anymetal",
        &[
            "anymetal-files",
            "anymetal-diagnostics",
            "anymetal-driver",
            "anymetal-environment",
            "anymetal-hal",
            "anymetal-testing",
            "anymetal-types",
            "anymetal-macros",
            "anymetal-core",
            "anymetal-cpu",
            "anymetal-nvidia",
            "anymetal-apple",
            "anymetal-telemetry",
        ],
    ),
    (
        "anymetal-service",
        &[
            "anymetal",
            "anymetal-audit",
            "anymetal-core",
            "anymetal-hal",
            "anymetal-health",
            "anymetal-policy",
            "anymetal-telemetry",
            "anymetal-telemetry-export",
        ],
    ),
    // A client like any other: what it does, a program that uses the crate can do.
    ("anymetal-tensor-ops", &["anymetal", "anymetal-host-gemm"]),
    // Compares itself with others; of ours it knows only the forms of two of them.
    ("anymetal-bench-peers", &["anymetal-host-gemm", "anymetal-nvidia"]),
    // The dashboard finds metrics by telemetry's names.
    (
        "anymetal-cli",
        &[
            "anymetal",
            "anymetal-audit",
            "anymetal-driver",
            "anymetal-environment",
            "anymetal-files",
            "anymetal-service",
            "anymetal-translate",
            "anymetal-bench-peers",
            "anymetal-telemetry",
        ],
    ),
    // Analysis is the compiler's.
    ("anymetal-python", &["anymetal", "anymetal-driver", "anymetal-service", "anymetal-tensor-ops"]),
    ("anymetal-c-api", &["anymetal", "anymetal-service"]),
    ("anymetal-metal-abi", &["anymetal", "anymetal-files"]),
    ("anymetal-libmetal", &["anymetal-metal-abi"]),
    // Makes copies of `objc2-metal` that link with metal-abi; itself uses nothing of ours.
    ("cargo-anymetal", &["anymetal-environment"]),
    // Generates the documents of diagnostics, passes and telemetry.
    ("xtask", &["anymetal-diagnostics", "anymetal-environment", "anymetal-opt", "anymetal-telemetry"]),
];

/// The folder of the crates that only test. They may use everything, and nothing outside may use them.
const TESTING: &str = "testing/";

/// Each crate outside [`TESTING`] with the crates of ours that it depends on for building or running.
type Edges = BTreeMap<String, Vec<String>>;

/// What breaks the table, or why the dependencies could not be read.
pub(crate) fn check(root: &Path) -> Vec<String> {
    match edges(root) {
        Ok(edges) => violations(&edges),
        Err(error) => vec![format!("Cargo.toml: cargo metadata failed: {error}")],
    }
}

fn edges(root: &Path) -> Result<Edges, cargo_metadata::Error> {
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
    let ours = |dependency: &&cargo_metadata::Dependency| {
        dependency.path.is_some() && dependency.kind != DependencyKind::Development
    };
    let of = |package: &cargo_metadata::Package| {
        let dependencies = package.dependencies.iter().filter(ours).map(|dependency| dependency.name.clone());
        (package.name.to_string(), dependencies.collect())
    };
    let testing = metadata.workspace_root.join(TESTING);
    let shipped = metadata.packages.iter().filter(|package| !package.manifest_path.starts_with(&testing));
    Ok(shipped.map(of).collect())
}

fn violations(edges: &Edges) -> Vec<String> {
    let mut found = Vec::new();
    for (name, dependencies) in edges {
        let Some((_, allowed)) = ALLOWED.iter().find(|(listed, _)| listed == name) else {
            found.push(format!("{name}: not in the table of allowed dependencies (xtask/src/arrows.rs)"));
            continue;
        };
        for dependency in dependencies {
            let target = dependency.as_str();
            if !allowed.contains(&target) {
                found.push(format!("{name}: must not depend on {target} (xtask/src/arrows.rs)"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, dependency: &str) -> Vec<String> {
        violations(&Edges::from([(name.to_owned(), vec![dependency.to_owned()])]))
    }

    #[test]
    fn the_workspace_keeps_to_the_table() {
        assert_eq!(check(&crate::workspace_root()), Vec::<String>::new());
    }

    #[test]
    fn forbidden_arrows_are_found() {
        assert!(found("anymetal-ir", "anymetal-diagnostics").is_empty());
        assert!(found("anymetal", "anymetal-cpu").is_empty());
        assert_eq!(found("anymetal-ir", "anymetal-llvm").len(), 1);
        assert_eq!(found("anymetal-core", "anymetal-cpu").len(), 1);
        assert_eq!(found("anymetal-cpu", "anymetal-ir").len(), 1);
        assert_eq!(found("anymetal", "anymetal-cli").len(), 1);
        assert_eq!(found("anymetal", "anymetal-health").len(), 1);
        assert_eq!(found("anymetal-core", "anymetal-policy").len(), 1);
        assert_eq!(found("anymetal-metal-abi", "anymetal-service").len(), 1);
        assert_eq!(found("anymetal-new", "anymetal-ir").len(), 1);
        assert_eq!(found("anymetal", "anymetal-harness").len(), 1);
    }

    #[test]
    fn the_table_has_no_cycle() {
        for (name, allowed) in ALLOWED {
            let mut reached: Vec<&str> = allowed.to_vec();
            let mut next = 0;
            while let Some(other) = reached.get(next).copied() {
                assert_ne!(other, *name, "{name} reaches itself");
                let at = ALLOWED.iter().position(|(listed, _)| *listed == other);
                let at = at.expect("the table lists what it allows");
                let more = ALLOWED[at].1.iter();
                reached.extend(more.copied().filter(|more| !reached.contains(more)).collect::<Vec<_>>());
                next += 1;
            }
        }
    }
}
