//! Gathers and scatters by a base plus a 32-bit index, for targets with few or narrow vector registers.
//!
//! 64-bit offsets fill twice the registers of such indices, and comparing them takes many instructions
//! without mask registers. So the largest index is compared with the number of elements, one scalar; loads
//! and stores scale each index in their address. Invariant: the offset of index 0 is the same in all lanes;
//! where it is past the end, as what is negative is, so is each index.

use anymetal_opt::Feature;

use super::Emitter;
use super::Mask;
use super::contiguity_check::Narrow;
use super::memory::{Address, Item, MemoryType};
use super::out_of_line::{Helper, gather_by_lanes};
use crate::llvm::{self, Cast, I32, IntPredicate, Opd};

/// Places of lanes.
#[derive(Clone, Debug)]
pub(super) struct IndexedAccess {
    narrow: Narrow,
    /// The offset of index 0.
    start: Opd,
    /// Those of lanes that are off are any.
    indices: Opd,
}

impl Emitter<'_, '_> {
    /// The lanes' places by indices. `None`: they are no such, or the processor does better.
    pub(super) fn indexed(&mut self, address: &Address, item: Item) -> Option<IndexedAccess> {
        let features = &self.shared.options.features;
        let is_on = self.has(Feature::IndexedGather) && !features.avx512 && !features.fast_gather;
        if !is_on || item.count != 1 {
            return None;
        }
        let narrow = self.narrow(address, item.bytes())?;
        let offset = narrow.offset().checked_add(address.extra)?;
        let start = match self.uniform(narrow.base(), 0) {
            Opd::Int(_, base) => Opd::i64(base.checked_add(offset).filter(|&start| start >= 0)?),
            base => self.t.add(&base, offset),
        };
        // Lanes with a negative index may be in bounds after it.
        if narrow.is_signed() && !start.is_int(0) {
            return None;
        }
        let indices = self.vector(narrow.index(), 0);
        Some(IndexedAccess { narrow, start, indices })
    }

    /// The indices, and 0 for lanes that are off, which exists where any lane is in bounds.
    fn active_indices(&mut self, indexed: &IndexedAccess) -> Opd {
        self.t.expect(&indexed.indices, I32.lanes());
        let indices = &indexed.indices;
        match self.position.mask.clone() {
            Mask::All => indices.clone(),
            Mask::Some(mask) => self.t.select(&mask, indices, 0),
        }
    }

    /// Whether all active lanes are in bounds.
    pub(super) fn indices_in_bounds(
        &mut self,
        address: &Address,
        indexed: &IndexedAccess,
        bytes: i64,
    ) -> Opd {
        if !self.shared.options.checks || self.is_in_bounds(address, bytes) {
            return Opd::bool(true);
        }
        let (scale, start) = (indexed.narrow.scale(), &indexed.start);
        assert!(scale > 0, "indices are at least a byte apart");
        let mut room = self.limit(&address.place, bytes);
        if !start.is_int(0) {
            room = self.t.intrinsic("usub.sat", "", &[&room, start]);
        }
        let room = self.t.add(&room, scale - 1);
        let count = self.t.udiv(&room, scale);
        // A negative index counts as outside, as it is without a base.
        let max = if indexed.narrow.is_signed() { 1i64 << 31 } else { i64::from(u32::MAX) };
        let count = self.t.intrinsic("umin", "", &[&count, &Opd::i64(max)]);
        let count = self.t.trunc(&count, I32);
        let indices = self.active_indices(indexed);
        let largest = self.t.call_declared(I32, "llvm.vector.reduce.umax.v32i32", &[&indices]);
        self.t.icmp(IntPredicate::ULt, &largest, &count)
    }

    /// Loads lane by lane.
    pub(super) fn gather_indexed(&mut self, address: &Address, indexed: &IndexedAccess, item: Item) -> Opd {
        assert_eq!(item.count, 1, "an indexed access has one element per lane");
        let helper = Helper::GatherIndexed(item.bits(), indexed.narrow.scale(), indexed.narrow.is_signed());
        self.need(helper);
        self.split_loads();
        let at = self.t.offset(&address.place.base, &indexed.start);
        let (int, indices) = (llvm::Type::int(item.bits()), self.active_indices(indexed));
        let ty = int.lanes();
        let raw = self.t.call(ty, helper.indexed_name(), &[&at, &indices]);
        let raw = self.t.reinterpret(&raw, item.memory_type());
        self.from_memory(item, raw)
    }

    /// Stores lane by lane, active ones only.
    pub(super) fn scatter_indexed(
        &mut self,
        address: &Address,
        indexed: &IndexedAccess,
        item: Item,
        value: &Opd,
    ) {
        assert_eq!(item.count, 1, "an indexed access has one element per lane");
        let helper = Helper::ScatterIndexed(item.bits(), indexed.narrow.scale(), indexed.narrow.is_signed());
        self.need(helper);
        let at = self.t.offset(&address.place.base, &indexed.start);
        let int = llvm::Type::int(item.bits());
        let raw = self.t.reinterpret(value, int);
        let slow = self.slow_buffers();
        self.t.store(&raw, &slow.values, 64);
        self.t.store(&indexed.indices, &slow.offsets, 64);
        let mask = self.position.mask.clone();
        let mask = self.mask_bits(&mask);
        self.t.call_void(helper.indexed_name(), &[&slow.values, &slow.offsets, &at, &mask]);
    }
}

/// The text of [`Helper::GatherIndexed`].
pub(super) fn gather_indexed(name: &str, bits: u32, scale: i64, is_signed: bool) -> String {
    let cast = if is_signed { Cast::SExt } else { Cast::ZExt };
    gather_by_lanes(name, bits, "<32 x i32> %indices", |lane| {
        format!(
            "  %i{lane} = extractelement <32 x i32> %indices, i64 {lane}
  %w{lane} = {cast} i32 %i{lane} to i64
  %o{lane} = mul i64 %w{lane}, {scale}
"
        )
    })
}

/// The text of [`Helper::ScatterIndexed`]: the lanes of the mask in order, so that the last one's value
/// remains.
pub(super) fn scatter_indexed(name: &str, bits: u32, scale: i64, is_signed: bool) -> String {
    let cast = if is_signed { Cast::SExt } else { Cast::ZExt };
    format!(
        "define internal void @{name}(ptr %values, ptr %indices, ptr %base, i32 %mask) alwaysinline nounwind {{
entry:
  br label %loop
loop: ; lanes <= 32
  %left = phi i32 [ %mask, %entry ], [ %next, %lane.on ]
  %done = icmp eq i32 %left, 0
  br i1 %done, label %exit, label %lane.on
lane.on:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %next = and i32 %left, %less
  %lane64 = zext i32 %lane to i64
  %slot = getelementptr i32, ptr %indices, i64 %lane64
  %index = load i32, ptr %slot, align 4
  %wide = {cast} i32 %index to i64
  %offset = mul i64 %wide, {scale}
  %place = getelementptr i8, ptr %base, i64 %offset
  %item = getelementptr i{bits}, ptr %values, i64 %lane64
  %value = load i{bits}, ptr %item, align 1
  store i{bits} %value, ptr %place, align 1
  br label %loop
exit:
  ret void
}}
"
    )
}
