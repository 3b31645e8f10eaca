//! Bank conflicts: lanes of one instruction that access different words of one bank of threadgroup memory.
//!
//! An access of several words by each lane is carried out in phases, in each of which as many lanes take part
//! as access one word of each bank together: 8 lanes of 16 bytes. Lanes of one phase conflict.

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
    let words = |lane| match accesses.place(lane) {
        MemoryPlace::Threadgroup { offset } => Some(words_of(offset, accesses.bytes)),
        _ => None,
    };
    let lanes: Vec<(usize, Words)> =
        accesses.each_lane().filter_map(|lane| Some((lane, words(lane)?))).collect();
    let degree = degree(&lanes, accesses.bytes);
    let Some(&(first, _)) = lanes.first().filter(|_| degree > 1) else { return };
    let access = accesses.access(first);
    let side = Seen::access(&access, Action::of(accesses.op), None);
    let pad = if accesses.bytes > 4 { "element" } else { "word" };
    findings.report(FindingKind::BankConflict, &[side], Some(access.variable), |_| Text {
        message: format!("{degree} different words of one bank are accessed at once"),
        remedy: Some(format!("pad the rows of the array by one {pad}")),
    });
}

/// The first word of an access, and one past the last.
type Words = (u64, u64);

fn words_of(offset: u64, bytes: u64) -> Words {
    (offset / 4, (offset + bytes).div_ceil(4))
}

/// The most different words of one bank in a phase.
fn degree(lanes: &[(usize, Words)], bytes: u64) -> u32 {
    let lanes_of_phase = (BANKS / bytes.div_ceil(4).max(1)).max(1) as usize;
    let phases = lanes.chunk_by(|(a, _), (b, _)| a / lanes_of_phase == b / lanes_of_phase);
    phases.map(degree_of_phase).max().unwrap_or_default()
}

fn degree_of_phase(lanes: &[(usize, Words)]) -> u32 {
    let mut words: Vec<u64> = lanes.iter().flat_map(|&(_, (first, end))| first..end).collect();
    words.sort_unstable();
    words.dedup();
    let mut each = [0u32; BANKS as usize];
    words.iter().for_each(|word| each[(word % BANKS) as usize] += 1);
    each.into_iter().max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn degree_at(offsets: impl IntoIterator<Item = u64>, bytes: u64) -> u32 {
        let lanes: Vec<_> =
            offsets.into_iter().enumerate().map(|(lane, at)| (lane, words_of(at, bytes))).collect();
        degree(&lanes, bytes)
    }

    #[test]
    fn words_of_one_bank_are_counted_once_each() {
        assert_eq!(degree_at((0..32).map(|lane| lane * 4), 4), 1);
        assert_eq!(degree_at([0, 128, 256, 128, 4], 4), 3);
        assert_eq!(degree_at([], 4), 0);
        // Halves of one word.
        assert_eq!(degree_at((0..32).map(|lane| lane * 2), 2), 1);
    }

    #[test]
    fn contiguous_vectors_do_not_conflict() {
        for bytes in [8, 16, 32] {
            assert_eq!(degree_at((0..32).map(|lane| lane * bytes), bytes), 1, "{bytes} bytes");
        }
        // A column of rows of 32 words: each lane of a phase needs the same banks.
        assert_eq!(degree_at((0..32).map(|lane| lane * 128), 16), 8);
        assert_eq!(degree_at((0..32).map(|lane| lane * 144), 16), 1);
        // All lanes read the same.
        assert_eq!(degree_at([0; 32], 16), 1);
    }
}
