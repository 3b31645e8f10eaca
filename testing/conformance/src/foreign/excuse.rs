//! Whether a launch has a single outcome, as the sanitizer sees it.

use super::reason;
use crate::case::Launch;
use crate::execute::sanitize;
use anymetal_driver::sanitizer::{FindingKind, KindGroup, LaunchOutcome, SanitizerOptions, Session};
use anymetal_interp::Program;

/// What makes the outcome arbitrary, the most telling first.
const EXCUSES: [(fn(FindingKind) -> bool, &str); 6] = [
    (|kind| kind.group() == KindGroup::Uninitialised, "reads what nobody wrote"),
    (|kind| kind.group() == KindGroup::Race && kind != FindingKind::RaceWithinSimdgroup, "races"),
    (|kind| kind == FindingKind::Misaligned, "misaligned accesses"),
    (|kind| kind == FindingKind::DivergentBarrier, "divergent barriers"),
    (|kind| kind == FindingKind::RaceWithinSimdgroup, "races within a SIMD-group"),
    (|kind| kind == FindingKind::InactiveLane, "takes values of lanes that do not take part"),
];

/// Why a launch need not have one outcome; an error: why it has none.
pub(super) fn excuse(
    program: &Program,
    launch: &Launch,
    max_steps: u64,
) -> Result<Option<&'static str>, &'static str> {
    let mut options = SanitizerOptions::default();
    options.max_steps = max_steps;
    let mut session = Session::new(options);
    let (_, outcome) = sanitize(&mut session, program, launch).map_err(|error| reason(&error))?;
    let is_found = |is: fn(FindingKind) -> bool| session.findings().iter().any(|finding| is(finding.kind));
    match EXCUSES.iter().find(|(is, _)| is_found(*is)) {
        Some((_, text)) => Ok(Some(text)),
        None if outcome == LaunchOutcome::Completed => Ok(None),
        None => Err("differs, but takes too long to be watched"),
    }
}
