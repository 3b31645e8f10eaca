//! The kernels that are mutated: the demo's, and samples of candle's and llama.cpp's conformance cases.

use anymetal_conformance::execute::Source;
use anymetal_conformance::suite::CasesOf;
use anymetal_conformance::{candle, demo, llama};

/// A source file of a suite.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The suite: `demo`, `candle` or `llama.cpp`.
    pub suite: &'static str,
    /// The file, without `.metal`.
    pub name: &'static str,
    source: fn(&str) -> Source,
    covers: fn(&str) -> bool,
    cases_of: CasesOf,
}

impl Family {
    /// Its source. Those of candle and llama.cpp are cargo's copies.
    ///
    /// # Panics
    /// If it cannot be read.
    pub fn source(&self) -> Source {
        (self.source)(self.name)
    }

    /// Whether a kernel of it has launches.
    pub fn covers(&self, kernel: &str) -> bool {
        (self.covers)(kernel)
    }

    /// The launches of its kernels.
    pub fn cases_of(&self) -> CasesOf {
        self.cases_of
    }
}

/// All families, those of the suites in turns, so that a part of them has some of each.
pub fn families() -> Vec<Family> {
    let ours = demo::FILES.iter().map(|&name| Family {
        suite: "demo",
        name,
        source: demo::source,
        covers: |_| true,
        cases_of: demo::cases,
    });
    let candles = candle::FAMILIES.iter().map(|family| Family {
        suite: "candle",
        name: family.name,
        source: |name| candle::family(name).source(),
        // The other entry points of that file are never called.
        covers: if family.name == "quantized" { candle::quantized::is_called } else { |_| true },
        cases_of: family.cases_of,
    });
    let llamas = llama::FAMILIES.iter().map(|family| Family {
        suite: "llama.cpp",
        name: family.name,
        source: |name| llama::family(name).source(),
        covers: family.covers,
        cases_of: family.cases_of,
    });
    let mut suites: [Vec<Family>; 3] = [ours.collect(), candles.collect(), llamas.collect()];
    let mut all = Vec::new();
    let longest = suites.iter().map(Vec::len).max().unwrap_or_default();
    for turn in 0..longest {
        // Each suite spread over all turns.
        for suite in &mut suites {
            let until = suite.len() * (turn + 1) / longest;
            let from = suite.len() * turn / longest;
            all.extend_from_slice(&suite[from..until]);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::families;

    #[test]
    fn every_family_is_there_once_and_suites_alternate() {
        let all = families();
        let mut names: Vec<_> = all.iter().map(|family| (family.suite, family.name)).collect();
        let first: std::collections::BTreeSet<_> = names.iter().take(8).map(|(suite, _)| *suite).collect();
        assert_eq!(first.len(), 3);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }
}
