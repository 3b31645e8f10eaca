//! The stride of an address per iteration, with respect to the loop's counter.

use rustc_hash::FxHashSet;

use anymetal_analysis::limits::MAX_DEPTH;
use anymetal_ir::{BinOp, CastOp, Function, Op, Value};

/// The stride of a pointer or integer per unit of the counter, if nothing wraps: good enough for a cost
/// model, not for correctness. `derived`: all values computed from them.
pub(super) fn stride_per_iteration(
    function: &Function,
    value: Value,
    counter: Value,
    derived: &FxHashSet<Value>,
) -> Option<i64> {
    stride(function, value, (counter, derived), MAX_DEPTH)
}

type CounterSets<'a> = (Value, &'a FxHashSet<Value>);

fn stride(function: &Function, value: Value, sets: CounterSets<'_>, depth: u32) -> Option<i64> {
    if sets.0 == value {
        return Some(1);
    }
    if !sets.1.contains(&value) {
        return Some(0);
    }
    let depth = depth.checked_sub(1)?;
    let stride = |value| stride(function, value, sets, depth);
    match *function.def(value)? {
        Op::Cast(CastOp::ZExt | CastOp::SExt | CastOp::Trunc, a) => stride(a),
        Op::Binary(BinOp::Add, a, b) => stride(a)?.checked_add(stride(b)?),
        Op::Binary(BinOp::Sub, a, b) => stride(a)?.checked_sub(stride(b)?),
        Op::Binary(BinOp::Mul, a, b) => match (function.as_const(a), function.as_const(b)) {
            (_, Some(by)) => stride(a)?.checked_mul(by as i64),
            (Some(by), _) => stride(b)?.checked_mul(by as i64),
            _ => None,
        },
        Op::Binary(BinOp::Shl, a, b) => {
            stride(a)?.checked_mul(1 << function.as_const(b).filter(|&by| by < 32)?)
        }
        Op::PtrAdd { base, index, scale, .. } => {
            let by = index.map_or(Some(0), |index| stride(index)?.checked_mul(scale.into()))?;
            stride(base)?.checked_add(by)
        }
        _ => None,
    }
}
