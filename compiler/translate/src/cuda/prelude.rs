//! Functions that CUDA has and Metal lacks. Each stands before the translation if it is called.
//!
//! The text is `prelude.metal`. A line `//@ NAMES` begins an entry of these names; after a colon
//! `needs X` means that calls pass hidden parameters first, `for S in a b` that the text is
//! repeated with each word instead of `$S` (of `$N` with those that are called), and `with NAME`
//! that another entry goes before it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

const TEXT: &str = include_str!("prelude.metal");

struct Entry {
    names: &'static str,
    options: &'static str,
    text: &'static str,
}

fn entries() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let entry = |entry: &'static str| {
            let (head, text) = entry.split_once('\n').unwrap_or((entry, ""));
            let (names, options) = head.split_once(':').unwrap_or((head, ""));
            Entry { names, options, text }
        };
        TEXT.split("//@ ").skip(1).map(entry).collect()
    })
}

fn find(name: &str) -> Option<&'static Entry> {
    static BY_NAME: OnceLock<BTreeMap<&str, usize>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| {
        let names = entries().iter().enumerate();
        names
            .flat_map(|(number, entry)| entry.names.split_whitespace().map(move |name| (name, number)))
            .collect()
    });
    by_name.get(name).map(|&number| &entries()[number])
}

/// Whether there is such a function here.
pub(super) fn has(name: &str) -> bool {
    find(name).is_some()
}

/// The hidden parameters that calls of a function pass first.
pub(super) fn needs(name: &str) -> impl Iterator<Item = &'static str> {
    let options = find(name).map_or("", |entry| entry.options);
    let clause = options.split(',').find_map(|clause| clause.trim().strip_prefix("needs "));
    clause.unwrap_or_default().split_whitespace()
}

/// The text of functions, in the order of the file.
pub(super) fn text(names: &BTreeSet<String>) -> String {
    let mut wanted = names.clone();
    loop {
        let before = wanted.len();
        let with = |entry: &&Entry| {
            let clauses = entry.options.split(',').filter_map(|clause| clause.trim().strip_prefix("with "));
            clauses.map(str::to_owned).collect::<Vec<_>>()
        };
        let more: Vec<String> =
            entries().iter().filter(|entry| has_any(entry, &wanted)).flat_map(|e| with(&e)).collect();
        wanted.extend(more);
        if wanted.len() == before {
            break;
        }
    }
    let mut out = String::new();
    for entry in entries().iter().filter(|entry| has_any(entry, &wanted)) {
        out.push_str(&repeated(entry.text.trim_end(), entry.options, &wanted));
        out.push('\n');
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn has_any(entry: &Entry, names: &BTreeSet<String>) -> bool {
    entry.names.split_whitespace().any(|name| names.contains(name))
}

/// The text once for each word of each `for $X in …`; of the words of `$N` those that are wanted: by
/// themselves, or with the suffix that the text gives them.
fn repeated(text: &str, options: &str, wanted: &BTreeSet<String>) -> String {
    let mut all = vec![text.to_owned()];
    for clause in options.split("for ").skip(1) {
        let Some((name, words)) = clause.split_once(" in ") else { continue };
        let words = words.split(',').next().unwrap_or_default().split_whitespace();
        let suffix = if text.contains("$Nf(") { "f" } else { "" };
        let is_wanted = |word: &&str| name != "N" || wanted.contains(&format!("{word}{suffix}"));
        let words: Vec<&str> = words.filter(is_wanted).collect();
        let one = |text: &String| {
            let with = |word: &&str| text.replace(&format!("${name}"), word);
            words.iter().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(one).collect();
    }
    all.join("\n")
}
