//! Computes the same value once: an instruction whose operation, type and float mode equal
//! those of one before it, in the same block or around it, becomes that one's value.
//!
//! Atomics and SIMD-group operations are not alike in this sense: memory changes, and the set of active lanes does. A load from
//! memory that threads share is alike as long as nothing between may change that memory: this thread's stores, and what
//! orders its accesses and other threads'. A loop's iterations go before what stands above in it.

use rustc_hash::FxHashMap;

use super::substitution::Substitution;
use crate::analysis::{Memory, may_change, walk_insts};
use crate::{Block, FpMode, Function, Inst, Op, Space, Type, Value};

/// Memories that change apart from each other.
const MEMORIES: [Memory; 2] = [Memory::Threadgroup, Memory::Elsewhere];

/// Reuses values within one function; returns whether anything changed.
pub fn early_cse(function: &mut Function) -> bool {
    let mut reuser = Reuser {
        function,
        known: FxHashMap::default(),
        log: Vec::new(),
        changes: [0; MEMORIES.len()],
        substitution: Substitution::default(),
        changed: false,
    };
    let body = reuser.function.body;
    reuser.block(body);
    reuser.changed
}

/// What makes two instructions equal: for loads, also how often their memory has changed.
type Key = (Op, Type, FpMode, u32);

struct Reuser<'a> {
    function: &'a mut Function,
    /// The reusable instructions of the blocks around here. Never iterated.
    known: FxHashMap<Key, Value>,
    /// The keys added, to be taken back at the end of their block.
    log: Vec<Key>,
    /// How often each of the memories may have changed so far.
    changes: [u32; MEMORIES.len()],
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
                self.note_changes(inst);
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

    /// Notes which memory the instruction may change, at a loop's start also what its iterations change.
    fn note_changes(&mut self, inst: Inst) {
        let function = &*self.function;
        for (memory, count) in MEMORIES.into_iter().zip(&mut self.changes) {
            let op = &function.inst(inst).op;
            let mut changes = may_change(function, op, memory);
            if let Op::Loop { body, continuing, .. } = *op {
                for block in [body, continuing] {
                    walk_insts(function, block, &mut |inst| {
                        changes |= may_change(function, &function.inst(inst).op, memory);
                    });
                }
            }
            *count += u32::from(changes);
        }
    }

    /// How often the memory that it reads has changed; `None` if there is no telling which value it gives.
    fn changes_before(&self, op: &Op) -> Option<u32> {
        match *op {
            _ if is_reusable(self.function, op) => Some(0),
            Op::Load { ptr, volatile: false, .. } => {
                let own = MEMORIES.into_iter().position(|memory| memory.has(self.function, ptr));
                own.map(|memory| self.changes[memory])
            }
            _ => None,
        }
    }

    fn replaced(&mut self, inst: Inst) -> bool {
        let data = self.function.inst(inst);
        let (Some(result), Some(changes)) = (data.result, self.changes_before(&data.op)) else {
            return false;
        };
        let fp = if data.op.has_fp_mode() { data.fp } else { FpMode::default() };
        let key = (data.op.clone(), self.function.ty(result), fp, changes);
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
