//! The document of environment variables, and the check that the table has all of them.

use std::fmt::Write as _;

use anymetal_environment::{Group, VARIABLES};

use crate::source_tree::SourceFile;

const HEAD: &str = "\
# Environment variables

<!-- Made by `cargo xtask gen` from runtime/environment/src/table.rs. -->

A blank variable counts as not set. Bytes are a number with an optional unit (`512 MiB`), and so are
durations (`500 ms`, `2 min`). A variable that begins with `ANYMETAL_` and is not listed here has no effect,
and each program reports it once. Most settings can also be put into a file
([execution.md](execution.md#settings)).
";

/// `docs/environment.md`.
pub(crate) fn document() -> String {
    let mut text = HEAD.to_owned();
    for group in Group::ALL {
        let _ = write!(
            text,
            "\n## {}\n\n| variable | in a file | values | default | |\n|---|---|---|---|---|\n",
            group.title()
        );
        for variable in VARIABLES.iter().filter(|variable| variable.group == *group) {
            let anymetal_environment::Variable { name, setting, takes, default, summary, .. } = variable;
            let setting = setting.map(|setting| format!("`{setting}`")).unwrap_or_default();
            let _ = writeln!(text, "| `{name}` | {setting} | {takes} | {default} | {summary} |");
        }
    }
    text
}

/// Reads of variables past the table, in code that is shipped.
pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    let is_shipped = |path: &str| {
        let is_test = ["/tests/", "/examples/", "/tests.rs"].iter().any(|part| path.contains(part));
        let is_ours = path.starts_with("testing/")
            || path.starts_with("xtask/")
            || path.starts_with("runtime/environment/");
        path.ends_with(".rs") && !is_test && !is_ours
    };
    let mut found = Vec::new();
    for file in files.iter().filter(|file| is_shipped(&file.path)) {
        for (number, line) in file.text.lines().enumerate() {
            let reads = ["env::var(\"ANYMETAL_", "env::var_os(\"ANYMETAL_"];
            if reads.iter().any(|read| line.contains(read) && !line.contains(concat!("ANYMETAL_", "TEST_"))) {
                let place = format!("{}:{}", file.path, number + 1);
                found.push(format!("{place}: reads the environment; use `anymetal_environment::value`"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_past_the_table_is_found() {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let read = "let value = std::env::var_os(\"ANYMETAL_X\");\n";
        assert_eq!(check(&[file("devices/cpu/src/config.rs", read)]).len(), 1);
        assert!(check(&[file("devices/cpu/tests/device/a.rs", read)]).is_empty());
        assert!(check(&[file("devices/cpu/src/config.rs", "environment::value(\"ANYMETAL_X\")")]).is_empty());
    }
}
