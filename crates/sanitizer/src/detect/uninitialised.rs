//! Reads of bytes that were never written: in locals, in threadgroup memory, in buffers said to be undefined.
//!
//! Shadow memory keeps a bit per byte. A copy copies the bits instead of reading, so that padding in a
//! structure is no finding.

use anymetal_interp::{Access, AtomicKind, LocalStart, MemoryPlace, MemorySizes};

use super::collector::{Collector, Seen, Text};
use super::race::action_of;
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

/// See the module's documentation.
#[derive(Default, Debug)]
pub(crate) struct Uninitialised {
    threadgroup: Bits,
    /// By SIMD-group.
    private: Vec<Bits>,
    /// Of buffers that were said to be undefined, by number.
    buffers: Vec<Option<Bits>>,
}

impl Uninitialised {
    pub(crate) fn begin(&mut self, info: &LaunchInfo, sizes: MemorySizes, simdgroups: u32) {
        self.threadgroup = Bits::new(sizes.threadgroup);
        self.private = vec![Bits::new(sizes.private); simdgroups as usize];
        self.buffers = info.undefined.iter().map(|bytes| bytes.map(Bits::new)).collect();
    }

    pub(crate) fn start_group(&mut self) {
        self.threadgroup.0.fill(0);
        for bits in &mut self.private {
            bits.0.fill(0);
        }
    }

    fn bits(&mut self, access: &Access) -> Option<(&mut Bits, u64)> {
        match access.place {
            MemoryPlace::Threadgroup { offset } => Some((&mut self.threadgroup, offset)),
            MemoryPlace::Private { offset } => {
                Some((self.private.get_mut(access.thread.simdgroup as usize)?, offset))
            }
            MemoryPlace::Buffer { buffer, offset } => {
                Some((self.buffers.get_mut(buffer as usize)?.as_mut()?, offset))
            }
            MemoryPlace::Constant { .. } => None,
        }
    }

    pub(crate) fn load(&mut self, access: &Access, action: Action, findings: &mut Collector) {
        let Some((bits, start)) = self.bits(access) else { return };
        let Some(first) = bits.first_clear(start, access.bytes) else { return };
        let kind = match access.place {
            MemoryPlace::Threadgroup { .. } => FindingKind::UninitialisedThreadgroup,
            MemoryPlace::Private { .. } => FindingKind::UninitialisedPrivate,
            MemoryPlace::Buffer { .. } | MemoryPlace::Constant { .. } => FindingKind::UninitialisedDevice,
        };
        let mut side = Seen::access(access, action, Some(access.before));
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
        // Once for each place: what is computed from it is not undefined again.
        if let Some((bits, start)) = self.bits(access) {
            bits.set(start, access.bytes, true);
        }
    }

    pub(crate) fn store(&mut self, access: &Access) {
        if let Some((bits, start)) = self.bits(access) {
            bits.set(start, access.bytes, true);
        }
    }

    pub(crate) fn copy(&mut self, source: &Access, target: &Access) {
        let bytes = target.bytes;
        let from = self.bits(source).map(|(bits, start)| (bits.clone_range(start, bytes), 0));
        let Some((to, start)) = self.bits(target) else { return };
        match from {
            None => to.set(start, bytes, true),
            Some((from, _)) => (0..bytes).for_each(|at| to.set(start + at, 1, from.is_set(at))),
        }
    }

    pub(crate) fn atomic(&mut self, access: &Access, kind: AtomicKind, findings: &mut Collector) {
        if kind != AtomicKind::Store {
            self.load(access, action_of(kind), findings);
        }
        if kind != AtomicKind::Load {
            self.store(access);
        }
    }

    pub(crate) fn start_local(&mut self, start: &LocalStart) {
        if let Some(bits) = self.private.get_mut(start.thread.simdgroup as usize) {
            bits.set(start.offset, start.bytes, false);
        }
    }
}

impl Bits {
    /// The bits of a range, from 0.
    fn clone_range(&self, start: u64, bytes: u64) -> Self {
        let mut copy = Self::new(bytes);
        (0..bytes).for_each(|at| copy.set(at, 1, self.is_set(start + at)));
        copy
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
        let copy = bits.clone_range(62, 4);
        assert_eq!((copy.is_set(1), copy.is_set(2)), (true, false));
    }
}
