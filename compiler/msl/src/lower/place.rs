//! Places: where lvalues are, and reading and writing them.

use super::bit_field::BitPlace;
use super::function::FunctionLowerer;
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
    /// Several elements of a vector, in the order of the indices.
    Swizzle {
        /// The vector's address.
        ptr: ir::Value,
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

impl FunctionLowerer<'_, '_, '_> {
    /// Evaluates a place, with its effects.
    pub(super) fn place(&mut self, expr: &hir::Expr) -> Place {
        self.at(expr.span);
        match &expr.kind {
            ExprKind::Local(local) => {
                let align = self.types().layout(expr.ty.ty).align;
                Place::Memory { ptr: self.local_address(*local), align }
            }
            ExprKind::Global(id) => {
                let ptr = self.b.infer(ir::Op::GlobalAddr(ir::GlobalId(id.0)));
                Place::Memory { ptr, align: self.types().layout(expr.ty.ty).align }
            }
            ExprKind::Threadgroup(id) => {
                let ptr = self.b.infer(ir::Op::ThreadgroupAddr(ir::ThreadgroupId(id.0)));
                Place::Memory { ptr, align: self.types().layout(expr.ty.ty).align }
            }
            ExprKind::Deref(pointer) => {
                let ptr = self.value(pointer);
                Place::Memory { ptr, align: self.types().layout(expr.ty.ty).align }
            }
            ExprKind::Field(base, record, field) => self.field(base, *record, *field),
            ExprKind::Element(base, index) => {
                let size = self.types().layout(expr.ty.ty).size;
                self.indexed(base, index, size)
            }
            ExprKind::Column(base, index) => {
                let (elem, _, rows) = self.types().as_matrix(base.ty.ty).expect("columns are of matrices");
                let stride = self.types().column_stride(elem, rows);
                self.indexed(base, index, stride)
            }
            ExprKind::VectorElement(base, index) => self.vector_element(base, index),
            ExprKind::Swizzle(base, picks) => self.swizzle_place(base, picks),
            ExprKind::Materialize(value) => {
                let ptr = self.temporary(expr.ty.ty);
                self.into(value, ptr);
                Place::Memory { ptr, align: self.types().layout(expr.ty.ty).align }
            }
            ExprKind::Assign(place, value) => self.assign(place, value),
            ExprKind::Update { .. } if self.is_wide(expr.ty.ty) => self.wide_update(expr).0,
            ExprKind::Update { .. } => self.update(expr).0,
            ExprKind::Let(local, init, rest) => {
                self.bind(*local, init.as_deref());
                self.place(rest)
            }
            ExprKind::Comma(first, rest) => {
                self.effects(first);
                self.place(rest)
            }
            other => panic!("lowering took a value for a place: {other:?}"),
        }
    }

    /// The address of a place that is not a swizzle.
    pub(super) fn address(&mut self, expr: &hir::Expr) -> (ir::Value, u32) {
        match self.place(expr) {
            Place::Memory { ptr, align } => (ptr, align),
            Place::Swizzle { .. } => panic!("a swizzle has no address"),
            Place::Bits(_) => panic!("a bit-field has no address"),
        }
    }

    fn field(&mut self, base: &hir::Expr, record: hir::RecordId, field: u32) -> Place {
        let (ptr, align) = self.address(base);
        let info = self.types().record(record);
        let (offset, bits) = (info.fields[field as usize].offset, info.fields[field as usize].bits);
        // Inside a packed record an address may be less aligned than the type asks.
        assert!(align.is_power_of_two() && info.align.is_power_of_two(), "a place aligned to {align} bytes");
        let align = align_at(align.min(info.align), offset);
        let ptr = self.b.ptr_offset(ptr, offset as i64);
        match bits {
            Some(bits) => Place::Bits(BitPlace { ptr, align, offset, bits }),
            None => Place::Memory { ptr, align },
        }
    }

    fn indexed(&mut self, base: &hir::Expr, index: &hir::Expr, stride: u64) -> Place {
        let (ptr, align) = self.address(base);
        let index = self.index64(index);
        let ptr = match self.b.func.as_const(index) {
            Some(index) => self.b.ptr_offset(ptr, (index as i64).wrapping_mul(stride as i64)),
            None => self.b.ptr_index(ptr, index, stride as u32),
        };
        Place::Memory { ptr, align: align_at(align, stride) }
    }

    /// An index as a 64-bit integer, extended by its sign.
    fn index64(&mut self, index: &hir::Expr) -> ir::Value {
        self.index(index, hir::ScalarTy::I64)
    }

    fn vector_element(&mut self, base: &hir::Expr, index: &hir::Expr) -> Place {
        match self.place(base) {
            Place::Memory { ptr, align } => self.element_at(ptr, align, base.ty.ty, index),
            Place::Swizzle { ptr, elem, picks } => self.picked_element(ptr, elem, &picks, index),
            Place::Bits(_) => panic!("a bit-field is no vector"),
        }
    }

    /// One of several picked elements by an index, which is taken modulo their number.
    fn picked_element(
        &mut self,
        ptr: ir::Value,
        elem: hir::ScalarTy,
        picks: &[u8],
        index: &hir::Expr,
    ) -> Place {
        let index = self.index64(index);
        self.show_index(index, picks.len());
        let len = self.b.i64(picks.len() as i64);
        let index = self.b.binary(ir::BinOp::URem, index, len);
        let mut pick = self.b.i64(i64::from(picks[0]));
        for (n, &other) in picks.iter().enumerate().skip(1) {
            let (n, other) = (self.b.i64(n as i64), self.b.i64(i64::from(other)));
            let is_other = self.b.compare(ir::CmpOp::Eq, index, n);
            pick = self.b.infer(ir::Op::Select(is_other, other, pick));
        }
        Place::Memory { ptr: self.b.ptr_index(ptr, pick, elem.size()), align: elem.size() }
    }

    /// The element of the vector at an address by an index, which is taken modulo the length.
    pub(super) fn element_at(
        &mut self,
        ptr: ir::Value,
        align: u32,
        vector: hir::Ty,
        index: &hir::Expr,
    ) -> Place {
        let (elem, len) = self.types().as_vector(vector).expect("elements are of vectors");
        assert!(len > 0, "a vector without elements");
        let index = self.index64(index);
        self.show_index(index, usize::from(len));
        if let Some(constant) = self.b.func.as_const(index) {
            let offset = (constant % u64::from(len)) * u64::from(elem.size());
            let ptr = self.b.ptr_offset(ptr, offset as i64);
            return Place::Memory { ptr, align: align.min(elem.size()) };
        }
        let len = self.b.i64(i64::from(len));
        let index = self.b.binary(ir::BinOp::URem, index, len);
        let ptr = self.b.ptr_index(ptr, index, elem.size());
        Place::Memory { ptr, align: align.min(elem.size()) }
    }

    /// Takes an element of a vector of that length by the index, for sanitizers: the place itself is found by
    /// the index modulo the length. There are no such operations on longer vectors than Metal's.
    fn show_index(&mut self, index: ir::Value, len: usize) {
        let inside = self.b.func.as_const(index).is_some_and(|index| index < len as u64);
        if !self.module.for_sanitizer || inside || !(2..=4).contains(&len) {
            return;
        }
        let zero = self.b.i32(0);
        let vector = self.b.value(ir::Op::Splat(zero), ir::Type::Vector(ir::Scalar::I32, len as u8));
        let index = self.b.cast(ir::CastOp::Trunc, index, ir::Type::I32);
        self.b.infer(ir::Op::ExtractDynamic(vector, index));
    }

    fn swizzle_place(&mut self, base: &hir::Expr, picks: &[u8]) -> Place {
        let place = self.place(base);
        let elem = self.types().element(base.ty.ty).expect("swizzles are of vectors");
        match place {
            Place::Memory { ptr, align } if picks.len() == 1 => {
                let offset = u64::from(picks[0]) * u64::from(elem.size());
                Place::Memory { ptr: self.b.ptr_offset(ptr, offset as i64), align: align.min(elem.size()) }
            }
            Place::Bits(_) => panic!("a bit-field is no vector"),
            Place::Memory { ptr, .. } => Place::Swizzle { ptr, elem, picks: picks.to_vec() },
            Place::Swizzle { ptr, elem, picks: outer } => {
                let picks: Vec<u8> = picks.iter().map(|&n| outer[usize::from(n)]).collect();
                match picks[..] {
                    [one] => {
                        let offset = i64::from(one) * i64::from(elem.size());
                        Place::Memory { ptr: self.b.ptr_offset(ptr, offset), align: elem.size() }
                    }
                    _ => Place::Swizzle { ptr, elem, picks },
                }
            }
        }
    }

    /// Reads a place of value type.
    pub(super) fn read(&mut self, place: &Place, ty: hir::QualTy) -> ir::Value {
        match place {
            Place::Memory { ptr, align } => {
                let align = (*align).min(self.access_align(ty.ty));
                let op = ir::Op::Load { ptr: *ptr, align, volatile: ty.is_volatile };
                let ty = self.value_type(ty.ty);
                self.b.value(op, ty)
            }
            Place::Swizzle { ptr, elem, picks } => {
                let parts = picks.iter().map(|&pick| {
                    let ptr = self.b.ptr_offset(*ptr, i64::from(pick) * i64::from(elem.size()));
                    self.b.load(ptr, ir::Type::Scalar((*elem).into()), elem.size())
                });
                let parts: Vec<_> = parts.collect();
                let ty = self.value_type(ty.ty);
                self.b.value(ir::Op::Compose(parts), ty)
            }
            Place::Bits(place) => {
                let scalar = self.bit_scalar(ty.ty);
                self.read_bits(place, scalar, ty.is_volatile)
            }
        }
    }

    fn bit_scalar(&self, ty: hir::Ty) -> hir::ScalarTy {
        self.types().scalar_repr(ty).expect("bit-fields are integers")
    }

    /// Writes a value of value type to a place.
    pub(super) fn write(&mut self, place: &Place, ty: hir::QualTy, value: ir::Value) {
        let (expected, given) = (self.value_type(ty.ty), self.b.func.ty(value));
        assert_eq!(expected, given, "the value that is written to a `{}`", self.types().display(ty.ty));
        match place {
            Place::Memory { ptr, align } => {
                let align = (*align).min(self.access_align(ty.ty));
                self.b.push(ir::Op::Store { ptr: *ptr, value, align, volatile: ty.is_volatile });
            }
            Place::Swizzle { ptr, elem, picks } => {
                for (n, &pick) in picks.iter().enumerate() {
                    let part = self.b.infer(ir::Op::Extract(value, n as u8));
                    let ptr = self.b.ptr_offset(*ptr, i64::from(pick) * i64::from(elem.size()));
                    self.b.store(ptr, part, elem.size());
                }
            }
            Place::Bits(place) => {
                let scalar = self.bit_scalar(ty.ty);
                self.write_bits(place, scalar, value, ty.is_volatile);
            }
        }
    }

    /// Assigns: the value first, then the place.
    fn assign(&mut self, place: &hir::Expr, value: &hir::Expr) -> Place {
        let ty = place.ty;
        if self.is_wide(ty.ty) {
            let elements = self.elements_of(value);
            let target = self.place(place);
            self.write_elements(&target, ty, &elements);
            return target;
        }
        if self.module.is_aggregate(ty.ty) {
            // The value may read what is overwritten, unless it is a plain copy.
            if let ExprKind::Load(source) = &value.kind {
                let (source, source_align) = self.address(source);
                let (target, align) = self.address(place);
                self.copy(target, source, ty.ty, align.min(source_align));
                return Place::Memory { ptr: target, align };
            }
            let temporary = self.temporary(ty.ty);
            self.into(value, temporary);
            let (target, align) = self.address(place);
            self.copy(target, temporary, ty.ty, align);
            return Place::Memory { ptr: target, align };
        }
        let value = self.value(value);
        let target = self.place(place);
        self.at_place(place);
        self.write(&target, ty, value);
        target
    }

    /// What is done next is an access of the place, for sanitizers: it is where the place begins, not the
    /// last index in it.
    fn at_place(&mut self, place: &hir::Expr) {
        if self.module.for_sanitizer {
            self.at(place.span);
        }
    }

    /// Performs an update; gives the place and the old value.
    pub(super) fn update(&mut self, expr: &hir::Expr) -> (Place, ir::Value) {
        let ExprKind::Update { rhs, place, old, value, .. } = &expr.kind else {
            panic!("not an update");
        };
        if let Some((local, rhs)) = rhs {
            self.bind(*local, Some(rhs));
        }
        let target = self.place(place);
        self.at_place(place);
        let before = self.read(&target, place.ty);
        let slot = self.start_local(*old);
        let align = self.access_align(place.ty.ty);
        self.b.store(slot, before, align);
        let after = self.value(value);
        self.at_place(place);
        self.write(&target, place.ty, after);
        (target, before)
    }

    /// Begins a variable's lifetime with an optional value.
    pub(super) fn bind(&mut self, local: hir::LocalId, init: Option<&hir::Expr>) {
        let ty = self.hir.locals[local.0 as usize].ty;
        let Some(init) = init else {
            let ptr = self.start_local(local);
            if self.module.for_sanitizer && self.has_bit_fields(ty) {
                // Writing one reads the bits beside it.
                self.zero_memory(ptr, ty);
            }
            return;
        };
        if self.module.is_aggregate(ty) {
            let ptr = self.start_local(local);
            self.into(init, ptr);
            return;
        }
        // `int i = i + 1;` inside a loop reads the new, undefined `i`; evaluating first is as good.
        let value = self.value(init);
        let ptr = self.start_local(local);
        let align = self.access_align(ty);
        self.b.store(ptr, value, align);
    }
}
