//! Register allocation: from virtual numbers to places in the register file.
//!
//! A function's virtual numbers are defined once and used by later steps. Regions run in the order of their
//! steps, and lanes only ever see values of regions they are in, so a live range is an interval of steps;
//! a use inside a loop of a value from outside lengthens it to the loop's end. Reusing places keeps the
//! register file in the cache.

use super::step::{Role, Slot, Step};

/// Marks numbers of [`super::Program::persistent`].
pub(super) const PERSISTENT: u32 = 1 << 31;
/// Marks numbers of the table of other functions' parameters and results.
pub(super) const FOREIGN: u32 = 1 << 30;

/// The place of a number that is not defined yet.
const UNPLACED: u32 = u32::MAX;

/// The outcome: how many places the function needs.
pub(super) struct Allocation {
    pub(super) places: u32,
}

/// Rewrites the virtual numbers of one function to places `0..places`. Numbers below `fixed` (parameters
/// and result) keep their place throughout; persistent and foreign numbers stay for the linker.
pub(super) fn allocate(steps: &mut [Step], operands: &mut [Slot], fixed: u32, virtuals: u32) -> Allocation {
    let last_use = live_ranges(steps, operands, virtuals);
    let mut expiring: Vec<(u32, u32)> =
        (fixed..virtuals).filter_map(|v| last_use[v as usize].map(|at| (at, v))).collect();
    expiring.sort_unstable();
    let mut expiring = expiring.into_iter().peekable();

    let mut place_of: Vec<u32> = vec![UNPLACED; virtuals as usize];
    let mut free: Vec<u32> = Vec::new();
    let mut places = fixed;
    for (pc, step) in (0u32..).zip(steps.iter_mut()) {
        step.for_each_slot(operands, &mut |slot, role| {
            let number = slot.0;
            if number >= FOREIGN || number < fixed {
                return;
            }
            if role == Role::Def {
                place_of[number as usize] = free.pop().unwrap_or_else(|| {
                    places += 1;
                    places - 1
                });
            }
            slot.0 = place_of[number as usize];
            assert_ne!(slot.0, UNPLACED, "number {number} is used before its definition");
        });
        while let Some((_, number)) = expiring.next_if(|&(at, _)| at <= pc) {
            free.push(place_of[number as usize]);
        }
    }
    Allocation { places }
}

/// The last step at which each number must keep its place; `None` for numbers that never occur.
fn live_ranges(steps: &mut [Step], operands: &mut [Slot], virtuals: u32) -> Vec<Option<u32>> {
    let loop_ends = loop_ends(steps);
    let mut open_loops: Vec<(u32, u32)> = Vec::new();
    let mut defined = vec![0u32; virtuals as usize];
    let mut last_use: Vec<Option<u32>> = vec![None; virtuals as usize];
    for pc in 0..steps.len() as u32 {
        open_loops.retain(|&(_, end)| end >= pc);
        if matches!(steps[pc as usize], Step::Loop) {
            open_loops.push((pc, loop_ends[pc as usize]));
        }
        steps[pc as usize].for_each_slot(operands, &mut |slot, role| {
            if slot.0 >= FOREIGN {
                return;
            }
            let number = slot.0 as usize;
            if role == Role::Def {
                defined[number] = pc;
            }
            // The outermost loop entered since the definition repeats the use.
            let until = match open_loops.iter().find(|&&(start, _)| start > defined[number]) {
                Some(&(_, end)) if role == Role::Use => end,
                _ => pc,
            };
            last_use[number] = last_use[number].max(Some(until));
        });
    }
    last_use
}

/// For each `Loop` step, its `EndLoop`.
fn loop_ends(steps: &[Step]) -> Vec<u32> {
    let mut ends = vec![0; steps.len()];
    let mut open = Vec::new();
    for (pc, step) in (0u32..).zip(steps) {
        match step {
            Step::Loop => open.push(pc),
            Step::EndLoop { .. } => {
                let start: u32 = open.pop().expect("lowering balances loops");
                ends[start as usize] = pc;
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "lowering balances loops");
    ends
}
