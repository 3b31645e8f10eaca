//! What compiling the corpora came to: a table per file, the distinct first failures, the floor.

use crate::shard::FileOutcome;
use crate::stages::{Failure, Outcome, Stage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A file's results.
#[derive(Clone, Debug)]
pub struct CorpusRow {
    /// The crate.
    pub package: &'static str,
    /// The file.
    pub file: String,
    /// Its results.
    pub outcome: FileOutcome,
}

/// What a run must not fall below: entry points per package and file that pass all stages.
pub type Floor = BTreeMap<String, BTreeMap<String, Level>>;

/// The numbers of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Level {
    /// Entry points that the front end takes.
    pub front_end: usize,
    /// Entry points that become machine code.
    pub machine_code: usize,
}

impl CorpusRow {
    /// Entry points that got past that stage.
    fn past(&self, stage: Stage) -> usize {
        let is_past = |o: &&Outcome| o.failure.as_ref().is_none_or(|failure| failure.stage > stage);
        self.outcome.outcomes.iter().filter(is_past).count()
    }

    fn level(&self, with_code: bool) -> Level {
        let machine_code = if with_code { self.past(Stage::Code) } else { 0 };
        Level { front_end: self.past(Stage::FrontEnd), machine_code }
    }
}

/// The tables in Markdown.
pub fn tables(rows: &[CorpusRow], with_code: bool) -> String {
    let mut text = String::new();
    let mut package = "";
    for row in rows {
        if row.package != package {
            package = row.package;
            let _ = write!(text, "\n## {package}\n\n{HEADER}");
        }
        let _ = writeln!(text, "{}", line(&row.file, std::slice::from_ref(row), with_code));
        let last = rows.iter().rfind(|other| other.package == package);
        if last.is_some_and(|last| last.file == row.file) {
            let all: Vec<CorpusRow> = rows.iter().filter(|other| other.package == package).cloned().collect();
            let _ = writeln!(text, "{}", line("**together**", &all, with_code));
        }
    }
    text
}

const HEADER: &str = "| file | entry points | front end | verified | passes | machine code | code KiB | seconds |\n\
                      |---|---:|---:|---:|---:|---:|---:|---:|\n";

fn line(name: &str, rows: &[CorpusRow], with_code: bool) -> String {
    let kernels: usize = rows.iter().map(|row| row.outcome.kernels.len()).sum();
    let past = |stage| rows.iter().map(|row| row.past(stage)).sum::<usize>();
    let outcomes = || rows.iter().flat_map(|row| &row.outcome.outcomes);
    let bytes: usize = outcomes().map(|outcome| outcome.code_bytes).sum();
    let seconds: f64 = outcomes().map(|outcome| outcome.seconds).sum();
    let unparsed = rows.iter().filter(|row| row.outcome.failure.is_some()).count();
    let kernels = match unparsed {
        0 => kernels.to_string(),
        _ if rows.len() == 1 => "not parsed".to_owned(),
        _ => format!("{kernels} ({unparsed} files not parsed)"),
    };
    let (front, verified, passes) = (past(Stage::FrontEnd), past(Stage::Verify), past(Stage::Passes));
    let (code, size) = match with_code {
        true => (past(Stage::Code).to_string(), (bytes / 1024).to_string()),
        false => ("–".to_owned(), "–".to_owned()),
    };
    format!("| {name} | {kernels} | {front} | {verified} | {passes} | {code} | {size} | {seconds:.1} |")
}

/// The distinct first failures with their counts, the most frequent first.
pub fn failures(rows: &[CorpusRow]) -> String {
    let mut kinds: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut note = |package: &str, file: &str, kernel: &str, failure: &Failure| {
        let key = format!("{:?}: {}", failure.stage, failure.message.lines().next().unwrap_or(""));
        let example = format!("{package}/{file} `{kernel}` {}", failure.place);
        kinds.entry(key).or_insert((0, example)).0 += 1;
    };
    for row in rows {
        if let Some(failure) = &row.outcome.failure {
            note(row.package, &row.file, "*", failure);
        }
        for outcome in &row.outcome.outcomes {
            if let Some(failure) = &outcome.failure {
                note(row.package, &row.file, &outcome.kernel, failure);
            }
        }
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by(|a, b| b.1.0.cmp(&a.1.0).then_with(|| a.0.cmp(&b.0)));
    let mut text = String::new();
    for (kind, (count, example)) in kinds {
        let _ = writeln!(text, "{count:5}  {kind}\n       e.g. {example}");
    }
    text
}

/// The rows' numbers in the floor's form.
pub fn levels(rows: &[CorpusRow], with_code: bool) -> Floor {
    let mut floor = Floor::new();
    for row in rows {
        floor.entry(row.package.to_owned()).or_default().insert(row.file.clone(), row.level(with_code));
    }
    floor
}

/// Where the rows are below the floor. Files that were not compiled do not count.
pub fn below(floor: &Floor, rows: &[CorpusRow], with_code: bool) -> Vec<String> {
    let mut complaints = Vec::new();
    for row in rows {
        let Some(&wanted) = floor.get(row.package).and_then(|files| files.get(&row.file)) else { continue };
        let level = row.level(with_code);
        if level.front_end < wanted.front_end || with_code && level.machine_code < wanted.machine_code {
            complaints.push(format!(
                "{}/{}: front end {} (at least {}), machine code {} (at least {})",
                row.package,
                row.file,
                level.front_end,
                wanted.front_end,
                level.machine_code,
                wanted.machine_code
            ));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(failed: &[Option<Stage>]) -> CorpusRow {
        let outcomes = failed.iter().enumerate().map(|(n, stage)| Outcome {
            kernel: format!("k{n}"),
            failure: stage.map(|stage| Failure { stage, message: "bad".into(), place: String::new() }),
            instructions: 1,
            code_bytes: 0,
            front_seconds: 0.0,
            seconds: 0.0,
        });
        let kernels = (0..failed.len()).map(|n| format!("k{n}")).collect();
        let outcome = FileOutcome { kernels, failure: None, outcomes: outcomes.collect() };
        CorpusRow { package: "p", file: "f.metal".into(), outcome }
    }

    #[test]
    fn a_fall_below_the_floor_is_noticed() {
        let good = row(&[None, Some(Stage::Code), Some(Stage::FrontEnd)]);
        assert_eq!(good.level(true), Level { front_end: 2, machine_code: 1 });
        let floor = levels(std::slice::from_ref(&good), true);
        assert_eq!(below(&floor, &[good], true), Vec::<String>::new());
        let worse = row(&[Some(Stage::Code), Some(Stage::Code), Some(Stage::FrontEnd)]);
        assert_eq!(below(&floor, std::slice::from_ref(&worse), true).len(), 1);
        assert_eq!(below(&floor, &[worse], false), Vec::<String>::new());
    }

    #[test]
    fn equal_failures_are_one_line() {
        let text = failures(&[row(&[Some(Stage::Passes), Some(Stage::Passes), None])]);
        assert!(text.starts_with("    2  Passes: bad"), "{text}");
    }
}
