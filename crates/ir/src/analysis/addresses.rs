//! Whether a kernel follows pointers that memory holds.

use crate::{CastOp, FuncId, Function, Kernel, Module, Op, Scalar, Space, Type};

use super::walk::walk_insts;

/// Whether the kernel, or a function that it calls, may get a pointer to a buffer from bytes that came out of
/// memory that outlives the launch: it needs the launch's resident buffers.
pub fn loads_pointers(module: &Module, kernel: &Kernel) -> bool {
    let mut seen = Sources::default();
    let mut reached: Vec<FuncId> = vec![kernel.function];
    let mut next = 0;
    while let Some(&id) = reached.get(next) {
        next += 1;
        let function = module.function(id);
        walk_insts(function, function.body, &mut |inst| match &function.inst(inst).op {
            Op::Call(callee, _) if !reached.contains(callee) => reached.push(*callee),
            op => seen.note(function, op, function.inst(inst).result.map(|result| function.ty(result))),
        });
    }
    seen.from_buffers || seen.from_locals && seen.bytes_arrive
}

/// As [`loads_pointers`], of one function without those that it calls.
pub fn function_loads_pointers(function: &Function) -> bool {
    let mut seen = Sources::default();
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        seen.note(function, &data.op, data.result.map(|result| function.ty(result)));
    });
    seen.from_buffers || seen.from_locals && seen.bytes_arrive
}

#[derive(Default)]
struct Sources {
    /// A pointer is loaded from memory that threads share, or made of an integer.
    from_buffers: bool,
    /// One is loaded from thread memory.
    from_locals: bool,
    /// Bytes that may be a pointer's come from shared memory into thread memory.
    bytes_arrive: bool,
}

impl Sources {
    fn note(&mut self, function: &Function, op: &Op, result: Option<Type>) {
        let is_shared = |pointer| function.ty(pointer) != Type::Ptr(Space::Thread);
        let is_buffer = matches!(result, Some(Type::Ptr(Space::Device | Space::Constant)));
        match op {
            Op::Load { ptr, .. } if is_buffer && is_shared(*ptr) => self.from_buffers = true,
            Op::Load { .. } if is_buffer => self.from_locals = true,
            Op::Load { ptr, .. } if is_shared(*ptr) => {
                self.bytes_arrive |=
                    result.is_some_and(|ty| ty.scalar() == Some(Scalar::I64) || ty.lanes() > 1);
            }
            Op::Cast(CastOp::IntToPtr, _) if is_buffer => self.from_buffers = true,
            Op::MemCopy { src, .. } if is_shared(*src) => self.bytes_arrive = true,
            _ => {}
        }
    }
}
