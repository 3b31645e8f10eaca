//! Masked vector accesses.
//!
//! Invariant: memory of lanes that are off is not written, unless no other thread can write it meanwhile.

use anymetal_ir::Space;

use super::allocation::Place;
use super::available_checks::Test;
use super::memory::{Address, Item, MemoryType};
use super::{Emitter, Mask};
use crate::cpu::llvm_text::{LANES, MASK, Opd, mangle};
use anymetal_simd::storage::Root;

impl Emitter<'_, '_> {
    /// Whether the processor stores and loads vectors of such elements under a mask.
    pub(super) fn has_masked_access(&self, item: Item) -> bool {
        let features = &self.shared.options.features;
        features.avx512 || features.avx2 && item.bits() >= 32
    }

    /// Loads a vector's active lanes; the others are zero.
    pub(super) fn masked_load(&mut self, ty: &str, at: &Opd, lanes: (usize, &Opd)) -> Opd {
        let ((count, mask), suffix) = (lanes, mangle(ty));
        self.t.expect(mask, &format!("<{count} x i1>"));
        self.t.declare(format!("declare {ty} @llvm.masked.load.{suffix}.p0(ptr, i32, <{count} x i1>, {ty})"));
        self.t.value(format_args!(
            "call {ty} @llvm.masked.load.{suffix}.p0(ptr {at}, i32 1, <{count} x i1> {mask}, {ty} zeroinitializer)"
        ))
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
        let ty = format!("<{count} x {}>", item.memory_type());
        let mask = &self.mask_of_elements(item, mask, lanes);
        if !self.writes_back(place) {
            let suffix = mangle(&ty);
            self.t.declare(format!(
                "declare void @llvm.masked.store.{suffix}.p0({ty}, ptr, i32, <{count} x i1>)"
            ));
            return self.t.line(format_args!(
                "call void @llvm.masked.store.{suffix}.p0({ty} {value}, ptr {at}, i32 1, <{count} x i1> {mask}){metadata}"
            ));
        }
        let old = self.t.value(format_args!("load {ty}, ptr {at}, align 1{metadata}"));
        let new = self.t.select(&format!("<{count} x i1>"), mask, &ty, value, &old);
        // Of a plain store LLVM makes one under the mask.
        self.t.line(format_args!("store volatile {ty} {new}, ptr {at}, align 1{metadata}"));
    }

    fn mask_of_elements(&mut self, item: Item, mask: &Opd, lanes: &[usize]) -> Opd {
        if item.count == 1 && lanes.iter().copied().eq(0..LANES) {
            return mask.clone();
        }
        let picks: Vec<_> = lanes.iter().flat_map(|&lane| (0..item.count).map(move |_| Some(lane))).collect();
        self.t.shuffle("i1", LANES, mask, &Opd::text("poison"), &picks)
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
        metadata: &str,
    ) {
        assert!(first <= lanes, "{first} active lanes of {lanes}");
        let (element, total, mut done) = (item.memory_type(), lanes * item.count, 0);
        while done < first * item.count {
            let piece = 1 << (first * item.count - done).ilog2();
            let picks: Vec<_> = (done..done + piece).map(Some).collect();
            let part = self.t.shuffle(element, total, value, &Opd::text("poison"), &picks);
            let at = self.t.offset(at, &Opd::Int(i64::from(item.scalar.size()) * done as i64));
            self.t.line(format_args!("store <{piece} x {element}> {part}, ptr {at}, align 1{metadata}"));
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
