//! Accumulator tiles: memory that keeps sums of products in rows over their whole live range.
//!
//! A sum over a loop stays in no register between its products: 4 × 4 fragments need twice the registers
//! there are. A tile has the layout that the micro-kernels use, next to the sum that is computed with it.
//! It stands for the two promoted variables of a local; other accesses to these get lanes assembled from
//! the rows.

use std::ops::Range;

use anymetal_ir::{Inst, Value};

use super::{Rows, SIDE};
use crate::cpu::emit::lane::Lane;
use crate::cpu::emit::{Emitter, Mask};
use crate::llvm::{FLOAT, I8, Opd};
use anymetal_simd::fragments::{AccumulatorTile, ROW, Slot};

/// Bytes of those slots that are on the stack.
fn on_stack(slots: &[Slot]) -> i64 {
    slots.iter().filter(|slot| slot.in_frame.is_none()).map(Slot::bytes).sum()
}

impl Emitter<'_, '_> {
    /// Whether the promoted variable is part of a tile.
    pub(in crate::cpu::emit) fn is_in_tile(&self, var: usize) -> bool {
        self.plan.fragments.tile_of_var.contains_key(&var)
    }

    /// The slots of the promoted variables' tiles that have no place in the frame yet, and their bytes.
    pub(in crate::cpu::emit) fn slot_to_place(&self, var: usize) -> Option<(usize, i64)> {
        let fragments = &self.plan.fragments;
        let &(tile, _) = fragments.tile_of_var.get(&var)?;
        let slot = fragments.tiles[tile].slot;
        self.matrices.slots[slot].in_frame.is_none().then(|| (slot, self.matrices.slots[slot].bytes()))
    }

    /// Gives a slot its place in the frame.
    pub(in crate::cpu::emit) fn place_slot(&mut self, slot: usize, offset: i64) {
        assert!(offset > 0 && offset % 32 == 0, "frame offset {offset} is not aligned for rows");
        let before = self.matrices.slots[slot].in_frame.replace(offset);
        assert!(before.is_none(), "slot {slot} already has a frame offset");
    }

    /// The tile that an access of these promoted variables covers.
    pub(super) fn tile_of(&self, vars: &Range<usize>) -> Option<usize> {
        let &(tile, element) = self.plan.fragments.tile_of_var.get(&vars.start)?;
        (element == 0 && vars.len() == 2).then_some(tile)
    }

    /// The rows of a tile.
    pub(super) fn tile_rows(&mut self, tile: usize) -> Rows {
        let step = self.matrices.slots[self.plan.fragments.tiles[tile].slot].step();
        let (in_frame, offset) = self.tile_place(tile);
        let base = if in_frame { self.frame.clone() } else { self.tiles_on_stack() };
        Rows { start: self.t.offset(&base, offset), step: Opd::i64(step) }
    }

    /// Whether a tile is in the frame or on the stack, and where there.
    pub(super) fn tile_place(&self, tile: usize) -> (bool, i64) {
        let AccumulatorTile { slot, side, .. } = self.plan.fragments.tiles[tile];
        let slots = &self.matrices.slots;
        assert!(side < slots[slot].tiles, "slot {slot} has no side {side}");
        let side = ROW * side as i64;
        match slots[slot].in_frame {
            Some(offset) => (true, offset + side),
            None => (false, on_stack(&slots[..slot]) + side),
        }
    }

    fn tiles_on_stack(&mut self) -> Opd {
        if let Some(known) = &self.matrices.tiles_on_stack {
            return known.clone();
        }
        let bytes = on_stack(&self.matrices.slots);
        assert!(bytes > 0, "at least one slot is on the stack");
        let start = self.t.zeroed_array(bytes.cast_unsigned(), I8, 64);
        self.matrices.tiles_on_stack = Some(start.clone());
        start
    }

    /// Both lanes of a tile's fragment.
    fn tile_lanes(&mut self, tile: usize) -> [Opd; 2] {
        let rows = self.tile_rows(tile);
        let dense = self.load_dense(FLOAT, &rows);
        self.fragment(&dense, false)
    }

    /// Loads a whole tile as a value; `false` if the promoted variables are none.
    pub(in crate::cpu::emit) fn load_tile(&mut self, vars: &Range<usize>, result: Value) -> bool {
        let Some(tile) = self.tile_of(vars) else {
            // The variables are in no tile.
            return false;
        };
        if self.plan.facts.function.ty(result).scalar() != Some(anymetal_ir::Scalar::F32) {
            return false;
        }
        if self.gathers_products() && self.plan.fragments.lazy.contains(&result) {
            self.matrices.lazy.insert(result, tile);
            return true;
        }
        self.matrices.lazy.remove(&result);
        self.write_result_of(tile);
        let lanes = self.tile_lanes(tile);
        self.define(result, Self::varying(lanes));
        true
    }

    /// Gives a value that is the contents of a tile its lanes.
    pub(super) fn define_lazy(&mut self, value: Value) {
        if let Some(&tile) = self.matrices.lazy.get(&value) {
            let lanes = self.tile_lanes(tile);
            self.define(value, Self::varying(lanes));
        }
    }

    /// Before lanes of a tile are loaded: writes the products if one's result is to be there.
    fn write_result_of(&mut self, tile: usize) {
        if self.matrices.assigned.contains_key(&tile) {
            self.write_products();
        }
    }

    /// Stores a value as a whole tile; `false` if the promoted variables are none, or lanes must be kept.
    pub(in crate::cpu::emit) fn store_tile(&mut self, inst: Inst, vars: &Range<usize>, value: Value) -> bool {
        let Some(tile) = self.tile_of(vars) else {
            // The variables are in no tile.
            return false;
        };
        let is_masked = vars.clone().any(|var| self.plan.divergence.masked_stores.contains(&(inst, var)));
        if self.scalar(value) != anymetal_ir::Scalar::F32 || is_masked && self.position.mask != Mask::All {
            self.write_products();
            return false;
        }
        if self.assign_tile(tile, value) {
            return true;
        }
        self.write_products();
        self.matrices.results.clear();
        let rows = self.tile_rows(tile);
        let lanes = [self.lane(value, 0), self.lane(value, 1)];
        if lanes.iter().all(Lane::is_uniform) {
            let row = self.alternating(&lanes);
            self.store_rows(&vec![row; SIDE], &rows);
        } else {
            let dense = self.dense(value, false);
            self.store_dense(&dense, &rows);
        }
        true
    }

    /// A row of which all even elements are the same, and all odd ones.
    fn alternating(&mut self, lanes: &[Lane; 2]) -> Opd {
        let ends = [0, 1].map(|n| lanes[n].at(&mut self.t, FLOAT, 0));
        if ends[0] == ends[1] {
            return self.t.splat_to(SIDE, &ends[0]);
        }
        let mut row = Opd::poison(FLOAT.vector(SIDE));
        for column in 0..SIDE {
            let end = &ends[column % 2];
            row = self.t.insert(&row, end, column);
        }
        row
    }

    /// One promoted variable of a tile.
    pub(in crate::cpu::emit) fn load_tile_var(&mut self, var: usize) -> Option<Lane> {
        let &(tile, element) = self.plan.fragments.tile_of_var.get(&var)?;
        self.write_result_of(tile);
        let [even, odd] = self.tile_lanes(tile);
        Some(Lane::Varying(if element == 0 { even } else { odd }))
    }

    /// Replaces one promoted variable of a tile; `false` if the promoted variable is in none.
    pub(in crate::cpu::emit) fn set_tile_var(&mut self, var: usize, lane: &Lane) -> bool {
        let Some(&(tile, element)) = self.plan.fragments.tile_of_var.get(&var) else {
            // The variable is in no tile.
            return false;
        };
        self.write_products();
        self.matrices.results.clear();
        let mut parts = self.tile_lanes(tile);
        parts[element] = lane.vector(&mut self.t, FLOAT);
        let dense = self.dense_parts(&parts, false);
        let rows = self.tile_rows(tile);
        self.store_dense(&dense, &rows);
        true
    }
}
