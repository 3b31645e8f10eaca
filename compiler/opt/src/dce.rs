//! Dead code and dead store elimination: removes unused results and loop parameters, stores to locals that
//! are never read or that the next store overwrites, and empty constructs.
//!
//! An unused load is removed too, and with it the report of a fault that it might have caused. Loops
//! are kept, because they may not terminate.

use rustc_hash::FxHashSet;

use super::block_values;
use anymetal_analysis::{LocalPointers, Variables, local_uses, use_counts};
use anymetal_ir::{Block, Function, Inst, Local, Op, Value};

/// Eliminates dead code of one function; returns whether anything changed.
pub fn dce(function: &mut Function) -> bool {
    let changed = block_values::remove_dead(function);
    let unread: Vec<bool> = local_uses(function).iter().map(|local| !local.read && !local.escapes).collect();
    let variables = Variables::of(function);
    let mut cleaner = Cleaner {
        counts: use_counts(function),
        roots: local_roots(function, &variables.pointers),
        variables: variables.is_variable,
        overwritten: FxHashSet::default(),
        unread,
        function,
        changed,
    };
    let body = cleaner.function.body;
    cleaner.block(body);
    debug_assert_eq!(cleaner.counts, use_counts(cleaner.function), "the use counts do not match the uses");
    cleaner.changed
}

/// For each value: the local it points into, at any offset.
fn local_roots(function: &Function, constant: &LocalPointers) -> Vec<Option<Local>> {
    let mut roots: Vec<Option<Local>> = constant.iter().map(|place| place.map(|(local, _)| local)).collect();
    anymetal_analysis::walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        if let (Op::PtrAdd { base, .. }, Some(result)) = (&data.op, data.result) {
            roots[result.index()] = roots[base.index()];
        }
    });
    roots
}

struct Cleaner<'a> {
    function: &'a mut Function,
    /// Number of uses by instructions that were not removed.
    counts: Vec<u32>,
    roots: Vec<Option<Local>>,
    /// Locals that are never read.
    unread: Vec<bool>,
    /// Locals that are stored and loaded as a whole.
    variables: Vec<bool>,
    /// Variables that a later store overwrites before they are read.
    overwritten: FxHashSet<Local>,
    changed: bool,
}

impl Cleaner<'_> {
    /// Backwards, so that the uses of a value are decided before its definition.
    fn block(&mut self, block: Block) {
        let mut insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let before = insts.len();
        insts.reverse();
        self.overwritten.clear();
        insts.retain(|&inst| self.is_live(inst));
        self.overwritten.clear();
        insts.reverse();
        self.changed |= insts.len() != before;
        self.function.blocks[block.index()].insts = insts;
    }

    fn is_live(&mut self, inst: Inst) -> bool {
        let blocks = self.function.inst(inst).op.blocks();
        for &nested in blocks.iter().rev() {
            self.block(nested);
        }
        if self.is_overwritten(inst) {
            self.release_operands(inst);
            return false;
        }
        let data = self.function.inst(inst);
        let unused = data.result.is_none_or(|value| self.counts[value.index()] == 0);
        let needed = match &data.op {
            Op::If { .. } | Op::Switch { .. } | Op::Scope { .. } => {
                blocks.iter().any(|nested| !self.function.block(*nested).is_empty())
            }
            op => !unused || op.has_side_effects() && !self.writes_unread(op),
        };
        if !needed {
            self.release_operands(inst);
        }
        needed
    }

    /// Takes the uses by a removed instruction out of the counts.
    fn release_operands(&mut self, inst: Inst) {
        let counts = &mut self.counts;
        self.function.inst(inst).op.for_each_operand(|value| {
            let count = &mut counts[value.index()];
            assert!(*count > 0, "{inst} is a use of {value} that was not counted");
            *count -= 1;
        });
    }

    /// Whether it is a store of a variable that another store in the same block overwrites, with nothing in
    /// between that could read it. Notes what the instruction overwrites or reads.
    fn is_overwritten(&mut self, inst: Inst) -> bool {
        let variable =
            |this: &Self, ptr: Value| this.roots[ptr.index()].filter(|local| this.variables[local.index()]);
        match &self.function.inst(inst).op {
            Op::Store { ptr, volatile: false, .. } => {
                if let Some(local) = variable(self, *ptr) {
                    return !self.overwritten.insert(local);
                }
            }
            // An unused load will be removed.
            Op::Load { ptr, .. } => {
                let used = self.function.inst(inst).result.is_none_or(|value| self.counts[value.index()] > 0);
                if let Some(local) = variable(self, *ptr).filter(|_| used) {
                    self.overwritten.remove(&local);
                }
            }
            op if op.ends_block() || !op.blocks().is_empty() => self.overwritten.clear(),
            _ => {}
        }
        false
    }

    /// Whether it only writes a local that nothing reads.
    fn writes_unread(&self, op: &Op) -> bool {
        let into = |ptr: Value| self.roots[ptr.index()].is_some_and(|local| self.unread[local.index()]);
        match op {
            Op::Store { ptr, volatile: false, .. } => into(*ptr),
            Op::MemCopy { dst, .. } | Op::MemZero { dst, .. } => into(*dst),
            Op::LocalStart(local) => self.unread[local.index()],
            _ => false,
        }
    }
}
