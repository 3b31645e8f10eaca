//! Liveness of promoted variables and arrays, at every point of a thread's own execution.
//!
//! A masked store may overwrite lanes that are off if the variable is dead where those lanes wait; this
//! analysis decides that, and which variables context save keeps across regions. Variables are numbered
//! promoted ones first, then arrays.

use anymetal_ir::{Block, Function, Inst, Label, Op, Type, Value};

use crate::storage::{Pointer, Root, Storage};

/// A set of variables.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Variables(Vec<u64>);

impl Variables {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    /// Whether it is in.
    pub fn contains(&self, variable: usize) -> bool {
        assert!(variable / 64 < self.0.len(), "variable {variable} is out of range");
        self.0[variable / 64] >> (variable % 64) & 1 == 1
    }

    fn insert(&mut self, variable: usize) {
        self.0[variable / 64] |= 1 << (variable % 64);
    }

    fn remove(&mut self, variable: usize) {
        self.0[variable / 64] &= !(1 << (variable % 64));
    }

    fn unite(&mut self, other: &Self) {
        assert_eq!(self.0.len(), other.0.len(), "sets of one function have the same size");
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }
}

/// The result.
#[derive(Debug)]
pub struct Liveness {
    at_entry: Vec<Variables>,
    after: Vec<Variables>,
    before: Vec<Variables>,
}

impl Liveness {
    /// Analyses the function.
    pub fn new(function: &Function, storage: &Storage) -> Self {
        let count = storage.vars.len() + storage.arrays.len();
        let result = Self {
            at_entry: vec![Variables::new(count); function.blocks.len()],
            after: vec![Variables::new(count); function.insts.len()],
            before: vec![Variables::new(count); function.insts.len()],
        };
        let mut pass = Pass {
            function,
            storage,
            result,
            targets: Vec::new(),
            empty: Variables::new(count),
            changed: true,
        };
        for (index, array) in storage.arrays.iter().enumerate() {
            if storage.is_exposed(array.local) {
                pass.empty.insert(storage.vars.len() + index);
            }
        }
        // Each round passes every loop once: nested loops must not multiply.
        while std::mem::take(&mut pass.changed) {
            let at_end = pass.empty.clone();
            pass.block(function.body, at_end);
        }
        debug_assert!(pass.targets.is_empty(), "constructs nest");
        pass.result
    }

    /// Live where the block begins.
    pub fn at_entry(&self, block: Block) -> &Variables {
        &self.at_entry[block.index()]
    }

    /// Live after the instruction.
    pub fn after(&self, inst: Inst) -> &Variables {
        &self.after[inst.index()]
    }

    /// Live before the instruction.
    pub fn before(&self, inst: Inst) -> &Variables {
        &self.before[inst.index()]
    }
}

/// Where a label's jumps lead, as what is live there.
struct Target {
    label: Label,
    at_break: Variables,
    at_continue: Variables,
}

struct Pass<'a> {
    function: &'a Function,
    storage: &'a Storage,
    result: Liveness,
    targets: Vec<Target>,
    empty: Variables,
    changed: bool,
}

impl Pass<'_> {
    fn block(&mut self, block: Block, mut live: Variables) -> Variables {
        for &inst in self.function.block(block).iter().rev() {
            self.result.after[inst.index()] = live.clone();
            live = self.inst(inst, live);
            self.result.before[inst.index()] = live.clone();
        }
        self.result.at_entry[block.index()] = live.clone();
        live
    }

    fn target(&self, label: Label) -> &Target {
        let found = self.targets.iter().rev().find(|target| target.label == label);
        found.expect("the label of a jump belongs to an enclosing construct")
    }

    fn inst(&mut self, inst: Inst, mut live: Variables) -> Variables {
        let function = self.function;
        match &function.inst(inst).op {
            Op::Return(_) => self.empty.clone(),
            Op::Break(label, _) => self.target(*label).at_break.clone(),
            Op::Continue(label, _) => self.target(*label).at_continue.clone(),
            Op::If { then, otherwise, .. } => {
                let mut result = self.block(*then, live.clone());
                result.unite(&self.block(*otherwise, live));
                result
            }
            Op::Scope { label, body, .. } => {
                self.push(*label, &live, &live);
                let result = self.block(*body, live);
                self.targets.pop();
                result
            }
            Op::Switch { label, cases, default, .. } => {
                self.push(*label, &live, &live);
                let mut result = self.block(*default, live.clone());
                for case in cases {
                    result.unite(&self.block(case.body, live.clone()));
                }
                self.targets.pop();
                result
            }
            Op::Loop { label, body, continuing, .. } => self.endless(*label, *body, *continuing, &live),
            op => {
                self.simple(inst, op, &mut live);
                live
            }
        }
    }

    fn push(&mut self, label: Label, at_break: &Variables, at_continue: &Variables) {
        self.targets.push(Target { label, at_break: at_break.clone(), at_continue: at_continue.clone() });
    }

    fn endless(&mut self, label: Label, body: Block, continuing: Block, after: &Variables) -> Variables {
        let head = self.result.at_entry[body.index()].clone();
        self.push(label, after, after);
        let at_continue = self.block(continuing, head.clone());
        self.targets.pop();
        self.push(label, after, &at_continue);
        let found = self.block(body, at_continue);
        self.targets.pop();
        self.changed |= found != head;
        found
    }

    fn simple(&mut self, inst: Inst, op: &Op, live: &mut Variables) {
        let size_of = |ty: Type| i64::from(ty.size());
        match op {
            Op::LocalStart(local) => {
                for var in self.storage.vars_in(*local, 0, i64::MAX) {
                    live.remove(var);
                }
                if let super::storage::LocalKind::Array(array) = self.storage.kind(*local)
                    && !self.storage.is_exposed(*local)
                {
                    live.remove(self.storage.vars.len() + array);
                }
            }
            Op::Load { ptr, .. } => {
                let result = self.function.inst(inst).result.expect("a load has a result");
                self.read(*ptr, size_of(self.function.ty(result)), live);
            }
            Op::Store { ptr, value, .. } => self.write(*ptr, size_of(self.function.ty(*value)), live),
            Op::MemCopy { dst, src, size, .. } => {
                let size = i64::try_from(*size).unwrap_or(i64::MAX);
                self.write(*dst, size, live);
                self.read(*src, size, live);
            }
            Op::MemZero { dst, size, .. } => self.write(*dst, i64::try_from(*size).unwrap_or(i64::MAX), live),
            Op::AtomicLoad(ptr) | Op::AtomicRmw(_, ptr, _) | Op::AtomicCas(ptr, ..) => {
                self.read(*ptr, 8, live)
            }
            // What it writes may be a part of the variable.
            Op::Matrix(_, args) | Op::Call(_, args) => {
                for &arg in args.iter().filter(|&&arg| self.function.ty(arg).is_ptr()) {
                    self.read(arg, 8, live);
                }
            }
            _ => {}
        }
    }

    fn read(&self, pointer: Value, size: i64, live: &mut Variables) {
        if let Some(vars) = self.storage.vars_at(pointer, size) {
            vars.for_each(|var| live.insert(var));
        } else if let Some(array) = self.storage.array_at(pointer) {
            live.insert(self.storage.vars.len() + array);
        }
    }

    fn write(&self, pointer: Value, size: i64, live: &mut Variables) {
        if let Some(vars) = self.storage.vars_at(pointer, size) {
            vars.for_each(|var| live.remove(var));
        } else if let Pointer { root: Root::Local(local), offset: Some(0), .. } =
            self.storage.pointer(pointer)
            && let Some(array) = self.storage.array_at(pointer)
            && !self.storage.is_exposed(local)
            && u64::try_from(size).is_ok_and(|size| size >= self.function.locals[local.index()].size)
        {
            live.remove(self.storage.vars.len() + array);
        }
    }
}
