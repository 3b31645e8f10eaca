//! Loops over SIMD-groups, and which lanes of one there are.
//!
//! Invariant: between the beginning and the end of a loop the emitter's SIMD-group, first thread, frame and
//! arrays are those of the SIMD-group whose turn it is.

use super::{Emitter, Mask};
use crate::limits::cpu::MAX_SIMDGROUPS;
use crate::llvm::{Binary, BlockName, Bound, I1, I32, I64, IntPredicate, Opd, vector_const};

/// Open code for SIMD-groups.
#[derive(Debug)]
pub(super) enum SimdgroupLoop {
    /// A loop over them.
    Each {
        head: BlockName,
        /// Where the number of the SIMD-group is.
        slot: Opd,
        polls: bool,
    },
    /// Code for the only one that the call runs.
    Own,
}

impl Emitter<'_, '_> {
    /// Opens a loop over the SIMD-groups, whose iterations are short.
    pub(super) fn begin_simdgroups(&mut self) -> SimdgroupLoop {
        self.begin_simdgroups_at(&Opd::i32(0), false)
    }

    /// Opens a loop over the SIMD-groups from `start` on; `polls`: before each further one. Where SIMD-groups
    /// are independent there is no loop, and `start` is 0.
    pub(super) fn begin_simdgroups_at(&mut self, start: &Opd, polls: bool) -> SimdgroupLoop {
        if let Some(own) = self.own_simdgroup.clone() {
            self.enter_simdgroup(own);
            return SimdgroupLoop::Own;
        }
        let slot = self.t.alloca(I32, 4);
        self.t.store(start, &slot, 4);
        let head = self.t.block();
        self.t.loop_header(head, (!polls).then_some(Bound::Trips(MAX_SIMDGROUPS)));
        let simdgroup = self.t.load(I32, &slot, 4);
        self.enter_simdgroup(simdgroup);
        SimdgroupLoop::Each { head, slot, polls }
    }

    pub(super) fn enter_simdgroup(&mut self, simdgroup: Opd) {
        self.position.first = match &simdgroup {
            Opd::Int(_, number) => Opd::i32(number * 32),
            number => self.t.binary_with(Binary::Shl, "nuw nsw ", number, 5),
        };
        self.t.expect(&simdgroup, I32);
        self.position.simdgroup = simdgroup;
        assert!(
            self.shared.frame_bytes.is_multiple_of(64) && self.shared.scratch_bytes.is_multiple_of(64),
            "frames are aligned as their vectors: {} bytes after {}",
            self.shared.frame_bytes,
            self.shared.scratch_bytes
        );
        if self.shared.frame_bytes > 0 {
            let scratch = self.group.scratch.clone();
            let wide = match &self.position.simdgroup {
                // The scratch is the SIMD-group's own.
                _ if self.own_simdgroup.is_some() => Opd::i64(0),
                Opd::Int(_, number) => Opd::i64(*number),
                number => self.t.zext(number, I64),
            };
            let offset = self.t.mul(&wide, self.shared.frame_bytes as i64);
            let offset = self.t.add(&offset, self.shared.scratch_bytes as i64);
            self.frame = self.t.offset(&scratch, &offset);
        }
        self.find_arrays();
    }

    /// Closes a loop over all SIMD-groups.
    pub(super) fn end_simdgroups(&mut self, simdgroups: SimdgroupLoop) {
        let count = self.group.simdgroups.clone();
        self.end_simdgroups_at(simdgroups, &count);
    }

    pub(super) fn end_simdgroups_at(&mut self, simdgroups: SimdgroupLoop, end: &Opd) {
        let done = self.t.block();
        self.next_simdgroup(simdgroups, end, done);
        self.t.label(done);
        self.at_group_level();
    }

    /// The end of an iteration: goes on to the next SIMD-group before `end`, or to `done`.
    pub(super) fn next_simdgroup(&mut self, simdgroups: SimdgroupLoop, end: &Opd, done: BlockName) {
        let SimdgroupLoop::Each { head, slot, polls } = simdgroups else {
            // The call runs no other SIMD-group.
            return self.t.branch(done);
        };
        if polls {
            self.poll();
        }
        let current = self.t.load(I32, &slot, 4);
        let next = self.t.binary_with(Binary::Add, "nuw nsw ", &current, 1);
        self.t.store(&next, &slot, 4);
        let more = self.t.icmp(IntPredicate::ULt, &next, end);
        self.t.branch_if(&more, head, done);
    }

    /// The lanes that exist in the current SIMD-group.
    pub(super) fn existing_lanes(&mut self) -> Mask {
        match self.plan.facts.geometry.threads() {
            Some(threads) if threads.is_multiple_of(32) => return Mask::All,
            Some(threads) if threads < 32 => {
                return Mask::Some(vector_const(
                    I1,
                    (0..32).map(|lane| i64::from(lane < i64::from(threads))),
                ));
            }
            _ => {}
        }
        let (threads, first) = (self.group.threads.clone(), self.position.first.clone());
        let left = self.t.sub(&threads, &first);
        let left = self.t.splat(&left);
        let lanes = vector_const(I32, 0..32);
        Mask::Some(self.t.icmp(IntPredicate::ULt, &lanes, &left))
    }

    pub(super) fn initialise_live(&mut self) {
        assert!(self.shared.frame_bytes > 0, "live lanes are recorded in frames");
        let simdgroups = self.begin_simdgroups();
        let mask = self.existing_lanes();
        let bits = self.mask_bits(&mask);
        let at = self.frame.clone();
        self.t.store(&bits, &at, 4);
        self.end_simdgroups(simdgroups);
    }
}
