//! Takes a long sum apart into two, where the order of additions is free.
//!
//! `a + b + c + …` waits for each addition before it begins the next. A thread that computes one such sum, a filter's
//! or a scalar product's, leaves the processor idle in between: two sums, of every other term, take half the time.
//! Blocks with several long sums have enough to do, and more registers in use.
//!
//! For code generators, after all other passes.

use crate::analysis::use_counts;
use crate::op::FpMode;
use crate::{BinOp, Block, Function, Inst, Op, Value, ValueDef};

/// The fewest additions of a sum that is taken apart.
const LEAST: usize = 8;
/// The most such sums of a block.
const MAX_SUMS: usize = 2;

/// A sum: its additions in order. Each but the first adds to the one before.
type Sum = Vec<Addition>;

#[derive(Clone, Copy, Debug)]
struct Addition {
    inst: Inst,
    result: Value,
    /// What is added to the addition before; of the first one, the right operand.
    term: Value,
}

/// Takes the long sums of one function apart; returns whether there were any.
pub fn split_accumulators(function: &mut Function) -> bool {
    let uses = use_counts(function);
    let mut changed = false;
    for block in 0..function.blocks.len() {
        let block = Block(block as u32);
        let found = sums_of(function, &uses, block);
        if found.len() <= MAX_SUMS {
            found.iter().for_each(|sum| take_apart(function, block, sum));
            changed |= !found.is_empty();
        }
    }
    changed
}

/// The long sums of a block.
fn sums_of(function: &Function, uses: &[u32], block: Block) -> Vec<Sum> {
    let mut open: Vec<Sum> = Vec::new();
    for &inst in function.block(block) {
        let data = function.inst(inst);
        let (&Op::Binary(BinOp::FAdd, a, b), Some(result)) = (&data.op, data.result) else { continue };
        if data.fp == FpMode::Safe {
            continue;
        }
        // The sum that goes on here: nobody else wants what it is so far.
        let goes_on = |value: Value| {
            let ends_in = |sum: &Sum| sum.last().is_some_and(|last| last.result == value);
            let at = open.iter().position(ends_in).filter(|_| uses[value.index()] == 1);
            at.filter(|_| matches!(function.values[value.index()].def, ValueDef::Inst(of) if function.inst(of).fp == data.fp))
        };
        let (at, term) = match (goes_on(a), goes_on(b)) {
            (Some(at), _) => (Some(at), b),
            (None, Some(at)) => (Some(at), a),
            (None, None) => (None, b),
        };
        let mut sum = at.map(|at| open.swap_remove(at)).unwrap_or_default();
        sum.push(Addition { inst, result, term });
        open.push(sum);
    }
    open.retain(|sum| sum.len() >= LEAST);
    open
}

/// Every other term goes to a second sum, which begins where its second term is there.
fn take_apart(function: &mut Function, block: Block, sum: &Sum) {
    let [first, removed, rest @ .., last] = sum.as_slice() else { return };
    let (mut mine, mut other) = (removed.term, first.result);
    for addition in rest {
        function.insts[addition.inst.index()].op = Op::Binary(BinOp::FAdd, mine, addition.term);
        (mine, other) = (other, addition.result);
    }
    let data = function.inst(last.inst);
    let (fp, loc, ty) = (data.fp, data.loc, function.ty(last.result));
    let before = function.add_inst(Op::Binary(BinOp::FAdd, mine, last.term), Some(ty), fp, loc);
    if let Some(mine) = function.inst(before).result {
        let both = &mut function.insts[last.inst.index()];
        // Or whoever comes next may make one sum of the two again.
        (both.op, both.fp) = (Op::Binary(BinOp::FAdd, mine, other), FpMode::Safe);
    }
    let insts = &mut function.blocks[block.index()].insts;
    insts.retain(|&inst| inst != removed.inst);
    if let Some(at) = insts.iter().position(|&inst| inst == last.inst) {
        insts.insert(at, before);
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::{parse_module, verify};

    /// How many additions some program's result waits for one after the other, at first and after the pass, and how
    /// many there are. It stores so many sums of that many additions, in which partial sums stand on either side.
    fn waits(count: usize, additions: usize, mode: &str) -> [usize; 3] {
        let mut text = String::from("func f0 \"f\" (v0: ptr.device) {\n  v1 = load v0, align 4 : f32\n");
        let mut next = 2;
        for _ in 0..count {
            let mut sum = 1;
            for addition in 0..additions {
                let (term, result) = (next, next + 1);
                let (a, b) = if addition % 3 == 2 { (term, sum) } else { (sum, term) };
                let _ = writeln!(text, "  v{term} = load v0, align 4 : f32");
                let _ = writeln!(text, "  v{result} = fadd{mode} v{a}, v{b} : f32");
                (sum, next) = (result, next + 2);
            }
            let _ = writeln!(text, "  store v0, v{sum}, align 4");
        }
        let mut module = parse_module(&(text + "}\n")).expect("the text is well formed");
        let before = depth(&module.functions[0]);
        let changed = split_accumulators(&mut module.functions[0]);
        verify(&module).expect("the module is still well formed");
        let function = &module.functions[0];
        assert_eq!(changed, before != depth(function));
        let is_addition = |inst: &&Inst| matches!(function.inst(**inst).op, Op::Binary(BinOp::FAdd, ..));
        [before, depth(function), function.block(function.body).iter().filter(is_addition).count()]
    }

    fn depth(function: &Function) -> usize {
        let mut depths = vec![0; function.values.len()];
        for &inst in function.block(function.body) {
            let data = function.inst(inst);
            let mut most = 0;
            data.op.for_each_operand(|operand| most = most.max(depths[operand.index()]));
            if let Some(result) = data.result {
                depths[result.index()] = most + usize::from(matches!(data.op, Op::Binary(..)));
            }
        }
        depths.into_iter().max().unwrap_or(0)
    }

    #[test]
    fn long_sums_wait_half_as_long() {
        assert_eq!(waits(1, 24, ""), [24, 13, 24]);
        assert_eq!(waits(2, 9, ""), [9, 5, 18]);
    }

    #[test]
    fn others_stay() {
        assert_eq!(waits(1, 24, ".safe"), [24, 24, 24]);
        assert_eq!(waits(1, LEAST - 1, ""), [7, 7, 7]);
        assert_eq!(waits(3, 9, ""), [9, 9, 27]);
    }
}
