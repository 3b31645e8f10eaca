//! Values: scalars, vectors and pointers.

use super::function::FunctionLowerer;
use super::kernel::thread_fact;
use super::place::Place;
use super::purity::{is_cheap, is_constant};
use super::recursion::too_deep;
use crate::hir::{self, BinaryOp, CastKind, CompareOp, ConstValue, ExprKind, LogicalOp, UnaryOp};
use anymetal_ir as ir;

impl FunctionLowerer<'_, '_, '_> {
    fn function_constant(&mut self, id: hir::FunctionConstantId, ty: ir::Type) -> ir::Value {
        let ir::Type::Vector(scalar, _) = ty else {
            // A scalar has one component.
            return self.b.value(ir::Op::FunctionConstant(ir::FunctionConstantId(id.0)), ty);
        };
        let mut parts = Vec::new();
        for lane in self.module.constant_lanes(id) {
            parts.push(self.b.value(ir::Op::FunctionConstant(lane), ir::Type::Scalar(scalar)));
        }
        self.b.value(ir::Op::Compose(parts), ty)
    }

    /// Evaluates an expression and drops its value.
    pub(super) fn effects(&mut self, expr: &hir::Expr) {
        if expr.is_place {
            // Not even loaded; but what computes the place may have effects.
            self.place(expr);
        } else if self.types().element(expr.ty.ty).is_some() && self.module.value_type(expr.ty.ty).is_some() {
            self.value(expr);
        } else {
            self.any_value(expr);
        }
    }

    /// A value of any type, dropped.
    fn any_value(&mut self, expr: &hir::Expr) {
        if self.module.is_aggregate(expr.ty.ty) {
            let temporary = self.temporary(expr.ty.ty);
            self.into(expr, temporary);
        } else if self.module.is_void(expr.ty.ty) {
            self.void(expr);
        } else {
            self.value(expr);
        }
    }

    /// Evaluates an expression of type `void`.
    fn void(&mut self, expr: &hir::Expr) {
        self.at(expr.span);
        match &expr.kind {
            ExprKind::Call(id, args) => {
                self.call(*id, None, args);
            }
            ExprKind::Builtin(id, args) => {
                self.builtin(*id, args, expr);
            }
            ExprKind::Cast(CastKind::ToVoid, operand) => self.effects(operand),
            ExprKind::Conditional(cond, then, otherwise) => {
                let cond = self.value(cond);
                self.branch(cond, |f| f.void(then), |f| f.void(otherwise));
            }
            ExprKind::Comma(first, rest) => {
                self.effects(first);
                self.any_value(rest);
            }
            ExprKind::Let(local, init, rest) => {
                self.bind(*local, init.as_deref());
                self.any_value(rest);
            }
            ExprKind::Zero | ExprKind::Undef => {}
            other => panic!("lowering took this for void: {other:?}"),
        }
    }

    /// Evaluates a value of scalar, vector or pointer type.
    pub(super) fn value(&mut self, expr: &hir::Expr) -> ir::Value {
        self.at(expr.span);
        let ty = expr.ty.ty;
        match &expr.kind {
            ExprKind::Const(value) => self.constant(value, ty),
            ExprKind::Zero => self.zero(ty),
            ExprKind::Undef | ExprKind::Error => {
                let ty = self.value_type(ty);
                self.b.value(ir::Op::Undef, ty)
            }
            ExprKind::Load(place) => {
                let target = self.place(place);
                self.at(expr.span);
                self.read(&target, place.ty)
            }
            ExprKind::AddressOf(place) | ExprKind::ArrayDecay(place) => self.address(place).0,
            ExprKind::Unary(op, operand) => self.unary(*op, operand),
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, expr.span),
            ExprKind::Compare(op, a, b) => self.compare(*op, a, b, expr.span),
            ExprKind::Logical(op, a, b) => self.logical(*op, a, b),
            ExprKind::Conditional(cond, a, b) => self.conditional(cond, a, b, ty),
            ExprKind::Select(cond, a, b) => {
                let (cond, a, b) = (self.value(cond), self.value(a), self.value(b));
                self.b.infer(ir::Op::Select(cond, a, b))
            }
            ExprKind::Cast(kind, operand) => self.cast(*kind, operand, ty),
            ExprKind::PointerAdd(pointer, index) => self.pointer_add(pointer, index),
            ExprKind::PointerDiff(a, b) => self.pointer_diff(a, b),
            ExprKind::Vector(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| self.value(part)).collect();
                match (self.value_type(ty), &parts[..]) {
                    (ir::Type::Scalar(_), &[one]) => one,
                    (ty, _) => self.b.value(ir::Op::Compose(parts), ty),
                }
            }
            ExprKind::Call(id, args) => self.call(*id, None, args).expect("a call with a value"),
            ExprKind::Builtin(id, args) => self.builtin(*id, args, expr).expect("a builtin with a value"),
            ExprKind::FunctionConstant(id) => {
                let ty = self.value_type(ty);
                self.function_constant(*id, ty)
            }
            ExprKind::ThreadFact { query, elem, len } => thread_fact(&mut self.b, *query, *elem, *len),
            ExprKind::FunctionConstantDefined(id) => {
                self.b.infer(ir::Op::FunctionConstantDefined(ir::FunctionConstantId(id.0)))
            }
            ExprKind::Let(local, init, rest) => {
                self.bind(*local, init.as_deref());
                self.value(rest)
            }
            ExprKind::Comma(first, rest) => {
                self.effects(first);
                self.value(rest)
            }
            ExprKind::Update { yields_old: true, .. } => self.update(expr).1,
            ExprKind::Swizzle(base, picks) => self.swizzle_value(base, picks),
            ExprKind::VectorElement(base, index) => self.element_value(base, index),
            ExprKind::Column(base, index) => self.column_value(base, index, expr),
            other if expr.is_place => panic!("lowering took a place for a value: {other:?}"),
            other => panic!("lowering took an aggregate for a value: {other:?}"),
        }
    }

    fn constant(&mut self, value: &ConstValue, ty: hir::Ty) -> ir::Value {
        match value {
            ConstValue::Scalar(bits) => match self.value_type(ty) {
                ir::Type::Scalar(scalar) => self.b.const_bits(scalar, *bits),
                other => self.b.value(ir::Op::Const(*bits), other),
            },
            ConstValue::Vector(elements) => {
                let vector = self.value_type(ty);
                let scalar = vector.scalar().expect("a vector has elements");
                let parts: Vec<_> = elements.iter().map(|&bits| self.b.const_bits(scalar, bits)).collect();
                match parts[..] {
                    [one] => one,
                    _ => self.b.value(ir::Op::Compose(parts), vector),
                }
            }
            ConstValue::Null => {
                let ty = self.value_type(ty);
                self.b.value(ir::Op::Const(0), ty)
            }
            ConstValue::Bytes(_) => panic!("tables are globals"),
        }
    }

    pub(super) fn zero(&mut self, ty: hir::Ty) -> ir::Value {
        match self.value_type(ty) {
            ir::Type::Scalar(scalar) => self.b.const_bits(scalar, 0),
            ir::Type::Vector(scalar, n) => {
                let zero = self.b.const_bits(scalar, 0);
                self.b.value(ir::Op::Splat(zero), ir::Type::Vector(scalar, n))
            }
            pointer => self.b.value(ir::Op::Const(0), pointer),
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: &hir::Expr) -> ir::Value {
        let elem = self.element(operand.ty.ty);
        let value = self.value(operand);
        self.b.unary(unary_op(op, elem), value)
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        a: &hir::Expr,
        b: &hir::Expr,
        span: anymetal_diagnostics::Span,
    ) -> ir::Value {
        let elem = self.element(a.ty.ty);
        let (a, b) = (self.value(a), self.value(b));
        self.at(span);
        self.b.binary(binary_op(op, elem), a, b)
    }

    fn compare(
        &mut self,
        op: CompareOp,
        a: &hir::Expr,
        b: &hir::Expr,
        span: anymetal_diagnostics::Span,
    ) -> ir::Value {
        // Pointers compare as their addresses do, numbers of functions as numbers.
        let elem = self.types().element(a.ty.ty).unwrap_or(hir::ScalarTy::U64);
        let (a, b) = (self.value(a), self.value(b));
        let scalar = self.b.func.ty(a).scalar().unwrap_or(ir::Scalar::I64);
        assert_eq!(scalar, elem.into(), "the comparison is of the operands' type");
        self.at(span);
        self.b.compare(compare_op(op, elem), a, b)
    }

    /// The scalar of a number or vector.
    pub(super) fn element(&self, ty: hir::Ty) -> hir::ScalarTy {
        match self.types().element(ty) {
            Some(element) => element,
            None => panic!("lowering took `{}` for a number", self.types().display(ty)),
        }
    }

    /// An index as another integer.
    pub(super) fn index(&mut self, index: &hir::Expr, to: hir::ScalarTy) -> ir::Value {
        let scalar = self.types().scalar_repr(index.ty.ty);
        let scalar = scalar.filter(|scalar| !scalar.is_float()).expect("an index is an integer");
        let index = self.value(index);
        self.convert_scalar(index, scalar, to)
    }

    /// Whether an expression may be evaluated without need.
    fn may_evaluate(&self, expr: &hir::Expr) -> bool {
        if self.module.for_sanitizer { is_constant(expr) } else { is_cheap(expr) }
    }

    fn logical(&mut self, op: LogicalOp, a: &hir::Expr, b: &hir::Expr) -> ir::Value {
        let left = self.value(a);
        if self.may_evaluate(b) {
            let right = self.value(b);
            let op = if op == LogicalOp::And { ir::BinOp::And } else { ir::BinOp::Or };
            return self.b.binary(op, left, right);
        }
        let slot = self.temporary(hir::Ty::BOOL);
        self.b.store(slot, left, 1);
        let right = |f: &mut Self| {
            let right = f.value(b);
            f.b.store(slot, right, 1);
        };
        match op {
            LogicalOp::And => self.branch(left, right, |_| {}),
            LogicalOp::Or => self.branch(left, |_| {}, right),
        }
        self.b.load(slot, ir::Type::BOOL, 1)
    }

    fn conditional(&mut self, cond: &hir::Expr, a: &hir::Expr, b: &hir::Expr, ty: hir::Ty) -> ir::Value {
        let cond = self.value(cond);
        if self.may_evaluate(a) && self.may_evaluate(b) {
            let (a, b) = (self.value(a), self.value(b));
            return self.b.infer(ir::Op::Select(cond, a, b));
        }
        let slot = self.temporary(ty);
        let align = self.access_align(ty);
        let side = |side: &hir::Expr, f: &mut Self| {
            let value = f.value(side);
            f.b.store(slot, value, align);
        };
        self.branch(cond, |f| side(a, f), |f| side(b, f));
        let ty = self.value_type(ty);
        self.b.load(slot, ty, align)
    }

    /// An `if` whose sides are built by closures over this lowerer.
    pub(super) fn branch(
        &mut self,
        cond: ir::Value,
        then: impl FnOnce(&mut Self),
        otherwise: impl FnOnce(&mut Self),
    ) {
        let loc = self.b.loc;
        let then = self.nested(then);
        let otherwise = self.nested(otherwise);
        self.b.loc = loc;
        self.b.push(ir::Op::branch(cond, then, otherwise));
    }

    /// Builds into a fresh block.
    pub(super) fn nested(&mut self, build: impl FnOnce(&mut Self)) -> ir::Block {
        let block = self.b.func.add_block();
        let outer = self.b.switch_to(block);
        let targets = self.targets.len();
        build(self);
        assert_eq!(self.targets.len(), targets, "a loop or switch in the block is still open");
        let last = self.b.switch_to(outer);
        assert_eq!(last, block, "a nested block is built until its end, without another one after it");
        block
    }

    fn pointer_add(&mut self, pointer: &hir::Expr, index: &hir::Expr) -> ir::Value {
        let pointee = self.types().pointee(pointer.ty.ty).expect("pointer arithmetic is on pointers");
        let size = self.types().layout(pointee.ty).size;
        let base = self.value(pointer);
        let index = self.value(index);
        match self.b.func.as_const(index) {
            Some(index) => self.b.ptr_offset(base, (index as i64).wrapping_mul(size as i64)),
            None => self.b.ptr_index(base, index, size as u32),
        }
    }

    fn pointer_diff(&mut self, a: &hir::Expr, b: &hir::Expr) -> ir::Value {
        let pointee = self.types().pointee(a.ty.ty).expect("pointer arithmetic is on pointers");
        let size = self.types().layout(pointee.ty).size.max(1);
        let a = self.value(a);
        let a = self.b.cast(ir::CastOp::PtrToInt, a, ir::Type::I64);
        let b = self.value(b);
        let b = self.b.cast(ir::CastOp::PtrToInt, b, ir::Type::I64);
        let bytes = self.b.binary(ir::BinOp::Sub, a, b);
        let size = self.b.i64(size as i64);
        self.b.binary(ir::BinOp::SDiv, bytes, size)
    }

    /// Calls a function; aggregate results go to `into`.
    pub(super) fn call(
        &mut self,
        id: hir::FuncId,
        into: Option<ir::Value>,
        args: &[hir::Expr],
    ) -> Option<ir::Value> {
        let loc = self.b.loc;
        let Some(instance) = self.module.cycles.callee(self.instance, id) else {
            // The deepest copy of a function that calls itself.
            too_deep(&mut self.b);
            let ty = self.module.value_type(self.module.program.function(id).ret);
            return ty.map(|ty| self.b.value(ir::Op::Undef, ty));
        };
        let target = self.module.function_id(instance);
        let mut values: Vec<_> = into.into_iter().collect();
        for arg in args {
            let value = if self.module.is_aggregate(arg.ty.ty) {
                let copy = self.temporary(arg.ty.ty);
                self.into(arg, copy);
                copy
            } else {
                self.value(arg)
            };
            values.push(value);
        }
        self.b.loc = loc;
        if self.module.messages.logs(id) {
            values.extend(self.log_pointers());
        }
        if self.module.encoding.encodes(id) {
            values.push(self.encoding_pointer());
        }
        if self.module.textures.uses(id) {
            values.push(self.texture_record());
        }
        // A function that is being written is out of the module.
        let callee = self.module.module.function(target);
        assert!(
            callee.name.is_empty() || callee.params.len() == values.len(),
            "{} has {} parameters, and is called with {values:?}",
            callee.name,
            callee.params.len(),
        );
        let op = ir::Op::Call(target, values);
        match self.module.value_type(self.module.program.function(id).ret) {
            Some(ty) => Some(self.b.value(op, ty)),
            None => {
                self.b.push(op);
                None
            }
        }
    }

    fn swizzle_value(&mut self, base: &hir::Expr, picks: &[u8]) -> ir::Value {
        if self.is_wide(base.ty.ty) {
            return self.wide_swizzle(base, picks);
        }
        let vector = self.value(base);
        if let ir::Type::Scalar(_) = self.b.func.ty(vector) {
            return match picks.len() {
                1 => vector,
                n => {
                    let ty = self.b.func.ty(vector).scalar().expect("a scalar");
                    self.b.value(ir::Op::Splat(vector), ir::Type::Vector(ty, n as u8))
                }
            };
        }
        match picks {
            [one] => self.b.infer(ir::Op::Extract(vector, *one)),
            _ => self.b.infer(ir::Op::Shuffle(vector, vector, picks.to_vec())),
        }
    }

    fn element_value(&mut self, base: &hir::Expr, index: &hir::Expr) -> ir::Value {
        if self.is_wide(base.ty.ty) {
            let place = self.stored_element(base, index);
            let (elem, _) = self.types().as_vector(base.ty.ty).expect("elements are of vectors");
            return self.read(&place, hir::QualTy::plain(hir::Ty::scalar(elem)));
        }
        let vector = self.value(base);
        let index = self.index(index, hir::ScalarTy::I32);
        let lanes = self.b.func.ty(vector).lanes();
        match self.b.func.as_const(index) {
            _ if lanes == 1 => vector,
            Some(index) => self.b.infer(ir::Op::Extract(vector, (index % u64::from(lanes)) as u8)),
            None => self.b.infer(ir::Op::ExtractDynamic(vector, index)),
        }
    }

    /// A column of a matrix that is a value: through memory.
    fn column_value(&mut self, base: &hir::Expr, index: &hir::Expr, expr: &hir::Expr) -> ir::Value {
        let ty = base.ty.ty;
        let (elem, _, rows) = self.types().as_matrix(ty).expect("columns are of matrices");
        let temporary = self.temporary(ty);
        self.into(base, temporary);
        let index = self.index(index, hir::ScalarTy::I64);
        let stride = self.types().column_stride(elem, rows);
        let ptr = self.b.ptr_index(temporary, index, stride as u32);
        let column = Place::Memory { ptr, align: elem.size() };
        self.read(&column, expr.ty)
    }
}

pub(super) fn unary_op(op: UnaryOp, elem: hir::ScalarTy) -> ir::UnOp {
    match op {
        UnaryOp::Neg if elem.is_float() => ir::UnOp::FNeg,
        UnaryOp::Neg => ir::UnOp::INeg,
        UnaryOp::BitNot | UnaryOp::Not => ir::UnOp::Not,
    }
}

pub(super) fn binary_op(op: BinaryOp, elem: hir::ScalarTy) -> ir::BinOp {
    use ir::BinOp as B;
    let signed = elem.is_signed();
    match op {
        BinaryOp::Add if elem.is_float() => B::FAdd,
        BinaryOp::Sub if elem.is_float() => B::FSub,
        BinaryOp::Mul if elem.is_float() => B::FMul,
        BinaryOp::Div if elem.is_float() => B::FDiv,
        BinaryOp::Rem if elem.is_float() => B::FRem,
        BinaryOp::Add => B::Add,
        BinaryOp::Sub => B::Sub,
        BinaryOp::Mul => B::Mul,
        BinaryOp::Div if signed => B::SDiv,
        BinaryOp::Div => B::UDiv,
        BinaryOp::Rem if signed => B::SRem,
        BinaryOp::Rem => B::URem,
        BinaryOp::Shl => B::Shl,
        BinaryOp::Shr if signed => B::AShr,
        BinaryOp::Shr => B::LShr,
        BinaryOp::And => B::And,
        BinaryOp::Or => B::Or,
        BinaryOp::Xor => B::Xor,
    }
}

pub(super) fn compare_op(op: CompareOp, elem: hir::ScalarTy) -> ir::CmpOp {
    use ir::CmpOp as C;
    let pick = |float, signed, unsigned| {
        if elem.is_float() {
            float
        } else if elem.is_signed() {
            signed
        } else {
            unsigned
        }
    };
    match op {
        CompareOp::Eq => pick(C::FEq, C::Eq, C::Eq),
        CompareOp::Ne => pick(C::FNe, C::Ne, C::Ne),
        CompareOp::Lt => pick(C::FLt, C::SLt, C::ULt),
        CompareOp::Le => pick(C::FLe, C::SLe, C::ULe),
        CompareOp::Gt => pick(C::FGt, C::SGt, C::UGt),
        CompareOp::Ge => pick(C::FGe, C::SGe, C::UGe),
    }
}
