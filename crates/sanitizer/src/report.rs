//! Findings as text, in the shape that compute-sanitizer's and ThreadSanitizer's readers know.

use std::fmt::Write as _;

use crate::finding::{Action, Finding, Position, Side};
use crate::{Severity, Summary};

/// Longer source lines are cut.
const MAX_LINE: usize = 160;

/// Gives the source's lines.
pub trait Sources {
    /// The line of that number, from 1, without its end.
    fn line(&self, file: &str, line: u32) -> Option<String>;
}

/// Reads files when a line is first wanted.
#[derive(Debug, Default)]
pub struct FileSources(std::cell::RefCell<std::collections::BTreeMap<String, Vec<String>>>);

impl Sources for FileSources {
    fn line(&self, file: &str, line: u32) -> Option<String> {
        let mut files = self.0.borrow_mut();
        let lines = files.entry(file.to_owned()).or_insert_with(|| {
            let bytes = std::fs::read(file).unwrap_or_default();
            String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
        });
        lines.get((line as usize).checked_sub(1)?).cloned()
    }
}

/// One finding, several lines.
pub fn finding_text(finding: &Finding, sources: &dyn Sources) -> String {
    let mut text = String::new();
    let severity = match finding.kind.severity() {
        Severity::Warning => "warning",
        Severity::Error => "error",
        Severity::Lint => "lint",
    };
    let _ = writeln!(text, "{severity}[{}]: {}: {}", finding.kind, finding.kind.title(), finding.message);
    let _ = writeln!(text, "  in kernel `{}`, launch {}{}", finding.kernel, finding.launch, seed(finding));
    for side in &finding.sides {
        write_side(&mut text, side, sources);
    }
    if let Some(memory) = &finding.memory {
        let label = memory.label.as_ref().map_or(String::new(), |label| format!(", label \"{label}\""));
        let space = format!("{:?}", memory.space).to_lowercase();
        let _ = writeln!(text, "  `{}` is {space} memory of {} bytes{label}", memory.name, memory.bytes);
    }
    if let Some(remedy) = &finding.remedy {
        let _ = writeln!(text, "  help: {remedy}");
    }
    if finding.count > 1 {
        let _ = writeln!(text, "  {} more at the same places", finding.count - 1);
    }
    text
}

fn seed(finding: &Finding) -> String {
    finding.seed.map_or(String::new(), |seed| format!(", schedule of seed {seed}"))
}

fn write_side(text: &mut String, side: &Side, sources: &dyn Sources) {
    let place = &side.place;
    let value =
        side.value.as_ref().map_or(String::new(), |value| format!(" (value {})", value_text(&value.0)));
    let what = match (side.action, side.bytes) {
        (action, 0) => action_text(action).to_owned(),
        (action, bytes) => format!("{} of {bytes} bytes{value} at byte {}", action_text(action), side.offset),
    };
    let _ = writeln!(text, "  {what} by {}", position_text(&side.thread));
    if place.line == 0 {
        return;
    }
    let _ = writeln!(text, "    --> {}:{}:{}", place.file, place.line, place.column);
    if let Some(line) = sources.line(&place.file, place.line) {
        let number = place.line.to_string();
        let shown: String = line.replace('\t', " ").chars().take(MAX_LINE).collect();
        let before = line.as_bytes().get(..(place.column as usize).saturating_sub(1)).unwrap_or_default();
        let column = String::from_utf8_lossy(before).chars().count();
        let _ = writeln!(text, "    {number} | {shown}");
        if column < MAX_LINE {
            let _ = writeln!(text, "    {} | {}^", " ".repeat(number.len()), " ".repeat(column));
        }
    }
    for through in &place.through {
        let _ =
            writeln!(text, "    {} at {}:{}:{}", through.what, through.file, through.line, through.column);
    }
}

fn action_text(action: Action) -> &'static str {
    match action {
        Action::Read => "Read",
        Action::Write => "Write",
        Action::AtomicLoad => "Atomic load",
        Action::AtomicStore => "Atomic store",
        Action::AtomicReadModifyWrite => "Atomic read-modify-write",
        Action::Barrier => "Barrier",
        Action::SimdgroupFunction => "SIMD-group function",
        Action::Arithmetic => "Arithmetic",
        Action::Return => "Return",
    }
}

fn position_text(position: &Position) -> String {
    let triple = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
    format!(
        "thread {} of threadgroup {}, SIMD-group {} lane {}",
        triple(position.thread),
        triple(position.threadgroup),
        position.simdgroup,
        position.lane
    )
}

/// Little endian, as a number; of four bytes also as a float.
fn value_text(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    match <[u8; 4]>::try_from(bytes) {
        Ok(word) => format!("0x{digits}, {} as float", f32::from_le_bytes(word)),
        Err(_) => format!("0x{digits}"),
    }
}

/// The last lines of a report: what ran, what was found, what could not be followed.
pub fn summary_text(findings: &[Finding], summary: &Summary) -> String {
    let mut text = String::new();
    let occurrences: u64 = findings.iter().map(|finding| finding.count).sum();
    for line in &summary.schedule_dependent {
        let _ = writeln!(text, "note: {line}");
    }
    if summary.accesses_not_followed > 0 {
        let _ = writeln!(
            text,
            "note: {} accesses were not followed, shadow memory is full",
            summary.accesses_not_followed
        );
    }
    if summary.findings_dropped > 0 {
        let _ = writeln!(
            text,
            "note: {} occurrences were not kept, there are too many findings",
            summary.findings_dropped
        );
    }
    for line in &summary.incomplete {
        let _ = writeln!(text, "check incomplete: {line}");
    }
    if summary.launches == 0 {
        let _ = writeln!(text, "check incomplete: no kernel ran");
    }
    let plural = |count: u64| if count == 1 { "" } else { "s" };
    let _ = writeln!(
        text,
        "ERROR SUMMARY: {} finding{} ({occurrences} occurrence{}) in {} launch{}",
        findings.len(),
        plural(findings.len() as u64),
        plural(occurrences),
        summary.launches,
        if summary.launches == 1 { "" } else { "es" }
    );
    text
}
