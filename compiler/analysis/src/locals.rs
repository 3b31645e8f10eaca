//! Pointers to locals, and how each local is used.

use super::walk_insts;
use anymetal_ir::{Function, Local, Op, Space, Type, Value};

/// For each value: the local and constant byte offset it points to, if it is such a pointer.
pub type LocalPointers = Vec<Option<(Local, i64)>>;

/// Finds the pointers made from a local's address by constant offsets only.
pub fn local_pointers(function: &Function) -> LocalPointers {
    let mut pointers = vec![None; function.values.len()];
    walk_insts(function, function.body, &mut |inst| {
        let pointer = match function.inst(inst).op {
            Op::LocalAddr(local) => Some((local, 0)),
            Op::PtrAdd { base, index: None, offset, .. } => pointers[base.index()]
                .and_then(|(local, at): (Local, i64)| Some((local, at.checked_add(offset)?))),
            _ => None,
        };
        if let Some((local, _)) = pointer {
            let result = function.result(inst);
            assert_eq!(function.ty(result), Type::Ptr(Space::Thread), "{result} is a pointer to {local}");
            pointers[result.index()] = pointer;
        }
    });
    pointers
}

/// The variables of a function: locals whose every access is a load or store of one size at one constant
/// offset, and whose address does not escape.
#[derive(Clone, Debug)]
pub struct Variables {
    /// The local that a pointer leads to, by value.
    pub pointers: LocalPointers,
    /// By local.
    pub is_variable: Vec<bool>,
}

impl Variables {
    /// Finds the variables of the function.
    pub fn of(function: &Function) -> Self {
        let pointers = local_pointers(function);
        let is_variable = variables(function, &pointers);
        Self { pointers, is_variable }
    }

    /// The variable that the pointer leads to.
    pub fn at(&self, pointer: Value) -> Option<Local> {
        // A value that a pass has added since has no entry.
        let (local, _) = self.pointers.get(pointer.index()).copied().flatten()?;
        self.is_variable[local.index()].then_some(local)
    }
}

/// Which locals are variables.
fn variables(function: &Function, pointers: &LocalPointers) -> Vec<bool> {
    let mut variables: Vec<bool> =
        local_uses(function).iter().map(|local| !local.escapes && !local.dynamic).collect();
    let mut places: Vec<Option<(i64, u32)>> = vec![None; function.locals.len()];
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        let (ptr, size) = match &data.op {
            Op::Load { ptr, .. } => (*ptr, Some(function.ty(function.result(inst)).size())),
            Op::Store { ptr, value, .. } => (*ptr, Some(function.ty(*value).size())),
            Op::MemCopy { dst, src, .. } => {
                for ptr in [dst, src] {
                    if let Some((local, _)) = pointers[ptr.index()] {
                        variables[local.index()] = false;
                    }
                }
                return;
            }
            Op::MemZero { dst, .. } => (*dst, None),
            _ => return,
        };
        let Some((local, offset)) = pointers[ptr.index()] else {
            // An access of other memory, or of a local that `local_uses` excludes.
            return;
        };
        let room = function.locals[local.index()].size;
        let inside = size.filter(|&size| {
            u64::try_from(offset)
                .is_ok_and(|start| start.checked_add(u64::from(size)).is_some_and(|end| end <= room))
        });
        let is_same = inside.is_some_and(|size| {
            let place = (offset, size);
            *places[local.index()].get_or_insert(place) == place
        });
        variables[local.index()] &= is_same;
    });
    variables
}

/// For each value: the local that it points into, at any offset.
pub(super) fn local_roots(function: &Function) -> Vec<Option<Local>> {
    let mut roots = vec![None; function.values.len()];
    walk_insts(function, function.body, &mut |inst| {
        let root = match function.inst(inst).op {
            Op::LocalAddr(local) => Some(local),
            Op::PtrAdd { base, .. } => roots[base.index()],
            _ => None,
        };
        if let Some(local) = root {
            let result = function.result(inst);
            debug_assert_eq!(function.ty(result), Type::Ptr(Space::Thread), "{result} points into {local}");
            roots[result.index()] = root;
        }
    });
    roots
}

/// How a function uses a local.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LocalUse {
    /// Its address is used in a way that this analysis does not follow: a call, a store of the address, a
    /// comparison, a conversion, a select; or an access is volatile.
    pub escapes: bool,
    /// Its address is offset by a value that is not constant.
    pub dynamic: bool,
    /// It may be read: by a load, as the source of a copy, or unseen.
    pub read: bool,
    /// It may be written, other than by its lifetime's start.
    pub written: bool,
}

/// The uses of each local. Pointers with dynamic offsets are followed too.
pub fn local_uses(function: &Function) -> Vec<LocalUse> {
    let mut uses = vec![LocalUse::default(); function.locals.len()];
    let roots = local_roots(function);
    walk_insts(function, function.body, &mut |inst| record(&function.inst(inst).op, &roots, &mut uses));
    uses
}

fn record(op: &Op, roots: &[Option<Local>], uses: &mut [LocalUse]) {
    let mut mark = |value: Value, change: fn(&mut LocalUse)| {
        if let Some(local) = roots[value.index()] {
            change(&mut uses[local.index()]);
        }
    };
    let escape: fn(&mut LocalUse) = |local| {
        *local = LocalUse { escapes: true, read: true, written: true, ..*local };
    };
    match op {
        Op::PtrAdd { base, index, .. } => {
            if index.is_some() {
                mark(*base, |local| local.dynamic = true);
            }
        }
        Op::Load { ptr, volatile: false, .. } => mark(*ptr, |local| local.read = true),
        Op::Store { ptr, value, volatile: false, .. } => {
            mark(*ptr, |local| local.written = true);
            mark(*value, escape);
        }
        Op::MemCopy { dst, src, .. } => {
            mark(*dst, |local| local.written = true);
            mark(*src, |local| local.read = true);
        }
        Op::MemZero { dst, .. } => mark(*dst, |local| local.written = true),
        other => other.for_each_operand(|value| mark(value, escape)),
    }
}
