//! Suppression files: findings that are known and not reported.
//!
//! TOML, one `[[suppress]]` table each. [`Suppressions::parse`] reads one, [`generate`] writes one that
//! suppresses given findings, without line numbers where the function is known, so that edits keep it valid.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use serde::Deserialize;
use toml::Spanned;

use crate::filter::KindSelector;
use crate::glob::Glob;
use crate::{Finding, Side};

/// The suppressions of all files that were given.
#[derive(Clone, Debug, Default)]
pub struct Suppressions {
    rules: Vec<Suppression>,
}

/// One `[[suppress]]`: suppresses the findings that match everything it names.
#[derive(Clone, Debug)]
pub struct Suppression {
    /// None for `*`.
    kind: Option<KindSelector>,
    kernel: Option<Glob>,
    file: Option<Glob>,
    line: Option<u32>,
    function: Option<Glob>,
    variable: Option<Glob>,
    reason: Option<String>,
    /// The suppression file and the line of `kind`, as `FILE:LINE`.
    origin: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    suppress: Vec<Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    kind: Spanned<String>,
    kernel: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    function: Option<String>,
    variable: Option<String>,
    reason: Option<String>,
}

/// A suppression file is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SuppressionError {
    /// The file's name as it was given.
    pub file: String,
    /// 1-based.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for SuppressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for SuppressionError {}

impl Suppressions {
    /// Adds those of a file. `file` is its name for messages.
    ///
    /// # Errors
    /// Text that is no TOML, a key that does not exist, a kind that does not exist: with the line.
    pub fn parse(&mut self, file: &str, text: &str) -> Result<(), SuppressionError> {
        let error = |at: usize, message: String| SuppressionError {
            file: file.to_owned(),
            line: line_of(text, at),
            message,
        };
        let document: Document = toml::from_str(text)
            .map_err(|wrong| error(wrong.span().map_or(0, |span| span.start), wrong.message().to_owned()))?;
        for table in document.suppress {
            let at = table.kind.span().start;
            let kind = match table.kind.get_ref().as_str() {
                "*" => None,
                kind => Some(kind.parse().map_err(|wrong| error(at, format!("{wrong}, and `*`")))?),
            };
            let glob = |text: Option<String>| text.map(|text| Glob::new(&text));
            self.rules.push(Suppression {
                kind,
                kernel: glob(table.kernel),
                file: glob(table.file),
                line: table.line,
                function: glob(table.function),
                variable: glob(table.variable),
                reason: table.reason,
                origin: format!("{file}:{}", line_of(text, at)),
            });
        }
        Ok(())
    }

    /// The number of the first suppression that matches, for [`Suppressions::get`].
    pub fn matching(&self, finding: &Finding) -> Option<usize> {
        self.rules.iter().position(|rule| rule.matches(finding))
    }

    /// A suppression by its number.
    pub fn get(&self, index: usize) -> Option<&Suppression> {
        self.rules.get(index)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

impl Suppression {
    /// Why, as the file says.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Whether it suppresses a finding. File, line and function must match one and the same of its accesses.
    pub fn matches(&self, finding: &Finding) -> bool {
        let all = |glob: &Option<Glob>, name: &str| glob.as_ref().is_none_or(|glob| glob.matches(name));
        let variable = finding.memory.as_ref().map_or("", |memory| &memory.name);
        let has_place = self.file.is_some() || self.line.is_some() || self.function.is_some();
        self.kind.is_none_or(|kind| kind.selects(finding.kind))
            && all(&self.kernel, &finding.kernel)
            && all(&self.variable, variable)
            && (!has_place || finding.sides.iter().any(|side| self.matches_side(side)))
    }

    fn matches_side(&self, side: &Side) -> bool {
        let at = |file: &str, line: u32| {
            self.file.as_ref().is_none_or(|glob| glob.matches_path(file))
                && self.line.is_none_or(|wanted| wanted == line)
        };
        let place = &side.place;
        self.function.as_ref().is_none_or(|glob| glob.matches(&place.function))
            && (at(&place.file, place.line) || place.through.iter().any(|step| at(&step.file, step.line)))
    }
}

impl fmt::Display for Suppression {
    /// `FILE:LINE (KIND)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Some(kind) => write!(f, "{} ({kind})", self.origin),
            None => write!(f, "{} (*)", self.origin),
        }
    }
}

fn line_of(text: &str, at: usize) -> usize {
    let before = &text.as_bytes()[..at.min(text.len())];
    1 + before.iter().filter(|&&byte| byte == b'\n').count()
}

/// A suppression file that suppresses the findings.
pub fn generate(findings: &[Finding]) -> String {
    let mut text = String::from("# Findings that are known. Say why in `reason`; delete what is mended.\n");
    let mut seen = BTreeSet::new();
    for finding in findings {
        let table = table(finding);
        if seen.insert(table.clone()) {
            let at = finding.sides.last().map(|side| &side.place).filter(|place| !place.file.is_empty());
            let at = at.map(|place| format!("{}:{}: ", place.file, place.line)).unwrap_or_default();
            let comment = format!("{at}{}", finding.kind.title()).replace(char::is_control, " ");
            let _ = write!(text, "\n# {comment}\n{table}");
        }
    }
    text
}

fn table(finding: &Finding) -> String {
    let mut table = format!("[[suppress]]\nkind = \"{}\"\n", finding.kind.id());
    let mut add = |key: &str, name: &str| {
        if !name.is_empty() {
            let _ = writeln!(table, "{key} = {}", quote(&Glob::quote(name)));
        }
    };
    add("kernel", &finding.kernel);
    if let Some(place) = finding.sides.last().map(|side| &side.place) {
        add("file", &place.file);
        add("function", &place.function);
    }
    add("variable", finding.memory.as_ref().map_or("", |memory| &memory.name));
    let place = finding.sides.last().map(|side| &side.place);
    if let Some(place) = place.filter(|place| place.function.is_empty() && place.line > 0) {
        let _ = writeln!(table, "line = {}", place.line);
    }
    table.push_str("reason = \"\"\n");
    table
}

/// A basic string of TOML. The escapes of JSON are also TOML's; DEL must be escaped besides.
fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

#[cfg(test)]
mod tests;
