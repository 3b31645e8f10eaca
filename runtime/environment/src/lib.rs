//! The environment variables of anymetal: one table, and the one place that reads them.
//!
//! Each variable is a row of [`VARIABLES`], which `docs/environment.md` is generated from. [`value`] and
//! [`text`] read a variable of the table; [`unknown`] finds variables with our prefix that are not in it.
//!
//! Invariant: no other code reads an `ANYMETAL_*` variable, so a variable that is not in the table has no
//! effect.

#![forbid(unsafe_code)]

mod table;

use std::ffi::OsString;

pub use table::{Group, VARIABLES, Variable};

/// What the names of all variables begin with.
pub const PREFIX: &str = "ANYMETAL_";

/// What the names of variables begin with that only the project's own tests set.
const TEST_PREFIX: &str = "ANYMETAL_TEST_";

/// The row of a variable.
pub fn find(name: &str) -> Option<&'static Variable> {
    VARIABLES.iter().find(|variable| variable.name == name)
}

/// The value of a variable; `None` if it is not set or is blank.
///
/// # Panics
/// If the variable is not in the table.
pub fn value(name: &str) -> Option<OsString> {
    assert!(find(name).is_some(), "{name} is not in the table of variables");
    std::env::var_os(name).filter(|value| !value.to_string_lossy().trim().is_empty())
}

/// The value of a variable as text, with U+FFFD for what is not UTF-8.
///
/// # Panics
/// If the variable is not in the table.
pub fn text(name: &str) -> Option<String> {
    value(name).map(|value| value.to_string_lossy().into_owned())
}

/// The names of the process's variables that have our prefix and are not in the table, sorted. Empty ones are
/// ignored.
pub fn unknown() -> Vec<String> {
    let set = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    unknown_of(set.filter_map(|(name, _)| name.into_string().ok()))
}

/// The names that have our prefix and are not in the table, sorted.
pub fn unknown_of(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let is_ours = |name: &String| name.starts_with(PREFIX) && !name.starts_with(TEST_PREFIX);
    let mut unknown: Vec<String> =
        names.into_iter().filter(is_ours).filter(|name| find(name).is_none()).collect();
    unknown.sort_unstable();
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_have_the_prefix() {
        for (place, variable) in VARIABLES.iter().enumerate() {
            assert!(variable.name.starts_with(PREFIX), "{}", variable.name);
            let first = VARIABLES.iter().position(|other| other.name == variable.name);
            assert_eq!(first, Some(place), "{}", variable.name);
            assert!(!variable.summary.is_empty() && !variable.takes.is_empty(), "{}", variable.name);
        }
    }

    #[test]
    fn settings_are_spelled_as_their_variables() {
        for variable in VARIABLES {
            let Some(setting) = variable.setting else { continue };
            let words = setting.to_ascii_uppercase().replace(['.', '-'], "_");
            // The checks of kernels have short names, which are older than the section.
            let words =
                words.strip_prefix("KERNELS_").filter(|rest| rest.starts_with("CHECK")).unwrap_or(&words);
            assert_eq!(variable.name.strip_prefix(PREFIX), Some(words));
        }
    }

    #[test]
    fn unknown_variables_are_found() {
        let names = ["PATH", "ANYMETAL_CASHE", "ANYMETAL_CACHE", "ANYMETAL_TEST_X", "ANYMETAL_A"];
        assert_eq!(unknown_of(names.map(str::to_owned)), ["ANYMETAL_A", "ANYMETAL_CASHE"]);
    }

    #[test]
    #[should_panic(expected = "not in the table")]
    fn a_variable_that_is_not_in_the_table_is_not_read() {
        let _value = value("ANYMETAL_NO_SUCH_VARIABLE");
    }
}
