//! Lowers a callee's returns to structured control flow, so that it can be inlined.
//!
//! A branch that returns takes the rest of the block into its other branch, so that
//! `if (c) return a; …` becomes `if (c) … else …` and the return is at the end. A single
//! return at the very end passes its value; returns at ends of branches store it in a local;
//! the rest (from inside loops, or too deep) leaves a scope around the body.

use super::compact::compact;
use crate::limits::MAX_MOVED_DEPTH;
use anymetal_ir::{Block, FpMode, Function, Inst, Label, Loc, Local, Op, Space, Type, Value, ValueDef};

/// How the caller gets the result.
pub(super) enum Outcome {
    Nothing,
    Value(Value),
    Local { local: Local, ty: Type, align: u32 },
}

/// A callee without returns.
pub(super) struct Prepared {
    pub(super) function: Function,
    /// The label that the body breaks out of, if it does.
    pub(super) scope: Option<Label>,
    pub(super) outcome: Outcome,
    /// Locals whose lifetime the function does not begin itself: its activation does.
    pub(super) unstarted: Vec<Local>,
}

/// The locals without a start of their own.
fn unstarted(function: &Function) -> Vec<Local> {
    let mut started = vec![false; function.locals.len()];
    anymetal_analysis::walk_insts(function, function.body, &mut |inst| {
        if let Op::LocalStart(local) = function.inst(inst).op {
            started[local.index()] = true;
        }
    });
    (0u32..).map(Local).zip(started).filter(|(_, started)| !started).map(|(local, _)| local).collect()
}

/// Leaves the returns of a function without calls and result as they are.
pub(super) fn prepare_tail(function: Function) -> Prepared {
    assert_eq!(function.ret, None, "a call of {} has a result that its caller needs", function.name);
    let unstarted = unstarted(&function);
    Prepared { function, scope: None, outcome: Outcome::Nothing, unstarted }
}

/// Prepares a function without calls.
pub(super) fn prepare(mut function: Function) -> Prepared {
    let body = function.body;
    let returning = returning_blocks(&function);
    move_rests(&mut function, &returning, body, 0);
    let returns = count_returns(&function);
    // One return at the very end, of a value that is defined there.
    let last = function.block(body).last().map(|&inst| function.inst(inst).op.clone());
    if let (1, Some(Op::Return(value))) = (returns, last) {
        function.blocks[body.index()].insts.pop();
        compact_keeping(&mut function, value)
    } else {
        let label = function.add_label();
        let slot = function.ret.filter(|_| returns > 0).map(|ty| {
            // The smallest power of two that holds the value is an alignment that suits it.
            let align = ty.size().next_power_of_two();
            (function.add_local("result", u64::from(ty.size()), align), ty, align)
        });
        let mut rewriter = Rewriter { function, label, slot, breaks: 0 };
        rewriter.block(body, true);
        let scope = (rewriter.breaks > 0).then_some(label);
        let outcome = match (slot, rewriter.function.ret) {
            (Some((local, ty, align)), _) => Outcome::Local { local, ty, align },
            // The function never returns a value; the caller gets whatever a fresh local holds.
            (None, Some(ty)) => {
                let align = ty.size().next_power_of_two();
                let local = rewriter.function.add_local("result", u64::from(ty.size()), align);
                Outcome::Local { local, ty, align }
            }
            (None, None) => Outcome::Nothing,
        };
        debug_assert_eq!(count_returns(&rewriter.function), 0, "a return is left in a body to be inlined");
        let unstarted = unstarted(&rewriter.function);
        Prepared { function: rewriter.function, scope, outcome, unstarted }
    }
}

/// Compacts, following the number of the returned value.
fn compact_keeping(function: &mut Function, value: Option<Value>) -> Prepared {
    let def = value.map(|value| (value, function.values[value.index()].def));
    let mut function = std::mem::replace(function, Function::new("", &[], None));
    // The value's definition is reached; its instruction's position in the walk finds it again.
    let position = def.and_then(|(_, def)| match def {
        ValueDef::Inst(wanted) | ValueDef::LoopParam(wanted, _) | ValueDef::Result(wanted, _) => {
            let (mut n, mut found) = (0_u32, None);
            anymetal_analysis::walk_insts(&function, function.body, &mut |inst| {
                if inst == wanted {
                    found = Some(n);
                }
                n += 1;
            });
            found
        }
        ValueDef::Param(_) => None,
    });
    compact(&mut function);
    let outcome = match (def, position) {
        (None, _) => Outcome::Nothing,
        (Some((_, def)), Some(n)) => {
            // Compaction numbers instructions in the order of the walk.
            Outcome::Value(match def {
                ValueDef::LoopParam(_, number) => function.inst(Inst(n)).op.params()[number as usize],
                ValueDef::Result(_, number) => function.inst(Inst(n)).op.results()[number as usize],
                ValueDef::Inst(_) | ValueDef::Param(_) => function.result(Inst(n)),
            })
        }
        (Some((_, ValueDef::Param(n))), None) => Outcome::Value(function.params[n as usize]),
        (Some((value, _)), None) => {
            unreachable!("{value} is returned, but no instruction that the body reaches defines it")
        }
    };
    let unstarted = unstarted(&function);
    Prepared { function, scope: None, outcome, unstarted }
}

fn count_returns(function: &Function) -> usize {
    let mut count = 0;
    anymetal_analysis::walk_insts(function, function.body, &mut |inst| {
        count += usize::from(matches!(function.inst(inst).op, Op::Return(_)));
    });
    count
}

/// For each block, whether a return is in it or nested in it.
fn returning_blocks(function: &Function) -> Vec<bool> {
    let mut order = vec![function.body];
    let mut next = 0;
    while next < order.len() {
        for &inst in function.block(order[next]) {
            order.extend(function.inst(inst).op.blocks());
        }
        next += 1;
    }
    let mut returning = vec![false; function.blocks.len()];
    for &block in order.iter().rev() {
        returning[block.index()] = function.block(block).iter().any(|&inst| {
            let op = &function.inst(inst).op;
            matches!(op, Op::Return(_)) || op.blocks().iter().any(|nested| returning[nested.index()])
        });
    }
    returning
}

/// Whether control never reaches the end of the block, judged by its last instruction.
fn exits(function: &Function, block: Block) -> bool {
    let mut blocks = vec![block];
    while let Some(block) = blocks.pop() {
        match function.block(block).last().map(|&inst| &function.inst(inst).op) {
            Some(op) if op.is_terminator() => {}
            Some(Op::If { then, otherwise, .. }) => blocks.extend([*then, *otherwise]),
            _ => return false,
        }
    }
    true
}

/// Moves what follows an `if` with a returning branch into its other branch.
fn move_rests(function: &mut Function, returning: &[bool], block: Block, depth: usize) {
    if depth >= MAX_MOVED_DEPTH {
        // Returns that are left break out of a scope.
        return;
    }
    let mut at = 0;
    while at < function.block(block).len() {
        let inst = function.block(block)[at];
        at += 1;
        let Op::If { then, otherwise, .. } = function.inst(inst).op else { continue };
        if !returning[then.index()] && !returning[otherwise.index()] {
            continue;
        }
        let (then_exits, otherwise_exits) = (exits(function, then), exits(function, otherwise));
        let rest = match (then_exits, otherwise_exits) {
            (false, false) => Vec::new(),
            _ => function.blocks[block.index()].insts.split_off(at),
        };
        match (then_exits, otherwise_exits) {
            // Both leave: the rest is dead. Neither does: it stays.
            (true, true) | (false, false) => {}
            (true, false) => function.blocks[otherwise.index()].insts.extend(rest),
            (false, true) => function.blocks[then.index()].insts.extend(rest),
        }
        // The last instruction of the block is now at the end of the function.
        if at == function.block(block).len() {
            move_rests(function, returning, then, depth + 1);
            move_rests(function, returning, otherwise, depth + 1);
        }
    }
}

/// Replaces returns by stores and breaks.
struct Rewriter {
    function: Function,
    label: Label,
    slot: Option<(Local, Type, u32)>,
    breaks: usize,
}

impl Rewriter {
    /// `tail`: after this block nothing of the callee runs.
    fn block(&mut self, block: Block, tail: bool) {
        let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let count = insts.len();
        let mut out = Vec::with_capacity(count);
        for (n, inst) in insts.into_iter().enumerate() {
            let tail = tail && n + 1 == count;
            let data = self.function.inst(inst);
            match data.op {
                Op::Return(value) => {
                    let (fp, loc) = (data.fp, data.loc);
                    self.leave(&mut out, value, tail, fp, loc);
                    continue;
                }
                Op::Loop { body, continuing, .. } => {
                    self.block(body, false);
                    self.block(continuing, false);
                }
                _ => {
                    for nested in data.op.blocks() {
                        self.block(nested, tail);
                    }
                }
            }
            out.push(inst);
        }
        self.function.blocks[block.index()].insts = out;
    }

    fn leave(&mut self, out: &mut Vec<Inst>, value: Option<Value>, tail: bool, fp: FpMode, loc: Loc) {
        assert_eq!(value.is_some(), self.slot.is_some(), "a function with a result returns a value");
        if let (Some(value), Some((local, ty, align))) = (value, self.slot) {
            assert_eq!(self.function.ty(value), ty, "{value} is returned from {}", self.function.name);
            let thread = Type::Ptr(Space::Thread);
            let addr = self.function.add_inst(Op::LocalAddr(local), Some(thread), fp, loc);
            let ptr = self.function.result(addr);
            let store = Op::Store { ptr, value, align, volatile: false };
            let store = self.function.add_inst(store, None, fp, loc);
            out.extend([addr, store]);
        }
        if !tail {
            self.breaks += 1;
            out.push(self.function.add_inst(Op::break_(self.label), None, fp, loc));
        }
    }
}
