//! Hoists code that both arms of a branch start with to before the branch, as LLVM's GVNHoist does.
//!
//! `if (c) x = f(p[i]); else x = g(p[i]);` then loads once, and code after the branch can use the value too.
//! Hoists pure operations, and loads from shared memory, that precede any operation of the arm that may
//! change that memory, synchronise or leave the arm. So nothing is speculated.

use rustc_hash::{FxHashMap, FxHashSet};

use super::rewrite_blocks::{BlockRewriter, rewrite_blocks};
use super::substitution::Substitution;
use anymetal_analysis::{Memory, may_change};
use anymetal_ir::{Block, FpMode, Function, Inst, Op, Type, Value};

/// Hoists within one function; returns whether anything changed.
pub fn hoist_common_code(function: &mut Function) -> bool {
    let mut hoister = CommonCodeHoister { function, substitution: Substitution::default(), changed: false };
    rewrite_blocks(&mut hoister);
    let CommonCodeHoister { mut substitution, changed, .. } = hoister;
    if changed {
        substitution.apply_everywhere(function);
    }
    changed
}

/// Equal instructions have equal keys.
type Key = (Op, Type, FpMode);

struct CommonCodeHoister<'a> {
    function: &'a mut Function,
    substitution: Substitution,
    changed: bool,
}

impl BlockRewriter for CommonCodeHoister<'_> {
    fn function(&mut self) -> &mut Function {
        self.function
    }

    fn rewrite(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        // Inner branches are done: what was hoisted out of them may be hoisted further.
        if let Op::If { then, otherwise, .. } = self.function.inst(inst).op {
            self.hoist_common(then, otherwise, out);
        }
        out.push(inst);
    }
}

impl CommonCodeHoister<'_> {
    fn hoist_common(&mut self, then: Block, otherwise: Block, out: &mut Vec<Inst>) {
        let others: FxHashMap<Key, Value> = self
            .hoistable_start(then)
            .into_iter()
            .map(|inst| (self.key(inst), self.function.result(inst)))
            .collect();
        let mut hoisted = FxHashSet::default();
        let mut removed = FxHashSet::default();
        for inst in self.hoistable_start(otherwise) {
            if let Some(&value) = others.get(&self.key(inst)) {
                self.substitution.replace(self.function, self.function.result(inst), value);
                hoisted.insert(value);
                removed.insert(inst);
            }
        }
        if removed.is_empty() {
            return;
        }
        self.changed = true;
        self.function.blocks[otherwise.index()].insts.retain(|inst| !removed.contains(inst));
        let insts = std::mem::take(&mut self.function.blocks[then.index()].insts);
        let result = |inst: &Inst| self.function.inst(*inst).result;
        let is_hoisted = |inst: &Inst| result(inst).is_some_and(|result| hoisted.contains(&result));
        let (hoisted_insts, kept): (Vec<Inst>, Vec<Inst>) = insts.into_iter().partition(is_hoisted);
        assert_eq!(hoisted_insts.len(), hoisted.len(), "a hoisted value is defined in the first arm");
        out.extend(hoisted_insts);
        self.function.blocks[then.index()].insts = kept;
    }

    /// The instructions that may be hoisted out of an arm, if their operands are.
    fn hoistable_start(&self, arm: Block) -> Vec<Inst> {
        let function = &*self.function;
        let insts = function.block(arm).iter().copied();
        let is_start = |inst: &Inst| {
            let op = &function.inst(*inst).op;
            !may_change(function, op, Memory::Any) && !op.ends_block() && op.blocks().is_empty()
        };
        let may_move = |inst: &Inst| match function.inst(*inst).op {
            Op::Load { ptr, volatile: false, .. } => Memory::Any.has(function, ptr),
            ref op => op.is_pure(),
        };
        insts.take_while(is_start).filter(may_move).collect()
    }

    fn key(&mut self, inst: Inst) -> Key {
        let data = self.function.inst(inst);
        let ty = self.function.ty(self.function.result(inst));
        let fp = if data.op.has_fp_mode() { data.fp } else { FpMode::default() };
        let mut op = data.op.clone();
        self.substitution.apply(&mut op);
        (op, ty, fp)
    }
}
