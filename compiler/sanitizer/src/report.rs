//! Reports: what a checked run found, as a value and as text, JSON, SARIF and GitHub annotations.
//!
//! Start with [`Report::new`]. A run that crashed, was stopped or ran nothing is [`Verdict::Incomplete`], and
//! no format says of it that there are 0 findings.

mod describe;
mod excerpt;
mod github;
mod json;
mod rules;
mod sarif;
mod text;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anymetal_types::setters;
use serde::{Deserialize, Serialize};

use crate::Finding;
use crate::marks::Marks;
use crate::suppress::Suppressions;

/// The text of source lines, for excerpts.
pub trait Sources {
    /// A line without its end. `line` is 1-based; none past the end or for an unknown file.
    fn line(&self, file: &str, line: u32) -> Option<String>;
}

/// Source files in memory, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SourceTexts {
    files: BTreeMap<String, Vec<String>>,
}

impl SourceTexts {
    /// Adds a file, or replaces it.
    pub fn insert(&mut self, file: &str, text: &str) {
        self.files.insert(file.to_owned(), lines(text));
    }

    /// Adds a file of a program that may have several of one name; false if it has, with other text. Then
    /// none of them counts from now on, as findings do not tell them apart.
    pub fn add(&mut self, file: &str, text: &str) -> bool {
        let lines = lines(text);
        let known = self.files.entry(file.to_owned()).or_insert_with(|| lines.clone());
        if *known != lines {
            known.clear();
        }
        *known == lines
    }

    /// Adds the files of another program; the names that both have with different texts.
    pub(crate) fn merge(&mut self, other: Self) -> Vec<String> {
        let different = |(name, lines): (String, Vec<String>)| {
            let known = self.files.entry(name.clone()).or_insert_with(|| lines.clone());
            let is_same = *known == lines;
            if !is_same {
                known.clear();
            }
            (!is_same).then_some(name)
        };
        other.files.into_iter().filter_map(different).collect()
    }

    /// Those files that the findings name.
    pub(crate) fn of_findings(&self, findings: &[Finding]) -> Self {
        let places = findings.iter().flat_map(|finding| &finding.sides).map(|side| &side.place);
        let names: BTreeSet<&str> = places
            .flat_map(|place| {
                let steps = place.through.iter().map(|step| step.file.as_str());
                std::iter::once(place.file.as_str()).chain(steps)
            })
            .collect();
        let named = self.files.iter().filter(|(name, _)| names.contains(name.as_str()));
        Self { files: named.map(|(name, lines)| (name.clone(), lines.clone())).collect() }
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

impl Sources for SourceTexts {
    fn line(&self, file: &str, line: u32) -> Option<String> {
        self.files.get(file)?.get((line as usize).checked_sub(1)?).cloned()
    }
}

/// What the run as a whole did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct RunOutcome {
    /// Launches that were checked.
    pub launches: u64,
    /// Why it is not complete, if it is not: a kernel that crashed or was stopped, a limit.
    pub incomplete: Option<String>,
    /// What readers must know, such as how to reproduce it.
    pub notes: Vec<String>,
    /// If only some threadgroups were checked.
    pub sampled: Option<Sampled>,
    /// Findings at other places that are not kept, since `--max-findings` was reached.
    pub not_kept: u64,
}

setters!(RunOutcome {
    launches: u64,
    incomplete: Option<String>,
    notes: Vec<String>,
    sampled: Option<Sampled>,
    not_kept: u64,
});

/// How much of the grids was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Sampled {
    /// Threadgroups that were checked.
    pub threadgroups: u64,
    /// All threadgroups of these launches.
    pub of: u64,
}

/// Everything that is said about a checked run.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// What is wrong, worst first.
    pub findings: Vec<Finding>,
    /// What is known and allowed.
    pub suppressed: Vec<SuppressedFinding>,
    /// The counts.
    pub summary: Summary,
    /// The outcome.
    pub verdict: Verdict,
}

/// A finding that is allowed by a suppression file or a mark.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct SuppressedFinding {
    /// The finding.
    pub finding: Finding,
    /// What allows it.
    pub by: SuppressedBy,
    /// Why, if that is said.
    pub reason: Option<String>,
}

/// What allows a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SuppressedBy {
    /// A suppression file.
    File,
    /// A mark in the source.
    Mark,
}

/// Counts of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Findings at different places, suppressed ones not included.
    pub findings: u64,
    /// How often they occurred.
    pub occurrences: u64,
    /// Launches that were checked.
    pub launches: u64,
    /// Suppressed findings at different places.
    pub suppressed: u64,
    /// Findings that are not listed, since their number is limited.
    pub not_kept: u64,
    /// Suppressions that matched nothing, as `FILE:LINE (KIND)`.
    pub unused_suppressions: Vec<String>,
    /// Marks in source that are not understood, as `FILE:LINE: MESSAGE`.
    pub wrong_marks: Vec<String>,
    /// If only some threadgroups were checked.
    pub sampled: Option<Sampled>,
    /// What readers must know, such as how to reproduce it.
    pub notes: Vec<String>,
}

/// The outcome.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "verdict", content = "reason", rename_all = "kebab-case")]
pub enum Verdict {
    /// All of it ran, and nothing is wrong.
    Clean,
    /// All of it ran, and something is wrong.
    Findings,
    /// Not all of it ran, for this reason. There may be findings.
    Incomplete(String),
}

impl Report {
    /// The report of a run: takes away what is suppressed, counts the rest, and decides.
    pub fn new(findings: Vec<Finding>, run: RunOutcome, suppressions: &Suppressions, marks: &Marks) -> Self {
        let mut used = BTreeSet::new();
        let (mut kept, mut suppressed) = (Vec::new(), Vec::new());
        for finding in findings {
            let mark = marks.covering(&finding);
            let rule = suppressions.matching(&finding);
            used.extend(rule);
            if let Some(mark) = mark {
                let reason = Some(mark.reason.clone()).filter(|reason| !reason.is_empty());
                suppressed.push(SuppressedFinding { finding, by: SuppressedBy::Mark, reason });
            } else if let Some(rule) = rule.and_then(|index| suppressions.get(index)) {
                let reason = rule.reason().filter(|reason| !reason.is_empty()).map(str::to_owned);
                suppressed.push(SuppressedFinding { finding, by: SuppressedBy::File, reason });
            } else {
                kept.push(finding);
            }
        }
        kept.sort_by_key(|finding| rules::rank(finding.kind.severity()));
        let unused = (0..suppressions.len()).filter(|index| !used.contains(index));
        let summary = Summary {
            findings: kept.len() as u64,
            occurrences: kept.iter().fold(0, |sum: u64, finding| sum.saturating_add(finding.count.max(1))),
            launches: run.launches,
            suppressed: suppressed.len() as u64,
            not_kept: run.not_kept,
            unused_suppressions: unused
                .filter_map(|index| suppressions.get(index))
                .map(ToString::to_string)
                .collect(),
            wrong_marks: marks.errors().iter().map(ToString::to_string).collect(),
            sampled: run.sampled,
            notes: run.notes,
        };
        let verdict = verdict(run.incomplete, &summary);
        Self { findings: kept, suppressed, summary, verdict }
    }

    /// As text for people, with excerpts. `colour` for terminals only.
    pub fn text(&self, sources: &dyn Sources, colour: bool) -> String {
        text::render(self, sources, colour)
    }

    /// As one JSON document; its field `schema` is [`JSON_SCHEMA`].
    pub fn json(&self) -> String {
        json::render(self)
    }

    /// As SARIF 2.1.0, with one run.
    pub fn sarif(&self, sources: &dyn Sources) -> String {
        sarif::render(self, sources)
    }

    /// As workflow commands of GitHub Actions, one line a finding.
    pub fn github(&self) -> String {
        github::render(self)
    }
}

/// The version of the JSON document. A field that is removed or changes its meaning raises it; a new field
/// does not.
pub const JSON_SCHEMA: u32 = 1;

fn verdict(incomplete: Option<String>, summary: &Summary) -> Verdict {
    match incomplete {
        Some(reason) => Verdict::Incomplete(reason),
        None if summary.launches == 0 => Verdict::Incomplete("no kernel was launched".to_owned()),
        None if summary.findings + summary.not_kept > 0 => Verdict::Findings,
        None => Verdict::Clean,
    }
}

impl fmt::Display for Summary {
    /// The line that readers of compute-sanitizer's reports look for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use describe::{grouped, plural};
        write!(f, "ERROR SUMMARY: {} ", plural(self.findings, "finding"))?;
        write!(f, "({}) in {}; ", plural(self.occurrences, "occurrence"), plural_launches(self.launches))?;
        if let Some(sampled) = self.sampled {
            write!(f, "{sampled}; ")?;
        }
        write!(f, "suppressed {}", grouped(self.suppressed))
    }
}

impl fmt::Display for Sampled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use describe::grouped;
        write!(f, "sampled {} of {} threadgroups", grouped(self.threadgroups), grouped(self.of))
    }
}

fn plural_launches(launches: u64) -> String {
    if launches == 1 { "1 launch".to_owned() } else { format!("{} launches", describe::grouped(launches)) }
}
