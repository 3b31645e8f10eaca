//! Sums that lie in memory in rows for good: their *homes*.
//!
//! A sum over a loop is in no register between its products, whatever its form: 4 × 4 fragments are twice
//! the registers there are. In a home it lies as the products want it, and next to the sum that is computed
//! together with it. A home stands for the two cells of a local; what accesses those cells otherwise finds
//! their lanes put together from the rows.

use std::ops::Range;

use anymetal_ir::{Inst, Value};

use super::{Rows, SIDE};
use crate::cpu::emit::lane::Lane;
use crate::cpu::emit::{Emitter, Mask};
use crate::cpu::llvm_text::Opd;

/// Bytes of a row of one fragment.
const ROW: i64 = 4 * SIDE as i64;

/// Where a sum lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Home {
    /// The first of the two cells.
    pub(super) cell: usize,
    /// In which memory.
    pub(super) slot: usize,
    /// Left (0) or right in it.
    pub(super) side: usize,
}

/// Memory of one home, or of two side by side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    /// How many.
    pub(super) homes: usize,
    /// Where it is in the frame, if regions share it.
    pub(super) in_frame: Option<i64>,
}

impl Slot {
    /// For so many homes.
    pub(super) fn new(homes: usize) -> Self {
        Self { homes, in_frame: None }
    }

    /// Bytes from row to row.
    pub(super) fn step(&self) -> i64 {
        ROW * self.homes as i64
    }

    /// All bytes.
    pub(super) fn bytes(&self) -> i64 {
        self.step() * SIDE as i64
    }
}

/// Bytes of those slots that are on the stack.
fn on_stack(slots: &[Slot]) -> i64 {
    slots.iter().filter(|slot| slot.in_frame.is_none()).map(Slot::bytes).sum()
}

impl Emitter<'_, '_> {
    /// Whether the cell is part of a home.
    pub(in crate::cpu::emit) fn is_in_home(&self, cell: usize) -> bool {
        self.matrices.uses.home_of_cell.contains_key(&cell)
    }

    /// The slots of the cells' homes that have no place in the frame yet, and their bytes.
    pub(in crate::cpu::emit) fn slot_to_place(&self, cell: usize) -> Option<(usize, i64)> {
        let uses = &self.matrices.uses;
        let &(home, _) = uses.home_of_cell.get(&cell)?;
        let slot = uses.homes[home].slot;
        uses.slots[slot].in_frame.is_none().then(|| (slot, uses.slots[slot].bytes()))
    }

    /// Gives a slot its place in the frame.
    pub(in crate::cpu::emit) fn place_slot(&mut self, slot: usize, offset: i64) {
        self.matrices.uses.slots[slot].in_frame = Some(offset);
    }

    /// The home that an access of these cells covers.
    pub(super) fn home_of(&self, cells: &Range<usize>) -> Option<usize> {
        let &(home, element) = self.matrices.uses.home_of_cell.get(&cells.start)?;
        (element == 0 && cells.len() == 2).then_some(home)
    }

    /// The rows of a home.
    pub(super) fn home_rows(&mut self, home: usize) -> Rows {
        let step = self.matrices.uses.slots[self.matrices.uses.homes[home].slot].step();
        let (in_frame, offset) = self.home_place(home);
        let base = if in_frame { self.frame.clone() } else { self.homes_on_stack() };
        Rows { start: self.t.offset(&base, &Opd::Int(offset)), step: Opd::Int(step) }
    }

    /// Whether a home is in the frame or on the stack, and where there.
    pub(super) fn home_place(&self, home: usize) -> (bool, i64) {
        let Home { slot, side, .. } = self.matrices.uses.homes[home];
        let slots = &self.matrices.uses.slots;
        let side = ROW * side as i64;
        match slots[slot].in_frame {
            Some(offset) => (true, offset + side),
            None => (false, on_stack(&slots[..slot]) + side),
        }
    }

    fn homes_on_stack(&mut self) -> Opd {
        if let Some(known) = &self.matrices.homes_on_stack {
            return known.clone();
        }
        let bytes = on_stack(&self.matrices.uses.slots);
        let start = self.t.alloca(&format!("[{bytes} x i8]"), 64);
        self.matrices.homes_on_stack = Some(start.clone());
        start
    }

    /// Both lanes of a home's fragment.
    fn home_lanes(&mut self, home: usize) -> [Opd; 2] {
        let rows = self.home_rows(home);
        let dense = self.load_dense("float", &rows);
        self.fragment("float", &dense, false)
    }

    /// Loads a whole home as a value; `false` if the cells are none.
    pub(in crate::cpu::emit) fn load_home(&mut self, cells: &Range<usize>, result: Value) -> bool {
        let Some(home) = self.home_of(cells) else { return false };
        if self.facts.function.ty(result).scalar() != Some(anymetal_ir::Scalar::F32) {
            return false;
        }
        if self.gathers_products() && self.matrices.uses.lazy.contains(&result) {
            self.matrices.lazy.insert(result, home);
            return true;
        }
        self.matrices.lazy.remove(&result);
        self.write_result_of(home);
        let lanes = self.home_lanes(home);
        self.define(result, Self::varying(lanes));
        true
    }

    /// Gives a value that is the contents of a home its lanes.
    pub(super) fn define_lazy(&mut self, value: Value) {
        if let Some(&home) = self.matrices.lazy.get(&value) {
            let lanes = self.home_lanes(home);
            self.define(value, Self::varying(lanes));
        }
    }

    /// Before lanes of a home are loaded: writes the products if one's result is to be there.
    fn write_result_of(&mut self, home: usize) {
        if self.matrices.assigned.contains_key(&home) {
            self.write_products();
        }
    }

    /// Stores a value as a whole home; `false` if the cells are none, or lanes must be kept.
    pub(in crate::cpu::emit) fn store_home(
        &mut self,
        inst: Inst,
        cells: &Range<usize>,
        value: Value,
    ) -> bool {
        let Some(home) = self.home_of(cells) else { return false };
        let is_masked = cells.clone().any(|cell| self.flow.masked.contains(&(inst, cell)));
        if self.scalar(value) != anymetal_ir::Scalar::F32 || is_masked && self.mask != Mask::All {
            self.write_products();
            return false;
        }
        if self.assign_home(home, value) {
            return true;
        }
        self.write_products();
        self.matrices.results.clear();
        let rows = self.home_rows(home);
        let lanes = [self.lane(value, 0), self.lane(value, 1)];
        if lanes.iter().all(Lane::is_uniform) {
            let row = self.alternating(&lanes);
            self.store_rows("float", &vec![row; SIDE], &rows);
        } else {
            let dense = self.dense(value, false);
            self.store_dense("float", &dense, &rows);
        }
        true
    }

    /// A row of which all even elements are the same, and all odd ones.
    fn alternating(&mut self, lanes: &[Lane; 2]) -> Opd {
        let ends = [0, 1].map(|n| lanes[n].at(&mut self.t, "float", 0));
        if ends[0] == ends[1] {
            return self.t.splat_to(SIDE, "float", &ends[0]);
        }
        let mut row = Opd::text("poison");
        for column in 0..SIDE {
            let end = &ends[column % 2];
            row = self.t.value(format_args!("insertelement <8 x float> {row}, float {end}, i64 {column}"));
        }
        row
    }

    /// One cell of a home.
    pub(in crate::cpu::emit) fn load_home_cell(&mut self, cell: usize) -> Option<Lane> {
        let &(home, element) = self.matrices.uses.home_of_cell.get(&cell)?;
        self.write_result_of(home);
        let [even, odd] = self.home_lanes(home);
        Some(Lane::Varying(if element == 0 { even } else { odd }))
    }

    /// Replaces one cell of a home; `false` if the cell is in none.
    pub(in crate::cpu::emit) fn set_home_cell(&mut self, cell: usize, lane: &Lane) -> bool {
        let Some(&(home, element)) = self.matrices.uses.home_of_cell.get(&cell) else { return false };
        self.write_products();
        self.matrices.results.clear();
        let mut parts = self.home_lanes(home);
        parts[element] = lane.vector(&mut self.t, "float");
        let dense = self.dense_parts("float", &parts, false);
        let rows = self.home_rows(home);
        self.store_dense("float", &dense, &rows);
        true
    }
}
