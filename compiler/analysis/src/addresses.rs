//! Whether a kernel follows pointers that memory holds.

use super::pointer_slots::PointerSlots;
use super::walk::walk_insts;
use anymetal_ir::{CastOp, FuncId, Function, Kernel, Module, Op, Space, Type};

/// Whether the kernel, or a function that it calls, may get a pointer to a buffer from an integer or from
/// memory that is no pointer slot: it needs the launch's table of resident buffers.
pub fn loads_pointers(module: &Module, kernel: &Kernel) -> bool {
    let mut reached: Vec<FuncId> = vec![kernel.function];
    let (mut next, mut found) = (0, false);
    while let Some(&id) = reached.get(next) {
        next += 1;
        let function = module.function(id);
        walk_insts(function, function.body, &mut |inst| {
            if let Op::Call(callee, _) = &function.inst(inst).op
                && !reached.contains(callee)
            {
                reached.push(*callee);
            }
        });
        found |= function_loads_pointers(function);
    }
    found
}

/// As [`loads_pointers`], of one function without those that it calls.
pub fn function_loads_pointers(function: &Function) -> bool {
    // The analysis is made only for functions that load pointers to buffers at all.
    let mut slots = None;
    let mut found = false;
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        let is_buffer = |value| matches!(function.ty(value), Type::Ptr(Space::Device | Space::Constant));
        if found || !data.result.is_some_and(is_buffer) {
            return;
        }
        found = match &data.op {
            Op::Cast(CastOp::IntToPtr, _) => true,
            Op::Load { ptr, .. } if function.ty(*ptr) != Type::Ptr(Space::Thread) => true,
            Op::Load { ptr, .. } => !slots.get_or_insert_with(|| PointerSlots::of(function)).is_slot(*ptr),
            _ => false,
        };
    });
    found
}
