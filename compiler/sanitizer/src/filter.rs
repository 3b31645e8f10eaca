//! What a run detects and which launches it checks: `--only`, `--skip`, `--enable`, kernels, launches.
//!
//! Start with [`Filter`]. Everything parses from text, with errors that say what is accepted.

use std::fmt;
use std::str::FromStr;

use anymetal_types::setters;
use regex_lite::Regex;
use serde::{Deserialize, Serialize};

use crate::glob::Glob;
use crate::{FindingKind, KindGroup, Severity};

/// Which kinds are detected, in which kernels and launches. The default: every kind that is no lint,
/// everywhere.
///
/// As text it is words such as `only=race skip=race-equal-values enable=lint kernel=gemm* launches=3..10`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Filter {
    /// Nothing but these; all defaults if empty.
    pub only: Vec<KindSelector>,
    /// Not these, whatever else says so.
    pub skip: Vec<KindSelector>,
    /// These besides the defaults.
    pub enable: Vec<KindSelector>,
    /// Kernels that match one of these; all if empty.
    pub kernels: Vec<KernelPattern>,
    /// Launches in this range.
    pub launches: LaunchRange,
}

setters!(Filter {
    only: Vec<KindSelector>,
    skip: Vec<KindSelector>,
    enable: Vec<KindSelector>,
    kernels: Vec<KernelPattern>,
    launches: LaunchRange,
});

impl Filter {
    /// Whether findings of a kind are detected.
    pub fn detects(&self, kind: FindingKind) -> bool {
        let any = |selectors: &[KindSelector]| selectors.iter().any(|selector| selector.selects(kind));
        let selected = if self.only.is_empty() { kind.is_default() } else { any(&self.only) };
        (selected || any(&self.enable)) && !any(&self.skip)
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut filter = Self::default();
        for word in text.split_ascii_whitespace() {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            match key {
                "only" => filter.only.push(value.parse()?),
                "skip" => filter.skip.push(value.parse()?),
                "enable" => filter.enable.push(value.parse()?),
                "kernel" => filter.kernels.push(value.parse()?),
                "launches" => filter.launches = value.parse()?,
                _ => return Err(FilterError::UnknownKey(key.to_owned())),
            }
        }
        Ok(filter)
    }
}

/// A kind or a group of kinds, by its id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum KindSelector {
    /// One kind.
    Kind(FindingKind),
    /// All kinds of a group.
    Group(KindGroup),
}

/// Groups in the order of the documentation.
const GROUPS: [KindGroup; 6] = [
    KindGroup::Race,
    KindGroup::Bounds,
    KindGroup::Uninitialised,
    KindGroup::Synchronisation,
    KindGroup::Alignment,
    KindGroup::Lint,
];

impl KindSelector {
    /// Whether the kind is the one, or one of the group.
    pub fn selects(self, kind: FindingKind) -> bool {
        match self {
            Self::Kind(selected) => selected == kind,
            Self::Group(KindGroup::Lint) => kind.severity() == Severity::Lint,
            Self::Group(group) => kind.group() == group,
        }
    }
}

impl FromStr for KindSelector {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let group = GROUPS.iter().copied().find(|group| group.id() == text).map(Self::Group);
        let kind = || text.parse().map(Self::Kind);
        group.map_or_else(kind, Ok).map_err(|_| FilterError::UnknownKind(text.to_owned()))
    }
}

impl TryFrom<String> for KindSelector {
    type Error = FilterError;

    fn try_from(id: String) -> Result<Self, Self::Error> {
        id.parse()
    }
}

impl From<KindSelector> for String {
    fn from(selector: KindSelector) -> Self {
        selector.to_string()
    }
}

impl fmt::Display for KindSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => f.write_str(kind.id()),
            Self::Group(group) => f.write_str(group.id()),
        }
    }
}

/// Which kernels: a name, a name with `*` and `?`, or `/a regular expression/` that matches a part of the
/// name. Equal patterns are of equal text.
#[derive(Clone, Debug)]
pub struct KernelPattern {
    text: String,
    pattern: Pattern,
}

#[derive(Clone, Debug)]
enum Pattern {
    Glob(Glob),
    Regex(Regex),
}

impl PartialEq for KernelPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for KernelPattern {}

impl fmt::Display for KernelPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl KernelPattern {
    /// Whether the kernel's name matches.
    pub fn matches(&self, kernel: &str) -> bool {
        match &self.pattern {
            Pattern::Glob(glob) => glob.matches(kernel),
            Pattern::Regex(regex) => regex.is_match(kernel),
        }
    }
}

impl FromStr for KernelPattern {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err(FilterError::EmptyKernel);
        }
        // The text form of a filter is cut at spaces, and names have none.
        if text.contains(char::is_whitespace) {
            return Err(FilterError::SpaceInKernel(text.to_owned()));
        }
        let of = |pattern| Self { text: text.to_owned(), pattern };
        let Some(rest) = text.strip_prefix('/') else { return Ok(of(Pattern::Glob(Glob::new(text)))) };
        let bad = |reason: String| FilterError::Regex { text: text.to_owned(), reason };
        let regex = rest.strip_suffix('/').ok_or_else(|| bad("the closing `/` is missing".to_owned()))?;
        let regex = Regex::new(regex).map_err(|error| bad(error.to_string()))?;
        Ok(of(Pattern::Regex(regex)))
    }
}

/// Launches from `start` to before `end`, by their number in the session, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LaunchRange {
    /// The first.
    pub start: u64,
    /// The one after the last; none for no end.
    pub end: Option<u64>,
}

impl LaunchRange {
    /// Whether a launch is in the range.
    pub fn contains(self, launch: u64) -> bool {
        launch >= self.start && self.end.is_none_or(|end| launch < end)
    }
}

impl fmt::Display for LaunchRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..", self.start)?;
        self.end.map_or(Ok(()), |end| write!(f, "{end}"))
    }
}

impl FromStr for LaunchRange {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || FilterError::Launches(text.to_owned());
        let number = |digits: &str| digits.parse::<u64>().map_err(|_| bad());
        let Some((start, end)) = text.split_once("..") else {
            let start = number(text)?;
            return Ok(Self { start, end: start.checked_add(1) });
        };
        let start = if start.is_empty() { 0 } else { number(start)? };
        let end = match end.strip_prefix('=') {
            Some(last) => number(last)?.checked_add(1),
            None if end.is_empty() => None,
            None => Some(number(end)?),
        };
        if end.is_some_and(|end| end <= start) {
            return Err(bad());
        }
        Ok(Self { start, end })
    }
}

/// Why the text of a filter is not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FilterError {
    /// Neither a kind nor a group has this id.
    UnknownKind(String),
    /// A filter has no such key.
    UnknownKey(String),
    /// A kernel pattern without characters.
    EmptyKernel,
    /// A kernel pattern with a space.
    SpaceInKernel(String),
    /// A word with a number that is none.
    Number(String),
    /// A regular expression for kernels is wrong.
    Regex {
        /// With its slashes.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No range of launches, or one that is empty.
    Launches(String),
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKind(text) => {
                let kinds: Vec<&str> = FindingKind::ALL.iter().map(|kind| kind.id()).collect();
                let groups = GROUPS.map(KindGroup::id).join(", ");
                write!(f, "`{text}` is no kind of finding and no group; the groups are {groups}; ")?;
                write!(f, "the kinds are {}", kinds.join(", "))
            }
            Self::UnknownKey(key) => {
                write!(f, "`{key}` is no part of a filter; it has only, skip, enable, kernel and launches")
            }
            Self::EmptyKernel => f.write_str("a kernel pattern must not be empty; `*` matches every kernel"),
            Self::SpaceInKernel(text) => {
                write!(f, "`{text}` has a space, and names of kernels have none; write `\\s` for one")
            }
            Self::Number(word) => write!(f, "`{word}` has no number, or none that is allowed"),
            Self::Regex { text, reason } => write!(f, "`{text}` is no regular expression: {reason}"),
            Self::Launches(text) => {
                write!(
                    f,
                    "`{text}` is no range of launches; write `3`, `3..10` (10 is not in it), `3..=10`, "
                )?;
                f.write_str("`3..` or `..10`, with at least one launch")
            }
        }
    }
}

impl std::error::Error for FilterError {}

#[cfg(test)]
mod tests {
    use super::{Filter, FilterError, KernelPattern, LaunchRange};
    use crate::FindingKind;

    fn detected(filter: &str) -> Vec<FindingKind> {
        let filter: Filter = filter.parse().expect("it is well formed");
        FindingKind::ALL.iter().copied().filter(|&kind| filter.detects(kind)).collect()
    }

    #[test]
    fn kinds_are_selected_by_id_and_group() {
        assert!(!detected("").contains(&FindingKind::DivisionByZero));
        assert!(detected("enable=division-by-zero").contains(&FindingKind::DivisionByZero));
        assert_eq!(detected("only=misaligned-access only=shift-overflow").len(), 2);
        assert_eq!(detected("only=race skip=race-equal-values").len(), 3);
        assert_eq!(detected("enable=lint").len(), FindingKind::ALL.len());
        assert_eq!(detected("only=race skip=race"), []);
    }

    #[test]
    fn kernels_match_by_name_glob_and_regex() {
        let filter: Filter = "kernel=reduce kernel=gemm* kernel=/_f(16|32)$/".parse().unwrap();
        let matches = |kernel| filter.kernels.iter().any(|pattern| pattern.matches(kernel));
        for (kernel, expected) in
            [("reduce", true), ("reduce_2", false), ("gemm_q4", true), ("mul_f16", true), ("mul_f16x", false)]
        {
            assert_eq!(matches(kernel), expected, "{kernel}");
        }
    }

    #[test]
    fn launches_are_a_half_open_range() {
        let range = |text: &str| text.parse::<LaunchRange>();
        assert!(range("3..10").unwrap().contains(9) && !range("3..10").unwrap().contains(10));
        assert!(range("3..=10").unwrap().contains(10));
        assert!(range("3").unwrap().contains(3) && !range("3").unwrap().contains(4));
        assert!(range("..2").unwrap().contains(0) && range("7..").unwrap().contains(u64::MAX));
        for wrong in ["", "a", "3..3", "5..2", "-1", "1...3", "99999999999999999999"] {
            assert_eq!(range(wrong), Err(FilterError::Launches(wrong.to_owned())), "{wrong}");
        }
    }

    #[test]
    fn wrong_text_is_told_with_what_is_accepted() {
        let error = |text: &str| text.parse::<Filter>().unwrap_err().to_string();
        assert!(
            error("only=races")
                .starts_with("`races` is no kind of finding and no group; the groups are race,")
        );
        assert_eq!(
            error("unless=race"),
            "`unless` is no part of a filter; it has only, skip, enable, kernel and launches"
        );
        assert!(error("kernel=/(/").contains("is no regular expression"));
        assert!(
            "/abc".parse::<KernelPattern>().unwrap_err().to_string().ends_with("the closing `/` is missing")
        );
        assert!("".parse::<KernelPattern>().is_err());
        assert!("/a b/".parse::<KernelPattern>().unwrap_err().to_string().starts_with("`/a b/` has a space"));
    }
}
