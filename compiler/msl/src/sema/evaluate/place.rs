//! Expressions as places: where variables, members, elements and temporaries are.
//!
//! Invariant: a variable has one address as long as its frame lives.

use super::machine::{Fail, Machine};
use super::memory::{Address, Place, Val};
use super::value_to_bytes;
use crate::hir::{Expr, ExprKind, LocalId, ScalarTy, Ty};
use anymetal_diagnostics::Span;

impl Machine<'_, '_> {
    fn local(&mut self, local: LocalId, span: Span) -> Result<Address, Fail> {
        if let Some(&at) = self.frames.last().and_then(|frame| frame.get(&local)) {
            return Ok(at);
        }
        if self.frames.len() == 1 {
            // A variable of the function being checked: only constants are known.
            let function = self.facts.function;
            if let Some(value) = self.facts.constants.get(function.serial, local) {
                let bytes = value_to_bytes(self.types, function.local_ty(local), value);
                let at = self.hold_bytes(bytes, span)?;
                self.frames[0].insert(local, at);
                return Ok(at);
            }
        }
        Err(self.fail(span, "the value of a variable is not known at compile time"))
    }

    pub(super) fn place(&mut self, expr: &Expr) -> Result<Place, Fail> {
        self.deeper(expr.span, |m| m.place_inner(expr))
    }

    fn place_inner(&mut self, expr: &Expr) -> Result<Place, Fail> {
        let span = expr.span;
        let ty = expr.ty.ty;
        match &expr.kind {
            // An object without members has no value that would have to be known, whichever object it is.
            ExprKind::Local(_) | ExprKind::Deref(_) if self.is_empty_class(ty) => {
                let size = self.types.layout(ty).size;
                Ok(Place::Memory(self.allocate(size, span)?, ty))
            }
            ExprKind::Local(local) => Ok(Place::Memory(self.local(*local, span)?, ty)),
            ExprKind::Global(global) => Ok(Place::Memory(Address::of_global(*global), ty)),
            ExprKind::Deref(pointer) => Ok(Place::Memory(self.address(pointer)?, ty)),
            ExprKind::Field(base, record, index) => {
                let base = self.memory_of(base)?;
                let field = &self.types.record(*record).fields[*index as usize];
                let at = base.plus(field.offset as i64);
                Ok(field.bits.map_or(Place::Memory(at, ty), |bits| Place::Bits(at, ty, bits)))
            }
            ExprKind::Element(base, index) => {
                let stride = self.types.layout(ty).size;
                Ok(Place::Memory(self.indexed(base, index, stride)?, ty))
            }
            ExprKind::Column(base, index) => {
                let Some((elem, _, rows)) = self.types.as_matrix(base.ty.ty) else {
                    return Err(self.fail(span, "an unexpected type"));
                };
                let stride = self.types.column_stride(elem, rows);
                Ok(Place::Memory(self.indexed(base, index, stride)?, ty))
            }
            ExprKind::Swizzle(base, picks) => self.swizzle_place(base, picks, span),
            ExprKind::VectorElement(base, index) => {
                let (elem, len) = self.vector_type(base.ty.ty, span)?;
                let at = self.memory_of(base)?;
                let index = self.scalar(index)? % u64::from(len);
                Ok(Place::Elements(at, elem, vec![index as u8]))
            }
            ExprKind::Materialize(value) => {
                let held = self.value(value)?;
                Ok(Place::Memory(self.hold(&held, ty, span)?, ty))
            }
            ExprKind::Assign(target, value) => {
                let value = self.value(value)?;
                let target = self.place(target)?;
                self.store(&target, &value, span)?;
                Ok(target)
            }
            ExprKind::Update { .. } => self.update(expr).map(|(place, _)| place),
            ExprKind::Let(local, init, body) => {
                self.bind(*local, init.as_deref(), span)?;
                self.place(body)
            }
            ExprKind::Comma(a, b) => {
                self.effect(a)?;
                self.place(b)
            }
            ExprKind::Threadgroup(_) => {
                Err(self.fail(span, "threadgroup memory is not known at compile time"))
            }
            _ => Err(self.fail(span, "this is not known at compile time")),
        }
    }

    fn is_empty_class(&self, ty: Ty) -> bool {
        let record = self.types.as_record(ty).map(|record| self.types.record(record));
        record.is_some_and(|record| record.is_complete && record.fields.is_empty())
    }

    /// The address of an element: elements of this size are contiguous.
    pub(super) fn indexed(&mut self, base: &Expr, index: &Expr, stride: u64) -> Result<Address, Fail> {
        let at = self.memory_of(base)?;
        let index = self.scalar(index)? as i64;
        Ok(at.plus(index.wrapping_mul(stride as i64)))
    }

    fn swizzle_place(&mut self, base: &Expr, picks: &[u8], span: Span) -> Result<Place, Fail> {
        let (elem, _) = self.vector_type(base.ty.ty, span)?;
        Ok(match self.place(base)? {
            Place::Memory(at, _) => Place::Elements(at, elem, picks.to_vec()),
            Place::Elements(at, elem, inner) => {
                let picks = picks.iter().filter_map(|&n| inner.get(usize::from(n)).copied()).collect();
                Place::Elements(at, elem, picks)
            }
            Place::Bits(..) => return Err(self.fail(span, "an unexpected type")),
        })
    }

    /// The address of a place; a value is put into memory.
    pub(super) fn memory_of(&mut self, expr: &Expr) -> Result<Address, Fail> {
        if !expr.is_place {
            let value = self.value(expr)?;
            return self.hold(&value, expr.ty.ty, expr.span);
        }
        match self.place(expr)? {
            Place::Memory(at, _) => Ok(at),
            Place::Bits(..) => Err(self.fail(expr.span, "a bit-field has no address")),
            Place::Elements(at, elem, picks) => {
                let first = picks.first().copied().unwrap_or(0);
                Ok(at.plus(i64::from(first) * i64::from(elem.size())))
            }
        }
    }

    /// Gives a variable its memory and, if it has one, its initial value.
    pub(super) fn bind(&mut self, local: LocalId, init: Option<&Expr>, span: Span) -> Result<(), Fail> {
        let at = match init {
            Some(init) => {
                let value = self.value(init)?;
                self.hold(&value, init.ty.ty, span)?
            }
            None => self.allocate(self.types.layout(Ty::LONG).size, span)?,
        };
        self.bind_to(local, at);
        Ok(())
    }

    pub(super) fn bind_to(&mut self, local: LocalId, at: Address) {
        if let Some(frame) = self.frames.last_mut() {
            frame.insert(local, at);
        }
    }

    /// A compound assignment: the place it changed and the value from before.
    pub(super) fn update(&mut self, expr: &Expr) -> Result<(Place, Val), Fail> {
        let ExprKind::Update { rhs, place, old, value, .. } = &expr.kind else {
            return Err(self.fail(expr.span, "an unexpected expression"));
        };
        if let Some((local, rhs)) = rhs {
            self.bind(*local, Some(rhs), expr.span)?;
        }
        let ty = place.ty.ty;
        let target = self.place(place)?;
        let before = self.load(&target, expr.span)?;
        let at = self.hold(&before, ty, expr.span)?;
        self.bind_to(*old, at);
        let after = self.value(value)?;
        self.store(&target, &after, expr.span)?;
        // The temporary is dead.
        let size = self.types.layout(ty).size as usize;
        self.bytes_used = self.bytes_used.saturating_sub(size);
        Ok((target, before))
    }

    fn vector_type(&self, ty: Ty, span: Span) -> Result<(ScalarTy, u8), Fail> {
        self.types.as_vector(ty).ok_or_else(|| self.fail(span, "an unexpected type"))
    }
}
