//! What a session detects, in which launches, and how much of it is kept.
//!
//! [`SanitizerOptions`] have a text form, in which a process hands them to another.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::FindingKind;
use crate::filter::{Filter, FilterError, KernelPattern, LaunchRange};

/// What is detected, and how much of it is kept.
///
/// As text it is words: those of a [`Filter`], and `undefined=NAME`, `schedules=N`, `seed=S`,
/// `max-findings=N` and `max-threadgroups=N`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SanitizerOptions {
    /// What is detected; at first everything that is on by default.
    pub kinds: BTreeSet<FindingKind>,
    /// Kernels whose launches are checked: those that match one of these; all if empty.
    pub kernels: Vec<KernelPattern>,
    /// The launches that are checked, by their number in the session.
    pub launches: LaunchRange,
    /// Threadgroups of a launch that are checked, spread evenly; `None` for all.
    pub max_threadgroups: Option<u64>,
    /// Different findings that are kept; more are counted.
    pub max_findings: usize,
    /// Bytes of shadow memory; accesses beyond are not followed, and counted.
    pub max_shadow_bytes: u64,
    /// Runs of each launch: the first in order, the others shuffled.
    pub schedules: u32,
    /// The seed of the second run; later ones count up from it.
    pub seed: u64,
    /// Names of arguments whose buffers have undefined contents before each launch.
    pub undefined_arguments: BTreeSet<String>,
    /// Steps of SIMD-groups that a launch may take.
    pub max_steps: u64,
}

impl Default for SanitizerOptions {
    fn default() -> Self {
        Self::of_filter(&Filter::default())
    }
}

impl SanitizerOptions {
    /// Detects what the filter selects, in the kernels and launches that it selects.
    pub fn of_filter(filter: &Filter) -> Self {
        Self {
            kinds: FindingKind::ALL.iter().copied().filter(|&kind| filter.detects(kind)).collect(),
            kernels: filter.kernels.clone(),
            launches: filter.launches,
            max_threadgroups: None,
            max_findings: 1000,
            max_shadow_bytes: 1 << 30,
            schedules: 1,
            seed: 0,
            undefined_arguments: BTreeSet::new(),
            max_steps: 10_000_000_000,
        }
    }

    /// Whether a launch of a kernel is checked. `launch` is its number in the session, from 0.
    pub(crate) fn checks(&self, kernel: &str, launch: u64) -> bool {
        let named = self.kernels.is_empty() || self.kernels.iter().any(|pattern| pattern.matches(kernel));
        named && self.launches.contains(launch)
    }
}

impl fmt::Display for SanitizerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = self.kinds.iter().map(|kind| format!("only={kind}"));
        let none = self.kinds.is_empty().then(|| "only=race skip=race".to_owned());
        let kinds = kinds.chain(none);
        let kernels = self.kernels.iter().map(|kernel| format!("kernel={kernel}"));
        let undefined = self.undefined_arguments.iter().map(|name| format!("undefined={name}"));
        let numbers = [
            format!("launches={}", self.launches),
            format!("schedules={} seed={} max-findings={}", self.schedules, self.seed, self.max_findings),
        ];
        let most = self.max_threadgroups.map(|most| format!("max-threadgroups={most}"));
        let words: Vec<String> = kinds.chain(kernels).chain(undefined).chain(numbers).chain(most).collect();
        f.write_str(&words.join(" "))
    }
}

impl FromStr for SanitizerOptions {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let own = |word: &&str| {
            let key = word.split_once('=').map_or(*word, |(key, _)| key);
            ["undefined", "schedules", "seed", "max-findings", "max-threadgroups"].contains(&key)
        };
        let (own, filter): (Vec<&str>, Vec<&str>) = text.split_ascii_whitespace().partition(own);
        let mut options = Self::of_filter(&filter.join(" ").parse()?);
        for word in own {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            match key {
                "undefined" => _ = options.undefined_arguments.insert(value.to_owned()),
                "schedules" => options.schedules = number(word, value)?,
                "seed" => options.seed = number(word, value)?,
                "max-findings" => options.max_findings = number(word, value)?,
                _ => options.max_threadgroups = Some(number(word, value)?),
            }
        }
        Ok(options)
    }
}

fn number<T: FromStr>(word: &str, value: &str) -> Result<T, FilterError> {
    value.parse().map_err(|_| FilterError::Number(word.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::SanitizerOptions;
    use crate::FindingKind;

    fn options(text: &str) -> SanitizerOptions {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn the_text_form_is_read_back() {
        for text in [
            "",
            "only=race skip=race-grid",
            "only=race skip=race",
            "enable=lint kernel=gemm* kernel=/_f(16|32)$/ launches=2..",
            "launches=..7 schedules=3 seed=9 undefined=out max-findings=5 max-threadgroups=8",
        ] {
            let parsed = options(text);
            assert_eq!(options(&parsed.to_string()), parsed, "{text}");
        }
        assert_eq!(options(""), SanitizerOptions::default());
    }

    #[test]
    fn words_set_the_options() {
        let parsed = options("only=race-grid kernel=sum launches=1..3 max-threadgroups=4 seed=7");
        assert_eq!(parsed.kinds, [FindingKind::RaceBetweenThreadgroups].into());
        assert!(parsed.checks("sum", 1) && !parsed.checks("sum", 3) && !parsed.checks("sums", 1));
        assert_eq!((parsed.max_threadgroups, parsed.seed), (Some(4), 7));
    }

    #[test]
    fn wrong_words_are_refused() {
        for wrong in
            ["schedules=", "schedules=-1", "seed=x", "max-findings=1.5", "max-threadgroups", "mode=1"]
        {
            let error = wrong.parse::<SanitizerOptions>().expect_err(wrong);
            assert!(error.to_string().contains(wrong.split('=').next().unwrap_or(wrong)), "{error}");
        }
    }
}
