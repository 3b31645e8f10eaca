//! Computes the same pure value once: an instruction whose operation, type and float mode equal
//! those of one before it, in the same block or around it, becomes that one's value.
//!
//! Loads from memory other than constant, atomics and SIMD-group operations are not pure in this
//! sense: memory changes, and the set of active lanes does.

use rustc_hash::FxHashMap;

use super::substitution::Substitution;
use crate::{Block, FpMode, Function, Inst, Op, Space, Type, Value};

/// Reuses values within one function; returns whether anything changed.
pub fn reuse(function: &mut Function) -> bool {
    let mut reuser = Reuser {
        function,
        known: FxHashMap::default(),
        log: Vec::new(),
        substitution: Substitution::default(),
        changed: false,
    };
    let body = reuser.function.body;
    reuser.block(body);
    reuser.changed
}

/// What makes two instructions equal.
type Key = (Op, Type, FpMode);

struct Reuser<'a> {
    function: &'a mut Function,
    /// The pure instructions of the blocks around here. Never iterated.
    known: FxHashMap<Key, Value>,
    /// The keys added, to be taken back at the end of their block.
    log: Vec<Key>,
    substitution: Substitution,
    changed: bool,
}

impl Reuser<'_> {
    fn block(&mut self, block: Block) {
        let mark = self.log.len();
        let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for inst in insts {
            self.substitution.apply(&mut self.function.insts[inst.index()].op);
            if !self.replaced(inst) {
                kept.push(inst);
                for nested in self.function.inst(inst).op.blocks() {
                    self.block(nested);
                }
            }
        }
        self.function.blocks[block.index()].insts = kept;
        for key in self.log.drain(mark..) {
            self.known.remove(&key);
        }
    }

    fn replaced(&mut self, inst: Inst) -> bool {
        let data = self.function.inst(inst);
        let Some(result) = data.result.filter(|_| is_reusable(self.function, &data.op)) else { return false };
        let fp = if data.op.has_fp_mode() { data.fp } else { FpMode::default() };
        let key = (data.op.clone(), self.function.ty(result), fp);
        if let Some(&value) = self.known.get(&key) {
            self.substitution.replace(result, value);
            self.changed = true;
            return true;
        }
        self.known.insert(key.clone(), result);
        self.log.push(key);
        false
    }
}

/// Whether equal operands give an equal result wherever it stands. Constant memory does not change
/// while a kernel runs.
pub(super) fn is_reusable(function: &Function, op: &Op) -> bool {
    match op {
        Op::Load { ptr, volatile: false, .. } => function.ty(*ptr) == Type::Ptr(Space::Constant),
        _ => op.is_pure(),
    }
}
