//! A diagnostic, or a file that cannot be checked, as reports have it.

use anymetal_driver::{Diagnostic, Diagnostics, Severity};

use super::Checked;
use super::files::Root;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Error,
    Warning,
}

impl Level {
    /// That of a diagnostic; remarks are in no report.
    fn of(severity: Severity) -> Option<Self> {
        match severity {
            Severity::Error => Some(Level::Error),
            Severity::Warning => Some(Level::Warning),
            Severity::Remark => None,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
        }
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Finding<'a> {
    pub(super) level: Level,
    /// The id of a diagnostic, or of an error of the compiler.
    pub(super) id: &'a str,
    /// The option that a warning depends on.
    pub(super) flag: Option<String>,
    /// The message and its hints, a line each.
    pub(super) message: String,
    /// The file's name in reports.
    pub(super) file: String,
    /// Lines and columns from 1, of its begin and of the place after it.
    pub(super) place: Option<[(u32, u32); 2]>,
    /// The text of the line that it begins on.
    pub(super) line: &'a str,
}

/// What was found in a file.
pub(super) fn of_file<'a>(checked: &'a Checked, root: &Root) -> Vec<Finding<'a>> {
    let path = checked.path.display().to_string();
    match &checked.outcome {
        Ok(diagnostics) => {
            diagnostics.list.iter().filter_map(|one| of_diagnostic(one, diagnostics, &path, root)).collect()
        }
        Err(failure) => vec![Finding {
            level: Level::Error,
            id: "not-checked",
            flag: None,
            message: failure.message(),
            file: root.name(&path),
            place: None,
            line: "",
        }],
    }
}

fn of_diagnostic<'a>(
    diagnostic: &'a Diagnostic,
    diagnostics: &'a Diagnostics,
    path: &str,
    root: &Root,
) -> Option<Finding<'a>> {
    let region = diagnostics.map.region(diagnostic.span);
    let hints = diagnostic.hints.iter().map(|hint| format!("help: {hint}"));
    let lines: Vec<String> = std::iter::once(diagnostic.message.clone()).chain(hints).collect();
    Some(Finding {
        level: Level::of(diagnostic.severity)?,
        id: diagnostic.id,
        flag: diagnostic.flag(),
        message: lines.join("\n"),
        file: root.name(region.map_or(path, |region| region.file)),
        place: region.map(|region| [region.start, region.end].map(|place| (place.line, place.column))),
        line: region.map_or("", |region| region.first_line),
    })
}
