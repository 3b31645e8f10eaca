//! Aggregates: records, arrays and matrices, written to where they are wanted.

use super::bit_field::BitPlace;
use super::function::FunctionLowerer;
use super::place::{Place, align_at};
use super::{builtin, convert, place, value, wide_vector};
use crate::hir::{self, CastKind, ExprKind};
use anymetal_ir as ir;

/// Evaluates a value of any non-void type and stores it at `ptr` (in thread space), which nothing
/// the expression reads overlaps.
pub(super) fn into(f: &mut FunctionLowerer<'_, '_, '_>, expr: &hir::Expr, ptr: ir::Value) {
    let ty = expr.ty.ty;
    if !f.module.is_aggregate(ty) {
        let value = value::lower(f, expr);
        let align = f.access_align(ty);
        f.b.store(ptr, value, align);
        return;
    }
    if wide_vector::is_wide(f, ty) && wide_vector::into(f, expr, ptr) {
        return;
    }
    f.at(expr.span);
    match &expr.kind {
        ExprKind::Load(place) => {
            let (source, align) = place::address(f, place);
            copy(f, ptr, source, ty, align);
        }
        ExprKind::Zero => zero_memory(f, ptr, ty),
        ExprKind::Undef | ExprKind::Error => {}
        ExprKind::Struct(members) => into_members(f, expr, members, ptr),
        ExprKind::Union(member, value) => {
            let record = f.types().as_record(ty).expect("unions are records");
            let bits = f.types().record(record).fields[*member as usize].bits;
            if bits.is_some() {
                zero_memory(f, ptr, ty);
            }
            into_member(f, record, *member as usize, value, ptr);
        }
        ExprKind::Array(elements) => into_elements(f, ty, elements, ptr),
        ExprKind::Matrix(columns) => into_columns(f, ty, columns, ptr),
        ExprKind::Construct(constructor, args) => {
            value::call(f, *constructor, Some(ptr), args);
        }
        ExprKind::Call(id, args) => {
            value::call(f, *id, Some(ptr), args);
        }
        ExprKind::Conditional(cond, a, b) => {
            let cond = value::lower(f, cond);
            value::branch(f, cond, |f| into(f, a, ptr), |f| into(f, b, ptr));
        }
        ExprKind::Let(local, init, rest) => {
            place::bind(f, *local, init.as_deref());
            into(f, rest, ptr);
        }
        ExprKind::Comma(first, rest) => {
            value::effects(f, first);
            into(f, rest, ptr);
        }
        ExprKind::Cast(CastKind::Convert, operand) => convert_matrix(f, operand, ty, ptr),
        ExprKind::Update { yields_old: true, .. } => panic!("aggregates have no post-increment"),
        ExprKind::Builtin(id, args) => {
            builtin::lower_into(f, *id, args, expr, ptr);
        }
        ExprKind::Unary(..) | ExprKind::Binary(..) => matrix_arithmetic(f, expr, ptr),
        other => panic!("lowering does not know how to make an aggregate of {other:?}"),
    }
}

fn into_members(
    f: &mut FunctionLowerer<'_, '_, '_>,
    expr: &hir::Expr,
    members: &[hir::Expr],
    ptr: ir::Value,
) {
    let record = f.types().as_record(expr.ty.ty).expect("members are of records");
    if f.types().record(record).fields.iter().any(|field| field.bits.is_some()) {
        zero_memory(f, ptr, expr.ty.ty);
    }
    for (n, member) in members.iter().enumerate() {
        into_member(f, record, n, member, ptr);
    }
}

/// Stores the first value of one member of the record at `record_ptr`.
fn into_member(
    f: &mut FunctionLowerer<'_, '_, '_>,
    record: hir::RecordId,
    index: usize,
    value: &hir::Expr,
    record_ptr: ir::Value,
) {
    let field = &f.types().record(record).fields[index];
    let (offset, bits) = (field.offset, field.bits);
    let align = align_at(f.types().record(record).align, offset);
    let ptr = f.b.ptr_offset(record_ptr, offset as i64);
    match bits {
        Some(bits) => {
            let ty = value.ty;
            let value = value::lower(f, value);
            place::write(f, &Place::Bits(BitPlace { ptr, align, offset, bits }), ty, value);
        }
        None => into(f, value, ptr),
    }
}

fn into_elements(f: &mut FunctionLowerer<'_, '_, '_>, ty: hir::Ty, elements: &[hir::Expr], ptr: ir::Value) {
    let (elem, len) = f.types().as_array(ty).expect("elements are of arrays");
    let size = f.types().layout(elem).size;
    for (n, element) in elements.iter().enumerate() {
        let at = f.b.ptr_offset(ptr, (n as u64 * size) as i64);
        into(f, element, at);
    }
    let done = elements.len() as u64;
    assert!(done <= len, "{done} values for an array of {len} elements");
    if done < len {
        let rest = f.b.ptr_offset(ptr, (done * size) as i64);
        let (align, pieces) = (f.types().layout(elem).align, f.types().pieces(elem));
        f.b.push(ir::Op::MemZero { dst: rest, size: (len - done) * size, align, pieces });
    }
}

fn into_columns(f: &mut FunctionLowerer<'_, '_, '_>, ty: hir::Ty, columns: &[hir::Expr], ptr: ir::Value) {
    let (elem, _, rows) = f.types().as_matrix(ty).expect("columns are of matrices");
    let stride = f.types().column_stride(elem, rows);
    let (_, cols, _) = f.types().as_matrix(ty).expect("columns are of matrices");
    assert_eq!(columns.len(), usize::from(cols), "a matrix has a value for each column");
    for (n, column) in columns.iter().enumerate() {
        let value = value::lower(f, column);
        let at = f.b.ptr_offset(ptr, (n as u64 * stride) as i64);
        f.b.store(at, value, elem.size());
    }
}

/// Converts a matrix column by column.
fn convert_matrix(f: &mut FunctionLowerer<'_, '_, '_>, operand: &hir::Expr, ty: hir::Ty, ptr: ir::Value) {
    let (to, cols, rows) = f.types().as_matrix(ty).expect("only matrices convert in memory");
    let from = f.types().element(operand.ty.ty).expect("a matrix has elements");
    let source = f.temporary(operand.ty.ty);
    into(f, operand, source);
    let (from_stride, to_stride) = (f.types().column_stride(from, rows), f.types().column_stride(to, rows));
    for n in 0..u64::from(cols) {
        let at = f.b.ptr_offset(source, (n * from_stride) as i64);
        let column = f.b.load(at, ir::Type::Vector(from.into(), rows), from.size());
        let column = convert::convert_scalar(f, column, from, to);
        let at = f.b.ptr_offset(ptr, (n * to_stride) as i64);
        f.b.store(at, column, to.size());
    }
}

/// Elementwise arithmetic on matrices of one type.
fn matrix_arithmetic(f: &mut FunctionLowerer<'_, '_, '_>, expr: &hir::Expr, ptr: ir::Value) {
    let (elem, cols, rows) = f.types().as_matrix(expr.ty.ty).expect("arithmetic is on matrices here");
    let stride = f.types().column_stride(elem, rows);
    let operands: Vec<&hir::Expr> = match &expr.kind {
        ExprKind::Unary(_, a) => vec![a],
        ExprKind::Binary(_, a, b) => vec![a, b],
        other => unreachable!("lowering took this for matrix arithmetic: {other:?}"),
    };
    let sources: Vec<_> = operands
        .iter()
        .map(|operand| {
            let source = f.temporary(operand.ty.ty);
            into(f, operand, source);
            source
        })
        .collect();
    for n in 0..u64::from(cols) {
        let columns: Vec<_> = sources
            .iter()
            .map(|&source| {
                let at = f.b.ptr_offset(source, (n * stride) as i64);
                f.b.load(at, ir::Type::Vector(elem.into(), rows), elem.size())
            })
            .collect();
        let column = match (&expr.kind, &columns[..]) {
            (ExprKind::Unary(..), &[a]) => f.b.unary(ir::UnOp::FNeg, a),
            (ExprKind::Binary(op, ..), &[a, b]) => f.b.binary(super::value::binary_op(*op, elem), a, b),
            _ => unreachable!("each operand has a column"),
        };
        let at = f.b.ptr_offset(ptr, (n * stride) as i64);
        f.b.store(at, column, elem.size());
    }
}

/// Copies a whole object.
pub(super) fn copy(
    f: &mut FunctionLowerer<'_, '_, '_>,
    dst: ir::Value,
    src: ir::Value,
    ty: hir::Ty,
    align: u32,
) {
    let size = f.types().layout(ty).size;
    let pieces = f.types().pieces(ty);
    if dst != src {
        f.b.push(ir::Op::MemCopy { dst, src, size, align, pieces });
    }
}

pub(super) fn zero_memory(f: &mut FunctionLowerer<'_, '_, '_>, dst: ir::Value, ty: hir::Ty) {
    let (layout, pieces) = (f.types().layout(ty), f.types().pieces(ty));
    f.b.push(ir::Op::MemZero { dst, size: layout.size, align: layout.align, pieces });
}
