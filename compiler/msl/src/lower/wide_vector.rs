//! Vectors longer than Metal's own (`ext_vector_type` of 5 to 16 elements): aggregates in memory, computed
//! element by element.
//!
//! Invariant: an expression is evaluated once, whichever form its value is wanted in.

use super::function::FunctionLowerer;
use super::place::Place;
use super::value::{binary_op, compare_op, unary_op};
use super::{aggregate, convert, place, value};
use crate::hir::{self, CastKind, ConstValue, ExprKind, MAX_METAL_VECTOR_LEN};
use anymetal_ir as ir;

/// Whether values of this type are vectors that the IR has no type for.
pub(super) fn is_wide(f: &FunctionLowerer<'_, '_, '_>, ty: hir::Ty) -> bool {
    f.types().as_vector(ty).is_some_and(|(_, len)| len > MAX_METAL_VECTOR_LEN)
}

/// Stores a wide vector at `ptr` when its elements are computed; false for what makes any aggregate
/// (calls, copies, choices), of which nothing is done.
pub(super) fn into(f: &mut FunctionLowerer<'_, '_, '_>, expr: &hir::Expr, ptr: ir::Value) -> bool {
    match &expr.kind {
        ExprKind::Zero
        | ExprKind::Undef
        | ExprKind::Error
        | ExprKind::Call(..)
        | ExprKind::Builtin(..)
        | ExprKind::Conditional(..)
        | ExprKind::Let(..)
        | ExprKind::Comma(..) => return false,
        ExprKind::Cast(CastKind::Bitcast, operand) => {
            aggregate::into(f, operand, ptr);
            return true;
        }
        _ => {}
    }
    let elements = elements_of(f, expr);
    let (elem, len) = f.types().as_vector(expr.ty.ty).expect("wide vectors are vectors");
    assert_eq!(elements.len(), usize::from(len), "the elements of a wide vector");
    store_elements(f, ptr, elem, &elements, false);
    true
}

/// The elements of a vector, wide or not, or the one element of a scalar.
pub(super) fn elements_of(f: &mut FunctionLowerer<'_, '_, '_>, expr: &hir::Expr) -> Vec<ir::Value> {
    if !is_wide(f, expr.ty.ty) {
        let value = value::lower(f, expr);
        return split(f, value);
    }
    f.at(expr.span);
    let (elem, len) = f.types().as_vector(expr.ty.ty).expect("wide vectors are vectors");
    match &expr.kind {
        ExprKind::Const(ConstValue::Vector(bits)) => {
            bits.iter().map(|&bits| f.b.const_bits(elem.into(), bits)).collect()
        }
        ExprKind::Zero => vec![f.b.const_bits(elem.into(), 0); usize::from(len)],
        ExprKind::Load(place) => {
            let target = place::lower(f, place);
            read_elements(f, &target, place.ty)
        }
        ExprKind::Unary(op, a) => {
            let op = unary_op(*op, elem);
            elements_of(f, a).into_iter().map(|a| f.b.unary(op, a)).collect()
        }
        ExprKind::Binary(op, a, b) => {
            let op = binary_op(*op, elem);
            paired(f, a, b, |f, a, b| f.b.binary(op, a, b))
        }
        ExprKind::Compare(op, a, b) => {
            let op = compare_op(*op, value::pick_element(f, a.ty.ty));
            paired(f, a, b, |f, a, b| f.b.compare(op, a, b))
        }
        ExprKind::Select(cond, a, b) => {
            let cond = elements_of(f, cond);
            let sides = paired(f, a, b, |_, a, b| (a, b));
            let chosen = cond.into_iter().zip(sides);
            chosen.map(|(cond, (a, b))| f.b.infer(ir::Op::Select(cond, a, b))).collect()
        }
        ExprKind::Cast(CastKind::Convert, a) => {
            let from = value::pick_element(f, a.ty.ty);
            elements_of(f, a).into_iter().map(|a| convert::convert_scalar(f, a, from, elem)).collect()
        }
        ExprKind::Cast(CastKind::Splat, a) => vec![value::lower(f, a); usize::from(len)],
        ExprKind::Vector(parts) => parts.iter().flat_map(|part| elements_of(f, part)).collect(),
        ExprKind::Swizzle(base, picks) => {
            let elements = elements_of(f, base);
            picks.iter().map(|&n| elements[usize::from(n)]).collect()
        }
        ExprKind::Update { yields_old: true, .. } => update(f, expr).1,
        ExprKind::Let(local, init, rest) => {
            place::bind(f, *local, init.as_deref());
            elements_of(f, rest)
        }
        ExprKind::Comma(first, rest) => {
            value::effects(f, first);
            elements_of(f, rest)
        }
        _ => {
            let temporary = f.temporary(expr.ty.ty);
            aggregate::into(f, expr, temporary);
            load_elements(f, temporary, elem, len, false)
        }
    }
}

fn paired<T>(
    f: &mut FunctionLowerer<'_, '_, '_>,
    a: &hir::Expr,
    b: &hir::Expr,
    mut each: impl FnMut(&mut FunctionLowerer<'_, '_, '_>, ir::Value, ir::Value) -> T,
) -> Vec<T> {
    let (a, b) = (elements_of(f, a), elements_of(f, b));
    assert_eq!(a.len(), b.len(), "the operands of one operation have as many elements");
    a.into_iter().zip(b).map(|(a, b)| each(f, a, b)).collect()
}

/// The elements of a value of the IR.
fn split(f: &mut FunctionLowerer<'_, '_, '_>, value: ir::Value) -> Vec<ir::Value> {
    match f.b.func.ty(value) {
        ir::Type::Vector(_, len) => (0..len).map(|n| f.b.infer(ir::Op::Extract(value, n))).collect(),
        _ => vec![value],
    }
}

fn read_elements(f: &mut FunctionLowerer<'_, '_, '_>, place: &Place, ty: hir::QualTy) -> Vec<ir::Value> {
    let (elem, len) = f.types().as_vector(ty.ty).expect("wide vectors are vectors");
    match place {
        Place::Memory { ptr, .. } => load_elements(f, *ptr, elem, len, ty.is_volatile),
        Place::Swizzle { ptr, elem, picks, .. } => {
            let picked = picks.iter().map(|&pick| {
                let ptr = f.b.ptr_offset(*ptr, i64::from(pick) * i64::from(elem.size()));
                f.b.load(ptr, ir::Type::Scalar((*elem).into()), elem.size())
            });
            picked.collect()
        }
        Place::Element { .. } | Place::Bits(_) => panic!("this place is no vector"),
    }
}

/// Writes the elements of a wide vector to its place.
pub(super) fn write_elements(
    f: &mut FunctionLowerer<'_, '_, '_>,
    place: &Place,
    ty: hir::QualTy,
    elements: &[ir::Value],
) {
    place::show_whole_vector(f, place);
    match place {
        Place::Memory { ptr, .. } => {
            let (elem, _) = f.types().as_vector(ty.ty).expect("wide vectors are vectors");
            store_elements(f, *ptr, elem, elements, ty.is_volatile);
        }
        Place::Swizzle { ptr, elem, picks, .. } => {
            assert_eq!(picks.len(), elements.len(), "each element has a place");
            for (&pick, &element) in picks.iter().zip(elements) {
                let ptr = f.b.ptr_offset(*ptr, i64::from(pick) * i64::from(elem.size()));
                f.b.store(ptr, element, elem.size());
            }
        }
        Place::Element { .. } | Place::Bits(_) => panic!("this place is no vector"),
    }
}

/// Loads in pieces of the longest vectors that the IR has.
fn load_elements(
    f: &mut FunctionLowerer<'_, '_, '_>,
    ptr: ir::Value,
    elem: hir::ScalarTy,
    len: u8,
    volatile: bool,
) -> Vec<ir::Value> {
    let mut elements = Vec::with_capacity(usize::from(len));
    for first in (0..len).step_by(usize::from(MAX_METAL_VECTOR_LEN)) {
        let count = (len - first).min(MAX_METAL_VECTOR_LEN);
        let ptr = f.b.ptr_offset(ptr, i64::from(first) * i64::from(elem.size()));
        let op = ir::Op::Load { ptr, align: elem.size(), volatile };
        let piece = f.b.value(op, piece_type(elem, count));
        elements.extend(split(f, piece));
    }
    elements
}

fn store_elements(
    f: &mut FunctionLowerer<'_, '_, '_>,
    ptr: ir::Value,
    elem: hir::ScalarTy,
    elements: &[ir::Value],
    volatile: bool,
) {
    for (n, piece) in elements.chunks(usize::from(MAX_METAL_VECTOR_LEN)).enumerate() {
        let first = n * usize::from(MAX_METAL_VECTOR_LEN);
        let ptr = f.b.ptr_offset(ptr, first as i64 * i64::from(elem.size()));
        let value = composed(f, elem, piece);
        f.b.push(ir::Op::Store { ptr, value, align: elem.size(), volatile });
    }
}

/// A scalar or a vector of the IR from up to four elements.
fn composed(f: &mut FunctionLowerer<'_, '_, '_>, elem: hir::ScalarTy, elements: &[ir::Value]) -> ir::Value {
    match elements {
        &[one] => one,
        _ => {
            let ty = piece_type(elem, elements.len() as u8);
            f.b.value(ir::Op::Compose(elements.to_vec()), ty)
        }
    }
}

/// Some elements of a wide value, as a scalar or a short vector.
pub(super) fn swizzle(f: &mut FunctionLowerer<'_, '_, '_>, base: &hir::Expr, picks: &[u8]) -> ir::Value {
    let (elem, _) = f.types().as_vector(base.ty.ty).expect("swizzles are of vectors");
    let elements = elements_of(f, base);
    let picked: Vec<_> = picks.iter().map(|&n| elements[usize::from(n)]).collect();
    composed(f, elem, &picked)
}

/// One element of a wide value by a dynamic index: through memory.
pub(super) fn stored_element(
    f: &mut FunctionLowerer<'_, '_, '_>,
    base: &hir::Expr,
    index: &hir::Expr,
) -> Place {
    let temporary = f.temporary(base.ty.ty);
    aggregate::into(f, base, temporary);
    let align = f.types().layout(base.ty.ty).align;
    place::element_at(f, temporary, align, base.ty.ty, index)
}

/// The bits of an aggregate as a value of another type, through memory.
pub(super) fn bits_in_memory(
    f: &mut FunctionLowerer<'_, '_, '_>,
    operand: &hir::Expr,
    to: hir::Ty,
) -> ir::Value {
    let temporary = f.temporary(operand.ty.ty);
    aggregate::into(f, operand, temporary);
    let ty = f.value_type(to);
    f.b.load(temporary, ty, 1)
}

/// Performs an update of a wide vector; gives the place and the old elements.
pub(super) fn update(f: &mut FunctionLowerer<'_, '_, '_>, expr: &hir::Expr) -> (Place, Vec<ir::Value>) {
    let ExprKind::Update { rhs, place, old, value, .. } = &expr.kind else {
        panic!("not an update");
    };
    if let Some((local, rhs)) = rhs {
        place::bind(f, *local, Some(rhs));
    }
    let target = place::lower(f, place);
    let before = read_elements(f, &target, place.ty);
    let slot = f.start_local(*old);
    let (elem, _) = f.types().as_vector(place.ty.ty).expect("wide vectors are vectors");
    store_elements(f, slot, elem, &before, false);
    let after = elements_of(f, value);
    write_elements(f, &target, place.ty, &after);
    (target, before)
}

fn piece_type(elem: hir::ScalarTy, count: u8) -> ir::Type {
    if count == 1 { ir::Type::Scalar(elem.into()) } else { ir::Type::Vector(elem.into(), count) }
}
