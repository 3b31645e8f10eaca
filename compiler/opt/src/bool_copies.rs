//! Turns a load of a `bool` that is only stored again into a copy of its byte, as clang's code is after
//! instruction combining.
//!
//! Programs view integers as `bool` and copy them. The byte is then neither 0 nor 1, and a `bool` that is
//! loaded is not zero or zero, so that 1 would be stored. Requires that every use is a store, and that no
//! access is to private memory: variables there are of one type, so that they can be promoted.

use anymetal_analysis::walk_insts;
use anymetal_ir::{Function, Op, Scalar, Space, Type, Value};

/// Rewrites one function; returns whether anything changed.
pub fn bool_copies(function: &mut Function) -> bool {
    let mut loaded = Vec::new();
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        if let (&Op::Load { ptr, .. }, Some(result)) = (&data.op, data.result)
            && is_bool(function, result)
            && !is_private(function, ptr)
        {
            loaded.push(result);
        }
    });
    if loaded.is_empty() {
        return false;
    }
    // How each value is used: whether by stores, and whether by anything else.
    let mut uses = vec![(false, false); function.values.len()];
    walk_insts(function, function.body, &mut |inst| {
        let op = &function.inst(inst).op;
        let stored = match *op {
            Op::Store { ptr, value, .. } if !is_private(function, ptr) => Some(value),
            _ => None,
        };
        op.for_each_operand(|value| {
            let (by_store, otherwise) = &mut uses[value.index()];
            *by_store |= stored == Some(value);
            *otherwise |= stored != Some(value);
        });
    });
    loaded.retain(|value| uses[value.index()] == (true, false));
    for &value in &loaded {
        let ty = function.ty(value);
        function.values[value.index()].ty = ty.with_scalar(Scalar::I8);
    }
    !loaded.is_empty()
}

fn is_private(function: &Function, ptr: Value) -> bool {
    function.ty(ptr) == Type::Ptr(Space::Thread)
}

fn is_bool(function: &Function, value: Value) -> bool {
    function.ty(value).scalar() == Some(Scalar::Bool)
}
