//! Reports as workflow commands of GitHub Actions, which show them at the lines of a change.

use super::{Report, Verdict, describe};
use crate::{Finding, Severity};

pub(super) fn render(report: &Report) -> String {
    let mut text: String = report.findings.iter().map(annotation).collect();
    if let Verdict::Incomplete(reason) = &report.verdict {
        text.push_str(&format!(
            "::error title=check incomplete::{}\n",
            data(&format!("check incomplete: {reason}"))
        ));
    }
    text
}

fn annotation(finding: &Finding) -> String {
    let command = match finding.kind.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Lint => "notice",
    };
    let mut properties = Vec::new();
    if let Some(place) = finding.sides.last().map(|side| &side.place).filter(|place| !place.file.is_empty()) {
        properties.push(format!("file={}", property(&place.file)));
        properties.extend((place.line > 0).then(|| format!("line={}", place.line)));
        properties.extend((place.column > 0).then(|| format!("col={}", place.column)));
    }
    properties
        .push(format!("title={}", property(&format!("{}: {}", finding.kind.id(), finding.kind.title()))));
    format!("::{command} {}::{}\n", properties.join(","), data(&message(finding)))
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

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
