//! Accesses of subroutines to memory that threads share: one scalar where lanes agree on the address, else a
//! gather or scatter of a batch.
//!
//! Invariant: without checks a lane that is off accesses nothing either, because its address may be any.

use anymetal_ir::Scalar;

use super::memory::{Form, Memory, Spot};
use super::{Emitter, Mask};
use crate::cpu::llvm_text::{Opd, mangle};
use crate::elementwise::Width;

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
        let offset = self.t.add("i64", &spot.offset, &Opd::Int(extra));
        let at = self.t.offset(&spot.memory.base, &offset);
        match &spot.good {
            Some(good) => self.t.select("i1", good, "ptr", &at, &Opd::text("@am.zeros")),
            None => at,
        }
    }

    /// Stores a scalar of each lane that may. Of lanes that store to one address the last one's stays.
    pub(super) fn scatter(&mut self, spot: &Spot, extra: i64, scalar: Scalar, value: &Opd) {
        let at = self.t.offset(&spot.memory.base, &Opd::Int(extra));
        let (offsets, mask) = match (&spot.good, spot.width) {
            // Whether all may was asked before.
            (_, Width::One) => (self.t.splat_to(self.lanes, "i64", &spot.offset), self.mask_operand()),
            (Some(good), _) => (spot.offset.clone(), good.clone()),
            (None, _) => (spot.offset.clone(), self.mask_operand()),
        };
        self.scatter_at(&at, &offsets, &mask, (scalar, value));
    }

    pub(super) fn scatter_at(
        &mut self,
        at: &Opd,
        offsets: &Opd,
        mask: &Opd,
        (scalar, value): (Scalar, &Opd),
    ) {
        self.t.expect(mask, &self.mask_type());
        self.t.expect(offsets, &self.width().of("i64"));
        let lanes = self.lanes;
        let ty = self.width().ty(scalar);
        let suffix = mangle(&ty);
        let to = self.t.value(format_args!("getelementptr i8, ptr {at}, <{lanes} x i64> {offsets}"));
        self.t.declare(format!(
            "declare void @llvm.masked.scatter.{suffix}.v{lanes}p0({ty}, <{lanes} x ptr>, i32, <{lanes} x i1>)"
        ));
        self.t.line(format_args!(
            "call void @llvm.masked.scatter.{suffix}.v{lanes}p0({ty} {value}, <{lanes} x ptr> {to}, i32 1, <{lanes} x i1> {mask})"
        ));
    }
}
