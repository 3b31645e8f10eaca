//! Context save: values, promoted variables and arrays that are live across regions.
//!
//! A frame is the part of the worker's scratch memory that keeps one SIMD-group's context, contiguously. A
//! region first loads the promoted variables it needs into variables of the function and stores those that
//! changed at its end, so that LLVM keeps them in registers in between. Values that are cheap to compute
//! are rematerialised.

use std::collections::BTreeMap;

use anymetal_ir::{Inst, Scalar, Value};

use super::Emitter;
use super::lane::Lane;
use crate::llvm::{BlockName, I32, IntPredicate, MASK, MemFlags, Opd, scalar_type};
use anymetal_analysis::divergence::Shape;
use anymetal_simd::regions::Fetch;

/// Where things are in a frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    values: BTreeMap<Value, i64>,
    variables: BTreeMap<usize, i64>,
    bytes: i64,
}

/// What vectors in a frame are aligned to.
const VECTOR_ALIGN: i64 = 64;

fn round_up(bytes: i64, align: i64) -> i64 {
    assert!(bytes >= 0 && align > 0, "{bytes} bytes cannot be rounded up to a multiple of {align}");
    (bytes + align - 1) / align * align
}

/// Bytes that a component takes in a frame.
fn component_bytes(shape: &Shape, scalar: Scalar) -> i64 {
    match shape {
        Shape::Affine(shape) if shape.is_constant => 0,
        Shape::Affine(shape) => 8 * shape.segments as i64,
        _ if scalar == Scalar::Bool => 8,
        _ => i64::from(scalar.size()) * 32,
    }
}

/// Bytes from a component of a kept value to the next one.
fn component_step(shape: &Shape, scalar: Scalar) -> i64 {
    round_up(component_bytes(shape, scalar), VECTOR_ALIGN)
}

impl Layout {
    /// Whether the value has a place, because another region takes it.
    pub(super) fn keeps(&self, value: Value) -> bool {
        self.values.contains_key(&value)
    }

    fn take(&mut self, bytes: i64) -> i64 {
        assert!(bytes >= 0, "a slot of {bytes} bytes");
        // The smallest vector, of bytes, takes 32.
        let align = if bytes >= 32 { VECTOR_ALIGN } else { 8 };
        let offset = round_up(self.bytes, align);
        assert!(offset >= self.bytes, "slots of a frame do not overlap");
        self.bytes = offset + bytes;
        offset
    }
}

impl Emitter<'_, '_> {
    /// Lays out the frame; gives its bytes.
    pub(super) fn lay_out_frame(&mut self) -> u64 {
        let mut layout = Layout { bytes: 8, ..Layout::default() };
        for value in self.plan.regions.saved.clone() {
            let scalar = self.scalar(value);
            let bytes = self.plan.divergence.values[value.index()]
                .iter()
                .map(|shape| component_step(shape, scalar))
                .sum();
            let offset = layout.take(bytes);
            layout.values.insert(value, offset);
        }
        let vars = self.plan.facts.storage.vars.len();
        let mut live_across = std::collections::BTreeSet::new();
        for region in &self.plan.regions.regions {
            // Regions that only sample a condition have no instructions.
            let Some(&first) = region.insts.first() else { continue };
            let live = self.plan.facts.liveness.before(first);
            live_across.extend(region.accesses.iter().copied().filter(|&variable| live.contains(variable)));
        }
        for variable in live_across {
            if variable < vars {
                if self.plan.regions.wg_uniform_vars[variable] {
                    continue;
                }
                if self.is_in_tile(variable) {
                    if let Some((slot, bytes)) = self.slot_to_place(variable) {
                        let offset = layout.take(bytes);
                        self.place_slot(slot, offset);
                    }
                    continue;
                }
                let scalar = self.promoted_scalar(variable);
                let offset = layout.take(component_bytes(&self.plan.divergence.variables[variable], scalar));
                layout.variables.insert(variable, offset);
            } else {
                let bytes = self.plan.facts.storage.arrays[variable - vars].bytes() as i64;
                let offset = layout.take(bytes);
                layout.variables.insert(variable, offset);
            }
        }
        let needed = self.plan.regions.tracks_live || layout.bytes > 8;
        let bytes = if needed { round_up(layout.bytes, VECTOR_ALIGN) } else { 0 };
        assert!(bytes >= layout.bytes || !needed, "the frame contains its slots");
        self.layout = layout;
        bytes as u64
    }

    /// Finds the arrays that are in the current frame.
    pub(super) fn find_arrays(&mut self) {
        let vars = self.plan.facts.storage.vars.len();
        for (&variable, &offset) in &self.layout.variables.clone() {
            if variable >= vars {
                let at = self.t.offset(&self.frame.clone(), offset);
                self.registers.array_slots.insert(variable - vars, at);
            }
        }
    }

    /// The lanes that have not returned.
    pub(super) fn live_bits(&mut self) -> Opd {
        let at = self.frame.clone();
        self.t.load(I32, &at, 4)
    }

    /// Goes to `end` if all lanes have returned; gives those that have not.
    pub(super) fn leave_without_live(&mut self, end: BlockName) -> Opd {
        let live = self.live_bits();
        let some = self.t.icmp(IntPredicate::Ne, &live, 0);
        let go = self.t.block();
        self.t.branch_if(&some, go, end);
        self.t.label(go);
        live
    }

    pub(super) fn fetch_values(&mut self, number: usize) {
        for fetch in self.plan.regions.regions[number].fetches.clone() {
            match fetch {
                Fetch::Remat(value) => {
                    let anymetal_ir::ValueDef::Inst(inst) =
                        self.plan.facts.function.values[value.index()].def
                    else {
                        unreachable!("{value} is a parameter, which every region has")
                    };
                    self.simple(inst);
                }
                Fetch::Load(value) => {
                    let scalar = self.scalar(value);
                    let mut offset = self.layout.values[&value];
                    let mut lanes = Vec::new();
                    for shape in self.plan.divergence.values[value.index()].clone() {
                        lanes.push(self.load_component(offset, &shape, scalar));
                        offset += component_step(&shape, scalar);
                    }
                    self.define(value, lanes);
                }
            }
        }
    }

    /// Keeps the result of an instruction if another region wants it. A product that waits is kept when it is
    /// written.
    pub(super) fn save_result(&mut self, inst: Inst) {
        let Some(value) = self.plan.facts.function.inst(inst).result else { return };
        if !self.is_deferred(value) {
            self.save_value(value);
        }
    }

    /// Keeps a value if another region wants it.
    pub(super) fn save_value(&mut self, value: Value) {
        let Some(&start) = self.layout.values.get(&value) else { return };
        let scalar = self.scalar(value);
        let mut offset = start;
        for (k, shape) in self.plan.divergence.values[value.index()].clone().iter().enumerate() {
            let lane = self.lane(value, k);
            self.store_component(offset, &lane, scalar);
            offset += component_step(shape, scalar);
        }
    }

    fn load_component(&mut self, offset: i64, shape: &Shape, scalar: Scalar) -> Lane {
        debug_assert!(
            offset + component_bytes(shape, scalar) <= self.layout.bytes,
            "offset {offset} is outside the frame of {} bytes",
            self.layout.bytes
        );
        let element = scalar_type(scalar);
        let at = self.t.offset(&self.frame.clone(), offset);
        match shape {
            Shape::Affine(shape) if shape.is_constant => Lane::known(shape.clone()),
            Shape::Affine(shape) => {
                let mut bases = Vec::new();
                for segment in 0..shape.segments as i64 {
                    let at = self.t.offset(&at, 8 * segment);
                    bases.push(self.t.load(
                        element,
                        &at,
                        MemFlags::with(8, ", !alias.scope !6, !noalias !7"),
                    ));
                }
                Lane::Affine { bases, shape: shape.clone(), assumption: None }
            }
            _ if scalar == Scalar::Bool => {
                let bits = self.t.load(I32, &at, MemFlags::with(4, ", !alias.scope !6, !noalias !7"));
                Lane::Varying(self.t.bitcast(&bits, MASK))
            }
            _ => {
                let ty = element.lanes();
                Lane::Varying(self.t.load(ty, &at, MemFlags::with(64, ", !alias.scope !6, !noalias !7")))
            }
        }
    }

    fn store_component(&mut self, offset: i64, lane: &Lane, scalar: Scalar) {
        assert!((0..=self.layout.bytes).contains(&offset), "offset {offset} is outside the frame");
        let at = self.t.offset(&self.frame.clone(), offset);
        let metadata = ", !alias.scope !6, !noalias !7";
        match lane {
            Lane::Affine { shape, .. } if shape.is_constant => {}
            Lane::Affine { bases, .. } => {
                for (segment, base) in bases.iter().enumerate() {
                    let at = self.t.offset(&at, 8 * segment as i64);
                    self.t.store(base, &at, MemFlags::with(8, metadata));
                }
            }
            Lane::Varying(vector) if scalar == Scalar::Bool => {
                let bits = self.t.bitcast(vector, I32);
                self.t.store(&bits, &at, MemFlags::with(4, metadata));
            }
            Lane::Varying(vector) => self.t.store(vector, &at, MemFlags::with(64, metadata)),
        }
    }

    /// Loads the region's promoted variables into LLVM variables: from the frame, or as zeros if no region
    /// can have written them yet, so that no undefined bits reach a branch.
    pub(super) fn fetch_promoted(&mut self, number: usize) {
        let vars = self.plan.facts.storage.vars.len();
        let region = self.plan.regions.regions[number].clone();
        // A region that only samples a condition accesses no variables.
        let Some(&first) = region.insts.first() else { return };
        for &var in region.accesses.iter().filter(|&&variable| variable < vars) {
            if self.plan.regions.wg_uniform_vars[var] || self.is_in_tile(var) {
                continue;
            }
            let scalar = self.promoted_scalar(var);
            let shape = self.plan.divergence.variables[var].clone();
            let is_live = self.plan.facts.liveness.before(first).contains(var);
            let lane = match self.layout.variables.get(&var) {
                Some(&offset) if is_live => self.load_component(offset, &shape, scalar),
                _ => match shape {
                    Shape::Affine(shape) if shape.is_constant => Lane::known(shape),
                    Shape::Affine(shape) => {
                        let bases = vec![super::zero_of(scalar); shape.segments];
                        Lane::Affine { bases, shape, assumption: None }
                    }
                    _ => Lane::Varying(Opd::zero(scalar_type(scalar).lanes())),
                },
            };
            self.set_promoted(var, &lane);
        }
    }

    pub(super) fn save_promoted(&mut self, number: usize) {
        let vars = self.plan.facts.storage.vars.len();
        let region = self.plan.regions.regions[number].clone();
        // A region that only samples a condition accesses no variables.
        let Some(&last) = region.insts.last() else { return };
        for &var in region.accesses.iter().filter(|&&variable| variable < vars) {
            let Some(&offset) = self.layout.variables.get(&var) else { continue };
            if !self.plan.facts.liveness.after(last).contains(var) {
                continue;
            }
            let scalar = self.promoted_scalar(var);
            let lane = self.load_promoted(var);
            self.store_component(offset, &lane, scalar);
        }
    }
}
