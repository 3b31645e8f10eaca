//! Reports as workflow commands of GitHub Actions, which show them at the lines of a change.

use anymetal_diagnostics::formats::github::{self, Place};

use super::{Report, Verdict, describe};
use crate::{Finding, Severity};

pub(super) fn render(report: &Report) -> String {
    let mut text: String = report.findings.iter().map(annotation).collect();
    if let Verdict::Incomplete(reason) = &report.verdict {
        let message = format!("check incomplete: {reason}");
        text.push_str(&github::command("error", Place::default(), "check incomplete", &message));
    }
    text
}

fn annotation(finding: &Finding) -> String {
    let command = match finding.kind.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Lint => "notice",
    };
    let place = finding.sides.last().map(|side| &side.place);
    let place = place.map_or_else(Place::default, |place| Place {
        file: &place.file,
        line: place.line,
        column: place.column,
    });
    let title = format!("{}: {}", finding.kind.id(), finding.kind.title());
    github::command(command, place, &title, &message(finding))
}

fn message(finding: &Finding) -> String {
    let mut lines = vec![format!("kernel {}: {}", describe::kernel(finding), finding.message)];
    for (text, side) in describe::sides(finding) {
        let place = &side.place;
        let at =
            if place.file.is_empty() { String::new() } else { format!(" at {}:{}", place.file, place.line) };
        lines.push(format!("{text}{at}"));
        lines.extend(
            place.through.iter().map(|step| format!("  {} at {}:{}", step.what, step.file, step.line)),
        );
    }
    lines.extend(describe::memory(finding));
    lines.extend(describe::repeats(finding));
    lines.extend(finding.remedy.as_ref().map(|remedy| format!("help: {remedy}")));
    lines.join("\n")
}
