//! The document of the passes and of the code generator's features, made from their lists and from the
//! measurements of `cargo xtask ledger`.

use std::fmt::Write as _;

use anymetal_opt::pipeline::{ALL, PIPELINES, PREPARE};
use anymetal_opt::{Feature, Step};

use crate::ledger::results::{Results, SETS};
use crate::source_tree::SourceFile;

const HEAD: &str = "\
# Passes

<!-- Made by `cargo xtask gen` from compiler/opt/src/{pipeline,feature}.rs and xtask/ledger/results.json. -->

Which passes run over a kernel's IR, in order. `anymetal compile FILE.metal -k KERNEL --print-after PASS|all`
prints the IR after one, `--emit ir` after the last. In builds with debug assertions the verifier runs after
each and names the pass that broke a rule. [How to add one](../how-to/add-a-pass.md),
[how to find the one that breaks a kernel](../how-to/find-a-miscompile.md).

`-O0`, `-O1` and `-O2` (the default) of `compile` and `run` choose the passes by their level. A
pass of level 0 is required: the code generators rely on what it does. `--disable-pass PASS` leaves out any
other, and `--disable-pass codegen:FEATURE` switches off a special case of the CPU's code generator.

## Every target, over the module

";

const LIST: &str = "
## The ledger

What each pass and each feature of the CPU's code generator costs and gains. The columns of the sets are the
run time without it over the run time with it, as a geometric mean over the kernels whose code differs without
it: more than 1 is a gain. \"same code\" means that the code of no kernel of the set differs.
`xtask/ledger` has the kernels and the measurements, and `cargo xtask ledger` makes them. A pass or feature
that gains less than 10 % on two unrelated third-party kernels is to be deleted.

";

/// `docs/reference/passes.md`.
pub(crate) fn document(results: &Results, files: &[SourceFile]) -> String {
    let mut text = HEAD.to_owned();
    for (number, pass) in PREPARE.iter().enumerate() {
        let _ = writeln!(text, "{}. `{}`: {}", number + 1, pass.name, pass.summary);
    }
    for (name, steps) in PIPELINES {
        let _ = writeln!(text, "\n## Pipeline: {name}\n");
        list(steps, 0, &mut text);
    }
    text.push_str(LIST);
    let _ = match results.description.as_str() {
        "" => writeln!(text, "No measurements are recorded yet.\n"),
        description => writeln!(text, "Measured with {description}.\n"),
    };
    let sets: Vec<&str> = SETS.iter().map(|(_, name)| *name).collect();
    let columns = sets.join(" | ");
    let rule = "---|".repeat(sets.len());
    text.push_str("### Passes\n\n");
    let _ = writeln!(text, "| pass | level | what it does | lines | {columns} |\n|---|---|---|---:|{rule}");
    for pass in ALL {
        let (name, level, summary) = (pass.name, pass.level, pass.summary);
        let (file, lines) =
            (file_of(pass.name, files), lines_below(&format!("compiler/opt/src/{name}"), files));
        let gains = match pass.is_required() {
            true => vec!["required".to_owned(); sets.len()],
            false => gains(results, name),
        };
        let gains = gains.join(" | ");
        let _ = writeln!(text, "| [`{name}`](../../{file}) | {level} | {summary} | {lines} | {gains} |");
    }
    text.push_str("\n### Features of the CPU's code generator\n\n");
    let _ = writeln!(text, "| feature | what it does | lines | {columns} |\n|---|---|---:|{rule}");
    for feature in Feature::ALL {
        let own = |file: &&str| lines_below(&format!("compiler/{file}"), files);
        let lines: usize = feature.files().iter().map(own).sum();
        let lines = if lines == 0 { "shared".to_owned() } else { lines.to_string() };
        let (name, gains) = (feature.name(), gains(results, feature.name()).join(" | "));
        let _ = writeln!(text, "| `{name}` | {} | {lines} | {gains} |", feature.summary());
    }
    text
}

/// The gain of a pass or feature on each set.
fn gains(results: &Results, switch: &str) -> Vec<String> {
    SETS.iter().map(|(set, _)| results.mean(switch, set).to_string()).collect()
}

/// Lines of a module or file: with and without a folder of its name.
fn lines_below(path: &str, files: &[SourceFile]) -> usize {
    let (folder, file) = (format!("{path}/"), format!("{path}.rs"));
    let is_own =
        |known: &&SourceFile| known.path == path || known.path == file || known.path.starts_with(&folder);
    files.iter().filter(is_own).map(|file| file.text.lines().count()).sum()
}

/// A pass is a file or a folder.
fn file_of(pass: &str, files: &[SourceFile]) -> String {
    let path = format!("compiler/opt/src/{pass}.rs");
    match files.iter().any(|file| file.path == path) {
        true => path,
        false => format!("compiler/opt/src/{pass}/mod.rs"),
    }
}

/// The steps as a numbered list, nested steps indented.
fn list(steps: &[Step], depth: usize, text: &mut String) {
    let indent = "   ".repeat(depth);
    for (number, step) in steps.iter().enumerate() {
        let number = number + 1;
        let _ = match step {
            Step::Pass(pass, then) => {
                let note = if then.is_empty() { "" } else { "; where it changed something:" };
                let line = writeln!(text, "{indent}{number}. `{}`{note}", pass.name);
                list(then, depth + 1, text);
                line
            }
            Step::Fixpoint(passes, last, rounds) => {
                let names: Vec<String> = passes.iter().map(|pass| format!("`{}`", pass.name)).collect();
                let (names, last) = (names.join(", "), last.name);
                let until = format!("again until nothing changes, at most {rounds} rounds");
                writeln!(text, "{indent}{number}. {names}, then `{last}`; {until}")
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pass_and_feature_is_in_the_document_with_its_lines() {
        let root = crate::workspace_root();
        let files = crate::source_tree::text_files(&root).expect("the workspace is readable");
        let text = document(&Results::default(), &files);
        for pass in ALL {
            assert!(text.contains(&format!("| [`{}`](", pass.name)), "{}", pass.name);
            assert!(lines_below(&format!("compiler/opt/src/{}", pass.name), &files) > 0, "{}", pass.name);
        }
        for feature in Feature::ALL {
            assert!(text.contains(&format!("| `{}` |", feature.name())), "{}", feature.name());
            for file in feature.files() {
                assert!(lines_below(&format!("compiler/{file}"), &files) > 0, "{file}");
            }
        }
    }
}
