//! Indices that wrapped around: sums and products of 32 bits in the computation of an address.
//!
//! Owns [`Wraps`], a taint analysis at run time. A register is tainted in the lanes whose value is not the
//! mathematical one, because an addition, subtraction, multiplication or left shift of 32 bits wrapped
//! around. Taint passes through these operations, selections and moves, and is told where the value becomes
//! an index. A remainder, a right shift, a bit mask or a minimum ends it: hashes and random numbers wrap on
//! purpose.

use anymetal_ir::{BinOp, Scalar};

use super::{Environment, Machine};
use crate::lanes::{Lanes, lanes_in};
use crate::observer::{ArithmeticKind, ArithmeticLint};
use crate::program::Program;
use crate::program::step::{Check, Pc, Role, Slot, Step};

/// The lanes of a register whose value wrapped around.
#[derive(Clone, Copy, Default, Debug)]
struct Taint {
    /// As an unsigned number: what counts where it is zero-extended to an index.
    unsigned: u32,
    /// As a signed number: what counts where it is sign-extended.
    signed: u32,
    /// Where it wrapped around last.
    at: Pc,
}

impl Taint {
    fn lanes(self) -> u32 {
        self.unsigned | self.signed
    }

    /// One of two, by lane.
    fn select(mask: u32, a: Self, b: Self) -> Self {
        Self {
            unsigned: a.unsigned & mask | b.unsigned & !mask,
            signed: a.signed & mask | b.signed & !mask,
            at: if a.lanes() & mask == 0 { b.at } else { a.at },
        }
    }
}

/// See the module's documentation.
#[derive(Default, Debug)]
pub(super) struct Wraps {
    /// By register.
    taints: Vec<Taint>,
    /// The program's operands: steps are visited as if they were to be changed.
    operands: Vec<Slot>,
}

impl Wraps {
    pub(super) fn start(&mut self, program: &Program) {
        self.taints.clear();
        self.taints.resize(program.register_count, Taint::default());
        self.operands.clone_from(&program.operands);
    }

    fn of(&self, slot: Slot) -> Taint {
        self.taints[slot.index()]
    }

    fn clear_results(&mut self, mut step: Step) {
        let Self { taints, operands } = self;
        step.for_each_slot(operands, &mut |slot, role| {
            if role == Role::Def {
                taints[slot.index()] = Taint::default();
            }
        });
    }

    /// The taint of a result.
    fn of_binary(
        &self,
        pc: Pc,
        (op, ty): (BinOp, Scalar),
        [a, b]: [(Slot, &Lanes); 2],
        active: u32,
    ) -> Taint {
        let (left, right) = (self.of(a.0), self.of(b.0));
        if !matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Shl) {
            return Taint::default();
        }
        let from = if left.lanes() != 0 { left } else { right };
        let mut out = Taint {
            unsigned: left.unsigned | right.unsigned,
            signed: left.signed | right.signed,
            at: from.at,
        };
        if ty == Scalar::I32 {
            let tainted = left.unsigned | right.unsigned;
            let mut own = Taint { at: pc, ..Taint::default() };
            for lane in lanes_in(active) {
                let (x, y) = (a.1[lane] as u32, b.1[lane] as u32);
                own.unsigned |= u32::from(wraps_unsigned(op, x, y, tainted >> lane & 1 != 0)) << lane;
                own.signed |= u32::from(wraps_signed(op, x as i32, y as i32)) << lane;
            }
            // Steps in opposite directions cancel: `x - 1 + y`.
            out.unsigned = if is_sum(op) { tainted ^ own.unsigned } else { tainted | own.unsigned };
            out.signed = if is_sum(op) { out.signed ^ own.signed } else { out.signed | own.signed };
            if own.lanes() != 0 {
                out.at = pc;
            }
        }
        out
    }
}

impl Machine {
    /// Follows a step that is about to be executed, and tells of an index that wrapped around.
    pub(super) fn follow_wraps(&mut self, env: &mut Environment<'_, '_>, pc: Pc, step: &Step) {
        let (wraps, registers) = (&mut self.wraps, &self.registers);
        let read = |slot: Slot| (slot, &registers[slot.index()]);
        let (dst, taint) = match *step {
            Step::Apply2 { check: Check::Integer(op, ty), dst, a, b, .. }
            | Step::Binary { op, ty, dst, a, b } => {
                (dst, wraps.of_binary(pc, (op, ty), [read(a), read(b)], self.active))
            }
            Step::Apply1 { check: Check::SignExtension, dst, a, .. } => {
                let taint = wraps.of(a);
                (dst, Taint { unsigned: taint.signed, ..taint })
            }
            // The only one without a check is `select`.
            Step::Apply3 { check: Check::Nothing, dst, a, b, c, .. } => {
                let mask = crate::lanes::mask_of(&registers[a.index()]);
                (dst, Taint::select(mask, wraps.of(b), wraps.of(c)))
            }
            Step::Move { dst, src } => (dst, wraps.of(src)),
            Step::Merge { dst, src } => (dst, Taint::select(self.active, wraps.of(src), wraps.of(dst))),
            Step::PtrIndex { index, .. } => {
                let taint = wraps.of(index);
                wraps.clear_results(*step);
                let lanes = taint.unsigned & self.active;
                if lanes != 0 {
                    let first = lanes.trailing_zeros();
                    let thread = env.thread(self.simdgroup, first);
                    let operands = [registers[index.index()][first as usize], 0, 0];
                    let (kind, site) = (ArithmeticKind::IndexWrap, taint.at);
                    let loc = env.program.locs[site as usize];
                    env.observer.on_arithmetic(&ArithmeticLint { kind, thread, lanes, operands, loc, site });
                }
                return;
            }
            _ => return wraps.clear_results(*step),
        };
        wraps.taints[dst.index()] = taint;
    }
}

/// Whether two wraps of such operations can undo each other.
fn is_sum(op: BinOp) -> bool {
    matches!(op, BinOp::Add | BinOp::Sub)
}

fn wraps_unsigned(op: BinOp, x: u32, y: u32, is_tainted: bool) -> bool {
    match op {
        // Of an operand that stands for a negative number, the carry is what makes the sum right.
        BinOp::Add => x.checked_add(y).is_none() && (is_tainted || (x ^ y) >> 31 == 0),
        BinOp::Sub => x < y,
        BinOp::Mul => x.checked_mul(y).is_none(),
        BinOp::Shl => x.wrapping_shl(y).wrapping_shr(y) != x,
        _ => false,
    }
}

fn wraps_signed(op: BinOp, x: i32, y: i32) -> bool {
    match op {
        BinOp::Add => x.checked_add(y).is_none(),
        BinOp::Sub => x.checked_sub(y).is_none(),
        BinOp::Mul => x.checked_mul(y).is_none(),
        BinOp::Shl => x.wrapping_shl(y as u32).wrapping_shr(y as u32) != x,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_wrap_by_the_sign_of_their_result() {
        let both =
            |op, x: u32, y: u32| (wraps_unsigned(op, x, y, false), wraps_signed(op, x as i32, y as i32));
        assert_eq!(both(BinOp::Sub, 0, 1), (true, false));
        assert_eq!(both(BinOp::Sub, 1 << 31, 1), (false, true));
        assert_eq!(both(BinOp::Add, 7, u32::MAX), (false, false));
        assert_eq!(both(BinOp::Add, 3 << 30, 3 << 30), (true, false));
        assert_eq!(both(BinOp::Mul, 1 << 16, 1 << 15), (false, true));
        assert_eq!(both(BinOp::Mul, 1 << 16, 1 << 16), (true, true));
        assert_eq!(both(BinOp::Shl, 3, 31), (true, true));
        assert_eq!(both(BinOp::Shl, 1, 31), (false, true));
        assert!(wraps_unsigned(BinOp::Add, 7, u32::MAX, true));
    }
}
