//! Addresses as a pointer, a scaled index and a constant: enough to see what lies side by side.

use crate::analysis::{Bounds, constants_taken_out};
use crate::{CastOp, Function, Op, Value};

/// How far the parts of an address are followed.
const DEPTH: u32 = 16;

/// An address. Two with the same base and index are apart by what their offsets differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    base: Value,
    index: Option<Index>,
    offset: i64,
}

/// An index without its constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Index {
    value: Value,
    /// How it is widened.
    cast: Option<CastOp>,
    scale: u32,
}

impl Address {
    pub(super) fn of(function: &Function, ptr: Value, bounds: Bounds<'_>) -> Self {
        Self::followed(function, ptr, bounds, DEPTH)
    }

    fn followed(function: &Function, ptr: Value, bounds: Bounds<'_>, depth: u32) -> Self {
        let plain = Self { base: ptr, index: None, offset: 0 };
        let (Some(&Op::PtrAdd { base, index, scale, offset }), Some(depth)) =
            (function.def(ptr), depth.checked_sub(1))
        else {
            return plain;
        };
        let inner = Self::followed(function, base, bounds, depth);
        let Some(index) = index else {
            return Self { offset: inner.offset.wrapping_add(offset), ..inner };
        };
        let (index, constant) = Index::of(function, index, scale, bounds);
        let offset = offset.wrapping_add(constant.wrapping_mul(i64::from(scale)));
        match inner.index {
            None => Self { index: Some(index), offset: inner.offset.wrapping_add(offset), ..inner },
            Some(_) => Self { base, index: Some(index), offset },
        }
    }

    /// How many bytes the other one lies behind this one, if both differ in that alone.
    pub(super) fn distance(&self, other: &Self) -> Option<i64> {
        (self.base == other.base && self.index == other.index).then(|| other.offset.wrapping_sub(self.offset))
    }
}

impl Index {
    /// The index, and the constants that were added to it.
    fn of(function: &Function, value: Value, scale: u32, bounds: Bounds<'_>) -> (Self, i64) {
        match function.def(value) {
            Some(&Op::Cast(cast @ (CastOp::ZExt | CastOp::SExt), narrow)) => {
                let (value, constant) = constants_taken_out(function, cast, narrow, bounds);
                (Self { value, cast: Some(cast), scale }, constant)
            }
            _ => (Self { value, cast: None, scale }, 0),
        }
    }
}
