//! Pointers to locals, and how each local is used.

use super::walk_insts;
use crate::{Function, Local, Op, Space, Type, Value};

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
    // The local that each pointer leads to, whatever the offset.
    let mut roots: Vec<Option<Local>> = vec![None; function.values.len()];
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        if let Some(result) = data.result {
            roots[result.index()] = match data.op {
                Op::LocalAddr(local) => Some(local),
                Op::PtrAdd { base, .. } => roots[base.index()],
                _ => None,
            };
        }
        record(&data.op, &roots, &mut uses);
    });
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
