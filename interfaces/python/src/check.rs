//! Checked runs: kernels under the sanitizer, and what it found since a moment.
//!
//! Owns the switch and [`PyCheckpoint`]. Invariant: the sanitizer has one session in a process; a
//! checkpoint tells what occurred after it was made, also at places that were known before.

use std::sync::atomic::{AtomicUsize, Ordering};

use anymetal::sanitizer::suppress::Suppressions;
use anymetal::sanitizer::{self, Finding};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::interpreter::detach;

/// How many demand that kernels run under the sanitizer.
static CHECKING: AtomicUsize = AtomicUsize::new(0);

/// Whether kernels run under the sanitizer now.
pub(crate) fn is_checking() -> bool {
    CHECKING.load(Ordering::Relaxed) > 0
}

/// Has all kernels run under the sanitizer from now on, or ends that.
#[pyfunction]
pub(crate) fn set_checking(on: bool) {
    if on {
        CHECKING.fetch_add(1, Ordering::Relaxed);
    } else {
        let _previous =
            CHECKING.try_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
    }
}

/// A moment; what was found since then is its report.
#[pyclass(frozen, name = "Checkpoint", module = "anymetal._native")]
pub(crate) struct PyCheckpoint {
    before: Vec<Finding>,
    launches: u64,
}

#[pymethods]
impl PyCheckpoint {
    #[new]
    fn new(py: Python<'_>) -> PyCheckpoint {
        detach(py, || PyCheckpoint { before: sanitizer::findings(), launches: sanitizer::summary().launches })
    }

    /// What was found since: the report as text, JSON, SARIF and annotations. `suppressions` is the
    /// text of a suppression file.
    #[pyo3(signature = (suppressions=None, name="suppressions"))]
    fn report(
        &self,
        py: Python<'_>,
        suppressions: Option<&str>,
        name: &str,
    ) -> PyResult<(String, String, String, String)> {
        let mut known = Suppressions::default();
        if let Some(text) = suppressions {
            known.parse(name, text).map_err(|error| PyValueError::new_err(error.to_string()))?;
        }
        Ok(detach(py, || {
            let mut report = sanitizer::report(&known);
            report.findings = report.findings.into_iter().filter_map(|finding| self.since(finding)).collect();
            report.suppressed.retain_mut(|suppressed| match self.since(suppressed.finding.clone()) {
                Some(finding) => {
                    suppressed.finding = finding;
                    true
                }
                None => false,
            });
            let occurrences = report.findings.iter().fold(0u64, |sum, one| sum.saturating_add(one.count));
            report.summary.findings = report.findings.len() as u64;
            report.summary.occurrences = occurrences;
            report.summary.suppressed = report.suppressed.len() as u64;
            report.summary.launches = report.summary.launches.saturating_sub(self.launches);
            let sources = sanitizer::sources();
            (report.text(&sources, false), report.json(), report.sarif(&sources), report.github())
        }))
    }
}

impl PyCheckpoint {
    /// The finding with the occurrences since the checkpoint, if there are any.
    fn since(&self, mut finding: Finding) -> Option<Finding> {
        let all = std::mem::take(&mut finding.count);
        let same = |before: &&Finding| {
            before.kind == finding.kind && {
                let mut before = (*before).clone();
                before.count = 0;
                before == finding
            }
        };
        let before = self.before.iter().find(same).map_or(0, |before| before.count);
        finding.count = all.saturating_sub(before);
        (finding.count > 0).then_some(finding)
    }
}
