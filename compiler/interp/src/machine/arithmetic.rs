//! Arithmetic lints. None of it changes what is executed.

use anymetal_ir::eval::{eval_binary, widen};
use anymetal_ir::{BinOp, MathFn};

use super::{Environment, Machine};
use crate::lanes::{Lanes, lanes_in};
use crate::observer::{ArithmeticKind, ArithmeticLint};
use crate::program::step::{Check, Pc, Slot, Step};
use crate::transcendental::library;

impl Machine {
    /// Tells of an arithmetic step that is about to be executed, if it is odd in some lane.
    #[inline(never)]
    pub(super) fn tell_arithmetic(&self, env: &mut Environment<'_, '_>, pc: Pc, step: &Step) {
        let of = |slot: Slot| &self.registers[slot.index()];
        let mut out = [0; 32];
        match *step {
            Step::Apply1 { apply, check, a, .. } if check != Check::Nothing => {
                apply(&mut out, of(a));
                self.check(env, pc, check, &[of(a)], |lane| out[lane]);
            }
            Step::Apply2 { apply, check, a, b, .. } if check != Check::Nothing => {
                apply(&mut out, of(a), of(b));
                self.check(env, pc, check, &[of(a), of(b)], |lane| out[lane]);
            }
            Step::Apply3 { apply, check, a, b, c, .. } if check != Check::Nothing => {
                apply(&mut out, of(a), of(b), of(c));
                self.check(env, pc, check, &[of(a), of(b), of(c)], |lane| out[lane]);
            }
            Step::Binary { op, ty, a, b, .. } => {
                let (a, b) = (of(a), of(b));
                self.check(env, pc, Check::of_binary(op, ty), &[a, b], |lane| {
                    eval_binary(op, ty, a[lane], b[lane])
                });
            }
            Step::Math { function, ty, arity, args, .. } => {
                let args = args.map(of);
                let arity = usize::from(arity);
                // The exponent is an integer.
                let floats = if function == MathFn::Ldexp { 1 } else { arity };
                self.check(env, pc, Check::of_math(function, ty), &args[..floats], |lane| {
                    library(function, ty, &args.map(|arg| arg[lane])[..arity])
                });
            }
            _ => {}
        }
    }

    fn check(
        &self,
        env: &mut Environment<'_, '_>,
        pc: Pc,
        check: Check,
        operands: &[&Lanes],
        result: impl Fn(usize) -> u64,
    ) {
        let is_odd = |lane: usize| match check {
            Check::Nothing | Check::SignExtension => false,
            Check::Integer(op, _) if is_division(op) => operands[1][lane] == 0,
            Check::Integer(_, ty) => operands[1][lane] >= u64::from(ty.bits()),
            Check::Nan(ty) => {
                let is_nan = |bits: u64| widen(ty, bits).is_nan();
                is_nan(result(lane)) && !operands.iter().any(|operand| is_nan(operand[lane]))
            }
        };
        let kind = match check {
            Check::Integer(op, _) if is_division(op) => ArithmeticKind::DivisionByZero,
            Check::Integer(BinOp::Shl | BinOp::LShr | BinOp::AShr, _) => ArithmeticKind::ShiftOverflow,
            Check::Nothing | Check::SignExtension | Check::Integer(..) => return,
            Check::Nan(_) => ArithmeticKind::NanProduced,
        };
        let lanes =
            lanes_in(self.active).filter(|&lane| is_odd(lane)).fold(0u32, |mask, lane| mask | 1 << lane);
        if lanes == 0 {
            return;
        }
        let first = lanes.trailing_zeros();
        let thread = env.thread(self.simdgroup, first);
        let bits = |n: usize| operands.get(n).map_or(0, |operand| operand[first as usize]);
        let operands = std::array::from_fn(bits);
        let (loc, site) = (env.program.locs[pc as usize], pc);
        env.observer.on_arithmetic(&ArithmeticLint { kind, thread, lanes, operands, loc, site });
    }
}

fn is_division(op: BinOp) -> bool {
    matches!(op, BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem)
}
