//! Lowers operations without effect. Many need no step at all: vectors are just lists of components.

use anymetal_ir::{CastOp, CmpOp, MathFn, Op, Scalar, Type, Value};

use super::Persistent;
use super::lower::{Components, Lowering};
use super::step::{Check, Element, PtrSlots, Slot, Step};
use crate::InterpError;
use crate::lanes;
use crate::machine::UNDEFINED_BYTE;

impl Lowering<'_> {
    /// Any operation but control flow.
    pub(super) fn plain(&mut self, op: &Op, result: Option<Value>) -> Result<(), InterpError> {
        let Some(result) = result else {
            // It is executed for its effect.
            return self.effect(op);
        };
        let ty = self.function.ty(result);
        let components = match op {
            Op::Const(bits) => self.constant(*bits, ty),
            Op::Undef => self.constant(undefined(ty), ty),
            // Specialisation replaces these; remaining ones count as undefined.
            Op::FunctionConstant(_) | Op::FunctionConstantDefined(_) => self.constant(0, ty),
            Op::Query(query) => Components::new(&[self.tables.persistent(Persistent::Query(*query))]),
            Op::Unary(..) | Op::Binary(..) | Op::Select(..) | Op::Math(..) => self.elementwise(op, ty),
            Op::Compare(op, a, b) => self.compare(*op, *a, *b, ty),
            Op::Cast(op, a) => self.cast(*op, *a, ty),
            Op::Splat(a) => {
                let slot = self.scalar(*a);
                Components::new(&[slot; 4][..usize::from(ty.lanes())])
            }
            Op::Compose(parts) => {
                let slots: Vec<Slot> =
                    parts.iter().flat_map(|&part| self.components(part).all().to_vec()).collect();
                Components::new(&slots)
            }
            Op::Extract(a, element) => Components::new(&[self.components(*a).all()[usize::from(*element)]]),
            Op::Insert(a, element, value) => {
                let mut slots = self.components(*a).all().to_vec();
                slots[usize::from(*element)] = self.scalar(*value);
                Components::new(&slots)
            }
            Op::Shuffle(a, b, picks) => {
                let both = [self.components(*a).all(), self.components(*b).all()].concat();
                let slots: Vec<Slot> = picks.iter().map(|&pick| both[usize::from(pick)]).collect();
                Components::new(&slots)
            }
            Op::ExtractDynamic(a, index) => self.extract_dynamic(*a, *index),
            Op::InsertDynamic(a, index, value) => self.insert_dynamic(*a, *index, *value),
            _ => self.access(op, ty)?,
        };
        self.define(result, components);
        Ok(())
    }

    fn constant(&mut self, bits: u64, ty: Type) -> Components {
        let slot = self.tables.persistent(Persistent::Bits(bits));
        if ty.is_ptr() {
            Components::new(&[slot, self.tables.persistent(Persistent::Bits(0))])
        } else {
            Components::new(&[slot; 4][..usize::from(ty.lanes())])
        }
    }

    fn elementwise(&mut self, op: &Op, ty: Type) -> Components {
        let result = self.fresh(ty);
        for (n, &dst) in result.all().iter().enumerate() {
            let at = |value: Value| self.components(value).at(n);
            let step = match op {
                Op::Unary(op, a) => {
                    let (a, ty) = (at(*a), self.element(*a));
                    match lanes::unary(*op, ty) {
                        Some(apply) => Step::Apply1 { apply, check: Check::Nothing, dst, a },
                        None => Step::Unary { op: *op, ty, dst, a },
                    }
                }
                Op::Binary(op, a, b) => {
                    let (a, b, ty) = (at(*a), at(*b), self.element(*a));
                    match lanes::binary(*op, ty) {
                        Some(apply) => Step::Apply2 { apply, check: Check::of_binary(*op, ty), dst, a, b },
                        None => Step::Binary { op: *op, ty, dst, a, b },
                    }
                }
                Op::Select(cond, a, b) => {
                    let (apply, check) = (lanes::SELECT, Check::Nothing);
                    Step::Apply3 { apply, check, dst, a: at(*cond), b: at(*a), c: at(*b) }
                }
                Op::Math(function, args) => self.math(*function, args, n, dst),
                _ => unreachable!("not elementwise"),
            };
            self.emit(step);
        }
        result
    }

    fn math(&self, function: MathFn, args: &[Value], n: usize, dst: Slot) -> Step {
        let ty = self.element(args[0]);
        // Operands beyond the function's own are not read.
        let at = |position: usize| self.components(*args.get(position).unwrap_or(&args[0])).at(n);
        let all = [at(0), at(1), at(2)];
        let [a, b, c] = all;
        if let Some(apply) = lanes::math1(function, ty) {
            Step::Apply1 { apply, check: Check::of_math(function, ty), dst, a }
        } else if let Some(apply) = lanes::math3(function, ty) {
            Step::Apply3 { apply, check: Check::of_math(function, ty), dst, a, b, c }
        } else {
            Step::Math { function, ty, arity: args.len() as u8, dst, args: all }
        }
    }

    /// The scalar of a value that is not a pointer.
    pub(super) fn element(&self, value: Value) -> Scalar {
        scalar_of(self.function.ty(value))
    }

    fn compare(&mut self, op: CmpOp, a: Value, b: Value, ty: Type) -> Components {
        let result = self.fresh(ty);
        if self.function.ty(a).is_ptr() {
            let (a, b) = (self.pointer(a), self.pointer(b));
            self.emit(Step::ComparePtr { op, dst: result.all()[0], a, b });
            return result;
        }
        let scalar = self.element(a);
        for (n, &dst) in result.all().iter().enumerate() {
            let (a, b) = (self.components(a).at(n), self.components(b).at(n));
            let step = match lanes::compare(op, scalar) {
                Some(apply) => Step::Apply2 { apply, check: Check::Nothing, dst, a, b },
                None => Step::Compare { op, ty: scalar, dst, a, b },
            };
            self.emit(step);
        }
        result
    }

    fn cast(&mut self, op: CastOp, a: Value, ty: Type) -> Components {
        let from_ty = self.function.ty(a);
        let source = self.components(a);
        match (from_ty.is_ptr(), ty.is_ptr()) {
            (true, true) => return source,
            (true, false) => {
                let dst = self.fresh_slot();
                self.emit(Step::PackPtr { dst, ptr: source.pointer() });
                return Components::new(&[dst]);
            }
            (false, true) => {
                let result = self.fresh(ty);
                let Type::Ptr(space) = ty else { unreachable!("the result is a pointer") };
                self.emit(Step::UnpackPtr { dst: result.pointer(), space, bits: source.all()[0] });
                return result;
            }
            (false, false) => {}
        }
        let (from, to) = (self.element(a), scalar_of(ty));
        if op == CastOp::Bitcast && (from.size() != to.size() || (to == Scalar::Bool && from != to)) {
            return self.repack(source, from, ty, to);
        }
        // Zero-extended bits already are the wider integer, and the other type of the same size.
        if matches!(op, CastOp::ZExt | CastOp::Bitcast) {
            return source;
        }
        self.converted(op, source, (from, to), ty)
    }

    /// Each component by itself.
    pub(super) fn converted(
        &mut self,
        op: CastOp,
        source: Components,
        (from, to): (Scalar, Scalar),
        ty: Type,
    ) -> Components {
        if op == CastOp::FCast && from == to {
            return source;
        }
        let result = self.fresh(ty);
        for (n, &dst) in result.all().iter().enumerate() {
            let a = source.at(n);
            let step = match lanes::cast(op, from, to) {
                Some(apply) => Step::Apply1 { apply, check: Check::of_cast(op, from, to), dst, a },
                None => Step::Cast { op, from, to, dst, a },
            };
            self.emit(step);
        }
        result
    }

    fn repack(&mut self, source: Components, from: Scalar, ty: Type, to: Scalar) -> Components {
        let result = self.fresh(ty);
        let (src, dst) = (self.tables.range(source.all()), self.tables.range(result.all()));
        self.emit(Step::Repack { dst, src, to: Element::of(to), from: Element::of(from) });
        result
    }

    fn extract_dynamic(&mut self, a: Value, index: Value) -> Components {
        let dst = self.fresh_slot();
        let from = self.tables.range(self.components(a).all());
        self.emit(Step::Pick { dst, index: self.scalar(index), from });
        Components::new(&[dst])
    }

    fn insert_dynamic(&mut self, a: Value, index: Value, value: Value) -> Components {
        let old = self.components(a);
        let result = self.fresh(self.function.ty(a));
        let (index, value) = (self.scalar(index), self.scalar(value));
        let count = old.all().len() as u8;
        for (position, (&dst, &old)) in (0u8..).zip(result.all().iter().zip(old.all())) {
            self.emit(Step::Replace { dst, index, value, old, position, count });
        }
        result
    }

    /// `PtrAdd`: the region stays, only the offset is computed.
    pub(super) fn pointer_add(
        &mut self,
        base: PtrSlots,
        index: Option<Slot>,
        scale: u32,
        offset: i64,
    ) -> Components {
        let dst = self.fresh_slot();
        self.emit(match index {
            Some(index) => Step::PtrIndex { dst, base: base.offset, index, scale, offset },
            None => Step::PtrOffset { dst, base: base.offset, offset },
        });
        Components::new(&[base.region, dst])
    }
}

/// The scalar of a number or a vector.
pub(super) fn scalar_of(ty: Type) -> Scalar {
    match ty.scalar() {
        Some(scalar) => scalar,
        None => panic!("the verifier admits only numbers here, not {ty}"),
    }
}

/// What an undefined value is here: the pattern of undefined memory; `true`; the null pointer.
fn undefined(ty: Type) -> u64 {
    match ty.scalar() {
        None => 0,
        Some(Scalar::Bool) => 1,
        Some(scalar) => u64::from_le_bytes([UNDEFINED_BYTE; 8]) & (u64::MAX >> (64 - scalar.bits())),
    }
}
