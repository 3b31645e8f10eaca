//! Sizes, alignments and offsets, exactly as Clang lays out C++ for Metal.
//!
//! A vector of three elements takes and aligns as four; packed vectors take exactly their elements
//! and align as one; a matrix is an array of column vectors; an empty struct has size 1.

use super::{FieldInfo, MAX_METAL_VECTOR_LEN, Padding, RecordId, ScalarTy, Ty, TyKind, Types};
use anymetal_ir::Pieces;

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

    /// The pieces in which an object is copied or cleared where it is not wholly in bounds: its scalars and
    /// vectors, if they are of one size at equal distances; else words of at most four bytes.
    pub fn pieces(&self, ty: Ty) -> Pieces {
        self.equal_members(ty).unwrap_or_else(|| {
            let layout = self.layout(ty);
            Pieces::integers(layout.size, layout.align.min(4))
        })
    }

    fn equal_members(&self, ty: Ty) -> Option<Pieces> {
        let (size, stride) = match *self.kind(ty) {
            TyKind::Array(elem, _) => return self.equal_members(elem),
            TyKind::Vector { elem, len, .. } if len <= MAX_METAL_VECTOR_LEN => {
                (elem.size() * u32::from(len), self.layout(ty).size)
            }
            TyKind::Matrix { elem, rows, .. } => {
                (elem.size() * u32::from(rows), self.column_stride(elem, rows))
            }
            TyKind::Record(id) => return self.record(id).equal_members,
            _ => {
                let size = self.layout(ty).size;
                (u32::try_from(size).ok()?, size)
            }
        };
        Some(Pieces { size, stride: u32::try_from(stride).ok()? })
    }

    /// Sets the members of a record and its layout, which [`Types::lay_out`] returned.
    pub fn set_layout(&mut self, id: RecordId, fields: Vec<FieldInfo>, layout: Layout) {
        let first = fields.first().and_then(|field| self.equal_members(field.ty.ty));
        let equal_members = first.filter(|first| {
            let is_equal = |field: &FieldInfo| {
                field.bits.is_none()
                    && field.offset.is_multiple_of(first.stride.into())
                    && self.equal_members(field.ty.ty) == Some(*first)
            };
            fields.iter().all(is_equal) && layout.size.is_multiple_of(first.stride.into())
        });
        let record = &mut self.records[id.0 as usize];
        (record.fields, record.equal_members) = (fields, equal_members);
        Layout { size: record.size, align: record.align } = layout;
    }

    /// Bytes from one column of a matrix to the next.
    pub fn column_stride(&self, elem: ScalarTy, rows: u8) -> u64 {
        vector_layout(elem, rows, false).size
    }

    /// Sets the offsets of `fields` and returns the record's layout. `padding` are the unnamed bit-fields, in
    /// order. `aligns` says what was written at each field (nothing beyond its end), `align` is the least
    /// alignment of the record.
    ///
    /// Bit-fields are placed as in the Itanium C++ ABI: one after the other, each within one aligned unit of
    /// its type (anywhere, in a packed record). Unnamed ones do not align the record.
    pub fn lay_out(
        &self,
        fields: &mut [FieldInfo],
        padding: &[Padding],
        aligns: &[FieldAlign],
        is_union: bool,
        align: u32,
    ) -> Layout {
        let mut layout =
            RecordLayout { types: self, is_union, aligns, end: 0, align: align.max(1), run: None };
        let mut padding = padding.iter().peekable();
        for index in 0..=fields.len() {
            while let Some(unnamed) = padding.next_if(|unnamed| unnamed.before == index) {
                layout.unnamed(unnamed, &mut fields[..index]);
            }
            if index < fields.len() {
                layout.member(index, fields);
            }
        }
        layout.end_run(fields);
        let size = layout.end.div_ceil(8).max(1);
        Layout::new(round_up(size, layout.align), layout.align)
    }
}

/// The end of the largest record, in bits: more does not fit in an address, and sums of two must not
/// overflow.
const MAX_RECORD_BITS: u64 = 1 << 60;

/// A record while its members are placed.
struct RecordLayout<'t> {
    types: &'t Types,
    is_union: bool,
    /// What was written at each member.
    aligns: &'t [FieldAlign],
    /// The end of what was placed, in bits.
    end: u64,
    align: u32,
    /// The sequence of bit-fields being placed: its first member and first bit.
    run: Option<(usize, u64)>,
}

impl RecordLayout<'_> {
    fn member(&mut self, index: usize, fields: &mut [FieldInfo]) {
        let layout = self.types.layout(fields[index].ty.ty);
        let written = self.aligns.get(index).copied().unwrap_or_default();
        let natural = if written.is_packed { 1 } else { layout.align };
        let align = natural.max(written.at_least);
        self.align = self.align.max(align);
        if let Some(bits) = fields[index].bits {
            if !self.is_union && written.at_least > 1 {
                self.end = self.end.next_multiple_of(u64::from(written.at_least) * 8);
            }
            let at = self.place_bits(layout, bits.width, written.is_packed);
            if self.is_union {
                self.run = None;
            }
            self.run.get_or_insert((index, at));
            // The bit's position, until the sequence is known.
            fields[index].offset = at;
            if self.is_union {
                self.end_run_at(&mut fields[..=index], u64::from(bits.width));
            }
            return;
        }
        self.end_run(&mut fields[..index]);
        let offset = if self.is_union { 0 } else { round_up(self.end.div_ceil(8), align) };
        fields[index].offset = offset;
        let end = offset.saturating_add(layout.size).saturating_mul(8);
        self.end = self.end.max(end).min(MAX_RECORD_BITS);
    }

    /// The first bit of a bit-field of a type with this layout.
    fn place_bits(&mut self, layout: Layout, width: u32, is_packed: bool) -> u64 {
        let width = u64::from(width);
        if self.is_union {
            self.end = self.end.max(width);
            return 0;
        }
        let unit = layout.size * 8;
        let crosses = self.end % unit + width > unit;
        if crosses && !is_packed {
            self.end = self.end.next_multiple_of(unit);
        }
        let at = self.end;
        self.end += width;
        at
    }

    fn unnamed(&mut self, padding: &Padding, fields: &mut [FieldInfo]) {
        let layout = self.types.layout(padding.ty);
        if padding.width > 0 {
            // A packed record packs what has no name, too.
            let is_packed = !self.aligns.is_empty() && self.aligns.iter().all(|align| align.is_packed);
            self.place_bits(layout, padding.width, is_packed);
            return;
        }
        self.end_run(fields);
        if !self.is_union {
            self.end = self.end.next_multiple_of(layout.size * 8);
        }
    }

    fn end_run(&mut self, fields: &mut [FieldInfo]) {
        self.end_run_at(fields, self.end);
    }

    /// Ends a sequence of bit-fields at a bit: chooses the bytes by which each is accessed.
    fn end_run_at(&mut self, fields: &mut [FieldInfo], end: u64) {
        let Some((first, start)) = self.run.take() else { return };
        let run = start / 8..end.div_ceil(8);
        for field in &mut fields[first..] {
            let Some(bits) = &mut field.bits else { continue };
            let unit = self.types.layout(field.ty.ty).size;
            let (offset, bytes) = access_window(field.offset, u64::from(bits.width), unit, &run);
            bits.shift = (field.offset - offset * 8) as u32;
            bits.bytes = bytes as u32;
            field.offset = offset;
        }
    }
}

/// Offset and size in bytes of the access to a bit-field: an aligned unit of its type or a smaller one, if
/// that touches nothing beyond the sequence; otherwise just the bytes that it has bits in.
fn access_window(at: u64, width: u64, unit: u64, run: &std::ops::Range<u64>) -> (u64, u64) {
    let fits = |size: &u64| {
        let offset = at / 8 / size * size;
        offset >= run.start && offset + size <= run.end && at + width <= (offset + size) * 8
    };
    match [unit, 1, 2, 4].into_iter().find(fits) {
        Some(size) => (at / 8 / size * size, size),
        None => (at / 8, (at + width).div_ceil(8) - at / 8),
    }
}
