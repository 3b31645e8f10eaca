//! Splits a long chain of additions into two accumulators, where reassociation is allowed.
//!
//! In `a + b + c + …` each addition depends on the one before. A thread with one such chain, of a filter or a
//! scalar product, is bound by the latency of additions; two accumulators, of every odd term, halve the
//! critical path. Blocks with several chains already have enough instruction-level parallelism, and more
//! registers in use.
//!
//! Runs for code generators, after all odd passes.

use anymetal_analysis::use_counts;
use anymetal_ir::{BinOp, Block, FpMode, Function, Inst, Op, Value, ValueDef};

/// Minimum additions of a chain that is split.
const MIN_ADDITIONS: usize = 8;
/// Maximum number of such chains in a block.
const MAX_CHAINS: usize = 2;

/// The additions of a chain, in order. Each but the first adds to the result of the one before.
type AdditionChain = Vec<Addition>;

#[derive(Clone, Copy, Debug)]
struct Addition {
    inst: Inst,
    result: Value,
    /// The operand that is not the previous addition; of the first one, the right operand.
    term: Value,
}

/// Splits the long chains of one function; returns whether anything changed.
pub fn split_accumulators(function: &mut Function) -> bool {
    let uses = use_counts(function);
    let mut changed = false;
    for block in 0..function.blocks.len() {
        let block = Block(block as u32);
        let found = chains_of_block(function, &uses, block);
        if found.len() <= MAX_CHAINS {
            found.iter().for_each(|sum| split_chain(function, block, sum));
            changed |= !found.is_empty();
        }
    }
    changed
}

/// The long addition chains of a block.
fn chains_of_block(function: &Function, uses: &[u32], block: Block) -> Vec<AdditionChain> {
    let mut open: Vec<AdditionChain> = Vec::new();
    for &inst in function.block(block) {
        let data = function.inst(inst);
        let (&Op::Binary(BinOp::FAdd, a, b), Some(result)) = (&data.op, data.result) else { continue };
        if data.fp == FpMode::Safe {
            continue;
        }
        // The chain that this addition continues: its partial sum has no other use.
        let continues = |value: Value| {
            let ends_in = |sum: &AdditionChain| sum.last().is_some_and(|last| last.result == value);
            let at = open.iter().position(ends_in).filter(|_| uses[value.index()] == 1);
            let same_mode = |of: Inst| function.inst(of).fp == data.fp;
            at.filter(|_| matches!(function.values[value.index()].def, ValueDef::Inst(of) if same_mode(of)))
        };
        let (at, term) = match (continues(a), continues(b)) {
            (Some(at), _) => (Some(at), b),
            (None, Some(at)) => (Some(at), a),
            (None, None) => (None, b),
        };
        let mut sum = at.map(|at| open.swap_remove(at)).unwrap_or_default();
        sum.push(Addition { inst, result, term });
        open.push(sum);
    }
    open.retain(|sum| sum.len() >= MIN_ADDITIONS);
    open
}

/// Moves every odd term to a second accumulator.
fn split_chain(function: &mut Function, block: Block, sum: &AdditionChain) {
    let [first, removed, rest @ .., last] = sum.as_slice() else {
        unreachable!("a chain of {} additions is not split", sum.len())
    };
    let (mut accumulator, mut other_accumulator) = (removed.term, first.result);
    for addition in rest {
        function.replace_op(addition.inst, Op::Binary(BinOp::FAdd, accumulator, addition.term));
        (accumulator, other_accumulator) = (other_accumulator, addition.result);
    }
    let data = function.inst(last.inst);
    let (fp, loc, ty) = (data.fp, data.loc, function.ty(last.result));
    let before = function.add_inst(Op::Binary(BinOp::FAdd, accumulator, last.term), Some(ty), fp, loc);
    let both = Op::Binary(BinOp::FAdd, function.result(before), other_accumulator);
    function.replace_op(last.inst, both);
    // Otherwise LLVM may reassociate the two into one chain again.
    function.insts[last.inst.index()].fp = FpMode::Safe;
    let insts = &mut function.blocks[block.index()].insts;
    let count = insts.len();
    insts.retain(|&inst| inst != removed.inst);
    let at = insts.iter().position(|&inst| inst == last.inst).expect("the chain is in this block");
    insts.insert(at, before);
    assert_eq!(insts.len(), count, "splitting a chain adds one addition and removes one");
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use anymetal_ir::{parse_module, verify};

    /// Length of the longest dependence chain of additions before and after the pass, and the number of
    /// additions after it, of a function that stores `count` sums of `additions` additions each. Partial sums
    /// are left and right operands in turn.
    fn depths(count: usize, additions: usize, mode: &str) -> [usize; 3] {
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
    fn long_chains_are_split_in_two() {
        assert_eq!(depths(1, 24, ""), [24, 13, 24]);
        assert_eq!(depths(2, 9, ""), [9, 5, 18]);
    }

    #[test]
    fn safe_mode_short_chains_and_several_chains_are_kept() {
        assert_eq!(depths(1, 24, ".safe"), [24, 24, 24]);
        assert_eq!(depths(1, MIN_ADDITIONS - 1, ""), [7, 7, 7]);
        assert_eq!(depths(3, 9, ""), [9, 9, 27]);
    }
}
