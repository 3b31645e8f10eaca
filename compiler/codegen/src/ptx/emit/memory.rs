//! Loads and stores.
//!
//! A checked access branches around the bare instruction, which the assembler makes a predicate of it; the
//! first fault goes into registers by selects (see `faults`). Where an address may be less aligned than its
//! type, as words in llama.cpp's blocks of bytes are, loads and stores are done in pieces then: a card does
//! not do them at all, and ends CUDA.

use anymetal_abi::AccessKind;
use anymetal_ir::{Inst, Op, Scalar, Space, Type, Value};

use super::allocation::{Address, pointer_type};
use super::value::is_16_bit_float;
use super::{Emitter, memory_type, zero_of};
use crate::llvm_text::{Opd, scalar_type};
use anymetal_analysis::roots::Root;

/// Bytes of `@am.zeros`, which loads that are not valid read.
pub(super) const ZEROS: u64 = 32;

/// How memory is accessed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    pub(super) align: u32,
    pub(super) volatile: bool,
}

impl Emitter<'_> {
    pub(super) fn access(&mut self, inst: Inst) {
        let data = self.input.function.inst(inst);
        match data.op {
            Op::Load { ptr, align, volatile } => {
                let Some(result) = data.result else { return };
                if self.load_given(inst, ptr).is_some() {
                    return;
                }
                let ty = self.ty(result);
                let address = self.address(ptr, AccessKind::Load);
                let site = self.site(inst, ptr, AccessKind::Load, ty.size());
                let mut parts = self.checked_load(&address, ty, Mode { align, volatile }, site);
                if ty.is_ptr() {
                    let bits = parts.swap_remove(0);
                    parts = vec![self.pointer_in(ptr, result, bits)];
                }
                self.define(inst, parts);
            }
            Op::Store { ptr, value, align, volatile } => {
                let ty = self.ty(value);
                let parts = match ty.is_ptr() {
                    true if self.facts.slots.is_slot(ptr) => vec![self.tagged(value)],
                    true => vec![self.addressed(value)],
                    false => self.parts(value),
                };
                let address = self.address(ptr, AccessKind::Store);
                let site = self.site(inst, ptr, AccessKind::Store, ty.size());
                self.checked_store(&address, ty, &parts, Mode { align, volatile }, site);
            }
            _ => {}
        }
    }

    /// Runs `then` if the access is valid; gives what it gave, or zero of the LLVM type `ty`.
    pub(super) fn guarded(
        &mut self,
        address: &Address,
        (bytes, align): (u32, u32),
        site: usize,
        result: Option<(&str, Opd)>,
        then: impl FnOnce(&mut Self, &Opd) -> Option<Opd>,
    ) -> Option<Opd> {
        let ok = self.is_valid(address, bytes, align);
        if ok.is_text("true") {
            let at = self.at(address);
            return then(self, &at);
        }
        let start = self.start(address);
        self.note_fault(&ok, site, &start, &address.place);
        if ok.is_text("false") {
            return result.map(|(_, zero)| zero);
        }
        let (inside, join) = (self.t.block(), self.t.block());
        let before = self.t.current();
        self.t.branch_likely(&ok, inside, join);
        self.t.label(inside);
        let at = self.at(address);
        let value = then(self, &at);
        let from = self.t.current();
        self.t.label(join);
        let (ty, zero) = result?;
        Some(self.t.phi(ty, &[(&value?, from), (&zero, before)]))
    }

    /// Does a load of the type `ty` at the address if it is valid; gives its value, or zeros. In global
    /// memory the address is selected, not branched around: the assembler moves loads past each other only
    /// where no branch is between them.
    fn guarded_load(
        &mut self,
        address: &Address,
        bytes: u32,
        site: usize,
        (ty, zero): (&str, Opd),
        load: impl FnOnce(&mut Self, &Opd) -> Opd,
    ) -> Opd {
        let pointer = address.place.ty;
        if pointer != pointer_type(Space::Device) || u64::from(bytes) > ZEROS {
            let loaded =
                self.guarded(address, (bytes, 1), site, Some((ty, zero)), |this, at| Some(load(this, at)));
            return loaded.unwrap_or(Opd::Int(0));
        }
        let ok = self.is_valid(address, bytes, 1);
        let at = self.at(address);
        if ok.is_text("true") {
            return load(self, &at);
        }
        let start = self.start(address);
        self.note_fault(&ok, site, &start, &address.place);
        if ok.is_text("false") {
            return zero;
        }
        let at = self.t.select("i1", &ok, pointer, &at, &Opd::text("@am.zeros"));
        load(self, &at)
    }

    /// The scalars of a load; zeros if it is not valid.
    pub(super) fn checked_load(&mut self, address: &Address, ty: Type, mode: Mode, site: usize) -> Vec<Opd> {
        let memory = memory_type(ty);
        let none = if ty.lanes() > 1 { Opd::text("zeroinitializer") } else { memory_zero(ty) };
        let invariant = self.is_invariant(address.pointer);
        let Mode { align, volatile } = self.as_one_access(address, ty, mode);
        let pointer = address.place.ty;
        let alignment = self.unproved_alignment(address, align);
        let loaded = self.guarded_load(address, ty.size(), site, (&memory, none), |this, at| {
            let load = |this: &mut Self, align: u32, volatile: bool| {
                let invariant = if invariant && !volatile { ", !invariant.load !1" } else { "" };
                let volatile = if volatile { "volatile " } else { "" };
                this.t
                    .value(format_args!("load {volatile}{memory}, {pointer} {at}, align {align}{invariant}"))
            };
            let Some((aligned, known)) = alignment else { return load(this, align, volatile) };
            let mut loads = Vec::new();
            this.by_alignment(&aligned, |this, is_aligned| {
                // In pieces it is volatile, so that LLVM does not make one load with the lesser alignment
                // of both.
                let value = if is_aligned { load(this, align, volatile) } else { load(this, known, true) };
                loads.push((value, this.t.current()));
            });
            let incoming: Vec<_> = loads.iter().map(|(value, from)| (value, *from)).collect();
            this.t.phi(&memory, &incoming)
        });
        let is_bool = ty.scalar() == Some(Scalar::Bool);
        (0..ty.lanes())
            .map(|lane| {
                let part = self.element(&memory, ty.lanes(), &loaded, lane);
                if is_bool { self.t.value(format_args!("icmp ne i8 {part}, 0")) } else { part }
            })
            .collect()
    }

    fn element(&mut self, vector: &str, lanes: u8, whole: &Opd, lane: u8) -> Opd {
        match lanes {
            1 => whole.clone(),
            _ => self.t.value(format_args!("extractelement {vector} {whole}, i32 {lane}")),
        }
    }

    /// Stores scalars.
    pub(super) fn checked_store(
        &mut self,
        address: &Address,
        ty: Type,
        parts: &[Opd],
        mode: Mode,
        site: usize,
    ) {
        let Mode { align, volatile } = self.as_one_access(address, ty, mode);
        let pointer = address.place.ty;
        let alignment = self.unproved_alignment(address, align);
        let may_be_bytes = align < 2 || alignment.as_ref().is_some_and(|(_, known)| *known < 2);
        let (memory, whole) = match ty.scalar().filter(|scalar| may_be_bytes && is_16_bit_float(*scalar)) {
            Some(scalar) => {
                let bits: Vec<Opd> = parts.iter().map(|part| self.bits_of_16(scalar, part)).collect();
                let ty = ty.with_scalar(Scalar::I16);
                (memory_type(ty), self.in_memory(ty, &bits))
            }
            None => (memory_type(ty), self.in_memory(ty, parts)),
        };
        self.guarded(address, (ty.size(), 1), site, None, |this, at| {
            let store = |this: &mut Self, align: u32, volatile: bool| {
                let volatile = if volatile { "volatile " } else { "" };
                this.t.line(format_args!("store {volatile}{memory} {whole}, {pointer} {at}, align {align}"));
            };
            match alignment {
                None => store(this, align, volatile),
                Some((aligned, known)) => this.by_alignment(&aligned, |this, is_aligned| {
                    store(this, if is_aligned { align } else { known }, volatile || !is_aligned);
                }),
            }
            None
        });
    }

    /// The mode, with the alignment of a whole vector if the address is known to have it: one access
    /// instead of one for each element, which is all that an access demands.
    fn as_one_access(&self, address: &Address, ty: Type, mode: Mode) -> Mode {
        let whole = ty.size();
        let is_one = is_one_access(ty) && self.known_alignment(address) >= whole;
        let align = if is_one { whole } else { mode.align };
        Mode { align: mode.align.max(align), ..mode }
    }

    /// Does something in two ways, whose blocks join: as if aligned, and in the pieces that the alignment
    /// allows.
    fn by_alignment(&mut self, aligned: &Opd, mut access: impl FnMut(&mut Self, bool)) {
        let (whole, pieces, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(aligned, whole, pieces);
        self.t.label(whole);
        access(self, true);
        self.t.branch(join);
        self.t.label(pieces);
        access(self, false);
        self.t.label(join);
    }

    /// The scalars as one value of the type in memory.
    fn in_memory(&mut self, ty: Type, parts: &[Opd]) -> Opd {
        let memory = memory_type(ty);
        let is_bool = ty.scalar() == Some(Scalar::Bool);
        let element = if is_bool { "i8" } else { ty.scalar().map_or("i64", scalar_type) };
        let mut whole = Opd::text("poison");
        for (lane, part) in parts.iter().enumerate() {
            let part =
                if is_bool { self.t.value(format_args!("zext i1 {part} to i8")) } else { part.clone() };
            if parts.len() == 1 {
                return part;
            }
            whole =
                self.t.value(format_args!("insertelement {memory} {whole}, {element} {part}, i32 {lane}"));
        }
        whole
    }

    /// Whether nothing writes there while the kernel runs.
    fn is_invariant(&self, pointer: Value) -> bool {
        self.ty(pointer) == Type::Ptr(Space::Constant)
            && matches!(self.root(pointer), Root::Argument(_) | Root::Global(_))
    }
}

/// Whether a value of the type is a vector that one access loads or stores.
pub(super) fn is_one_access(ty: Type) -> bool {
    ty.lanes() > 1 && ty.size().is_power_of_two() && ty.size() <= 16
}

/// Zero of a scalar or pointer in memory.
fn memory_zero(ty: Type) -> Opd {
    if ty.scalar() == Some(Scalar::Bool) { Opd::Int(0) } else { zero_of(ty) }
}
