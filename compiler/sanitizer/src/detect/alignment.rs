//! Accesses at addresses that their types do not allow.

use anymetal_interp::{Accesses, MemoryPlace};

use super::collector::{Collector, Seen, Text};
use crate::FindingKind;
use crate::finding::Action;

/// Compares the lanes' addresses with the alignment that the instruction promises.
pub(super) fn check(accesses: &Accesses<'_>, findings: &mut Collector) {
    let align = u64::from(accesses.align.max(1));
    if align == 1 {
        return;
    }
    let is_buffer = |lane| matches!(accesses.place(lane), MemoryPlace::Buffer { .. });
    // Buffers start on page boundaries; a binding's own offset counts.
    let address = |lane: usize| {
        if is_buffer(lane) { accesses.positions()[lane] as u64 } else { accesses.offset(lane) }
    };
    let is_aligned = if accesses.common_variable().is_some() {
        let first = accesses.lanes.trailing_zeros() as usize & 31;
        if is_buffer(first) {
            accesses.each_lane().all(|lane| (accesses.positions()[lane] as u64).is_multiple_of(align))
        } else {
            accesses.each_lane().all(|lane| accesses.offset(lane).is_multiple_of(align))
        }
    } else {
        accesses.each_lane().all(|lane| address(lane).is_multiple_of(align))
    };
    if !is_aligned {
        accesses.each_lane().filter(|&lane| !address(lane).is_multiple_of(align)).for_each(|lane| {
            report(accesses, lane, align, findings);
        });
    }
}

fn report(accesses: &Accesses<'_>, lane: usize, align: u64, findings: &mut Collector) {
    let access = accesses.access(lane);
    let side = Seen::access(&access, Action::of(accesses.op), None);
    findings.report(FindingKind::Misaligned, &[side], Some(access.variable), |findings| Text {
        message: format!(
            "byte offset {} of `{}` is no multiple of {align}",
            access.offset,
            findings.memory(access.variable).map_or("", |memory| &memory.name)
        ),
        remedy: Some("use a packed type, or an offset that is a multiple of the alignment".to_owned()),
    });
}
