//! Loads and stores of subroutines: variables interleaved by lane, uniform ones, constant data, and
//! memory that threads share, whose accesses are in `shared`.
//!
//! Invariant: with checks no access leaves its allocation; what would is left out and noted.

use anymetal_abi::AccessKind;
use anymetal_ir::{Inst, Local, Scalar, Value};

use super::plan::{LocalKind, Room};
use super::{Emitter, Mask, PASSED_UNIT, Parameter};
use crate::cpu::emit::out_of_line::Helper;
use crate::elementwise::{Width, cast};
use crate::llvm::{self, I8, I16, I32, I64, IntPredicate, LANES, Opd, scalar_type, vector_const};
use anymetal_analysis::roots::Root;

/// The allocation of a pointer.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) base: Opd,
    /// What the pointer's offset counts from.
    pub(super) start: Opd,
    /// Bytes of the allocation from its base on.
    pub(super) len: Opd,
    /// Bytes before the base that may be accessed too.
    pub(super) before: Opd,
    pub(super) form: Form,
    /// It is one of this subroutine's, so lanes that were off when it was called have no use for it.
    is_own: bool,
}

/// How memory is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// A variable, with so many lanes side by side.
    Interleaved(usize),
    /// A variable that all lanes agree on, or constant data.
    Single,
    /// Bytes that all threads share.
    Shared,
}

/// An access at `offset` in a memory. The lanes of `good` may go on.
#[derive(Clone)]
pub(super) struct Spot {
    pub(super) memory: Memory,
    pub(super) width: Width,
    pub(super) offset: Opd,
    pub(super) good: Option<Opd>,
}

impl Emitter<'_, '_> {
    /// The memory that a pointer is to.
    pub(super) fn memory(&mut self, pointer: Value) -> Memory {
        let zero = Opd::i64(0);
        let single = |base: Opd, len: Opd| Memory {
            base,
            start: zero.clone(),
            len,
            before: zero.clone(),
            form: Form::Single,
            is_own: false,
        };
        match self.sub.pointer(pointer).root {
            Root::Argument(param) => match self.parameters[param].clone() {
                Parameter::Private { base, start, len } => {
                    Memory { start, form: Form::Interleaved(LANES), ..single(base, len) }
                }
                Parameter::Shared { base, len, before, .. } => {
                    Memory { before, form: Form::Shared, ..single(base, len) }
                }
                Parameter::Vectors(base) => single(base, zero.clone()),
            },
            Root::Global(global) => {
                let bytes = self.shared.module.globals[global.index()].bytes.len() as i64;
                single(Opd::global(format!("@am.global.{}", global.0)), Opd::i64(bytes))
            }
            Root::Local(local) => {
                let size = self.sub.function.locals[local.index()].size;
                let form = match self.sub.local(local) {
                    LocalKind::Uniform => Form::Single,
                    LocalKind::Lanes(lanes) => Form::Interleaved(lanes),
                };
                let base = self.local_memory(local);
                Memory { form, is_own: true, ..single(base, Opd::i64(size as i64)) }
            }
            Root::Unset | Root::Null | Root::Many | Root::Threadgroup(_) => single(Opd::null(), zero.clone()),
        }
    }

    fn local_memory(&mut self, local: Local) -> Opd {
        if let Some(memory) = &self.locals[local.index()] {
            return memory.clone();
        }
        let memory = self.t.alloca_array(self.sub.local_bytes(local), I8, 64);
        self.locals[local.index()] = Some(memory.clone());
        memory
    }

    /// Checks an access to `bytes` bytes; `None` if it never is in bounds.
    pub(super) fn spot(
        &mut self,
        inst: Inst,
        (pointer, kind): (Value, AccessKind),
        bytes: i64,
    ) -> Option<Spot> {
        let memory = self.memory(pointer);
        let width = self.width_of(pointer);
        let own = self.component(pointer, 0);
        if width == Width::One {
            let offset = self.t.add(&memory.start, &own);
            let good = match own {
                Opd::Int(_, _) if self.has_room(pointer, bytes) => None,
                _ => self.check_one(inst, (pointer, kind), &memory, &offset, bytes)?,
            };
            return Some(Spot { memory, width, offset, good });
        }
        let start = self.t.splat_to(self.lanes, &memory.start);
        let offset = self.t.add(&own, &start);
        let (offset, good) = self.check_lanes(inst, (pointer, kind), &memory, &offset, bytes);
        Some(Spot { memory, width, offset, good: Some(good) })
    }

    /// Whether an access is in bounds whoever passed the pointer.
    fn has_room(&self, pointer: Value, bytes: i64) -> bool {
        let Room { before, after } = self.sub.room(pointer);
        before >= 0 && bytes <= after
    }

    /// The limit that accesses to so many bytes are below, counted from the first byte that may be accessed.
    fn limit(&mut self, memory: &Memory, bytes: i64) -> Opd {
        let len = self.t.add(&memory.len, &memory.before);
        if let Opd::Int(_, len) = len {
            return Opd::i64((len - bytes + 1).max(0));
        }
        let fits = self.t.icmp(IntPredicate::UGe, &len, bytes);
        let room = self.t.sub(&len, &bytes - 1);
        self.t.select(&fits, &room, 0)
    }

    /// Whether an offset that all lanes share is good: `Some(None)` always, `None` never.
    fn check_one(
        &mut self,
        inst: Inst,
        (pointer, kind): (Value, AccessKind),
        memory: &Memory,
        offset: &Opd,
        bytes: i64,
    ) -> Option<Option<Opd>> {
        let exists = !matches!(memory.len, Opd::Int(_, len) if len < bytes);
        if exists && !self.shared.options.checks {
            return Some(self.unchecked_one(memory));
        }
        let limit = self.limit(memory, bytes);
        let from_first = self.t.add(offset, &memory.before);
        let good = match (&from_first, &limit) {
            (Opd::Int(_, offset), Opd::Int(_, limit)) => Opd::bool((*offset as u64) < *limit as u64),
            _ => self.t.icmp(IntPredicate::ULt, &from_first, &limit),
        };
        if good.is_true() {
            return Some(None);
        }
        let (bad, join) = (self.t.block(), self.t.block());
        self.t.branch_likely(&good, join, bad);
        self.t.label(bad);
        let lanes = self.mask_operand();
        let all = self.t.splat_to(self.lanes, offset);
        self.report(inst, (pointer, kind), memory, (&lanes, &all), bytes);
        self.t.label(join);
        exists.then_some(Some(good))
    }

    /// The lanes' offsets, made harmless, and the lanes that may go on.
    fn check_lanes(
        &mut self,
        inst: Inst,
        (pointer, kind): (Value, AccessKind),
        memory: &Memory,
        offsets: &Opd,
        bytes: i64,
    ) -> (Opd, Opd) {
        let ty = self.width().of(I64);
        let mask = self.mask_operand();
        if memory.form == Form::Shared && !self.shared.options.checks {
            return (offsets.clone(), mask);
        }
        let limit = self.limit(memory, bytes);
        let limits = self.t.splat_to(self.lanes, &limit);
        let from_first = match &memory.before {
            Opd::Int(_, 0) => offsets.clone(),
            before => {
                let before = self.t.splat_to(self.lanes, before);
                self.t.add(offsets, &before)
            }
        };
        let inside = self.t.icmp(IntPredicate::ULt, &from_first, &limits);
        let good = self.both(&mask, &inside);
        if self.shared.options.checks {
            let outside = self.not(&inside);
            let bad = self.both(&mask, &outside);
            let any = self.any(&bad);
            let fine = self.t.not(&any);
            let (report, join) = (self.t.block(), self.t.block());
            self.t.branch_likely(&fine, join, report);
            self.t.label(report);
            self.report(inst, (pointer, kind), memory, (&bad, offsets), bytes);
            self.t.label(join);
        }
        let safe = self.t.select(&good, offsets, &Opd::zero(ty));
        (safe, good)
    }

    /// Notes the fault of the first of some lanes, if there is one.
    fn report(
        &mut self,
        inst: Inst,
        (pointer, kind): (Value, AccessKind),
        memory: &Memory,
        (lanes, offsets): (&Opd, &Opd),
        bytes: i64,
    ) {
        if !self.shared.options.checks {
            return;
        }
        let site = self.site(inst, pointer, kind, bytes as u32);
        self.shared.helpers.insert(Helper::Note);
        let (some, join) = (self.t.block(), self.t.block());
        let any = self.any(lanes);
        self.t.branch_if(&any, some, join);
        self.t.label(some);
        let lane = self.first_lane(lanes);
        let offset = self.t.extract(offsets, &lane);
        let thread = self.t.add(&self.first.clone(), &lane);
        self.t.call_void(
            "am.note",
            &[&self.record, &Opd::i32(site.into()), &offset, &memory.len, &thread, &memory.base],
        );
        self.t.label(join);
    }

    // --- loads

    pub(super) fn load(&mut self, inst: Inst, pointer: Value, result: Value) {
        let ty = self.sub.function.ty(result);
        let scalar = ty.scalar().unwrap_or(Scalar::I64);
        let (count, size) = (usize::from(ty.lanes()), i64::from(scalar.size()));
        let spot = self.spot(inst, (pointer, AccessKind::Load), size * count as i64);
        let width = self.width_of(result);
        let components = match spot {
            None => vec![zero(width, scalar); count],
            Some(spot) => (0..count).map(|k| self.load_from(&spot, size * k as i64, scalar, width)).collect(),
        };
        self.values[result.index()] = Some(components);
    }

    /// One scalar, at the width of the result; lanes that may not go on get zero.
    pub(super) fn load_from(&mut self, spot: &Spot, extra: i64, scalar: Scalar, width: Width) -> Opd {
        let stored = if scalar == Scalar::Bool { Scalar::I8 } else { scalar };
        let loaded = match (spot.memory.form, spot.width) {
            (Form::Single | Form::Shared, Width::One) => {
                let value = self.load_one(spot, extra, stored);
                match width {
                    Width::One => value,
                    _ => self.t.splat_to(self.lanes, &value),
                }
            }
            (Form::Single | Form::Shared, _) => self.gather(spot, extra, stored),
            (Form::Interleaved(_), _) if stored.size() < PASSED_UNIT => self.load_part(spot, extra, stored),
            (Form::Interleaved(_), _) => self.load_units(spot, extra, stored),
        };
        let loaded = match (&spot.good, spot.width) {
            (Some(good), Width::One) => self.t.select(good, &loaded, &zero(width, stored)),
            _ => loaded,
        };
        if scalar == Scalar::Bool {
            return self.t.icmp(IntPredicate::Ne, &loaded, &zero(width, Scalar::I8));
        }
        loaded
    }

    /// A scalar of memory that is not interleaved.
    fn load_one(&mut self, spot: &Spot, extra: i64, scalar: Scalar) -> Opd {
        let at = match spot.memory.form {
            Form::Shared => self.shared_place(spot, extra),
            _ => {
                let offset = self.harmless(spot);
                let offset = self.t.add(&offset, extra);
                self.t.offset(&spot.memory.base, &offset)
            }
        };
        let ty = scalar_type(scalar);
        let value = self.t.load(ty, &at, 1);
        self.t.freeze(&value)
    }

    /// An offset that all lanes share: zero if it is bad.
    fn harmless(&mut self, spot: &Spot) -> Opd {
        match &spot.good {
            Some(good) => self.t.select(good, &spot.offset, 0),
            None => spot.offset.clone(),
        }
    }

    /// Each lane's scalar of memory that is not interleaved.
    fn gather(&mut self, spot: &Spot, extra: i64, scalar: Scalar) -> Opd {
        let at = self.t.offset(&spot.memory.base, extra);
        self.gather_at(&at, &spot.offset, spot.good.as_ref(), scalar)
    }

    fn gather_at(&mut self, base: &Opd, offsets: &Opd, good: Option<&Opd>, scalar: Scalar) -> Opd {
        let ty = self.width().ty(scalar);
        let places = self.t.address(I8, base, offsets);
        let mask = good.cloned().unwrap_or_else(|| self.mask_operand());
        let name = format!("llvm.masked.gather.{}.{}", ty.suffix(), places.ty().suffix());
        self.t.call_declared(ty, &name, &[&places, &Opd::i32(1), &mask, &Opd::zero(ty)])
    }

    /// What the place of a unit is counted from, and the lanes' places: offsets in units' bytes become bytes
    /// in interleaved memory. Offsets of parts of a unit are those of the unit.
    fn unit_places(&mut self, spot: &Spot, extra: i64, stride: usize) -> (Opd, Opd) {
        let below = i64::from(PASSED_UNIT) - 1;
        if spot.width == Width::One {
            let offset = self.harmless(spot);
            let offset = self.t.add(&offset, extra);
            let unit = match &offset {
                Opd::Int(_, offset) => Opd::i64(offset & !below),
                offset => self.t.and(offset, !below),
            };
            return (self.t.mul(&unit, stride as i64), offset);
        }
        let offsets = self.t.add(&spot.offset, extra);
        let units = self.t.and(&offsets, !below);
        let places = self.t.mul(&units, stride as i64);
        let lanes = vector_const(I64, (0..self.lanes as i64).map(|lane| lane * i64::from(PASSED_UNIT)));
        (self.t.add(&places, &lanes), offsets)
    }

    /// One unit's worth of a scalar type in each lane.
    fn load_unit(&mut self, spot: &Spot, places: &Opd, part: i64, unit: Scalar, stride: usize) -> Opd {
        let bytes = part * i64::from(PASSED_UNIT) * stride as i64;
        let at = self.t.offset(&spot.memory.base, bytes);
        if spot.width != Width::One {
            return self.gather_at(&at, places, spot.good.as_ref(), unit);
        }
        let at = self.t.offset(&at, places);
        let ty = self.width().ty(unit);
        let raw = self.t.load(ty, &at, PASSED_UNIT);
        // What was never written is arbitrary, but must not be undefined to LLVM.
        self.t.freeze(&raw)
    }

    /// A scalar of one or two units.
    fn load_units(&mut self, spot: &Spot, extra: i64, scalar: Scalar) -> Opd {
        let stride = stride_of(spot);
        let (places, _) = self.unit_places(spot, extra, stride);
        let count = i64::from(scalar.size() / PASSED_UNIT);
        let unit = if count == 1 { scalar } else { Scalar::I32 };
        let units: Vec<Opd> =
            (0..count).map(|part| self.load_unit(spot, &places, part, unit, stride)).collect();
        let width = self.width();
        cast::bitcast(&mut self.t, width, unit, &units, scalar).remove(0)
    }

    /// A scalar that is a part of a unit.
    fn load_part(&mut self, spot: &Spot, extra: i64, scalar: Scalar) -> Opd {
        let stride = stride_of(spot);
        let (places, offset) = self.unit_places(spot, extra, stride);
        let unit = self.load_unit(spot, &places, 0, Scalar::I32, stride);
        let shift = self.bit_offset(spot.width, &offset);
        let to = self.width().of(int_of(scalar));
        let shifted = self.t.lshr(&unit, &shift);
        let raw = self.t.trunc(&shifted, to);
        self.t.reinterpret(&raw, scalar_type(scalar))
    }

    /// At which bit of its unit a part begins, in every lane.
    fn bit_offset(&mut self, width: Width, offset: &Opd) -> Opd {
        let below = i64::from(PASSED_UNIT) - 1;
        if let (Width::One, Opd::Int(_, offset)) = (width, offset) {
            return self.width().int(I32, (offset & below) * 8);
        }
        let to = width.of(I32);
        let inside = self.t.and(offset, below);
        let bits = self.t.shl(&inside, 3);
        let bits = self.t.trunc(&bits, to);
        match width {
            Width::One => self.t.splat_to(self.lanes, &bits),
            _ => bits,
        }
    }

    // --- stores

    pub(super) fn store(&mut self, inst: Inst, pointer: Value, value: Value) {
        let ty = self.sub.function.ty(value);
        let scalar = ty.scalar().unwrap_or(Scalar::I64);
        let (count, size) = (usize::from(ty.lanes()), i64::from(scalar.size()));
        let spot = self.spot(inst, (pointer, AccessKind::Store), size * count as i64);
        let Some(spot) = spot else { return };
        let width = self.stored_width(spot.memory.form);
        let components: Vec<Opd> = (0..count).map(|k| self.at(value, k, width)).collect();
        self.store_to(&spot, scalar, &components);
    }

    /// The width of what is stored to memory of a form.
    pub(super) fn stored_width(&self, form: Form) -> Width {
        if form == Form::Single { Width::One } else { self.width() }
    }

    pub(super) fn store_to(&mut self, spot: &Spot, scalar: Scalar, components: &[Opd]) {
        let join = self.t.block();
        if let (Some(good), Width::One) = (&spot.good, spot.width) {
            let go = self.t.block();
            self.t.branch_likely(good, go, join);
            self.t.label(go);
        }
        for (k, value) in components.iter().enumerate() {
            self.store_scalar(spot, k as i64 * i64::from(scalar.size()), scalar, value);
        }
        self.t.label(join);
    }

    fn store_scalar(&mut self, spot: &Spot, extra: i64, scalar: Scalar, value: &Opd) {
        let width = self.stored_width(spot.memory.form);
        let (scalar, value) = match scalar {
            Scalar::Bool => {
                let to = width.of(I8);
                (Scalar::I8, self.t.zext(value, to))
            }
            scalar => (scalar, value.clone()),
        };
        let stride = match spot.memory.form {
            Form::Interleaved(stride) => stride,
            Form::Shared => return self.scatter(spot, extra, &value),
            Form::Single => {
                // A uniform variable's offsets are uniform where it is stored to.
                let offset = self.harmless(spot);
                let offset = self.t.add(&offset, extra);
                let at = self.t.offset(&spot.memory.base, &offset);
                return self.t.store(&value, &at, 1);
            }
        };
        if scalar.size() < PASSED_UNIT {
            return self.store_part(spot, extra, scalar, &value, stride);
        }
        let (places, _) = self.unit_places(spot, extra, stride);
        let count = i64::from(scalar.size() / PASSED_UNIT);
        let unit = if count == 1 { scalar } else { Scalar::I32 };
        let units = cast::bitcast(&mut self.t, width, scalar, &[value], unit);
        for (part, unit_value) in units.iter().enumerate() {
            self.store_unit(spot, &places, part as i64, unit, unit_value, stride);
        }
    }

    /// Stores to the part of each lane's unit.
    fn store_part(&mut self, spot: &Spot, extra: i64, scalar: Scalar, value: &Opd, stride: usize) {
        let (places, offset) = self.unit_places(spot, extra, stride);
        let shift = self.bit_offset(spot.width, &offset);
        let old = self.load_unit(spot, &places, 0, Scalar::I32, stride);
        let (width, ints) = (self.width(), self.width().of(I32));
        let value = self.t.reinterpret(value, int_of(scalar));
        let wide = self.t.zext(&value, ints);
        let own = self.t.shl(&wide, &shift);
        let all = width.int(I32, (1 << scalar.bits()) - 1);
        let place = self.t.shl(&all, &shift);
        let others = self.t.xor(&place, -1);
        let kept = self.t.and(&old, &others);
        let new = self.t.or(&kept, &own);
        self.store_unit(spot, &places, 0, Scalar::I32, &new, stride);
    }

    /// Stores one unit of the lanes that may; others keep theirs if they are of use.
    fn store_unit(&mut self, spot: &Spot, places: &Opd, part: i64, unit: Scalar, value: &Opd, stride: usize) {
        let bytes = part * i64::from(PASSED_UNIT) * stride as i64;
        let at = self.t.offset(&spot.memory.base, bytes);
        let ty = self.width().ty(unit);
        if spot.width != Width::One {
            let mask = spot.good.clone().unwrap_or_else(|| self.mask_operand());
            return self.scatter_at(&at, places, &mask, value);
        }
        let at = self.t.offset(&at, places);
        let new = match self.mask {
            Mask::Entry if spot.memory.is_own => value.clone(),
            _ => {
                let old = self.t.load(ty, &at, PASSED_UNIT);
                let mask = self.mask_operand();
                self.t.select(&mask, value, &old)
            }
        };
        self.t.store(&new, &at, PASSED_UNIT);
    }
}

/// Lanes side by side in the memory of a variable.
fn stride_of(spot: &Spot) -> usize {
    if let Form::Interleaved(stride) = spot.memory.form { stride } else { LANES }
}

/// Zero in every lane.
pub(super) fn zero(width: Width, scalar: Scalar) -> Opd {
    match width {
        Width::One => super::zero_of(scalar),
        _ => Opd::zero(width.ty(scalar)),
    }
}

/// The integer type of a scalar's size.
fn int_of(scalar: Scalar) -> llvm::Type {
    match scalar.size() {
        1 => I8,
        2 => I16,
        4 => I32,
        _ => I64,
    }
}
