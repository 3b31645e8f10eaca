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
use crate::llvm::{I8, IntPredicate, MemFlags, Opd};
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

    /// Runs `then` if the access is valid; returns its result, or else `result`.
    pub(super) fn guarded(
        &mut self,
        address: &Address,
        (bytes, align): (u32, u32),
        site: usize,
        result: Option<Opd>,
        then: impl FnOnce(&mut Self, &Opd) -> Option<Opd>,
    ) -> Option<Opd> {
        let ok = self.is_valid(address, bytes, align);
        if ok.is_true() {
            let at = self.at(address);
            return then(self, &at);
        }
        let start = self.start(address);
        self.note_fault(&ok, site, &start, &address.place);
        if ok.is_false() {
            return result;
        }
        let (inside, join) = (self.t.block(), self.t.block());
        let before = self.t.current();
        self.t.branch_likely(&ok, inside, join);
        self.t.label(inside);
        let at = self.at(address);
        let value = then(self, &at);
        let from = self.t.current();
        self.t.label(join);
        let zero = result?;
        Some(self.t.phi(&[(&value?, from), (&zero, before)]))
    }

    /// Does a load at the address if it is valid; returns its value, or else `zero`. In global
    /// memory the address is selected, not branched around: the assembler moves loads past each other only
    /// where no branch is between them.
    fn guarded_load(
        &mut self,
        address: &Address,
        bytes: u32,
        site: usize,
        zero: Opd,
        load: impl FnOnce(&mut Self, &Opd) -> Opd,
    ) -> Opd {
        let pointer = address.place.base.ty();
        if pointer != pointer_type(Space::Device) || u64::from(bytes) > ZEROS {
            let loaded = self.guarded(address, (bytes, 1), site, Some(zero), |this, at| Some(load(this, at)));
            return loaded.expect("a load has a result");
        }
        let ok = self.is_valid(address, bytes, 1);
        let at = self.at(address);
        if ok.is_true() {
            return load(self, &at);
        }
        let start = self.start(address);
        self.note_fault(&ok, site, &start, &address.place);
        if ok.is_false() {
            return zero;
        }
        let at = self.t.select(&ok, &at, &Opd::constant(pointer, "@am.zeros"));
        load(self, &at)
    }

    /// The scalars of a load; zeros if it is not valid.
    pub(super) fn checked_load(&mut self, address: &Address, ty: Type, mode: Mode, site: usize) -> Vec<Opd> {
        let memory = memory_type(ty);
        let none = if memory.is_vector() { Opd::zero(memory) } else { memory_zero(ty) };
        let invariant = self.is_invariant(address.pointer);
        let Mode { align, volatile } = self.as_one_access(address, ty, mode);
        let alignment = self.unproved_alignment(address, align);
        let loaded = self.guarded_load(address, ty.size(), site, none, |this, at| {
            let load = |this: &mut Self, align: u32, volatile: bool| {
                let invariant = if invariant && !volatile { ", !invariant.load !1" } else { "" };
                this.t.load(memory, at, MemFlags::with(align, invariant).volatile(volatile))
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
            this.t.phi(&incoming)
        });
        let is_bool = ty.scalar() == Some(Scalar::Bool);
        (0..ty.lanes())
            .map(|lane| {
                let part = self.element(&loaded, lane);
                if is_bool { self.t.icmp(IntPredicate::Ne, &part, 0) } else { part }
            })
            .collect()
    }

    fn element(&mut self, whole: &Opd, lane: u8) -> Opd {
        match whole.ty().is_vector() {
            false => whole.clone(),
            true => self.t.extract(whole, &Opd::i32(lane.into())),
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
        let alignment = self.unproved_alignment(address, align);
        let may_be_bytes = align < 2 || alignment.as_ref().is_some_and(|(_, known)| *known < 2);
        let whole = match ty.scalar().filter(|scalar| may_be_bytes && is_16_bit_float(*scalar)) {
            Some(scalar) => {
                let bits: Vec<Opd> = parts.iter().map(|part| self.bits_of_16(scalar, part)).collect();
                let ty = ty.with_scalar(Scalar::I16);
                self.in_memory(ty, &bits)
            }
            None => self.in_memory(ty, parts),
        };
        self.guarded(address, (ty.size(), 1), site, None, |this, at| {
            let store = |this: &mut Self, align: u32, volatile: bool| {
                this.t.store(&whole, at, MemFlags::from(align).volatile(volatile));
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
        let mut whole = Opd::poison(memory);
        for (lane, part) in parts.iter().enumerate() {
            let part = if is_bool { self.t.zext(part, I8) } else { part.clone() };
            if parts.len() == 1 {
                return part;
            }
            whole = self.t.insert(&whole, &part, &Opd::i32(lane as i64));
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
    if ty.scalar() == Some(Scalar::Bool) { Opd::int(I8, 0) } else { zero_of(ty) }
}
