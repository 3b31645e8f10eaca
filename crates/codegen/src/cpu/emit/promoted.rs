//! Cells: the variables that scalars of locals are kept in, one per base of their shape or one vector.
//!
//! Invariant: a component is brought to the cell's shape before it is stored, so that every load finds
//! the form that the analysis promised.

use anymetal_ir::{Inst, Scalar, Value};

use super::lane::{Lane, Width};
use super::{Emitter, Mask, zero_of};
use crate::cpu::llvm_text::{MASK, Opd, lanes_type, scalar_type};
use crate::cpu::shape::Shape;
use crate::cpu::storage::{CellType, Root};

impl Emitter<'_, '_> {
    pub(super) fn cell_scalar(&self, cell: usize) -> Scalar {
        match self.facts.storage.cells[cell].ty {
            CellType::Scalar(scalar) => scalar,
            CellType::Pointer(_) => Scalar::I64,
        }
    }

    /// The variables of a cell: one per base, or one of vectors.
    fn cell_slots(&mut self, cell: usize) -> Vec<Opd> {
        if let Some(slots) = self.cell_slots.get(&cell) {
            return slots.clone();
        }
        let element = self.element_of(self.facts.storage.cells[cell].ty);
        let slots: Vec<Opd> = match &self.flow.cells[cell] {
            Shape::Affine(shape) if shape.is_constant => Vec::new(),
            Shape::Affine(shape) => (0..shape.segments).map(|_| self.t.alloca(element, 8)).collect(),
            _ => vec![self.t.alloca(&lanes_type(element), 64)],
        };
        if self.plan.group_cells[cell] {
            // No undefined bits may reach a branch; other cells are set where regions begin.
            let (ty, zero) = match &self.flow.cells[cell] {
                Shape::Affine(_) => (element.to_owned(), zero_of(self.cell_scalar(cell))),
                _ => (lanes_type(element), Opd::text("zeroinitializer")),
            };
            for slot in &slots {
                self.t.start_line(format_args!("store {ty} {zero}, ptr {slot}, align 8"));
            }
        }
        self.cell_slots.insert(cell, slots.clone());
        slots
    }

    /// The cell's contents.
    pub(super) fn load_cell(&mut self, cell: usize) -> Lane {
        if let Some(lane) = self.load_home_cell(cell) {
            return lane;
        }
        let element = self.element_of(self.facts.storage.cells[cell].ty);
        let slots = self.cell_slots(cell);
        match self.flow.cells[cell].clone() {
            Shape::Affine(shape) if shape.is_constant => Lane::known(shape),
            Shape::Affine(shape) => {
                let bases = slots.iter().map(|slot| self.t.load(element, slot, 8)).collect();
                Lane::Affine { bases, shape, assumption: None }
            }
            _ => Lane::Varying(self.t.load(&lanes_type(element), &slots[0], 64)),
        }
    }

    /// Replaces the cell's contents, all lanes, with a component of the cell's shape.
    pub(super) fn set_cell(&mut self, cell: usize, lane: &Lane) {
        if self.set_home_cell(cell, lane) {
            return;
        }
        let element = self.element_of(self.facts.storage.cells[cell].ty);
        let slots = self.cell_slots(cell);
        match lane {
            Lane::Affine { bases, .. } => {
                for (slot, base) in slots.iter().zip(bases) {
                    self.t.store(element, base, slot, 8);
                }
            }
            Lane::Varying(vector) => self.t.store(&lanes_type(element), vector, &slots[0], 64),
        }
    }

    /// Stores to a cell: into all lanes if the others do not care, else under the mask.
    pub(super) fn store_cell(&mut self, inst: Inst, cell: usize, lane: &Lane) {
        let element = self.element_of(self.facts.storage.cells[cell].ty);
        let shape = self.flow.cells[cell].clone();
        let mut lane = self.rebase(lane, element, &shape);
        if self.flow.masked.contains(&(inst, cell))
            && let (Mask::Some(mask), Lane::Varying(new)) = (self.mask.clone(), &lane)
        {
            let old = self.load_cell(cell).vector(&mut self.t, element);
            lane = Lane::Varying(self.t.select(MASK, &mask, &lanes_type(element), new, &old));
        }
        self.set_cell(cell, &lane);
    }

    /// A component of a value in the representation of a cell.
    pub(super) fn lane_for_cell(&mut self, value: Value, k: usize, cell: usize) -> Lane {
        let to = self.facts.storage.cells[cell].ty;
        match to {
            CellType::Pointer(Root::Many) => {
                let lane = self.encoded(value);
                match &lane {
                    Lane::Affine { shape, .. } if shape.assumed => Lane::Varying(self.encoded_vector(value)),
                    _ => lane,
                }
            }
            CellType::Pointer(_) => self.kept_lane(value, k),
            CellType::Scalar(scalar) => {
                let lane = self.kept_lane(value, k);
                self.reinterpreted(&lane, self.scalar(value), scalar)
            }
        }
    }

    /// Loads a cell as component `k` of a result of perhaps another type.
    pub(super) fn load_cell_as(&mut self, cell: usize, result: Value, _k: usize) -> Lane {
        let lane = self.load_cell(cell);
        match self.facts.storage.cells[cell].ty {
            CellType::Scalar(scalar) if !self.is_pointer(result) => {
                self.reinterpreted(&lane, scalar, self.scalar(result))
            }
            _ => lane,
        }
    }

    /// The same bits as another scalar type of the same size.
    pub(super) fn reinterpreted(&mut self, lane: &Lane, from: Scalar, to: Scalar) -> Lane {
        let (source, target) = (scalar_type(from), scalar_type(to));
        // The types of `bfloat` and `ushort` are the same here, but only integers keep patterns.
        if from == to || from.is_int() && to.is_int() || source == target && matches!(lane, Lane::Varying(_))
        {
            return lane.clone();
        }
        match lane {
            Lane::Affine { shape, .. } if shape.is_uniform() => {
                let one = lane.at(&mut self.t, source, 0);
                Lane::uniform(super::cast::reinterpret(&mut self.t, Width::One, source, target, &one))
            }
            _ => {
                let all = lane.vector(&mut self.t, source);
                Lane::Varying(super::cast::reinterpret(&mut self.t, Width::All, source, target, &all))
            }
        }
    }
}
