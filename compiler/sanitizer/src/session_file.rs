//! What a session hands to another process: everything that a report is made of.
//!
//! A program that is checked from outside writes it; `anymetal check` reads it. The first line is a
//! [`SessionFile`] as JSON. Launches without anything new append a line with the counts alone, so that a file
//! is up to date after each launch, and writing it costs little.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::finding::{Finding, SourcePlace};
use crate::marks::Marks;
use crate::report::{JSON_SCHEMA, Report, RunOutcome, SourceTexts};
use crate::session::{Session, SessionSummary};
use crate::suppress::Suppressions;

/// See the module's documentation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionFile {
    /// [`JSON_SCHEMA`] of the process that wrote it.
    pub schema: u32,
    /// In order of first occurrence.
    pub findings: Vec<Finding>,
    /// What was done.
    pub summary: SessionSummary,
    /// The files that the findings name.
    pub sources: SourceTexts,
    /// The marks of all sources.
    pub marks: Marks,
}

/// Why a text is no session.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SessionFileError {
    /// It is of another version.
    Schema(u32),
    /// It is no such JSON; what the parser says.
    Json(String),
}

impl SessionFile {
    /// The state of a session.
    pub fn of(session: &Session) -> Self {
        Self {
            schema: JSON_SCHEMA,
            findings: session.findings().to_vec(),
            summary: session.summary(),
            sources: session.sources().of_findings(session.findings()),
            marks: session.marks().clone(),
        }
    }

    /// As the first line of a file.
    pub fn to_line(&self) -> String {
        line(self)
    }

    /// A line to append for a session with the findings and sources of the lines before.
    pub fn update_line(session: &Session) -> String {
        let counts = session.findings().iter().map(|finding| finding.count).collect();
        line(&Update { summary: session.summary(), counts })
    }

    /// Reads a file. A last line that is cut off does not count.
    ///
    /// # Errors
    /// It is something else.
    pub fn from_text(text: &str) -> Result<Self, SessionFileError> {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let mut file: Self =
            serde_json::from_str(first).map_err(|error| SessionFileError::Json(error.to_string()))?;
        if file.schema != JSON_SCHEMA {
            return Err(SessionFileError::Schema(file.schema));
        }
        if let Some(Update { summary, counts }) = lines.rev().find_map(|line| serde_json::from_str(line).ok())
        {
            file.summary = summary;
            file.findings.iter_mut().zip(counts).for_each(|(finding, count)| finding.count = count);
        }
        Ok(file)
    }

    /// Takes in what another process found. Its launches are counted from 0, too.
    pub fn merge(&mut self, other: Self) {
        let places = |finding: &Finding| {
            finding.sides.iter().map(|side| side.place.clone()).collect::<Vec<SourcePlace>>()
        };
        for finding in other.findings {
            let same = |known: &&mut Finding| {
                (known.kind, &known.kernel) == (finding.kind, &finding.kernel)
                    && places(known) == places(&finding)
            };
            match self.findings.iter_mut().find(same) {
                Some(known) => known.count = known.count.saturating_add(finding.count),
                None => self.findings.push(finding),
            }
        }
        self.summary.merge(other.summary);
        for name in self.sources.merge(other.sources) {
            self.marks.forget(&name);
        }
        self.marks.merge(other.marks);
    }

    /// The report of it. `failure` says how the process failed, if it did: then it is incomplete.
    pub fn report(&self, suppressions: &Suppressions, failure: Option<String>) -> Report {
        let mut run = RunOutcome::from(&self.summary);
        let reasons: Vec<String> = failure.into_iter().chain(run.incomplete.take()).collect();
        run.incomplete = (!reasons.is_empty()).then(|| reasons.join("; "));
        Report::new(self.findings.clone(), run, suppressions, &self.marks)
    }
}

/// What changes with each launch.
#[derive(Serialize, Deserialize)]
struct Update {
    summary: SessionSummary,
    /// Occurrences, by finding.
    counts: Vec<u64>,
}

fn line(value: &impl Serialize) -> String {
    // Strings, numbers and lists only: this cannot fail. JSON escapes the ends of lines in strings.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

impl fmt::Display for SessionFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schema(schema) => {
                write!(
                    f,
                    "it is of version {schema}, and this program reads {JSON_SCHEMA}: the versions differ"
                )
            }
            Self::Json(reason) => write!(f, "it is no report of a checked program: {reason}"),
        }
    }
}

impl std::error::Error for SessionFileError {}
