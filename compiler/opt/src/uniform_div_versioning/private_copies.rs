//! Private locals of a version.
//!
//! A version gets locals of its own, so that divergence analysis, which has one shape for each local, does
//! not join the version's values with those of the original code. Invariant: what the cloned instructions
//! store to these locals is not read after them.

use super::{Writer, walk_all};
use crate::copy::Cloner;
use anymetal_analysis::{Variables, local_pointers};
use anymetal_ir::{Block, Function, Inst, Local, Op, Type, Value};

/// The locals that a version gets a private copy of.
pub(super) struct PrivateLocalPlan {
    /// With the type of those that may have been stored to before.
    locals: Vec<(Local, Option<Type>)>,
    /// Pointers to them.
    pointers: Vec<(Value, Local)>,
}

/// The private local and pointer for each original one.
pub(super) struct PrivateLocals {
    locals: Vec<(Local, Local)>,
    pointers: Vec<(Value, Value)>,
}

/// How a local is used.
#[derive(Clone, Copy, Default)]
struct Uses {
    reads: usize,
    is_stored: bool,
    is_offset: bool,
    starts: bool,
    ty: Option<Type>,
}

fn uses(function: &Function, insts: &[Inst]) -> Vec<Uses> {
    let pointers = local_pointers(function);
    let mut uses = vec![Uses::default(); function.locals.len()];
    walk_all(function, insts, &mut |inst| {
        let data = function.inst(inst);
        if let Op::LocalStart(local) = data.op {
            uses[local.index()].starts = true;
        }
        let (Op::Load { ptr, .. } | Op::Store { ptr, .. } | Op::PtrAdd { base: ptr, .. }) = data.op else {
            // Variables are used in no other way.
            return;
        };
        let Some((local, _)) = pointers[ptr.index()] else {
            // Not a variable.
            return;
        };
        let uses = &mut uses[local.index()];
        match &data.op {
            Op::Load { .. } => {
                uses.reads += 1;
                uses.ty = Some(function.ty(function.result(inst)));
            }
            Op::Store { .. } => uses.is_stored = true,
            _ => uses.is_offset = true,
        }
    });
    uses
}

impl PrivateLocalPlan {
    /// The locals that start in the block, and that are read only by these last instructions of it.
    pub(super) fn of(function: &Function, block: Block, insts: &[Inst]) -> Self {
        let variables = Variables::of(function).is_variable;
        let everywhere = uses(function, function.block(function.body));
        let here = uses(function, insts);
        let starts_in_block = |local: Local| {
            function.block(block).iter().any(|&inst| function.inst(inst).op == Op::LocalStart(local))
        };
        let is_private = |local: &Local| {
            let (all, here) = (everywhere[local.index()], here[local.index()]);
            variables[local.index()]
                && here.is_stored
                && !all.is_offset
                && all.reads == here.reads
                && starts_in_block(*local)
        };
        let locals: Vec<Local> = (0..function.locals.len() as u32).map(Local).filter(is_private).collect();
        let value = |index: usize| Value(index as u32);
        let pointers = (0..function.values.len()).map(value).filter_map(|value| match function.def(value) {
            Some(Op::LocalAddr(local)) if locals.contains(local) => Some((value, *local)),
            _ => None,
        });
        let pointers = pointers.collect();
        let held = |local: &Local| here[local.index()].ty.filter(|_| !here[local.index()].starts);
        Self { locals: locals.iter().map(|local| (*local, held(local))).collect(), pointers }
    }
}

impl Writer<'_> {
    /// Adds the private locals, initialised from the original ones.
    pub(super) fn start_private_locals(
        &mut self,
        to: &mut Vec<Inst>,
        plan: &PrivateLocalPlan,
    ) -> PrivateLocals {
        let mut private = PrivateLocals { locals: Vec::new(), pointers: Vec::new() };
        for &(local, held) in &plan.locals {
            let data = self.function.locals[local.index()].clone();
            let new = self.function.add_local(data.name, data.size, data.align);
            private.locals.push((local, new));
            let old = plan.pointers.iter().filter(|pointer| pointer.1 == local);
            let old: Vec<Value> = old.map(|pointer| pointer.0).collect();
            let &first = old.first().expect("the version stores to the variable through a pointer");
            let ptr_type = self.function.ty(first);
            if held.is_some() {
                self.effect(to, Op::LocalStart(new));
            }
            let pointer = self.value(to, Op::LocalAddr(new), ptr_type);
            if let Some(ty) = held {
                let from = self.value(to, Op::LocalAddr(local), ptr_type);
                let align = data.align;
                let value = self.value(to, Op::Load { ptr: from, align, volatile: false }, ty);
                self.effect(to, Op::Store { ptr: pointer, value, align, volatile: false });
            }
            private.pointers.extend(old.iter().map(|&old| (old, pointer)));
        }
        private
    }
}

impl PrivateLocals {
    /// A cloner that maps to the private locals.
    pub(super) fn cloner<'f>(&self, function: &'f mut Function) -> Cloner<'f> {
        let mut cloner = Cloner::new(function);
        for &(old, new) in &self.locals {
            cloner.map_local(old, new);
        }
        for &(old, new) in &self.pointers {
            cloner.map_value(old, new);
        }
        cloner
    }
}
