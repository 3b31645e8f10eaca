//! Marks in the source that allow findings: comments, and attributes.
//!
//! `// anymetal: benign race` and `// anymetal: allow(kind, kind)` cover their line, and the next line
//! of code if they stand alone: [`Marks::scan`] finds them in the text. `[[anymetal::benign_race]]`,
//! `[[clang::annotate("anymetal: …")]]` and `__attribute__((annotate("anymetal: …")))`, which Metal's
//! compiler ignores, cover the statement, the parameter or the declaration with its body that they
//! stand before: the front end finds them, and [`Marks::add`] takes them. Source text is not trusted:
//! one pass over it, a bounded number of marks.

mod scan;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::filter::KindSelector;
use crate::{Finding, KindGroup};

/// Maximum number of marks of a file; the others are not read.
pub const MAX_MARKS: usize = 4096;

/// The marks of source files, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Marks {
    files: BTreeMap<String, Vec<Mark>>,
    errors: Vec<MarkError>,
}

/// One mark.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Mark {
    /// The first line it covers, 1-based: the one it stands on.
    pub first_line: u32,
    /// The last line it covers.
    pub last_line: u32,
    /// What it allows.
    pub allows: Vec<KindSelector>,
    /// What follows it in the comment; empty if nothing does.
    pub reason: String,
}

/// A mark that is not understood, and has no effect.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MarkError {
    /// The file's name.
    pub file: String,
    /// 1-based.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

impl Marks {
    /// Reads the comments of a file. `file` is its name as findings have it.
    pub fn scan(&mut self, file: &str, text: &str) {
        let (marks, errors) = scan::scan(text);
        marks.into_iter().for_each(|mark| self.insert(file, mark));
        errors.into_iter().for_each(|(line, message)| self.refuse(file, line, message));
    }

    /// Adds an attribute. `text` is what it says, such as `benign race`; `lines` are the first and the last
    /// that it covers, 1-based.
    pub fn add(&mut self, file: &str, (first_line, last_line): (u32, u32), text: &str) {
        match parse(text) {
            Ok((allows, reason)) => self.insert(file, Mark { first_line, last_line, allows, reason }),
            Err(message) => self.refuse(file, first_line, message),
        }
    }

    /// Adds the marks of other sources.
    pub(crate) fn merge(&mut self, other: Self) {
        for (file, marks) in other.files {
            marks.into_iter().for_each(|mark| self.insert(&file, mark));
        }
        let errors = other.errors.into_iter();
        errors.for_each(|MarkError { file, line, message }| self.refuse(&file, line, message));
    }

    /// Takes back everything that a file's marks say.
    pub fn forget(&mut self, file: &str) {
        self.files.remove(file);
        self.errors.retain(|error| error.file != file);
    }

    fn insert(&mut self, file: &str, mark: Mark) {
        let marks = self.files.entry(file.to_owned()).or_default();
        if marks.len() < MAX_MARKS && !marks.contains(&mark) {
            marks.push(mark);
        }
    }

    fn refuse(&mut self, file: &str, line: u32, message: String) {
        let error = MarkError { file: file.to_owned(), line, message };
        if self.errors.len() < MAX_MARKS && !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    /// The mark that allows a finding: at one of its accesses, or at a macro use or call that led there.
    pub fn covering(&self, finding: &Finding) -> Option<&Mark> {
        let steps = finding.sides.iter().flat_map(|side| {
            let place = (side.place.file.as_str(), side.place.line);
            let through = side.place.through.iter().map(|step| (step.file.as_str(), step.line));
            std::iter::once(place).chain(through)
        });
        let mark_at = |(file, line): (&str, u32)| {
            self.files.get(file)?.iter().find(|mark| {
                (mark.first_line..=mark.last_line).contains(&line)
                    && mark.allows.iter().any(|selector| selector.selects(finding.kind))
            })
        };
        steps.into_iter().find_map(mark_at)
    }

    /// Marks that are not understood.
    pub fn errors(&self) -> &[MarkError] {
        &self.errors
    }
}

impl fmt::Display for MarkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for MarkError {}

/// What a mark allows, and its reason. `text` follows `anymetal:`, or `anymetal_` or `anymetal::` in an
/// attribute.
fn parse(text: &str) -> Result<(Vec<KindSelector>, String), String> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("benign race").or_else(|| text.strip_prefix("benign_race"))
        && !rest.starts_with(|char: char| char.is_alphanumeric() || char == '_')
    {
        return Ok((vec![KindSelector::Group(KindGroup::Race)], reason(rest)));
    }
    let Some(rest) = text.strip_prefix("allow") else {
        let word: String = text.chars().take(40).collect();
        return Err(format!("`{word}` is no mark; the marks are `benign race` and `allow(KIND, …)`"));
    };
    let list = rest.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let (list, rest) = list.ok_or("`allow` needs its kinds in parentheses: `allow(race-grid)`")?;
    let kinds = list.split(',').map(|kind| kind.trim().parse());
    let kinds: Result<Vec<KindSelector>, _> = kinds.collect();
    Ok((kinds.map_err(|error| error.to_string())?, reason(rest)))
}

fn reason(rest: &str) -> String {
    rest.trim_start_matches([':', ',', ';', '-', '.', ' ', '\t', '–', '—']).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Mark, Marks};
    use crate::FindingKind;

    fn marks(text: &str) -> (Vec<(u32, u32)>, Vec<u32>) {
        let mut marks = Marks::default();
        marks.scan("a.metal", text);
        let lines = |marks: &Vec<Mark>| marks.iter().map(|mark| (mark.first_line, mark.last_line)).collect();
        let found = marks.files.get("a.metal").map(lines).unwrap_or_default();
        (found, marks.errors.iter().map(|error| error.line).collect())
    }

    #[test]
    fn a_comment_covers_its_line_or_the_next_line_of_code() {
        assert_eq!(marks("x = 1; // anymetal: benign race\ny = 2;").0, [(1, 1)]);
        assert_eq!(marks("// anymetal: benign race\n\n// why\nx = 1;\ny = 2;").0, [(1, 4)]);
        assert_eq!(marks("/* anymetal: allow(race-grid) */ x = 1;\ny = 2;").0, [(1, 1)]);
        assert_eq!(marks("//anymetal:benign race").0, [(1, 1)]);
    }

    #[test]
    fn an_attribute_covers_the_lines_that_the_front_end_says() {
        let mut marks = Marks::default();
        for _ in 0..2 {
            marks.add("a", (3, 7), "benign_race");
            marks.add("a", (9, 9), "benign");
        }
        assert_eq!((marks.files["a"].len(), marks.errors.len()), (1, 1));
        assert_eq!((marks.files["a"][0].first_line, marks.files["a"][0].last_line), (3, 7));
        assert_eq!((marks.errors[0].file.as_str(), marks.errors[0].line), ("a", 9));
        marks.forget("a");
        assert_eq!(marks, Marks::default());
    }

    #[test]
    fn text_in_strings_and_other_comments_is_no_mark() {
        assert_eq!(marks("s = \"// anymetal: benign race\";"), (vec![], vec![]));
        assert_eq!(marks("c = '\"'; // anymetal: benign race\n").0, [(1, 1)]);
        assert_eq!(marks("s = R\"(\n// anymetal: benign race\n)\";"), (vec![], vec![]));
        assert_eq!(marks("// about anymetal: benign race"), (vec![], vec![]));
        assert_eq!(marks("[[clang::annotate(\"anymetal: benign race\")]] x;"), (vec![], vec![]));
    }

    #[test]
    fn a_wrong_mark_is_an_error_with_its_line() {
        for wrong in ["benign races", "allow", "allow(", "allow()", "allow(race-gird)", "ignore", ""] {
            assert_eq!(marks(&format!("\n// anymetal: {wrong}\n")), (vec![], vec![2]), "{wrong}");
        }
    }

    #[test]
    fn kinds_groups_and_reasons_are_read() {
        let mut marks = Marks::default();
        marks.scan("a", "// anymetal: allow(race-grid, bounds): the host joins them\nx;");
        let mark = &marks.files["a"][0];
        assert_eq!(mark.reason, "the host joins them");
        let allowed = |kind| mark.allows.iter().any(|selector| selector.selects(kind));
        assert!(allowed(FindingKind::RaceBetweenThreadgroups) && allowed(FindingKind::NullAccess));
        assert!(!allowed(FindingKind::RaceWithinThreadgroup));
    }

    #[test]
    fn odd_text_ends_without_a_panic() {
        let pieces =
            ["\"", "'", "R\"x(", "/*", "//", "\\\n", "annotate(\"anymetal:", "{", "}", "))", "é\u{0}", "#"];
        for first in pieces {
            for second in pieces {
                for third in pieces {
                    marks(&format!("{first}{second}{third}"));
                }
            }
        }
    }

    #[test]
    fn marks_are_bounded() {
        let (found, errors) = marks(&"x; // anymetal: benign race\n".repeat(5000));
        assert_eq!((found.len(), errors), (super::MAX_MARKS, vec![super::MAX_MARKS as u32 + 1]));
    }
}
