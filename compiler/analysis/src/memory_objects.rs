//! Memory objects: what pointers may point to, and what a function may store to.
//!
//! Owns [`MemoryObjects`], a flow-insensitive points-to analysis of one function. An object is a parameter (a
//! kernel's argument) or *elsewhere*: memory that is reached through a pointer from memory or
//! an integer, which only the launch's table of resident buffers resolves. Invariant: a pointer that may
//! point into a parameter's binding without that table has the parameter's bit.

use std::collections::BTreeMap;

use super::incoming::IncomingValues;
use super::pointer_slots::PointerSlots;
use super::walk::walk_insts;
use anymetal_ir::{
    Access, ArgKind, CastOp, FuncId, Function, Inst, Kernel, MatrixOp, Module, Op, Space, Type, Value,
};

/// The parameters that have a bit of their own; the others share the last one.
const OWN_BITS: usize = 126;

/// A set of memory objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectSet(u128);

impl ObjectSet {
    /// Memory that only the table of resident buffers can name.
    const ELSEWHERE: Self = ObjectSet(1 << 127);

    fn parameter(index: usize) -> Self {
        ObjectSet(1 << index.min(OWN_BITS))
    }

    /// Whether the parameter at that place is among the objects.
    pub fn has_parameter(self, index: usize) -> bool {
        self.0 & Self::parameter(index).0 != 0
    }

    /// Whether memory behind loaded pointers is among the objects.
    pub fn has_elsewhere(self) -> bool {
        self.0 & Self::ELSEWHERE.0 != 0
    }

    /// Both sets.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        ObjectSet(self.0 | other.0)
    }

    /// Adds the objects of another set; returns whether any is new.
    fn add(&mut self, other: Self) -> bool {
        let before = *self;
        *self = self.union(other);
        *self != before
    }
}

/// What functions of a module store to, each analysed once.
#[derive(Debug, Default)]
pub struct StoreSummaries(BTreeMap<FuncId, ObjectSet>);

impl StoreSummaries {
    /// What a function may store to: its parameters and elsewhere.
    pub fn of(&mut self, module: &Module, function: FuncId) -> ObjectSet {
        if let Some(known) = self.0.get(&function) {
            return *known;
        }
        // Calls do not recur.
        let stored = MemoryObjects::with_summaries(module, module.function(function), self).stored;
        self.0.insert(function, stored);
        stored
    }
}

/// The analysis of one function.
#[derive(Debug)]
pub struct MemoryObjects {
    slots: PointerSlots,
    /// By value: what a pointer may point to.
    pointees: Vec<ObjectSet>,
    /// By local: what the pointers in it may point to, as far as they were stored as pointers.
    contents: Vec<ObjectSet>,
    stored: ObjectSet,
}

impl MemoryObjects {
    /// Analyses a function and, for what they store, the functions that it calls.
    pub fn of(module: &Module, function: &Function) -> Self {
        Self::with_summaries(module, function, &mut StoreSummaries::default())
    }

    fn with_summaries(module: &Module, function: &Function, summaries: &mut StoreSummaries) -> Self {
        let mut this = MemoryObjects {
            slots: PointerSlots::of(function),
            pointees: vec![ObjectSet::default(); function.values.len()],
            contents: vec![ObjectSet::default(); function.locals.len()],
            stored: ObjectSet::default(),
        };
        for (index, &param) in function.params.iter().enumerate() {
            this.pointees[param.index()] = ObjectSet::parameter(index);
        }
        let incoming = IncomingValues::of(function);
        // Sets only grow, so this ends.
        loop {
            let mut changed = false;
            walk_insts(function, function.body, &mut |inst| {
                changed |= this.propagate(module, function, inst, summaries);
            });
            for (value, _) in incoming.definitions(function) {
                incoming.each_source(function, value, |source| {
                    let passed = this.pointees(source);
                    changed |= this.pointees[value.index()].add(passed);
                });
            }
            if !changed {
                return this;
            }
        }
    }

    /// What a pointer may point to; nothing of values that are not pointers.
    pub fn pointees(&self, value: Value) -> ObjectSet {
        self.pointees[value.index()]
    }

    /// What the function may store to.
    pub fn stored(&self) -> ObjectSet {
        self.stored
    }

    /// Whether a kernel's function may store to what is bound at an argument: through a pointer made of the
    /// argument; or, where it stores through pointers that it loads, if the argument's declaration allows
    /// that.
    pub fn may_store_to(&self, kernel: &Kernel, index: usize) -> bool {
        let argument = &kernel.args[index];
        debug_assert!(index < self.pointees.len(), "the analysis is of another function than the kernel's");
        let by_address = argument.kind == ArgKind::Buffer
            && argument.space == Space::Device
            && argument.access != Access::Read
            && self.stored.has_elsewhere();
        self.stored.has_parameter(index) || by_address
    }

    /// Carries sets over one instruction; returns whether any grew.
    fn propagate(
        &mut self,
        module: &Module,
        function: &Function,
        inst: Inst,
        summaries: &mut StoreSummaries,
    ) -> bool {
        let data = function.inst(inst);
        let mut changed = false;
        if let Some(result) = data.result.filter(|&result| function.ty(result).is_ptr()) {
            let made = self.pointees_of_result(&data.op);
            changed |= self.pointees[result.index()].add(made);
        }
        match &data.op {
            Op::Store { ptr, value, .. } if function.ty(*value).is_ptr() => {
                let stored = self.pointees(*value);
                changed |= self.add_contents(function, *ptr, stored) | self.store_through(*ptr);
            }
            Op::MemCopy { dst, src, .. } => {
                let copied = self.contents(*src);
                changed |= self.add_contents(function, *dst, copied) | self.store_through(*dst);
            }
            Op::Store { ptr, .. }
            | Op::MemZero { dst: ptr, .. }
            | Op::AtomicStore(ptr, _)
            | Op::AtomicRmw(_, ptr, _)
            | Op::AtomicCas(ptr, ..) => changed |= self.store_through(*ptr),
            Op::Matrix(MatrixOp::Store { .. }, operands) => changed |= self.store_through(operands[0]),
            Op::Call(callee, arguments) => {
                let stored = summaries.of(module, *callee);
                changed |= self.call(function, arguments, stored);
            }
            _ => {}
        }
        changed
    }

    /// The effect of a call of a function that stores to `stored`.
    fn call(&mut self, function: &Function, arguments: &[Value], stored: ObjectSet) -> bool {
        let mut changed = false;
        debug_assert!(
            (arguments.len()..OWN_BITS).all(|index| !stored.has_parameter(index)),
            "the callee stores through a parameter that the call has no argument for"
        );
        // It reaches what its arguments point to, and pointers in locals.
        let reached = self.reached_by_call(arguments);
        for (index, &argument) in arguments.iter().enumerate() {
            if function.ty(argument).is_ptr() {
                changed |= self.add_contents(function, argument, reached);
            }
            if stored.has_parameter(index) {
                changed |= self.store_through(argument);
            }
        }
        if stored.has_elsewhere() {
            changed |= self.stored.add(reached);
        }
        changed
    }

    fn reached_by_call(&self, arguments: &[Value]) -> ObjectSet {
        let of = |argument: &Value| self.pointees(*argument).union(self.contents(*argument));
        arguments.iter().map(of).fold(ObjectSet::ELSEWHERE, ObjectSet::union)
    }

    fn pointees_of_result(&self, op: &Op) -> ObjectSet {
        match op {
            Op::PtrAdd { base, .. } => self.pointees(*base),
            Op::Select(_, a, b) => self.pointees(*a).union(self.pointees(*b)),
            Op::Load { ptr, .. } if self.slots.is_slot(*ptr) => self.contents(*ptr),
            Op::Load { ptr, .. } => self.contents(*ptr).union(ObjectSet::ELSEWHERE),
            Op::Cast(CastOp::IntToPtr, _) => ObjectSet::ELSEWHERE,
            Op::Call(_, arguments) => self.reached_by_call(arguments),
            // Addresses of variables and of constant data, and the null pointer.
            _ => ObjectSet::default(),
        }
    }

    /// What pointers in the memory at an address may point to, beyond what the table names.
    fn contents(&self, ptr: Value) -> ObjectSet {
        match self.slots.local(ptr) {
            Some(local) => self.contents[local.index()],
            // Perhaps a local's whose address is not followed.
            None => {
                self.escaped().map(|local| self.contents[local]).fold(ObjectSet::default(), ObjectSet::union)
            }
        }
    }

    fn add_contents(&mut self, function: &Function, ptr: Value, stored: ObjectSet) -> bool {
        match self.slots.local(ptr) {
            Some(local) => self.contents[local.index()].add(stored),
            None if function.ty(ptr) == Type::Ptr(Space::Thread) => {
                let escaped: Vec<usize> = self.escaped().collect();
                escaped.into_iter().fold(false, |changed, local| self.contents[local].add(stored) | changed)
            }
            // What is loaded from memory that threads share is looked up.
            None => false,
        }
    }

    fn escaped(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.contents.len()).filter(|&local| self.slots.escapes(anymetal_ir::Local(local as u32)))
    }

    fn store_through(&mut self, ptr: Value) -> bool {
        let objects = self.pointees(ptr);
        self.stored.add(objects)
    }
}
