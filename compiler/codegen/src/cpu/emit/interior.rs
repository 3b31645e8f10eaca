//! Check-free loop over the SIMD-groups of interior threadgroups: see `interior`, and
//! `docs/decisions/0016-interior-versioning.md`.
//!
//! One guard for the whole threadgroup shows that no clamp takes effect, no index wraps and all accesses
//! are in bounds. After it the SIMD-groups run without checks: addresses are the first one's plus a stride.
//! Other threadgroups run the loop with checks.
//!
//! Invariant: [`Emitter::interior_pointers`] holds pointers only while that loop is emitted.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_ir::{Op, Value, ValueDef};
use anymetal_opt::RemarkId;

use super::control::Context;
use super::lane::Lane;
use super::{Emitter, Mask};
use crate::llvm::{I64, IntPredicate, Opd};
use anymetal_simd::interior_path::{InteriorPath, MaxIndex};
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

/// Numbers that are the same for the threadgroup, computed once.
type Factors = BTreeMap<Factor, Opd>;

impl Emitter<'_, '_> {
    /// Emits the loop for a region, and the test that leads to it. What is emitted next is for other
    /// threadgroups; gives where that ends.
    pub(super) fn region_interior(&mut self, number: usize, polls: bool) -> Option<u32> {
        assert!(self.rows.interior_pointers.is_empty(), "regions do not nest");
        let plan = self.plan;
        let path = plan.interior.as_ref().filter(|_| self.position.may_version_guards)?;
        let first = *path.insts.first().expect("a region with stencil rows has instructions");
        self.remark(first, RemarkId::InteriorVersioned, |_, remark| {
            remark.with("conditions", path.preconditions.len() as i64)
        });
        let (interior, otherwise, done) = (self.t.block(), self.t.block(), self.t.block());
        self.position.mask = Mask::All;
        self.load_early(path);
        let mut factors = Factors::new();
        let mut ok = Opd::bool(true);
        for require in &path.preconditions {
            let value = self.polynomial(require, &path.max_indices, &mut factors);
            let holds = self.t.icmp(IntPredicate::SGe, &value, 0);
            ok = self.t.and(&ok, &holds);
        }
        self.t.branch_likely(&ok, interior, otherwise);
        self.t.label(interior);
        for (&pointer, (bytes, size)) in &path.pointers {
            let step = bytes.step().expect("a pointer is claimed only if it has a step");
            let first = self.polynomial(&bytes.of_first(), &path.max_indices, &mut factors);
            let step = self.polynomial(&step, &path.max_indices, &mut factors);
            self.rows.interior_pointers.insert(pointer, InteriorPointer { first, step, bytes: *size });
        }
        let simdgroups = self.begin_simdgroups_at(&Opd::i32(0), polls);
        assert_eq!(self.values.turn, 0, "regions do not nest");
        self.values.turns += 1;
        self.values.turn = self.values.turns;
        self.with_no_available_checks(|this| this.emit_interior(number, path));
        self.values.turn = 0;
        self.rows.interior_pointers.clear();
        self.end_simdgroups(simdgroups);
        self.t.branch(done);
        self.t.label(otherwise);
        Some(done)
    }

    /// One SIMD-group's turn.
    fn emit_interior(&mut self, number: usize, path: &InteriorPath) {
        self.fetch_promoted(number);
        self.position.mask = Mask::All;
        let end = self.t.block();
        self.position.contexts.push(Context::Arm { end });
        let may_version = std::mem::replace(&mut self.position.may_version_guards, false);
        self.rows.versioned_rows = path.open.clone();
        self.instructions(&path.insts);
        self.rows.versioned_rows = BTreeSet::new();
        self.position.may_version_guards = may_version;
        let left = self.position.contexts.pop();
        assert!(matches!(left, Some(Context::Arm { end: left }) if left == end), "constructs nest");
        self.t.label(end);
    }

    /// A pointer that moves straight on.
    pub(super) fn interior_lane(&mut self, pointer: Value) -> Option<Lane> {
        let InteriorPointer { first, step, .. } = self.rows.interior_pointers.get(&pointer)?.clone();
        let shape = self.shape(pointer, 0).affine()?.clone();
        let simdgroup = match &self.position.simdgroup {
            Opd::Int(_, number) => Opd::i64(*number),
            number => self.t.zext(number, I64),
        };
        let moved = self.t.mul(&simdgroup, &step);
        let base = self.t.add(&first, &moved);
        assert_eq!(shape.segments, 1, "a pointer is claimed only if it has one base");
        let assumption = shape.is_assumed().then(|| Opd::bool(true));
        Some(Lane::Affine { bases: vec![base], shape, assumption })
    }

    /// Loads those that the test needs and the region would load later.
    fn load_early(&mut self, path: &InteriorPath) {
        let function = self.plan.facts.function;
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

    // --- numbers

    fn polynomial(
        &mut self,
        polynomial: &Polynomial,
        max_indices: &[MaxIndex],
        factors: &mut Factors,
    ) -> Opd {
        let mut sum = Opd::i64(polynomial.constant);
        for (product, &times) in &polynomial.terms {
            let mut value = Opd::i64(times);
            for &factor in product {
                let factor = self.factor(factor, max_indices, factors);
                value = self.t.mul(&factor, &value);
            }
            sum = self.t.add(&value, &sum);
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
            Factor::SimdGroup => self.position.simdgroup.clone(),
            Factor::MaxIndex(number) => {
                let max_index = self.max_index(max_indices[number]);
                factors.insert(factor, max_index.clone());
                return max_index;
            }
        };
        let wide = match number {
            Opd::Int(_, number) => Opd::i64(i64::from(number as u32)),
            number => self.t.zext(&number, I64),
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
        let max = Opd::i64(max_index.max);
        let place = self.place(Root::Argument(max_index.argument));
        let left = self.t.sub(&place.len, max_index.bytes);
        let last = self.t.ashr(&left, i64::from(max_index.scale.trailing_zeros()));
        self.t.intrinsic("smin", "", &[&last, &max])
    }
}
