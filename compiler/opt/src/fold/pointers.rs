//! Folds address arithmetic, and loads from constant data.

use super::Folded;
use anymetal_ir::eval::sign_extend;
use anymetal_ir::{BinOp, Function, GlobalId, Module, Op, Scalar, Type, Value};

pub(super) fn simplify(function: &Function, op: &Op) -> Folded {
    let Op::PtrAdd { base, index, scale, offset } = *op else { unreachable!("{op:?} is not an address") };
    if let Some(value) = index
        && let Some(bits) = function.as_const(value)
    {
        let bytes = sign_extend(Scalar::I64, bits).wrapping_mul(i64::from(scale)).wrapping_add(offset);
        return Folded::Op(Op::PtrAdd { base, index: None, scale: 1, offset: bytes });
    }
    if index.is_none() && offset == 0 {
        return Folded::Value(base);
    }
    if let Some((index, scale)) = index.and_then(|index| shifted(function, index, scale)) {
        return Folded::Op(Op::PtrAdd { base, index: Some(index), scale, offset });
    }
    match (function.def(base), index) {
        (Some(Op::PtrAdd { base, index: None, offset: inner, .. }), _) => {
            Folded::Op(Op::PtrAdd { base: *base, index, scale, offset: offset.wrapping_add(*inner) })
        }
        (Some(Op::PtrAdd { base, index, scale, offset: inner }), None) => {
            let offset = offset.wrapping_add(*inner);
            Folded::Op(Op::PtrAdd { base: *base, index: *index, scale: *scale, offset })
        }
        _ => Folded::Keep,
    }
}

/// The shifted value and its scale, if the index is shifted to the left by a constant.
fn shifted(function: &Function, index: Value, scale: u32) -> Option<(Value, u32)> {
    match *function.def(index)? {
        Op::Binary(BinOp::Shl, index, by) => {
            let by = function.as_const(by).filter(|&by| by < scale.leading_zeros().into())?;
            Some((index, scale << by))
        }
        _ => None,
    }
}

/// The datum and byte offset that a pointer refers to, if they are constant.
fn constant_address(function: &Function, ptr: Value) -> Option<(GlobalId, i64)> {
    match function.def(ptr)? {
        Op::GlobalAddr(global) => Some((*global, 0)),
        Op::PtrAdd { base, index: None, offset, .. } => match function.def(*base)? {
            Op::GlobalAddr(global) => Some((*global, *offset)),
            _ => None,
        },
        _ => None,
    }
}

/// The elements that a load reads from constant data, if they are in bounds.
pub(super) fn load_constant(module: &Module, function: &Function, ptr: Value, ty: Type) -> Option<Vec<u64>> {
    let (global, offset) = constant_address(function, ptr)?;
    let scalar = ty.scalar()?;
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(ty.size() as usize)?;
    let bytes = module.globals[global.index()].bytes.get(start..end)?;
    let elements: Vec<u64> = bytes
        .chunks(scalar.size() as usize)
        .map(|chunk| chunk.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte)))
        .collect();
    assert_eq!(elements.len(), usize::from(ty.lanes()), "the elements of a load of {ty}");
    // A byte that is neither 0 nor 1 loads as `true`, which is not its bits.
    let fits = elements.iter().all(|bits| bits & !anymetal_ir::eval::mask(scalar) == 0);
    fits.then_some(elements)
}
