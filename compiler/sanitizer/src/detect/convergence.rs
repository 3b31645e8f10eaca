//! Barriers and SIMD-group functions that not all threads reach, or that they reach at different places.

use anymetal_interp::{DivergentBarrier, DivergentSimd, EarlyReturn, PartialBarrier};

use super::collector::{Collector, Seen, Text};
use crate::FindingKind;
use crate::finding::Action;

pub(super) fn divergent_simd(operation: &DivergentSimd, findings: &mut Collector) {
    let side = Seen::at(Action::SimdgroupFunction, &operation.thread, operation.loc);
    let lanes = |mask: u32, one: &str, more: &str| match mask.count_ones() {
        1 => format!("1 lane {one}"),
        count => format!("{count} lanes {more}"),
    };
    let (kind, message, remedy) = if operation.undefined != 0 {
        (
            FindingKind::InactiveLane,
            lanes(operation.undefined, "takes", "take") + " the value of a lane that does not take part",
            "call it where all lanes take part, or from a lane that does",
        )
    } else if operation.matrix {
        (
            FindingKind::DivergentSimdgroup,
            lanes(operation.elsewhere, "does", "do") + " not take part",
            "call it outside of divergent control flow, in whole SIMD-groups",
        )
    } else {
        (
            FindingKind::DivergentReduction,
            lanes(operation.elsewhere, "does", "do") + " not take part",
            "call it where all lanes take part",
        )
    };
    let remedy = Some(remedy.to_owned());
    findings.report(kind, &[side], None, |_| Text { message, remedy });
}

pub(super) fn early_return(barrier: &EarlyReturn, findings: &mut Collector) {
    let waiting = Seen::at(Action::Barrier, &barrier.waiting, barrier.loc);
    let returned = Seen::at(Action::Return, &barrier.returned, anymetal_ir::Loc::default());
    findings.report(FindingKind::EarlyReturn, &[waiting, returned], None, |_| Text {
        message: "threads returned before a barrier of their threadgroup".to_owned(),
        remedy: Some("let all threads reach the barrier, and skip only the work between barriers".to_owned()),
    });
}

pub(super) fn divergent_barrier(barrier: &DivergentBarrier, findings: &mut Collector) {
    let first = Seen::at(Action::Barrier, &barrier.first_thread, barrier.first);
    let second = Seen::at(Action::Barrier, &barrier.second_thread, barrier.second);
    findings.report(FindingKind::DivergentBarrier, &[first, second], None, |_| Text {
        message: "SIMD-groups of one threadgroup wait at different barriers".to_owned(),
        remedy: Some("let all threads of the threadgroup reach the same barrier".to_owned()),
    });
}

pub(super) fn partial_barrier(barrier: &PartialBarrier, findings: &mut Collector) {
    let side = Seen::at(Action::Barrier, &barrier.thread, barrier.loc);
    findings.report(FindingKind::DivergentBarrier, &[side], None, |_| Text {
        message: match barrier.missing.count_ones() {
            1 => "1 thread of the SIMD-group is elsewhere".to_owned(),
            count => format!("{count} threads of the SIMD-group are elsewhere"),
        },
        remedy: Some("move the barrier out of the divergent branch or loop".to_owned()),
    });
}
