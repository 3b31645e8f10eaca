//! Copying and clearing bytes: all lanes' ranges at once where they are in bounds, else piece after piece.

use anymetal_abi::AccessKind;
use anymetal_ir::{Inst, Pieces, Scalar, Space, Value};

use super::available_checks::Test;
use super::lane::{Lane, Width};
use super::memory::{Address, Item};
use super::{Emitter, Mask};
use crate::limits::cpu::{MAX_FALLBACK_PIECES, MAX_PIECES, MAX_VARYING_PIECES};
use crate::llvm::{I64, IntPredicate, LANES, MemFlags, Opd};
use crate::polls::bound_of_pieces;
use crate::tagged::saturated_forward;
use anymetal_analysis::divergence::Affine;
use anymetal_simd::access::runs;
use anymetal_simd::storage::{PromotedType, Root};

/// One end of a copy between memories that lanes share.
struct End {
    address: Address,
    /// All lanes' offsets, where they do not follow from few bases.
    offsets: Option<Opd>,
}

/// What each lane moves at once: from where and to where, and how many bytes.
struct Whole {
    places: [Value; 2],
    size: i64,
    /// Bytes of an access of the program's.
    access: u32,
}

impl Emitter<'_, '_> {
    pub(super) fn copy(&mut self, inst: Inst, dst: Value, src: Value, size: u64, pieces: Pieces) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        if size == 0 {
            return;
        }
        let to_promoted = self.plan.facts.storage.vars_at(dst, size);
        let from_promoted = self.plan.facts.storage.vars_at(src, size);
        match (to_promoted, from_promoted) {
            (Some(vars), _) => {
                let lanes: Vec<Lane> =
                    vars.clone().map(|var| self.piece_for_promoted(inst, var, dst, src)).collect();
                for (var, lane) in vars.zip(&lanes) {
                    self.store_promoted(inst, var, lane);
                }
            }
            (None, Some(vars)) => {
                for var in vars {
                    self.piece_from_promoted(inst, var, dst, src);
                }
            }
            (None, None) => self.copy_memory(inst, dst, src, size, pieces),
        }
    }

    fn offset_of(&self, pointer: Value) -> i64 {
        self.plan.facts.storage.pointer(pointer).offset.unwrap_or(0)
    }

    /// What a promoted variable of the destination gets.
    fn piece_for_promoted(&mut self, inst: Inst, var: usize, dst: Value, src: Value) -> Lane {
        let data = self.plan.facts.storage.vars[var];
        let extra = data.offset - self.offset_of(dst);
        if let Root::Local(local) = self.plan.facts.storage.pointer(src).root
            && self.plan.facts.storage.vars_at(src, 1).is_some()
        {
            let place = self.offset_of(src) + extra;
            let Some(source) = self.plan.facts.storage.vars_in(local, place, data.size).next() else {
                return Lane::known(Affine::known([0; 32]));
            };
            let lane = self.load_promoted(source);
            return match (self.plan.facts.storage.vars[source].ty, data.ty) {
                (PromotedType::Scalar(from), PromotedType::Scalar(to)) => self.reinterpreted(&lane, from, to),
                (PromotedType::Pointer(root, _), PromotedType::Pointer(Root::Many, _))
                    if root != Root::Many =>
                {
                    self.tagged_lane(root, &lane)
                }
                _ => lane,
            };
        }
        match data.ty {
            PromotedType::Scalar(scalar) => self.load_scalar(inst, src, extra, scalar),
            PromotedType::Pointer(root, space) => {
                let bits = self.load_scalar(inst, src, extra, Scalar::I64);
                match root {
                    Root::Many => self.loaded_pointers(space, &bits),
                    root => self.offset_from(root, &bits),
                }
            }
        }
    }

    fn load_scalar(&mut self, inst: Inst, src: Value, extra: i64, scalar: Scalar) -> Lane {
        let lanes = self.load_piece(inst, src, extra, Item { scalar, count: 1 });
        lanes.into_iter().next().expect("one component is loaded")
    }

    fn load_piece(&mut self, inst: Inst, src: Value, extra: i64, item: Item) -> Vec<Lane> {
        match self.plan.facts.function.pointer_space(src) {
            Space::Thread => self.load_private(inst, src, extra, item),
            _ => self.load_shared(inst, src, extra, item),
        }
    }

    fn store_piece(&mut self, inst: Inst, dst: Value, extra: i64, item: Item, lanes: &[Lane]) {
        match self.plan.facts.function.pointer_space(dst) {
            Space::Thread => self.store_private(inst, dst, extra, item, lanes),
            _ => self.store_shared(inst, dst, extra, item, lanes),
        }
    }

    fn piece_from_promoted(&mut self, inst: Inst, var: usize, dst: Value, src: Value) {
        let data = self.plan.facts.storage.vars[var];
        let extra = data.offset - self.offset_of(src);
        let lane = self.load_promoted(var);
        let (scalar, lane) = match data.ty {
            PromotedType::Scalar(scalar) => (scalar, lane),
            PromotedType::Pointer(Root::Many, Space::Device | Space::Constant) => {
                (Scalar::I64, self.addresses(&lane))
            }
            PromotedType::Pointer(Root::Many, _) => (Scalar::I64, lane),
            PromotedType::Pointer(root, _) => (Scalar::I64, self.bits_at(root, &lane)),
        };
        self.store_piece(inst, dst, extra, Item { scalar, count: 1 }, std::slice::from_ref(&lane));
    }

    /// The pieces, or smaller ones where the units of private memory are smaller, and what each lane accesses
    /// at once.
    fn pieces_in(&self, pieces: Pieces, pointers: &[Value]) -> (Pieces, Item) {
        let arrays = pointers.iter().filter_map(|&pointer| self.plan.facts.storage.array_at(pointer));
        let unit = arrays.map(|array| self.plan.facts.storage.arrays[array].unit).min().unwrap_or(8);
        let units = Pieces { size: unit, stride: unit };
        let found = [pieces, units].into_iter().find_map(|pieces| Some((pieces, pieces.of_integers(unit)?)));
        let (pieces, ty) = found.expect("a unit of private memory is an integer");
        (pieces, Item::of(ty))
    }

    fn copy_memory(&mut self, inst: Inst, dst: Value, src: Value, size: i64, pieces: Pieces) {
        let (pieces, item) = self.pieces_in(pieces, &[dst, src]);
        let whole = Whole { places: [src, dst], size, access: pieces.size };
        let max_pieces = self.max_pieces(&[dst, src]);
        self.move_whole(inst, &whole, |this, may_be_likely| {
            let max_pieces = if may_be_likely { max_pieces } else { MAX_FALLBACK_PIECES };
            this.each_piece(size, pieces, max_pieces, &[dst, src], |this, at| {
                let lanes = this.load_piece(inst, src, at, item);
                this.store_piece(inst, dst, at, item, &lanes);
            });
        });
    }

    /// Moves each lane's bytes by one access at either end where all are in bounds; else `in_pieces`, which
    /// receives whether it is the only code. Where the lanes' pattern holds under a condition only, both
    /// kinds of code are there.
    fn move_whole(&mut self, inst: Inst, whole: &Whole, in_pieces: impl FnOnce(&mut Self, bool)) {
        if !whole.places.iter().all(|&place| self.may_move_whole(place, whole.size)) {
            return in_pieces(self, true);
        }
        let join = self.t.block();
        let mut is_certain = false;
        if whole.places.iter().any(|&place| self.is_assumed(place)) {
            is_certain = self.move_if_in_bounds(inst, whole, true, join);
        }
        if !is_certain && !self.move_if_in_bounds(inst, whole, false, join) {
            in_pieces(self, false);
            self.t.branch(join);
        }
        self.t.label(join);
    }

    /// Whether lanes access different addresses of memory that they share.
    fn is_varying_shared(&self, pointer: Value) -> bool {
        self.plan.facts.function.pointer_space(pointer) != Space::Thread
            && !self.shape(pointer, 0).is_uniform()
    }

    fn max_pieces(&self, pointers: &[Value]) -> i64 {
        let is_varying = pointers.iter().any(|&pointer| self.is_varying_shared(pointer));
        if is_varying { MAX_VARYING_PIECES } else { MAX_PIECES }
    }

    fn is_assumed(&self, pointer: Value) -> bool {
        self.shape(pointer, 0).affine().is_some_and(|lanes| lanes.is_assumed())
    }

    /// Moves where all lanes are in bounds, and goes on to `join`; returns whether they always are.
    /// `may_assume` that patterns hold: where they do not, nothing is moved.
    fn move_if_in_bounds(&mut self, inst: Inst, whole: &Whole, may_assume: bool, join: u32) -> bool {
        let mut ends = [(0, AccessKind::Load), (1, AccessKind::Store)].map(|(end, kind)| {
            let site = self.site(inst, whole.places[end], kind, whole.access);
            let address = self.address(whole.places[end], site, kind);
            End { address, offsets: None }
        });
        let [from, to] = &mut ends;
        let from_ok = self.end_in_bounds(from, whole.size, may_assume);
        let to_ok = self.end_in_bounds(to, whole.size, may_assume);
        let ok = self.t.and(&from_ok, &to_ok);
        let (inside, otherwise) = (self.t.block(), self.t.block());
        self.t.branch_likely(&ok, inside, otherwise);
        self.t.label(inside);
        self.move_lanes(&ends, whole);
        self.t.branch(join);
        let is_certain = ok.is_true();
        if !is_certain {
            self.t.label(otherwise);
        }
        is_certain
    }

    /// Whether each lane's bytes can be moved by one vector access.
    fn may_move_whole(&self, pointer: Value, size: i64) -> bool {
        self.position.mask == Mask::All
            && matches!(size, 8 | 16 | 32 | 64)
            && self.plan.facts.storage.pointer(pointer).root != Root::Many
            && self.is_varying_shared(pointer)
    }

    fn end_in_bounds(&mut self, end: &mut End, size: i64, may_assume: bool) -> Opd {
        match end.address.offset.clone() {
            Lane::Affine { bases, shape, .. } if may_assume || !shape.is_assumed() => {
                self.all_in_bounds(&end.address, &shape, &bases, size, Test::AllInBounds)
            }
            _ => {
                let offsets = self.offsets_with_extra(&end.address);
                let (ok, _) = self.lanes_in_bounds(&end.address, &offsets, size);
                end.offsets = Some(offsets);
                ok
            }
        }
    }

    /// Moves neighbouring lanes' bytes together where they are together at both ends.
    fn move_lanes(&mut self, ends: &[End; 2], whole: &Whole) {
        let together = |end: &End, pieces: usize| match (&end.address.offset, &end.offsets) {
            (Lane::Affine { shape, .. }, None) if pieces >= shape.segments => runs(shape, pieces, whole.size)
                .is_some_and(|runs| runs.iter().all(|run| !run.same || pieces == LANES)),
            _ => pieces == LANES,
        };
        let counts = [1, 2, 4, 8, 16, LANES];
        let pieces = counts.into_iter().find(|&pieces| ends.iter().all(|end| together(end, pieces)));
        let lanes = LANES / pieces.unwrap_or(LANES);
        let (load, store) =
            (self.metadata(&ends[0].address.place), self.store_metadata(&ends[1].address.place));
        for first in (0..LANES).step_by(lanes) {
            let from = self.end_at(&ends[0], first);
            let to = self.end_at(&ends[1], first);
            let size = whole.size * lanes as i64;
            let ty = Width::Few(size as usize).ty(Scalar::I8);
            let value = self.t.load(ty, &from, MemFlags::with(1, load));
            self.t.store(&value, &to, MemFlags::with(1, store));
        }
    }

    /// Where a lane's bytes begin at an end.
    fn end_at(&mut self, end: &End, lane: usize) -> Opd {
        let offset = match &end.offsets {
            Some(offsets) => self.t.extract(offsets, lane),
            None => end.address.offset.at(&mut self.t, I64, lane),
        };
        self.t.offset(&end.address.place.base, &offset)
    }

    /// Emits `piece` for each, with its offset from the pointers: one after the other, or in a loop in which
    /// the pointers advance.
    fn each_piece(
        &mut self,
        size: i64,
        pieces: Pieces,
        max_pieces: i64,
        pointers: &[Value],
        mut piece: impl FnMut(&mut Self, i64),
    ) {
        let step = i64::from(pieces.stride);
        if size / step <= max_pieces {
            (0..size / step).for_each(|n| piece(self, n * step));
            return;
        }
        self.piece_loop(size / step, step, pointers, |this| piece(this, 0));
    }

    pub(super) fn clear(&mut self, inst: Inst, dst: Value, size: u64, pieces: Pieces) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        if size == 0 {
            return;
        }
        if let Some(vars) = self.plan.facts.storage.vars_at(dst, size) {
            for var in vars {
                let zero = self.zero_for_promoted(var);
                self.store_promoted(inst, var, &zero);
            }
            return;
        }
        let (pieces, item) = self.pieces_in(pieces, &[dst]);
        let zeros = vec![Lane::known(Affine::known([0; 32])); item.count];
        let max_pieces = self.max_pieces(&[dst]);
        self.each_piece(size, pieces, max_pieces, &[dst], |this, at| {
            this.store_piece(inst, dst, at, item, &zeros)
        });
    }

    fn zero_for_promoted(&self, var: usize) -> Lane {
        match self.plan.facts.storage.vars[var].ty {
            PromotedType::Scalar(scalar) if scalar.is_float() => Lane::uniform(super::zero_of(scalar)),
            _ => Lane::known(Affine::known([0; 32])),
        }
    }

    /// Runs `piece` for each step of the pointers, which point to the current piece meanwhile.
    fn piece_loop(&mut self, count: i64, step: i64, pointers: &[Value], mut piece: impl FnMut(&mut Self)) {
        let kept: Vec<Option<Vec<Lane>>> =
            pointers.iter().map(|&pointer| self.values.lanes[pointer.index()].clone()).collect();
        let slot = self.t.alloca(I64, 8);
        self.t.store(&Opd::int(I64, 0), &slot, 8);
        let (head, done) = (self.t.block(), self.t.block());
        // Computed outside of the loop: a pointer's definition is there.
        let starts: Vec<Lane> = pointers.iter().map(|&pointer| self.start_of_pieces(pointer)).collect();
        self.t.loop_header(head, bound_of_pieces(count.unsigned_abs()));
        let index = self.t.load(I64, &slot, 8);
        let bytes = self.t.mul(&index, step);
        for (start, &pointer) in starts.iter().zip(pointers) {
            let is_tagged = self.plan.facts.storage.pointer(pointer).root == Root::Many;
            let here = self.moved(start, &bytes, is_tagged);
            // Not `define`: where the pointer's shape was assumed, this is its vector.
            self.values.defined_in[pointer.index()] = self.values.turn;
            self.values.lanes[pointer.index()] = Some(vec![here]);
        }
        piece(self);
        self.end_piece(count);
        let next = self.t.add(&index, 1);
        self.t.store(&next, &slot, 8);
        let more = self.t.icmp(IntPredicate::ULt, &next, count);
        self.t.branch_if(&more, head, done);
        self.t.label(done);
        for (&pointer, kept) in pointers.iter().zip(kept) {
            self.values.lanes[pointer.index()] = kept;
        }
    }

    /// Where the first piece begins, in a form that is certain.
    fn start_of_pieces(&mut self, pointer: Value) -> Lane {
        if self.shape(pointer, 0).is_uniform() {
            return Lane::uniform(self.uniform(pointer, 0));
        }
        let is_tagged = self.plan.facts.storage.pointer(pointer).root == Root::Many;
        match self.lane(pointer, 0) {
            lane @ Lane::Affine { shape: Affine { assumption: None, .. }, .. } if !is_tagged => lane,
            _ => Lane::Varying(self.vector(pointer, 0)),
        }
    }

    /// A pointer so many bytes further on, or the sum of integers.
    pub(super) fn moved(&mut self, start: &Lane, bytes: &Opd, is_tagged: bool) -> Lane {
        match start {
            Lane::Affine { bases, shape, assumption } => {
                let moved = bases.iter().map(|base| {
                    let sum = self.t.add(base, bytes);
                    if is_tagged { saturated_forward(&mut self.t, Width::One, base, &sum) } else { sum }
                });
                let bases = moved.collect();
                let shape = Affine { is_constant: false, align: 0, ..shape.clone() };
                Lane::Affine { bases, shape, assumption: assumption.clone() }
            }
            Lane::Varying(start) => {
                let all = self.t.splat(bytes);
                let sum = self.t.add(start, &all);
                Lane::Varying(match is_tagged {
                    true => saturated_forward(&mut self.t, Width::All, start, &sum),
                    false => sum,
                })
            }
        }
    }

    /// Polls before the next piece, if there are many.
    fn end_piece(&mut self, count: i64) {
        if bound_of_pieces(count.unsigned_abs()).is_none() {
            self.poll();
        }
    }

    /// A promoted pointer's contents, tagged, from offsets in its allocation.
    fn tagged_lane(&mut self, root: Root, offsets: &Lane) -> Lane {
        let code = self.code_of_root(root);
        if offsets.is_uniform() {
            let offset = offsets.at(&mut self.t, I64, 0);
            return Lane::uniform(self.tagged(Width::One, &code, &offset));
        }
        let offsets = offsets.vector(&mut self.t, I64);
        Lane::Varying(self.tagged(Width::All, &code, &offsets))
    }
}
