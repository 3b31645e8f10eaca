//! Lowers operations on memory, on SIMD-groups and barriers.

use anymetal_ir::{AtomicOp, BarrierScope, Local, MatrixOp, Op, PrefetchHint, SimdOp, Type, Value};

use super::Persistent;
use super::lower::{Components, Lowering};
use super::step::{Element, Slot, Step};
use crate::InterpError;

impl Lowering<'_> {
    /// Locals whose lifetime no instruction starts begin with the function.
    pub(super) fn start_locals(&mut self) -> Result<(), InterpError> {
        let mut started = vec![false; self.function.locals.len()];
        for &inst in self.function.blocks.iter().flat_map(|block| &block.insts) {
            if let Op::LocalStart(local) = self.function.inst(inst).op {
                started[local.index()] = true;
            }
        }
        for (number, started) in (0u32..).zip(started) {
            if !started && self.promoted.local(Local(number)).is_none() {
                let region = self.layout.local(self.module, self.id, Local(number))?;
                self.emit(Step::LocalStart { region });
            }
        }
        Ok(())
    }

    fn region(&mut self, number: u32) -> Components {
        let region = self.tables.persistent(Persistent::Bits(u64::from(number)));
        Components::new(&[region, self.tables.persistent(Persistent::Bits(0))])
    }

    /// An operation with a result that is not pure arithmetic.
    pub(super) fn access(&mut self, op: &Op, ty: Type) -> Result<Components, InterpError> {
        Ok(match op {
            Op::LocalAddr(local) => {
                let number = self.layout.local(self.module, self.id, *local)?;
                self.region(number)
            }
            Op::ThreadgroupAddr(id) => {
                let number = self.layout.threadgroup(self.module, *id)?;
                self.region(number)
            }
            Op::GlobalAddr(id) => {
                let number = self.layout.global(self.module, *id)?;
                self.region(number)
            }
            Op::PtrAdd { base, index, scale, offset } => {
                let index = index.map(|index| self.scalar(index));
                self.pointer_add(self.pointer(*base), index, *scale, *offset)
            }
            Op::Load { ptr, align, .. } => {
                let result = self.fresh(ty);
                if let Some(local) = self.promoted.pointee(*ptr) {
                    assert_eq!(
                        result.all().len(),
                        local.all().len(),
                        "{ptr} is read as the type of its local"
                    );
                    for (&dst, &src) in result.all().iter().zip(local.all()) {
                        self.emit(Step::Move { dst, src });
                    }
                    return Ok(result);
                }
                let dst = self.tables.range(result.all());
                let element = self.element_at(*ptr, ty);
                let ptr = self.pointer(*ptr);
                self.emit(Step::Load { dst, ptr, element, align: *align });
                result
            }
            Op::AtomicLoad(ptr) => {
                let dst = self.fresh_slot();
                let ptr = self.pointer(*ptr);
                self.emit(Step::AtomicLoad { ty: ty.scalar().expect("a scalar"), dst, ptr });
                Components::new(&[dst])
            }
            Op::AtomicRmw(op, ptr, value) => self.atomic(*op, *ptr, *value),
            Op::AtomicCas(ptr, expected, desired) => {
                let dst = self.fresh_slot();
                let (ptr, ty) = (self.pointer(*ptr), self.element(*expected));
                let (expected, desired) = (self.scalar(*expected), self.scalar(*desired));
                self.emit(Step::AtomicCas { ty, dst, ptr, expected, desired });
                Components::new(&[dst])
            }
            Op::Simd(op, args) => self.simd(*op, args, ty),
            Op::Matrix(op, args) => self.matrix(*op, args, ty),
            _ => unreachable!("{op:?} has no result"),
        })
    }

    /// What an access through a pointer finds in memory.
    fn element_at(&self, ptr: Value, ty: Type) -> Element {
        if ty.is_ptr() && self.slots.is_slot(ptr) { Element::Slot } else { element_of(ty) }
    }

    /// An operation without a result.
    pub(super) fn effect(&mut self, op: &Op) -> Result<(), InterpError> {
        match op {
            Op::LocalStart(local) if self.promoted.local(*local).is_some() => {}
            Op::LocalStart(local) => {
                let region = self.layout.local(self.module, self.id, *local)?;
                self.emit(Step::LocalStart { region });
            }
            Op::Store { ptr, value, align, .. } => {
                let value_slots = self.components(*value);
                if let Some(local) = self.promoted.pointee(*ptr) {
                    let count = value_slots.all().len();
                    assert_eq!(count, local.all().len(), "{ptr} is written as the type of its local");
                    for (&dst, &src) in local.all().iter().zip(value_slots.all()) {
                        self.emit(Step::Merge { dst, src });
                    }
                    return Ok(());
                }
                let src = self.tables.range(value_slots.all());
                let element = self.element_at(*ptr, self.function.ty(*value));
                let ptr = self.pointer(*ptr);
                self.emit(Step::Store { src, ptr, element, align: *align });
            }
            Op::MemCopy { dst, src, size, align, pieces } => {
                let (dst, src) = (self.pointer(*dst), self.pointer(*src));
                self.emit(Step::MemCopy { dst, src, size: *size, align: *align, pieces: *pieces });
            }
            Op::MemZero { dst, size, align, pieces } => {
                let dst = self.pointer(*dst);
                self.emit(Step::MemZero { dst, size: *size, align: *align, pieces: *pieces });
            }
            Op::AtomicStore(ptr, value) => {
                let (ptr, ty, value) = (self.pointer(*ptr), self.element(*value), self.scalar(*value));
                self.emit(Step::AtomicStore { ty, ptr, value });
            }
            // The result may be unused.
            Op::AtomicRmw(op, ptr, value) => {
                self.atomic(*op, *ptr, *value);
            }
            Op::AtomicCas(_, expected, _) => {
                self.access(op, self.function.ty(*expected))?;
            }
            // Nothing is moved here anyway.
            Op::Barrier(BarrierScope::Thread, _) => {}
            Op::Barrier(scope, flags) => {
                let flags = flags.map(|flags| self.scalar(flags));
                self.emit(Step::Barrier { scope: *scope, flags });
            }
            Op::Fence(Some(operands)) => {
                let operands = operands.map(|operand| self.scalar(operand));
                self.emit(Step::Fence { operands });
            }
            Op::Matrix(MatrixOp::Store { transpose }, args) => {
                let src = self.components(args[2]);
                let (ptr, stride, ty) = (self.pointer(args[0]), self.scalar(args[1]), self.element(args[2]));
                let src = [src.at(0), src.at(1)];
                self.emit(Step::MatrixStore { src, ptr, stride, ty, transpose: *transpose });
            }
            // Fences without operands order nothing that is out of order here; the rest has no effect.
            Op::Prefetch { ptr, bytes, access: PrefetchHint::WriteWhole } => {
                let ptr = self.pointer(*ptr);
                self.emit(Step::WriteWhole { ptr, bytes: (*bytes).into() });
            }
            Op::Fence(None) | Op::Prefetch { .. } => {}
            _ => unreachable!("{op:?} has a result"),
        }
        Ok(())
    }

    fn atomic(&mut self, op: AtomicOp, ptr: Value, value: Value) -> Components {
        let dst = self.fresh_slot();
        let (ptr, ty, value) = (self.pointer(ptr), self.element(value), self.scalar(value));
        self.emit(Step::AtomicRmw { op, ty, dst, ptr, value });
        Components::new(&[dst])
    }

    fn simd(&mut self, op: SimdOp, args: &[Value], ty: Type) -> Components {
        let result = self.fresh(ty);
        let scalar = args.first().map_or(anymetal_ir::Scalar::Bool, |&value| self.element(value));
        let zero = self.tables.persistent(Persistent::Bits(0));
        for (n, &dst) in result.all().iter().enumerate() {
            let first = args.first().map_or(zero, |&arg| self.components(arg).at(n));
            let mut slots = [first; 4];
            for (slot, &arg) in slots.iter_mut().zip(args) {
                *slot = self.components(arg).at(n);
            }
            self.emit(Step::Simd { op, ty: scalar, dst, args: slots });
        }
        result
    }

    fn matrix(&mut self, op: MatrixOp, args: &[Value], ty: Type) -> Components {
        assert_eq!(ty.lanes(), 2, "a lane has two elements of a matrix");
        let result = self.fresh(ty);
        let dst = [result.at(0), result.at(1)];
        match op {
            MatrixOp::Load { transpose } => {
                let (ptr, stride) = (self.pointer(args[0]), self.scalar(args[1]));
                let ty = ty.scalar().expect("a vector of floats");
                self.emit(Step::MatrixLoad { dst, ptr, stride, ty, transpose });
            }
            MatrixOp::MultiplyAccumulate => {
                let mut slots: Vec<Slot> = dst.to_vec();
                slots.extend(args.iter().flat_map(|&arg| [0, 1].map(|n| self.components(arg).at(n))));
                let types = [0, 1, 2].map(|n| self.element(args[n]));
                let operands = self.tables.range(&slots);
                self.emit(Step::MatrixMultiply { operands, types });
            }
            MatrixOp::Store { .. } => unreachable!("a store has no result"),
        }
        result
    }
}

fn element_of(ty: Type) -> Element {
    match ty {
        Type::Scalar(scalar) | Type::Vector(scalar, _) => Element::of(scalar),
        Type::Ptr(space) => Element::Pointer(space),
    }
}
