//! Reads of bytes that were never written: in locals, in threadgroup memory, in buffers said to be undefined.
//!
//! Shadow memory keeps a bit per byte; of private memory, whose lanes mostly access the same place of their
//! own copies, a bit per lane for each byte. A copy copies the bits instead of reading, so that padding in a
//! structure is no finding.

use std::collections::BTreeMap;

use anymetal_interp::{AccessOp, Accesses, AtomicKind, LocalStart, MemoryPlace, MemorySizes};

use super::collector::{Collector, Seen, Text};
use crate::finding::Action;
use crate::{FindingKind, LaunchInfo};

/// A bit per byte: whether it was written.
#[derive(Clone, Default, Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(bytes: u64) -> Self {
        Self(vec![0; bytes.div_ceil(64) as usize])
    }

    /// Word and mask for each word that the bytes touch.
    fn words(start: u64, bytes: u64) -> impl Iterator<Item = (usize, u64)> {
        let end = start + bytes;
        (start / 64..end.div_ceil(64)).map(move |word| {
            let first = start.saturating_sub(word * 64);
            let last = (end - word * 64).min(64);
            let mask = if last - first == 64 { u64::MAX } else { ((1 << (last - first)) - 1) << first };
            (word as usize, mask)
        })
    }

    fn set(&mut self, start: u64, bytes: u64, written: bool) {
        for (word, mask) in Self::words(start, bytes) {
            if let Some(bits) = self.0.get_mut(word) {
                *bits = if written { *bits | mask } else { *bits & !mask };
            }
        }
    }

    /// Whether all bytes were written.
    #[inline]
    fn are_set(&self, start: u64, bytes: u64) -> bool {
        let at = start % 64;
        match self.0.get((start / 64) as usize) {
            Some(word) if at + bytes < 64 => !(word >> at) & ((1 << bytes) - 1) == 0,
            _ => self.first_clear(start, bytes).is_none(),
        }
    }

    /// The first byte that was not written, from `start`.
    fn first_clear(&self, start: u64, bytes: u64) -> Option<u64> {
        Self::words(start, bytes).find_map(|(word, mask)| {
            let clear = !self.0.get(word)? & mask;
            (clear != 0).then(|| word as u64 * 64 + u64::from(clear.trailing_zeros()) - start)
        })
    }

    fn is_set(&self, at: u64) -> bool {
        self.0.get((at / 64) as usize).is_none_or(|word| word >> (at % 64) & 1 != 0)
    }
}

/// A bit per lane for each byte of the private memory of one lane: whether it was written.
#[derive(Clone, Default, Debug)]
struct LaneBits(Vec<u32>);

impl LaneBits {
    fn bytes(&self, start: usize, bytes: u64) -> &[u32] {
        self.0.get(start..start + bytes as usize).unwrap_or_default()
    }

    /// The lanes that have not written all bytes.
    fn missing(&self, start: usize, bytes: u64) -> u32 {
        !self.bytes(start, bytes).iter().fold(u32::MAX, |all, lanes| all & lanes)
    }

    fn set(&mut self, start: usize, bytes: u64, lanes: u32, written: bool) {
        for byte in self.0.get_mut(start..start + bytes as usize).unwrap_or_default() {
            *byte = if written { *byte | lanes } else { *byte & !lanes };
        }
    }
}

/// See the module's documentation.
#[derive(Default, Debug)]
pub(crate) struct Uninitialised {
    threadgroup: Bits,
    /// By SIMD-group.
    private: Vec<LaneBits>,
    /// The same of threadgroups that wait at a barrier of the grid, by number.
    parked: BTreeMap<u64, (Bits, Vec<LaneBits>)>,
    /// Of buffers that were said to be undefined, by number.
    buffers: Vec<Option<Bits>>,
}

impl Uninitialised {
    pub(crate) fn begin(&mut self, info: &LaunchInfo, sizes: MemorySizes, simdgroups: u32) {
        self.threadgroup = Bits::new(sizes.threadgroup);
        self.private = vec![LaneBits(vec![0; sizes.private.div_ceil(32) as usize]); simdgroups as usize];
        self.parked.clear();
        self.buffers = info.undefined.iter().map(|bytes| bytes.map(Bits::new)).collect();
    }

    /// The threadgroup of that number waits at a barrier of the grid.
    pub(crate) fn park_group(&mut self, group: u64) {
        let fresh = (Bits(vec![0; self.threadgroup.0.len()]), self.private.clone());
        let threadgroup = std::mem::replace(&mut self.threadgroup, fresh.0);
        let private = std::mem::replace(&mut self.private, fresh.1);
        self.parked.insert(group, (threadgroup, private));
    }

    /// It goes on.
    pub(crate) fn resume_group(&mut self, group: u64) {
        if let Some((threadgroup, private)) = self.parked.remove(&group) {
            (self.threadgroup, self.private) = (threadgroup, private);
        }
    }

    pub(crate) fn start_group(&mut self) {
        self.threadgroup.0.fill(0);
        for bits in &mut self.private {
            bits.0.fill(0);
        }
    }

    pub(crate) fn start_local(&mut self, start: &LocalStart) {
        if let Some(bits) = self.private.get_mut(start.thread.simdgroup as usize) {
            bits.set(start.private_index, start.bytes, start.lanes, false);
        }
    }

    /// The accesses of one instruction in all lanes.
    pub(crate) fn access(&mut self, accesses: &Accesses<'_>, findings: &mut Collector) {
        if !self.is_followed(accesses) {
            return;
        }
        let kind = accesses.op.atomic();
        if accesses.op == AccessOp::Load || kind.is_some_and(|kind| kind != AtomicKind::Store) {
            let missing = self.missing(accesses);
            if missing != 0 {
                for lane in accesses.each_lane().filter(|lane| missing >> lane & 1 != 0) {
                    self.report(accesses, lane, findings);
                }
                // Once for each place: what is computed from it is not undefined again.
                self.mark(accesses);
            }
        }
        if accesses.op == AccessOp::Store || kind.is_some_and(|kind| kind != AtomicKind::Load) {
            self.mark(accesses);
        }
    }

    /// Copies of one instruction in all lanes.
    pub(crate) fn copy(&mut self, source: &Accesses<'_>, target: &Accesses<'_>) {
        if !self.is_followed(target) {
            return;
        }
        for lane in target.each_lane() {
            let from: Vec<bool> = (0..target.bytes).map(|byte| self.is_written(source, lane, byte)).collect();
            for (byte, written) in (0..).zip(from) {
                self.set(target, lane, (byte, 1), written);
            }
        }
    }

    /// Whether anything is known of what the lanes access: not of most buffers.
    fn is_followed(&self, accesses: &Accesses<'_>) -> bool {
        if accesses.common_variable().is_none() {
            return true;
        }
        match accesses.place(accesses.lanes.trailing_zeros() as usize & 31) {
            MemoryPlace::Buffer { buffer, .. } => {
                self.buffers.get(buffer as usize).is_some_and(Option::is_some)
            }
            MemoryPlace::Constant { .. } => false,
            MemoryPlace::Threadgroup { .. } | MemoryPlace::Private { .. } => true,
        }
    }

    /// The lanes' common place in their private memory, if it is one.
    fn uniform_private(accesses: &Accesses<'_>) -> Option<usize> {
        let first = accesses.lanes.trailing_zeros() as usize & 31;
        (accesses.is_uniform() && matches!(accesses.place(first), MemoryPlace::Private { .. }))
            .then(|| accesses.private_index(first))
    }

    /// The lanes that access a byte that was not written.
    fn missing(&self, accesses: &Accesses<'_>) -> u32 {
        if let Some(index) = Self::uniform_private(accesses) {
            let bits = self.private.get(accesses.simdgroup as usize);
            return bits.map_or(0, |bits| bits.missing(index, accesses.bytes)) & accesses.lanes;
        }
        let is_missing = |&lane: &usize| !self.are_written(accesses, lane);
        accesses.each_lane().filter(is_missing).fold(0, |lanes, lane| lanes | 1 << lane)
    }

    /// The accessed bytes were written.
    fn mark(&mut self, accesses: &Accesses<'_>) {
        if let Some(index) = Self::uniform_private(accesses) {
            if let Some(bits) = self.private.get_mut(accesses.simdgroup as usize) {
                bits.set(index, accesses.bytes, accesses.lanes, true);
            }
            return;
        }
        for lane in accesses.each_lane() {
            self.set(accesses, lane, (0, accesses.bytes), true);
        }
    }

    fn bits(&self, place: MemoryPlace) -> Option<(&Bits, u64)> {
        match place {
            MemoryPlace::Threadgroup { offset } => Some((&self.threadgroup, offset)),
            MemoryPlace::Buffer { buffer, offset } => {
                Some((self.buffers.get(buffer as usize)?.as_ref()?, offset))
            }
            MemoryPlace::Private { .. } | MemoryPlace::Constant { .. } => None,
        }
    }

    fn are_written(&self, accesses: &Accesses<'_>, lane: usize) -> bool {
        match accesses.place(lane) {
            MemoryPlace::Private { .. } => {
                (0..accesses.bytes).all(|byte| self.is_written(accesses, lane, byte))
            }
            place => self.bits(place).is_none_or(|(bits, start)| bits.are_set(start, accesses.bytes)),
        }
    }

    /// Whether a byte of those that the lane accesses was written.
    fn is_written(&self, accesses: &Accesses<'_>, lane: usize, byte: u64) -> bool {
        match accesses.place(lane) {
            MemoryPlace::Private { .. } => {
                let bits = self.private.get(accesses.simdgroup as usize);
                let lanes = bits.and_then(|bits| bits.0.get(accesses.private_index(lane) + byte as usize));
                lanes.is_none_or(|lanes| lanes >> lane & 1 != 0)
            }
            place => self.bits(place).is_none_or(|(bits, start)| bits.is_set(start + byte)),
        }
    }

    /// Says of some of the bytes that the lane accesses whether they were written.
    fn set(&mut self, accesses: &Accesses<'_>, lane: usize, (byte, count): (u64, u64), written: bool) {
        match accesses.place(lane) {
            MemoryPlace::Private { .. } => {
                let index = accesses.private_index(lane) + byte as usize;
                if let Some(bits) = self.private.get_mut(accesses.simdgroup as usize) {
                    bits.set(index, count, 1 << lane, written);
                }
            }
            MemoryPlace::Threadgroup { offset } => self.threadgroup.set(offset + byte, count, written),
            MemoryPlace::Buffer { buffer, offset } => {
                if let Some(bits) = self.buffers.get_mut(buffer as usize).and_then(Option::as_mut) {
                    bits.set(offset + byte, count, written);
                }
            }
            MemoryPlace::Constant { .. } => {}
        }
    }

    fn report(&self, accesses: &Accesses<'_>, lane: usize, findings: &mut Collector) {
        let access = accesses.access(lane);
        let first = (0..accesses.bytes).find(|&byte| !self.is_written(accesses, lane, byte)).unwrap_or(0);
        let kind = match access.place {
            MemoryPlace::Threadgroup { .. } => FindingKind::UninitialisedThreadgroup,
            MemoryPlace::Private { .. } => FindingKind::UninitialisedPrivate,
            MemoryPlace::Buffer { .. } | MemoryPlace::Constant { .. } => FindingKind::UninitialisedDevice,
        };
        let mut side = Seen::access(&access, Action::of(accesses.op), Some(access.before));
        side.offset += first as i64;
        findings.report(kind, &[side], Some(access.variable), |findings| {
            let name = findings.memory(access.variable).map_or("", |memory| &memory.name);
            let who = match kind {
                FindingKind::UninitialisedThreadgroup => "no thread of the threadgroup has written",
                FindingKind::UninitialisedPrivate => "the thread has not written",
                _ => "nothing has written",
            };
            Text {
                message: format!("{who} byte {} of `{name}`", access.offset + first),
                remedy: Some(format!("give `{name}` a value on every path before it is read")),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_set_and_found_over_words() {
        let mut bits = Bits::new(200);
        assert_eq!(bits.first_clear(60, 10), Some(0));
        bits.set(0, 130, true);
        assert_eq!(bits.first_clear(60, 70), None);
        assert_eq!(bits.first_clear(120, 20), Some(10));
        bits.set(64, 64, false);
        assert_eq!((bits.first_clear(60, 70), bits.is_set(63), bits.is_set(64)), (Some(4), true, false));
        assert_eq!((bits.are_set(0, 64), bits.are_set(60, 8), bits.are_set(128, 2)), (true, false, true));
    }

    #[test]
    fn lanes_have_bytes_of_their_own() {
        let mut bits = LaneBits(vec![0; 8]);
        bits.set(2, 4, 0b101, true);
        bits.set(3, 1, 0b100, false);
        assert_eq!((bits.missing(2, 1), bits.missing(2, 4), bits.missing(6, 1)), (!0b101, !0b001, u32::MAX));
    }
}
