//! Loads and stores of private arrays, interleaved by lane.
//!
//! Unit `u` of lane `l` is at byte `(u × 32 + l) × unit`. A uniform offset is a plain vector access, which
//! LLVM turns into registers when the offset is constant. Arrays that are passed to functions have scalars
//! smaller than their unit: these are parts of it.

use anymetal_abi::AccessKind;
use anymetal_abi::MAX_ENTRY_STACK_BYTES;
use anymetal_ir::{Inst, Scalar, Value};

use super::allocation::ZEROS;
use super::lane::{Lane, Width};
use super::memory::{Address, Decoder, Item, SlowOffsets};
use super::out_of_line::Helper;
use super::private_parts::Parts;
use super::{Emitter, Mask};
use crate::limits::cpu::MAX_STACK_ARRAY_BYTES;
use crate::llvm::{self, I8, I16, I32, I64, IntPredicate, Opd, scalar_type};
use anymetal_simd::storage::{Array, Pointer, Root};

/// Where the arrays is in scratch memory, for those that do, and what these take.
pub(super) fn scratch_places(arrays: &[Array]) -> (Vec<Option<u64>>, u64) {
    let (mut on_stack, mut in_scratch) = (0, 0);
    let place = |array: &Array| {
        let bytes = array.bytes().next_multiple_of(64);
        if bytes <= MAX_STACK_ARRAY_BYTES && on_stack + bytes <= MAX_ENTRY_STACK_BYTES {
            on_stack += bytes;
            return None;
        }
        let start = in_scratch;
        in_scratch += bytes;
        Some(start)
    };
    let places = arrays.iter().map(place).collect();
    (places, in_scratch)
}

/// A private array and an offset into it.
struct Spot {
    address: Address,
    unit: u32,
}

impl Emitter<'_, '_> {
    /// Where the array lies.
    pub(super) fn array_slot(&mut self, array: usize) -> Opd {
        if let Some(slot) = self.registers.array_slots.get(&array) {
            return slot.clone();
        }
        let data = self.plan.facts.storage.arrays[array];
        let (places, _) = scratch_places(&self.plan.facts.storage.arrays);
        let slot = if let Some(offset) = places[array] {
            let scratch = self.group.scratch.clone();
            self.t.in_entry(|t| t.field(&scratch, offset as i64))
        } else {
            // Once for all threadgroups of a run: they belong to the same dispatch.
            let ty = llvm::Type::int(data.unit * 8).lanes();
            self.t.zeroed_array(data.units, ty, 64)
        };
        self.registers.array_slots.insert(array, slot.clone());
        slot
    }

    fn spot(&mut self, pointer: Value, extra: i64, site: u32) -> Spot {
        let root = self.plan.facts.storage.pointer(pointer).root;
        if root == Root::Many {
            let code = self.uniform(pointer, 0);
            let (place, offset) = self.decode_local(&code);
            let address = Address { place, offset: Lane::uniform(offset), value: None, extra, site };
            return Spot { address, unit: 1 };
        }
        let unit = self
            .plan
            .facts
            .storage
            .array_at(pointer)
            .map_or(1, |array| self.plan.facts.storage.arrays[array].unit);
        let place = self.place(root);
        Spot {
            address: Address { place, offset: self.lane(pointer, 0), value: Some(pointer), extra, site },
            unit,
        }
    }

    /// The fault site of an access; none is noted for one that is known to be in bounds.
    fn private_site(&mut self, inst: Inst, pointer: Value, kind: AccessKind, extra: i64, item: Item) -> u32 {
        if let Pointer { root: Root::Local(local), offset: Some(offset), .. } =
            self.plan.facts.storage.pointer(pointer)
        {
            let start = offset.saturating_add(extra);
            let size = self.plan.facts.function.locals[local.index()].size;
            let end = u64::try_from(start).ok().and_then(|start| start.checked_add(item.bytes() as u64));
            if end.is_some_and(|end| end <= size) {
                return 0;
            }
        }
        self.site(inst, pointer, kind, item.bytes() as u32)
    }

    pub(super) fn load_private(&mut self, inst: Inst, pointer: Value, extra: i64, item: Item) -> Vec<Lane> {
        let site = self.private_site(inst, pointer, AccessKind::Load, extra, item);
        if self.is_scattered(pointer) {
            let codes = self.vector(pointer, 0);
            return self.waterfall(&codes, Decoder::Private, item, |this, address| {
                let spot = Spot { address: Address { extra, site, ..address }, unit: 1 };
                this.load_spot(&spot, item)
            });
        }
        let spot = self.spot(pointer, extra, site);
        self.load_spot(&spot, item)
    }

    pub(super) fn store_private(
        &mut self,
        inst: Inst,
        pointer: Value,
        extra: i64,
        item: Item,
        lanes: &[Lane],
    ) {
        let site = self.private_site(inst, pointer, AccessKind::Store, extra, item);
        if self.is_scattered(pointer) {
            let codes = self.vector(pointer, 0);
            let nothing = Item { scalar: item.scalar, count: 0 };
            self.waterfall(&codes, Decoder::Private, nothing, |this, address| {
                let spot = Spot { address: Address { extra, site, ..address }, unit: 1 };
                this.store_spot(&spot, item, lanes);
                Vec::new()
            });
            return;
        }
        let spot = self.spot(pointer, extra, site);
        self.store_spot(&spot, item, lanes);
    }

    /// The offset for all lanes, made harmless, and whether it was good (`None`: known to be).
    fn uniform_offset(&mut self, spot: &Spot, item: Item) -> (Opd, Option<Opd>) {
        let offset = spot.address.offset.at(&mut self.t, I64, 0);
        let start = self.t.add(&offset, spot.address.extra);
        let ok = self.in_bounds(&spot.address.place, &start, item.bytes());
        if ok.is_true() {
            return (start, None);
        }
        if self.shared.module.reports_thread_accesses() {
            let (bad, join) = (self.t.block(), self.t.block());
            self.t.branch_likely(&ok, join, bad);
            self.t.label(bad);
            self.report(&spot.address, &start);
            self.t.label(join);
        }
        (self.t.select(&ok, &start, 0), Some(ok))
    }

    /// Reports an access that is larger than its array.
    fn report_outside(&mut self, spot: &Spot) {
        if self.shared.module.reports_thread_accesses() {
            let start = spot.address.offset.at(&mut self.t, I64, 0);
            self.report(&spot.address, &start);
        }
    }

    /// The lanes' offsets, made harmless, and the lanes that may go on.
    fn lane_offsets(&mut self, spot: &Spot, item: Item) -> (Opd, Opd) {
        let offsets = self.offsets_with_extra(&spot.address);
        let limit = self.limit(&spot.address.place, item.bytes());
        let limits = self.t.splat(&limit);
        let inside = self.t.icmp(IntPredicate::ULt, &offsets, &limits);
        let mask = self.position.mask.clone();
        let good = self.both(&mask, &inside);
        if self.shared.options.checks && self.shared.module.reports_thread_accesses() {
            let bad = self.without(&mask, &inside);
            let any = self.any(&Mask::Some(bad));
            let (report, join) = (self.t.block(), self.t.block());
            let fine = self.t.not(&any);
            self.t.branch_likely(&fine, join, report);
            self.t.label(report);
            self.need(Helper::Check);
            let offsets = SlowOffsets::All(offsets.clone());
            self.call_slow("am.check", &spot.address, &offsets, item.bytes(), 0);
            self.t.label(join);
        }
        let safe = self.t.select(&good, &offsets, &Opd::zero(I64.lanes()));
        (safe, good)
    }

    /// The byte at which each lane's unit lies, from offsets.
    pub(super) fn lane_places(&mut self, offsets: &Opd, unit: u32) -> Opd {
        let scaled = self.t.shl(offsets, 5);
        let lanes = crate::cpu::llvm::vector_const(I64, (0..32).map(|lane| lane * i64::from(unit)));
        self.t.add(&scaled, &lanes)
    }

    /// Where units of interleaved memory are, from their offsets.
    fn places(&mut self, offset: &Opd, is_uniform: bool, unit: u32) -> Opd {
        match is_uniform {
            true => self.t.mul(offset, 32),
            false => self.lane_places(offset, unit),
        }
    }

    fn load_spot(&mut self, spot: &Spot, item: Item) -> Vec<Lane> {
        let is_uniform = spot.address.offset.is_uniform();
        if matches!(spot.address.place.len, Opd::Int(_, len) if len < item.bytes()) {
            self.report_outside(spot);
            return vec![Lane::Varying(Opd::zero(scalar_type(item.scalar).lanes())); item.count];
        }
        let mut base = spot.address.place.base.clone();
        if !matches!(spot.address.place.len, Opd::Int(_, _)) {
            // Which local it is, is known at run time only: it may be smaller than what is loaded.
            let len = &spot.address.place.len;
            let fits = self.t.icmp(IntPredicate::UGe, len, item.bytes());
            base = self.t.select(&fits, &base, &Opd::global(ZEROS));
        }
        let size = i64::from(item.scalar.size());
        let mut results = Vec::new();
        let (offset, good) = if is_uniform {
            self.uniform_offset(spot, item)
        } else {
            let (offsets, good) = self.lane_offsets(spot, item);
            (offsets, Some(good))
        };
        let places = (item.scalar.size() >= spot.unit).then(|| self.places(&offset, is_uniform, spot.unit));
        for k in 0..item.count {
            let start = size * k as i64;
            let loaded = match &places {
                Some(places) => {
                    self.load_units(&base, places, is_uniform, start * 32, spot.unit, item.scalar)
                }
                None => {
                    let parts = Parts { base: &base, offset: &offset, is_uniform, unit: spot.unit };
                    self.load_part(&parts, start, item.scalar)
                }
            };
            let loaded = match &good {
                None => loaded,
                Some(ok) => {
                    let ty = scalar_type(item.scalar).lanes();
                    self.t.select(ok, &loaded, &Opd::zero(ty))
                }
            };
            results.push(Lane::Varying(loaded));
        }
        results
    }

    /// One element of all lanes, from as many units as it takes.
    fn load_units(
        &mut self,
        base: &Opd,
        offset: &Opd,
        is_uniform: bool,
        start: i64,
        unit: u32,
        scalar: Scalar,
    ) -> Opd {
        if is_uniform && scalar.size() > unit {
            let at = self.t.offset(base, start);
            let at = self.t.offset(&at, offset);
            let bits = self.load_unit_rows(&at, unit, scalar.size());
            return self.t.reinterpret(&bits, scalar_type(scalar));
        }
        let parts = i64::from(scalar.size() / unit).max(1);
        let (part_scalar, element) = unit_scalar(scalar, unit);
        let mut loaded = Vec::new();
        for part in 0..parts {
            let at = self.t.offset(base, start + part * i64::from(unit) * 32);
            if is_uniform {
                let at = self.t.offset(&at, offset);
                let ty = element.lanes();
                let raw = self.t.load(ty, &at, unit);
                // What was never written is arbitrary, but must not be undefined to LLVM.
                loaded.push(self.t.freeze(&raw));
            } else {
                let bits = unit * 8;
                self.need(Helper::Gather(bits));
                let raw =
                    self.t.call(llvm::Type::int(bits).lanes(), format!("am.gather.{bits}"), &[&at, offset]);
                loaded.push(self.t.reinterpret(&raw, element));
            }
        }
        if scalar == Scalar::Bool {
            return self.t.icmp(IntPredicate::Ne, &loaded[0], 0);
        }
        if parts == 1 {
            return loaded.remove(0);
        }
        super::cast::bitcast(&mut self.t, Width::All, part_scalar, &loaded, scalar).remove(0)
    }

    /// The bits of a scalar of several units, all lanes at one offset.
    fn load_unit_rows(&mut self, at: &Opd, unit: u32, size: u32) -> Opd {
        let (unit, bits) = (unit * 8, size * 8);
        self.need(Helper::LoadUnits(unit, bits));
        self.t.call(llvm::Type::int(bits).lanes(), format!("am.load.units.{unit}.{bits}"), &[at])
    }

    /// Stores the active lanes of such a scalar.
    fn store_unit_rows(&mut self, at: &Opd, unit: u32, scalar: Scalar, value: &Opd) {
        let int = llvm::Type::int(scalar.size() * 8);
        let mut new = self.t.reinterpret(value, int);
        if let Mask::Some(mask) = self.position.mask.clone() {
            let old = self.load_unit_rows(at, unit, scalar.size());
            new = self.t.select(&mask, &new, &old);
        }
        let (unit, bits) = (unit * 8, scalar.size() * 8);
        self.need(Helper::StoreUnits(unit, bits));
        self.t.call_void(format!("am.store.units.{unit}.{bits}"), &[at, &new]);
    }

    fn store_spot(&mut self, spot: &Spot, item: Item, lanes: &[Lane]) {
        let is_uniform = spot.address.offset.is_uniform();
        let base = spot.address.place.base.clone();
        let size = i64::from(item.scalar.size());
        let fits = !matches!(spot.address.place.len, Opd::Int(_, len) if len < item.bytes());
        if !fits {
            return self.report_outside(spot);
        }
        let mut join = None;
        let (offset, good) = if is_uniform {
            let (offset, ok) = self.uniform_offset(spot, item);
            if let Some(ok) = ok {
                let (go, past) = (self.t.block(), self.t.block());
                self.t.branch_likely(&ok, go, past);
                self.t.label(go);
                join = Some(past);
            }
            (offset, None)
        } else {
            let (offsets, good) = self.lane_offsets(spot, item);
            (offsets, Some(good))
        };
        let places = (item.scalar.size() >= spot.unit).then(|| self.places(&offset, is_uniform, spot.unit));
        for (k, lane) in lanes.iter().enumerate() {
            let value = lane.vector(&mut self.t, scalar_type(item.scalar));
            let start = size * k as i64;
            match &places {
                Some(places) => {
                    self.store_units(&base, places, good.as_ref(), start * 32, spot.unit, item.scalar, &value)
                }
                None => {
                    let parts = Parts { base: &base, offset: &offset, is_uniform, unit: spot.unit };
                    self.store_part(&parts, good.as_ref(), start, item.scalar, &value);
                }
            }
        }
        if let Some(join) = join {
            self.t.label(join);
        }
    }

    #[allow(clippy::too_many_arguments, reason = "one step of `store_spot`, split for length")]
    fn store_units(
        &mut self,
        base: &Opd,
        offset: &Opd,
        good: Option<&Opd>,
        start: i64,
        unit: u32,
        scalar: Scalar,
        value: &Opd,
    ) {
        if good.is_none() && scalar.size() > unit {
            let at = self.t.offset(base, start);
            let at = self.t.offset(&at, offset);
            return self.store_unit_rows(&at, unit, scalar, value);
        }
        let (part_scalar, element) = unit_scalar(scalar, unit);
        let parts = if scalar == Scalar::Bool {
            vec![self.t.zext(value, I8.lanes())]
        } else if part_scalar == scalar {
            vec![value.clone()]
        } else {
            super::cast::bitcast(&mut self.t, Width::All, scalar, std::slice::from_ref(value), part_scalar)
        };
        let ty = element.lanes();
        for (part, new) in parts.iter().enumerate() {
            let at = self.t.offset(base, start + part as i64 * i64::from(unit) * 32);
            let Some(good) = good else {
                let at = self.t.offset(&at, offset);
                let value = match self.position.mask.clone() {
                    Mask::All => new.clone(),
                    Mask::Some(mask) => {
                        let old = self.t.load(ty, &at, unit);
                        self.t.select(&mask, new, &old)
                    }
                };
                self.t.store(&value, &at, unit);
                continue;
            };
            let int = llvm::Type::int(unit * 8);
            let raw = self.t.reinterpret(new, int);
            self.scatter_private(&at, offset, good, unit * 8, &raw);
        }
    }

    /// Stores so many bits of each lane that is good, at the lanes' places in private memory.
    pub(super) fn scatter_private(&mut self, base: &Opd, places: &Opd, good: &Opd, bits: u32, value: &Opd) {
        self.need(Helper::Store(bits));
        let slow = self.slow_buffers();
        self.t.store(value, &slow.values, 64);
        let place = super::allocation::Place::known(base.clone(), Opd::i64(i64::MAX), Root::Many);
        let address =
            Address { place, offset: Lane::Varying(places.clone()), value: None, extra: 0, site: 0 };
        let outer = std::mem::replace(&mut self.position.mask, Mask::Some(good.clone()));
        let offsets = SlowOffsets::All(places.clone());
        self.call_slow(&format!("am.store.{bits}"), &address, &offsets, 1, 0);
        self.position.mask = outer;
    }
}

/// The type of which one unit holds one: the scalar itself if it fits a unit exactly.
fn unit_scalar(scalar: Scalar, unit: u32) -> (Scalar, llvm::Type) {
    if scalar == Scalar::Bool {
        return (Scalar::I8, I8);
    }
    if scalar.size() == unit {
        return (scalar, scalar_type(scalar));
    }
    match unit {
        1 => (Scalar::I8, I8),
        2 => (Scalar::I16, I16),
        4 => (Scalar::I32, I32),
        _ => (Scalar::I64, I64),
    }
}
