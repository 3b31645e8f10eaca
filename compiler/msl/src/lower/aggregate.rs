//! Aggregates: records, arrays and matrices, written to where they are wanted.

use super::bit_field::BitPlace;
use super::function::FunctionLowerer;
use super::place::{Place, align_at};
use crate::hir::{self, CastKind, ExprKind};
use anymetal_ir as ir;

impl FunctionLowerer<'_, '_, '_> {
    /// Evaluates a value of any non-void type and stores it at `ptr` (in thread space), which nothing
    /// the expression reads overlaps.
    pub(super) fn into(&mut self, expr: &hir::Expr, ptr: ir::Value) {
        let ty = expr.ty.ty;
        if !self.module.is_aggregate(ty) {
            let value = self.value(expr);
            let align = self.access_align(ty);
            self.b.store(ptr, value, align);
            return;
        }
        if self.is_wide(ty) && self.wide_into(expr, ptr) {
            return;
        }
        self.at(expr.span);
        match &expr.kind {
            ExprKind::Load(place) => {
                let (source, align) = self.address(place);
                self.copy(ptr, source, ty, align);
            }
            ExprKind::Zero => self.zero_memory(ptr, ty),
            ExprKind::Undef | ExprKind::Error => {}
            ExprKind::Struct(members) => self.members(expr, members, ptr),
            ExprKind::Union(member, value) => {
                let record = self.types().as_record(ty).expect("unions are records");
                let bits = self.types().record(record).fields[*member as usize].bits;
                if bits.is_some() {
                    self.zero_memory(ptr, ty);
                }
                self.member(record, *member as usize, value, ptr);
            }
            ExprKind::Array(elements) => self.elements(ty, elements, ptr),
            ExprKind::Matrix(columns) => self.columns(ty, columns, ptr),
            ExprKind::Construct(constructor, args) => {
                self.call(*constructor, Some(ptr), args);
            }
            ExprKind::Call(id, args) => {
                self.call(*id, Some(ptr), args);
            }
            ExprKind::Conditional(cond, a, b) => {
                let cond = self.value(cond);
                self.branch(cond, |f| f.into(a, ptr), |f| f.into(b, ptr));
            }
            ExprKind::Let(local, init, rest) => {
                self.bind(*local, init.as_deref());
                self.into(rest, ptr);
            }
            ExprKind::Comma(first, rest) => {
                self.effects(first);
                self.into(rest, ptr);
            }
            ExprKind::Cast(CastKind::Convert, operand) => self.convert_matrix(operand, ty, ptr),
            ExprKind::Update { yields_old: true, .. } => panic!("aggregates have no post-increment"),
            ExprKind::Builtin(id, args) => {
                self.aggregate_builtin(*id, args, expr, ptr);
            }
            ExprKind::Unary(..) | ExprKind::Binary(..) => self.matrix_arithmetic(expr, ptr),
            other => panic!("lowering does not know how to make an aggregate of {other:?}"),
        }
    }

    fn members(&mut self, expr: &hir::Expr, members: &[hir::Expr], ptr: ir::Value) {
        let record = self.types().as_record(expr.ty.ty).expect("members are of records");
        if self.types().record(record).fields.iter().any(|field| field.bits.is_some()) {
            self.zero_memory(ptr, expr.ty.ty);
        }
        for (n, member) in members.iter().enumerate() {
            self.member(record, n, member, ptr);
        }
    }

    /// Stores the first value of one member of the record at `record_ptr`.
    fn member(&mut self, record: hir::RecordId, index: usize, value: &hir::Expr, record_ptr: ir::Value) {
        let field = &self.types().record(record).fields[index];
        let (offset, bits) = (field.offset, field.bits);
        let align = align_at(self.types().record(record).align, offset);
        let ptr = self.b.ptr_offset(record_ptr, offset as i64);
        match bits {
            Some(bits) => {
                let ty = value.ty;
                let value = self.value(value);
                self.write(&Place::Bits(BitPlace { ptr, align, offset, bits }), ty, value);
            }
            None => self.into(value, ptr),
        }
    }

    fn elements(&mut self, ty: hir::Ty, elements: &[hir::Expr], ptr: ir::Value) {
        let (elem, len) = self.types().as_array(ty).expect("elements are of arrays");
        let size = self.types().layout(elem).size;
        for (n, element) in elements.iter().enumerate() {
            let at = self.b.ptr_offset(ptr, (n as u64 * size) as i64);
            self.into(element, at);
        }
        let done = elements.len() as u64;
        assert!(done <= len, "{done} values for an array of {len} elements");
        if done < len {
            let rest = self.b.ptr_offset(ptr, (done * size) as i64);
            let (align, pieces) = (self.types().layout(elem).align, self.types().pieces(elem));
            self.b.push(ir::Op::MemZero { dst: rest, size: (len - done) * size, align, pieces });
        }
    }

    fn columns(&mut self, ty: hir::Ty, columns: &[hir::Expr], ptr: ir::Value) {
        let (elem, _, rows) = self.types().as_matrix(ty).expect("columns are of matrices");
        let stride = self.types().column_stride(elem, rows);
        let (_, cols, _) = self.types().as_matrix(ty).expect("columns are of matrices");
        assert_eq!(columns.len(), usize::from(cols), "a matrix has a value for each column");
        for (n, column) in columns.iter().enumerate() {
            let value = self.value(column);
            let at = self.b.ptr_offset(ptr, (n as u64 * stride) as i64);
            self.b.store(at, value, elem.size());
        }
    }

    /// Converts a matrix column by column.
    fn convert_matrix(&mut self, operand: &hir::Expr, ty: hir::Ty, ptr: ir::Value) {
        let (to, cols, rows) = self.types().as_matrix(ty).expect("only matrices convert in memory");
        let from = self.types().element(operand.ty.ty).expect("a matrix has elements");
        let source = self.temporary(operand.ty.ty);
        self.into(operand, source);
        let (from_stride, to_stride) =
            (self.types().column_stride(from, rows), self.types().column_stride(to, rows));
        for n in 0..u64::from(cols) {
            let at = self.b.ptr_offset(source, (n * from_stride) as i64);
            let column = self.b.load(at, ir::Type::Vector(from.into(), rows), from.size());
            let column = self.convert_scalar(column, from, to);
            let at = self.b.ptr_offset(ptr, (n * to_stride) as i64);
            self.b.store(at, column, to.size());
        }
    }

    /// Elementwise arithmetic on matrices of one type.
    fn matrix_arithmetic(&mut self, expr: &hir::Expr, ptr: ir::Value) {
        let (elem, cols, rows) = self.types().as_matrix(expr.ty.ty).expect("arithmetic is on matrices here");
        let stride = self.types().column_stride(elem, rows);
        let operands: Vec<&hir::Expr> = match &expr.kind {
            ExprKind::Unary(_, a) => vec![a],
            ExprKind::Binary(_, a, b) => vec![a, b],
            other => unreachable!("lowering took this for matrix arithmetic: {other:?}"),
        };
        let sources: Vec<_> = operands
            .iter()
            .map(|operand| {
                let source = self.temporary(operand.ty.ty);
                self.into(operand, source);
                source
            })
            .collect();
        for n in 0..u64::from(cols) {
            let columns: Vec<_> = sources
                .iter()
                .map(|&source| {
                    let at = self.b.ptr_offset(source, (n * stride) as i64);
                    self.b.load(at, ir::Type::Vector(elem.into(), rows), elem.size())
                })
                .collect();
            let column = match (&expr.kind, &columns[..]) {
                (ExprKind::Unary(..), &[a]) => self.b.unary(ir::UnOp::FNeg, a),
                (ExprKind::Binary(op, ..), &[a, b]) => {
                    self.b.binary(super::value::binary_op(*op, elem), a, b)
                }
                _ => unreachable!("each operand has a column"),
            };
            let at = self.b.ptr_offset(ptr, (n * stride) as i64);
            self.b.store(at, column, elem.size());
        }
    }

    /// Copies a whole object.
    pub(super) fn copy(&mut self, dst: ir::Value, src: ir::Value, ty: hir::Ty, align: u32) {
        let size = self.types().layout(ty).size;
        let pieces = self.types().pieces(ty);
        if dst != src {
            self.b.push(ir::Op::MemCopy { dst, src, size, align, pieces });
        }
    }

    pub(super) fn zero_memory(&mut self, dst: ir::Value, ty: hir::Ty) {
        let (layout, pieces) = (self.types().layout(ty), self.types().pieces(ty));
        self.b.push(ir::Op::MemZero { dst, size: layout.size, align: layout.align, pieces });
    }
}
