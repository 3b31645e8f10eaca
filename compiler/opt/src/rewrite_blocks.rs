//! The walk of passes that rewrite blocks in place: inner blocks first, each instruction into a new list.

use anymetal_ir::{Block, Function, Inst};

/// A pass that rewrites blocks.
pub(super) trait BlockRewriter {
    /// The function that is rewritten.
    fn function(&mut self) -> &mut Function;

    /// Called before the nested blocks of an instruction are rewritten.
    fn enter(&mut self, _inst: Inst) {}

    /// Appends to `out` what takes the instruction's place. Its nested blocks have been rewritten.
    fn rewrite(&mut self, inst: Inst, out: &mut Vec<Inst>);

    /// Called with what a block has become.
    fn end_block(&mut self, _insts: &[Inst]) {}
}

/// Rewrites the function's body.
pub(super) fn rewrite_blocks(rewriter: &mut impl BlockRewriter) {
    let body = rewriter.function().body;
    rewrite_block(rewriter, body);
}

fn rewrite_block(rewriter: &mut impl BlockRewriter, block: Block) {
    let insts = std::mem::take(&mut rewriter.function().blocks[block.index()].insts);
    let mut out = Vec::with_capacity(insts.len());
    for inst in insts {
        rewriter.enter(inst);
        for nested in rewriter.function().inst(inst).op.blocks() {
            rewrite_block(rewriter, nested);
        }
        rewriter.rewrite(inst, &mut out);
    }
    rewriter.end_block(&out);
    rewriter.function().blocks[block.index()].insts = out;
}
