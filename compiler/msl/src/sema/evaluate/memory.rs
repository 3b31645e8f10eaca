//! The machine's memory: allocations, addresses, and reading and writing values of a type.
//!
//! Invariant: an address is checked against its allocation at every access, and all allocations of one
//! evaluation together stay under a limit.

use super::machine::{Fail, Machine};
use crate::hir::{BitField, ConstValue, GlobalId, RecordId, ScalarTy, Ty, TyKind, Types};
use anymetal_diagnostics::Span;
use anymetal_ir::Scalar;

/// The most memory one evaluation may use.
const MAX_BYTES: usize = 16 << 20;

/// A value during evaluation.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Val {
    Void,
    Scalar(u64),
    Vector(Vec<u64>),
    /// A record, array or matrix.
    Bytes(Vec<u8>),
    Pointer(Address),
}

impl Val {
    pub(super) fn of(value: &ConstValue) -> Self {
        match value {
            ConstValue::Scalar(bits) => Self::Scalar(*bits),
            ConstValue::Vector(elements) => Self::Vector(elements.clone()),
            ConstValue::Bytes(bytes) => Self::Bytes(bytes.clone()),
            ConstValue::Address(global, offset) => Self::Pointer(Address::of_global(*global).plus(*offset)),
            ConstValue::Null => Self::Pointer(Address::NULL),
        }
    }
}

/// Set in the allocation of a constant with static storage, whose address is the same in all evaluations.
const GLOBAL: u32 = 1 << 31;

/// An address: an allocation (0 is none: null) and a byte offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    pub(super) alloc: u32,
    pub(super) offset: i64,
}

impl Address {
    pub(super) const NULL: Self = Self { alloc: 0, offset: 0 };

    pub(super) fn plus(self, bytes: i64) -> Self {
        Self { offset: self.offset.wrapping_add(bytes), ..self }
    }

    pub(super) fn of_global(global: GlobalId) -> Self {
        assert!(global.0 < GLOBAL, "the numbers of globals and of allocations are distinct");
        Self { alloc: GLOBAL | global.0, offset: 0 }
    }

    /// The constant with static storage that it points to.
    pub(super) fn global(self) -> Option<GlobalId> {
        (self.alloc & GLOBAL != 0).then_some(GlobalId(self.alloc & !GLOBAL))
    }

    /// A pointer in memory: the allocation above, the offset below.
    pub(super) fn bits(self) -> u64 {
        u64::from(self.alloc) << 32 | u64::from(self.offset as u32)
    }

    pub(super) fn from_bits(bits: u64) -> Self {
        Self { alloc: (bits >> 32) as u32, offset: i64::from(bits as u32 as i32) }
    }
}

/// Calls `f` with each pointer to an object in the bytes of a value of a type. Which member of a union is
/// a value is not known, so that pointers there do not count.
pub(super) fn each_pointer(types: &Types, ty: Ty, bytes: &[u8], f: &mut dyn FnMut(Address)) {
    match *types.kind(ty) {
        TyKind::Pointer(_) | TyKind::Reference { .. } if types.pointed_function(ty).is_none() => {
            if let Some((bits, _)) = bytes.split_first_chunk() {
                f(Address::from_bits(u64::from_le_bytes(*bits)));
            }
        }
        TyKind::Array(element, _) => {
            let size = types.layout(element).size as usize;
            let is_aggregate = !matches!(types.kind(element), TyKind::Scalar(_) | TyKind::Vector { .. });
            if is_aggregate && size > 0 {
                bytes.chunks_exact(size).for_each(|bytes| each_pointer(types, element, bytes, f));
            }
        }
        TyKind::Record(record) if !types.record(record).is_union => {
            for field in &types.record(record).fields {
                let at = bytes.get(field.offset as usize..).unwrap_or_default();
                each_pointer(types, field.ty.ty, at, f);
            }
        }
        _ => {}
    }
}

/// A place: memory of a type, or some elements of a vector in memory.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Memory(Address, Ty),
    Elements(Address, ScalarTy, Vec<u8>),
    /// A bit-field of a type; the address is that of the member.
    Bits(Address, Ty, BitField),
}

impl Machine<'_, '_> {
    pub(super) fn allocate(&mut self, size: u64, span: Span) -> Result<Address, Fail> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        self.bytes_used = self.bytes_used.saturating_add(size);
        if self.bytes_used > MAX_BYTES {
            return Err(self.fail(span, "the evaluation needs too much memory"));
        }
        self.memory.push(vec![0; size]);
        Ok(Address { alloc: self.memory.len() as u32, offset: 0 })
    }

    /// Whether an address is one of an object, or the end of it.
    pub(super) fn is_within(&self, at: Address) -> bool {
        let size = match at.global() {
            Some(global) => self.types.layout(self.facts.data.global(global).ty).size,
            // Of a null pointer only the same address.
            None => {
                let object = (at.alloc as usize).checked_sub(1).and_then(|n| self.memory.get(n));
                object.map_or(0, |object| object.len() as u64)
            }
        };
        (0..=size as i64).contains(&at.offset)
    }

    /// New memory that holds these bytes.
    pub(super) fn hold_bytes(&mut self, bytes: Vec<u8>, span: Span) -> Result<Address, Fail> {
        let at = self.allocate(bytes.len() as u64, span)?;
        self.memory[at.alloc as usize - 1] = bytes;
        Ok(at)
    }

    /// New memory that holds a value of a type.
    pub(super) fn hold(&mut self, value: &Val, ty: Ty, span: Span) -> Result<Address, Fail> {
        let at = self.allocate(self.types.layout(ty).size, span)?;
        self.store_memory(at, ty, value, span)?;
        Ok(at)
    }

    fn bytes(&self, at: Address, size: usize, span: Span) -> Result<&[u8], Fail> {
        let object = match at.global() {
            Some(global) => Some(&self.facts.data.global(global).bytes),
            None => (at.alloc as usize).checked_sub(1).and_then(|n| self.memory.get(n)),
        };
        let start = usize::try_from(at.offset).ok();
        let within = object.zip(start).and_then(|(bytes, start)| bytes.get(start..start.checked_add(size)?));
        within.ok_or_else(|| self.fail(span, "an access outside of its object"))
    }

    fn bytes_mut(&mut self, at: Address, size: usize, span: Span) -> Result<&mut [u8], Fail> {
        let fail = self.fail(span, "an access outside of its object");
        if at.global().is_some() {
            return Err(self.fail(span, "constant memory is not written to"));
        }
        let object = (at.alloc as usize).checked_sub(1).and_then(|n| self.memory.get_mut(n));
        let start = usize::try_from(at.offset).ok();
        let within =
            object.zip(start).and_then(|(bytes, start)| bytes.get_mut(start..start.checked_add(size)?));
        within.ok_or(fail)
    }

    fn read_scalar(&self, at: Address, scalar: Scalar, span: Span) -> Result<u64, Fail> {
        let bytes = self.bytes(at, scalar.size() as usize, span)?;
        let mut raw = [0u8; 8];
        raw[..bytes.len()].copy_from_slice(bytes);
        Ok(u64::from_le_bytes(raw))
    }

    fn write_scalar(&mut self, at: Address, scalar: Scalar, bits: u64, span: Span) -> Result<(), Fail> {
        let size = scalar.size() as usize;
        self.bytes_mut(at, size, span)?.copy_from_slice(&bits.to_le_bytes()[..size]);
        Ok(())
    }

    pub(super) fn load(&mut self, place: &Place, span: Span) -> Result<Val, Fail> {
        match place {
            Place::Memory(at, ty) => self.load_memory(*at, *ty, span),
            Place::Bits(at, ty, bits) => self.load_bits(*at, *ty, *bits, span),
            Place::Elements(at, elem, picks) => {
                let size = i64::from(elem.size());
                let mut elements = Vec::with_capacity(picks.len());
                for &pick in picks {
                    elements.push(self.read_scalar(at.plus(i64::from(pick) * size), (*elem).into(), span)?);
                }
                Ok(if let [one] = elements.as_slice() { Val::Scalar(*one) } else { Val::Vector(elements) })
            }
        }
    }

    pub(super) fn load_memory(&mut self, at: Address, ty: Ty, span: Span) -> Result<Val, Fail> {
        match *self.types.kind(ty) {
            TyKind::Vector { elem, len, .. } => {
                let size = i64::from(elem.size());
                let mut elements = Vec::with_capacity(usize::from(len));
                for n in 0..i64::from(len) {
                    elements.push(self.read_scalar(at.plus(n * size), elem.into(), span)?);
                }
                Ok(Val::Vector(elements))
            }
            TyKind::Pointer(_) | TyKind::Nullptr | TyKind::Reference { .. }
                if self.types.pointed_function(ty).is_none() =>
            {
                Ok(Val::Pointer(Address::from_bits(self.read_scalar(at, Scalar::I64, span)?)))
            }
            _ => match self.types.memory_scalar(ty) {
                Some(scalar) => Ok(Val::Scalar(self.read_scalar(at, scalar.into(), span)?)),
                None => {
                    let size = self.types.layout(ty).size as usize;
                    Ok(Val::Bytes(self.bytes(at, size, span)?.to_vec()))
                }
            },
        }
    }

    pub(super) fn store(&mut self, place: &Place, value: &Val, span: Span) -> Result<(), Fail> {
        match place {
            Place::Memory(at, ty) => self.store_memory(*at, *ty, value, span),
            Place::Bits(at, ty, bits) => self.store_bits(*at, *ty, *bits, value, span),
            Place::Elements(at, elem, picks) => {
                let size = i64::from(elem.size());
                let elements = match value {
                    Val::Scalar(bits) => vec![*bits],
                    Val::Vector(elements) => elements.clone(),
                    _ => return Err(self.fail(span, "an unexpected value")),
                };
                for (&pick, bits) in picks.iter().zip(elements) {
                    self.write_scalar(at.plus(i64::from(pick) * size), (*elem).into(), bits, span)?;
                }
                Ok(())
            }
        }
    }

    /// The bytes that hold a bit-field, as a number.
    fn bit_window(&self, at: Address, bits: BitField, span: Span) -> Result<u128, Fail> {
        let bytes = self.bytes(at, bits.bytes as usize, span)?;
        Ok(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte)))
    }

    fn load_bits(&mut self, at: Address, ty: Ty, bits: BitField, span: Span) -> Result<Val, Fail> {
        let window = self.bit_window(at, bits, span)?;
        let unused = 64 - bits.width;
        let raw = ((window >> bits.shift) as u64) << unused;
        let scalar = self.types.scalar_repr(ty).unwrap_or(ScalarTy::U64);
        let value = if scalar.is_signed() { (raw as i64 >> unused) as u64 } else { raw >> unused };
        Ok(Val::Scalar(value & anymetal_ir::eval::mask(scalar.into())))
    }

    fn store_bits(
        &mut self,
        at: Address,
        ty: Ty,
        bits: BitField,
        value: &Val,
        span: Span,
    ) -> Result<(), Fail> {
        let (Val::Scalar(value), Some(_)) = (value, self.types.scalar_repr(ty)) else {
            return Err(self.fail(span, "an unexpected value"));
        };
        let window = self.bit_window(at, bits, span)?;
        let mask = (u128::from(u64::MAX) >> (64 - bits.width)) << bits.shift;
        let window = window & !mask | (u128::from(*value) << bits.shift) & mask;
        let size = bits.bytes as usize;
        self.bytes_mut(at, size, span)?.copy_from_slice(&window.to_le_bytes()[..size]);
        Ok(())
    }

    /// Stores a value to a member of a record at an address.
    pub(super) fn store_member(
        &mut self,
        at: Address,
        (record, index): (RecordId, usize),
        ty: Ty,
        value: &Val,
        span: Span,
    ) -> Result<(), Fail> {
        let field = &self.types.record(record).fields[index];
        let (at, bits) = (at.plus(field.offset as i64), field.bits);
        match bits {
            Some(bits) => self.store_bits(at, ty, bits, value, span),
            None => self.store_memory(at, ty, value, span),
        }
    }

    pub(super) fn store_memory(&mut self, at: Address, ty: Ty, value: &Val, span: Span) -> Result<(), Fail> {
        match value {
            Val::Void => Ok(()),
            Val::Scalar(bits) => match self.types.memory_scalar(ty) {
                Some(scalar) => self.write_scalar(at, scalar.into(), *bits, span),
                None => Err(self.fail(span, "an unexpected value")),
            },
            Val::Vector(elements) => {
                let Some((elem, _)) = self.types.as_vector(ty) else {
                    return Err(self.fail(span, "an unexpected value"));
                };
                let size = i64::from(elem.size());
                for (n, &bits) in elements.iter().enumerate() {
                    self.write_scalar(at.plus(n as i64 * size), elem.into(), bits, span)?;
                }
                Ok(())
            }
            Val::Bytes(bytes) => {
                let target = self.bytes_mut(at, bytes.len(), span)?;
                target.copy_from_slice(bytes);
                Ok(())
            }
            Val::Pointer(address) => self.write_scalar(at, Scalar::I64, address.bits(), span),
        }
    }

    /// The bytes of a value of a type.
    pub(super) fn bytes_of(&mut self, value: &Val, ty: Ty, span: Span) -> Result<Vec<u8>, Fail> {
        let size = self.types.layout(ty).size;
        let at = self.allocate(size, span)?;
        self.store_memory(at, ty, value, span)?;
        self.bytes_used = self.bytes_used.saturating_sub(size as usize);
        Ok(self.memory.pop().unwrap_or_default())
    }
}
