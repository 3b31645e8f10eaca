//! Diagnostics as text: message, source line, caret.
//!
//! Only excerpts reach the drawing library: the lines concerned, cut around the caret when they are
//! long, with ranges that are guaranteed to be in bounds.

use super::remarks;
use crate::{Diagnostic, Severity, SourceFile, SourceMap, Span};
use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use std::borrow::Cow;
use std::ops::Range;

/// Longer lines are cut.
const LONGEST_LINE: usize = 200;
/// Number of characters of a long line shown before the caret.
const LEAD: usize = 60;
/// Labels this many lines apart at most share one excerpt.
const TALLEST: u32 = 60;

/// Renders diagnostics as text with source line and caret.
pub fn render_text(map: &SourceMap, diagnostics: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut text = String::new();
    for diagnostic in diagnostics {
        text.push_str(&renderer.render(&groups(map, diagnostic)));
        text.push_str("\n\n");
    }
    text
}

fn groups<'a>(map: &'a SourceMap, diagnostic: &'a Diagnostic) -> Vec<Group<'a>> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Remark => Level::INFO.with_name("remark"),
    };
    let message = printable(&diagnostic.message);
    let message = match diagnostic.flag() {
        Some(flag) => Cow::Owned(format!("{message} [{flag}]")),
        None => message,
    };
    let title = level.primary_title(message).id(diagnostic.id);
    let mut groups = vec![Group::with_title(title).elements(excerpts(marks(map, diagnostic)))];
    for remark in remarks(map, diagnostic) {
        let mark = Mark::new(map, remark.span, "", AnnotationKind::Context);
        let elements = excerpts(mark.into_iter().collect());
        add_remark(&mut groups, Level::NOTE, &remark.text, elements);
    }
    for hint in &diagnostic.hints {
        add_remark(&mut groups, Level::HELP, hint, Vec::new());
    }
    groups
}

/// A remark without an excerpt continues the group before it; one with an excerpt has its own.
fn add_remark<'a>(groups: &mut Vec<Group<'a>>, level: Level<'a>, text: &str, elements: Vec<Element<'a>>) {
    let text = printable(text).into_owned();
    match groups.pop() {
        Some(last) if elements.is_empty() => groups.push(last.element(level.message(text))),
        last => {
            groups.extend(last);
            groups.push(Group::with_title(level.secondary_title(text)).elements(elements));
        }
    }
}

/// A range of one line to underline.
struct Mark<'a> {
    file: &'a SourceFile,
    line: u32,
    /// The file's name and the line's number as users know them.
    shown: (&'a str, u32),
    /// Byte offsets in the file; within the line, on character boundaries.
    range: Range<usize>,
    label: &'a str,
    kind: AnnotationKind,
}

impl<'a> Mark<'a> {
    /// The part of a span on its first line; `None` when it points nowhere.
    fn new(map: &'a SourceMap, span: Span, label: &'a str, kind: AnnotationKind) -> Option<Self> {
        let file = map.file(span.file)?;
        let line = file.line_number(span.lo);
        let start = file.line_start(line) as usize;
        let end = start + file.line(line).len();
        let lo = file.text.floor_char_boundary(span.lo as usize).clamp(start, end);
        let hi = file.text.ceil_char_boundary(span.hi as usize).clamp(lo, end);
        // Something must be underlined.
        let hi = if hi == lo { file.text.ceil_char_boundary(lo + 1).min(end) } else { hi };
        let shown = (map.shown_name(span.file, span.lo), map.shown_line(span.file, span.lo));
        Some(Self { file, line, shown, range: lo..hi, label, kind })
    }
}

/// The primary place and the secondary labels.
fn marks<'a>(map: &'a SourceMap, diagnostic: &'a Diagnostic) -> Vec<Mark<'a>> {
    let primary = Mark::new(map, map.outermost(diagnostic.span), &diagnostic.label, AnnotationKind::Primary);
    let labels = diagnostic
        .labels
        .iter()
        .filter_map(|label| Mark::new(map, map.outermost(label.span), &label.text, AnnotationKind::Context));
    primary.into_iter().chain(labels).collect()
}

/// The excerpts that show the marks: those near the first one together, every other one alone.
fn excerpts(marks: Vec<Mark<'_>>) -> Vec<Element<'_>> {
    let mut elements = Vec::new();
    let mut rest = marks;
    while !rest.is_empty() {
        let (file, line, shown) = (rest[0].file, rest[0].line, rest[0].shown);
        let short = |mark: &Mark<'_>| mark.file.line(mark.line).len() <= LONGEST_LINE;
        let together = |mark: &Mark<'_>| {
            std::ptr::eq(mark.file, file)
                && mark.line.abs_diff(line) <= TALLEST
                && mark.shown.0 == shown.0
                && i64::from(mark.shown.1) - i64::from(shown.1) == i64::from(mark.line) - i64::from(line)
                && short(mark)
        };
        if short(&rest[0]) {
            let (near, far) = rest.into_iter().partition(together);
            elements.push(excerpt(near));
            rest = far;
        } else {
            elements.extend(cut_excerpt(&rest.remove(0)));
        }
    }
    elements
}

/// One excerpt with several marks, none of which is on a long line.
fn excerpt(marks: Vec<Mark<'_>>) -> Element<'_> {
    let file = marks[0].file;
    let first = marks.iter().map(|mark| mark.line).min().unwrap_or(1);
    let last = marks.iter().map(|mark| mark.line).max().unwrap_or(1);
    let start = file.line_start(first) as usize;
    let end = file.line_start(last) as usize + file.line(last).len();
    // All marks have the same shift, and the topmost one's number is known.
    let shown = marks.iter().map(|mark| mark.shown.1).min().unwrap_or(1);
    let mut snippet = Snippet::source(blank_controls(&file.text[start..end]))
        .path(printable(marks[0].shown.0).into_owned())
        .line_start(shown as usize);
    for mark in marks {
        let range = mark.range.start - start..mark.range.end - start;
        snippet = snippet.annotation(annotation(mark.kind, range, mark.label));
    }
    snippet.into()
}

/// An excerpt of a long line. The drawing library would count the column from the cut, so the place is
/// given apart.
fn cut_excerpt<'a>(mark: &Mark<'a>) -> [Element<'a>; 2] {
    let file = mark.file;
    let line_start = file.line_start(mark.line) as usize;
    let line_end = line_start + file.line(mark.line).len();
    let start = file.text.floor_char_boundary(mark.range.start.saturating_sub(LEAD)).max(line_start);
    let end = file.text.floor_char_boundary((start + LONGEST_LINE).min(line_end)).max(mark.range.start);
    let column = file.line_col(mark.range.start as u32).column;
    let origin = Origin::path(printable(mark.shown.0).into_owned())
        .line(mark.shown.1 as usize)
        .char_column(column as usize);
    let range = mark.range.start - start..mark.range.end.min(end) - start;
    let snippet = Snippet::source(blank_controls(&file.text[start..end])).line_start(mark.shown.1 as usize);
    [origin.into(), snippet.annotation(annotation(mark.kind, range, mark.label)).into()]
}

fn annotation<'a>(
    kind: AnnotationKind,
    range: Range<usize>,
    label: &str,
) -> annotate_snippets::Annotation<'a> {
    let annotation = kind.span(range);
    if label.is_empty() { annotation } else { annotation.label(printable(label).into_owned()) }
}

/// Source text with control characters blanked, byte for byte, so that a file cannot steer a terminal
/// and offsets stay right.
fn blank_controls(text: &str) -> Cow<'_, str> {
    let harmful = |byte: u8| byte < b' ' && !matches!(byte, b'\n' | b'\t') || byte == 0x7F;
    if !text.bytes().any(harmful) {
        return Cow::Borrowed(text);
    }
    let blanked = text.chars().map(|char| if char.is_ascii() && harmful(char as u8) { ' ' } else { char });
    Cow::Owned(blanked.collect())
}

/// A message with control characters, which may come from the source, made visible.
fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|char| char.is_control() && char != '\n') {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_control() && char != '\n' {
            clean.extend(char.escape_default());
        } else {
            clean.push(char);
        }
    }
    Cow::Owned(clean)
}
