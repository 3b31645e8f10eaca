//! Functions that touch private memory only: what a thread computes in them depends on their arguments, on
//! what these point to, and on constant data.
//!
//! Such functions can be called: no access of theirs needs to know a buffer, a thread's position or other
//! lanes. Invariant: in a private function every pointer is made of a parameter, of a local's address or of a
//! constant datum's by adding to it.

use super::walk_insts;
use crate::{CastOp, Function, Local, Op, Space, Type, Value};

/// For each value: whether it is a pointer to private memory made of a parameter or a local's address by
/// adding to it. Locals whose addresses are used in other ways, or that are accessed at bytes where no scalar
/// of the access's type lies, are left out.
pub fn private_pointers(function: &Function) -> Vec<bool> {
    let mut known = pointers_in(function, Space::Thread);
    let mut plain = vec![true; function.locals.len()];
    let roots = local_roots(function);
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        let ty = data.result.map(|result| function.ty(result));
        let mut exclude = |value: Value| {
            if let Some(local) = roots[value.index()] {
                plain[local.index()] = false;
            }
        };
        match &data.op {
            Op::Load { ptr, align, .. } => {
                if ty.is_none_or(|ty| ty.is_ptr() || !is_aligned(ty, *align)) {
                    exclude(*ptr);
                }
            }
            Op::Store { ptr, value, align, .. } => {
                exclude(*value);
                if function.ty(*value).is_ptr() || !is_aligned(function.ty(*value), *align) {
                    exclude(*ptr);
                }
            }
            Op::PtrAdd { .. } | Op::MemCopy { .. } | Op::MemZero { .. } | Op::Call(..) => {}
            op => op.for_each_operand(exclude),
        }
    });
    for (value, root) in roots.iter().enumerate() {
        known[value] &= root.is_none_or(|local| plain[local.index()]);
    }
    known
}

/// For each value: the local that it points into, at any offset.
fn local_roots(function: &Function) -> Vec<Option<Local>> {
    let mut roots = vec![None; function.values.len()];
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        let Some(result) = data.result else { return };
        roots[result.index()] = match data.op {
            Op::LocalAddr(local) => Some(local),
            Op::PtrAdd { base, .. } => roots[base.index()],
            _ => None,
        };
    });
    roots
}

/// Whether a scalar of the type is within units of four bytes, or of whole ones.
fn is_aligned(ty: Type, align: u32) -> bool {
    let size = ty.scalar().map_or(8, crate::Scalar::size);
    align >= size.min(4)
}

/// Pointers of a space made of a parameter or an address by adding.
fn pointers_in(function: &Function, space: Space) -> Vec<bool> {
    let mut known = vec![false; function.values.len()];
    for param in &function.params {
        known[param.index()] = function.ty(*param) == Type::Ptr(space);
    }
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        let Some(result) = data.result else { return };
        known[result.index()] = match data.op {
            Op::LocalAddr(_) => space == Space::Thread,
            Op::GlobalAddr(_) => space == Space::Constant,
            Op::PtrAdd { base, .. } => known[base.index()],
            _ => false,
        };
    });
    known
}

/// Whether all pointers among the arguments of a call are to private memory, and made as a private function
/// makes them. `private` is [`private_pointers`] of the caller.
pub fn has_private_arguments(function: &Function, private: &[bool], args: &[Value]) -> bool {
    args.iter().all(|arg| !function.ty(*arg).is_ptr() || private[arg.index()])
}

/// Whether the function touches private memory and constant data only, and its pointers are made as the
/// module's documentation says. Functions that it calls are not looked at, the arguments of the calls are.
pub fn is_private_function(function: &Function) -> bool {
    let may_pass = |ty: &Type| !ty.is_ptr() || *ty == Type::Ptr(Space::Thread);
    let signature = function.params.iter().all(|param| may_pass(&function.ty(*param)))
        && function.ret.is_none_or(|ty| !ty.is_ptr());
    if !signature {
        return false;
    }
    let (private, constant) = (private_pointers(function), pointers_in(function, Space::Constant));
    let mut fits = true;
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        let ty = data.result.map(|result| function.ty(result));
        fits = fits && is_private(function, &private, &constant, &data.op, ty);
    });
    fits
}

fn is_private(function: &Function, private: &[bool], constant: &[bool], op: &Op, ty: Option<Type>) -> bool {
    let may_read = |ptr: &Value| private[ptr.index()] || constant[ptr.index()];
    match op {
        Op::Load { ptr, align, volatile: false } => {
            may_read(ptr) && ty.is_some_and(|ty| !ty.is_ptr() && is_aligned(ty, *align))
        }
        Op::Store { ptr, value, align, volatile: false } => {
            let ty = function.ty(*value);
            private[ptr.index()] && !ty.is_ptr() && is_aligned(ty, *align)
        }
        Op::MemCopy { dst, src, .. } => private[dst.index()] && may_read(src),
        Op::MemZero { dst, .. } => private[dst.index()],
        Op::Call(_, args) => has_private_arguments(function, private, args),
        Op::PtrAdd { base, .. } => may_read(base),
        Op::LocalStart(_)
        | Op::LocalAddr(_)
        | Op::GlobalAddr(_)
        | Op::If { .. }
        | Op::Loop { .. }
        | Op::Switch { .. }
        | Op::Scope { .. }
        | Op::Break(_)
        | Op::Continue(_)
        | Op::Return(_) => true,
        Op::Query(_) | Op::ThreadgroupAddr(_) | Op::FunctionConstant(_) | Op::FunctionConstantDefined(_) => {
            false
        }
        Op::Cast(CastOp::PtrToInt | CastOp::IntToPtr, _) => false,
        op => op.only_computes() && has_no_pointers(function, op, ty),
    }
}

fn has_no_pointers(function: &Function, op: &Op, ty: Option<Type>) -> bool {
    let mut none = ty.is_none_or(|ty| !ty.is_ptr());
    op.for_each_operand(|value| none &= !function.ty(value).is_ptr());
    none
}
