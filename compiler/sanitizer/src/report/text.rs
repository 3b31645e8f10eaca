//! Reports as text: for each finding its title, both accesses with their lines, the memory and the remedy.

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use super::excerpt::{Excerpt, excerpt, printable};
use super::{Report, Sources, Verdict, describe};
use crate::{Finding, Severity, SourcePlace};

/// Maximum number of macro uses and calls shown for one access.
const MAX_STEPS: usize = 6;

pub(super) fn render(report: &Report, sources: &dyn Sources, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut text = String::new();
    for finding in &report.findings {
        text.push_str(&renderer.render(&groups(finding, sources)));
        text.push_str("\n\n");
    }
    for line in closing_lines(report) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// What follows the findings. The last line is the verdict.
fn closing_lines(report: &Report) -> Vec<String> {
    let summary = &report.summary;
    let mut lines: Vec<String> = Vec::new();
    lines.extend(summary.wrong_marks.iter().map(|mark| format!("warning: {}", printable(mark))));
    let unused = summary.unused_suppressions.iter();
    lines.extend(unused.map(|rule| format!("note: unused suppression {}", printable(rule))));
    if summary.not_kept > 0 {
        let count = describe::plural(summary.not_kept, "more finding");
        lines.push(format!("note: {count} not shown, since their number is limited"));
    }
    lines.extend(summary.notes.iter().map(|note| format!("note: {}", printable(note))));
    match &report.verdict {
        Verdict::Incomplete(reason) => {
            if summary.findings > 0 {
                lines.push(summary.to_string());
            }
            lines.push(format!("check incomplete: {}", printable(reason)));
        }
        Verdict::Clean | Verdict::Findings => lines.push(summary.to_string()),
    }
    lines
}

fn groups<'a>(finding: &Finding, sources: &dyn Sources) -> Vec<Group<'a>> {
    let level = match finding.kind.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Lint => Level::WARNING.with_name("lint"),
    };
    let title = level.primary_title(finding.kind.title()).id(finding.kind.id());
    let mut groups = Vec::new();
    let mut first = Some(Group::with_title(title).element(remark("kernel", &describe::kernel(finding))));
    if !finding.message.is_empty() {
        first = first.map(|group| group.element(remark("what", &finding.message)));
    }
    groups.extend(first);
    for (heading, side) in describe::sides(finding) {
        let title = Level::NOTE.no_name().secondary_title(printable(&heading));
        groups.push(Group::with_title(title).elements(at_place(sources, &side.place, &side.place.function)));
        groups.extend(step_groups(sources, &side.place));
    }
    let mut closing = Vec::new();
    closing.extend(describe::memory(finding).map(|text| remark("memory", &text)));
    closing.extend(describe::repeats(finding).map(|text| remark("repeats", &text)));
    closing.extend(finding.remedy.as_ref().map(|text| Level::HELP.message(printable(text)).into()));
    if let Some(last) = groups.pop() {
        groups.push(last.elements(closing));
    }
    groups
}

fn remark<'a>(name: &'static str, text: &str) -> Element<'a> {
    Level::NOTE.with_name(name).message(printable(text)).into()
}

/// The macro uses and calls that led to a place, outwards; the middle of a long way is left out.
fn step_groups<'a>(sources: &dyn Sources, place: &SourcePlace) -> Vec<Group<'a>> {
    let steps = &place.through;
    let left_out = steps.len().saturating_sub(MAX_STEPS);
    let mut groups = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let half = MAX_STEPS / 2;
        if left_out > 0 && (half..half + left_out).contains(&index) {
            if index == half {
                let text = format!("({} more)", describe::grouped(left_out as u64));
                groups.push(Group::with_title(Level::NOTE.no_name().secondary_title(text)));
            }
            continue;
        }
        let title = Level::NOTE.no_name().secondary_title(printable(&step.what));
        let elements = source(sources, &step.file, step.line, step.column, AnnotationKind::Context, "");
        groups.push(Group::with_title(title).elements(elements));
    }
    groups
}

fn at_place<'a>(sources: &dyn Sources, place: &SourcePlace, function: &str) -> Vec<Element<'a>> {
    let label = if function.is_empty() { String::new() } else { format!("in `{}`", printable(function)) };
    source(sources, &place.file, place.line, place.column, AnnotationKind::Primary, &label)
}

/// File, line and column, with the line of source if it is there.
fn source<'a>(
    sources: &dyn Sources,
    file: &str,
    line: u32,
    column: u32,
    kind: AnnotationKind,
    label: &str,
) -> Vec<Element<'a>> {
    if file.is_empty() {
        return vec![remark("place", "unknown: the kernel has no line numbers")];
    }
    let path = printable(file);
    let Some(Excerpt { text, range, char_column, is_cut }) = excerpt(sources, file, line, column) else {
        let origin = Origin::path(path).line(line as usize).char_column(column as usize);
        return vec![origin.into()];
    };
    let annotation = kind.span(range);
    let annotation = if label.is_empty() { annotation } else { annotation.label(label.to_owned()) };
    let snippet = Snippet::source(text).line_start(line as usize).annotation(annotation);
    if is_cut {
        // The column would be counted from the cut.
        let origin = Origin::path(path).line(line as usize).char_column(char_column);
        return vec![origin.into(), snippet.into()];
    }
    vec![snippet.path(path).into()]
}
