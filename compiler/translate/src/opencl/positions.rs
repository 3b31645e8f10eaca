//! Work-item functions. In MSL a thread is told its position by parameters of the kernel, which pass them to
//! the functions that need them.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_diagnostics::Diagnostic;

use super::Translator;

/// OpenCL's functions and Metal's attributes of three components.
const FUNCTIONS: &[(&str, &str)] = &[
    ("get_global_id", "thread_position_in_grid"),
    ("get_local_id", "thread_position_in_threadgroup"),
    ("get_group_id", "threadgroup_position_in_grid"),
    ("get_global_size", "threads_per_grid"),
    ("get_local_size", "threads_per_threadgroup"),
    ("get_enqueued_local_size", "threads_per_threadgroup"),
    ("get_num_groups", "threadgroups_per_grid"),
];

/// The number of dimensions of the grid: Metal's grids have three, of which the last have size 1.
const WORK_DIM: &str = "(threads_per_grid.z > 1 ? 3u : threads_per_grid.y > 1 ? 2u : 1u)";

/// Those without a dimension, of one component.
const LINEAR: &[(&str, &str)] = &[
    ("get_local_linear_id", "thread_index_in_threadgroup"),
    ("get_sub_group_local_id", "thread_index_in_simdgroup"),
    ("get_sub_group_id", "simdgroup_index_in_threadgroup"),
    ("get_sub_group_size", "threads_per_simdgroup"),
    ("get_num_sub_groups", "simdgroups_per_threadgroup"),
];

/// Copies of whole work-groups: functions of the prelude, which want positions first.
pub(super) const GROUP_COPIES: &[&str] = &["async_work_group_copy", "async_work_group_strided_copy"];

/// The positions that they want.
const OF_GROUP_COPIES: [&str; 2] = ["thread_index_in_threadgroup", "threads_per_threadgroup"];

/// What a function needs, by Metal's names.
pub(super) type Needs = BTreeSet<&'static str>;

/// Whether a function returns a `size_t`.
pub(super) fn is_size(name: &str) -> bool {
    FUNCTIONS.iter().any(|(function, _)| *function == name) || matches!(name, "get_global_offset")
}

/// A parameter for a position.
pub(super) fn parameter(name: &str) -> String {
    let ty = if LINEAR.iter().any(|(_, linear)| *linear == name) { "uint" } else { "uint3" };
    format!("{ty} {name}")
}

impl Translator<'_> {
    /// Rewrites the calls of work-item functions.
    pub(super) fn positions(&mut self) {
        for token in 0..self.text.len() {
            let word = self.text.at(token);
            if self.text.at(token + 1) == "(" && GROUP_COPIES.contains(&word) {
                self.text.insert_after(token + 1, &format!("{}, ", OF_GROUP_COPIES.join(", ")));
            }
            if self.text.at(token + 1) != "(" || !word.starts_with("get_") {
                continue;
            }
            let Some(close) = self.text.closing(token + 1) else { continue };
            if let Some((_, name)) = LINEAR.iter().find(|(function, _)| *function == word) {
                self.text.replace(token, *name);
                self.text.remove_all(token + 1..=close);
            } else if let Some((_, name)) = FUNCTIONS.iter().find(|(function, _)| *function == word) {
                let argument = self.text.between(token + 2, close.saturating_sub(1)).to_owned();
                let value = match argument.as_str() {
                    "0" => format!("{name}.x"),
                    "1" => format!("{name}.y"),
                    "2" => format!("{name}.z"),
                    other => format!("{name}[{other}]"),
                };
                // `size_t` counts in 64 bits, which sums and differences show.
                let alone = matches!(self.text.at(token.wrapping_sub(1)), "=")
                    && matches!(self.text.at(close + 1), ";" | ",");
                let value = if alone { value } else { format!("size_t({value})") };
                self.text.replace(token, value);
                self.text.remove_all(token + 1..=close);
            } else if word == "get_global_offset" {
                self.text.replace(token, "0");
                self.text.remove_all(token + 1..=close);
            } else if word == "get_work_dim" {
                let message = "`get_work_dim` counts trailing dimensions of size 1 as absent";
                let diagnostic = Diagnostic::warning("work-dim", self.span(token), message);
                self.tell(diagnostic.with_hint("pass the number if it matters".to_owned()));
                self.text.replace(token, WORK_DIM);
                self.text.remove_all(token + 1..=close);
            }
        }
    }

    /// What each function needs, itself and by the functions and macros that it names.
    pub(super) fn needs(&self) -> BTreeMap<String, Needs> {
        let of_word = |word: &str| {
            let position = FUNCTIONS.iter().chain(LINEAR).find(|(function, _)| *function == word);
            position.map(|(_, name)| *name).or((word == "get_work_dim").then_some("threads_per_grid"))
        };
        let mut direct: BTreeMap<String, (Needs, BTreeSet<String>)> = BTreeMap::new();
        let mut note = |name: &str, tokens: &mut dyn Iterator<Item = usize>| {
            let entry = direct.entry(name.to_owned()).or_default();
            for token in tokens {
                let word = self.text.at(token);
                match of_word(word) {
                    Some(position) => drop(entry.0.insert(position)),
                    None if GROUP_COPIES.contains(&word) => entry.0.extend(OF_GROUP_COPIES),
                    None if self.text.is_word(token) => drop(entry.1.insert(word.to_owned())),
                    None => {}
                }
            }
        };
        for function in &self.declarations.functions {
            if let Some((open, close)) = function.body {
                note(&function.name, &mut (open..close));
            }
        }
        for (name, body) in &self.declarations.macros {
            note(name, &mut body.iter().copied());
        }
        let mut needs: BTreeMap<String, Needs> =
            direct.iter().map(|(name, (needs, _))| (name.clone(), needs.clone())).collect();
        loop {
            let mut changed = false;
            for (name, (_, used)) in &direct {
                let more: Needs = used.iter().filter_map(|used| needs.get(used)).flatten().copied().collect();
                let own = needs.entry(name.clone()).or_default();
                let before = own.len();
                own.extend(more);
                changed |= own.len() > before;
            }
            if !changed {
                return needs;
            }
        }
    }
}
