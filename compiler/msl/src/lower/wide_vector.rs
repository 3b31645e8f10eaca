//! Vectors longer than Metal's own (`ext_vector_type` of 5 to 16 elements): aggregates in memory, computed
//! element by element.
//!
//! Invariant: an expression is evaluated once, whichever form its value is wanted in.

use super::function::FunctionLowerer;
use super::place::Place;
use super::value::{binary_op, compare_op, unary_op};
use crate::hir::{self, CastKind, ConstValue, ExprKind, MAX_METAL_VECTOR_LEN};
use anymetal_ir as ir;

impl FunctionLowerer<'_, '_, '_> {
    /// Whether values of this type are vectors that the IR has no type for.
    pub(super) fn is_wide(&self, ty: hir::Ty) -> bool {
        self.types().as_vector(ty).is_some_and(|(_, len)| len > MAX_METAL_VECTOR_LEN)
    }

    /// Stores a wide vector at `ptr` when its elements are computed; false for what makes any aggregate
    /// (calls, copies, choices), of which nothing is done.
    pub(super) fn wide_into(&mut self, expr: &hir::Expr, ptr: ir::Value) -> bool {
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
                self.into(operand, ptr);
                return true;
            }
            _ => {}
        }
        let elements = self.elements_of(expr);
        let (elem, len) = self.types().as_vector(expr.ty.ty).expect("wide vectors are vectors");
        assert_eq!(elements.len(), usize::from(len), "the elements of a wide vector");
        self.store_elements(ptr, elem, &elements, false);
        true
    }

    /// The elements of a vector, wide or not, or the one element of a scalar.
    pub(super) fn elements_of(&mut self, expr: &hir::Expr) -> Vec<ir::Value> {
        if !self.is_wide(expr.ty.ty) {
            let value = self.value(expr);
            return self.split(value);
        }
        self.at(expr.span);
        let (elem, len) = self.types().as_vector(expr.ty.ty).expect("wide vectors are vectors");
        match &expr.kind {
            ExprKind::Const(ConstValue::Vector(bits)) => {
                bits.iter().map(|&bits| self.b.const_bits(elem.into(), bits)).collect()
            }
            ExprKind::Zero => vec![self.b.const_bits(elem.into(), 0); usize::from(len)],
            ExprKind::Load(place) => {
                let target = self.place(place);
                self.read_elements(&target, place.ty)
            }
            ExprKind::Unary(op, a) => {
                let op = unary_op(*op, elem);
                self.elements_of(a).into_iter().map(|a| self.b.unary(op, a)).collect()
            }
            ExprKind::Binary(op, a, b) => {
                let op = binary_op(*op, elem);
                self.paired(a, b, |f, a, b| f.b.binary(op, a, b))
            }
            ExprKind::Compare(op, a, b) => {
                let op = compare_op(*op, self.element(a.ty.ty));
                self.paired(a, b, |f, a, b| f.b.compare(op, a, b))
            }
            ExprKind::Select(cond, a, b) => {
                let cond = self.elements_of(cond);
                let sides = self.paired(a, b, |_, a, b| (a, b));
                let chosen = cond.into_iter().zip(sides);
                chosen.map(|(cond, (a, b))| self.b.infer(ir::Op::Select(cond, a, b))).collect()
            }
            ExprKind::Cast(CastKind::Convert, a) => {
                let from = self.element(a.ty.ty);
                self.elements_of(a).into_iter().map(|a| self.convert_scalar(a, from, elem)).collect()
            }
            ExprKind::Cast(CastKind::Splat, a) => vec![self.value(a); usize::from(len)],
            ExprKind::Vector(parts) => parts.iter().flat_map(|part| self.elements_of(part)).collect(),
            ExprKind::Swizzle(base, picks) => {
                let elements = self.elements_of(base);
                picks.iter().map(|&n| elements[usize::from(n)]).collect()
            }
            ExprKind::Update { yields_old: true, .. } => self.wide_update(expr).1,
            ExprKind::Let(local, init, rest) => {
                self.bind(*local, init.as_deref());
                self.elements_of(rest)
            }
            ExprKind::Comma(first, rest) => {
                self.effects(first);
                self.elements_of(rest)
            }
            _ => {
                let temporary = self.temporary(expr.ty.ty);
                self.into(expr, temporary);
                self.load_elements(temporary, elem, len, false)
            }
        }
    }

    fn paired<T>(
        &mut self,
        a: &hir::Expr,
        b: &hir::Expr,
        mut each: impl FnMut(&mut Self, ir::Value, ir::Value) -> T,
    ) -> Vec<T> {
        let (a, b) = (self.elements_of(a), self.elements_of(b));
        assert_eq!(a.len(), b.len(), "the operands of one operation have as many elements");
        a.into_iter().zip(b).map(|(a, b)| each(self, a, b)).collect()
    }

    /// The elements of a value of the IR.
    fn split(&mut self, value: ir::Value) -> Vec<ir::Value> {
        match self.b.func.ty(value) {
            ir::Type::Vector(_, len) => (0..len).map(|n| self.b.infer(ir::Op::Extract(value, n))).collect(),
            _ => vec![value],
        }
    }

    fn read_elements(&mut self, place: &Place, ty: hir::QualTy) -> Vec<ir::Value> {
        let (elem, len) = self.types().as_vector(ty.ty).expect("wide vectors are vectors");
        match place {
            Place::Memory { ptr, .. } => self.load_elements(*ptr, elem, len, ty.is_volatile),
            Place::Swizzle { ptr, elem, picks } => {
                let picked = picks.iter().map(|&pick| {
                    let ptr = self.b.ptr_offset(*ptr, i64::from(pick) * i64::from(elem.size()));
                    self.b.load(ptr, ir::Type::Scalar((*elem).into()), elem.size())
                });
                picked.collect()
            }
            Place::Bits(_) => panic!("a bit-field is no vector"),
        }
    }

    /// Writes the elements of a wide vector to its place.
    pub(super) fn write_elements(&mut self, place: &Place, ty: hir::QualTy, elements: &[ir::Value]) {
        match place {
            Place::Memory { ptr, .. } => {
                let (elem, _) = self.types().as_vector(ty.ty).expect("wide vectors are vectors");
                self.store_elements(*ptr, elem, elements, ty.is_volatile);
            }
            Place::Swizzle { ptr, elem, picks } => {
                assert_eq!(picks.len(), elements.len(), "each element has a place");
                for (&pick, &element) in picks.iter().zip(elements) {
                    let ptr = self.b.ptr_offset(*ptr, i64::from(pick) * i64::from(elem.size()));
                    self.b.store(ptr, element, elem.size());
                }
            }
            Place::Bits(_) => panic!("a bit-field is no vector"),
        }
    }

    /// Loads in pieces of the longest vectors that the IR has.
    fn load_elements(
        &mut self,
        ptr: ir::Value,
        elem: hir::ScalarTy,
        len: u8,
        volatile: bool,
    ) -> Vec<ir::Value> {
        let mut elements = Vec::with_capacity(usize::from(len));
        for first in (0..len).step_by(usize::from(MAX_METAL_VECTOR_LEN)) {
            let count = (len - first).min(MAX_METAL_VECTOR_LEN);
            let ptr = self.b.ptr_offset(ptr, i64::from(first) * i64::from(elem.size()));
            let op = ir::Op::Load { ptr, align: elem.size(), volatile };
            let piece = self.b.value(op, piece_type(elem, count));
            elements.extend(self.split(piece));
        }
        elements
    }

    fn store_elements(
        &mut self,
        ptr: ir::Value,
        elem: hir::ScalarTy,
        elements: &[ir::Value],
        volatile: bool,
    ) {
        for (n, piece) in elements.chunks(usize::from(MAX_METAL_VECTOR_LEN)).enumerate() {
            let first = n * usize::from(MAX_METAL_VECTOR_LEN);
            let ptr = self.b.ptr_offset(ptr, first as i64 * i64::from(elem.size()));
            let value = self.composed(elem, piece);
            self.b.push(ir::Op::Store { ptr, value, align: elem.size(), volatile });
        }
    }

    /// A scalar or a vector of the IR from up to four elements.
    fn composed(&mut self, elem: hir::ScalarTy, elements: &[ir::Value]) -> ir::Value {
        match elements {
            &[one] => one,
            _ => {
                let ty = piece_type(elem, elements.len() as u8);
                self.b.value(ir::Op::Compose(elements.to_vec()), ty)
            }
        }
    }

    /// Some elements of a wide value, as a scalar or a short vector.
    pub(super) fn wide_swizzle(&mut self, base: &hir::Expr, picks: &[u8]) -> ir::Value {
        let (elem, _) = self.types().as_vector(base.ty.ty).expect("swizzles are of vectors");
        let elements = self.elements_of(base);
        let picked: Vec<_> = picks.iter().map(|&n| elements[usize::from(n)]).collect();
        self.composed(elem, &picked)
    }

    /// One element of a wide value by a dynamic index: through memory.
    pub(super) fn stored_element(&mut self, base: &hir::Expr, index: &hir::Expr) -> Place {
        let temporary = self.temporary(base.ty.ty);
        self.into(base, temporary);
        let align = self.types().layout(base.ty.ty).align;
        self.element_at(temporary, align, base.ty.ty, index)
    }

    /// The bits of an aggregate as a value of another type, through memory.
    pub(super) fn bits_in_memory(&mut self, operand: &hir::Expr, to: hir::Ty) -> ir::Value {
        let temporary = self.temporary(operand.ty.ty);
        self.into(operand, temporary);
        let ty = self.value_type(to);
        self.b.load(temporary, ty, 1)
    }

    /// Performs an update of a wide vector; gives the place and the old elements.
    pub(super) fn wide_update(&mut self, expr: &hir::Expr) -> (Place, Vec<ir::Value>) {
        let ExprKind::Update { rhs, place, old, value, .. } = &expr.kind else {
            panic!("not an update");
        };
        if let Some((local, rhs)) = rhs {
            self.bind(*local, Some(rhs));
        }
        let target = self.place(place);
        let before = self.read_elements(&target, place.ty);
        let slot = self.start_local(*old);
        let (elem, _) = self.types().as_vector(place.ty.ty).expect("wide vectors are vectors");
        self.store_elements(slot, elem, &before, false);
        let after = self.elements_of(value);
        self.write_elements(&target, place.ty, &after);
        (target, before)
    }
}

fn piece_type(elem: hir::ScalarTy, count: u8) -> ir::Type {
    if count == 1 { ir::Type::Scalar(elem.into()) } else { ir::Type::Vector(elem.into(), count) }
}
