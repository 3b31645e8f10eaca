//! Bit-fields: read and written by masks on the words that hold them.
//!
//! Invariant: a write touches only bytes of the bit-field's own sequence, and of these keeps all other bits.

use super::convert;
use super::function::FunctionLowerer;
use super::place::align_at;
use crate::hir::{self, BitField, BitPiece, ScalarTy};
use anymetal_ir as ir;

/// A bit-field in memory.
#[derive(Clone, Copy)]
pub(super) struct BitPlace {
    /// The address of the member.
    pub(super) ptr: ir::Value,
    /// The alignment of that address.
    pub(super) align: u32,
    /// The member's offset in its record.
    pub(super) offset: u64,
    /// Its bits.
    pub(super) bits: BitField,
}

fn word(size: u32) -> ScalarTy {
    match size {
        1 => ScalarTy::U8,
        2 => ScalarTy::U16,
        4 => ScalarTy::U32,
        8 => ScalarTy::U64,
        _ => unreachable!("a bit-field is in words of 1, 2, 4 or 8 bytes, not of {size}"),
    }
}

fn mask(count: u32) -> u64 {
    assert!((1..=64).contains(&count), "a piece of a bit-field has {count} bits");
    u64::MAX >> (64 - count)
}

/// Whether objects of the type have bit-fields, however deep.
pub(super) fn has_bit_fields(f: &FunctionLowerer<'_, '_, '_>, ty: hir::Ty) -> bool {
    if let Some((elem, _)) = f.types().as_array(ty) {
        return has_bit_fields(f, elem);
    }
    f.types().as_record(ty).is_some_and(|record| {
        let fields = &f.types().record(record).fields;
        fields.iter().any(|field| field.bits.is_some() || has_bit_fields(f, field.ty.ty))
    })
}

/// The type that the bits are put together in: 32 bits, or 64 if anything is wider.
fn bit_word(pieces: &[BitPiece], width: u32) -> ScalarTy {
    let wide = width > 32 || pieces.iter().any(|piece| piece.size > 4);
    if wide { ScalarTy::U64 } else { ScalarTy::U32 }
}

fn load_piece(
    f: &mut FunctionLowerer<'_, '_, '_>,
    place: &BitPlace,
    piece: BitPiece,
    work: ScalarTy,
    volatile: bool,
) -> ir::Value {
    let ptr = f.b.ptr_offset(place.ptr, i64::from(piece.offset));
    let align = align_at(place.align, u64::from(piece.offset)).min(piece.size);
    let size = word(piece.size);
    let op = ir::Op::Load { ptr, align, volatile };
    let raw = f.b.value(op, ir::Type::Scalar(size.into()));
    convert::convert_scalar(f, raw, size, work)
}

fn shifted(
    f: &mut FunctionLowerer<'_, '_, '_>,
    op: ir::BinOp,
    value: ir::Value,
    by: u32,
    work: ScalarTy,
) -> ir::Value {
    if by == 0 {
        return value;
    }
    let by = f.b.const_bits(work.into(), u64::from(by));
    f.b.binary(op, value, by)
}

fn masked(f: &mut FunctionLowerer<'_, '_, '_>, value: ir::Value, mask: u64, work: ScalarTy) -> ir::Value {
    let mask = f.b.const_bits(work.into(), mask);
    f.b.binary(ir::BinOp::And, value, mask)
}

/// The value of a bit-field of a type.
pub(super) fn read_bits(
    f: &mut FunctionLowerer<'_, '_, '_>,
    place: &BitPlace,
    ty: ScalarTy,
    volatile: bool,
) -> ir::Value {
    let pieces = place.bits.pieces(place.offset);
    let work = bit_word(&pieces, place.bits.width);
    let mut value = None;
    for piece in pieces {
        let raw = load_piece(f, place, piece, work, volatile);
        let low = shifted(f, ir::BinOp::LShr, raw, piece.first, work);
        let part = masked(f, low, mask(piece.count), work);
        let part = shifted(f, ir::BinOp::Shl, part, piece.value_bit, work);
        value = Some(match value {
            Some(before) => f.b.binary(ir::BinOp::Or, before, part),
            None => part,
        });
    }
    let value = value.expect("a member that is read has bits");
    if !ty.is_signed() {
        return convert::convert_scalar(f, value, work, ty);
    }
    let unused = work.size() * 8 - place.bits.width;
    let value = shifted(f, ir::BinOp::Shl, value, unused, work);
    let value = shifted(f, ir::BinOp::AShr, value, unused, work);
    convert::convert_scalar(f, value, work, ty)
}

/// Stores the low bits of a value of a type.
pub(super) fn write_bits(
    f: &mut FunctionLowerer<'_, '_, '_>,
    place: &BitPlace,
    ty: ScalarTy,
    value: ir::Value,
    volatile: bool,
) {
    let pieces = place.bits.pieces(place.offset);
    let work = bit_word(&pieces, place.bits.width.max(ty.size() * 8));
    let value = convert::convert_scalar(f, value, ty, work);
    for piece in pieces {
        let part = shifted(f, ir::BinOp::LShr, value, piece.value_bit, work);
        let mut new = part;
        if piece.count < piece.size * 8 {
            let part = masked(f, part, mask(piece.count), work);
            let part = shifted(f, ir::BinOp::Shl, part, piece.first, work);
            let old = load_piece(f, place, piece, work, volatile);
            let keep = !(mask(piece.count) << piece.first) & mask(work.size() * 8);
            let old = masked(f, old, keep, work);
            new = f.b.binary(ir::BinOp::Or, old, part);
        }
        let ptr = f.b.ptr_offset(place.ptr, i64::from(piece.offset));
        let align = align_at(place.align, u64::from(piece.offset)).min(piece.size);
        let value = convert::convert_scalar(f, new, work, word(piece.size));
        f.b.push(ir::Op::Store { ptr, value, align, volatile });
    }
}
