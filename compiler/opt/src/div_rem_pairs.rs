//! Puts division and remainder of the same operands next to each other, as LLVM's DivRemPairs does.
//!
//! Processors compute both with one instruction, and code generators combine them only if they are adjacent.

use rustc_hash::{FxHashMap, FxHashSet};

use anymetal_ir::{BinOp, Function, Inst, Op, Value};

/// Moves each division of a block to directly after the first one of the same operands; returns whether
/// anything changed.
pub fn div_rem_pairs(function: &mut Function) -> bool {
    let mut changed = false;
    for block in 0..function.blocks.len() {
        let insts = &function.blocks[block].insts;
        let mut moved_after: FxHashMap<Inst, Vec<Inst>> = FxHashMap::default();
        let mut firsts: FxHashMap<(bool, Value, Value), (Inst, usize)> = FxHashMap::default();
        for (at, &inst) in insts.iter().enumerate() {
            let Some(numbers) = dividend_and_divisor(&function.inst(inst).op) else { continue };
            match firsts.get(&numbers) {
                Some(&(first, place)) if place + 1 < at => moved_after.entry(first).or_default().push(inst),
                Some(_) => {}
                None => _ = firsts.insert(numbers, (inst, at)),
            }
        }
        if moved_after.is_empty() {
            continue;
        }
        let later: FxHashSet<Inst> =
            insts.iter().filter_map(|first| moved_after.get(first)).flatten().copied().collect();
        let stays = insts.iter().filter(|inst| !later.contains(inst));
        let with_others = stays.flat_map(|inst| {
            std::iter::once(*inst).chain(moved_after.get(inst).into_iter().flatten().copied())
        });
        let reordered: Vec<Inst> = with_others.collect();
        assert_eq!(reordered.len(), insts.len(), "divisions are moved, none is lost or repeated");
        function.blocks[block].insts = reordered;
        changed = true;
    }
    changed
}

/// Signedness, dividend and divisor, if it is a division or remainder.
fn dividend_and_divisor(op: &Op) -> Option<(bool, Value, Value)> {
    match *op {
        Op::Binary(BinOp::UDiv | BinOp::URem, a, b) => Some((false, a, b)),
        Op::Binary(BinOp::SDiv | BinOp::SRem, a, b) => Some((true, a, b)),
        _ => None,
    }
}
