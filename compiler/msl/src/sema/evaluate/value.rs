//! Expressions as values: one function per group of them, called by [`Machine::value`].

use super::machine::{Fail, Machine};
use super::memory::{Address, Val};
use crate::hir::{Expr, ExprKind, LogicalOp, Ty, TyKind};
use anymetal_diagnostics::Span;

impl Machine<'_, '_> {
    pub(super) fn address(&mut self, expr: &Expr) -> Result<Address, Fail> {
        match self.value(expr)? {
            Val::Pointer(at) => Ok(at),
            _ => Err(self.fail(expr.span, "a pointer is not known at compile time")),
        }
    }

    pub(super) fn scalar(&mut self, expr: &Expr) -> Result<u64, Fail> {
        match self.value(expr)? {
            Val::Scalar(bits) => Ok(bits),
            _ => Err(self.fail(expr.span, "an unexpected value")),
        }
    }

    pub(super) fn flag(&mut self, expr: &Expr) -> Result<bool, Fail> {
        Ok(self.scalar(expr)? != 0)
    }

    /// The elements of a scalar or vector.
    pub(super) fn elements(&mut self, expr: &Expr) -> Result<Vec<u64>, Fail> {
        match self.value(expr)? {
            Val::Scalar(bits) => Ok(vec![bits]),
            Val::Vector(elements) => Ok(elements),
            _ => Err(self.fail(expr.span, "an unexpected value")),
        }
    }

    /// Elements as a value of a type.
    pub(super) fn pack(&self, ty: Ty, elements: Vec<u64>) -> Val {
        match (self.types.as_vector(ty), elements.as_slice()) {
            (None, &[one]) => Val::Scalar(one),
            _ => Val::Vector(elements),
        }
    }

    pub(super) fn effect(&mut self, expr: &Expr) -> Result<(), Fail> {
        if expr.is_place { self.place(expr).map(|_| ()) } else { self.value(expr).map(|_| ()) }
    }

    pub(super) fn value(&mut self, expr: &Expr) -> Result<Val, Fail> {
        self.deeper(expr.span, |m| m.value_inner(expr))
    }

    fn value_inner(&mut self, expr: &Expr) -> Result<Val, Fail> {
        let span = expr.span;
        let ty = expr.ty.ty;
        match &expr.kind {
            ExprKind::Const(value) => Ok(Val::of(value)),
            ExprKind::Zero => self.zero(ty, span),
            ExprKind::Undef => Err(self.fail(span, "this value was never given")),
            ExprKind::Load(place) => {
                let place = self.place(place)?;
                self.load(&place, span)
            }
            ExprKind::ArrayDecay(place)
                if matches!(place.kind, ExprKind::Field(..))
                    && matches!(self.types.as_array(place.ty.ty), Some((_, 0))) =>
            {
                Err(self.fail(span, "an array without a bound is not known at compile time"))
            }
            ExprKind::AddressOf(place) | ExprKind::ArrayDecay(place) => {
                self.memory_of(place).map(Val::Pointer)
            }
            ExprKind::Unary(op, a) => self.unary(*op, a),
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, span),
            ExprKind::Compare(op, a, b) => self.compare(*op, a, b, span),
            ExprKind::Logical(op, a, b) => {
                let a = self.flag(a)?;
                if a == (*op == LogicalOp::Or) { Ok(Val::Scalar(u64::from(a))) } else { self.value(b) }
            }
            ExprKind::Conditional(cond, a, b) => {
                let chosen = if self.flag(cond)? { a } else { b };
                self.value(chosen)
            }
            ExprKind::Select(cond, a, b) => self.select(cond, a, b),
            ExprKind::Cast(kind, a) => self.cast(*kind, a, ty, span),
            ExprKind::PointerAdd(pointer, index) => self.pointer_add(pointer, index, ty),
            ExprKind::PointerDiff(a, b) => self.pointer_difference(a, b, span),
            ExprKind::Vector(parts) => self.vector(parts),
            ExprKind::Matrix(columns) => self.concatenated(columns, ty, span),
            ExprKind::Struct(values) => self.record(values, ty, span),
            // All members begin at the union's own address.
            ExprKind::Union(member, value) => self.union(*member as usize, value, ty, span),
            ExprKind::Array(values) => self.array(values, ty, span),
            ExprKind::Construct(func, args) => self.construct(*func, args, ty, span),
            ExprKind::Call(func, args) => {
                let args = args.iter().map(|arg| self.value(arg)).collect::<Result<_, _>>()?;
                self.call(*func, args, span)
            }
            ExprKind::Builtin(id, args) => self.builtin(*id, args, ty, span),
            ExprKind::FunctionConstant(_) | ExprKind::FunctionConstantDefined(_) => {
                Err(self.fail(span, "a function constant is not known before the pipeline is made"))
            }
            ExprKind::ThreadFact { .. } => Err(self.fail(span, "it differs between threads")),
            ExprKind::Resource(_) => Err(self.fail(span, "the host binds a resource to each launch")),
            ExprKind::Update { .. } => self.update(expr).map(|(_, before)| before),
            ExprKind::Let(local, init, body) => {
                self.bind(*local, init.as_deref(), span)?;
                self.value(body)
            }
            ExprKind::Comma(a, b) => {
                self.effect(a)?;
                self.value(b)
            }
            ExprKind::Column(base, index) => {
                let stride = self.types.layout(ty).size;
                let at = self.indexed(base, index, stride)?;
                self.load_memory(at, ty, span)
            }
            ExprKind::Swizzle(base, picks) => self.swizzle(base, picks, ty, span),
            ExprKind::VectorElement(base, index) => self.vector_element(base, index, span),
            ExprKind::Error => Err(self.fail(span, "an erroneous expression")),
            _ => Err(self.fail(span, "this is not known at compile time")),
        }
    }

    fn select(&mut self, cond: &Expr, a: &Expr, b: &Expr) -> Result<Val, Fail> {
        let (cond, a, b) = (self.elements(cond)?, self.elements(a)?, self.elements(b)?);
        let picked = cond.iter().zip(a.iter().zip(&b)).map(|(&c, (&a, &b))| if c != 0 { a } else { b });
        Ok(Val::Vector(picked.collect()))
    }

    fn swizzle(&mut self, base: &Expr, picks: &[u8], ty: Ty, span: Span) -> Result<Val, Fail> {
        let base = self.elements(base)?;
        let picked: Option<Vec<u64>> = picks.iter().map(|&n| base.get(usize::from(n)).copied()).collect();
        match picked {
            Some(picked) => Ok(self.pack(ty, picked)),
            None => Err(self.fail(span, "an unexpected value")),
        }
    }

    fn vector_element(&mut self, base: &Expr, index: &Expr, span: Span) -> Result<Val, Fail> {
        let base = self.elements(base)?;
        let index = self.scalar(index)? as usize % base.len().max(1);
        match base.get(index) {
            Some(&bits) => Ok(Val::Scalar(bits)),
            None => Err(self.fail(span, "an unexpected value")),
        }
    }

    fn vector(&mut self, parts: &[Expr]) -> Result<Val, Fail> {
        let mut elements = Vec::new();
        for part in parts {
            elements.extend(self.elements(part)?);
        }
        Ok(Val::Vector(elements))
    }

    fn zero(&mut self, ty: Ty, span: Span) -> Result<Val, Fail> {
        match *self.types.kind(ty) {
            TyKind::Void => Ok(Val::Void),
            _ => {
                let size = self.types.layout(ty).size;
                let at = self.allocate(size, span)?;
                self.load_memory(at, ty, span)
            }
        }
    }

    /// The bytes of values one after the other, filled up to the type's size.
    fn concatenated(&mut self, parts: &[Expr], ty: Ty, span: Span) -> Result<Val, Fail> {
        let mut bytes = Vec::new();
        for part in parts {
            let value = self.value(part)?;
            bytes.extend(self.bytes_of(&value, part.ty.ty, span)?);
        }
        bytes.resize(self.types.layout(ty).size as usize, 0);
        Ok(Val::Bytes(bytes))
    }

    fn record(&mut self, values: &[Expr], ty: Ty, span: Span) -> Result<Val, Fail> {
        let Some(record) = self.types.as_record(ty) else {
            return Err(self.fail(span, "an unexpected type"));
        };
        let size = self.types.layout(ty).size;
        let at = self.allocate(size, span)?;
        for (n, value) in values.iter().enumerate() {
            let held = self.value(value)?;
            self.store_member(at, (record, n), value.ty.ty, &held, span)?;
        }
        self.load_memory(at, ty, span)
    }

    fn union(&mut self, member: usize, value: &Expr, ty: Ty, span: Span) -> Result<Val, Fail> {
        let Some(record) = self.types.as_record(ty) else {
            return Err(self.fail(span, "an unexpected type"));
        };
        let held = self.value(value)?;
        let size = self.types.layout(ty).size;
        let at = self.allocate(size, span)?;
        self.store_member(at, (record, member), value.ty.ty, &held, span)?;
        self.load_memory(at, ty, span)
    }

    fn array(&mut self, values: &[Expr], ty: Ty, span: Span) -> Result<Val, Fail> {
        let Some((elem, _)) = self.types.as_array(ty) else {
            return Err(self.fail(span, "an unexpected type"));
        };
        let layout = self.types.layout(ty);
        let stride = self.types.layout(elem).size as i64;
        let at = self.allocate(layout.size, span)?;
        for (n, value) in values.iter().enumerate() {
            let held = self.value(value)?;
            self.store_memory(at.plus(n as i64 * stride), elem, &held, span)?;
        }
        self.load_memory(at, ty, span)
    }
}
