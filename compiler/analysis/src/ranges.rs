//! Upper bounds of integer values, to prove that a base plus a pattern does not wrap when widened, and of
//! pointers' offsets, to prove that what they point to is in bounds.
//!
//! Invariant: a bound holds in every lane of every SIMD-group of the version, also in lanes of the last one
//! that do not exist.

use std::cell::Cell;

use anymetal_ir::{BinOp, CastOp, Function, Op, Query, Scalar, SimdOp, Type, Value};

use crate::divergence::{Geometry, LANES, Position};
use crate::limits::MAX_BOUND_DEFINITIONS;

/// Threads of any threadgroup, and the lanes of a last SIMD-group that do not exist.
const LARGEST_INDEX: u64 = 1024 + 31;
/// Positions in a grid keep this distance from 2^32.
const LARGEST_POSITION: u64 = u32::MAX as u64 - 64;

/// The largest value that any lane, existing or not, can have, read as unsigned.
pub fn upper_bound(function: &Function, geometry: Geometry, value: Value) -> u64 {
    upper_bound_with(function, geometry, &[], value)
}

/// The same; `known` has bounds of values, by their number, that hold wherever the result is used.
fn upper_bound_with(function: &Function, geometry: Geometry, known: &[Option<u64>], value: Value) -> u64 {
    Finder { function, geometry, known, steps: Cell::new(MAX_BOUND_DEFINITIONS) }.bound(value)
}

/// Whether an integer is known not to be negative when read as signed.
pub fn is_non_negative(function: &Function, geometry: Geometry, value: Value) -> bool {
    match function.ty(value) {
        Type::Scalar(scalar) if scalar.is_int() => {
            upper_bound(function, geometry, value) <= anymetal_ir::eval::mask(scalar) >> 1
        }
        _ => false,
    }
}

/// The largest offset in its variable that a pointer can have in any lane, existing or not, and no smaller
/// one is negative; `None` if it is not known, or not known which variable. `known`: bounds of values by
/// their number.
pub fn offset_bound(
    function: &Function,
    geometry: Geometry,
    known: &[Option<u64>],
    pointer: Value,
) -> Option<u64> {
    let mut sum = 0u64;
    let mut pointer = pointer;
    loop {
        match function.def(pointer)? {
            Op::ThreadgroupAddr(_) | Op::GlobalAddr(_) => return Some(sum),
            Op::PtrAdd { base, index, scale, offset } => {
                if let Some(index) = *index {
                    if function.ty(index) != Type::Scalar(Scalar::I64) {
                        return None;
                    }
                    let index = upper_bound_with(function, geometry, known, index);
                    sum = sum.checked_add(index.checked_mul(u64::from(*scale))?)?;
                }
                sum = sum.checked_add(u64::try_from(*offset).ok()?)?;
                pointer = *base;
            }
            _ => return None,
        }
    }
}

/// Where values are defined, and the threadgroups that are known.
struct Finder<'a> {
    function: &'a Function,
    geometry: Geometry,
    known: &'a [Option<u64>],
    /// Definitions that may still be looked at.
    steps: Cell<u32>,
}

impl Finder<'_> {
    fn bound(&self, value: Value) -> u64 {
        let function = self.function;
        let Some(scalar) = function.ty(value).scalar() else { return u64::MAX };
        let limit = anymetal_ir::eval::mask(scalar);
        if let Some(&Some(known)) = self.known.get(value.index()) {
            return known.min(limit);
        }
        let Some(op) = function.def(value) else { return limit };
        let Some(steps) = self.steps.get().checked_sub(1).filter(|_| !scalar.is_float()) else {
            return limit;
        };
        self.steps.set(steps);
        let of = |v: Value| self.bound(v);
        let found = match op {
            Op::Const(bits) => *bits,
            Op::Query(query) => query_bound(self.geometry, *query),
            Op::Binary(op, a, b) => return self.binary_bound(*op, *a, *b, limit),
            Op::Select(_, a, b) => of(*a).max(of(*b)),
            Op::Simd(SimdOp::BroadcastFirst, values) => values.first().map_or(limit, |&value| of(value)),
            Op::Cast(CastOp::ZExt | CastOp::Trunc, a) if function.ty(*a).lanes() == 1 => of(*a),
            Op::Cast(CastOp::SExt, a) if function.ty(*a).lanes() == 1 => {
                let from = function.ty(*a).scalar().expect("only integers are extended");
                let bound = of(*a);
                if bound > anymetal_ir::eval::mask(from) >> 1 { limit } else { bound }
            }
            _ => limit,
        };
        found.min(limit)
    }

    fn binary_bound(&self, op: BinOp, a: Value, b: Value, limit: u64) -> u64 {
        let constant = self.function.as_const(b);
        let fits = |found: Option<u64>| found.filter(|&found| found <= limit).unwrap_or(limit);
        let first = self.bound(a);
        let second = || self.bound(b);
        match op {
            BinOp::Add => fits(first.checked_add(second())),
            BinOp::Mul => fits(first.checked_mul(second())),
            BinOp::Or | BinOp::Xor => {
                let both = first | second();
                fits(Some(u64::MAX.checked_shr(both.leading_zeros()).unwrap_or(0)))
            }
            BinOp::And | BinOp::UMin => first.min(second()),
            BinOp::UMax => first.max(second()),
            BinOp::UDiv => constant.filter(|&c| c > 0).map_or(first, |c| first / c),
            BinOp::URem => constant.filter(|&c| c > 0).map_or(first, |c| (c - 1).min(first)),
            BinOp::LShr => constant.filter(|&c| c < 64).map_or(first, |c| first >> c),
            BinOp::Shl => fits(constant.filter(|&c| c < 32).and_then(|c| first.checked_mul(1 << c))),
            // Signed division of values that are not negative is unsigned division.
            BinOp::SDiv if first <= limit >> 1 => {
                constant.filter(|&c| c > 0 && c <= limit >> 1).map_or(limit, |c| first / c)
            }
            BinOp::SRem if first <= limit >> 1 => {
                constant.filter(|&c| c > 0 && c <= limit >> 1).map_or(limit, |c| (c - 1).min(first))
            }
            _ => limit,
        }
    }
}

fn query_bound(geometry: Geometry, query: Query) -> u64 {
    let last = last_index(geometry);
    match query {
        Query::ThreadIndexInSimdgroup => 31,
        Query::ThreadIndexInQuadgroup => 3,
        Query::ThreadsPerSimdgroup => 32,
        Query::ThreadIndexInThreadgroup => position_bound(geometry, &Position::linear()),
        Query::ThreadPositionInThreadgroup(axis) => position_bound(geometry, &geometry.position(axis)),
        Query::QuadgroupIndexInThreadgroup => last / 4,
        Query::SimdgroupIndexInThreadgroup => last / 32,
        // One more than the last's index.
        Query::QuadgroupsPerThreadgroup => last / 4 + 1,
        Query::SimdgroupsPerThreadgroup => last / 32 + 1,
        // Not of the version but of the dispatch.
        Query::ThreadsPerThreadgroup(_) | Query::DispatchThreadsPerThreadgroup(_) => LARGEST_INDEX,
        Query::DispatchSimdgroupsPerThreadgroup => LARGEST_INDEX / 32,
        Query::ThreadPositionInGrid(_) => LARGEST_POSITION,
        Query::ThreadgroupPositionInGrid(_) | Query::ThreadsPerGrid(_) | Query::ThreadgroupsPerGrid(_) => {
            u64::from(u32::MAX)
        }
    }
}

/// The last lane's linear index, whether that lane exists or not.
fn last_index(geometry: Geometry) -> u64 {
    let Some(threads) = geometry.threads() else {
        // Threadgroups of any size.
        return LARGEST_INDEX;
    };
    assert!(threads > 0, "threadgroups have threads");
    u64::from(threads.next_multiple_of(LANES as u32)) - 1
}

/// The largest value that the emitter's rule for a position gives.
fn position_bound(geometry: Geometry, position: &Position) -> u64 {
    let max =
        |pattern: &[i64; LANES]| pattern.iter().copied().max().expect("a pattern has lanes").unsigned_abs();
    match (position, geometry.threads()) {
        (Position::Zero, _) => 0,
        (Position::Known(pattern), _) => max(pattern),
        (Position::Based { divide, modulo, pattern }, Some(threads)) => {
            let bases = (0..threads).step_by(LANES).map(|first| {
                let base = first / divide;
                u64::from(if *modulo == 0 { base } else { base % modulo })
            });
            bases.max().expect("threadgroups have threads") + max(pattern)
        }
        // Lane by lane, from the linear index.
        (Position::Based { .. } | Position::Computed, _) => last_index(geometry),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// The bounds of the last value of the only function, and of the offset of the last pointer.
    fn bounds(body: &str, geometry: Geometry) -> (u64, Option<u64>) {
        let text = format!(
            "threadgroup tg0 \"t\" size 4096 align 4\n\nfunc f0 \"f\" (v0: ptr.device) {{\n{body}\n}}\n"
        );
        let module = anymetal_ir::parse_module(&text).expect("the text is well formed");
        let function = &module.functions[0];
        let values = || (0..function.values.len() as u32).rev().map(Value);
        let is_pointer = |value: &Value| matches!(function.ty(*value), Type::Ptr(_));
        let pointer = values().find(is_pointer).expect("there is a parameter");
        let value = values().find(|value| !is_pointer(value)).expect("there is a value");
        (upper_bound(function, geometry, value), offset_bound(function, geometry, &[], pointer))
    }

    #[test]
    fn a_known_size_bounds_indices_of_lanes_that_exist_or_not() {
        let bound = |query: &str, geometry| bounds(&format!("  v1 = query.{query} : i32"), geometry).0;
        let (line, hundred) = (Geometry::Line, Geometry::Full([100, 1, 1]));
        assert_eq!(bound("thread_index_in_threadgroup", line), 1055);
        assert_eq!(bound("thread_index_in_threadgroup", hundred), 127);
        assert_eq!(bound("thread_position_in_threadgroup.x", hundred), 127);
        assert_eq!(bound("thread_position_in_threadgroup.y", hundred), 0);
        assert_eq!(bound("simdgroup_index_in_threadgroup", line), 32);
        assert_eq!(bound("simdgroup_index_in_threadgroup", hundred), 3);
        assert_eq!(bound("simdgroups_per_threadgroup", hundred), 4);
        assert_eq!(bound("quadgroup_index_in_threadgroup", hundred), 31);
    }

    #[test]
    fn no_position_exceeds_its_bound() {
        for size in [[256, 1, 1], [16, 16, 1], [8, 8, 4], [64, 2, 1], [4, 3, 5], [1, 1, 64], [33, 1, 1]] {
            let geometry = Geometry::Full(size);
            let threads: u32 = size.iter().product();
            for linear in 0..threads.next_multiple_of(LANES as u32) {
                let exists = linear < threads;
                let positions = [linear % size[0], linear / size[0] % size[1], linear / (size[0] * size[1])];
                for axis in (0..3u8).filter(|_| exists) {
                    let bound = query_bound(geometry, Query::ThreadPositionInThreadgroup(axis));
                    assert!(u64::from(positions[usize::from(axis)]) <= bound, "{size:?} {axis} {linear}");
                }
                assert!(u64::from(linear) <= query_bound(geometry, Query::ThreadIndexInThreadgroup));
            }
        }
        let square = Geometry::Full([16, 16, 1]);
        assert_eq!([0, 1].map(|axis| query_bound(square, Query::ThreadPositionInThreadgroup(axis))), [15; 2]);
    }

    /// A row of 1024 bytes for each SIMD-group, and bytes more.
    fn row(scale: u32, offset: i64) -> String {
        format!(
            "  v1 = query.simdgroup_index_in_threadgroup : i32
  v2 = const 256 : i32
  v3 = mul v1, v2 : i32
  v4 = zext v3 : i64
  v5 = threadgroup_addr tg0 : ptr.threadgroup
  v6 = ptr_add v5 + v4 * {scale} : ptr.threadgroup
  v7 = ptr_add v6 + {offset} : ptr.threadgroup"
        )
    }

    #[test]
    fn offsets_in_variables_are_bounded() {
        let offset = |scale, offset, geometry| bounds(&row(scale, offset), geometry).1;
        assert_eq!(offset(4, 32, Geometry::Full([128, 1, 1])), Some(3 * 1024 + 32));
        assert_eq!(offset(4, 32, Geometry::Full([129, 1, 1])), Some(4 * 1024 + 32));
        assert_eq!(offset(4, 32, Geometry::Any), Some(32 * 1024 + 32));
        // What is subtracted may lead out at the front.
        assert_eq!(offset(4, -32, Geometry::Full([128, 1, 1])), None);
        // Nor is anything known of a parameter.
        assert_eq!(bounds("  v1 = const 1 : i32", Geometry::Any).1, None);
    }

    #[test]
    fn definitions_are_followed_far_but_not_forever() {
        // Each value takes the one before twice.
        let doubled = |times: u32| {
            let mut body = "  v1 = query.thread_index_in_simdgroup : i32".to_owned();
            for n in 1..=times {
                let _ = write!(body, "\n  v{} = add v{n}, v{n} : i32", n + 1);
            }
            bounds(&body, Geometry::Full([32, 1, 1])).0
        };
        assert_eq!(doubled(6), 31 << 6);
        assert_eq!(doubled(60), u64::from(u32::MAX));
        let mut body = "  v1 = query.thread_index_in_simdgroup : i32\n  v2 = const 1 : i32".to_owned();
        for n in 2..42 {
            let before = if n == 2 { 1 } else { n };
            let _ = write!(body, "\n  v{} = add v{before}, v2 : i32", n + 1);
        }
        assert_eq!(bounds(&body, Geometry::Full([32, 1, 1])).0, 31 + 40);
    }

    #[test]
    fn sums_that_may_wrap_are_not_bounded() {
        let index = |op: &str| {
            let body = format!(
                "  v1 = load v0, align 8 : i64
  v2 = const 4294967296 : i64
  v3 = {op}
  v4 = threadgroup_addr tg0 : ptr.threadgroup
  v5 = ptr_add v4 + v3 * 8 : ptr.threadgroup"
            );
            bounds(&body, Geometry::Full([32, 1, 1])).1
        };
        assert_eq!(index("urem v1, v2 : i64"), Some(8 * u64::from(u32::MAX)));
        assert_eq!(index("mul v1, v2 : i64"), None);
        assert_eq!(index("sub v2, v1 : i64"), None);
    }
}
