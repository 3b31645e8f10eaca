//! `anymetal --explain ID`: the meaning of a diagnostic, and an example.

use anymetal_driver::{Entry, catalogue_entry, catalogue_ids, suggest};

use crate::failure::Failure;
use crate::output;

/// For each id the rendering of an example of `tests/ui`, after a line `## ID`; `cargo xtask gen` writes it.
const EXAMPLES: &str = include_str!("explain_examples.txt");

/// Prints it.
pub(crate) fn explain(id: &str) -> Result<(), Failure> {
    // As messages show it, in brackets or as an option.
    let id = id.trim_start_matches('[').trim_end_matches(']').trim_start_matches("-W");
    let Some(entry) = catalogue_entry(id) else {
        let near = suggest(id, catalogue_ids()).map(|near| format!("; did you mean `{near}`?"));
        let message = format!("no diagnostic has the id `{id}`{}", near.unwrap_or_default());
        return Err(Failure::Usage(message));
    };
    let mut text = format!("{id}: {}\n\n{}\n", entry.meaning, severity(entry));
    if let Some(example) = example(id) {
        text.push_str("\nFor example:\n\n");
        for line in example.lines() {
            text.push_str(format!("    {line}").trim_end());
            text.push('\n');
        }
    }
    output::write(&text)
}

/// Whether it is an error, and which options change that.
fn severity(entry: &Entry) -> String {
    match entry.warning {
        None => "An error.".to_owned(),
        Some(flag) if flag.is_error => format!("An error; -Wno-{} switches it off.", flag.group),
        Some(flag) if flag.is_default => {
            format!("A warning; -Wno-{0} switches it off, -Werror={0} makes it an error.", flag.group)
        }
        Some(flag) => format!("A warning that -W{} switches on.", flag.group),
    }
}

fn example(id: &str) -> Option<&'static str> {
    let mut sections = EXAMPLES.split("## ").skip(1);
    sections.find_map(|section| section.strip_prefix(id)?.strip_prefix('\n')).map(str::trim_end)
}
