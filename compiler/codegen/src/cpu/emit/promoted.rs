//! Promoted variables: LLVM variables for the scalars of locals, one per base of their shape or one vector.
//!
//! Invariant: a component is converted to the variable's shape before it is stored, so that every load
//! finds the form that the analysis found.

use anymetal_ir::{Inst, Scalar, Value};

use super::lane::Lane;
use super::{Emitter, Mask, zero_of};
use crate::llvm::{Opd, scalar_type};
use anymetal_analysis::divergence::Shape;
use anymetal_simd::storage::{PromotedType, Root};

impl Emitter<'_, '_> {
    pub(super) fn promoted_scalar(&self, var: usize) -> Scalar {
        match self.plan.facts.storage.vars[var].ty {
            PromotedType::Scalar(scalar) => scalar,
            PromotedType::Pointer(..) => Scalar::I64,
        }
    }

    /// The variables of a promoted variable: one per base, or one of vectors.
    fn promoted_slots(&mut self, var: usize) -> Vec<Opd> {
        if let Some(slots) = self.registers.promoted_slots.get(&var) {
            return slots.clone();
        }
        let element = self.element_of(self.plan.facts.storage.vars[var].ty);
        let slots: Vec<Opd> = match &self.plan.divergence.variables[var] {
            Shape::Affine(shape) if shape.is_constant => Vec::new(),
            Shape::Affine(shape) => (0..shape.segments).map(|_| self.t.alloca(element, 8)).collect(),
            _ => vec![self.t.alloca(element.lanes(), 64)],
        };
        if self.plan.regions.wg_uniform_vars[var] {
            // No undefined bits may reach a branch; other promoted variables are set where regions begin.
            let zero = match &self.plan.divergence.variables[var] {
                Shape::Affine(_) => zero_of(self.promoted_scalar(var)),
                _ => Opd::zero(element.lanes()),
            };
            for slot in &slots {
                self.t.in_start(|t| t.store(&zero, slot, 8));
            }
        }
        self.registers.promoted_slots.insert(var, slots.clone());
        slots
    }

    /// The promoted variable's contents.
    pub(super) fn load_promoted(&mut self, var: usize) -> Lane {
        if let Some(lane) = self.load_tile_var(var) {
            return lane;
        }
        let element = self.element_of(self.plan.facts.storage.vars[var].ty);
        let slots = self.promoted_slots(var);
        match self.plan.divergence.variables[var].clone() {
            Shape::Affine(shape) if shape.is_constant => Lane::known(shape),
            Shape::Affine(shape) => {
                let bases = slots.iter().map(|slot| self.t.load(element, slot, 8)).collect();
                Lane::Affine { bases, shape, assumption: None }
            }
            _ => Lane::Varying(self.t.load(element.lanes(), &slots[0], 64)),
        }
    }

    /// Replaces the promoted variable's contents, all lanes, with a component of the promoted variable's
    /// shape.
    pub(super) fn set_promoted(&mut self, var: usize, lane: &Lane) {
        if self.set_tile_var(var, lane) {
            return;
        }
        let slots = self.promoted_slots(var);
        match lane {
            Lane::Affine { bases, .. } => {
                // A known value has no slots.
                assert!(
                    slots.is_empty() || slots.len() == bases.len(),
                    "a promoted variable has {} slots for {} bases",
                    slots.len(),
                    bases.len()
                );
                for (slot, base) in slots.iter().zip(bases) {
                    self.t.store(base, slot, 8);
                }
            }
            Lane::Varying(vector) => self.t.store(vector, &slots[0], 64),
        }
    }

    /// Stores to a promoted variable: into all lanes if the others do not care, else under the mask.
    pub(super) fn store_promoted(&mut self, inst: Inst, var: usize, lane: &Lane) {
        let element = self.element_of(self.plan.facts.storage.vars[var].ty);
        let shape = self.plan.divergence.variables[var].clone();
        let is_masked = self.plan.divergence.masked_stores.contains(&(inst, var));
        if is_masked && shape != Shape::Varying {
            // A masked store makes its variable varying unless the stored value was never written, and is
            // arbitrary: it may be the old one, which inactive lanes keep.
            return;
        }
        let mut lane = self.rebase(lane, element, &shape);
        if is_masked && let (Mask::Some(mask), Lane::Varying(new)) = (self.position.mask.clone(), &lane) {
            let old = self.load_promoted(var).vector(&mut self.t, element);
            lane = Lane::Varying(self.t.select(&mask, new, &old));
        }
        self.set_promoted(var, &lane);
    }

    /// A component of a value in the representation of a promoted variable.
    pub(super) fn lane_for_promoted(&mut self, value: Value, k: usize, var: usize) -> Lane {
        let to = self.plan.facts.storage.vars[var].ty;
        match to {
            PromotedType::Pointer(Root::Many, _) => self.encoded(value),
            PromotedType::Pointer(..) => self.kept_lane(value, k),
            PromotedType::Scalar(scalar) => {
                let lane = self.kept_lane(value, k);
                self.reinterpreted(&lane, self.scalar(value), scalar)
            }
        }
    }

    /// Loads a promoted variable as component `k` of a result of perhaps another type.
    pub(super) fn load_promoted_as(&mut self, var: usize, result: Value, _k: usize) -> Lane {
        let lane = self.load_promoted(var);
        match self.plan.facts.storage.vars[var].ty {
            PromotedType::Scalar(scalar) if !self.is_pointer(result) => {
                self.reinterpreted(&lane, scalar, self.scalar(result))
            }
            _ => lane,
        }
    }

    /// The same bits as another scalar type of the same size.
    pub(super) fn reinterpreted(&mut self, lane: &Lane, from: Scalar, to: Scalar) -> Lane {
        assert_eq!(from.size(), to.size(), "{from:?} and {to:?} do not have the same bits");
        let (source, target) = (scalar_type(from), scalar_type(to));
        // The types of `bfloat` and `ushort` are the same here, but only integers keep patterns.
        if from == to || from.is_int() && to.is_int() || source == target && matches!(lane, Lane::Varying(_))
        {
            return lane.clone();
        }
        match lane {
            Lane::Affine { shape, .. } if shape.is_uniform() => {
                let one = lane.at(&mut self.t, source, 0);
                Lane::uniform(self.t.reinterpret(&one, target))
            }
            _ => {
                let all = lane.vector(&mut self.t, source);
                Lane::Varying(self.t.reinterpret(&all, target))
            }
        }
    }
}
