//! Bank conflicts: lanes of one instruction that access different words of one bank of threadgroup memory.

use anymetal_interp::{Accesses, MemoryPlace};

use super::collector::{Collector, Seen, Text};
use crate::FindingKind;
use crate::finding::Action;

/// Banks of threadgroup memory, of four bytes each.
const BANKS: u64 = 32;

/// Counts the words of each bank that the lanes access.
pub(super) fn check(accesses: &Accesses<'_>, findings: &mut Collector) {
    if !findings.wants(FindingKind::BankConflict) {
        return;
    }
    let word = |lane| match accesses.place(lane) {
        MemoryPlace::Threadgroup { offset } => Some(offset / 4),
        _ => None,
    };
    let degree = degree(accesses.each_lane().filter_map(word).collect());
    let Some(first) = accesses.each_lane().find(|&lane| word(lane).is_some()).filter(|_| degree > 1) else {
        return;
    };
    let access = accesses.access(first);
    let side = Seen::access(&access, Action::of(accesses.op), None);
    findings.report(FindingKind::BankConflict, &[side], Some(access.variable), |_| Text {
        message: format!("{degree} different words of one bank are accessed at once"),
        remedy: Some("pad the rows of the array by one word".to_owned()),
    });
}

/// The most different words of one bank.
fn degree(mut words: Vec<u64>) -> u32 {
    words.sort_unstable();
    words.dedup();
    let mut each = [0u32; BANKS as usize];
    words.iter().for_each(|word| each[(word % BANKS) as usize] += 1);
    each.into_iter().max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_one_bank_are_counted_once_each() {
        assert_eq!(degree((0..32).collect()), 1);
        assert_eq!(degree(vec![0, 32, 64, 32, 1]), 3);
        assert_eq!(degree(Vec::new()), 0);
    }
}
