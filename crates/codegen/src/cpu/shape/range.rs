//! Upper bounds of integer values, to prove that a base plus a pattern does not wrap when widened.

use anymetal_ir::{BinOp, CastOp, Function, Op, Query, Scalar, Value};

/// How far definitions are followed.
const DEPTH: u32 = 12;
/// Threads of a threadgroup, and the lanes of a last SIMD-group that do not exist.
const MAX_INDEX: u64 = 1024 + 31;
/// Positions in a grid keep this distance from 2^32.
const MAX_GRID: u64 = u32::MAX as u64 - 64;

/// The largest value that any lane, existing or not, can have, read as unsigned.
pub(in crate::cpu) fn upper_bound(function: &Function, value: Value) -> u64 {
    bound(function, value, DEPTH)
}

fn bound(function: &Function, value: Value, depth: u32) -> u64 {
    let Some(scalar) = function.ty(value).scalar() else { return u64::MAX };
    let limit = anymetal_ir::eval::mask(scalar);
    let Some(op) = function.def(value) else { return limit };
    if depth == 0 || scalar.is_float() {
        return limit;
    }
    let of = |v: Value| bound(function, v, depth - 1);
    let found = match op {
        Op::Const(bits) => *bits,
        Op::Query(query) => query_bound(*query),
        Op::Binary(op, a, b) => return binary_bound(function, *op, *a, *b, depth, limit),
        Op::Select(_, a, b) => of(*a).max(of(*b)),
        Op::Cast(CastOp::ZExt | CastOp::Trunc, a) if function.ty(*a).lanes() == 1 => of(*a),
        Op::Cast(CastOp::SExt, a) if function.ty(*a).lanes() == 1 => {
            let from = function.ty(*a).scalar().unwrap_or(Scalar::I64);
            let bound = of(*a);
            if bound > anymetal_ir::eval::mask(from) >> 1 { limit } else { bound }
        }
        _ => limit,
    };
    found.min(limit)
}

fn binary_bound(function: &Function, op: BinOp, a: Value, b: Value, depth: u32, limit: u64) -> u64 {
    let of = |v: Value| bound(function, v, depth - 1);
    let constant = function.as_const(b);
    let fits = |found: Option<u64>| found.filter(|&found| found <= limit).unwrap_or(limit);
    match op {
        BinOp::Add => fits(of(a).checked_add(of(b))),
        BinOp::Mul => fits(of(a).checked_mul(of(b))),
        BinOp::Or | BinOp::Xor => {
            let both = of(a) | of(b);
            fits(Some(u64::MAX.checked_shr(both.leading_zeros()).unwrap_or(0)))
        }
        BinOp::And | BinOp::UMin => of(a).min(of(b)),
        BinOp::UMax => of(a).max(of(b)),
        BinOp::UDiv => constant.filter(|&c| c > 0).map_or(of(a), |c| of(a) / c),
        BinOp::URem => constant.filter(|&c| c > 0).map_or(of(a), |c| (c - 1).min(of(a))),
        BinOp::LShr => constant.filter(|&c| c < 64).map_or(of(a), |c| of(a) >> c),
        BinOp::Shl => fits(constant.filter(|&c| c < 32).and_then(|c| of(a).checked_mul(1 << c))),
        // Signed division of values that are not negative is unsigned division.
        BinOp::SDiv if of(a) <= limit >> 1 => {
            constant.filter(|&c| c > 0 && c <= limit >> 1).map_or(limit, |c| of(a) / c)
        }
        BinOp::SRem if of(a) <= limit >> 1 => {
            constant.filter(|&c| c > 0 && c <= limit >> 1).map_or(limit, |c| (c - 1).min(of(a)))
        }
        _ => limit,
    }
}

fn query_bound(query: Query) -> u64 {
    match query {
        Query::ThreadIndexInSimdgroup => 31,
        Query::ThreadIndexInQuadgroup => 3,
        Query::ThreadsPerSimdgroup => 32,
        Query::ThreadPositionInThreadgroup(_)
        | Query::ThreadIndexInThreadgroup
        | Query::ThreadsPerThreadgroup(_)
        | Query::DispatchThreadsPerThreadgroup(_)
        | Query::QuadgroupIndexInThreadgroup
        | Query::QuadgroupsPerThreadgroup => MAX_INDEX,
        Query::SimdgroupIndexInThreadgroup
        | Query::SimdgroupsPerThreadgroup
        | Query::DispatchSimdgroupsPerThreadgroup => MAX_INDEX / 32,
        Query::ThreadPositionInGrid(_) => MAX_GRID,
        Query::ThreadgroupPositionInGrid(_) | Query::ThreadsPerGrid(_) | Query::ThreadgroupsPerGrid(_) => {
            u64::from(u32::MAX)
        }
    }
}
