//! Variables of a copy's own.
//!
//! What a variable holds in a copy has nothing to do with what it holds elsewhere, and a code generator that has one
//! opinion of each variable has a better one of a variable that is used there only. Invariant: nobody reads behind
//! the copied instructions what they store to these variables.

use super::{Writer, each};
use crate::analysis::local_pointers;
use crate::passes::copy::Copier;
use crate::passes::mem2reg::variables;
use crate::{Block, Function, Inst, Local, Op, Type, Value};

/// Which variables a copy gets for its own.
pub(super) struct Wanted {
    /// And of which type those are that may hold something before.
    locals: Vec<(Local, Option<Type>)>,
    /// Pointers to them.
    pointers: Vec<(Value, Local)>,
}

/// What stands for what in a copy.
pub(super) struct Own {
    locals: Vec<(Local, Local)>,
    pointers: Vec<(Value, Value)>,
}

/// What is done with a local.
#[derive(Clone, Copy, Default)]
struct Uses {
    reads: usize,
    is_stored: bool,
    is_moved: bool,
    starts: bool,
    ty: Option<Type>,
}

fn uses(function: &Function, insts: &[Inst]) -> Vec<Uses> {
    let pointers = local_pointers(function);
    let mut uses = vec![Uses::default(); function.locals.len()];
    each(function, insts, &mut |inst| {
        let data = function.inst(inst);
        if let Op::LocalStart(local) = data.op {
            uses[local.index()].starts = true;
        }
        let (Op::Load { ptr, .. } | Op::Store { ptr, .. } | Op::PtrAdd { base: ptr, .. }) = data.op else {
            return;
        };
        let Some((local, _)) = pointers[ptr.index()] else { return };
        let uses = &mut uses[local.index()];
        match &data.op {
            Op::Load { .. } => {
                uses.reads += 1;
                uses.ty = data.result.map(|result| function.ty(result));
            }
            Op::Store { .. } => uses.is_stored = true,
            _ => uses.is_moved = true,
        }
    });
    uses
}

impl Wanted {
    /// Those that start in the block, and that only these last instructions of it read.
    pub(super) fn of(function: &Function, block: Block, insts: &[Inst]) -> Self {
        let variables = variables(function, &local_pointers(function));
        let everywhere = uses(function, function.block(function.body));
        let here = uses(function, insts);
        let starts_in_block = |local: Local| {
            function.block(block).iter().any(|&inst| function.inst(inst).op == Op::LocalStart(local))
        };
        let is_wanted = |local: &Local| {
            let (all, here) = (everywhere[local.index()], here[local.index()]);
            variables[local.index()]
                && here.is_stored
                && !all.is_moved
                && all.reads == here.reads
                && starts_in_block(*local)
        };
        let locals: Vec<Local> = (0..function.locals.len() as u32).map(Local).filter(is_wanted).collect();
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
    /// Makes the variables, with what the others hold.
    pub(super) fn start(&mut self, to: &mut Vec<Inst>, wanted: &Wanted) -> Own {
        let mut own = Own { locals: Vec::new(), pointers: Vec::new() };
        for &(local, held) in &wanted.locals {
            let data = self.function.locals[local.index()].clone();
            let new = self.function.add_local(data.name, data.size, data.align);
            own.locals.push((local, new));
            let old = wanted.pointers.iter().filter(|pointer| pointer.1 == local);
            let old: Vec<Value> = old.map(|pointer| pointer.0).collect();
            let Some(&first) = old.first() else { continue };
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
            own.pointers.extend(old.iter().map(|&old| (old, pointer)));
        }
        own
    }
}

impl Own {
    /// A copier that uses them.
    pub(super) fn copier<'f>(&self, function: &'f mut Function) -> Copier<'f> {
        let mut copier = Copier::new(function);
        for &(old, new) in &self.locals {
            copier.replace_local(old, new);
        }
        for &(old, new) in &self.pointers {
            copier.replace(old, new);
        }
        copier
    }
}
