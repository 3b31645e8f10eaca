//! Sizes, alignments and offsets, exactly as Clang lays out C++ for Metal.
//!
//! A vector of three elements takes and aligns as four; packed vectors take exactly their elements
//! and align as one; a matrix is an array of column vectors; an empty struct has size 1.

use super::{FieldInfo, ScalarTy, Ty, TyKind, Types};

/// Size and alignment in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// `sizeof`
    pub size: u64,
    /// `alignof`, a power of two.
    pub align: u32,
}

impl Layout {
    /// Both as given.
    pub const fn new(size: u64, align: u32) -> Self {
        Self { size, align }
    }
}

/// What is written at a field about its alignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FieldAlign {
    /// The greatest `alignas` or `aligned`; 0 or 1 for none.
    pub at_least: u32,
    /// `packed`, of the field or of its record: the type's own alignment does not count.
    pub is_packed: bool,
}

/// The largest object a program may declare, in bytes.
pub const MAX_OBJECT_BYTES: u64 = 1 << 31;

fn round_up(value: u64, align: u32) -> u64 {
    value.checked_next_multiple_of(u64::from(align.max(1))).unwrap_or(u64::MAX)
}

fn vector_layout(elem: ScalarTy, len: u8, packed: bool) -> Layout {
    let size = elem.size();
    if packed {
        return Layout::new(u64::from(size) * u64::from(len), size);
    }
    let slots = u32::from(len).next_power_of_two();
    Layout::new(u64::from(size * slots), size * slots)
}

impl Types {
    /// Size and alignment. Types without a size (`void`, functions, incomplete records) count as one
    /// byte; sema refuses them where it matters.
    pub fn layout(&self, ty: Ty) -> Layout {
        match *self.kind(ty) {
            TyKind::Error | TyKind::Void | TyKind::Function { .. } => Layout::new(1, 1),
            TyKind::Nullptr | TyKind::Pointer(_) | TyKind::Reference { .. } => Layout::new(8, 8),
            TyKind::Scalar(scalar) => Layout::new(u64::from(scalar.size()), scalar.size()),
            TyKind::Vector { elem, len, packed } => vector_layout(elem, len, packed),
            TyKind::Matrix { elem, cols, rows } => {
                let column = vector_layout(elem, rows, false);
                Layout::new(column.size * u64::from(cols), column.align)
            }
            TyKind::Array(elem, len) => {
                let elem = self.layout(elem);
                Layout::new(elem.size.saturating_mul(len), elem.align)
            }
            TyKind::Record(id) => {
                let record = self.record(id);
                Layout::new(record.size, record.align)
            }
            TyKind::Enum(id) => {
                let size = self.enumeration(id).underlying.size();
                Layout::new(u64::from(size), size)
            }
        }
    }

    /// Bytes from one column of a matrix to the next.
    pub fn column_stride(&self, elem: ScalarTy, rows: u8) -> u64 {
        vector_layout(elem, rows, false).size
    }

    /// Sets the offsets of `fields` and returns the record's layout. `aligns` says what was written at each field
    /// (nothing beyond its end), `align` is the least alignment of the record.
    pub fn lay_out(
        &self,
        fields: &mut [FieldInfo],
        aligns: &[FieldAlign],
        is_union: bool,
        align: u32,
    ) -> Layout {
        let mut end = 0u64;
        let mut record_align = align.max(1);
        for (n, field) in fields.iter_mut().enumerate() {
            let layout = self.layout(field.ty.ty);
            let written = aligns.get(n).copied().unwrap_or_default();
            let natural = if written.is_packed { 1 } else { layout.align };
            let field_align = natural.max(written.at_least);
            record_align = record_align.max(field_align);
            field.offset = if is_union { 0 } else { round_up(end, field_align) };
            end = end.max(field.offset.saturating_add(layout.size));
        }
        Layout::new(round_up(end.max(1), record_align), record_align)
    }
}
