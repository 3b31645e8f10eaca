//! Copying and clearing bytes in subroutines, as loads and stores of the largest pieces that fit.
//!
//! Invariant: both ends are checked as a whole, before the first piece is copied.

use anymetal_abi::AccessKind;
use anymetal_ir::{Inst, Scalar, Value};

use super::Emitter;
use super::memory::{Spot, zero};
use crate::elementwise::Width;
use crate::limits::cpu::MAX_PIECES;
use crate::llvm::{I64, IntPredicate, Opd};
use crate::polls::bound_of_pieces;

impl Emitter<'_, '_> {
    pub(super) fn copy(&mut self, inst: Inst, dst: Value, src: Value, size: u64, align: u32) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        if size == 0 {
            return;
        }
        let from = self.spot(inst, (src, AccessKind::Load), size);
        // Nothing is stored through a pointer to nothing: that is reported.
        let Some(to) = self.spot(inst, (dst, AccessKind::Store), size) else { return };
        let width = self.stored_width(to.memory.form);
        self.pieces(size, align, |this, at, piece| {
            let value = match &from {
                Some(from) => {
                    let from = this.moved(from, at);
                    this.load_from(&from, 0, piece, width)
                }
                None => zero(width, piece),
            };
            let to = this.moved(&to, at);
            this.store_to(&to, piece, &[value]);
        });
    }

    pub(super) fn clear(&mut self, inst: Inst, dst: Value, size: u64, align: u32) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        if size == 0 {
            return;
        }
        // Nothing is stored through a pointer to nothing: that is reported.
        let Some(to) = self.spot(inst, (dst, AccessKind::Store), size) else { return };
        let width = self.stored_width(to.memory.form);
        self.pieces(size, align, |this, at, piece| {
            let to = this.moved(&to, at);
            this.store_to(&to, piece, &[zero(width, piece)]);
        });
    }

    /// So many bytes further.
    fn moved(&mut self, spot: &Spot, bytes: &Opd) -> Spot {
        let offset = match spot.width {
            Width::One => self.t.add(&spot.offset, bytes),
            _ if bytes.is_int(0) => spot.offset.clone(),
            _ => {
                let bytes = self.t.splat_to(self.lanes, bytes);
                self.t.add(&spot.offset, &bytes)
            }
        };
        Spot { offset, ..spot.clone() }
    }

    /// Does something for each piece of a range: what follows, or a loop over it.
    fn pieces(&mut self, size: i64, align: u32, mut each: impl FnMut(&mut Self, &Opd, Scalar)) {
        assert!(size > 0 && align > 0, "a range of {size} bytes, aligned to {align}");
        let piece = match align {
            1 => Scalar::I8,
            2 | 3 => Scalar::I16,
            _ => Scalar::I32,
        };
        let step = i64::from(piece.size());
        let (whole, mut at) = (size / step, 0);
        if whole > MAX_PIECES {
            let slot = self.t.alloca(I64, 8);
            self.t.store(&Opd::int(I64, 0), &slot, 8);
            let (head, done) = (self.t.block(), self.t.block());
            let bound = bound_of_pieces(whole.unsigned_abs());
            self.t.loop_header(head, bound);
            let extra = self.t.load(I64, &slot, 8);
            each(self, &extra, piece);
            if bound.is_none() {
                self.poll();
            }
            let next = self.t.add(&extra, step);
            self.t.store(&next, &slot, 8);
            let more = self.t.icmp(IntPredicate::ULt, &next, whole * step);
            self.t.branch_if(&more, head, done);
            self.t.label(done);
            at = whole * step;
        }
        while at < size {
            let fits = size - at >= step;
            each(self, &Opd::i64(at), if fits { piece } else { Scalar::I8 });
            at += if fits { step } else { 1 };
        }
        assert_eq!(at, size, "the pieces cover the range");
    }
}
