//! Prometheus' text format, read strictly: for programs that attach to another one's `/metrics`, and for
//! tests.
//!
//! Owns [`parse`]. Invariant: what it accepts follows the format and the data model: a family's lines are
//! together, HELP and TYPE come first and once, no series is there twice, a histogram's buckets do not fall
//! and its last one is its count.

use std::collections::{BTreeMap, BTreeSet};

/// A metric as text has it.
#[derive(Debug, Clone, PartialEq)]
pub struct ScrapedFamily {
    /// Its name.
    pub name: String,
    /// `counter`, `gauge`, `histogram`, `summary`, `untyped`.
    pub kind: String,
    /// What it tells; may be empty.
    pub help: String,
    /// Its samples, in order.
    pub samples: Vec<Sample>,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The name, with the suffix of a histogram's part.
    pub name: String,
    /// The labels, in order.
    pub labels: Vec<(String, String)>,
    /// The value.
    pub value: f64,
}

/// Text that is not in the format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct ScrapeError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
}

impl Sample {
    /// A label's value.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Reads a text.
pub fn parse(text: &str) -> Result<Vec<ScrapedFamily>, ScrapeError> {
    let mut reader = Reader::default();
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(ScrapeError { line: text.lines().count(), reason: "the last line does not end".into() });
    }
    for (number, line) in text.lines().enumerate() {
        reader.line(line).map_err(|reason| ScrapeError { line: number + 1, reason })?;
    }
    let line = text.lines().count();
    reader.close().map_err(|reason| ScrapeError { line, reason })?;
    Ok(reader.families)
}

#[derive(Default)]
struct Reader {
    families: Vec<ScrapedFamily>,
    /// HELP came before TYPE.
    help: Option<(String, String)>,
    seen: BTreeSet<String>,
    series: BTreeSet<String>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.trim().is_empty() {
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap_or((rest, ""));
            check_name(name, true)?;
            if self.help.is_some() || self.seen.contains(name) {
                return Err(format!("a HELP of {name} is not at the start of its lines"));
            }
            self.help = Some((name.to_owned(), unescape(help, false)?));
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            return self.begin(rest);
        }
        if line.starts_with('#') {
            return Ok(());
        }
        let sample = sample(line)?;
        let kind = self.families.last().map(|family| (family.name.clone(), family.kind.clone()));
        let Some((name, kind)) = kind.filter(|(name, kind)| belongs(&sample.name, name, kind)) else {
            return Err(format!("{} is not of the family before it", sample.name));
        };
        if kind == "counter" && (sample.value.is_nan() || sample.value < 0.0) {
            return Err(format!("the counter {name} is {}", sample.value));
        }
        let mut labels = sample.labels.clone();
        labels.sort();
        if !self.series.insert(format!("{}{labels:?}", sample.name)) {
            return Err(format!("{} is there twice with the same labels", sample.name));
        }
        self.families.last_mut().into_iter().for_each(|family| family.samples.push(sample.clone()));
        Ok(())
    }

    fn begin(&mut self, rest: &str) -> Result<(), String> {
        self.close()?;
        let (name, kind) = rest.split_once(' ').ok_or("a TYPE without a type")?;
        check_name(name, true)?;
        if !["counter", "gauge", "histogram", "summary", "untyped"].contains(&kind) {
            return Err(format!("{kind} is no type"));
        }
        if !self.seen.insert(name.to_owned()) {
            return Err(format!("the lines of {name} are not together"));
        }
        let help = match self.help.take() {
            Some((of, help)) if of == name => help,
            Some((of, _)) => return Err(format!("a HELP of {of} before the TYPE of {name}")),
            None => String::new(),
        };
        let (name, kind) = (name.to_owned(), kind.to_owned());
        self.families.push(ScrapedFamily { name, kind, help, samples: Vec::new() });
        Ok(())
    }

    /// Checks the last family.
    fn close(&mut self) -> Result<(), String> {
        match self.families.last() {
            Some(family) if family.kind == "histogram" => check_histogram(family),
            _ => Ok(()),
        }
    }
}

fn belongs(sample: &str, family: &str, kind: &str) -> bool {
    let Some(suffix) = sample.strip_prefix(family) else { return false };
    match kind {
        "histogram" => ["_bucket", "_sum", "_count"].contains(&suffix),
        "summary" => ["", "_sum", "_count"].contains(&suffix),
        _ => suffix.is_empty(),
    }
}

/// Of each series: buckets with rising bounds and counts that do not fall, the last of them the count; a sum.
fn check_histogram(family: &ScrapedFamily) -> Result<(), String> {
    #[derive(Default)]
    struct Parts {
        buckets: Vec<(f64, f64)>,
        sum: bool,
        count: Option<f64>,
    }
    let mut series: BTreeMap<Vec<(String, String)>, Parts> = BTreeMap::new();
    for sample in &family.samples {
        let mut labels = sample.labels.clone();
        labels.retain(|(name, _)| name != "le");
        labels.sort();
        let parts = series.entry(labels).or_default();
        match sample.name.strip_prefix(&family.name) {
            Some("_bucket") => {
                let bound =
                    sample.label("le").ok_or_else(|| format!("a bucket of {} without le", family.name))?;
                parts.buckets.push((parse_number(bound)?, sample.value));
            }
            Some("_sum") => parts.sum = true,
            _ => parts.count = Some(sample.value),
        }
    }
    for (labels, parts) in series {
        let rises = parts.buckets.is_sorted_by(|one, next| one.0 < next.0 && one.1 <= next.1);
        let last = parts.buckets.last().filter(|(bound, _)| *bound == f64::INFINITY).map(|(_, count)| *count);
        if !rises || !parts.sum || last.is_none() || last != parts.count {
            return Err(format!("the histogram {} with {labels:?} is not whole", family.name));
        }
    }
    Ok(())
}

fn sample(line: &str) -> Result<Sample, String> {
    let name_end = line.find(['{', ' ']).ok_or("a sample without a value")?;
    let (name, rest) = line.split_at(name_end);
    check_name(name, true)?;
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => parse_labels(rest)?,
        None => (Vec::new(), rest),
    };
    let mut words = rest.split_ascii_whitespace();
    let value = parse_number(words.next().ok_or("a sample without a value")?)?;
    if let Some(timestamp) = words.next() {
        timestamp.parse::<i64>().map_err(|_| format!("{timestamp} is no timestamp"))?;
    }
    match words.next() {
        None => Ok(Sample { name: name.to_owned(), labels, value }),
        Some(more) => Err(format!("{more} after the sample")),
    }
}

/// Labels up to the closing brace, and what follows it.
fn parse_labels(mut rest: &str) -> Result<(Vec<(String, String)>, &str), String> {
    let mut labels: Vec<(String, String)> = Vec::new();
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((labels, after));
        }
        let (name, after) = rest.split_once("=\"").ok_or("a label without a quoted value")?;
        check_name(name, false)?;
        let end = closing_quote(after).ok_or("a label's value does not end")?;
        let value = unescape(&after[..end], true)?;
        if labels.iter().any(|(known, _)| known == name) {
            return Err(format!("the label {name} twice"));
        }
        labels.push((name.to_owned(), value));
        rest = &after[end + 1..];
        if let Some(after) = rest.strip_prefix(',') {
            rest = after;
        } else if !rest.starts_with('}') {
            return Err("labels are not separated by a comma".into());
        }
    }
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (place, c) in text.char_indices() {
        match c {
            '"' if !escaped => return Some(place),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

fn unescape(text: &str, quotes: bool) -> Result<String, String> {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match chars.next() {
            Some('\\') => plain.push('\\'),
            Some('n') => plain.push('\n'),
            Some('"') if quotes => plain.push('"'),
            other => return Err(format!("the escape \\{}", other.map_or(String::new(), String::from))),
        }
    }
    Ok(plain)
}

fn parse_number(text: &str) -> Result<f64, String> {
    match text {
        "+Inf" => Ok(f64::INFINITY),
        "-Inf" => Ok(f64::NEG_INFINITY),
        "NaN" => Ok(f64::NAN),
        text => text.parse().map_err(|_| format!("{text} is no number")),
    }
}

fn check_name(name: &str, of_metric: bool) -> Result<(), String> {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_' || (of_metric && c == ':');
    let mut chars = name.chars();
    if chars.next().is_some_and(first) && chars.all(|c| first(c) || c.is_ascii_digit()) {
        return Ok(());
    }
    Err(format!("`{name}` is no valid name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_the_format_is_refused_with_its_line() {
        let cases = [
            ("a 1", 1, "does not end"),
            ("a 1\n", 1, "not of the family"),
            ("# TYPE a gauge\n# TYPE b gauge\n# TYPE a gauge\n", 3, "not together"),
            ("# TYPE a gauge\na{k=\"1\"} 1\na{k=\"1\"} 2\n", 3, "twice"),
            ("# TYPE a gauge\na{k=1} 1\n", 2, "quoted"),
            ("# TYPE a gauge\na{k=\"\\x\"} 1\n", 2, "escape"),
            ("# TYPE a counter\na -1\n", 2, "counter"),
            ("# TYPE 1a counter\n", 1, "valid name"),
            ("# TYPE a gauge\na 1 2 3\n", 2, "after the sample"),
            ("# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n", 4, "not whole"),
            (
                "# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n",
                5,
                "not whole",
            ),
        ];
        for (text, line, reason) in cases {
            let error = parse(text).unwrap_err();
            assert!(error.line == line && error.reason.contains(reason), "{text}: {error}");
        }
    }
}
