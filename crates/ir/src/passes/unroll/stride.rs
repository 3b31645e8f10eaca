//! How an address in a loop moves on with the loop's counter.

use rustc_hash::FxHashSet;

use crate::{BinOp, CastOp, Function, Op, Value};

/// How far definitions are followed.
const DEPTH: u32 = 16;

/// By how much a pointer or integer grows when the counter grows by one, as long as nothing wraps around: good to decide
/// what is worth it, not what is right. `counter`: the loads of the counter; `counted`: all that comes from them.
pub(super) fn slope(
    function: &Function,
    value: Value,
    counter: &FxHashSet<Value>,
    counted: &FxHashSet<Value>,
) -> Option<i64> {
    of(function, value, (counter, counted), DEPTH)
}

type Sets<'a> = (&'a FxHashSet<Value>, &'a FxHashSet<Value>);

fn of(function: &Function, value: Value, sets: Sets<'_>, depth: u32) -> Option<i64> {
    if sets.0.contains(&value) {
        return Some(1);
    }
    if !sets.1.contains(&value) {
        return Some(0);
    }
    let depth = depth.checked_sub(1)?;
    let of = |value| of(function, value, sets, depth);
    match *function.def(value)? {
        Op::Cast(CastOp::ZExt | CastOp::SExt | CastOp::Trunc, a) => of(a),
        Op::Binary(BinOp::Add, a, b) => of(a)?.checked_add(of(b)?),
        Op::Binary(BinOp::Sub, a, b) => of(a)?.checked_sub(of(b)?),
        Op::Binary(BinOp::Mul, a, b) => match (function.as_const(a), function.as_const(b)) {
            (_, Some(by)) => of(a)?.checked_mul(by as i64),
            (Some(by), _) => of(b)?.checked_mul(by as i64),
            _ => None,
        },
        Op::Binary(BinOp::Shl, a, b) => of(a)?.checked_mul(1 << function.as_const(b).filter(|&by| by < 32)?),
        Op::PtrAdd { base, index, scale, .. } => {
            let by = index.map_or(Some(0), |index| of(index)?.checked_mul(scale.into()))?;
            of(base)?.checked_add(by)
        }
        _ => None,
    }
}
