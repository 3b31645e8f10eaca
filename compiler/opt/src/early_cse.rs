//! Common subexpression elimination with memory generations, as LLVM's EarlyCSE does.
//!
//! An instruction is replaced by the value of a dominating one with equal operation, operands, type and float
//! mode. Atomics and SIMD-group operations are never equal: memory changes, and so does the set of active
//! lanes. Loads of shared memory are equal within one generation of that memory: stores of this thread, and
//! operations that order its accesses with other threads', start a new one. A loop starts a new generation if
//! any of its iterations does.

use rustc_hash::FxHashMap;

use super::substitution::Substitution;
use anymetal_analysis::{Memory, may_change, walk_insts};
use anymetal_ir::{Block, FpMode, Function, Inst, Op, Space, Type, Value};

/// Kinds of memory with a generation of their own.
const GENERATION_KINDS: [Memory; 2] = [Memory::Threadgroup, Memory::Elsewhere];

/// Eliminates common subexpressions of one function; returns whether anything changed.
pub fn early_cse(function: &mut Function) -> bool {
    let mut cse = EarlyCse {
        function,
        available: FxHashMap::default(),
        scope_keys: Vec::new(),
        generations: [0; GENERATION_KINDS.len()],
        substitution: Substitution::default(),
        changed: false,
    };
    let body = cse.function.body;
    cse.block(body);
    assert!(cse.available.is_empty(), "a value remains available after its block has ended");
    cse.changed
}

/// Equal instructions have equal keys. The last field is the generation of the memory that a load reads.
type Key = (Op, Type, FpMode, u32);

struct EarlyCse<'a> {
    function: &'a mut Function,
    /// The values available here, of this block and those around it. Never iterated.
    available: FxHashMap<Key, Value>,
    /// The keys added, removed at the end of their block.
    scope_keys: Vec<Key>,
    /// The current generation of each kind of memory.
    generations: [u32; GENERATION_KINDS.len()],
    substitution: Substitution,
    changed: bool,
}

impl EarlyCse<'_> {
    fn block(&mut self, block: Block) {
        let mark = self.scope_keys.len();
        let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for inst in insts {
            self.substitution.apply(&mut self.function.insts[inst.index()].op);
            if !self.replace_redundant(inst) {
                kept.push(inst);
                self.bump_generations(inst);
                for nested in self.function.inst(inst).op.blocks() {
                    self.block(nested);
                }
            }
        }
        self.function.blocks[block.index()].insts = kept;
        for key in self.scope_keys.drain(mark..) {
            self.available.remove(&key);
        }
    }

    /// Starts new generations of memory that the instruction may change; for a loop, that its iterations may
    /// change.
    fn bump_generations(&mut self, inst: Inst) {
        let function = &*self.function;
        for (memory, count) in GENERATION_KINDS.into_iter().zip(&mut self.generations) {
            let op = &function.inst(inst).op;
            let mut generations = may_change(function, op, memory);
            if let Op::Loop { body, continuing, .. } = *op {
                for block in [body, continuing] {
                    walk_insts(function, block, &mut |inst| {
                        generations |= may_change(function, &function.inst(inst).op, memory);
                    });
                }
            }
            *count += u32::from(generations);
        }
    }

    /// The generation of the memory that it reads; `None` if it cannot be eliminated.
    fn generation_of(&self, op: &Op) -> Option<u32> {
        match *op {
            _ if is_reusable(self.function, op) => Some(0),
            Op::Load { ptr, volatile: false, .. } => {
                let own = GENERATION_KINDS.into_iter().position(|memory| memory.has(self.function, ptr));
                own.map(|memory| self.generations[memory])
            }
            _ => None,
        }
    }

    /// The instruction's result and key; `None` if it cannot be eliminated.
    fn key(&self, inst: Inst) -> Option<(Value, Key)> {
        let data = self.function.inst(inst);
        let (result, generation) = (data.result?, self.generation_of(&data.op)?);
        let fp = if data.op.has_fp_mode() { data.fp } else { FpMode::default() };
        Some((result, (data.op.clone(), self.function.ty(result), fp, generation)))
    }

    fn replace_redundant(&mut self, inst: Inst) -> bool {
        let Some((result, key)) = self.key(inst) else {
            // It is not a candidate: an effect, or a result that differs from one execution to the next.
            return false;
        };
        if let Some(&value) = self.available.get(&key) {
            self.substitution.replace(self.function, result, value);
            self.changed = true;
            return true;
        }
        self.available.insert(key.clone(), result);
        self.scope_keys.push(key);
        false
    }
}

/// Whether equal operands give an equal result at every position. Constant memory does not change while a
/// kernel runs.
pub(super) fn is_reusable(function: &Function, op: &Op) -> bool {
    match op {
        Op::Load { ptr, volatile: false, .. } => function.ty(*ptr) == Type::Ptr(Space::Constant),
        _ => op.is_pure(),
    }
}
