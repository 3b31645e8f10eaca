//! Loads through a choice of two variables become a choice of two loads.
//!
//! `MD most = a.m > b.m ? a : b;` reads through a pointer that is one of two. As long as that pointer
//! lives, both variables must lie in memory; read one by one they become values.

use crate::analysis::{LocalPointers, local_pointers};
use crate::{Block, Function, Inst, Op, Type, Value};

/// The deepest choice among choices that is followed.
const MAX_DEPTH: u32 = 4;

/// Rewrites one function; returns whether anything changed.
pub fn speculate_select_loads(function: &mut Function) -> bool {
    let pointers = local_pointers(function);
    let mut picker = Picker { function, pointers, changed: false };
    let body = picker.function.body;
    picker.block(body);
    picker.changed
}

/// A pointer that is one of two, plus an offset.
#[derive(Clone, Copy)]
struct Choice {
    cond: Value,
    places: [Value; 2],
    offset: i64,
}

struct Picker<'a> {
    function: &'a mut Function,
    pointers: LocalPointers,
    changed: bool,
}

impl Picker<'_> {
    fn block(&mut self, block: Block) {
        let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let mut out = Vec::with_capacity(insts.len());
        for inst in insts {
            for nested in self.function.inst(inst).op.blocks() {
                self.block(nested);
            }
            if let Op::Load { ptr, align, volatile: false } = self.function.inst(inst).op
                && let Some(choice) = self.choice(inst, ptr)
            {
                self.split_load(inst, choice, align, &mut out);
            }
            out.push(inst);
        }
        self.function.blocks[block.index()].insts = out;
    }

    /// The choice that a load's pointer is, if all places are variables that hold what is read.
    fn choice(&self, inst: Inst, ptr: Value) -> Option<Choice> {
        let result = self.function.inst(inst).result?;
        let choice = self.choice_of(ptr)?;
        let size = i64::from(self.function.ty(result).size());
        self.is_inside(choice, size, MAX_DEPTH).then_some(choice)
    }

    fn choice_of(&self, ptr: Value) -> Option<Choice> {
        let (mut ptr, mut offset) = (ptr, 0_i64);
        loop {
            match *self.function.def(ptr)? {
                Op::PtrAdd { base, index: None, offset: more, .. } => {
                    offset = offset.checked_add(more)?;
                    ptr = base;
                }
                Op::Select(cond, a, b) if self.function.ty(cond) == Type::BOOL => {
                    return Some(Choice { cond, places: [a, b], offset });
                }
                _ => return None,
            }
        }
    }

    fn is_inside(&self, choice: Choice, size: i64, depth: u32) -> bool {
        choice.places.iter().all(|&place| match self.pointers.get(place.index()).copied().flatten() {
            Some((local, at)) => {
                let bytes = i64::try_from(self.function.locals[local.index()].size).unwrap_or(i64::MAX);
                let start = at.checked_add(choice.offset);
                start.is_some_and(|start| {
                    start >= 0 && start.checked_add(size).is_some_and(|end| end <= bytes)
                })
            }
            None => {
                let inner = if depth == 0 { None } else { self.choice_of(place) };
                inner
                    .and_then(|inner| {
                        Some(Choice { offset: inner.offset.checked_add(choice.offset)?, ..inner })
                    })
                    .is_some_and(|inner| self.is_inside(inner, size, depth - 1))
            }
        })
    }

    fn split_load(&mut self, inst: Inst, choice: Choice, align: u32, out: &mut Vec<Inst>) {
        let Some(result) = self.function.inst(inst).result else { return };
        let ty = self.function.ty(result);
        let loads = choice.places.map(|place| {
            let pointer_type = self.function.ty(place);
            let add = Op::PtrAdd { base: place, index: None, scale: 1, offset: choice.offset };
            let at = if choice.offset == 0 { Some(place) } else { self.value(inst, add, pointer_type, out) };
            self.value(inst, Op::Load { ptr: at?, align, volatile: false }, ty, out)
        });
        if let [Some(a), Some(b)] = loads {
            self.function.insts[inst.index()].op = Op::Select(choice.cond, a, b);
            self.changed = true;
        }
    }

    fn value(&mut self, inst: Inst, op: Op, ty: Type, out: &mut Vec<Inst>) -> Option<Value> {
        let (fp, loc) = (self.function.inst(inst).fp, self.function.inst(inst).loc);
        let new = self.function.add_inst(op, Some(ty), fp, loc);
        out.push(new);
        self.function.inst(new).result
    }
}
