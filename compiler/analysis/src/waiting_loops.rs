//! Loops that may wait for another thread.
//!
//! A loop waits if a read decides whether it ends that is atomic, volatile, or beside a fence: the other
//! thread has to make progress meanwhile (section 5.2.3.6 of the MSL specification). A loop does not wait if
//! each of its iterations makes progress by itself: a compare-and-exchange that is retried with the value
//! that it found, or a counter that the loop itself advances.
//!
//! The analysis marks what depends on such reads: values, what jumps pass and bytes of locals that are
//! stored, if the value or the condition depends on them. It covers only the data flow within the loop and
//! errs towards waiting. Functions that are called count as reads if they, or the functions they call, read
//! like that. No other thread writes thread memory, so volatile accesses of it count as plain accesses.

use std::collections::BTreeSet;
use std::ops::Range;

use super::incoming::IncomingValues;
use super::locals::{LocalPointers, LocalUse, local_pointers, local_roots, local_uses};
use super::uses::{callees, used_functions};
use super::walk::walk_insts;
use anymetal_ir::{
    AtomicOp, Block, CmpOp, FuncId, Function, Inst, Label, Local, Module, Op, Space, Type, Value, ValueDef,
};

/// Whether the kernel's function, or a function that it calls, has a loop that may wait.
pub fn waits_for_threads(module: &Module, function: FuncId) -> bool {
    let (functions, observers) = observers(module, &[function]);
    functions.into_iter().any(|id| !loops(module.function(id), &observers).is_empty())
}

/// The loops of the function that may wait for another thread.
pub fn waiting_loops(module: &Module, function: &Function) -> BTreeSet<Inst> {
    loops(function, &observers(module, &callees(function)).1)
}

fn loops(function: &Function, observers: &BTreeSet<FuncId>) -> BTreeSet<Inst> {
    let mut waiting = BTreeSet::new();
    if !observes(function, observers) {
        return waiting;
    }
    let pointers = Pointers {
        roots: local_roots(function),
        offsets: local_pointers(function),
        uses: local_uses(function),
    };
    let incoming = IncomingValues::of(function);
    walk_insts(function, function.body, &mut |inst| {
        if let Some((label, ..)) = function.as_loop(inst)
            && Dependence::new(function, observers, (&pointers, &incoming), inst).decides_end_of(label)
        {
            waiting.insert(inst);
        }
    });
    waiting
}

/// The functions, with all that they call, and those among them that read what another thread may store
/// meanwhile.
fn observers(module: &Module, functions: &[FuncId]) -> (Vec<FuncId>, BTreeSet<FuncId>) {
    let used = used_functions(module, functions);
    let mut observers = BTreeSet::new();
    // Callees come first.
    for &id in &used {
        if observes(module.function(id), &observers) {
            observers.insert(id);
        }
    }
    (used, observers)
}

/// Whether the function reads what another thread may store meanwhile, or calls one of the observers.
fn observes(function: &Function, observers: &BTreeSet<FuncId>) -> bool {
    let mut found = false;
    walk_insts(function, function.body, &mut |inst| {
        found = found
            || match function.inst(inst).op {
                Op::AtomicLoad(_) | Op::AtomicRmw(..) | Op::AtomicCas(..) | Op::Fence(_) => true,
                Op::Load { ptr, volatile: true, .. } => function.ty(ptr) != Type::Ptr(Space::Thread),
                Op::Call(callee, _) => observers.contains(&callee),
                _ => false,
            };
    });
    found
}

/// Where pointers to thread memory lead.
struct Pointers {
    roots: Vec<Option<Local>>,
    offsets: LocalPointers,
    uses: Vec<LocalUse>,
}

impl Pointers {
    /// The local and the bytes of it that an access of `size` bytes reaches: all if the offset varies.
    fn place(&self, pointer: Value, size: u64) -> Option<(Local, Range<i64>)> {
        match self.offsets[pointer.index()] {
            Some((local, offset)) => {
                let size = i64::try_from(size).unwrap_or(i64::MAX);
                Some((local, offset..offset.saturating_add(size)))
            }
            None => self.roots[pointer.index()].map(|local| (local, ANYWHERE)),
        }
    }
}

/// All bytes of a local.
const ANYWHERE: Range<i64> = i64::MIN..i64::MAX;

/// The values, variables and loops that depend on reads of a loop.
struct Dependence<'a> {
    function: &'a Function,
    observers: &'a BTreeSet<FuncId>,
    pointers: &'a Pointers,
    incoming: &'a IncomingValues,
    /// The loop.
    inst: Inst,
    blocks: [Block; 2],
    /// Atomic stores, exchanges and the like of the loop may undo what its additions do.
    undoes_additions: bool,
    /// A fence may make stores of other threads visible to plain loads.
    has_fence: bool,
    values: Vec<bool>,
    /// Bytes, by local.
    locals: Vec<Vec<Range<i64>>>,
    /// Thread memory whose local is not known.
    other_memory: bool,
    /// Jumps and yields that are only executed where such a value decides so.
    dependent_jumps: BTreeSet<Inst>,
    /// Inner loops that end by such a value: what they do depends on it.
    inner_loops: BTreeSet<Label>,
    /// Compare-and-exchange operations that wait for a value.
    locks: BTreeSet<Inst>,
    has_changed: bool,
}

impl<'a> Dependence<'a> {
    fn new(
        function: &'a Function,
        observers: &'a BTreeSet<FuncId>,
        (pointers, incoming): (&'a Pointers, &'a IncomingValues),
        inst: Inst,
    ) -> Self {
        let (_, body, continuing) =
            function.as_loop(inst).unwrap_or_else(|| unreachable!("{inst} is a loop"));
        let blocks = [body, continuing];
        let (mut undoes_additions, mut has_fence) = (false, false);
        let mut directions = BTreeSet::new();
        for block in blocks {
            walk_insts(function, block, &mut |inst| match &function.inst(inst).op {
                Op::Fence(_) => has_fence = true,
                Op::AtomicStore(..) | Op::AtomicCas(..) | Op::Call(..) => undoes_additions = true,
                Op::AtomicRmw(op, _, operand) => {
                    directions.insert(is_decrement(function, *op, *operand));
                    undoes_additions |= matches!(op, AtomicOp::Exchange | AtomicOp::And | AtomicOp::Xor);
                }
                _ => {}
            });
        }
        Self {
            function,
            observers,
            pointers,
            incoming,
            inst,
            blocks,
            undoes_additions: undoes_additions || directions.len() > 1,
            has_fence,
            values: vec![false; function.values.len()],
            locals: vec![Vec::new(); function.locals.len()],
            other_memory: false,
            dependent_jumps: BTreeSet::new(),
            inner_loops: BTreeSet::new(),
            locks: BTreeSet::new(),
            has_changed: false,
        }
    }

    /// Whether the end of the loop with that label depends on values that its iterations read.
    fn decides_end_of(mut self, label: Label) -> bool {
        loop {
            if self.has_dependent_exit(label) {
                return true;
            }
            self.mark_passed(self.inst, false);
            if self.has_changed {
                continue;
            }
            // Now it is known which expected values were read.
            let locks = self.find_locks();
            if locks == self.locks {
                return false;
            }
            self.locks = locks;
        }
    }

    /// Goes through the loop once.
    fn has_dependent_exit(&mut self, label: Label) -> bool {
        self.has_changed = false;
        let mut jumps = Jumps { of: label, pending: BTreeSet::new(), inside: BTreeSet::new(), leaves: false };
        for block in self.blocks {
            // Iterations that were cut short go on here.
            jumps.pending.remove(&label);
            self.block(block, false, &mut jumps);
        }
        jumps.leaves
    }

    fn block(&mut self, block: Block, is_dependent: bool, jumps: &mut Jumps) {
        let function = self.function;
        for &inst in function.block(block) {
            let is_dependent = is_dependent || !jumps.pending.is_empty();
            let op = &function.inst(inst).op;
            if matches!(op, Op::Break(..) | Op::Continue(..) | Op::Yield(_)) && is_dependent {
                self.dependent_jumps.insert(inst);
            }
            match op {
                Op::If { cond, then, otherwise, .. } => {
                    let is_dependent = is_dependent || self.values[cond.index()];
                    self.block(*then, is_dependent, jumps);
                    self.block(*otherwise, is_dependent, jumps);
                }
                Op::Switch { label, selector, cases, default, .. } => {
                    let is_dependent = is_dependent || self.values[selector.index()];
                    jumps.inside.insert(*label);
                    for case in cases.iter().map(|case| case.body).chain([*default]) {
                        self.block(case, is_dependent, jumps);
                    }
                    jumps.leave(*label);
                }
                Op::Scope { label, body, .. } => {
                    jumps.inside.insert(*label);
                    self.block(*body, is_dependent, jumps);
                    jumps.leave(*label);
                }
                Op::Loop { label, body, continuing, .. } => {
                    jumps.inside.insert(*label);
                    let is_dependent = is_dependent || self.inner_loops.contains(label);
                    for block in [*body, *continuing] {
                        self.block(block, is_dependent, jumps);
                    }
                    if jumps.leave(*label) {
                        self.has_changed |= self.inner_loops.insert(*label);
                    }
                }
                Op::Break(label, _) | Op::Continue(label, _) if is_dependent => {
                    let continues = matches!(op, Op::Continue(..)) && *label == jumps.of;
                    match continues || jumps.inside.contains(label) {
                        true => jumps.pending.insert(*label),
                        false => std::mem::replace(&mut jumps.leaves, true),
                    };
                }
                Op::Return(_) if is_dependent => jumps.leaves = true,
                op => self.instruction(inst, op, is_dependent),
            }
            self.mark_passed(inst, is_dependent);
        }
    }

    /// Marks the parameters and results of a construct that get dependent values, or any by dependent jumps.
    fn mark_passed(&mut self, construct: Inst, is_dependent: bool) {
        let function = self.function;
        let op = &function.inst(construct).op;
        let is_marked = |inst: &Inst| self.dependent_jumps.contains(inst);
        let to_params = is_dependent || self.incoming.to_params(construct).iter().any(is_marked);
        let to_results =
            is_dependent || self.incoming.to_results(construct).iter().any(|(jump, _)| is_marked(jump));
        let params = op.params().iter().map(|&value| (value, to_params));
        for (value, mut depends) in params.chain(op.results().iter().map(|&value| (value, to_results))) {
            self.incoming.each_source(function, value, |source| depends |= self.values[source.index()]);
            if depends {
                self.has_changed |= !std::mem::replace(&mut self.values[value.index()], true);
            }
        }
    }

    /// A plain instruction.
    fn instruction(&mut self, inst: Inst, op: &Op, is_dependent: bool) {
        let function = self.function;
        let mut depends = false;
        op.for_each_operand(|operand| depends |= self.values[operand.index()]);
        let result = match op {
            Op::AtomicLoad(_) | Op::AtomicCas(..) => true,
            Op::AtomicRmw(op, _, operand) => self.undoes_additions || !advances(function, *op, *operand),
            Op::Call(callee, args) => {
                let result = depends || self.observers.contains(callee);
                for &arg in args {
                    if function.ty(arg) == Type::Ptr(Space::Thread) && (result || is_dependent) {
                        // The callee may write any byte.
                        self.mark_memory(arg, u64::MAX);
                    }
                }
                result
            }
            Op::Load { ptr, .. } if function.ty(*ptr) == Type::Ptr(Space::Thread) => {
                depends || self.is_memory_dependent(*ptr, function.ty(function.result(inst)).size().into())
            }
            Op::Load { ptr, volatile, .. } => {
                let may_change = function.ty(*ptr) != Type::Ptr(Space::Constant);
                depends || *volatile || (self.has_fence && may_change)
            }
            Op::Store { ptr, value, .. } => {
                if depends || is_dependent {
                    self.mark_memory(*ptr, function.ty(*value).size().into());
                }
                false
            }
            Op::MemZero { dst, size, .. } => {
                if depends || is_dependent {
                    self.mark_memory(*dst, *size);
                }
                false
            }
            Op::MemCopy { dst, src, size, .. } => {
                if depends || is_dependent || self.is_memory_dependent(*src, *size) {
                    self.mark_memory(*dst, *size);
                }
                false
            }
            Op::Compare(CmpOp::Eq | CmpOp::Ne, a, b) => match self.exchange_compared(*a, *b) {
                Some(exchange) => self.locks.contains(&exchange),
                None => depends,
            },
            _ => depends,
        };
        if let Some(value) = function.inst(inst).result
            && result
        {
            self.has_changed |= !std::mem::replace(&mut self.values[value.index()], true);
        }
    }

    fn mark_memory(&mut self, pointer: Value, size: u64) {
        if self.function.ty(pointer) != Type::Ptr(Space::Thread) {
            // Stores to shared memory do not make the loop itself wait.
            return;
        }
        let Some((local, bytes)) = self.pointers.place(pointer, size) else {
            self.has_changed |= !std::mem::replace(&mut self.other_memory, true);
            return;
        };
        let marked = &mut self.locals[local.index()];
        if !marked.iter().any(|range| range.start <= bytes.start && bytes.end <= range.end) {
            marked.push(bytes);
            self.has_changed = true;
        }
    }

    fn is_memory_dependent(&self, pointer: Value, size: u64) -> bool {
        if self.function.ty(pointer) != Type::Ptr(Space::Thread) {
            return false;
        }
        let overlap = |a: &Range<i64>, b: &Range<i64>| a.start < b.end && b.start < a.end;
        match self.pointers.place(pointer, size) {
            Some((local, bytes)) => {
                self.locals[local.index()].iter().any(|range| overlap(range, &bytes))
                    || (self.other_memory && self.pointers.uses[local.index()].escapes)
            }
            // The pointer may lead to any local.
            None => self.other_memory || self.locals.iter().any(|ranges| !ranges.is_empty()),
        }
    }

    /// The compare-and-exchange that succeeded if these two values are equal.
    fn exchange_compared(&self, a: Value, b: Value) -> Option<Inst> {
        let of = |found: Value, expected: Value| {
            let inst = self.function.defining_inst(found)?;
            matches!(self.function.inst(inst).op, Op::AtomicCas(_, value, _) if value == expected)
                .then_some(inst)
        };
        of(a, b).or_else(|| of(b, a))
    }

    /// The compare-and-exchange operations that expect another value than those that the loop read.
    fn find_locks(&self) -> BTreeSet<Inst> {
        let mut locks = BTreeSet::new();
        for block in self.blocks {
            walk_insts(self.function, block, &mut |inst| {
                if let Op::AtomicCas(_, expected, _) = self.function.inst(inst).op
                    && !self.is_value_read(expected)
                {
                    locks.insert(inst);
                }
            });
        }
        locks
    }

    /// Whether the loop read the value, on every path.
    fn is_value_read(&self, value: Value) -> bool {
        let is_marked = |value: Value| self.values[value.index()];
        let function = self.function;
        let is_read = match function.values[value.index()].def {
            // What it is before the loop is not what an iteration tries again.
            ValueDef::LoopParam(inst, number) if inst == self.inst => {
                let mut jumps = self.incoming.to_params(inst).iter();
                jumps.all(|jump| is_marked(function.inst(*jump).op.passed()[number as usize]))
            }
            ValueDef::LoopParam(..) | ValueDef::Result(..) => {
                let mut only_read = true;
                self.incoming.each_source(function, value, |source| only_read &= is_marked(source));
                only_read
            }
            ValueDef::Inst(inst) => match function.inst(inst).op {
                Op::Load { ptr, .. } if function.ty(ptr) == Type::Ptr(Space::Thread) => {
                    self.pointers.roots[ptr.index()].is_some_and(|local| self.stores_only_read(local))
                }
                _ => true,
            },
            ValueDef::Param(_) => true,
        };
        is_read && is_marked(value)
    }

    /// Whether all that the loop stores to the local are values that it read.
    fn stores_only_read(&self, local: Local) -> bool {
        let mut only_read = true;
        for block in self.blocks {
            walk_insts(self.function, block, &mut |inst| match &self.function.inst(inst).op {
                Op::Store { ptr, value, .. } if self.pointers.roots[ptr.index()] == Some(local) => {
                    only_read &= self.values[value.index()];
                }
                _ => {}
            });
        }
        only_read
    }
}

/// Jumps on the way through a loop.
struct Jumps {
    /// The loop.
    of: Label,
    /// The labels of dependent jumps whose destination was not reached yet.
    pending: BTreeSet<Label>,
    /// The constructs inside the loop around the position.
    inside: BTreeSet<Label>,
    /// A dependent jump leaves the loop.
    leaves: bool,
}

impl Jumps {
    /// Leaves a construct; returns whether a dependent jump leads here.
    fn leave(&mut self, label: Label) -> bool {
        self.inside.remove(&label);
        self.pending.remove(&label)
    }
}

/// Whether the operation makes progress by itself: the next one finds another value.
fn advances(function: &Function, op: AtomicOp, operand: Value) -> bool {
    matches!(op, AtomicOp::Add | AtomicOp::Sub) && !matches!(function.def(operand), Some(Op::Const(0)))
}

/// Whether the operation subtracts from an integer; additions of values that are not known do not.
fn is_decrement(function: &Function, op: AtomicOp, operand: Value) -> bool {
    let is_negative = matches!(function.def(operand), Some(&Op::Const(bits))
        if bits >> (function.ty(operand).size() * 8 - 1) & 1 == 1);
    match op {
        AtomicOp::Sub => !is_negative,
        _ => is_negative,
    }
}
