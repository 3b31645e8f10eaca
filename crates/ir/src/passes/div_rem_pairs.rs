//! Brings quotient and remainder of the same numbers together: processors compute both at once, and code generators
//! see that where nothing stands between them.

use rustc_hash::FxHashMap;

use crate::{BinOp, Function, Inst, Op, Value};

/// Moves each division of a block behind the first one of the same numbers; returns whether anything moved.
pub fn div_rem_pairs(function: &mut Function) -> bool {
    let mut changed = false;
    for block in 0..function.blocks.len() {
        let insts = &function.blocks[block].insts;
        let mut behind: FxHashMap<Inst, Vec<Inst>> = FxHashMap::default();
        let mut firsts: FxHashMap<(bool, Value, Value), (Inst, usize)> = FxHashMap::default();
        for (at, &inst) in insts.iter().enumerate() {
            let Some(numbers) = divided(&function.inst(inst).op) else { continue };
            match firsts.get(&numbers) {
                Some(&(first, place)) if place + 1 < at => behind.entry(first).or_default().push(inst),
                Some(_) => {}
                None => _ = firsts.insert(numbers, (inst, at)),
            }
        }
        if behind.is_empty() {
            continue;
        }
        let moved: Vec<Inst> =
            insts.iter().filter_map(|first| behind.get(first)).flatten().copied().collect();
        let stays = insts.iter().filter(|inst| !moved.contains(inst));
        let with_others = stays
            .flat_map(|inst| std::iter::once(*inst).chain(behind.get(inst).into_iter().flatten().copied()));
        function.blocks[block].insts = with_others.collect();
        changed = true;
    }
    changed
}

/// Whether it is of signed numbers, and which.
fn divided(op: &Op) -> Option<(bool, Value, Value)> {
    match *op {
        Op::Binary(BinOp::UDiv | BinOp::URem, a, b) => Some((false, a, b)),
        Op::Binary(BinOp::SDiv | BinOp::SRem, a, b) => Some((true, a, b)),
        _ => None,
    }
}
