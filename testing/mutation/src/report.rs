//! The tally as text: a table of the kinds, then every miss.

use std::collections::BTreeMap;
use std::fmt::Write;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};

use crate::campaign::{Tally, Tried};
use crate::mutation::MutationKind;
use crate::trial::{Judgement, Missed};

/// Counts of one kind of mutation.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Mutants.
    pub mutants: usize,
    /// Those in which something was found, or that did not end.
    pub found: usize,
    /// Those that do what the kernel does.
    pub equivalent: usize,
    /// All others.
    pub missed: usize,
}

impl Counts {
    /// Of the mutants of a kind, or of all.
    pub fn of(tally: &Tally, kind: Option<MutationKind>) -> Self {
        let mut counts = Self::default();
        for tried in tally.tried.iter().filter(|tried| kind.is_none_or(|kind| tried.mutation.kind == kind)) {
            counts.mutants += 1;
            match tried.judgement {
                Judgement::Found(_) | Judgement::Stopped => counts.found += 1,
                Judgement::Equivalent(_) => counts.equivalent += 1,
                Judgement::Missed(_) => counts.missed += 1,
            }
        }
        counts
    }

    /// The share found of those that are no equivalents, in words.
    fn share(self) -> String {
        match self.mutants - self.equivalent {
            0 => "-".to_owned(),
            mistakes => format!("{:.1} %", 100.0 * self.found as f64 / mistakes as f64),
        }
    }
}

/// The whole report.
pub fn text(tally: &Tally, seed: u64) -> String {
    let mut text = format!("{}\n\n", table(tally));
    let kinds = kinds_found(tally);
    if !kinds.is_empty() {
        let _ = writeln!(text, "Found as: {kinds}.");
    }
    let _ = writeln!(text, "{} kernels with seed {seed}.", tally.kernels);
    if tally.without_launch > 0 {
        let _ = writeln!(text, "{} kernels have no launch that is short enough.", tally.without_launch);
    }
    if !tally.not_run.is_empty() {
        let _ = writeln!(text, "Not run: {}.", tally.not_run.join(", "));
    }
    if tally.files_left > 0 {
        let _ = writeln!(text, "The time did not suffice for {} source files.", tally.files_left);
    }
    equivalents(tally, &mut text);
    misses(tally, &mut text);
    text
}

fn table(tally: &Tally) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_header([
        "mutation",
        "mutants",
        "found",
        "equivalent",
        "missed",
        "share",
    ]);
    let rows = MutationKind::ALL.iter().map(|&kind| (kind.title(), Some(kind)));
    for (title, kind) in rows.chain([("all", None)]) {
        let counts = Counts::of(tally, kind);
        let numbers = [counts.mutants, counts.found, counts.equivalent, counts.missed];
        let numbers = numbers.iter().map(ToString::to_string);
        table.add_row(std::iter::once(title.to_owned()).chain(numbers).chain([counts.share()]));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// How many mutants have a finding of each kind.
fn kinds_found(tally: &Tally) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for tried in &tally.tried {
        match &tried.judgement {
            Judgement::Found(found) => {
                found.iter().for_each(|kind| *kinds.entry(kind.id()).or_default() += 1)
            }
            Judgement::Stopped => *kinds.entry("no end").or_default() += 1,
            _ => {}
        }
    }
    let parts = kinds.iter().map(|(kind, count)| format!("{kind} {count}"));
    parts.collect::<Vec<String>>().join(", ")
}

fn equivalents(tally: &Tally, text: &mut String) {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for tried in &tally.tried {
        if let Judgement::Equivalent(reason) = tried.judgement {
            *reasons.entry(reason.text()).or_default() += 1;
        }
    }
    for (reason, count) in reasons {
        let _ = writeln!(text, "Equivalent, {reason}: {count}.");
    }
}

fn misses(tally: &Tally, text: &mut String) {
    let missed = |tried: &Tried| match tried.judgement {
        Judgement::Missed(missed) => Some(missed),
        _ => None,
    };
    let mut reasons: Vec<(Missed, Vec<&Tried>)> = Vec::new();
    for tried in &tally.tried {
        let Some(reason) = missed(tried) else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, all)) => all.push(tried),
            None => reasons.push((reason, vec![tried])),
        }
    }
    for (reason, all) in reasons {
        let _ = writeln!(text, "\nMissed, {}: {}", reason.text(), all.len());
        for tried in all {
            let (line, column) = (tried.mutation.loc.line, tried.mutation.loc.column);
            let (suite, kernel, file) = (tried.suite, &tried.kernel, &tried.file);
            let _ = writeln!(text, "- {suite} `{kernel}` {file}:{line}:{column}: {}", tried.mutation.text);
        }
    }
}
