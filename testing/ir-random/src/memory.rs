//! Random accesses: locals, the thread's own bytes, the input, counters.
//!
//! Memory that is written as floats is only read as floats: the bits of a NaN are not defined.

use crate::values::Entry;
use crate::{BYTES_PER_THREAD, COUNTERS, Generator, INPUT_BYTES, PARAMS_BYTES};
use anymetal_ir::CastOp;
use anymetal_ir::{AtomicOp, BinOp, Builder, Local, Op, Scalar, Type, Value};

/// Where a variable lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Base {
    Local(Local),
    /// Memory that the caller passed.
    Pointer(Value),
}

/// Memory of this thread that is in scope: an array of one type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    base: Base,
    /// Where the array begins.
    offset: u32,
    ty: Type,
    count: u32,
    /// Bytes from one element to the next.
    stride: u32,
    /// Bytes of all that shares the base, if it may be copied as one.
    record: Option<u32>,
}

impl Variable {
    fn align(self) -> u32 {
        element_align(self.ty)
    }
}

/// What callers pass helpers to write to: this many `i32`s.
pub(crate) const SCRATCH_WORDS: u32 = 4;

/// Bytes from one element of an array to the next.
fn element_step(ty: Type) -> u32 {
    ty.size().next_power_of_two()
}

fn element_align(ty: Type) -> u32 {
    element_step(ty).min(16)
}

impl Generator {
    /// Declares and initialises a local: a scalar, a vector, or an array.
    pub(crate) fn declare(&mut self, b: &mut Builder<'_>) {
        let ty = self.any_type();
        let count = if self.rng.one_in(3) { 2 + self.rng.below(4) as u32 } else { 1 };
        let stride = element_step(ty);
        let local = b.func.add_local("x", u64::from(stride * count), element_align(ty));
        let record = Some(stride * count);
        let variable = Variable { base: Base::Local(local), offset: 0, ty, count, stride, record };
        b.push(Op::LocalStart(local));
        if count > 1 {
            let dst = b.local_addr(local);
            b.mem_zero(dst, u64::from(stride * count), variable.align());
        } else {
            let entry = self.value_of(b, ty);
            let ptr = b.local_addr(local);
            b.store(ptr, entry.value, variable.align());
        }
        self.variables.push(variable);
    }

    fn address(&mut self, b: &mut Builder<'_>, variable: Variable) -> Value {
        let base = match variable.base {
            Base::Local(local) => b.local_addr(local),
            Base::Pointer(value) => value,
        };
        b.ptr_offset(base, i64::from(variable.offset))
    }

    /// Declares a struct of integers, filled with zeros or from the thread's own bytes.
    pub(crate) fn declare_record(&mut self, b: &mut Builder<'_>) {
        let local = b.func.add_local("s", 0, 16);
        b.push(Op::LocalStart(local));
        let mut fields = Vec::new();
        let mut end = 0u32;
        for _ in 0..2 + self.rng.below(3) {
            let ty = self.readable_type();
            let align = element_align(ty);
            let offset = end.next_multiple_of(align);
            let stride = element_step(ty);
            end = offset + stride;
            fields.push(Variable {
                base: Base::Local(local),
                offset,
                ty,
                count: 1,
                stride: align,
                record: None,
            });
        }
        let size = end.next_multiple_of(16);
        b.func.locals[local.index()].size = u64::from(size);
        let dst = b.local_addr(local);
        match self.pointers.own.filter(|_| size <= BYTES_PER_THREAD && self.rng.one_in(2)) {
            Some(src) => b.mem_copy(dst, src, u64::from(size), 16),
            None => b.mem_zero(dst, u64::from(size), 16),
        }
        self.variables.extend(fields.into_iter().map(|field| Variable { record: Some(size), ..field }));
    }

    /// A new local for a helper to write to, and its address.
    pub(crate) fn scratch(&mut self, b: &mut Builder<'_>) -> Value {
        let size = SCRATCH_WORDS * 4;
        let local = b.func.add_local("scratch", u64::from(size), 4);
        b.push(Op::LocalStart(local));
        let dst = b.local_addr(local);
        b.mem_zero(dst, u64::from(size), 4);
        for word in 0..SCRATCH_WORDS {
            let (base, offset, ty) = (Base::Local(local), word * 4, Type::I32);
            self.variables.push(Variable { base, offset, ty, count: 1, stride: 4, record: Some(size) });
        }
        dst
    }

    /// What a helper sees of its caller's scratch.
    pub(crate) fn take_scratch(&mut self, pointer: Value) {
        let (base, ty) = (Base::Pointer(pointer), Type::I32);
        self.variables.push(Variable { base, offset: 0, ty, count: SCRATCH_WORDS, stride: 4, record: None });
        self.accumulator = Some(base);
    }

    /// Mixes a value into the accumulator, so that what computed it is not dead.
    pub(crate) fn observe(&mut self, b: &mut Builder<'_>, entry: Entry) {
        let Some(accumulator) = self.accumulator else { return };
        let element = match entry.ty {
            Type::Vector(scalar, n) => {
                let at = self.rng.below(usize::from(n)) as u8;
                let value = b.infer(Op::Extract(entry.value, at));
                Entry { value, ty: Type::Scalar(scalar), ..entry }
            }
            _ => entry,
        };
        let clean = self.clean(b, element);
        let bits = match element.ty {
            Type::I32 => clean,
            Type::F32 => b.cast(CastOp::Bitcast, clean, Type::I32),
            Type::I64 => b.cast(CastOp::Trunc, clean, Type::I32),
            Type::Scalar(Scalar::F16 | Scalar::Bf16) => {
                let bits = b.cast(CastOp::Bitcast, clean, Type::Scalar(Scalar::I16));
                b.cast(CastOp::ZExt, bits, Type::I32)
            }
            _ => b.cast(CastOp::ZExt, clean, Type::I32),
        };
        let ptr = match accumulator {
            Base::Local(local) => b.local_addr(local),
            Base::Pointer(value) => value,
        };
        let old = b.load(ptr, Type::I32, 4);
        let factor = b.i32(31);
        let product = b.binary(BinOp::Mul, old, factor);
        let new = b.binary(BinOp::Xor, product, bits);
        b.store(ptr, new, 4);
    }

    /// The kernel's accumulator.
    pub(crate) fn start_accumulator(&mut self, b: &mut Builder<'_>) {
        let local = b.func.add_local("accumulator", 4, 4);
        b.push(Op::LocalStart(local));
        let (ptr, zero) = (b.local_addr(local), b.i32(0));
        b.store(ptr, zero, 4);
        self.accumulator = Some(Base::Local(local));
    }

    /// Reads through a pointer that was itself in memory, or chosen by a condition.
    pub(crate) fn pointer_statement(&mut self, b: &mut Builder<'_>) {
        let Some(input) = self.pointers.input else { return };
        let mut pointers = Vec::new();
        for _ in 0..2 {
            let index = self.index_below(b, INPUT_BYTES / 4);
            let wide = self.widened(b, index.value);
            pointers.push(b.ptr_index(input, wide, 4));
        }
        let local = b.func.add_local("p", 8, 8);
        b.push(Op::LocalStart(local));
        let place = b.local_addr(local);
        b.store(place, pointers[0], 8);
        let cond = self.condition(b).0;
        if self.rng.one_in(2) {
            let chosen = b.infer(Op::Select(cond, pointers[0], pointers[1]));
            b.store(place, chosen, 8);
        } else {
            b.if_else(cond, |b| b.store(place, pointers[1], 8), |_| {});
        }
        let ptr = b.load(place, Type::Ptr(anymetal_ir::Space::Device), 8);
        let value = b.load(ptr, Type::I32, 4);
        self.add(value, Type::I32, false);
        let same = b.compare(anymetal_ir::CmpOp::Eq, ptr, pointers[0]);
        self.add(same, Type::BOOL, false);
    }

    /// A place in a variable: an element at a constant or computed index.
    fn element(&mut self, b: &mut Builder<'_>, variable: Variable) -> Value {
        let base = self.address(b, variable);
        if variable.count == 1 {
            return base;
        }
        if self.rng.one_in(2) {
            let n = self.rng.below(variable.count as usize) as i64;
            return b.ptr_offset(base, n * i64::from(variable.stride));
        }
        let limit = if self.goes_outside() { variable.count + 2 } else { variable.count };
        let index = self.index_below(b, limit);
        let index = self.widened(b, index.value);
        b.ptr_index(base, index, variable.stride)
    }

    fn goes_outside(&mut self) -> bool {
        self.options.out_of_bounds && self.rng.one_in(8)
    }

    pub(crate) fn local_statement(&mut self, b: &mut Builder<'_>) {
        if self.variables.is_empty() {
            return self.declare(b);
        }
        let variables = self.variables.clone();
        let variable = self.rng.pick(&variables);
        match self.rng.below(8) {
            0..3 => {
                let ptr = self.element(b, variable);
                let value = b.load(ptr, variable.ty, variable.align());
                self.add(value, variable.ty, false);
            }
            3..6 => {
                let entry = self.value_of(b, variable.ty);
                let ptr = self.element(b, variable);
                b.store(ptr, entry.value, variable.align());
            }
            6 => self.partial_access(b, variable),
            _ => self.copy_local(b, variable),
        }
    }

    /// One element of a vector in memory, read or written by itself.
    fn partial_access(&mut self, b: &mut Builder<'_>, variable: Variable) {
        let Type::Vector(scalar, n) = variable.ty else { return };
        let element = self.rng.below(usize::from(n)) as i64;
        let base = self.element(b, variable);
        let ptr = b.ptr_offset(base, element * i64::from(scalar.size()));
        if self.rng.one_in(2) {
            let value = b.load(ptr, Type::Scalar(scalar), scalar.size());
            self.add(value, Type::Scalar(scalar), false);
        } else {
            let entry = self.value_of(b, Type::Scalar(scalar));
            b.store(ptr, entry.value, scalar.size());
        }
    }

    /// Copies what a variable belongs to into a new local, or integers to the thread's own bytes.
    fn copy_local(&mut self, b: &mut Builder<'_>, variable: Variable) {
        let (Base::Local(from), Some(size)) = (variable.base, variable.record) else { return };
        let align = b.func.locals[from.index()].align;
        let together: Vec<Variable> =
            self.variables.iter().copied().filter(|other| other.base == variable.base).collect();
        let integers = together.iter().all(|v| v.ty.scalar().is_some_and(Scalar::is_int));
        // Bytes between elements that are not powers of two were perhaps never written.
        let solid = together.iter().all(|v| v.ty.size() == v.stride) && together.len() == 1;
        if let Some(dst) = self.pointers.own.filter(|_| integers && solid && size <= BYTES_PER_THREAD) {
            let src = b.local_addr(from);
            return b.mem_copy(dst, src, u64::from(size), align);
        }
        let local = b.func.add_local("copy", u64::from(size), align);
        b.push(Op::LocalStart(local));
        let dst = b.local_addr(local);
        let src = b.local_addr(from);
        b.mem_copy(dst, src, u64::from(size), align);
        self.variables.extend(together.into_iter().map(|v| Variable { base: Base::Local(local), ..v }));
    }

    /// Integer types may be read from random bytes, and floats made of the integers.
    fn readable_type(&mut self) -> Type {
        let scalar = self.rng.pick(&[Scalar::I32, Scalar::I32, Scalar::I8, Scalar::I16, Scalar::I64]);
        if self.rng.one_in(4) {
            Type::Vector(scalar, 2 + self.rng.below(3) as u8)
        } else {
            Type::Scalar(scalar)
        }
    }

    /// Reads the input at a computed place.
    pub(crate) fn input_statement(&mut self, b: &mut Builder<'_>) {
        let Some(input) = self.pointers.input else { return };
        let floats = self.options.floats && self.rng.one_in(2);
        let ty = if floats { Type::F32 } else { self.readable_type() };
        let step = element_step(ty);
        let count = INPUT_BYTES / step;
        let limit = if self.goes_outside() { 2 * count } else { count };
        let index = self.index_below(b, limit);
        let wide = self.widened(b, index.value);
        let ptr = b.ptr_index(input, wide, step);
        let value = b.load(ptr, ty, element_align(ty));
        self.add(value, ty, index.uniform);
    }

    /// Reads a parameter, which all threads have alike.
    pub(crate) fn param_statement(&mut self, b: &mut Builder<'_>) {
        let Some(params) = self.pointers.params else { return };
        let ty = self.readable_type();
        let step = element_step(ty);
        let slot = self.rng.below((PARAMS_BYTES / step) as usize) as i64;
        let ptr = b.ptr_offset(params, slot * i64::from(step));
        let value = b.load(ptr, ty, element_align(ty));
        self.add(value, ty, true);
    }

    /// Writes or reads this thread's own bytes. Everything in them is an integer.
    pub(crate) fn own_statement(&mut self, b: &mut Builder<'_>) {
        let Some(own) = self.pointers.own else { return };
        let ty = self.readable_type();
        let step = element_step(ty);
        let slots = BYTES_PER_THREAD / step;
        let ptr = if self.rng.one_in(2) {
            let slot = self.rng.below(slots as usize) as i64;
            b.ptr_offset(own, slot * i64::from(step))
        } else {
            let index = self.index_below(b, slots);
            let wide = self.widened(b, index.value);
            b.ptr_index(own, wide, step)
        };
        // Beyond the end of the whole buffer, whichever thread this is.
        let ptr = if self.goes_outside() { b.ptr_offset(ptr, 1 << 30) } else { ptr };
        if self.rng.one_in(2) {
            let value = b.load(ptr, ty, element_align(ty));
            self.add(value, ty, false);
        } else {
            let entry = self.value_of(b, ty);
            b.store(ptr, entry.value, element_align(ty));
        }
    }

    /// Adds to a counter; each counter has its own operation, so that order does not matter.
    pub(crate) fn counter_statement(&mut self, b: &mut Builder<'_>) {
        let Some(counters) = self.pointers.counters.filter(|_| self.options.atomics) else { return };
        const OPS: &[AtomicOp] = &[
            AtomicOp::Add,
            AtomicOp::Sub,
            AtomicOp::And,
            AtomicOp::Or,
            AtomicOp::Xor,
            AtomicOp::UMax,
            AtomicOp::SMin,
            AtomicOp::UMin,
        ];
        let n = self.rng.below(OPS.len().min(COUNTERS as usize));
        let entry = self.value_of(b, Type::I32);
        let ptr = b.ptr_offset(counters, n as i64 * 4);
        b.infer(Op::AtomicRmw(OPS[n], ptr, entry.value));
    }

    /// Makes results observable: the last values of each type and all locals go to the thread's own
    /// bytes.
    pub(crate) fn store_results(&mut self, b: &mut Builder<'_>) {
        let Some(own) = self.pointers.own else { return };
        for variable in self.variables.clone() {
            let ptr = self.address(b, variable);
            let value = b.load(ptr, variable.ty, variable.align());
            self.add(value, variable.ty, false);
        }
        let mut at = 0;
        if let Some(Base::Local(local)) = self.accumulator {
            let ptr = b.local_addr(local);
            let value = b.load(ptr, Type::I32, 4);
            self.add(value, Type::I32, false);
        }
        let entries: Vec<Entry> = self.pool.iter().rev().copied().collect();
        for entry in entries {
            let align = element_align(entry.ty);
            let start = u32::next_multiple_of(at, align);
            if start + entry.ty.size() > BYTES_PER_THREAD {
                break;
            }
            let value = self.clean(b, entry);
            let ptr = b.ptr_offset(own, i64::from(start));
            b.store(ptr, value, align);
            at = start + entry.ty.size();
        }
    }
}
