//! Counts by corpus, and the failures.

use std::collections::BTreeMap;
use std::fmt;

use anymetal_conformance::expectation::Expectations;

use crate::assemble::{VARIANTS, Variant, Verdict};
use crate::subjects::Subject;

/// Failures that are shown.
const MAX_SHOWN: usize = 12;
/// Characters of a failure that are shown.
const MAX_CHARACTERS: usize = 600;

/// Kernels of one corpus in one variant.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    assembled: usize,
    known_gaps: usize,
    all: usize,
}

/// What came of all kernels.
#[derive(Debug)]
pub(crate) struct Report {
    expectations: Expectations,
    counts: BTreeMap<(&'static str, u32), Count>,
    failures: Vec<String>,
}

impl Report {
    pub(crate) fn new() -> Self {
        let expectations = Expectations::of_repository();
        Report { expectations, counts: BTreeMap::new(), failures: Vec::new() }
    }

    pub(crate) fn note(&mut self, subject: &Subject, variant: Variant, verdict: Verdict) {
        let is_known = self.is_known(subject);
        let count = self.counts.entry((subject.corpus, variant.sm)).or_default();
        count.all += 1;
        let (what, message) = match verdict {
            Verdict::Assembled => return count.assembled += 1,
            Verdict::NotGenerated(_) if is_known => return count.known_gaps += 1,
            Verdict::NotGenerated(message) => ("is not generated", message),
            Verdict::Refused(message) => ("is refused", message),
        };
        let message: String = message.chars().take(MAX_CHARACTERS).collect();
        let (file, kernel) = (&subject.file, &subject.kernel);
        self.failures.push(format!("{file}: {kernel} for sm_{} {what}: {message}", variant.sm));
    }

    /// Whether GPUs are known to have no code for the file.
    fn is_known(&self, subject: &Subject) -> bool {
        let case = subject.file.trim_end_matches(".metal");
        self.expectations.reason("nvidia", true, case).is_some()
    }

    /// Whether there were kernels, and none failed.
    pub(crate) fn is_good(&self) -> bool {
        self.failures.is_empty() && !self.counts.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<24}", "corpus")?;
        VARIANTS.iter().try_for_each(|variant| write!(f, "{:>24}", format!("sm_{}", variant.sm)))?;
        writeln!(f)?;
        let mut corpora: Vec<&str> = self.counts.keys().map(|(corpus, _)| *corpus).collect();
        corpora.dedup();
        for corpus in corpora {
            write!(f, "{corpus:<24}")?;
            for variant in VARIANTS {
                let count = self.counts.get(&(corpus, variant.sm)).copied().unwrap_or_default();
                let gaps = count.known_gaps;
                let gaps = if gaps > 0 { format!(" ({gaps} known)") } else { String::new() };
                write!(f, "{:>24}", format!("{} of {}{gaps}", count.assembled, count.all))?;
            }
            writeln!(f)?;
        }
        for failure in self.failures.iter().take(MAX_SHOWN) {
            writeln!(f, "- {failure}")?;
        }
        let more = self.failures.len().saturating_sub(MAX_SHOWN);
        if more > 0 { writeln!(f, "({more} more failures)") } else { Ok(()) }
    }
}
