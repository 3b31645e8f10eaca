//! Walking nested blocks without recursion.

use anymetal_ir::{Block, Function, Inst};

/// Calls `f` for every instruction of the block and the blocks nested in it, in textual order: a
/// construct before the blocks in it.
pub fn walk_insts(function: &Function, block: Block, f: &mut impl FnMut(Inst)) {
    walk_with_depth(function, block, &mut |inst, _| f(inst));
}

/// How deep constructs nest in the function's body; 0 without any.
pub fn nesting(function: &Function) -> usize {
    let mut deepest = 0;
    walk_with_depth(function, function.body, &mut |_, depth| deepest = deepest.max(depth));
    deepest
}

fn walk_with_depth(function: &Function, block: Block, f: &mut impl FnMut(Inst, usize)) {
    // Work list, innermost block last: block, next position, depth.
    let mut stack = vec![(block, 0, 0)];
    while let Some((block, at, depth)) = stack.pop() {
        let Some(&inst) = function.block(block).get(at) else { continue };
        stack.push((block, at + 1, depth));
        f(inst, depth);
        let mut blocks = function.inst(inst).op.blocks();
        while let Some(nested) = blocks.pop() {
            stack.push((nested, 0, depth + 1));
        }
    }
}
