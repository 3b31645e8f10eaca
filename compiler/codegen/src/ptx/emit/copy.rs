//! Copies and fills of memory.
//!
//! Valid ranges are moved as a whole. Otherwise their pieces are moved one by one, each checked, so that
//! exactly those that are out of bounds are left out.

use anymetal_abi::AccessKind;
use anymetal_ir::{Inst, Op, Pieces, Value};

use super::Emitter;
use super::allocation::{Added, Address};
use super::memory::Mode;
use crate::llvm::{Bound, I64, IntPredicate, Opd};
use crate::polls::bound_of_pieces;

/// A range that is moved.
struct Move {
    size: u64,
    align: u32,
    pieces: Pieces,
    sites: [usize; 2],
}

impl Emitter<'_> {
    pub(super) fn move_memory(&mut self, inst: Inst) {
        match self.input.function.inst(inst).op {
            Op::MemCopy { dst, src, size, align, pieces } => {
                self.move_range(inst, (dst, Some(src)), (size, align), pieces);
            }
            Op::MemZero { dst, size, align, pieces } => {
                self.move_range(inst, (dst, None), (size, align), pieces);
            }
            ref op => unreachable!("{op:?} does not move memory"),
        }
    }

    fn move_range(
        &mut self,
        inst: Inst,
        (dst, src): (Value, Option<Value>),
        (size, align): (u64, u32),
        pieces: Pieces,
    ) {
        if size == 0 {
            return;
        }
        // A larger range would be checked in part only.
        let bytes = u32::try_from(size).expect("types are smaller than 4 GiB");
        let store = self.site(inst, dst, AccessKind::Store, bytes);
        let load = src.map_or(store, |src| self.site(inst, src, AccessKind::Load, bytes));
        let range = Move { size, align, pieces, sites: [load, store] };
        let to = self.address(dst, AccessKind::Store);
        let from = src.map(|src| self.address(src, AccessKind::Load));
        let mut ok = self.is_valid(&to, bytes, align);
        if let Some(from) = &from {
            let readable = self.is_valid(from, bytes, align);
            ok = self.t.and(&ok, &readable);
        }
        let (whole, pieces, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&ok, whole, pieces);
        self.t.label(whole);
        self.move_whole(&range, &to, from.as_ref());
        self.t.branch(join);
        if !ok.is_true() {
            self.t.label(pieces);
            self.move_pieces(&range, &to, from.as_ref());
        }
        self.t.label(join);
    }

    fn move_whole(&mut self, range: &Move, to: &Address, from: Option<&Address>) {
        let (at, align, size) = (self.at(to), range.align.max(1), range.size);
        let Some(from) = from else { return self.t.clear(&at, size, align) };
        let source = self.at(from);
        self.t.copy(&at, &source, size, align);
    }

    fn move_pieces(&mut self, range: &Move, to: &Address, from: Option<&Address>) {
        let (ty, stride) = (range.pieces.of_integers(8), range.pieces.stride);
        let ty = ty.expect("the verifier looks at pieces");
        let mode = Mode {
            align: range.align.min(ty.scalar().expect("a piece is an integer").size()),
            volatile: false,
        };
        let [load, store] = range.sites;
        self.counted(range.size / u64::from(stride), &mut |this, at| {
            let bytes = this.t.mul(at, i64::from(stride));
            let parts = match from {
                Some(from) => {
                    let from = this.further(from, &bytes);
                    this.checked_load(&from, ty, mode, load)
                }
                None => vec![Opd::i64(0); usize::from(ty.lanes())],
            };
            let to = this.further(to, &bytes);
            this.checked_store(&to, ty, &parts, mode, store);
        });
    }

    /// The address `bytes` further on, of which nothing else is known.
    pub(super) fn further(&mut self, address: &Address, bytes: &Opd) -> Address {
        let offset = self.t.add(&address.offset, bytes);
        Address { offset, added: Added::Anything, ..address.clone() }
    }

    /// Runs `body` for 0, 1, … up to `count`.
    fn counted(&mut self, count: u64, body: &mut dyn FnMut(&mut Self, &Opd)) {
        let counter = self.t.alloca(I64, 8);
        self.t.store(&Opd::int(I64, 0), &counter, 8);
        let (head, done) = (self.t.block(), self.t.block());
        let polls = self.input.options.stoppable && bound_of_pieces(count).is_none();
        self.t.loop_header(head, (!polls).then_some(Bound::Trips(count)));
        let at = self.t.load(I64, &counter, 8);
        body(self, &at);
        if polls {
            let on = self.t.block();
            self.poll(on);
            self.t.label(on);
        }
        let next = self.t.add(&at, 1);
        self.t.store(&next, &counter, 8);
        let more = self.t.icmp(IntPredicate::ULt, &next, count as i64);
        self.t.branch_if(&more, head, done);
        self.t.label(done);
    }
}
