//! Addresses as base pointer, scaled index and constant offset, to recognise adjacent accesses.

use anymetal_analysis::limits::MAX_DEPTH;
use anymetal_analysis::{Bounds, constants_taken_out};
use anymetal_ir::{CastOp, Function, Op, Value};

/// An address. The distance of two with equal base and index is the difference of their offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    base: Value,
    index: Option<Index>,
    offset: i64,
}

/// An index without its constant part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Index {
    value: Value,
    /// The extension to 64 bits.
    cast: Option<CastOp>,
    scale: u32,
}

impl Address {
    pub(super) fn of(function: &Function, ptr: Value, bounds: Bounds<'_>) -> Self {
        Self::followed(function, ptr, bounds, MAX_DEPTH)
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

    /// The distance in bytes from this address to the other, if only their offsets differ.
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
