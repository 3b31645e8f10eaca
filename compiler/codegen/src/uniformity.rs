//! Which values are equal in all lanes of a SIMD-group that execute an instruction together.
//!
//! An optimistic fixed point over values and locals: everything is uniform until shown otherwise. A local
//! varies if a varying value is stored to it, or if only some of the lanes store. Where this says uniform
//! lanes branch together; where it says varying nothing is assumed.

use anymetal_analysis::IncomingValues;
use anymetal_ir::{Block, Function, Inst, Label, Local, Op, Query, SimdOp, Value};

use crate::roots::{Pointer, Root};

/// What differs between lanes by where it comes from.
pub(crate) struct Varying<'a> {
    /// Whether a parameter does.
    pub(crate) params: &'a dyn Fn(Value) -> bool,
    /// Whether what is loaded through a uniform pointer does, by the allocation, which is no local.
    pub(crate) loads: &'a dyn Fn(Root, Value) -> bool,
}

/// The result of the analysis.
#[derive(Debug)]
pub(crate) struct Uniformity {
    values: Vec<bool>,
    locals: Vec<bool>,
    /// Labels that some lanes leave for while others stay.
    divergent_exits: Vec<bool>,
}

struct Solver<'a> {
    function: &'a Function,
    sources: &'a Varying<'a>,
    incoming: IncomingValues,
    pointers: &'a [Pointer],
    varying: Uniformity,
    changed: bool,
    /// The labels of the constructs around, and whether a varying construct lies around each.
    around: Vec<(Option<Label>, bool)>,
}

impl Uniformity {
    /// Analyses a function.
    pub(crate) fn new(function: &Function, sources: &Varying<'_>, pointers: &[Pointer]) -> Self {
        let mut varying = Self {
            values: vec![false; function.values.len()],
            locals: vec![false; function.locals.len()],
            divergent_exits: vec![false; function.labels as usize],
        };
        for &param in &function.params {
            varying.values[param.index()] = (sources.params)(param);
        }
        let (incoming, around) = (IncomingValues::of(function), Vec::new());
        let mut solver = Solver { function, sources, incoming, pointers, varying, changed: true, around };
        while std::mem::take(&mut solver.changed) {
            solver.block(function.body, false);
        }
        solver.varying
    }

    /// Whether the value is equal in all lanes that execute its definition together.
    pub(crate) fn is_uniform(&self, value: Value) -> bool {
        !self.values[value.index()]
    }

    /// Whether all lanes have the same in the local, as far as they will look.
    pub(crate) fn is_uniform_local(&self, local: Local) -> bool {
        !self.locals[local.index()]
    }

    /// Whether some lanes leave for the label while others stay.
    pub(crate) fn exits_diverge(&self, label: Label) -> bool {
        self.divergent_exits[label.index()]
    }
}

impl Solver<'_> {
    fn block(&mut self, block: Block, divergent: bool) {
        let function = self.function;
        for &inst in function.block(block) {
            self.inst(inst, divergent);
        }
    }

    fn inst(&mut self, inst: Inst, divergent: bool) {
        let data = self.function.inst(inst);
        match &data.op {
            Op::Store { ptr, value, .. } => {
                let varies = divergent || !self.uniform(*value) || !self.uniform(*ptr);
                self.store(*ptr, varies);
            }
            Op::MemCopy { dst, .. } | Op::MemZero { dst, .. } => {
                self.store(*dst, true);
            }
            Op::Call(_, args) => args.iter().for_each(|arg| self.store(*arg, true)),
            Op::Break(label, _) | Op::Continue(label, _) => self.exit(*label, divergent),
            Op::If { cond, then, otherwise, .. } => {
                let varies = !self.uniform(*cond);
                self.nest(None, varies, divergent, &[*then, *otherwise]);
            }
            Op::Switch { label, selector, .. } => {
                let varies = !self.uniform(*selector);
                self.nest(Some(*label), varies, divergent, &data.op.blocks());
            }
            Op::Loop { label, .. } | Op::Scope { label, .. } => {
                self.nest(Some(*label), false, divergent, &data.op.blocks());
            }
            _ => {}
        }
        if let Some(result) = data.result
            && self.varies(&data.op)
        {
            self.note(result);
        }
        self.define_carried(&data.op);
    }

    fn note(&mut self, value: Value) {
        self.changed |= !std::mem::replace(&mut self.varying.values[value.index()], true);
    }

    /// The parameters and results of a construct: they vary where lanes come by different jumps, too.
    fn define_carried(&mut self, op: &Op) {
        let exits_diverge = op.label().is_some_and(|label| self.varying.divergent_exits[label.index()]);
        let selects = match op {
            Op::If { cond: selector, .. } | Op::Switch { selector, .. } => !self.uniform(*selector),
            _ => false,
        };
        for &value in op.params().iter().chain(op.results()) {
            let mut varies = exits_diverge || selects;
            self.incoming.each_source(self.function, value, |source| varies |= !self.uniform(source));
            if varies {
                self.note(value);
            }
        }
    }

    fn nest(&mut self, label: Option<Label>, varies: bool, divergent: bool, blocks: &[Block]) {
        let exits = label.is_some_and(|label| self.varying.divergent_exits[label.index()]);
        self.around.push((label, varies));
        for &block in blocks {
            self.block(block, divergent || varies || exits);
        }
        let left = self.around.pop();
        debug_assert!(left.is_some_and(|(left, _)| left == label), "constructs nest");
    }

    /// A jump: if a varying construct lies between it and its target, some lanes stay behind. So do they in
    /// every construct that it leaves on the way.
    fn exit(&mut self, target: Label, _divergent: bool) {
        let mut varies = false;
        for at in (0..self.around.len()).rev() {
            let (label, construct) = self.around[at];
            // A switch is the target of its own breaks, which run under its selector.
            varies |= construct;
            if let Some(label) = label
                && varies
            {
                self.changed |= !std::mem::replace(&mut self.varying.divergent_exits[label.index()], true);
            }
            if label == Some(target) {
                return;
            }
        }
        unreachable!("the label of a jump belongs to an enclosing construct");
    }

    fn uniform(&self, value: Value) -> bool {
        !self.varying.values[value.index()]
    }

    fn store(&mut self, to: Value, varies: bool) {
        if !varies {
            return;
        }
        match self.pointers[to.index()].root {
            Root::Local(local) => {
                self.changed |= !std::mem::replace(&mut self.varying.locals[local.index()], true);
            }
            Root::Many => {
                for local in &mut self.varying.locals {
                    self.changed |= !std::mem::replace(local, true);
                }
            }
            _ => {}
        }
    }

    fn varies(&self, op: &Op) -> bool {
        let mut operands = false;
        op.for_each_operand(|value| operands |= !self.uniform(value));
        match op {
            Op::Query(Query::SimdgroupIndexInThreadgroup) => false,
            Op::Query(query) => !query.is_group_uniform(),
            Op::Load { ptr, .. } => operands || self.load_varies(*ptr),
            Op::Simd(op, args) => match op {
                SimdOp::Broadcast => args.get(1).is_none_or(|lane| !self.uniform(*lane)),
                op if op.is_simdgroup_reduction() => false,
                SimdOp::BroadcastFirst | SimdOp::Any | SimdOp::All | SimdOp::Ballot | SimdOp::ActiveMask => {
                    false
                }
                _ => true,
            },
            op => operands || !op.is_pure(),
        }
    }

    fn load_varies(&self, from: Value) -> bool {
        match self.pointers[from.index()].root {
            Root::Local(local) => self.varying.locals[local.index()],
            root => (self.sources.loads)(root, from),
        }
    }
}
