//! What blocks cost, roughly: whether an arm runs under its mask without a branch.

use anymetal_analysis::divergence::Divergence;
use anymetal_ir::{BinOp, Block, Inst, MathFn, Op};

use crate::facts::Facts;
use crate::limits::MAX_UNBRANCHED_COST;

/// Whether a block may run under any mask without a branch around it: it has no effects but stores to
/// promoted variables, and costs little.
pub(crate) fn is_cheap(facts: Facts<'_>, divergence: &Divergence, block: Block) -> bool {
    let function = facts.function;
    let mut cost = 0;
    for &inst in function.block(block) {
        let data = function.inst(inst);
        cost += match &data.op {
            Op::Store { ptr, .. } if facts.storage.vars_at(*ptr, 1).is_some() => 1,
            Op::Load { ptr, .. } if facts.storage.vars_at(*ptr, 1).is_some() => 0,
            Op::LocalStart(_) => 0,
            Op::Const(_)
            | Op::Undef
            | Op::Splat(_)
            | Op::Compose(_)
            | Op::Extract(..)
            | Op::Insert(..)
            | Op::Shuffle(..)
            | Op::LocalAddr(_)
            | Op::ThreadgroupAddr(_)
            | Op::GlobalAddr(_)
            | Op::PtrAdd { .. } => 0,
            Op::Unary(..) | Op::Compare(..) | Op::Select(..) => 1,
            Op::Binary(op, ..) => binary_cost(*op),
            Op::Cast(..) => 2,
            Op::Math(function, _) => math_cost(*function),
            _ => return false,
        } * weight(facts, divergence, inst);
    }
    cost <= MAX_UNBRANCHED_COST
}

/// How many vector instructions an instruction becomes, roughly.
fn weight(facts: Facts<'_>, divergence: &Divergence, inst: Inst) -> u32 {
    let Some(result) = facts.function.inst(inst).result else { return 1 };
    divergence.values[result.index()].iter().filter(|shape| !shape.is_uniform()).count() as u32
}

fn binary_cost(op: BinOp) -> u32 {
    match op {
        BinOp::FDiv | BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem => 12,
        BinOp::FRem => 100,
        _ => 1,
    }
}

fn math_cost(function: MathFn) -> u32 {
    match function {
        MathFn::Fma | MathFn::FAbs | MathFn::FMin | MathFn::FMax | MathFn::CopySign => 1,
        MathFn::Floor | MathFn::Ceil | MathFn::Trunc | MathFn::Rint | MathFn::IsNan | MathFn::IsInf => 2,
        _ => 100,
    }
}
