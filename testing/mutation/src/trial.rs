//! Runs a mutant and judges it.

use std::collections::BTreeSet;

use anymetal_driver::sanitizer::FindingKind;
use anymetal_interp::{Fault, Observer};

use crate::apply::{mutated, probed};
use crate::mutation::{Mutation, MutationKind};
use crate::order::OrderCheck;
use crate::subject::Subject;

/// What came of a mutant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// The sanitizer found something in it that it does not find in the kernel.
    Found(BTreeSet<FindingKind>),
    /// It did not run to its end, which the sanitizer never calls clean.
    Stopped,
    /// Nothing was found, and its launches do what those of the kernel do.
    Equivalent(Equivalent),
    /// Nothing was found, and something is wrong.
    Missed(Missed),
}

/// Why a mutant is no mistake in its launches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Equivalent {
    /// The changed comparison has the same value in every thread.
    BoundNotMet,
    /// Every pair of conflicting accesses is ordered without it, and the results are the same.
    StillOrdered,
    /// The bytes are not used before they are written: the results are the same.
    SameResults,
}

/// What the sanitizer did not say of a mutant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Missed {
    /// Other results, from accesses that are in bounds and ordered.
    OtherResults,
    /// Two conflicting accesses without order.
    Unordered,
    /// Too many accesses to tell.
    Undecided,
}

impl Equivalent {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::BoundNotMet => "the comparison has the same value in every thread",
            Self::StillOrdered => "all conflicting accesses are ordered without it",
            Self::SameResults => "what is read is the same",
        }
    }
}

impl Missed {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::OtherResults => "other results, all accesses in bounds and ordered",
            Self::Unordered => "conflicting accesses without order",
            Self::Undecided => "too many accesses to compare",
        }
    }
}

/// Whether any access was out of bounds.
#[derive(Default)]
struct AnyFault(bool);

impl Observer for AnyFault {
    fn on_fault(&mut self, _fault: &Fault) {
        self.0 = true;
    }
}

/// Runs the mutant; `None` if the interpreter does not run it.
pub fn judge(subject: &Subject, mutation: &Mutation) -> Option<Judgement> {
    let mutant = mutated(&subject.module, subject.function, mutation);
    let findings = subject.new_findings(&mutant)?;
    if !findings.found.is_empty() {
        return Some(Judgement::Found(findings.found.iter().map(|finding| finding.kind).collect()));
    }
    if !findings.ended {
        return Some(Judgement::Stopped);
    }
    if is_never_met(subject, mutation) {
        return Some(Judgement::Equivalent(Equivalent::BoundNotMet));
    }
    if !subject.has_same_results(&mutant) {
        return Some(Judgement::Missed(Missed::OtherResults));
    }
    let (mut with, mut without) = (OrderCheck::default(), OrderCheck::default());
    subject.observe(&mutant, &mut with);
    subject.observe(&subject.module, &mut without);
    Some(match (with.unordered(), without.unordered()) {
        // What fences and atomics order, and what are races of the kernel itself, is in both.
        (Some(with), Some(without)) if !with.is_subset(&without) => Judgement::Missed(Missed::Unordered),
        (Some(_), Some(_)) => Judgement::Equivalent(match mutation.kind {
            MutationKind::InitialisationDropped => Equivalent::SameResults,
            _ => Equivalent::StillOrdered,
        }),
        _ => Judgement::Missed(Missed::Undecided),
    })
}

/// Whether the changed comparison has the kernel's value wherever it is evaluated.
fn is_never_met(subject: &Subject, mutation: &Mutation) -> bool {
    let Some(probe) = probed(&subject.module, subject.function, mutation) else { return false };
    let mut differs = AnyFault::default();
    subject.observe(&probe, &mut differs) && !differs.0
}
