//! Whether all conflicting accesses of a launch are ordered, by comparing every pair of them.
//!
//! Shares no code with the sanitizer, and keeps everything: for each word of memory that threads share, who
//! accessed it between which barriers. Accesses of one thread are ordered; those of one threadgroup if a
//! barrier of the threadgroup that names the memory is between them; those of one SIMD-group if a barrier of
//! the SIMD-group is. Atomic accesses do not conflict with each other. Order by fences and atomics is not
//! followed: a pair that needs it counts as unordered.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_interp::{
    Access, AtomicKind, BarrierArrival, Dispatch, Group, Interests, MemoryPlace, MemorySizes, Observer,
    Program, ThreadId,
};
use anymetal_ir::BarrierScope;

/// Accesses that are kept; a launch with more is not decided.
const MAX_TOUCHES: usize = 4_000_000;

/// Pairs of accesses to one word that are compared.
const MAX_PAIRS: usize = 100_000_000;

/// MSL's `mem_device` and `mem_threadgroup`, by number of the memory.
const FLAGS: [u32; 2] = [1, 2];
const DEVICE: usize = 0;
const THREADGROUP: usize = 1;

/// Line and column of an instruction.
type Place = (u32, u32);

/// Pairs of instructions with conflicting accesses that nothing orders.
pub type Unordered = BTreeSet<[Place; 2]>;

/// An access to some bytes of a word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Touch {
    group: u64,
    thread: u32,
    simdgroup: u32,
    place: Place,
    /// Barriers of the threadgroup, and of the SIMD-group, before it.
    after: (u32, u32),
    bytes: u8,
    writes: bool,
    atomic: bool,
}

/// See the module's documentation.
#[derive(Debug)]
pub struct OrderCheck {
    /// By memory: the buffer's number and the word, or the word of threadgroup memory.
    words: [BTreeMap<(u32, u64), BTreeSet<Touch>>; 2],
    /// By memory and SIMD-group of the running threadgroup.
    barriers: [Vec<(u32, u32)>; 2],
    touches: usize,
    unordered: Unordered,
    is_decided: bool,
}

impl Default for OrderCheck {
    fn default() -> Self {
        let (words, barriers, unordered) = Default::default();
        Self { words, barriers, touches: 0, unordered, is_decided: true }
    }
}

impl OrderCheck {
    /// What is known after the runs; `None` if there were too many accesses to compare.
    pub fn unordered(mut self) -> Option<Unordered> {
        self.compare(DEVICE);
        self.is_decided.then_some(self.unordered)
    }

    fn note(&mut self, access: &Access, writes: bool, atomic: bool) {
        let (memory, buffer, offset) = match access.place {
            MemoryPlace::Buffer { buffer, offset } => (DEVICE, buffer, offset),
            MemoryPlace::Threadgroup { offset } => (THREADGROUP, 0, offset),
            MemoryPlace::Private { .. } | MemoryPlace::Constant { .. } => return,
        };
        let ThreadId { group_linear: group, index_in_group: thread, simdgroup, .. } = access.thread;
        let after = self.barriers[memory].get(simdgroup as usize).copied().unwrap_or_default();
        let mut at = offset;
        while at < offset + access.bytes {
            let word = at / 4;
            let end = (word * 4 + 4).min(offset + access.bytes);
            let bytes = (at..end).fold(0, |mask, byte| mask | 1 << (byte % 4));
            let place = (access.loc.line, access.loc.column);
            let touch = Touch { group, thread, simdgroup, place, after, bytes, writes, atomic };
            at = end;
            if self.touches >= MAX_TOUCHES {
                self.is_decided = false;
                return;
            }
            self.touches += usize::from(self.words[memory].entry((buffer, word)).or_default().insert(touch));
        }
    }

    /// Compares what is kept of a memory, and forgets it.
    fn compare(&mut self, memory: usize) {
        for touches in std::mem::take(&mut self.words[memory]).into_values() {
            self.touches -= touches.len().min(self.touches);
            let writes = touches.iter().filter(|touch| touch.writes).count();
            if writes * touches.len() > MAX_PAIRS {
                self.is_decided = false;
                continue;
            }
            for write in touches.iter().filter(|touch| touch.writes) {
                let others = touches.iter().filter(|other| !is_ordered(write, other));
                self.unordered.extend(others.map(|other| pair(write.place, other.place)));
            }
        }
    }
}

fn pair(a: Place, b: Place) -> [Place; 2] {
    [a.min(b), a.max(b)]
}

fn is_ordered(a: &Touch, b: &Touch) -> bool {
    let same_group = a.group == b.group;
    a.bytes & b.bytes == 0
        || a.atomic && b.atomic
        || same_group
            && (a.thread == b.thread
                || a.after.0 != b.after.0
                || a.simdgroup == b.simdgroup && a.after.1 != b.after.1)
}

impl Observer for OrderCheck {
    fn interests(&self) -> Interests {
        Interests { shared: true, ..Interests::default() }
    }

    fn on_dispatch(&mut self, _program: &Program, dispatch: &Dispatch, _sizes: MemorySizes) {
        // Launches are ordered.
        self.compare(DEVICE);
        let simdgroups = dispatch.group_size.iter().product::<u32>().div_ceil(32) as usize;
        self.barriers = std::array::from_fn(|_| vec![(0, 0); simdgroups]);
    }

    fn on_group_end(&mut self, _group: &Group) {
        self.compare(THREADGROUP);
        self.barriers.iter_mut().flatten().for_each(|barriers| *barriers = (0, 0));
    }

    fn on_load(&mut self, access: &Access) {
        self.note(access, false, false);
    }

    fn on_store(&mut self, access: &Access) {
        self.note(access, true, false);
    }

    fn on_copy(&mut self, source: &Access, target: &Access) {
        self.note(source, false, false);
        self.note(target, true, false);
    }

    fn on_atomic(&mut self, access: &Access, kind: AtomicKind) {
        self.note(access, kind != AtomicKind::Load, true);
    }

    fn on_barrier(&mut self, arrival: &BarrierArrival) {
        // Without flags it counts as a full barrier, as for the sanitizer (its documentation says why).
        let flags = arrival.memory.filter(|flags| *flags != 0).unwrap_or(u32::MAX);
        for memory in (0..FLAGS.len()).filter(|&memory| flags & FLAGS[memory] != 0) {
            let Some(passed) = self.barriers[memory].get_mut(arrival.thread.simdgroup as usize) else {
                continue;
            };
            match arrival.scope {
                BarrierScope::Threadgroup | BarrierScope::Grid => passed.0 += 1,
                BarrierScope::Simdgroup => passed.1 += 1,
                BarrierScope::Thread => {}
            }
        }
    }
}
