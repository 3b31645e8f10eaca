//! Lints of arithmetic: division by zero, shifts by too many bits, indices that wrap around, NaN of operands
//! that are none.

use anymetal_interp::{ArithmeticKind, ArithmeticLint};

use super::collector::{Collector, Seen, Text};
use crate::FindingKind;
use crate::finding::Action;

/// Whether any of the lints is on.
pub(super) fn is_wanted(findings: &Collector) -> bool {
    const KINDS: [FindingKind; 4] = [
        FindingKind::DivisionByZero,
        FindingKind::ShiftOverflow,
        FindingKind::IndexWrap,
        FindingKind::NanProduced,
    ];
    KINDS.into_iter().any(|kind| findings.wants(kind))
}

pub(super) fn report(lint: &ArithmeticLint, findings: &mut Collector) {
    let [a, b, _] = lint.operands;
    let (kind, message, remedy) = match lint.kind {
        ArithmeticKind::DivisionByZero => {
            (FindingKind::DivisionByZero, format!("{a} is divided by zero"), "test the divisor")
        }
        ArithmeticKind::ShiftOverflow => {
            (FindingKind::ShiftOverflow, format!("a shift by {}", b as i64), "shift by less than the width")
        }
        ArithmeticKind::IndexWrap => (
            FindingKind::IndexWrap,
            format!("the index wrapped around to {}", a as i64),
            "compute it in 64 bits: `ulong`, `long` or `size_t`",
        ),
        ArithmeticKind::NanProduced => {
            (FindingKind::NanProduced, "the result is not a number".to_owned(), "test the operands")
        }
    };
    let side = Seen::at(Action::Arithmetic, &lint.thread, lint.loc);
    let remedy = Some(remedy.to_owned());
    findings.report(kind, &[side], None, |_| Text { message, remedy });
}
