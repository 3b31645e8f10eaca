//! Places: where lvalues are, and reading and writing them.

use super::bit_field::BitPlace;
use super::function::FunctionLowerer;
use super::{aggregate, bit_field, value, wide_vector};
use crate::hir::{self, ExprKind};
use anymetal_ir as ir;

/// Designated memory.
#[derive(Clone)]
pub(super) enum Place {
    /// An object at an address.
    Memory {
        /// The address.
        ptr: ir::Value,
        /// What its alignment is known to be.
        align: u32,
    },
    /// One element of a vector in memory.
    Element {
        /// The vector's address.
        vector: ir::Value,
        /// The bytes of its elements.
        size: u64,
        /// The element's address.
        ptr: ir::Value,
        /// What the alignment of the element is known to be.
        align: u32,
    },
    /// Several elements of a vector, in the order of the indices.
    Swizzle {
        /// The vector's address.
        ptr: ir::Value,
        /// The bytes of its elements.
        size: u64,
        /// The element.
        elem: hir::ScalarTy,
        /// Which ones.
        picks: Vec<u8>,
    },
    /// A bit-field.
    Bits(BitPlace),
}

/// The largest alignment that `offset` bytes past an address of alignment `align` still has.
pub(super) fn align_at(align: u32, offset: u64) -> u32 {
    if offset == 0 { align } else { align.min(1 << offset.trailing_zeros().min(16)) }
}

/// Evaluates a place, with its effects.
pub(super) fn lower(f: &mut FunctionLowerer<'_, '_, '_>, expr: &hir::Expr) -> Place {
    f.at(expr.span);
    match &expr.kind {
        ExprKind::Local(local) => {
            let align = f.types().layout(expr.ty.ty).align;
            Place::Memory { ptr: f.local_address(*local), align }
        }
        ExprKind::Global(id) => {
            let ptr = f.b.infer(ir::Op::GlobalAddr(ir::GlobalId(id.0)));
            Place::Memory { ptr, align: f.types().layout(expr.ty.ty).align }
        }
        ExprKind::Threadgroup(id) => {
            let ptr = f.b.infer(ir::Op::ThreadgroupAddr(ir::ThreadgroupId(id.0)));
            Place::Memory { ptr, align: f.types().layout(expr.ty.ty).align }
        }
        ExprKind::Deref(pointer) => {
            let ptr = value::lower(f, pointer);
            Place::Memory { ptr, align: f.types().layout(expr.ty.ty).align }
        }
        ExprKind::Field(base, record, field) => field_place(f, base, *record, *field),
        ExprKind::Element(base, index) => {
            let size = f.types().layout(expr.ty.ty).size;
            indexed(f, base, index, size)
        }
        ExprKind::Column(base, index) => {
            let (elem, _, rows) = f.types().as_matrix(base.ty.ty).expect("columns are of matrices");
            let stride = f.types().column_stride(elem, rows);
            indexed(f, base, index, stride)
        }
        ExprKind::VectorElement(base, index) => vector_element(f, base, index),
        ExprKind::Swizzle(base, picks) => swizzle_place(f, base, picks),
        ExprKind::Materialize(value) => {
            let ptr = f.temporary(expr.ty.ty);
            aggregate::into(f, value, ptr);
            Place::Memory { ptr, align: f.types().layout(expr.ty.ty).align }
        }
        ExprKind::Assign(place, value) => assign(f, place, value),
        ExprKind::Update { .. } if wide_vector::is_wide(f, expr.ty.ty) => wide_vector::update(f, expr).0,
        ExprKind::Update { .. } => update(f, expr).0,
        ExprKind::Let(local, init, rest) => {
            bind(f, *local, init.as_deref());
            lower(f, rest)
        }
        ExprKind::Comma(first, rest) => {
            value::effects(f, first);
            lower(f, rest)
        }
        other => panic!("lowering took a value for a place: {other:?}"),
    }
}

/// The address of a place that is not a swizzle.
pub(super) fn address(f: &mut FunctionLowerer<'_, '_, '_>, expr: &hir::Expr) -> (ir::Value, u32) {
    match lower(f, expr) {
        Place::Memory { ptr, align } | Place::Element { ptr, align, .. } => (ptr, align),
        Place::Swizzle { .. } => panic!("a swizzle has no address"),
        Place::Bits(_) => panic!("a bit-field has no address"),
    }
}

fn field_place(
    f: &mut FunctionLowerer<'_, '_, '_>,
    base: &hir::Expr,
    record: hir::RecordId,
    field: u32,
) -> Place {
    let (ptr, align) = address(f, base);
    let info = f.types().record(record);
    let (offset, bits) = (info.fields[field as usize].offset, info.fields[field as usize].bits);
    // Inside a packed record an address may be less aligned than the type asks.
    assert!(align.is_power_of_two() && info.align.is_power_of_two(), "a place aligned to {align} bytes");
    let align = align_at(align.min(info.align), offset);
    let ptr = f.b.ptr_offset(ptr, offset as i64);
    match bits {
        Some(bits) => Place::Bits(BitPlace { ptr, align, offset, bits }),
        None => Place::Memory { ptr, align },
    }
}

fn indexed(f: &mut FunctionLowerer<'_, '_, '_>, base: &hir::Expr, index: &hir::Expr, stride: u64) -> Place {
    let (ptr, align) = address(f, base);
    let index = index64(f, index);
    let ptr = match f.b.func.as_const(index) {
        Some(index) => f.b.ptr_offset(ptr, (index as i64).wrapping_mul(stride as i64)),
        None => f.b.ptr_index(ptr, index, stride as u32),
    };
    Place::Memory { ptr, align: align_at(align, stride) }
}

/// An index as a 64-bit integer, extended by its sign.
fn index64(f: &mut FunctionLowerer<'_, '_, '_>, index: &hir::Expr) -> ir::Value {
    value::index_value(f, index, hir::ScalarTy::I64)
}

fn vector_element(f: &mut FunctionLowerer<'_, '_, '_>, base: &hir::Expr, index: &hir::Expr) -> Place {
    match lower(f, base) {
        Place::Memory { ptr, align } => element_at(f, ptr, align, base.ty.ty, index),
        Place::Swizzle { ptr, size, elem, picks } => picked_element(f, (ptr, size), elem, &picks, index),
        Place::Element { .. } | Place::Bits(_) => panic!("this place is no vector"),
    }
}

/// One of several picked elements by an index, which is taken modulo their number.
fn picked_element(
    f: &mut FunctionLowerer<'_, '_, '_>,
    (vector, size): (ir::Value, u64),
    elem: hir::ScalarTy,
    picks: &[u8],
    index: &hir::Expr,
) -> Place {
    let index = index64(f, index);
    show_index(f, index, picks.len());
    let len = f.b.i64(picks.len() as i64);
    let index = f.b.binary(ir::BinOp::URem, index, len);
    let mut pick = f.b.i64(i64::from(picks[0]));
    for (n, &other) in picks.iter().enumerate().skip(1) {
        let (n, other) = (f.b.i64(n as i64), f.b.i64(i64::from(other)));
        let is_other = f.b.compare(ir::CmpOp::Eq, index, n);
        pick = f.b.infer(ir::Op::Select(is_other, other, pick));
    }
    let ptr = f.b.ptr_index(vector, pick, elem.size());
    Place::Element { vector, size, ptr, align: elem.size() }
}

/// The element of the vector at an address by an index, which is taken modulo the length.
pub(super) fn element_at(
    f: &mut FunctionLowerer<'_, '_, '_>,
    vector: ir::Value,
    align: u32,
    ty: hir::Ty,
    index: &hir::Expr,
) -> Place {
    let (elem, len) = f.types().as_vector(ty).expect("elements are of vectors");
    assert!(len > 0, "a vector without elements");
    let (size, align) = (u64::from(elem.size()) * u64::from(len), align.min(elem.size()));
    let index = index64(f, index);
    show_index(f, index, usize::from(len));
    if let Some(constant) = f.b.func.as_const(index) {
        let offset = (constant % u64::from(len)) * u64::from(elem.size());
        let ptr = f.b.ptr_offset(vector, offset as i64);
        return Place::Element { vector, size, ptr, align };
    }
    let len = f.b.i64(i64::from(len));
    let index = f.b.binary(ir::BinOp::URem, index, len);
    let ptr = f.b.ptr_index(vector, index, elem.size());
    Place::Element { vector, size, ptr, align }
}

/// Takes an element of a vector of that length by the index, for sanitizers: the place itself is found by
/// the index modulo the length. There are no such operations on longer vectors than Metal's.
fn show_index(f: &mut FunctionLowerer<'_, '_, '_>, index: ir::Value, len: usize) {
    let inside = f.b.func.as_const(index).is_some_and(|index| index < len as u64);
    if !f.module.for_sanitizer || inside || !(2..=4).contains(&len) {
        return;
    }
    let zero = f.b.i32(0);
    let vector = f.b.value(ir::Op::Splat(zero), ir::Type::Vector(ir::Scalar::I32, len as u8));
    let index = f.b.cast(ir::CastOp::Trunc, index, ir::Type::I32);
    f.b.infer(ir::Op::ExtractDynamic(vector, index));
}

fn swizzle_place(f: &mut FunctionLowerer<'_, '_, '_>, base: &hir::Expr, picks: &[u8]) -> Place {
    let place = lower(f, base);
    let (elem, len) = f.types().as_vector(base.ty.ty).expect("swizzles are of vectors");
    let size = u64::from(elem.size()) * u64::from(len);
    match place {
        Place::Memory { ptr: vector, align } if picks.len() == 1 => {
            let offset = u64::from(picks[0]) * u64::from(elem.size());
            let ptr = f.b.ptr_offset(vector, offset as i64);
            Place::Element { vector, size, ptr, align: align.min(elem.size()) }
        }
        Place::Element { .. } | Place::Bits(_) => panic!("this place is no vector"),
        Place::Memory { ptr, .. } => Place::Swizzle { ptr, size, elem, picks: picks.to_vec() },
        Place::Swizzle { ptr: vector, size, elem, picks: outer } => {
            let picks: Vec<u8> = picks.iter().map(|&n| outer[usize::from(n)]).collect();
            match picks[..] {
                [one] => {
                    let ptr = f.b.ptr_offset(vector, i64::from(one) * i64::from(elem.size()));
                    Place::Element { vector, size, ptr, align: elem.size() }
                }
                _ => Place::Swizzle { ptr: vector, size, elem, picks },
            }
        }
    }
}

/// Reads a place of value type.
pub(super) fn read(f: &mut FunctionLowerer<'_, '_, '_>, place: &Place, ty: hir::QualTy) -> ir::Value {
    match place {
        Place::Memory { ptr, align } | Place::Element { ptr, align, .. } => {
            let align = (*align).min(f.access_align(ty.ty));
            let op = ir::Op::Load { ptr: *ptr, align, volatile: ty.is_volatile };
            let ty = f.value_type(ty.ty);
            f.b.value(op, ty)
        }
        Place::Swizzle { ptr, elem, picks, .. } => {
            let parts = picks.iter().map(|&pick| {
                let ptr = f.b.ptr_offset(*ptr, i64::from(pick) * i64::from(elem.size()));
                f.b.load(ptr, ir::Type::Scalar((*elem).into()), elem.size())
            });
            let parts: Vec<_> = parts.collect();
            let ty = f.value_type(ty.ty);
            f.b.value(ir::Op::Compose(parts), ty)
        }
        Place::Bits(place) => {
            let scalar = bit_scalar(f, ty.ty);
            bit_field::read_bits(f, place, scalar, ty.is_volatile)
        }
    }
}

fn bit_scalar(f: &FunctionLowerer<'_, '_, '_>, ty: hir::Ty) -> hir::ScalarTy {
    f.types().scalar_repr(ty).expect("bit-fields are integers")
}

/// Writes a value of value type to a place.
pub(super) fn write(f: &mut FunctionLowerer<'_, '_, '_>, place: &Place, ty: hir::QualTy, value: ir::Value) {
    let (expected, given) = (f.value_type(ty.ty), f.b.func.ty(value));
    assert_eq!(expected, given, "the value that is written to a `{}`", f.types().display(ty.ty));
    show_whole_vector(f, place);
    match place {
        Place::Memory { ptr, align } | Place::Element { ptr, align, .. } => {
            let align = (*align).min(f.access_align(ty.ty));
            f.b.push(ir::Op::Store { ptr: *ptr, value, align, volatile: ty.is_volatile });
        }
        Place::Swizzle { ptr, elem, picks, .. } => {
            for (n, &pick) in picks.iter().enumerate() {
                let part = f.b.infer(ir::Op::Extract(value, n as u8));
                let ptr = f.b.ptr_offset(*ptr, i64::from(pick) * i64::from(elem.size()));
                f.b.store(ptr, part, elem.size());
            }
        }
        Place::Bits(place) => {
            let scalar = bit_scalar(f, ty.ty);
            bit_field::write_bits(f, place, scalar, value, ty.is_volatile);
        }
    }
}

/// Before elements of a vector that threads share are written: a vector is one object (MSL 2.2.1), so that
/// sanitizers need to see a write of all of it.
pub(super) fn show_whole_vector(f: &mut FunctionLowerer<'_, '_, '_>, place: &Place) {
    let (Place::Element { vector, size, .. } | Place::Swizzle { ptr: vector, size, .. }) = *place else {
        // Not a part of a vector.
        return;
    };
    let is_shared = matches!(f.b.func.ty(vector), ir::Type::Ptr(ir::Space::Device | ir::Space::Threadgroup));
    if f.module.for_sanitizer && is_shared {
        let bytes = u32::try_from(size).expect("a vector has a few bytes");
        f.b.push(ir::Op::Prefetch { ptr: vector, bytes, access: ir::PrefetchHint::WriteWhole });
    }
}

/// Assigns: the value first, then the place.
fn assign(f: &mut FunctionLowerer<'_, '_, '_>, place: &hir::Expr, value: &hir::Expr) -> Place {
    let ty = place.ty;
    if wide_vector::is_wide(f, ty.ty) {
        let elements = wide_vector::elements_of(f, value);
        let target = lower(f, place);
        wide_vector::write_elements(f, &target, ty, &elements);
        return target;
    }
    if f.module.is_aggregate(ty.ty) {
        // The value may read what is overwritten, unless it is a plain copy.
        if let ExprKind::Load(source) = &value.kind {
            let (source, source_align) = address(f, source);
            let (target, align) = address(f, place);
            aggregate::copy(f, target, source, ty.ty, align.min(source_align));
            return Place::Memory { ptr: target, align };
        }
        let temporary = f.temporary(ty.ty);
        aggregate::into(f, value, temporary);
        let (target, align) = address(f, place);
        aggregate::copy(f, target, temporary, ty.ty, align);
        return Place::Memory { ptr: target, align };
    }
    let value = value::lower(f, value);
    let target = lower(f, place);
    at_place(f, place);
    write(f, &target, ty, value);
    target
}

/// What is done next is an access of the place, for sanitizers: it is where the place begins, not the
/// last index in it.
fn at_place(f: &mut FunctionLowerer<'_, '_, '_>, place: &hir::Expr) {
    if f.module.for_sanitizer {
        f.at(place.span);
    }
}

/// Performs an update; gives the place and the old value.
pub(super) fn update(f: &mut FunctionLowerer<'_, '_, '_>, expr: &hir::Expr) -> (Place, ir::Value) {
    let ExprKind::Update { rhs, place, old, value, .. } = &expr.kind else {
        panic!("not an update");
    };
    if let Some((local, rhs)) = rhs {
        bind(f, *local, Some(rhs));
    }
    let target = lower(f, place);
    at_place(f, place);
    let before = read(f, &target, place.ty);
    let slot = f.start_local(*old);
    let align = f.access_align(place.ty.ty);
    f.b.store(slot, before, align);
    let after = value::lower(f, value);
    at_place(f, place);
    write(f, &target, place.ty, after);
    (target, before)
}

/// Begins a variable's lifetime with an optional value.
pub(super) fn bind(f: &mut FunctionLowerer<'_, '_, '_>, local: hir::LocalId, init: Option<&hir::Expr>) {
    let ty = f.hir.locals[local.0 as usize].ty;
    let Some(init) = init else {
        let ptr = f.start_local(local);
        if f.module.for_sanitizer && bit_field::has_bit_fields(f, ty) {
            // Writing one reads the bits beside it.
            aggregate::zero_memory(f, ptr, ty);
        }
        return;
    };
    if f.module.is_aggregate(ty) {
        let ptr = f.start_local(local);
        aggregate::into(f, init, ptr);
        return;
    }
    // `int i = i + 1;` inside a loop reads the new, undefined `i`; evaluating first is as good.
    let value = value::lower(f, init);
    let ptr = f.start_local(local);
    let align = f.access_align(ty);
    f.b.store(ptr, value, align);
}
