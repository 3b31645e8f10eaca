//! Replaces accesses of split locals by accesses of their parts.

use super::slices::{Partition, Slice};
use anymetal_ir::{Block, CastOp, CmpOp, FpMode, Function, Inst, Loc, Local, Op, Scalar, Space, Type, Value};

/// Rewrites every access of a split local.
pub(super) fn rewrite(function: &mut Function, partition: &Partition) {
    let parts = add_parts(function, partition);
    let mut rewriter =
        Rewriter { function, partition, parts, out: Vec::new(), fp: FpMode::default(), loc: Loc::default() };
    let body = rewriter.function.body;
    rewriter.block(body);
}

/// A local for each slice.
fn add_parts(function: &mut Function, partition: &Partition) -> Vec<Vec<Local>> {
    let mut parts = Vec::with_capacity(partition.slices.len());
    for (n, slices) in partition.slices.iter().enumerate() {
        let mut own = Vec::new();
        for slice in slices.iter().flatten() {
            let name = format!("{}.{}", function.locals[n].name, slice.start);
            let align = slice.ty.size().next_power_of_two().min(16);
            own.push(function.add_local(name, u64::from(slice.ty.size()), align));
        }
        parts.push(own);
    }
    parts
}

struct Rewriter<'a> {
    function: &'a mut Function,
    partition: &'a Partition,
    parts: Vec<Vec<Local>>,
    /// The block under construction.
    out: Vec<Inst>,
    /// Mode and position of the instruction being replaced.
    fp: FpMode,
    loc: Loc,
}

impl Rewriter<'_> {
    fn block(&mut self, block: Block) {
        let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let outer = std::mem::replace(&mut self.out, Vec::with_capacity(insts.len()));
        for inst in insts {
            for nested in self.function.inst(inst).op.blocks() {
                self.block(nested);
            }
            let data = self.function.inst(inst);
            (self.fp, self.loc) = (data.fp, data.loc);
            let replaced = match data.op.clone() {
                Op::LocalStart(local) => self.start(local),
                Op::Load { ptr, align, .. } => self.load(inst, ptr, align),
                Op::Store { ptr, value, .. } => self.store(ptr, value),
                Op::MemCopy { dst, src, size, align, .. } => self.copy(dst, src, size, align),
                Op::MemZero { dst, size, .. } => self.zero(dst, size),
                _ => false,
            };
            if !replaced {
                self.out.push(inst);
            }
        }
        self.function.blocks[block.index()].insts = std::mem::replace(&mut self.out, outer);
    }

    fn push(&mut self, op: Op) {
        let inst = self.function.add_inst(op, None, self.fp, self.loc);
        self.out.push(inst);
    }

    fn value(&mut self, op: Op, ty: Type) -> Value {
        let inst = self.function.add_inst(op, Some(ty), self.fp, self.loc);
        self.out.push(inst);
        self.function.result(inst)
    }

    fn part_addr(&mut self, local: Local, slice: usize) -> Value {
        let part = self.parts[local.index()][slice];
        self.value(Op::LocalAddr(part), Type::Ptr(Space::Thread))
    }

    fn load_part(&mut self, local: Local, n: usize, slice: Slice) -> Value {
        let ptr = self.part_addr(local, n);
        self.value(Op::Load { ptr, align: slice_align(slice), volatile: false }, slice.ty)
    }

    /// Stores a value of the slice's size.
    fn store_part(&mut self, local: Local, n: usize, slice: Slice, value: Value) {
        let size = self.function.ty(value).size();
        assert_eq!(size, slice.ty.size(), "the bytes of {value} are those of a part of {local}");
        let value = self.reinterpret(value, slice.ty);
        let ptr = self.part_addr(local, n);
        self.push(Op::Store { ptr, value, align: slice_align(slice), volatile: false });
    }

    /// The same bytes as another type of the same size. Pointers go by way of `i64` and `bool` by
    /// way of `i8`, because a bitcast takes neither.
    fn reinterpret(&mut self, value: Value, ty: Type) -> Value {
        let from = self.function.ty(value);
        match (from, ty) {
            _ if from == ty => value,
            (Type::Ptr(_), _) => {
                let bits = self.value(Op::Cast(CastOp::PtrToInt, value), Type::I64);
                self.reinterpret(bits, ty)
            }
            (Type::I64, Type::Ptr(_)) => self.value(Op::Cast(CastOp::IntToPtr, value), ty),
            (_, Type::Ptr(_)) => {
                let bits = self.reinterpret(value, Type::I64);
                self.reinterpret(bits, ty)
            }
            _ if from.scalar() == Some(Scalar::Bool) => {
                let bytes = self.value(Op::Cast(CastOp::ZExt, value), from.with_scalar(Scalar::I8));
                self.reinterpret(bytes, ty)
            }
            _ if ty.scalar() == Some(Scalar::Bool) => {
                let bytes = self.reinterpret(value, ty.with_scalar(Scalar::I8));
                let zero = self.zero_of(ty.with_scalar(Scalar::I8));
                self.value(Op::Compare(CmpOp::Ne, bytes, zero), ty)
            }
            _ => self.value(Op::Cast(CastOp::Bitcast, value), ty),
        }
    }

    fn zero_of(&mut self, ty: Type) -> Value {
        match ty {
            Type::Vector(scalar, _) => {
                let zero = self.value(Op::Const(0), Type::Scalar(scalar));
                self.value(Op::Splat(zero), ty)
            }
            ty => self.value(Op::Const(0), ty),
        }
    }

    fn start(&mut self, local: Local) -> bool {
        let is_split = self.partition.slices[local.index()].is_some();
        assert!(is_split || self.parts[local.index()].is_empty(), "{local} has parts, but is not split");
        for part in self.parts[local.index()].clone() {
            self.push(Op::LocalStart(part));
        }
        is_split
    }

    /// The slice that contains an access of this size; `None` if it is not of a split local.
    fn slice_of(&self, ptr: Value, size: u32) -> Option<(Local, usize, Slice, u64)> {
        let (local, start) = self.partition.place(ptr)?;
        let end = start + u64::from(size);
        let mut slices = self.partition.slices[local.index()].iter().flatten().enumerate();
        let found = slices.find(|(_, slice)| slice.start <= start && end <= slice.end());
        let Some((n, &slice)) = found else {
            // The bytes that it would access are in the parts.
            panic!("no slice of {local} contains an access of bytes {start} to {end}")
        };
        Some((local, n, slice, start - slice.start))
    }

    fn load(&mut self, inst: Inst, ptr: Value, align: u32) -> bool {
        let ty = self.function.ty(self.function.result(inst));
        let Some((local, n, slice, within)) = self.slice_of(ptr, ty.size()) else {
            // Not an access of a split local.
            return false;
        };
        if slice.ty.size() == ty.size() {
            let ptr = self.part_addr(local, n);
            let align = align.min(slice_align(slice));
            self.function.replace_op(inst, Op::Load { ptr, align, volatile: false });
            self.out.push(inst);
            return true;
        }
        let element = element_in_part(slice, ty, within);
        let wanted = ty.scalar().expect("a pointer is loaded whole");
        let whole = self.load_part(local, n, slice);
        let first = (within / u64::from(element.size())) as u8;
        let op = match ty {
            Type::Vector(_, count) => {
                let picks = (first..first + count).collect();
                Op::Shuffle(whole, whole, picks)
            }
            _ => Op::Extract(whole, first),
        };
        let op = if element == wanted {
            op
        } else {
            let part = self.value(op, ty.with_scalar(element));
            Op::Cast(CastOp::Bitcast, part)
        };
        self.function.replace_op(inst, op);
        self.out.push(inst);
        true
    }

    fn store(&mut self, ptr: Value, value: Value) -> bool {
        let ty = self.function.ty(value);
        let Some((local, n, slice, within)) = self.slice_of(ptr, ty.size()) else {
            // Not an access of a split local.
            return false;
        };
        if slice.ty.size() == ty.size() {
            self.store_part(local, n, slice, value);
            return true;
        }
        let element = element_in_part(slice, ty, within);
        let value = self.reinterpret(value, ty.with_scalar(element));
        let mut whole = self.load_part(local, n, slice);
        let first = (within / u64::from(element.size())) as u8;
        for m in 0..ty.lanes() {
            let part = match ty {
                Type::Vector(..) => self.value(Op::Extract(value, m), Type::Scalar(element)),
                _ => value,
            };
            whole = self.value(Op::Insert(whole, first + m, part), slice.ty);
        }
        self.store_part(local, n, slice, whole);
        true
    }

    /// A copy becomes loads of all slices, then stores.
    fn copy(&mut self, dst: Value, src: Value, size: u64, align: u32) -> bool {
        match (self.partition.place(dst), self.partition.place(src)) {
            (None, None) => false,
            (Some((to, start)), None) => {
                let slices = self.partition.slices_in(to, start, size);
                let mut values = Vec::new();
                for &(_, slice) in &slices {
                    let ptr = self.offset(src, slice.start - start);
                    let align = offset_align(align, slice.start - start);
                    values.push(self.value(Op::Load { ptr, align, volatile: false }, slice.ty));
                }
                for ((n, slice), value) in slices.into_iter().zip(values) {
                    self.store_part(to, n, slice, value);
                }
                true
            }
            (None, Some((from, start))) => {
                for (n, slice) in self.partition.slices_in(from, start, size) {
                    let value = self.load_part(from, n, slice);
                    let ptr = self.offset(dst, slice.start - start);
                    let align = offset_align(align, slice.start - start);
                    self.push(Op::Store { ptr, value, align, volatile: false });
                }
                true
            }
            (Some((to, to_start)), Some((from, from_start))) => {
                let source = self.partition.slices_in(from, from_start, size);
                let mut values = Vec::new();
                for (n, slice) in source {
                    let value = self.load_part(from, n, slice);
                    values.push((slice.start - from_start + to_start, value));
                }
                for (n, slice) in self.partition.slices_in(to, to_start, size) {
                    let value = values.iter().find(|(start, _)| *start == slice.start);
                    let Some(&(_, value)) = value else {
                        panic!("a copy from {from} to {to} leaves out the slice at {}", slice.start)
                    };
                    self.store_part(to, n, slice, value);
                }
                true
            }
        }
    }

    fn zero(&mut self, dst: Value, size: u64) -> bool {
        let Some((local, start)) = self.partition.place(dst) else {
            // Not a split local.
            return false;
        };
        for (n, slice) in self.partition.slices_in(local, start, size) {
            let value = self.zero_of(slice.ty);
            self.store_part(local, n, slice, value);
        }
        true
    }

    fn offset(&mut self, base: Value, bytes: u64) -> Value {
        if bytes == 0 {
            return base;
        }
        let ty = self.function.ty(base);
        self.value(Op::PtrAdd { base, index: None, scale: 1, offset: bytes as i64 }, ty)
    }
}

/// The scalar of a slice of which an access takes some elements.
fn element_in_part(slice: Slice, ty: Type, within: u64) -> Scalar {
    let element = slice.ty.scalar().expect("a pointer is accessed whole");
    assert!(
        matches!(slice.ty, Type::Vector(..)) && within.is_multiple_of(element.size().into()),
        "an access of {ty} cuts an element of {} at byte {within}",
        slice.ty,
    );
    element
}

fn slice_align(slice: Slice) -> u32 {
    slice.ty.size().next_power_of_two().min(16)
}

/// The alignment at an offset.
fn offset_align(align: u32, offset: u64) -> u32 {
    if offset == 0 { align } else { align.min(1 << offset.trailing_zeros().min(31)) }
}
