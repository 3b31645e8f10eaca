//! The path that all SIMD-groups of a threadgroup in the interior follow, and what it demands.
//!
//! Owns [`InteriorPath`]. Invariant: where no precondition is negative, the accesses through
//! [`InteriorPath::pointers`] are in bounds in every lane.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_analysis::divergence::{Divergence, LANES};
use anymetal_analysis::patterns::{PointerSum, pointer_sum, widened};
use anymetal_ir::{CastOp, Inst, Kernel, Op, Scalar, Space, Type, Value, ValueDef};

use crate::access::Item;
use crate::facts::Facts;
use crate::interior::{Interior, Known, Sum};
use crate::limits::MAX_COPY;
use crate::polynomial::{Factor, Polynomial};
use crate::regions::{Regions, size};
use crate::stencil_rows::{RowLoads, StencilRows};
use crate::storage::Root;
use crate::target::CpuFeatures;

/// The largest index of an access: that of the last element that an argument has, or the largest that does
/// not wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaxIndex {
    /// The argument.
    pub argument: usize,
    /// Bytes from the index's place on.
    pub bytes: i64,
    /// Bytes per index.
    pub scale: u32,
    /// The largest index that does not wrap.
    pub max: i64,
}

/// What runs where no limit concerns a threadgroup.
#[derive(Debug)]
pub struct InteriorPath {
    /// The instructions, in order.
    pub insts: Vec<Inst>,
    /// What must not be negative.
    pub preconditions: Vec<Polynomial>,
    /// What the preconditions compare with.
    pub max_indices: Vec<MaxIndex>,
    /// Values that the preconditions need and the region would load later.
    pub early: BTreeSet<Value>,
    /// By pointer: bytes to the first lane, and what may be accessed there.
    pub pointers: BTreeMap<Value, (Polynomial, i64)>,
    /// The first loads of the stencil rows that need no test.
    pub open: BTreeSet<Inst>,
}

impl InteriorPath {
    /// The way through the only region, if it has stencil rows that can be tested together.
    pub(crate) fn new(
        (facts, divergence): (Facts<'_>, &Divergence),
        (regions, stencil_rows): (&Regions, &StencilRows),
        kernel: &Kernel,
        features: &CpuFeatures,
    ) -> Option<Self> {
        let threads = facts.geometry.threads()?;
        let function = facts.function;
        let [region] = regions.regions.as_slice() else {
            // Barriers divide the kernel.
            return None;
        };
        let is_whole = threads.is_multiple_of(LANES as u32) && threads > LANES as u32;
        if regions.tracks_live || !is_whole || size(function, &region.insts) > MAX_COPY {
            return None;
        }
        let firsts = stencil_rows.rows_checked_early();
        if firsts.is_empty() {
            return None;
        }
        let known = known_before((facts, divergence), regions, kernel);
        let mut interior = Interior::new(facts, divergence, known)?;
        interior.follow(&region.insts)?;
        let mut max_indices = Vec::new();
        let (mut pointers, mut open, mut covered) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        for first in firsts {
            if !interior.path.contains(&first) {
                continue;
            }
            let loads = &stencil_rows.rows()[&first];
            let claimed = interior.claim_row(&mut max_indices, loads, features)?;
            pointers.insert(loads.parts[0].pointer, claimed);
            covered.extend(loads.parts.iter().map(|part| part.pointer));
            open.insert(first);
        }
        for inst in interior.path.clone() {
            let (pointer, ty) = match function.inst(inst).op {
                Op::Load { ptr, .. } => (ptr, function.ty(function.inst(inst).result?)),
                Op::Store { ptr, value, .. } => (ptr, function.ty(value)),
                _ => continue,
            };
            if covered.contains(&pointer) || matches!(ty, Type::Ptr(_)) {
                continue;
            }
            let bytes = Item::of(ty).bytes();
            if let Some(claimed) = interior.claim(&mut max_indices, (pointer, bytes), None) {
                pointers.insert(pointer, claimed);
            }
        }
        let Interior { path: insts, preconditions, early, .. } = interior;
        (!open.is_empty()).then_some(Self { insts, preconditions, max_indices, early, pointers, open })
    }
}

impl Interior<'_> {
    /// Demands that all lanes' accesses are in bounds, with as many elements after the first lane's as a
    /// span has; gives the first lane's offset, and the bytes.
    fn claim(
        &mut self,
        max_indices: &mut Vec<MaxIndex>,
        (pointer, bytes): (Value, i64),
        span: Option<i64>,
    ) -> Option<(Polynomial, i64)> {
        let function = self.facts.function;
        let (sum, is_signed, scale, offset) = self.index_sum(pointer)?;
        // Lanes that are anywhere have no step.
        let shape = self.divergence.shape(pointer).affine()?;
        let Root::Argument(argument) = self.facts.storage.pointer(pointer).root else {
            // Only the length of an argument is known before the region.
            return None;
        };
        let is_alike =
            |lane: usize| shape.at(lane) == (sum.pattern[lane] - sum.pattern[0]) * i64::from(scale);
        let is_simple = shape.segments == 1 && !shape.is_constant && (0..LANES).all(is_alike);
        if !is_simple
            || !scale.is_power_of_two()
            || !(0..1 << 20).contains(&offset)
            || function.ty(pointer) == Type::Ptr(Space::Threadgroup)
        {
            return None;
        }
        let first = sum.group.plus(&Polynomial::constant(sum.pattern[0]), 1)?;
        let [low, mut high] = self.ends(&sum)?;
        if let Some(elements) = span {
            let last = Polynomial::constant(elements - 1);
            high = self.ends(&Sum { pattern: [sum.pattern[0]; LANES], ..sum })?[1].plus(&last, 1)?;
        }
        let max = if is_signed { i64::from(i32::MAX) } else { i64::from(u32::MAX) };
        let max_index = MaxIndex { argument, bytes: offset + bytes, scale, max };
        let number = max_indices.iter().position(|&other| other == max_index).unwrap_or(max_indices.len());
        if number == max_indices.len() {
            max_indices.push(max_index);
        }
        self.require(&low, 0)?;
        self.require(&Polynomial::factor(Factor::MaxIndex(number)).plus(&high, -1)?, 0)?;
        let place = Polynomial::constant(offset).plus(&first, i64::from(scale))?;
        place.step()?;
        Some((place, bytes))
    }

    /// The index of a pointer into an argument: its sum, whether it has a sign, bytes of an element, and what
    /// is added.
    fn index_sum(&mut self, pointer: Value) -> Option<(Sum, bool, u32, i64)> {
        let function = self.facts.function;
        let PointerSum { base, index, scale, offset } = pointer_sum(function, pointer)?;
        let (cast, narrow) = widened(function, index?)?;
        matches!(function.values[base.index()].def, ValueDef::Param(_)).then_some(())?;
        Some((self.sum(narrow)?, cast == CastOp::SExt, scale, offset))
    }

    fn claim_row(
        &mut self,
        max_indices: &mut Vec<MaxIndex>,
        loads: &RowLoads,
        features: &CpuFeatures,
    ) -> Option<(Polynomial, i64)> {
        let (low, high) = (loads.parts.first()?, loads.parts.last()?);
        let (lowest, is_signed, scale, offset) = self.index_sum(low.pointer)?;
        for part in &loads.parts {
            let (sum, sign, size, start) = self.index_sum(part.pointer)?;
            let apart = sum.group.plus(&lowest.group, -1)?.as_constant()?;
            let is_alike = (sum.pattern, sign, size, start) == (lowest.pattern, is_signed, scale, offset);
            if !is_alike || apart * i64::from(scale) != part.offset - low.offset {
                return None;
            }
        }
        let bytes = loads.item.bytes();
        if bytes != i64::from(scale) {
            return None;
        }
        let needed = loads.reach() + (high.offset - low.offset) / bytes;
        let elements = loads.span(features).map_or(needed, |elements| needed.max(elements as i64));
        self.claim(max_indices, (low.pointer, bytes), Some(elements))
    }
}

/// Numbers that need no region to be known.
fn known_before((facts, divergence): (Facts<'_>, &Divergence), regions: &Regions, kernel: &Kernel) -> Known {
    let function = facts.function;
    let mut known = Known::default();
    for index in 0..function.values.len() {
        let value = Value(index as u32);
        if function.ty(value) != Type::Scalar(Scalar::I32) {
            continue;
        }
        if regions.is_group_value(function, divergence, value) {
            known.before.insert(value);
        } else if is_always_there(facts, kernel, value) {
            known.loadable.insert(value);
        }
    }
    known
}

/// Whether a value is a part of a structure that is always there and never changes.
fn is_always_there(facts: Facts<'_>, kernel: &Kernel, value: Value) -> bool {
    let function = facts.function;
    let Some(&Op::Load { ptr, .. }) = function.def(value) else {
        // Computed, not a part of a structure.
        return false;
    };
    let (root, offset) = match function.def(ptr) {
        Some(&Op::PtrAdd { base, index: None, offset, .. }) => (base, offset),
        _ => (ptr, 0),
    };
    let is_param = matches!(function.values[root.index()].def, ValueDef::Param(_));
    let Root::Argument(index) = facts.storage.pointer(ptr).root else {
        // Only arguments are known to exist.
        return false;
    };
    let argument = &kernel.args[index];
    // A structure larger than `i64` counts as empty, which proves nothing.
    let size = i64::try_from(argument.element_size).unwrap_or(0);
    is_param && argument.space == Space::Constant && argument.reference && offset >= 0 && offset + 4 <= size
}
