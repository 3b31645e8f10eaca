//! The document of the passes, made from the pipelines' own lists.

use std::fmt::Write as _;

use anymetal_opt::Step;
use anymetal_opt::pipeline::{ALL, PIPELINES, PREPARE};

use crate::source_tree::SourceFile;

const HEAD: &str = "\
# Passes

<!-- Made by `cargo xtask gen` from compiler/opt/src/pipeline.rs. -->

Which passes run over a kernel's IR, in order. `anymetal compile FILE.metal -k KERNEL --print-after PASS|all`
prints the IR after one, `--emit ir` after the last. In builds with debug assertions the verifier runs after
each and names the pass that broke a rule. [How to add one](how-to/add-a-pass.md),
[how to find the one that breaks a kernel](how-to/find-a-miscompile.md).

`-O0`, `-O1` and `-O2` (the default) of `compile` and `run` choose the passes by their level. A
pass of level 0 is required: the code generators rely on what it does. `--disable-pass PASS` leaves out any
other.

## Every target, over the module

";

const LIST: &str = "
## The passes over functions

";

/// `docs/passes.md`.
pub(crate) fn document(files: &[SourceFile]) -> String {
    let mut text = HEAD.to_owned();
    for (number, pass) in PREPARE.iter().enumerate() {
        let _ = writeln!(text, "{}. `{}`: {}", number + 1, pass.name, pass.summary);
    }
    for (name, steps) in PIPELINES {
        let _ = writeln!(text, "\n## Pipeline: {name}\n");
        list(steps, 0, &mut text);
    }
    text.push_str(LIST);
    text.push_str("| pass | level | what it does | file |\n|---|---|---|---|\n");
    for pass in ALL {
        let (name, level, summary, file) = (pass.name, pass.level, pass.summary, file_of(pass.name, files));
        let _ = writeln!(text, "| `{name}` | {level} | {summary} | `{file}` |");
    }
    text
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
            Step::FirstOf(passes) => {
                let names: Vec<String> = passes.iter().map(|pass| format!("`{}`", pass.name)).collect();
                writeln!(text, "{indent}{number}. the first that changes something of {}", names.join(", "))
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
    fn every_pass_is_in_the_document() {
        let text = document(&[]);
        for pass in ALL {
            assert!(text.contains(&format!("| `{}` |", pass.name)), "{}", pass.name);
        }
    }
}
