//! Bounds of loops and guards that are widened by one.
//!
//! Which side of a comparison does more is read off the branch that it decides: a side that ends with a
//! break, a return or a `continue` leaves, the other works. Comparisons that decide no branch are left alone.

use anymetal_ir::{BinOp, Block, CmpOp, Inst, Op, Type, UnOp, Value};

use super::Code;
use crate::mutation::{Change, Mutation, MutationKind};

/// Steps from a comparison to its branch that are followed: `!`, `&&` and `||` take a few.
const MAX_STEPS: u32 = 12;

pub(super) fn sites(code: &Code<'_>) -> Vec<Mutation> {
    code.insts.iter().filter_map(|&at| site(code, at)).collect()
}

fn site(code: &Code<'_>, (block, inst): (Block, Inst)) -> Option<Mutation> {
    let Op::Compare(op, a, _) = code.op(inst) else { return None };
    let is_integer = matches!(code.function.ty(*a), Type::Scalar(scalar) if scalar.is_int());
    let works = works_if(code, code.function.inst(inst).result?, MAX_STEPS).filter(|_| is_integer)?;
    let (wider, shift) = widened(*op, works)?;
    let text = match shift {
        0 => format!("`{}` made `{}`", symbol(*op), symbol(wider)),
        1 => format!("bound of `{}` raised by one", symbol(*op)),
        _ => format!("bound of `{}` lowered by one", symbol(*op)),
    };
    let (kind, change) = (MutationKind::BoundWidened, Change::Compare(wider, shift));
    Some(Mutation { kind, block, inst, change, loc: code.function.inst(inst).loc, text })
}

/// The operator, and what is added to the second operand, for which the side that works is taken once more.
fn widened(op: CmpOp, works: bool) -> Option<(CmpOp, i8)> {
    use CmpOp as C;
    Some(match (op, works) {
        (C::ULt, true) => (C::ULe, 0),
        (C::SLt, true) => (C::SLe, 0),
        (C::UGt, true) => (C::UGe, 0),
        (C::SGt, true) => (C::SGe, 0),
        (C::UGe, false) => (C::UGt, 0),
        (C::SGe, false) => (C::SGt, 0),
        (C::ULe, false) => (C::ULt, 0),
        (C::SLe, false) => (C::SLt, 0),
        (C::ULe | C::SLe, true) | (C::UGt | C::SGt, false) => (op, 1),
        (C::UGe | C::SGe, true) | (C::ULt | C::SLt, false) => (op, -1),
        _ => return None,
    })
}

fn symbol(op: CmpOp) -> &'static str {
    match op {
        CmpOp::ULt | CmpOp::SLt => "<",
        CmpOp::ULe | CmpOp::SLe => "<=",
        CmpOp::UGt | CmpOp::SGt => ">",
        _ => ">=",
    }
}

/// Whether the code that a condition decides on works if it is true; `None` if it decides no branch.
fn works_if(code: &Code<'_>, cond: Value, steps: u32) -> Option<bool> {
    let steps = steps.checked_sub(1)?;
    let users = &code.users[cond.index()];
    let through = |&inst: &Inst| match code.op(inst) {
        Op::Store { ptr, value, .. } if *value == cond => {
            let loads =
                code.users[ptr.index()].iter().filter(|&&user| matches!(code.op(user), Op::Load { .. }));
            loads.filter_map(|&load| works_if(code, code.function.inst(load).result?, steps)).next()
        }
        Op::Binary(BinOp::And | BinOp::Or, ..) => works_if(code, code.function.inst(inst).result?, steps),
        Op::Unary(UnOp::Not, _) => {
            works_if(code, code.function.inst(inst).result?, steps).map(|works| !works)
        }
        _ => None,
    };
    let decided = |&inst: &Inst| match code.op(inst) {
        Op::If { then, otherwise, .. } => Some(branch_works_if(code, *then, *otherwise)),
        _ => None,
    };
    users.iter().find_map(through).or_else(|| users.iter().find_map(decided))
}

fn branch_works_if(code: &Code<'_>, then: Block, otherwise: Block) -> bool {
    let last = |block: Block| code.function.block(block).last().map(|&inst| code.op(inst));
    let leaves = |block: Block| last(block).is_some_and(Op::is_terminator);
    match (leaves(then), leaves(otherwise)) {
        (true, false) => false,
        (false, true) => true,
        _ => last(then).is_some() || last(otherwise).is_none(),
    }
}
