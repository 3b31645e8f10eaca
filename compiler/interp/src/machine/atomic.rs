//! Atomic access: one lane after the other, so that accesses of several lanes to one address are ordered.

use anymetal_ir::Scalar;
use anymetal_ir::eval::eval_atomic;

use super::memory::{Request, in_order};
use super::{Environment, Machine};
use crate::observer::{AccessOp, Stored};
use crate::program::step::{Pc, PtrSlots, Slot, Step};

impl Machine {
    /// Executes an atomic step. Out of bounds it gives zero and changes nothing.
    pub(super) fn atomic(&mut self, env: &mut Environment<'_, '_>, pc: Pc, step: &Step) {
        match *step {
            Step::AtomicLoad { ty, dst, ptr } => {
                self.modify(env, pc, (ptr, ty, AccessOp::AtomicLoad), Some(dst), |_, _, _| None);
            }
            Step::AtomicStore { ty, ptr, value } => {
                self.modify(env, pc, (ptr, ty, AccessOp::AtomicStore), None, |machine, lane, _| {
                    Some(machine.registers[value.index()][lane])
                });
            }
            Step::AtomicRmw { op, ty, dst, ptr, value } => {
                let what = (ptr, ty, AccessOp::AtomicRmw);
                self.modify(env, pc, what, Some(dst), |machine, lane, old| {
                    Some(eval_atomic(op, ty, old, machine.registers[value.index()][lane]))
                });
            }
            Step::AtomicCas { ty, dst, ptr, expected, desired } => {
                let what = (ptr, ty, AccessOp::AtomicCas);
                self.modify(env, pc, what, Some(dst), |machine, lane, old| {
                    let equal = machine.registers[expected.index()][lane] == old;
                    equal.then(|| machine.registers[desired.index()][lane])
                });
            }
            _ => unreachable!("not an atomic step"),
        }
    }

    /// For each active lane: reads the old contents, computes the new ones, writes them if there are any.
    fn modify(
        &mut self,
        env: &mut Environment<'_, '_>,
        pc: Pc,
        (ptr, ty, op): (PtrSlots, Scalar, AccessOp),
        dst: Option<Slot>,
        new: impl Fn(&Self, usize, u64) -> Option<u64>,
    ) {
        let (regions, offsets) = (&self.registers[ptr.region.index()], &self.registers[ptr.offset.index()]);
        let size = ty.size() as usize;
        let request = Request {
            op,
            bytes: size as u64,
            pieces: None,
            align: ty.size(),
            pc,
            stored: Stored::Unknown,
            notify: true,
        };
        let located = self.locate(env, regions, offsets, request);
        let mut out = [0; 32];
        for lane in in_order(located.good, located.order) {
            let arena = env.region(self.registers[ptr.region.index()][lane]).arena;
            let range = located.at[lane]..located.at[lane] + size;
            let mut word = [0; 8];
            word[..size].copy_from_slice(&env.bytes(&self.private, arena)[range.clone()]);
            let old = u64::from_le_bytes(word);
            out[lane] = old;
            if let Some(value) = new(self, lane, old) {
                env.bytes_mut(&mut self.private, arena)[range].copy_from_slice(&value.to_le_bytes()[..size]);
            }
        }
        if let Some(dst) = dst {
            self.registers[dst.index()] = out;
        }
    }
}
