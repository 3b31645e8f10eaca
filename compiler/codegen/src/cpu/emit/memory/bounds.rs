//! The conditions that accesses test, and what happens where one does not hold.
//!
//! Invariant: a condition that holds means that every active lane's bytes are inside the allocation.

use anymetal_analysis::patterns::{pointer_sum, widened};
use anymetal_ir::Value;

use super::Address;
use crate::cpu::emit::available_checks::Test;
use crate::cpu::emit::lane::Lane;
use crate::cpu::emit::out_of_line::Helper;
use crate::cpu::emit::{Emitter, Mask};
use crate::llvm::{IntPredicate, Opd};
use anymetal_analysis::divergence::Affine;
use anymetal_simd::access::extent_of_segment;
use anymetal_simd::stencil_rows::widened_index;

impl Emitter<'_, '_> {
    /// What loads of whole vectors test. Without checks those with lanes off ask as well: what exists is
    /// loaded faster without a mask.
    pub(in crate::cpu::emit) fn test_of_loads(&self) -> Test {
        let checked = !self.shared.options.checks && self.position.mask != Mask::All;
        if checked { Test::AllLoadable } else { Test::AllInBounds }
    }

    /// The scalar condition under which all lanes may be accessed with plain vectors: [`Test::AllInBounds`],
    /// or [`Test::AllLoadable`].
    pub(in crate::cpu::emit) fn all_in_bounds(
        &mut self,
        address: &Address,
        shape: &Affine,
        bases: &[Opd],
        access: i64,
        test: Test,
    ) -> Opd {
        let checked = self.shared.options.checks || test == Test::AllLoadable;
        let mut ok = match &address.offset {
            Lane::Affine { assumption: Some(condition), .. } => condition.clone(),
            _ => Opd::bool(true),
        };
        // Where the affine form holds, its lanes are the pointer's.
        if self.is_in_bounds(address, access) {
            return ok;
        }
        if checked && let Some((condition, max)) = self.without_wrap(address, shape) {
            let (low, bytes) = extent_of_segment(shape, 0, access);
            let less = low.wrapping_add(address.extra);
            if let Some(cap) = max.checked_add(less).filter(|&cap| cap >= 0) {
                let start = self.t.add(&bases[0], less);
                let limit = self.limit_up_to(&address.place, bytes, cap);
                let inside = self.t.icmp(IntPredicate::ULt, &start, &limit);
                return self.t.and(&condition, &inside);
            }
        }
        for (segment, base) in bases.iter().enumerate() {
            let (low, bytes) = extent_of_segment(shape, segment, access);
            let start = self.t.add(base, low.wrapping_add(address.extra));
            let inside = match checked {
                true => self.exists(&address.place, &start, bytes),
                false => self.in_bounds(&address.place, &start, bytes),
            };
            ok = self.t.and(&ok, &inside);
        }
        ok
    }

    /// Where the affine form holds because widening the index wrapped in no lane: the other conditions of
    /// that form, and the largest offset of the first lane without a wrap. Testing against it costs nothing
    /// where the offset is compared with the buffer's length anyway.
    fn without_wrap(&mut self, address: &Address, shape: &Affine) -> Option<(Opd, i64)> {
        let (function, storage) = (self.plan.facts.function, self.plan.facts.storage);
        let index = widened_index(function, storage, address.value?, shape, &self.plan.divergence)?;
        // Of a pointer that another region left, the index is another SIMD-group's.
        if !self.is_here(index.value) {
            return None;
        }
        Some((self.assumption_of(index.value), index.max_offset))
    }

    /// The condition of the form of the index that an address is made of, before it is widened.
    pub(in crate::cpu::emit) fn form_of_widened_index(&mut self, pointer: Value) -> Opd {
        let function = self.plan.facts.function;
        let sum = pointer_sum(function, pointer).and_then(|sum| widened(function, sum.index?));
        let Some((_, index)) = sum else { unreachable!("{pointer} is no sum with a narrow index") };
        debug_assert!(self.is_here(index), "{index} is computed where {pointer} is used");
        self.assumption_of(index)
    }

    fn assumption_of(&self, value: Value) -> Opd {
        match self.lane(value, 0) {
            Lane::Affine { assumption, .. } => assumption.unwrap_or(Opd::bool(true)),
            Lane::Varying(_) => unreachable!("{value} is affine, and so are its lanes"),
        }
    }

    /// Whether the bytes from `start` on are inside, where all lanes' address is that one.
    pub(in crate::cpu::emit) fn one_in_bounds(&mut self, address: &Address, start: &Opd, bytes: i64) -> Opd {
        if self.is_in_bounds(address, bytes) {
            return Opd::bool(true);
        }
        self.in_bounds(&address.place, start, bytes)
    }

    /// Whether all active lanes are in bounds.
    pub(in crate::cpu::emit) fn lanes_in_bounds(
        &mut self,
        address: &Address,
        offsets: &Opd,
        bytes: i64,
    ) -> (Opd, Opd) {
        if !self.shared.options.checks || self.is_in_bounds(address, bytes) {
            return (Opd::bool(true), Opd::i64(0));
        }
        let limit = self.limit(&address.place, bytes);
        let limits = self.t.splat(&limit);
        let outside = self.t.icmp(IntPredicate::UGe, offsets, &limits);
        let mask = self.position.mask.clone();
        let bad = self.both(&mask, &outside);
        let any = self.any(&Mask::Some(bad));
        (self.t.not(&any), limit)
    }

    /// In a loop that can give up: gives up unless the condition holds.
    pub(in crate::cpu::emit) fn bail_unless(&mut self, ok: &Opd) -> bool {
        let Some(bail) = self.position.bail else { return false };
        let go = self.t.block();
        self.t.branch_likely(ok, go, bail);
        self.t.label(go);
        self.test_holds(ok);
        true
    }

    /// Goes on at `inside` if what a check against the length alone found outside is in the buffer before
    /// what is bound; no code where that cannot be.
    pub(in crate::cpu::emit) fn go_on_if_before(
        &mut self,
        address: &Address,
        start: &Opd,
        bytes: i64,
        inside: u32,
    ) {
        if let Some(is_before) = self.is_before(&address.place, start, bytes) {
            let outside = self.t.block();
            self.t.branch_if(&is_before, inside, outside);
            self.t.label(outside);
        }
    }

    /// Reports a fault of the first active lane at one offset.
    pub(in crate::cpu::emit) fn report(&mut self, address: &Address, start: &Opd) {
        if !self.shared.options.checks {
            return;
        }
        self.need(Helper::Note);
        let lane = self.first_lane();
        let thread = self.t.add(&self.position.first.clone(), &lane);
        let record = self.slow_buffers().record;
        self.t.call_void(
            "am.note",
            &[
                &record,
                &Opd::i32(address.site.into()),
                start,
                &address.place.len,
                &thread,
                &address.place.base,
            ],
        );
    }
}
