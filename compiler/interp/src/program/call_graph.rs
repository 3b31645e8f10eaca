//! Which functions an entry reaches.

use anymetal_ir::{FuncId, Function, Module, Op};

use crate::InterpError;

/// All functions reached, each before the ones it calls. Iterative, so that deep call chains cannot
/// overflow the stack.
pub(super) fn callers_first(module: &Module, entry: FuncId) -> Result<Vec<FuncId>, InterpError> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; module.functions.len()];
    let mut order = Vec::new();
    let mut open = vec![(entry, callees(module.function(entry)), 0)];
    state[entry.index()] = State::Open;
    while let Some((function, calls, next)) = open.last_mut() {
        let Some(&callee) = calls.get(*next) else {
            state[function.index()] = State::Done;
            order.push(*function);
            open.pop();
            continue;
        };
        *next += 1;
        match state[callee.index()] {
            State::New => {
                state[callee.index()] = State::Open;
                open.push((callee, callees(module.function(callee)), 0));
            }
            State::Open => {
                return Err(InterpError::Recursion { function: module.function(callee).name.clone() });
            }
            State::Done => {}
        }
    }
    order.reverse();
    Ok(order)
}

/// The functions called, in order of first mention.
pub(super) fn callees(function: &Function) -> Vec<FuncId> {
    let mut found = Vec::new();
    for inst in function.blocks.iter().flat_map(|block| &block.insts) {
        if let Op::Call(callee, _) = function.inst(*inst).op
            && !found.contains(&callee)
        {
            found.push(callee);
        }
    }
    found
}
