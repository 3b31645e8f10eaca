//! Masked vector accesses.
//!
//! Invariant: memory of lanes that are off is not written, unless no other thread can write it meanwhile.

use anymetal_ir::Space;

use super::allocation::Place;
use super::available_checks::Test;
use super::memory::{Address, Item, MemoryType};
use super::{Emitter, Mask};
use crate::llvm::{self, I1, LANES, MASK, MemFlags, Opd, VOID};
use anymetal_simd::storage::Root;

impl Emitter<'_, '_> {
    /// Whether the processor stores and loads vectors of such elements under a mask.
    pub(super) fn has_masked_access(&self, item: Item) -> bool {
        let features = &self.shared.options.features;
        features.avx512 || features.avx2 && item.bits() >= 32
    }

    /// Loads a vector's active lanes; the others are zero.
    pub(super) fn masked_load(&mut self, ty: llvm::Type, at: &Opd, lanes: (usize, &Opd)) -> Opd {
        let (count, mask) = lanes;
        self.t.expect(mask, I1.vector(count));
        let name = format!("llvm.masked.load.{}.p0", ty.suffix());
        self.t.call_declared(ty, &name, &[at, &Opd::i32(1), mask, &Opd::zero(ty)])
    }

    /// Stores what those of the given lanes have that are active; in memory they are contiguous. The place
    /// of every lane is in bounds if [`Self::test_of_stores`] holds.
    pub(super) fn store_active(
        &mut self,
        place: &Place,
        item: Item,
        value: &Opd,
        at: &Opd,
        mask: &Opd,
        lanes: &[usize],
    ) {
        assert!(
            !lanes.is_empty() && lanes.iter().all(|&lane| lane < LANES),
            "a SIMD-group has no lanes {lanes:?}"
        );
        self.t.expect(mask, MASK);
        let metadata = self.store_metadata(place);
        if let Some(first) = self.first_active(mask, lanes) {
            return self.store_first(item, value, at, (lanes.len(), first), metadata);
        }
        let count = lanes.len() * item.count;
        let ty = item.memory_type().vector(count);
        let mask = &self.mask_of_elements(item, mask, lanes);
        if !self.writes_back(place) {
            let name = format!("llvm.masked.store.{}.p0", value.ty().suffix());
            let args = [value, at, &Opd::i32(1), mask];
            self.t.declare_for(VOID, &name, &args);
            return self.t.call_void_with(&name, &args, metadata);
        }
        let old = self.t.load(ty, at, MemFlags::with(1, metadata));
        let new = self.t.select(mask, value, &old);
        // Of a plain store LLVM makes one under the mask.
        self.t.store(&new, at, MemFlags::with(1, metadata).volatile(true));
    }

    fn mask_of_elements(&mut self, item: Item, mask: &Opd, lanes: &[usize]) -> Opd {
        if item.count == 1 && lanes.iter().copied().eq(0..LANES) {
            return mask.clone();
        }
        let picks: Vec<_> = lanes.iter().flat_map(|&lane| (0..item.count).map(move |_| Some(lane))).collect();
        self.t.pick(mask, &picks)
    }

    /// How many of the given lanes are active, if that is known now and it is the first ones.
    fn first_active(&self, mask: &Opd, lanes: &[usize]) -> Option<usize> {
        let leading = self.tests_of(mask)?.leading?;
        let first = lanes.iter().take_while(|&&lane| lane < leading).count();
        lanes[first..].iter().all(|&lane| lane >= leading).then_some(first)
    }

    /// Stores the first lanes of a vector in as few pieces as they make, none wider than they are: what is
    /// loaded next is often a part of that, and passed on by the processor.
    fn store_first(
        &mut self,
        item: Item,
        value: &Opd,
        at: &Opd,
        (lanes, first): (usize, usize),
        metadata: &'static str,
    ) {
        assert!(first <= lanes, "{first} active lanes of {lanes}");
        let mut done = 0;
        while done < first * item.count {
            let piece = 1 << (first * item.count - done).ilog2();
            let picks: Vec<_> = (done..done + piece).map(Some).collect();
            let part = self.t.pick(value, &picks);
            let at = self.t.offset(at, i64::from(item.scalar.size()) * done as i64);
            self.t.store(&part, &at, MemFlags::with(1, metadata));
            done += piece;
        }
    }

    /// Whether storing a vector's active lanes is one step.
    pub(super) fn may_store_active(&self, address: &Address, item: Item) -> bool {
        self.has_masked_access(item) || self.writes_back(&address.place)
    }

    /// What stores of whole vectors test.
    pub(super) fn test_of_stores(&self, place: &Place) -> Test {
        let checked =
            self.position.mask != Mask::All && !self.shared.options.checks && self.writes_back(place);
        if checked { Test::AllLoadable } else { Test::AllInBounds }
    }

    /// Whether lanes that are off store what is there already: to memory that no other threadgroup sees, on
    /// which one thread of the processor works. A store under a mask takes mask registers to be cheap: on
    /// AMD's processors without them it is microcode, of ten times a plain store's time, and everywhere what
    /// it stored is slow to load again.
    pub(super) fn writes_back(&self, place: &Place) -> bool {
        let is_own = match place.root {
            Root::Threadgroup(_) => true,
            Root::Argument(index) => self.shared.kernel.args[index].space == Space::Threadgroup,
            _ => false,
        };
        is_own && !self.shared.options.features.avx512
    }
}
