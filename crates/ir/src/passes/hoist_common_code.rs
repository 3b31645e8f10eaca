//! Moves before a branch what both of its arms begin with: `if (c) x = f(p[i]); else x = g(p[i]);` loads once.
//!
//! Pure operations, and loads from memory that threads share. "Begin" means before anything that may change that memory, wait or
//! leave the arm. So no access happens that would not have happened anyway, and what follows the branch may use it, too.

use rustc_hash::{FxHashMap, FxHashSet};

use super::substitution::Substitution;
use crate::analysis::{Memory, may_change};
use crate::{Block, FpMode, Function, Inst, Op, Type, Value};

/// Moves within one function; returns whether anything changed.
pub fn hoist_common_code(function: &mut Function) -> bool {
    let mut mover = Mover { function, substitution: Substitution::default(), changed: false };
    let body = mover.function.body;
    mover.block(body);
    let Mover { mut substitution, changed, .. } = mover;
    if changed {
        substitution.apply_everywhere(function);
    }
    changed
}

/// What makes two instructions equal.
type Key = (Op, Type, FpMode);

struct Mover<'a> {
    function: &'a mut Function,
    substitution: Substitution,
    changed: bool,
}

impl Mover<'_> {
    fn block(&mut self, block: Block) {
        let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let mut out = Vec::with_capacity(insts.len());
        for inst in insts {
            // Inner branches first: what they give up may move on.
            for nested in self.function.inst(inst).op.blocks() {
                self.block(nested);
            }
            if let Op::If { then, otherwise, .. } = self.function.inst(inst).op {
                self.starts_of(then, otherwise, &mut out);
            }
            out.push(inst);
        }
        self.function.blocks[block.index()].insts = out;
    }

    fn starts_of(&mut self, then: Block, otherwise: Block, out: &mut Vec<Inst>) {
        let others: FxHashMap<Key, Value> = self
            .start_of(then)
            .into_iter()
            .filter_map(|inst| self.key(inst).zip(self.result(inst)))
            .collect();
        let mut moved = FxHashSet::default();
        let mut gone = FxHashSet::default();
        for inst in self.start_of(otherwise) {
            let Some(result) = self.result(inst) else { continue };
            if let Some(&value) = self.key(inst).and_then(|key| others.get(&key)) {
                self.substitution.replace(result, value);
                moved.insert(value);
                gone.insert(inst);
            }
        }
        if gone.is_empty() {
            return;
        }
        self.changed = true;
        self.function.blocks[otherwise.index()].insts.retain(|inst| !gone.contains(inst));
        let insts = std::mem::take(&mut self.function.blocks[then.index()].insts);
        let is_moved = |inst: &Inst| self.result(*inst).is_some_and(|result| moved.contains(&result));
        let (up, kept) = insts.into_iter().partition(is_moved);
        out.extend::<Vec<Inst>>(up);
        self.function.blocks[then.index()].insts = kept;
    }

    /// What may be moved out of an arm, if what it needs is.
    fn start_of(&self, arm: Block) -> Vec<Inst> {
        let function = &*self.function;
        let insts = function.block(arm).iter().copied();
        let is_start = |inst: &Inst| {
            let op = &function.inst(*inst).op;
            !may_change(function, op, Memory::Any) && !op.is_terminator() && op.blocks().is_empty()
        };
        let may_move = |inst: &Inst| match function.inst(*inst).op {
            Op::Load { ptr, volatile: false, .. } => Memory::Any.has(function, ptr),
            ref op => op.is_pure(),
        };
        insts.take_while(is_start).filter(may_move).collect()
    }

    fn result(&self, inst: Inst) -> Option<Value> {
        self.function.inst(inst).result
    }

    fn key(&mut self, inst: Inst) -> Option<Key> {
        let data = self.function.inst(inst);
        let ty = self.function.ty(data.result?);
        let fp = if data.op.has_fp_mode() { data.fp } else { FpMode::default() };
        let mut op = data.op.clone();
        self.substitution.apply(&mut op);
        Some((op, ty, fp))
    }
}
