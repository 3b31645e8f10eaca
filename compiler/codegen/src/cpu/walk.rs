//! The instructions of a function body, in order, and the checks that the rest relies on.

use anymetal_ir::{Block, Function, Inst, MAX_NESTING, Op};

use super::options::CodegenError;

/// The reachable instructions in program order; constructs come before their contents. Refuses what
/// earlier passes should have removed.
pub(crate) fn instructions(function: &Function) -> Result<Vec<Inst>, CodegenError> {
    let mut order = Vec::new();
    collect(function, function.body, 0, &mut order)?;
    Ok(order)
}

fn collect(
    function: &Function,
    block: Block,
    depth: usize,
    order: &mut Vec<Inst>,
) -> Result<(), CodegenError> {
    // One more than the verifier allows, so that what it accepted always passes.
    let limit = MAX_NESTING + 1;
    if depth > limit {
        return Err(CodegenError::TooDeep { limit });
    }
    for &inst in function.block(block) {
        let op = &function.inst(inst).op;
        match op {
            Op::FunctionConstant(_) | Op::FunctionConstantDefined(_) => {
                return Err(CodegenError::NotSpecialised);
            }
            _ => {}
        }
        order.push(inst);
        for nested in op.blocks() {
            collect(function, nested, depth + 1, order)?;
        }
    }
    Ok(())
}
