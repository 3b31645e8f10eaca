//! Every stack of policies against every fault script, in virtual time.
//!
//! A stack is a file in `tests/policy`: its settings as programs write them, and under `[expect]`
//! what becomes of each script in `scripts.toml`, one line a call: the path, then the reason to
//! give up if there is one beyond the last failure. A script without an expectation, or one without
//! a script, fails the test.
//!
//! To write the expectations of a new stack, leave them out: the failure prints the section as it
//! came out, to be checked by hand.
#![cfg(not(loom))]

mod driver;
mod script;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anymetal_policy::policies::Policies;
use anymetal_service::{ServiceLayer, ServiceLayers};
use serde::Deserialize;

use driver::World;
use script::Script;

type Scripts = BTreeMap<String, Script>;
type Outcomes = BTreeMap<String, Vec<String>>;

/// The file of a stack.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stack {
    policy: toml::Table,
    #[serde(default)]
    expect: Outcomes,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policy")
}

fn scripts() -> Scripts {
    toml::from_str(&std::fs::read_to_string(folder().join("scripts.toml")).unwrap()).unwrap()
}

fn stacks() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "toml") && !file.ends_with("scripts.toml"));
    files.sort();
    files
}

/// The policies of the section, read as programs read theirs.
fn policies(section: &toml::Table, file: &Path) -> Policies {
    let mut whole = toml::Table::new();
    whole.insert("policy".to_owned(), section.clone().into());
    let layer = ServiceLayer::from_toml(&toml::to_string(&whole).unwrap(), file).unwrap();
    let layers = ServiceLayers { file: Some((file.to_owned(), layer)), ..ServiceLayers::default() };
    layers.resolve().unwrap().policy
}

fn outcomes(policies: &Policies, scripts: &Scripts) -> Outcomes {
    let outcome = |script| World::new(policies, script).run();
    scripts.iter().map(|(name, script)| (name.clone(), outcome(script))).collect()
}

/// What differs, and the whole section as it came out.
fn differences(stack: &Stack, outcomes: &Outcomes) -> String {
    let mut text = String::new();
    for name in outcomes.keys().chain(stack.expect.keys()) {
        let (expected, came) = (stack.expect.get(name), outcomes.get(name));
        if expected != came {
            writeln!(text, "{name}: expected {expected:#?}, got {came:#?}").unwrap();
        }
    }
    if !text.is_empty() {
        text.push_str("[expect]\n");
        for (name, lines) in outcomes {
            let quoted: Vec<_> = lines.iter().map(|line| format!("    \"{line}\",\n")).collect();
            writeln!(text, "{name} = [\n{}]", quoted.concat()).unwrap();
        }
    }
    text
}

#[test]
fn every_stack_does_with_every_script_what_its_file_says() {
    let (scripts, stacks) = (scripts(), stacks());
    assert!(scripts.len() >= 20 && stacks.len() >= 10, "the table is there");
    let mut failures = String::new();
    for file in stacks {
        let stack: Stack = toml::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let policies = policies(&stack.policy, &file);
        let differences = differences(&stack, &outcomes(&policies, &scripts));
        if !differences.is_empty() {
            writeln!(failures, "=== {}\n{differences}", file.display()).unwrap();
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// Jitter and concurrency included.
#[test]
fn a_run_is_the_same_each_time() {
    let scripts = scripts();
    for file in stacks() {
        let stack: Stack = toml::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let mut policies = policies(&stack.policy, &file);
        policies.retry = anymetal_policy::retry::RetryPolicy::default();
        assert_eq!(outcomes(&policies, &scripts), outcomes(&policies, &scripts), "{}", file.display());
    }
}
