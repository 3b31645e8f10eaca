//! Check-free loop over the SIMD-groups of interior threadgroups: see `interior`, and
//! `docs/decisions/0016-interior-versioning.md`.
//!
//! One guard for the whole threadgroup shows that no clamp takes effect, no index wraps and all accesses
//! are in bounds. After it the SIMD-groups run without checks: addresses are the first one's plus a stride.
//! Other threadgroups run the loop with checks.
//!
//! Invariant: [`Emitter::interior_pointers`] holds pointers only while that loop is emitted.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_ir::{CastOp, Inst, Op, Scalar, Space, Type, Value, ValueDef};
use anymetal_opt::{Feature, RemarkId};

use super::control::Context;
use super::lane::Lane;
use super::memory::Item;
use super::stencil_rows::Loads;
use super::{Emitter, Mask};
use crate::cpu::llvm_text::{LANES, Opd};
use crate::limits::cpu::MAX_COPY;
use anymetal_analysis::patterns::{PointerSum, pointer_sum, widened};
use anymetal_simd::interior::{Interior, Known, Sum};
use anymetal_simd::polynomial::{Factor, Polynomial};
use anymetal_simd::storage::Root;

/// A pointer of all SIMD-groups, all accesses through which are in bounds.
#[derive(Clone, Debug)]
pub(super) struct InteriorPointer {
    /// The offset of the first SIMD-group's first lane, and what each other one adds.
    first: Opd,
    step: Opd,
    /// Bytes from there that each lane may access.
    pub(super) bytes: i64,
}

/// The largest index of an access: that of the last element that an argument has, or the largest that does
/// not wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct MaxIndex {
    argument: usize,
    /// Bytes from the index's place on.
    bytes: i64,
    scale: u32,
    max: i64,
}

/// What runs where no limit concerns a threadgroup.
struct InteriorPath {
    insts: Vec<Inst>,
    preconditions: Vec<Polynomial>,
    max_indices: Vec<MaxIndex>,
    early: BTreeSet<Value>,
    /// By pointer: bytes to the first lane, and what may be accessed there.
    pointers: BTreeMap<Value, (Polynomial, i64)>,
    open: BTreeSet<Inst>,
}

/// Numbers that are the same for the threadgroup, computed once.
type Factors = BTreeMap<Factor, Opd>;

impl Emitter<'_, '_> {
    /// Emits the loop for a region, and the test that leads to it. What is emitted next is for other
    /// threadgroups; gives where that ends.
    pub(super) fn region_interior(&mut self, number: usize, polls: bool) -> Option<u32> {
        assert!(self.interior_pointers.is_empty(), "regions do not nest");
        let path = self.interior_path(number)?;
        let first = *path.insts.first().expect("a region with stencil rows has instructions");
        self.remark(first, RemarkId::InteriorVersioned, |_, remark| {
            remark.with("conditions", path.preconditions.len() as i64)
        });
        let (interior, otherwise, done) = (self.t.block(), self.t.block(), self.t.block());
        self.mask = Mask::All;
        self.load_early(&path);
        let mut factors = Factors::new();
        let mut ok = Opd::bool(true);
        for require in &path.preconditions {
            let value = self.polynomial(require, &path.max_indices, &mut factors);
            let holds = self.t.icmp("sge", "i64", &value, &Opd::Int(0));
            ok = self.t.and(&ok, &holds);
        }
        self.t.branch_likely(&ok, interior, otherwise);
        self.t.label(interior);
        for (&pointer, (bytes, size)) in &path.pointers {
            let step = bytes.step().expect("a pointer is claimed only if it has a step");
            let first = self.polynomial(&bytes.of_first(), &path.max_indices, &mut factors);
            let step = self.polynomial(&step, &path.max_indices, &mut factors);
            self.interior_pointers.insert(pointer, InteriorPointer { first, step, bytes: *size });
        }
        let simdgroups = self.begin_simdgroups_at(&Opd::Int(0), polls);
        assert_eq!(self.turn, 0, "regions do not nest");
        self.turns += 1;
        self.turn = self.turns;
        self.with_no_available_checks(|this| this.emit_interior(number, &path));
        self.turn = 0;
        self.interior_pointers.clear();
        self.end_simdgroups(simdgroups);
        self.t.branch(done);
        self.t.label(otherwise);
        Some(done)
    }

    /// One SIMD-group's turn.
    fn emit_interior(&mut self, number: usize, path: &InteriorPath) {
        self.fetch_promoted(number);
        self.mask = Mask::All;
        let end = self.t.block();
        self.contexts.push(Context::Arm { end });
        let may_version = std::mem::replace(&mut self.may_version_guards, false);
        self.versioned_rows = path.open.clone();
        self.instructions(&path.insts);
        self.versioned_rows = BTreeSet::new();
        self.may_version_guards = may_version;
        let left = self.contexts.pop();
        assert!(matches!(left, Some(Context::Arm { end: left }) if left == end), "constructs nest");
        self.t.label(end);
    }

    /// A pointer that moves straight on.
    pub(super) fn interior_lane(&mut self, pointer: Value) -> Option<Lane> {
        let InteriorPointer { first, step, .. } = self.interior_pointers.get(&pointer)?.clone();
        let shape = self.shape(pointer, 0).affine()?.clone();
        let simdgroup = match &self.simdgroup {
            Opd::Int(number) => Opd::Int(*number),
            number => self.t.value(format_args!("zext i32 {number} to i64")),
        };
        let moved = self.t.mul("i64", &simdgroup, &step);
        let base = self.t.add("i64", &first, &moved);
        assert_eq!(shape.segments, 1, "a pointer is claimed only if it has one base");
        let assumption = shape.is_assumed().then(|| Opd::bool(true));
        Some(Lane::Affine { bases: vec![base], shape, assumption })
    }

    // --- the way

    /// The way through a region with stencil rows that can be tested together.
    fn interior_path(&mut self, number: usize) -> Option<InteriorPath> {
        let threads = self.facts.geometry.threads()?;
        let insts = self.regions.regions[number].insts.clone();
        let is_only_region = self.regions.regions.len() == 1 && !self.regions.tracks_live;
        let is_whole = threads.is_multiple_of(LANES as u32) && threads > LANES as u32;
        let may_version = self.may_version_guards && self.has(Feature::Interior);
        if !is_only_region || !is_whole || !may_version || self.size(&insts) > MAX_COPY {
            return None;
        }
        let firsts = self.stencil_rows.rows_checked_early();
        if firsts.is_empty() {
            return None;
        }
        let mut interior = Interior::new(self.facts, self.divergence, self.known_before())?;
        interior.follow(&insts)?;
        let mut max_indices = Vec::new();
        let (mut pointers, mut open, mut covered) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        for first in firsts {
            let Some(loads) = self.loads_from(first).filter(|_| interior.path.contains(&first)) else {
                continue;
            };
            let claimed = self.claim_row(&mut interior, &mut max_indices, &loads)?;
            pointers.insert(loads.parts[0].pointer, claimed);
            covered.extend(loads.parts.iter().map(|part| part.pointer));
            open.insert(first);
        }
        for inst in interior.path.clone() {
            let (pointer, ty) = match self.function().inst(inst).op {
                Op::Load { ptr, .. } => (ptr, self.function().ty(self.function().inst(inst).result?)),
                Op::Store { ptr, value, .. } => (ptr, self.function().ty(value)),
                _ => continue,
            };
            if covered.contains(&pointer) || matches!(ty, Type::Ptr(_)) {
                continue;
            }
            let bytes = Item::of(ty).bytes();
            if let Some(claimed) = self.claim(&mut interior, &mut max_indices, (pointer, bytes), None) {
                pointers.insert(pointer, claimed);
            }
        }
        let Interior { path: insts, preconditions, early, .. } = interior;
        (!open.is_empty()).then_some(InteriorPath {
            insts,
            preconditions,
            max_indices,
            early,
            pointers,
            open,
        })
    }

    /// Numbers that need no region to be known.
    fn known_before(&self) -> Known {
        let function = self.facts.function;
        let mut known = Known::default();
        for index in 0..function.values.len() {
            let value = Value(index as u32);
            if function.ty(value) != Type::Scalar(Scalar::I32) {
                continue;
            }
            if self.regions.is_group_value(function, self.divergence, value) {
                known.before.insert(value);
            } else if self.is_always_there(value) {
                known.loadable.insert(value);
            }
        }
        known
    }

    /// Whether a value is a part of a structure that is always there and never changes.
    fn is_always_there(&self, value: Value) -> bool {
        let function = self.facts.function;
        let Some(&Op::Load { ptr, .. }) = function.def(value) else {
            // Computed, not a part of a structure.
            return false;
        };
        let (root, offset) = match function.def(ptr) {
            Some(&Op::PtrAdd { base, index: None, offset, .. }) => (base, offset),
            _ => (ptr, 0),
        };
        let is_param = matches!(function.values[root.index()].def, ValueDef::Param(_));
        let Root::Argument(index) = self.facts.storage.pointer(ptr).root else {
            // Only arguments are known to exist.
            return false;
        };
        let argument = &self.shared.kernel.args[index];
        // A structure larger than `i64` counts as empty, which proves nothing.
        let size = i64::try_from(argument.element_size).unwrap_or(0);
        is_param
            && argument.space == Space::Constant
            && argument.reference
            && offset >= 0
            && offset + 4 <= size
    }

    /// Loads those that the test needs and the region would load later.
    fn load_early(&mut self, path: &InteriorPath) {
        let function = self.facts.function;
        for &value in &path.early {
            let ValueDef::Inst(load) = function.values[value.index()].def else {
                unreachable!("{value} is a parameter, which is known before any region")
            };
            let Op::Load { ptr, .. } = function.inst(load).op else {
                unreachable!("only loads are done early, and {value} is not a load")
            };
            if let ValueDef::Inst(pointer) = function.values[ptr.index()].def {
                self.simple(pointer);
            }
            self.simple(load);
        }
    }

    // --- accesses

    /// Demands that all lanes' accesses are in bounds, with as many elements after the first lane's as a
    /// span has; gives the first lane's offset, and the bytes.
    fn claim(
        &mut self,
        interior: &mut Interior<'_>,
        max_indices: &mut Vec<MaxIndex>,
        (pointer, bytes): (Value, i64),
        span: Option<i64>,
    ) -> Option<(Polynomial, i64)> {
        let function = self.facts.function;
        let (sum, is_signed, scale, offset) = self.index_sum(interior, pointer)?;
        // Lanes that are anywhere have no step.
        let shape = self.affine_form(pointer)?;
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
        let [low, mut high] = interior.ends(&sum)?;
        if let Some(elements) = span {
            let last = Polynomial::constant(elements - 1);
            high = interior.ends(&Sum { pattern: [sum.pattern[0]; LANES], ..sum })?[1].plus(&last, 1)?;
        }
        let max = if is_signed { i64::from(i32::MAX) } else { i64::from(u32::MAX) };
        let max_index = MaxIndex { argument, bytes: offset + bytes, scale, max };
        let number = max_indices.iter().position(|&other| other == max_index).unwrap_or(max_indices.len());
        if number == max_indices.len() {
            max_indices.push(max_index);
        }
        interior.require(&low, 0)?;
        interior.require(&Polynomial::factor(Factor::MaxIndex(number)).plus(&high, -1)?, 0)?;
        let place = Polynomial::constant(offset).plus(&first, i64::from(scale))?;
        place.step()?;
        Some((place, bytes))
    }

    /// The index of a pointer into an argument: its sum, whether it has a sign, bytes of an element, and what
    /// is added.
    fn index_sum(&self, interior: &mut Interior<'_>, pointer: Value) -> Option<(Sum, bool, u32, i64)> {
        let function = self.facts.function;
        let PointerSum { base, index, scale, offset } = pointer_sum(function, pointer)?;
        let (cast, narrow) = widened(function, index?)?;
        matches!(function.values[base.index()].def, ValueDef::Param(_)).then_some(())?;
        Some((interior.sum(narrow)?, cast == CastOp::SExt, scale, offset))
    }

    fn claim_row(
        &mut self,
        interior: &mut Interior<'_>,
        max_indices: &mut Vec<MaxIndex>,
        loads: &Loads,
    ) -> Option<(Polynomial, i64)> {
        let (low, high) = (loads.parts.first()?, loads.parts.last()?);
        let (lowest, is_signed, scale, offset) = self.index_sum(interior, low.pointer)?;
        for part in &loads.parts {
            let (sum, sign, size, start) = self.index_sum(interior, part.pointer)?;
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
        let needed = self.reach_of(loads) + (high.offset - low.offset) / bytes;
        let elements = self.span_of(loads).map_or(needed, |elements| needed.max(elements as i64));
        self.claim(interior, max_indices, (low.pointer, bytes), Some(elements))
    }

    // --- numbers

    fn polynomial(
        &mut self,
        polynomial: &Polynomial,
        max_indices: &[MaxIndex],
        factors: &mut Factors,
    ) -> Opd {
        let mut sum = Opd::Int(polynomial.constant);
        for (product, &times) in &polynomial.terms {
            let mut value = Opd::Int(times);
            for &factor in product {
                let factor = self.factor(factor, max_indices, factors);
                value = self.t.mul("i64", &factor, &value);
            }
            sum = self.t.add("i64", &value, &sum);
        }
        sum
    }

    fn factor(&mut self, factor: Factor, max_indices: &[MaxIndex], factors: &mut Factors) -> Opd {
        if let Some(known) = factors.get(&factor) {
            return known.clone();
        }
        let number = match factor {
            Factor::Value(value) => self.uniform(value, 0),
            Factor::Start(axis) => self.start_of_group(usize::from(axis)),
            Factor::SimdGroup => self.simdgroup.clone(),
            Factor::MaxIndex(number) => {
                let max_index = self.max_index(max_indices[number]);
                factors.insert(factor, max_index.clone());
                return max_index;
            }
        };
        let wide = match number {
            Opd::Int(number) => Opd::Int(i64::from(number as u32)),
            number => self.t.value(format_args!("zext i32 {number} to i64")),
        };
        factors.insert(factor, wide.clone());
        wide
    }

    /// Without checks as well: the rest of a span need not exist.
    fn max_index(&mut self, max_index: MaxIndex) -> Opd {
        assert!(
            max_index.scale.is_power_of_two(),
            "claimed accesses have power-of-two scales: {max_index:?}"
        );
        let max = Opd::Int(max_index.max);
        let place = self.place(Root::Argument(max_index.argument));
        let left = self.t.sub("i64", &place.len, &Opd::Int(max_index.bytes));
        let last = self.t.value(format_args!("ashr i64 {left}, {}", max_index.scale.trailing_zeros()));
        self.t.intrinsic("smin", "i64", "", &[&last, &max])
    }
}
