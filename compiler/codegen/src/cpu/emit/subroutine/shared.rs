//! Accesses of subroutines to memory that threads share: one scalar where lanes agree on the address, else a
//! gather or scatter of a batch.
//!
//! Invariant: without checks a lane that is off accesses nothing either, because its address may be any.

use super::memory::{Form, Memory, Spot};
use super::{Emitter, Mask};
use crate::elementwise::Width;
use crate::llvm::{I8, I64, Opd};

impl Emitter<'_, '_> {
    /// Whether an address that lanes agree on may be accessed, without checks: code may run without a lane.
    pub(super) fn unchecked_one(&mut self, memory: &Memory) -> Option<Opd> {
        match self.mask.clone() {
            Mask::Some(mask) if memory.form == Form::Shared => Some(self.any(&mask)),
            _ => None,
        }
    }

    /// Where a scalar is that lanes load together; zeros if they may not.
    pub(super) fn shared_place(&mut self, spot: &Spot, extra: i64) -> Opd {
        let offset = self.t.add(&spot.offset, extra);
        let at = self.t.offset(&spot.memory.base, &offset);
        match &spot.good {
            Some(good) => self.t.select(good, &at, &Opd::global("@am.zeros")),
            None => at,
        }
    }

    /// Stores a scalar of each lane that may. Of lanes that store to one address the last one's stays.
    pub(super) fn scatter(&mut self, spot: &Spot, extra: i64, value: &Opd) {
        let at = self.t.offset(&spot.memory.base, extra);
        let (offsets, mask) = match (&spot.good, spot.width) {
            // Whether all may was asked before.
            (_, Width::One) => (self.t.splat_to(self.lanes, &spot.offset), self.mask_operand()),
            (Some(good), _) => (spot.offset.clone(), good.clone()),
            (None, _) => (spot.offset.clone(), self.mask_operand()),
        };
        self.scatter_at(&at, &offsets, &mask, value);
    }

    pub(super) fn scatter_at(&mut self, at: &Opd, offsets: &Opd, mask: &Opd, value: &Opd) {
        self.t.expect(mask, self.mask_type());
        self.t.expect(offsets, self.width().of(I64));
        let to = self.t.address(I8, at, offsets);
        let name = format!("llvm.masked.scatter.{}.{}", value.ty().suffix(), to.ty().suffix());
        self.t.call_void_declared(&name, &[value, &to, &Opd::i32(1), mask]);
    }
}
