//! The cases of `tests/sanitizer`: how each is launched, what must be found, and what is wrong with what was.
//!
//! The format is described in `tests/sanitizer/README.md`. Start with [`SanitizerCase::parse`] and
//! [`SanitizerCase::difference`]. How a case is run is up to the caller: [`SanitizerCase::arguments`] are
//! those of `anymetal check`, [`findings_of`] reads its JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// One file of `tests/sanitizer`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SanitizerCase {
    /// The only kernel.
    pub kernel: String,
    /// The arguments that `anymetal run` and `anymetal check` share.
    pub launch: Vec<String>,
    /// Further options of `anymetal check`.
    pub options: Vec<String>,
    /// What must be found; nothing for a trap for false alarms.
    pub expected: Vec<LinesOfFinding>,
}

/// A finding, reduced to what a case says about it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinesOfFinding {
    /// The id of its kind.
    pub kind: String,
    /// The lines of its sides in order of execution, from 1.
    pub lines: Vec<u32>,
}

/// Why a file is no case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CaseError {
    /// It has no kernel, or several.
    Kernels(usize),
    /// It has no `// launch:` line.
    NoLaunch,
    /// `// expect:` says something else than `none`.
    InvalidExpectation(String),
    /// Neither marks nor `// expect: none`, or both.
    MarksOrNone,
    /// The mark on this line is not one.
    InvalidMark(u32),
    /// A side is marked without the other one, or twice.
    UnpairedSide {
        /// The kind.
        kind: String,
        /// The letter, if any.
        letter: String,
    },
}

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernels(count) => write!(f, "{count} kernels instead of one"),
            Self::NoLaunch => f.write_str("no `// launch:` line"),
            Self::InvalidExpectation(text) => write!(f, "`// expect: {text}`: only `none` is allowed"),
            Self::MarksOrNone => f.write_str("needs either marks or `// expect: none`"),
            Self::InvalidMark(line) => write!(f, "line {line}: the mark is not `KIND` or `KIND SIDES`"),
            Self::UnpairedSide { kind, letter } => {
                write!(f, "`{kind} {letter}`: sides 1 and 2 must be marked once each")
            }
        }
    }
}

impl std::error::Error for CaseError {}

impl SanitizerCase {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// A [`CaseError`] if it is no case.
    pub fn parse(text: &str) -> Result<Self, CaseError> {
        let kernels: Vec<&str> = text.lines().filter_map(kernel_name).collect();
        let &[kernel] = kernels.as_slice() else {
            return Err(CaseError::Kernels(kernels.len()));
        };
        let launch = header(text, "launch").ok_or(CaseError::NoLaunch)?;
        let expectation = header(text, "expect");
        if let Some(other) = expectation.filter(|&value| value != "none") {
            return Err(CaseError::InvalidExpectation(other.to_owned()));
        }
        let expected = expected_findings(text)?;
        if expected.is_empty() != expectation.is_some() {
            return Err(CaseError::MarksOrNone);
        }
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        Ok(Self {
            kernel: kernel.to_owned(),
            launch: words(launch),
            options: header(text, "options").map(words).unwrap_or_default(),
            expected,
        })
    }

    /// The arguments of `anymetal check` for this case in the file `path`, with JSON as its output.
    pub fn arguments(&self, path: &str) -> Vec<String> {
        let mut arguments: Vec<String> =
            ["check", path, "-k", &self.kernel, "--json"].map(str::to_owned).to_vec();
        arguments.extend(self.launch.iter().chain(&self.options).cloned());
        arguments
    }

    /// One line for each miss, false alarm and wrong order of sides; nothing if `found` is what the case
    /// expects.
    pub fn difference(&self, found: &[LinesOfFinding]) -> Vec<String> {
        let ordered = !self.options.iter().any(|option| option == "--schedules");
        let mut lines = Vec::new();
        for expected in &self.expected {
            match found.iter().find(|finding| expected.is_met_by(finding)) {
                None => lines.push(format!("miss: {expected}")),
                Some(first) if ordered && !expected.has_order_of(first) => {
                    lines.push(format!("order: {expected}, but the first is {first}"));
                }
                Some(_) => {}
            }
        }
        for finding in found {
            if !self.expected.iter().any(|expected| expected.is_met_by(finding)) {
                lines.push(format!("false alarm: {finding}"));
            }
        }
        lines
    }
}

impl LinesOfFinding {
    /// Whether `found` is this finding: of the kind, with a side on the one line, or with the two sides in
    /// either order.
    fn is_met_by(&self, found: &Self) -> bool {
        self.kind == found.kind
            && match self.lines.as_slice() {
                [line] => found.lines.contains(line),
                lines => sorted(lines) == sorted(&found.lines),
            }
    }

    /// Whether `found` has its two sides in this order.
    fn has_order_of(&self, found: &Self) -> bool {
        self.lines.len() < 2 || self.lines == found.lines
    }
}

impl fmt::Display for LinesOfFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.lines.iter().map(u32::to_string).collect();
        write!(f, "{} at {}", self.kind, lines.join(" with "))
    }
}

/// The findings in the JSON of `anymetal check`: the elements of `findings`, each with `kind` and
/// `sides[].place.line`; `None` if the text is something else.
pub fn findings_of(json: &str) -> Option<Vec<LinesOfFinding>> {
    let value: Value = serde_json::from_str(json).ok()?;
    value.get("findings")?.as_array()?.iter().map(finding_of).collect()
}

fn finding_of(value: &Value) -> Option<LinesOfFinding> {
    let line = |side: &Value| u32::try_from(side.get("place")?.get("line")?.as_u64()?).ok();
    Some(LinesOfFinding {
        kind: value.get("kind")?.as_str()?.to_owned(),
        lines: value.get("sides")?.as_array()?.iter().map(line).collect::<Option<_>>()?,
    })
}

fn kernel_name(line: &str) -> Option<&str> {
    line.strip_prefix("kernel void ")?.split('(').next()
}

fn header<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let value = |line: &'a str| line.strip_prefix("// ")?.strip_prefix(name)?.strip_prefix(':');
    text.lines().take_while(|line| line.starts_with("//")).find_map(value).map(str::trim)
}

fn sorted(lines: &[u32]) -> Vec<u32> {
    let mut lines = lines.to_vec();
    lines.sort_unstable();
    lines
}

/// The marked findings: those of one side by line, then those of two sides by kind and letter.
fn expected_findings(text: &str) -> Result<Vec<LinesOfFinding>, CaseError> {
    let mut expected = Vec::new();
    let mut pairs: BTreeMap<(String, String), [Vec<u32>; 2]> = BTreeMap::new();
    for (line, number) in text.lines().zip(1..) {
        for mark in line.split("//~").skip(1) {
            let words: Vec<&str> = mark.split_whitespace().collect();
            match words.as_slice() {
                [kind] => expected.push(LinesOfFinding { kind: (*kind).to_owned(), lines: vec![number] }),
                [kind, sides] => {
                    let (letter, first, second) = split_sides(sides).ok_or(CaseError::InvalidMark(number))?;
                    let pair = pairs.entry(((*kind).to_owned(), letter.to_owned())).or_default();
                    pair[0].extend(first.then_some(number));
                    pair[1].extend(second.then_some(number));
                }
                _ => return Err(CaseError::InvalidMark(number)),
            }
        }
    }
    for ((kind, letter), sides) in pairs {
        let [[first], [second]] = [sides[0].as_slice(), sides[1].as_slice()] else {
            return Err(CaseError::UnpairedSide { kind, letter });
        };
        expected.push(LinesOfFinding { kind, lines: vec![*first, *second] });
    }
    Ok(expected)
}

/// The letter of `a12`, and whether it names the first and the second side.
fn split_sides(text: &str) -> Option<(&str, bool, bool)> {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_lowercase());
    let letter = &text[..text.len() - digits.len()];
    match digits {
        "1" => Some((letter, true, false)),
        "2" => Some((letter, false, true)),
        "12" => Some((letter, true, true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    const RACE: &str = "\
// A race.
// launch: --threads 64 --group 64
// options: --seed 1
kernel void race(device float *out [[buffer(0)]]) {
    a = b; //~ race-threadgroup a2 //~ race-grid 12
    c = d; //~ race-threadgroup a1
    e = f; //~ out-of-bounds
}
";

    fn finding(kind: &str, lines: &[u32]) -> LinesOfFinding {
        LinesOfFinding { kind: kind.to_owned(), lines: lines.to_vec() }
    }

    #[test]
    fn marks_give_the_lines_of_both_sides() {
        let case = SanitizerCase::parse(RACE).unwrap();
        assert_eq!(case.kernel, "race");
        assert_eq!(case.launch, ["--threads", "64", "--group", "64"]);
        let expected = [
            finding("out-of-bounds", &[7]),
            finding("race-grid", &[5, 5]),
            finding("race-threadgroup", &[6, 5]),
        ];
        assert_eq!(case.expected, expected);
        assert_eq!(case.arguments("f.metal")[..5], ["check", "f.metal", "-k", "race", "--json"]);
        assert_eq!(case.arguments("f.metal")[9..], ["--seed", "1"]);
    }

    #[test]
    fn files_that_are_no_cases_are_refused() {
        let refused = |from: &str, to: &str| SanitizerCase::parse(&RACE.replace(from, to)).unwrap_err();
        assert_eq!(refused("// launch", "// lunch"), CaseError::NoLaunch);
        assert_eq!(refused("kernel void", "void"), CaseError::Kernels(0));
        assert_eq!(refused("// options: --seed 1", "// expect: none"), CaseError::MarksOrNone);
        assert_eq!(refused("//~", "//"), CaseError::MarksOrNone);
        assert_eq!(refused("options: --seed", "expect:"), CaseError::InvalidExpectation("1".to_owned()));
        assert_eq!(refused("grid 12", "grid 3"), CaseError::InvalidMark(5));
        assert_eq!(refused("out-of-bounds", ""), CaseError::InvalidMark(7));
        let unpaired =
            CaseError::UnpairedSide { kind: "race-threadgroup".to_owned(), letter: "a".to_owned() };
        assert_eq!(refused("a1", "a2"), unpaired);
    }

    #[test]
    fn misses_false_alarms_and_orders_are_told() {
        let case = SanitizerCase::parse(RACE).unwrap();
        let good = [
            finding("race-threadgroup", &[6, 5]),
            finding("race-threadgroup", &[5, 6]),
            finding("race-grid", &[5, 5]),
            finding("out-of-bounds", &[7]),
        ];
        assert_eq!(case.difference(&good), [""; 0]);
        assert_eq!(case.difference(&good[..3]), ["miss: out-of-bounds at 7"]);
        let wrong_order =
            "order: race-threadgroup at 6 with 5, but the first is race-threadgroup at 5 with 6";
        assert_eq!(case.difference(&good[1..]), [wrong_order]);
        let mut more = good.to_vec();
        more.push(finding("out-of-bounds", &[6]));
        more.push(finding("race-grid", &[5, 6]));
        let alarms = ["false alarm: out-of-bounds at 6", "false alarm: race-grid at 5 with 6"];
        assert_eq!(case.difference(&more), alarms);
    }

    #[test]
    fn findings_are_read_from_json() {
        let json = r#"{"findings": [{"kind": "race-grid", "sides": [{"place": {"line": 4}}, {"place": {"line": 9}}]}]}"#;
        assert_eq!(findings_of(json), Some(vec![finding("race-grid", &[4, 9])]));
        assert_eq!(findings_of(r#"{"findings": []}"#), Some(vec![]));
        assert_eq!(findings_of("{}"), None);
        assert_eq!(findings_of(r#"{"findings": [{"kind": "race-grid"}]}"#), None);
    }

    fn cases() -> Vec<(PathBuf, SanitizerCase)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sanitizer");
        let mut cases = Vec::new();
        for folder in fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()) {
            if !folder.is_dir() {
                continue;
            }
            for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
                let text = fs::read_to_string(&path).unwrap();
                let case = SanitizerCase::parse(&text);
                cases
                    .push((path.clone(), case.unwrap_or_else(|error| panic!("{}: {error}", path.display()))));
            }
        }
        cases
    }

    #[test]
    fn every_kind_has_cases_and_traps() {
        let cases = cases();
        for kind in anymetal_sanitizer::FindingKind::ALL {
            let of_kind = cases.iter().filter(|(path, _)| path.parent().unwrap().ends_with(kind.id()));
            let (traps, wrong): (Vec<_>, Vec<_>) = of_kind.partition(|(_, case)| case.expected.is_empty());
            assert!(
                traps.len() >= 3 && wrong.len() >= 3,
                "{kind}: {} traps, {} wrong",
                traps.len(),
                wrong.len()
            );
        }
        assert!(cases.len() >= 240, "{} cases", cases.len());
    }

    #[test]
    fn every_marked_kind_exists() {
        for (path, case) in cases() {
            for expected in &case.expected {
                let known = expected.kind.parse::<anymetal_sanitizer::FindingKind>();
                assert!(known.is_ok(), "{}: {}", path.display(), expected.kind);
            }
        }
    }
}
