//! Known gaps: rows of `expectations.toml`, each with its reason.
//!
//! Invariant: listed cases fail, all others pass; anything else fails the suite.

use serde::Deserialize;

/// A case that is known to fail.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// What the executor is called in rows, or `*`. It stands for the executor without checks, too.
    pub executor: String,
    /// It fails only where accesses are checked.
    #[serde(default)]
    pub checked: bool,
    /// The kernel's or the file's name; a `*` at its end matches any rest.
    pub case: String,
    /// Why, and what would have to change.
    pub reason: String,
}

/// All rows.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    /// The rows.
    #[serde(default)]
    pub gap: Vec<Expectation>,
}

impl Expectations {
    /// Those of the repository.
    ///
    /// # Panics
    /// If the file is malformed.
    pub fn of_repository() -> Self {
        let text = include_str!("../expectations.toml");
        toml::from_str(text).unwrap_or_else(|error| panic!("expectations.toml: {error}"))
    }

    /// The reason why a case is known to fail on an executor of that name in rows; `checks`: it notices
    /// accesses out of bounds. A row of an executor also holds for the executor with options: that of `cpu`
    /// for `cpu -O0` and `cpu without features`.
    pub fn reason(&self, executor: &str, checks: bool, case: &str) -> Option<&str> {
        let is_executor = |row: &Expectation| match executor.strip_prefix(&row.executor) {
            Some(rest) => rest.is_empty() || rest.starts_with(' '),
            None => row.executor == "*",
        };
        let fits = |row: &&Expectation| {
            is_executor(row)
                && (checks || !row.checked)
                && match row.case.strip_suffix('*') {
                    Some(start) => case.starts_with(start),
                    None => row.case == case,
                }
        };
        self.gap.iter().find(fits).map(|row| row.reason.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_match_by_executor_and_start() {
        let text = "[[gap]]\nexecutor = \"cpu\"\ncase = \"conv_*\"\nreason = \"r\"\n";
        let rows: Expectations = toml::from_str(text).expect("it is well formed");
        assert_eq!(rows.reason("cpu", true, "conv_f32"), Some("r"));
        assert_eq!(rows.reason("interpreter", true, "conv_f32"), None);
        assert_eq!(rows.reason("cpu", true, "cov"), None);
        assert_eq!(rows.reason("cpu", false, "conv_f32"), Some("r"));
        assert_eq!(rows.reason("cpu -O0", true, "conv_f32"), Some("r"));
        assert_eq!(rows.reason("cpus", true, "conv_f32"), None);
        let rows: Expectations =
            toml::from_str(&(text.to_owned() + "checked = true")).expect("it is well formed");
        assert_eq!(rows.reason("cpu", true, "conv_f32"), Some("r"));
        assert_eq!(rows.reason("cpu", false, "conv_f32"), None);
        Expectations::of_repository();
    }
}
