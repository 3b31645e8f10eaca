//! Workflow commands of GitHub Actions, which show a message at a line of a change.

/// Where a message is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// A file, relative to the repository's root; empty: none is known.
    pub file: &'a str,
    /// A line, from 1; 0: none is known.
    pub line: u32,
    /// A column, from 1; 0: none is known.
    pub column: u32,
}

/// A command and the end of its line. `kind` is `error`, `warning` or `notice`.
pub fn command(kind: &str, place: Place<'_>, title: &str, message: &str) -> String {
    let mut properties = Vec::new();
    if !place.file.is_empty() {
        properties.push(format!("file={}", property(place.file)));
        properties.extend((place.line > 0).then(|| format!("line={}", place.line)));
        properties.extend((place.column > 0).then(|| format!("col={}", place.column)));
    }
    properties.push(format!("title={}", property(title)));
    format!("::{kind} {}::{}\n", properties.join(","), data(message))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
