//! Copying and clearing bytes, as loads and stores of the largest pieces that fit.

use anymetal_ir::{Inst, Scalar, Space, Value};

use super::access::runs;
use super::lane::Lane;
use super::memory::{Address, Item};
use super::tested::Test;
use super::{Emitter, Mask};
use crate::cpu::llvm_text::{LANES, Opd};
use crate::cpu::options::AccessKind;
use crate::cpu::shape::flow::ptr_space;
use crate::cpu::shape::{Lanes, Shape};
use crate::cpu::storage::{CellType, Root};

/// Copies larger than this many pieces are loops.
const MAX_PIECES: i64 = 64;

/// One end of a copy between memories that lanes share.
struct End {
    address: Address,
    /// All lanes' offsets, where they do not follow from few bases.
    offsets: Option<Opd>,
}

impl Emitter<'_, '_> {
    pub(super) fn copy(&mut self, inst: Inst, dst: Value, src: Value, size: u64, align: u32) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        if size == 0 {
            return;
        }
        let to_cells = self.facts.storage.cells_at(dst, size);
        let from_cells = self.facts.storage.cells_at(src, size);
        match (to_cells, from_cells) {
            (Some(cells), _) => {
                let lanes: Vec<Lane> =
                    cells.clone().map(|cell| self.piece_for_cell(inst, cell, dst, src)).collect();
                for (cell, lane) in cells.zip(&lanes) {
                    self.store_cell(inst, cell, lane);
                }
            }
            (None, Some(cells)) => {
                for cell in cells {
                    self.piece_from_cell(inst, cell, dst, src);
                }
            }
            (None, None) => self.copy_memory(inst, dst, src, size, align),
        }
    }

    fn offset_of(&self, pointer: Value) -> i64 {
        self.facts.storage.pointer(pointer).offset.unwrap_or(0)
    }

    /// What a cell of the destination gets.
    fn piece_for_cell(&mut self, inst: Inst, cell: usize, dst: Value, src: Value) -> Lane {
        let data = self.facts.storage.cells[cell];
        let extra = data.offset - self.offset_of(dst);
        if let Root::Local(local) = self.facts.storage.pointer(src).root
            && self.facts.storage.cells_at(src, 1).is_some()
        {
            let place = self.offset_of(src) + extra;
            let Some(source) = self.facts.storage.cells_in(local, place, data.size).next() else {
                return Lane::known(Lanes::known([0; 32]));
            };
            let lane = self.load_cell(source);
            return match (self.facts.storage.cells[source].ty, data.ty) {
                (CellType::Scalar(from), CellType::Scalar(to)) => self.reinterpreted(&lane, from, to),
                (CellType::Pointer(root), CellType::Pointer(Root::Many)) => self.encode_lane(root, &lane),
                _ => lane,
            };
        }
        match data.ty {
            CellType::Scalar(scalar) => self.load_piece(inst, src, extra, scalar),
            CellType::Pointer(root) => {
                let code = self.load_piece(inst, src, extra, Scalar::I64);
                self.decode_lane(root, &code)
            }
        }
    }

    fn load_piece(&mut self, inst: Inst, src: Value, extra: i64, scalar: Scalar) -> Lane {
        let item = Item { scalar, count: 1 };
        let lanes = match ptr_space(self.facts.function, src) {
            Space::Thread => self.load_private(inst, src, extra, item),
            _ => self.load_shared(inst, src, extra, item),
        };
        lanes.into_iter().next().unwrap_or(Lane::Varying(Opd::text("zeroinitializer")))
    }

    fn store_piece(&mut self, inst: Inst, dst: Value, extra: i64, scalar: Scalar, lane: &Lane) {
        let item = Item { scalar, count: 1 };
        match ptr_space(self.facts.function, dst) {
            Space::Thread => self.store_private(inst, dst, extra, item, std::slice::from_ref(lane)),
            _ => self.store_shared(inst, dst, extra, item, std::slice::from_ref(lane)),
        }
    }

    fn piece_from_cell(&mut self, inst: Inst, cell: usize, dst: Value, src: Value) {
        let data = self.facts.storage.cells[cell];
        let extra = data.offset - self.offset_of(src);
        let lane = self.load_cell(cell);
        let (scalar, lane) = match data.ty {
            CellType::Scalar(scalar) => (scalar, lane),
            CellType::Pointer(root) => (Scalar::I64, self.encode_lane(root, &lane)),
        };
        self.store_piece(inst, dst, extra, scalar, &lane);
    }

    /// The largest integer pieces that the alignment allows.
    fn piece(&self, size: i64, align: u32, pointers: &[Value]) -> Scalar {
        let mut unit = align.clamp(1, 8);
        for &pointer in pointers {
            if let Some(array) = self.facts.storage.array_at(pointer) {
                unit = unit.min(self.facts.storage.arrays[array].unit);
            }
        }
        while size % i64::from(unit) != 0 {
            unit /= 2;
        }
        match unit {
            1 => Scalar::I8,
            2 | 3 => Scalar::I16,
            4..=7 => Scalar::I32,
            _ => Scalar::I64,
        }
    }

    fn copy_memory(&mut self, inst: Inst, dst: Value, src: Value, size: i64, align: u32) {
        if !self.may_copy_whole(dst, size) || !self.may_copy_whole(src, size) {
            return self.copy_pieces(inst, dst, src, size, align);
        }
        let bytes = self.piece(size, align, &[dst, src]).size();
        let mut ends = [(src, AccessKind::Load), (dst, AccessKind::Store)].map(|(pointer, kind)| {
            let site = self.site(inst, pointer, kind, bytes);
            let address = self.address(pointer, site);
            End { address, offsets: None }
        });
        let ok = ends.each_mut().map(|end| self.end_in_bounds(end, size));
        let ok = self.t.and(&ok[0], &ok[1]);
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&ok, fast, slow);
        self.t.label(fast);
        self.copy_whole(&ends, size);
        self.t.branch(join);
        if !ok.is_text("true") {
            self.t.label(slow);
            self.copy_pieces(inst, dst, src, size, align);
        }
        self.t.label(join);
    }

    /// Whether each lane's bytes can be moved by one vector access.
    fn may_copy_whole(&self, pointer: Value, size: i64) -> bool {
        self.mask == Mask::All
            && matches!(size, 8 | 16 | 32 | 64)
            && ptr_space(self.facts.function, pointer) != Space::Thread
            && self.facts.storage.pointer(pointer).root != Root::Many
            && !self.shape(pointer, 0).is_uniform()
    }

    fn end_in_bounds(&mut self, end: &mut End, size: i64) -> Opd {
        match end.address.offset.clone() {
            Lane::Laned { bases, shape, .. } if !shape.conditional => {
                self.all_in_bounds(&end.address, &shape, &bases, size, Test::AllInside)
            }
            _ => {
                let offsets = self.offsets_with_extra(&end.address);
                let (ok, _) = self.lanes_in_bounds(&end.address, &offsets, size);
                end.offsets = Some(offsets);
                ok
            }
        }
    }

    /// Moves neighbouring lanes' bytes together where they lie together at both ends.
    fn copy_whole(&mut self, ends: &[End; 2], size: i64) {
        let together = |end: &End, pieces: usize| match (&end.address.offset, &end.offsets) {
            (Lane::Laned { shape, .. }, None) if pieces >= shape.segments => runs(shape, pieces, size)
                .is_some_and(|runs| runs.iter().all(|run| !run.same || pieces == LANES)),
            _ => pieces == LANES,
        };
        let counts = [1, 2, 4, 8, 16, LANES];
        let pieces = counts.into_iter().find(|&pieces| ends.iter().all(|end| together(end, pieces)));
        let lanes = LANES / pieces.unwrap_or(LANES);
        let ty = format!("<{} x i8>", size * lanes as i64);
        let mut pieces = Vec::new();
        for first in (0..LANES).step_by(lanes) {
            let [from, to] = [&ends[0], &ends[1]].map(|end| {
                let offset = match &end.offsets {
                    Some(offsets) => {
                        self.t.value(format_args!("extractelement <32 x i64> {offsets}, i64 {first}"))
                    }
                    None => end.address.offset.at(&mut self.t, "i64", first),
                };
                let at = self.t.offset(&end.address.place.base, &offset);
                (offset, at)
            });
            let ((offset, from), (_, to)) = (from, to);
            // Neighbours usually share a line.
            if first as i64 * size % 64 == 0 {
                pieces.push((offset, size * lanes as i64));
            }
            let (load, store) =
                (self.metadata(&ends[0].address.place), self.store_metadata(&ends[1].address.place));
            let bytes = self.t.value(format_args!("load {ty}, ptr {from}, align 1{load}"));
            self.t.line(format_args!("store {ty} {bytes}, ptr {to}, align 1{store}"));
        }
        self.prefetch_next(&ends[0].address, &pieces);
    }

    fn copy_pieces(&mut self, inst: Inst, dst: Value, src: Value, size: i64, align: u32) {
        let scalar = self.piece(size, align, &[dst, src]);
        let step = i64::from(scalar.size());
        if size / step <= MAX_PIECES {
            for piece in 0..size / step {
                let lane = self.load_piece(inst, src, piece * step, scalar);
                self.store_piece(inst, dst, piece * step, scalar, &lane);
            }
            return;
        }
        self.piece_loop(size / step, step, &[dst, src], |this| {
            let lane = this.load_piece(inst, src, 0, scalar);
            this.store_piece(inst, dst, 0, scalar, &lane);
        });
    }

    pub(super) fn clear(&mut self, inst: Inst, dst: Value, size: u64, align: u32) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        if size == 0 {
            return;
        }
        if let Some(cells) = self.facts.storage.cells_at(dst, size) {
            for cell in cells {
                let zero = self.zero_for_cell(cell);
                self.store_cell(inst, cell, &zero);
            }
            return;
        }
        let scalar = self.piece(size, align, &[dst]);
        let step = i64::from(scalar.size());
        let zero = Lane::known(Lanes::known([0; 32]));
        if size / step <= MAX_PIECES {
            for piece in 0..size / step {
                self.store_piece(inst, dst, piece * step, scalar, &zero);
            }
            return;
        }
        self.piece_loop(size / step, step, &[dst], |this| {
            this.store_piece(inst, dst, 0, scalar, &zero);
        });
    }

    fn zero_for_cell(&self, cell: usize) -> Lane {
        match self.facts.storage.cells[cell].ty {
            CellType::Scalar(scalar) if scalar.is_float() => Lane::uniform(super::zero_of(scalar)),
            _ => Lane::known(Lanes::known([0; 32])),
        }
    }

    /// Runs `piece` for each step of the pointers, which point to the current piece meanwhile.
    fn piece_loop(&mut self, count: i64, step: i64, pointers: &[Value], mut piece: impl FnMut(&mut Self)) {
        let kept: Vec<Option<Vec<Lane>>> =
            pointers.iter().map(|&pointer| self.values[pointer.index()].clone()).collect();
        let slot = self.t.alloca("i64", 8);
        self.t.store("i64", &Opd::Int(0), &slot, 8);
        let (head, done) = (self.t.block(), self.t.block());
        // Vectors are computed outside of the loop: a pointer's definition is there.
        let vectors: Vec<Option<Opd>> = pointers
            .iter()
            .map(|&pointer| (!self.shape(pointer, 0).is_uniform()).then(|| self.vector(pointer, 0)))
            .collect();
        let scalars: Vec<Option<Opd>> = pointers
            .iter()
            .map(|&pointer| self.shape(pointer, 0).is_uniform().then(|| self.uniform(pointer, 0)))
            .collect();
        self.t.label(head);
        let index = self.t.load("i64", &slot, 8);
        let bytes = self.t.mul("i64", &index, &Opd::Int(step));
        for (n, &pointer) in pointers.iter().enumerate() {
            let lane = match (&scalars[n], &vectors[n]) {
                (Some(scalar), _) => Lane::uniform(self.t.add("i64", scalar, &bytes)),
                (None, Some(vector)) => {
                    let all = self.t.splat("i64", &bytes);
                    Lane::Varying(self.t.value(format_args!("add <32 x i64> {vector}, {all}")))
                }
                (None, None) => continue,
            };
            self.define(pointer, vec![lane]);
        }
        piece(self);
        let next = self.t.add("i64", &index, &Opd::Int(1));
        self.t.store("i64", &next, &slot, 8);
        let more = self.t.icmp("ult", "i64", &next, &Opd::Int(count));
        self.t.branch_if(&more, head, done);
        self.t.label(done);
        for (&pointer, kept) in pointers.iter().zip(kept) {
            self.values[pointer.index()] = kept;
        }
    }

    /// What a pointer of known root is kept as, from its code: the offset.
    pub(super) fn decode_lane(&mut self, root: Root, code: &Lane) -> Lane {
        if matches!(root, Root::Many | Root::Null | Root::Unset) {
            return code.clone();
        }
        let base = self.code_of_root(root);
        let base = self.t.splat("i64", &base);
        let all = code.vector(&mut self.t, "i64");
        Lane::Varying(self.t.value(format_args!("sub <32 x i64> {all}, {base}")))
    }

    /// A pointer cell's contents as codes.
    fn encode_lane(&mut self, root: Root, lane: &Lane) -> Lane {
        if root == Root::Many {
            return lane.clone();
        }
        let base = self.code_of_root(root);
        let all = lane.vector(&mut self.t, "i64");
        if let Lane::Laned { shape, .. } = lane
            && Shape::Lanes(shape.clone()).is_uniform()
        {
            let one = lane.at(&mut self.t, "i64", 0);
            return Lane::uniform(self.t.add("i64", &one, &base));
        }
        let base = self.t.splat("i64", &base);
        Lane::Varying(self.t.value(format_args!("add <32 x i64> {all}, {base}")))
    }
}
