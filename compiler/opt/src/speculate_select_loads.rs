//! Turns a load through a select of two pointers to locals into a select of two loads, as LLVM's SROA does.
//!
//! `MD most = a.m > b.m ? a : b;` reads through a pointer that is one of two. That pointer keeps both
//! variables in memory; loaded separately they are promoted by [`super::mem2reg`]. Requires that the load is
//! in bounds of both locals.
//!
//! A copy from such a pointer becomes a branch with a copy in each arm, which [`super::sroa`](fn@super::sroa)
//! splits. Without it, a chain of such copies takes one round of the simplification per copy: the members of
//! a local are known only when the copies from it are split.

use super::rewrite_blocks::{BlockRewriter, rewrite_blocks};
use crate::limits::MAX_SPLIT_DEPTH;
use anymetal_analysis::{LocalPointers, local_pointers};
use anymetal_ir::{Function, Inst, Op, Type, Value};

/// Rewrites one function; returns whether anything changed.
pub fn speculate_select_loads(function: &mut Function) -> bool {
    let pointers = local_pointers(function);
    let mut speculator = Speculator { function, pointers, changed: false };
    rewrite_blocks(&mut speculator);
    speculator.changed
}

/// A select of two pointers, plus an offset in bytes.
#[derive(Clone, Copy)]
struct SelectPtr {
    cond: Value,
    arms: [Value; 2],
    offset: i64,
}

struct Speculator<'a> {
    function: &'a mut Function,
    pointers: LocalPointers,
    changed: bool,
}

impl BlockRewriter for Speculator<'_> {
    fn function(&mut self) -> &mut Function {
        self.function
    }

    fn rewrite(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        match self.function.inst(inst).op {
            Op::Load { ptr, align, volatile: false } => {
                let size = u64::from(self.function.ty(self.function.result(inst)).size());
                if let Some(select) = self.select(ptr, size) {
                    self.split_load(inst, select, align, out);
                }
            }
            Op::MemCopy { src, size, .. } => {
                if let Some(select) = self.select(src, size) {
                    self.split_copy(inst, select);
                    self.changed = true;
                }
            }
            _ => {}
        }
        out.push(inst);
    }
}

impl Speculator<'_> {
    /// The select that defines a pointer, if `size` bytes are in bounds of the locals on both sides.
    fn select(&self, ptr: Value, size: u64) -> Option<SelectPtr> {
        let select = self.select_of(ptr)?;
        let size = i64::try_from(size).ok()?;
        self.is_in_bounds(select, size, MAX_SPLIT_DEPTH).then_some(select)
    }

    fn select_of(&self, ptr: Value) -> Option<SelectPtr> {
        let (mut ptr, mut offset) = (ptr, 0_i64);
        loop {
            match *self.function.def(ptr)? {
                Op::PtrAdd { base, index: None, offset: more, .. } => {
                    offset = offset.checked_add(more)?;
                    ptr = base;
                }
                Op::Select(cond, a, b) if self.function.ty(cond) == Type::BOOL => {
                    return Some(SelectPtr { cond, arms: [a, b], offset });
                }
                _ => return None,
            }
        }
    }

    fn is_in_bounds(&self, select: SelectPtr, size: i64, depth: u32) -> bool {
        select.arms.iter().all(|&place| match self.pointers.get(place.index()).copied().flatten() {
            Some((local, at)) => {
                // No offset reaches the end of a larger local.
                let bytes = i64::try_from(self.function.locals[local.index()].size).unwrap_or(i64::MAX);
                let start = at.checked_add(select.offset);
                start.is_some_and(|start| {
                    start >= 0 && start.checked_add(size).is_some_and(|end| end <= bytes)
                })
            }
            None => {
                let inner = if depth == 0 { None } else { self.select_of(place) };
                inner
                    .and_then(|inner| {
                        Some(SelectPtr { offset: inner.offset.checked_add(select.offset)?, ..inner })
                    })
                    .is_some_and(|inner| self.is_in_bounds(inner, size, depth - 1))
            }
        })
    }

    fn split_load(&mut self, inst: Inst, select: SelectPtr, align: u32, out: &mut Vec<Inst>) {
        let ty = self.function.ty(self.function.result(inst));
        let [a, b] = select.arms.map(|arm| {
            let ptr = self.place_in(inst, arm, select.offset, out);
            self.value(inst, Op::Load { ptr, align, volatile: false }, ty, out)
        });
        self.function.replace_op(inst, Op::Select(select.cond, a, b));
        self.changed = true;
    }

    /// Turns a copy into a branch. The nesting of selects is bounded: all arms were found to be locals.
    fn split_copy(&mut self, inst: Inst, select: SelectPtr) {
        let (fp, loc) = (self.function.inst(inst).fp, self.function.inst(inst).loc);
        let [then, otherwise] = select.arms.map(|arm| {
            let mut insts = Vec::new();
            let place = self.place_in(inst, arm, select.offset, &mut insts);
            let mut copy = self.function.inst(inst).op.clone();
            let Op::MemCopy { src, .. } = &mut copy else { unreachable!("{copy:?} is not a copy") };
            *src = place;
            let copy = self.function.add_inst(copy, None, fp, loc);
            if let Some(inner) = self.select_of(place) {
                self.split_copy(copy, inner);
            }
            insts.push(copy);
            let block = self.function.add_block();
            self.function.blocks[block.index()].insts = insts;
            block
        });
        self.function.replace_op(inst, Op::branch(select.cond, then, otherwise));
    }

    /// The pointer of an arm, moved by the offset of the access.
    fn place_in(&mut self, inst: Inst, arm: Value, offset: i64, out: &mut Vec<Inst>) -> Value {
        let ty = self.function.ty(arm);
        assert!(ty.is_ptr(), "an access through a select of {ty}");
        if offset == 0 {
            return arm;
        }
        self.value(inst, Op::PtrAdd { base: arm, index: None, scale: 1, offset }, ty, out)
    }

    fn value(&mut self, inst: Inst, op: Op, ty: Type, out: &mut Vec<Inst>) -> Value {
        let (fp, loc) = (self.function.inst(inst).fp, self.function.inst(inst).loc);
        let new = self.function.add_inst(op, Some(ty), fp, loc);
        out.push(new);
        self.function.result(new)
    }
}
