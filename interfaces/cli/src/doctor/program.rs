//! `anymetal doctor --program`: the parts of Metal's API that a program needs, and those that are missing.
//!
//! [`uses`] reads the program, [`inventory`] lists the parts that `interfaces/metal-abi` has. Nothing runs.

mod inventory;
mod uses;

use std::collections::BTreeSet;
use std::path::Path;

use super::finding::Finding;
use crate::failure::Failure;
use inventory::Inventory;
use uses::Uses;

const PART: &str = "program";

/// The most bytes of a program that are read.
const MAX_PROGRAM_BYTES: u64 = 4 << 30;

/// The findings about a program: a summary of each kind of use, then what is missing.
pub(super) fn check(path: &Path) -> Result<Vec<Finding>, Failure> {
    let bytes = anymetal_files::read(path, MAX_PROGRAM_BYTES)
        .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
    let inventory = Inventory::of_this_version();
    let uses = Uses::of(&bytes, &inventory).map_err(|problem| {
        Failure::Input(format!("{} is neither an ELF file nor text: {problem}", path.display()))
    })?;
    Ok(findings(&uses, &inventory))
}

fn findings(uses: &Uses, inventory: &Inventory) -> Vec<Finding> {
    let kinds = [
        (
            "functions and constants",
            "symbol",
            &uses.symbols,
            missing(&uses.symbols, |name| inventory.has_symbol(name)),
        ),
        ("classes", "class", &uses.classes, missing(&uses.classes, |name| inventory.has_class(name))),
        ("methods", "method", &uses.selectors, missing(&uses.selectors, |name| inventory.has_selector(name))),
    ];
    let summary = kinds.iter().map(|(kinds, _, used, missing)| {
        Finding::ok(PART, *kinds, format!("{} used, {} missing", used.len(), missing.len()))
    });
    let summary: Vec<Finding> = summary.collect();
    let missing =
        kinds.iter().flat_map(|(_, kind, _, missing)| missing.iter().map(|name| lack(kind, name, inventory)));
    summary.into_iter().chain(missing).collect()
}

fn missing(used: &BTreeSet<String>, is_there: impl Fn(&str) -> bool) -> Vec<&str> {
    used.iter().map(String::as_str).filter(|name| !is_there(name)).collect()
}

fn lack(kind: &str, name: &str, inventory: &Inventory) -> Finding {
    let (value, advice) = match kind {
        "method" if inventory.refuses(name) => {
            ("refused", "it returns an error of the kind Unsupported: only kernel functions run")
        }
        "symbol" => ("not exported", "the program does not link or load, unless another library has it"),
        "class" => ("not implemented", "a message to it fails with its name"),
        _ => ("no class has it", "a message with it fails with its name, if the program sends one"),
    };
    Finding::problem(PART, format!("{kind} {name}"), value, advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_counted_and_what_is_not_is_named() {
        let inventory = Inventory::of_this_version();
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
        let uses = Uses {
            symbols: set(&["objc_msgSend", "MTLCreateSystemDefaultDevice", "CGRectMake"]),
            classes: set(&["MTLCompileOptions", "MTLTensorDescriptor"]),
            selectors: set(&[
                "newCommandQueue",
                "newRenderPipelineStateWithDescriptor:error:",
                "parallelRenderCommandEncoderWithDescriptor:",
            ]),
        };
        let found = findings(&uses, &inventory);
        let lines: Vec<String> =
            found.iter().map(|found| format!("{}: {}", found.name, found.value)).collect();
        assert_eq!(
            lines,
            [
                "functions and constants: 3 used, 1 missing",
                "classes: 2 used, 1 missing",
                "methods: 3 used, 2 missing",
                "symbol CGRectMake: not exported",
                "class MTLTensorDescriptor: not implemented",
                "method newRenderPipelineStateWithDescriptor:error:: refused",
                "method parallelRenderCommandEncoderWithDescriptor:: no class has it",
            ]
        );
    }
}
