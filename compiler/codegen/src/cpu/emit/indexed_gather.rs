//! Gathers and scatters by a base plus a 32-bit index, for targets with few or narrow vector registers.
//!
//! 64-bit offsets fill twice the registers of such indices, and comparing them takes many instructions
//! without mask registers. So the largest index is compared with the number of elements, one scalar; loads
//! and stores scale each index in their address. Invariant: the offset of index 0 is the same in all lanes;
//! where it is past the end, as what is negative is, so is each index.

use anymetal_opt::Feature;

use super::Emitter;
use super::contiguity_check::Narrow;
use super::lane::Width;
use super::memory::{Address, Item, MemoryType};
use super::out_of_line::{Helper, gather_by_lanes};
use super::{Mask, cast};
use crate::cpu::llvm_text::{MASK, Opd, lanes_type};

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
            Opd::Int(base) => Opd::Int(base.checked_add(offset).filter(|&start| start >= 0)?),
            base => self.t.add("i64", &base, &Opd::Int(offset)),
        };
        // Lanes with a negative index may be in bounds after it.
        if narrow.is_signed() && start != Opd::Int(0) {
            return None;
        }
        let indices = self.vector(narrow.index(), 0);
        Some(IndexedAccess { narrow, start, indices })
    }

    /// The indices, and 0 for lanes that are off, which exists where any lane is in bounds.
    fn active_indices(&mut self, indexed: &IndexedAccess) -> Opd {
        self.t.expect(&indexed.indices, "<32 x i32>");
        let (indices, zeros) = (&indexed.indices, Opd::text("zeroinitializer"));
        match self.position.mask.clone() {
            Mask::All => indices.clone(),
            Mask::Some(mask) => self.t.select(MASK, &mask, "<32 x i32>", indices, &zeros),
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
        if *start != Opd::Int(0) {
            self.t.declare("declare i64 @llvm.usub.sat.i64(i64, i64)");
            room = self.t.value(format_args!("call i64 @llvm.usub.sat.i64(i64 {room}, i64 {start})"));
        }
        let room = self.t.add("i64", &room, &Opd::Int(scale - 1));
        let count = self.t.value(format_args!("udiv i64 {room}, {scale}"));
        // A negative index counts as outside, as it is without a base.
        let max = if indexed.narrow.is_signed() { 1i64 << 31 } else { i64::from(u32::MAX) };
        self.t.declare("declare i64 @llvm.umin.i64(i64, i64)");
        let count = self.t.value(format_args!("call i64 @llvm.umin.i64(i64 {count}, i64 {max})"));
        let count = self.t.value(format_args!("trunc i64 {count} to i32"));
        self.t.declare("declare i32 @llvm.vector.reduce.umax.v32i32(<32 x i32>)");
        let indices = self.active_indices(indexed);
        let largest =
            self.t.value(format_args!("call i32 @llvm.vector.reduce.umax.v32i32(<32 x i32> {indices})"));
        self.t.icmp("ult", "i32", &largest, &count)
    }

    /// Loads lane by lane.
    pub(super) fn gather_indexed(&mut self, address: &Address, indexed: &IndexedAccess, item: Item) -> Opd {
        assert_eq!(item.count, 1, "an indexed access has one element per lane");
        let helper = Helper::GatherIndexed(item.bits(), indexed.narrow.scale(), indexed.narrow.is_signed());
        self.need(helper);
        self.split_loads();
        let at = self.t.offset(&address.place.base, &indexed.start);
        let (int, indices) = (format!("i{}", item.bits()), self.active_indices(indexed));
        let ty = lanes_type(&int);
        let raw = self
            .t
            .value(format_args!("call {ty} @{}(ptr {at}, <32 x i32> {indices})", helper.indexed_name()));
        let raw = cast::reinterpret(&mut self.t, Width::All, &int, item.memory_type(), &raw);
        self.from_memory(Width::All, item, raw)
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
        let int = format!("i{}", item.bits());
        let raw = cast::reinterpret(&mut self.t, Width::All, item.memory_type(), &int, value);
        let slow = self.slow_buffers();
        self.t.store(&lanes_type(&int), &raw, &slow.values, 64);
        self.t.store("<32 x i32>", &indexed.indices, &slow.offsets, 64);
        let mask = self.position.mask.clone();
        let mask = self.mask_bits(&mask);
        self.t.line(format_args!(
            "call void @{}(ptr {}, ptr {}, ptr {at}, i32 {mask})",
            helper.indexed_name(),
            slow.values,
            slow.offsets
        ));
    }
}

/// The text of [`Helper::GatherIndexed`].
pub(super) fn gather_indexed(name: &str, bits: u32, scale: i64, is_signed: bool) -> String {
    let cast = if is_signed { "sext" } else { "zext" };
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
    let cast = if is_signed { "sext" } else { "zext" };
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
