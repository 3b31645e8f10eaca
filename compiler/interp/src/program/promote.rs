//! Promotion of locals to registers, as mem2reg does: a store writes the active lanes, so no phis are needed.

use anymetal_analysis::{LocalPointers, definitely_stored, local_pointers, walk_insts};
use anymetal_ir::{Function, Local, Op, Type, Value};

use super::lower::{Components, component_count};

/// Registers of promoted locals that a function may have: they are not shared with anything.
const MAX_REGISTERS: u32 = 2048;

/// The locals of a function that are registers.
#[derive(Default)]
pub(super) struct Promoted {
    pointers: LocalPointers,
    registers: Vec<Option<Components>>,
}

impl Promoted {
    /// Chooses them; `fresh` makes registers for a value of a type.
    pub(super) fn new(function: &Function, mut fresh: impl FnMut(Type) -> Components) -> Self {
        let pointers = local_pointers(function);
        let mut rest = MAX_REGISTERS;
        let registers = single_types(function, &pointers).into_iter().zip(definitely_stored(function)).map(
            |(ty, stored)| {
                let ty = ty.filter(|_| stored)?;
                rest = rest.checked_sub(component_count(ty))?;
                Some(fresh(ty))
            },
        );
        let registers = registers.collect();
        Self { pointers, registers }
    }

    /// The registers of a local.
    pub(super) fn local(&self, local: Local) -> Option<Components> {
        self.registers[local.index()]
    }

    /// The registers of the local that a pointer leads to.
    pub(super) fn pointee(&self, ptr: Value) -> Option<Components> {
        self.local(self.pointers[ptr.index()]?.0)
    }
}

/// The one type that loads and stores of each local have; `None`: several, or it is accessed in another way.
fn single_types(function: &Function, pointers: &LocalPointers) -> Vec<Option<Type>> {
    let mut types = vec![None; function.locals.len()];
    let mut other = vec![false; function.locals.len()];
    let mut note = |ptr: Value, ty: Option<Type>| {
        let Some((local, offset)) = pointers[ptr.index()] else {
            // Not a local, or at an offset that `definitely_stored` does not follow.
            return;
        };
        let known = types[local.index()].get_or_insert(ty);
        other[local.index()] |= offset != 0 || ty.is_none() || *known != ty;
    };
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        match &data.op {
            Op::Load { ptr, .. } => note(*ptr, Some(function.ty(function.result(inst)))),
            Op::Store { ptr, value, .. } => note(*ptr, Some(function.ty(*value))),
            Op::MemZero { dst, .. } => note(*dst, None),
            _ => {}
        }
    });
    types.into_iter().zip(other).map(|(ty, other)| ty.flatten().filter(|_| !other)).collect()
}
