//! Prometheus' text format (version 0.0.4).
//!
//! Owns [`Samples`]. Comments, types and timestamps are left out; a line of another form is an error with its
//! number, since values that were half read would be believed.

use std::collections::BTreeMap;

/// A value with its labels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) value: f64,
}

/// All samples of an exposition, by name.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Samples {
    by_name: BTreeMap<String, Vec<Sample>>,
}

impl Sample {
    /// A label's value; empty if there is none.
    pub(super) fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }
}

impl Samples {
    /// The samples of that name.
    pub(super) fn of(&self, name: &str) -> &[Sample] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// The values of that name added up by a label.
    pub(super) fn by_label(&self, name: &str, label: &str) -> BTreeMap<&str, f64> {
        let mut sums = BTreeMap::new();
        for sample in self.of(name) {
            *sums.entry(sample.label(label)).or_default() += sample.value;
        }
        sums
    }

    /// All values of that name added up.
    pub(super) fn total(&self, name: &str) -> f64 {
        self.of(name).iter().fold(0.0, |sum, sample| sum + sample.value)
    }
}

/// Reads an exposition.
pub(super) fn parse(text: &str) -> Result<Samples, String> {
    let mut samples = Samples::default();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, sample) =
            sample(line).map_err(|problem| format!("line {number} is no metric: {problem}"))?;
        samples.by_name.entry(name.to_owned()).or_default().push(sample);
    }
    Ok(samples)
}

fn sample(line: &str) -> Result<(&str, Sample), &'static str> {
    let end = line.find(['{', ' ', '\t']).ok_or("it has no value")?;
    let (name, rest) = line.split_at(end);
    if !is_name(name) {
        return Err("its name has other characters than letters, digits, _ and :");
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(labels) => self::labels(labels)?,
        None => (BTreeMap::new(), rest),
    };
    let mut words = rest.split_whitespace();
    // Rust reads NaN, +Inf and -Inf as Prometheus writes them.
    let value = words.next().ok_or("it has no value")?.parse().map_err(|_| "its value is no number")?;
    Ok((name, Sample { labels, value }))
}

fn is_name(name: &str) -> bool {
    let starts = name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_' || char == ':');
    starts && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_' || char == ':')
}

/// Labels up to the closing brace, and what follows it.
fn labels(mut rest: &str) -> Result<(BTreeMap<String, String>, &str), &'static str> {
    let mut labels = BTreeMap::new();
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((labels, after));
        }
        let (name, value) = rest.split_once('=').ok_or("a label has no value")?;
        let value = value.trim_start().strip_prefix('"').ok_or("a label's value has no quotes")?;
        let (value, after) = quoted(value)?;
        labels.insert(name.trim().to_owned(), value);
        rest = after;
    }
}

/// A value up to its closing quote, and what follows it.
fn quoted(text: &str) -> Result<(String, &str), &'static str> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, escaped)) => value.push(escaped),
                None => break,
            },
            char => value.push(char),
        }
    }
    Err("a label's value has no closing quote")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_with_labels_escapes_and_special_values() {
        let text = "# HELP a about a\n# TYPE a counter\na 3\na{x=\"1\",y=\"q\\\"\\\\\\n}\",} 4.5 1700000000\n\n\
                    b_bucket{le=\"+Inf\"} +Inf\nc NaN\n";
        let samples = parse(text).unwrap();
        assert_eq!((samples.of("a").len(), samples.total("a")), (2, 7.5));
        assert_eq!(samples.of("a")[1].label("y"), "q\"\\\n}");
        assert_eq!(samples.by_label("a", "x"), BTreeMap::from([("", 3.0), ("1", 4.5)]));
        assert_eq!(samples.of("b_bucket")[0].value, f64::INFINITY);
        assert!(samples.of("c")[0].value.is_nan() && samples.of("none").is_empty());
    }

    #[test]
    fn other_lines_are_refused_with_their_number() {
        let problem = |line: &str| parse(&format!("a 1\n{line}\n")).unwrap_err();
        assert_eq!(problem("<html>"), "line 2 is no metric: it has no value");
        assert_eq!(problem("a b"), "line 2 is no metric: its value is no number");
        assert_eq!(problem("a{x=1} 2"), "line 2 is no metric: a label's value has no quotes");
        assert_eq!(problem("a{x=\"1} 2"), "line 2 is no metric: a label's value has no closing quote");
        assert_eq!(problem("a{x} 2"), "line 2 is no metric: a label has no value");
        assert!(problem("9a 1").contains("its name"));
        assert_eq!(problem("a{"), "line 2 is no metric: a label has no value");
    }

    #[test]
    fn cut_off_expositions_never_panic() {
        let text = "a{x=\"1\",y=\"ä\\\"\"} 4.5\nb_bucket{le=\"0.1\"} 2\n";
        for cut in (0..=text.len()).filter(|&cut| text.is_char_boundary(cut)) {
            let _ = parse(&text[..cut]);
            let _ = parse(&text[cut..]);
        }
    }
}
