//! Makes the continuing blocks of loops the ends of their bodies, where variables become loop parameters.

use anymetal_analysis::{Variables, nesting, walk_insts};
use anymetal_ir::{Function, Inst, MAX_NESTING, Op, Type};

/// Merges the continuing blocks of all loops that write a promoted variable. Where that would nest too deep,
/// the variables of the loop stay in memory. Returns whether a block was merged.
pub(super) fn merge_continuing_blocks(
    function: &mut Function,
    variables: &Variables,
    types: &mut [Option<Type>],
) -> bool {
    // Each loop may get a scope.
    let can_nest = 2 * nesting(function) <= MAX_NESTING;
    let mut loops = Vec::new();
    walk_insts(function, function.body, &mut |inst| {
        if let Some((_, _, continuing)) = function.as_loop(inst)
            && !function.block(continuing).is_empty()
        {
            loops.push(inst);
        }
    });
    let mut changed = false;
    for inst in loops {
        let mut written = Vec::new();
        for block in function.inst(inst).op.blocks() {
            walk_insts(function, block, &mut |inst| {
                let local = match function.inst(inst).op {
                    Op::Store { ptr, .. } => variables.at(ptr),
                    Op::LocalStart(local) => Some(local),
                    _ => None,
                };
                written.extend(local.filter(|local| types[local.index()].is_some()));
            });
        }
        if written.is_empty() {
            continue;
        }
        match can_nest || continues(function, inst).is_empty() {
            true => {
                merge(function, inst);
                changed = true;
            }
            false => written.into_iter().for_each(|local| types[local.index()] = None),
        }
    }
    changed
}

/// The continues of a loop.
fn continues(function: &Function, inst: Inst) -> Vec<Inst> {
    let (label, body, _) = function.as_loop(inst).expect("only loops are continued");
    let mut found = Vec::new();
    walk_insts(function, body, &mut |inst| {
        if function.inst(inst).op == Op::continue_(label) {
            found.push(inst);
        }
    });
    found
}

/// Whether an instruction is another one, or has it in a block.
fn contains(function: &Function, inst: Inst, inner: Inst) -> bool {
    let mut found = inst == inner;
    for block in function.inst(inst).op.blocks() {
        walk_insts(function, block, &mut |inst| found |= inst == inner);
    }
    found
}

/// Appends a loop's continuing block to its body. Of a body with continues, the part from the first one on
/// becomes a scope, so that an exit test at the start stays there.
fn merge(function: &mut Function, inst: Inst) {
    let (_, body, continuing) = function.as_loop(inst).expect("only loops have a continuing block");
    let rest = std::mem::take(&mut function.blocks[continuing.index()].insts);
    let continues = continues(function, inst);
    if !continues.is_empty() {
        let label = function.add_label();
        let first = function.block(body).iter().position(|&inst| contains(function, inst, continues[0]));
        let first = first.expect("a continue is in its loop's body");
        for inst in continues {
            function.replace_op(inst, Op::break_(label));
        }
        let scope = function.add_block();
        function.blocks[scope.index()].insts = function.blocks[body.index()].insts.split_off(first);
        let (fp, loc) = (function.inst(inst).fp, function.inst(inst).loc);
        let scope = function.add_inst(Op::scope(label, scope), None, fp, loc);
        function.blocks[body.index()].insts.push(scope);
    }
    let ends = function.block(body).last().is_some_and(|&last| function.inst(last).op.ends_block());
    // Nothing comes to the continuing block of a body that always leaves the loop.
    if !ends {
        function.blocks[body.index()].insts.extend(rest);
    }
}
