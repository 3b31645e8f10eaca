//! Functions that a source language has and Metal lacks, as texts in MSL.
//!
//! A line `//@ NAMES` begins the entry of these names. After a colon come options: `needs X` lists hidden
//! parameters that calls pass first, `for S in a b` repeats the text with each word instead of `$S` (for
//! `$N`, only the words whose functions are called), `with NAME` puts another entry first, and
//! `each R(A, B)` marks a function that OpenCL C also applies to the components of vectors. `math.metal`
//! has the functions that both languages share.

use std::collections::{BTreeMap, BTreeSet};

/// See the module's documentation.
pub(crate) struct Prelude {
    entries: Vec<Entry>,
    by_name: BTreeMap<&'static str, usize>,
}

struct Entry {
    names: &'static str,
    options: &'static str,
    text: &'static str,
}

impl Entry {
    fn clauses(&self, word: &'static str) -> impl Iterator<Item = &'static str> {
        self.options.split(", ").filter_map(move |clause| clause.trim().strip_prefix(word))
    }

    fn has_any(&self, names: &BTreeSet<String>) -> bool {
        self.names.split_whitespace().any(|name| names.contains(name))
    }
}

impl Prelude {
    pub(crate) fn new(text: &'static str) -> Self {
        let entry = |entry: &'static str| {
            let (head, text) = entry.split_once('\n').unwrap_or((entry, ""));
            let (names, options) = head.split_once(':').unwrap_or((head, ""));
            Entry { names, options, text }
        };
        let entries: Vec<Entry> = text.split("//@ ").skip(1).map(entry).collect();
        let names = entries.iter().enumerate();
        let by_name = names
            .flat_map(|(number, entry)| entry.names.split_whitespace().map(move |name| (name, number)))
            .collect();
        Self { entries, by_name }
    }

    /// The name itself, if there is such a function.
    pub(crate) fn find(&self, name: &str) -> Option<&'static str> {
        self.by_name.get_key_value(name).map(|(name, _)| *name)
    }

    /// The hidden parameters that calls of a function pass first.
    pub(crate) fn needs(&self, name: &str) -> impl Iterator<Item = &'static str> {
        let entry = self.by_name.get(name).map(|&number| &self.entries[number]);
        let clause = entry.and_then(|entry| entry.clauses("needs ").next());
        clause.unwrap_or_default().split_whitespace()
    }

    /// The result and the parameters of a function that OpenCL C applies to components.
    pub(crate) fn each(&self, name: &str) -> Option<(&'static str, Vec<&'static str>)> {
        let options = self.entries[*self.by_name.get(name)?].options;
        let (_, signature) = options.split_once("each ")?;
        let (result, rest) = signature.split_once('(')?;
        let (parameters, _) = rest.split_once(')')?;
        Some((result, parameters.split(", ").collect()))
    }

    /// The text of functions, in the order of the file.
    pub(crate) fn text(&self, names: &BTreeSet<String>) -> String {
        let mut wanted = names.clone();
        loop {
            let before = wanted.len();
            let entries = self.entries.iter().filter(|entry| entry.has_any(&wanted));
            let more: Vec<String> =
                entries.flat_map(|entry| entry.clauses("with ")).map(str::to_owned).collect();
            wanted.extend(more);
            if wanted.len() == before {
                break;
            }
        }
        let mut out = String::new();
        for entry in self.entries.iter().filter(|entry| entry.has_any(&wanted)) {
            out.push_str(&repeated(entry.text.trim_end(), entry.options, &wanted));
            out.push('\n');
        }
        out
    }
}

/// Repeats the text for each word of each `for X in …`. For `N`, only words that form a wanted name together
/// with the characters around the first `$N`.
fn repeated(text: &str, options: &str, wanted: &BTreeSet<String>) -> String {
    let mut all = vec![text.to_owned()];
    for clause in options.split("for ").skip(1) {
        let Some((name, words)) = clause.split_once(" in ") else { continue };
        let words = words.split(',').next().unwrap_or_default().split_whitespace();
        let (prefix, suffix) = around(text);
        let is_wanted = |word: &&str| name != "N" || wanted.contains(&format!("{prefix}{word}{suffix}"));
        let words: Vec<&str> = words.filter(is_wanted).collect();
        let one = |text: &String| {
            let with = |word: &&str| text.replace(&format!("${name}"), word);
            words.iter().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(one).collect();
    }
    all.join("\n")
}

/// The prefix and the suffix of the first name that contains `$N`.
fn around(text: &str) -> (&str, &str) {
    // Texts without `$N` are repeated for other words, which form no names.
    let Some((before, after)) = text.split_once("$N") else { return ("", "") };
    let is_other = |c: char| !(c.is_alphanumeric() || c == '_');
    let prefix = before.rfind(is_other).map_or(before, |at| &before[at + 1..]);
    (prefix, &after[..after.find(is_other).unwrap_or(after.len())])
}
