//! Functions that a CPU's kernel can call: what a thread computes in them depends on their arguments, on what
//! these point to, and on constant data.
//!
//! No access of theirs needs to know an argument of the kernel, a thread's position or other lanes.
//! Memory that threads share is passed as a pointer, with its allocation's bounds. Invariant: in such a
//! function every pointer is made of a parameter, of a local's address or of a constant datum's by adding
//! to it.

use super::locals::local_roots;
use super::walk_insts;
use anymetal_ir::{CastOp, Function, Op, Space, Type, Value};

/// For each value: whether it is a pointer to private memory made of a parameter or a local's address by
/// adding to it. Locals whose addresses are used in other ways, or that are accessed at bytes where no scalar
/// of the access's type lies, are left out.
pub fn private_pointers(function: &Function) -> Vec<bool> {
    let mut known = made_by_adding(function, |space| space == Space::Thread);
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
    assert_eq!(roots.len(), known.len(), "one entry for each value");
    for (value, root) in roots.iter().enumerate() {
        known[value] &= root.is_none_or(|local| plain[local.index()]);
    }
    known
}

/// Whether a scalar of the type is within units of four bytes, or of whole ones.
fn is_aligned(ty: Type, align: u32) -> bool {
    let size = ty.scalar().map_or(8, anymetal_ir::Scalar::size);
    align >= size.min(4)
}

/// Pointers to some spaces made of a parameter or an address by adding.
fn made_by_adding(function: &Function, spaces: impl Fn(Space) -> bool) -> Vec<bool> {
    let is_of_them = |value: Value| matches!(function.ty(value), Type::Ptr(space) if spaces(space));
    let mut known = vec![false; function.values.len()];
    for &param in &function.params {
        known[param.index()] = is_of_them(param);
    }
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        if let Some(result) = data.result {
            known[result.index()] = match data.op {
                Op::LocalAddr(_) | Op::GlobalAddr(_) => is_of_them(result),
                Op::PtrAdd { base, .. } => known[base.index()],
                _ => false,
            };
        }
    });
    known
}

/// The pointers of a callable function.
struct Pointers {
    /// As [`private_pointers`].
    private: Vec<bool>,
    /// To memory that threads share, made by adding.
    shared: Vec<bool>,
}

impl Pointers {
    fn has(&self, pointer: Value) -> bool {
        self.private[pointer.index()] || self.shared[pointer.index()]
    }
}

/// Whether all pointers to private memory among the arguments of a call are made as a callable function makes
/// them. `private` is [`private_pointers`] of the caller, which may have got more values since; the arguments
/// are not among these. Other pointers may be any.
pub fn has_callable_arguments(function: &Function, private: &[bool], args: &[Value]) -> bool {
    assert!(private.len() <= function.values.len(), "`private` is of another function");
    assert!(args.iter().all(|arg| arg.index() < private.len()), "`private` is out of date");
    let may_pass = |arg: &Value| function.ty(*arg) != Type::Ptr(Space::Thread) || private[arg.index()];
    args.iter().all(may_pass)
}

/// Whether a CPU's kernel can call the function: its pointers are made as the module's documentation
/// says, and it does nothing with other lanes, positions or atomics. Functions that it calls are not
/// looked at, the arguments of the calls are.
pub fn is_callable(function: &Function) -> bool {
    if function.ret.is_some_and(Type::is_ptr) {
        return false;
    }
    let pointers = Pointers {
        private: private_pointers(function),
        shared: made_by_adding(function, |space| space != Space::Thread),
    };
    let mut fits = true;
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        let ty = data.result.map(|result| function.ty(result));
        fits = fits && is_callable_op(function, &pointers, &data.op, ty);
    });
    fits
}

fn is_callable_op(function: &Function, pointers: &Pointers, op: &Op, ty: Option<Type>) -> bool {
    let may_access = |ptr: Value, ty: Type, align: u32| {
        let fits = pointers.shared[ptr.index()] || pointers.private[ptr.index()] && is_aligned(ty, align);
        fits && !ty.is_ptr()
    };
    match op {
        Op::Load { ptr, align, volatile: false } => ty.is_some_and(|ty| may_access(*ptr, ty, *align)),
        Op::Store { ptr, value, align, volatile: false } => may_access(*ptr, function.ty(*value), *align),
        Op::MemCopy { dst, src, .. } => pointers.has(*dst) && pointers.has(*src),
        Op::MemZero { dst, .. } => pointers.has(*dst),
        Op::Call(_, args) => args.iter().all(|arg| !function.ty(*arg).is_ptr() || pointers.has(*arg)),
        Op::PtrAdd { base, .. } => pointers.has(*base),
        Op::LocalStart(_)
        | Op::LocalAddr(_)
        | Op::GlobalAddr(_)
        | Op::If { .. }
        | Op::Loop { .. }
        | Op::Switch { .. }
        | Op::Scope { .. }
        | Op::Break(..)
        | Op::Continue(..)
        | Op::Yield(_)
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
