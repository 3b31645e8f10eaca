//! Addresses as a pointer, a scaled index and a constant: enough to see what lies side by side.

use crate::{Function, Op, Value};

/// How far the parts of an address are followed.
const DEPTH: u32 = 16;

/// An address. Two with the same base and index are apart by what their offsets differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Address {
    base: Value,
    index: Option<(Value, u32)>,
    offset: i64,
}

impl Address {
    pub(super) fn of(function: &Function, ptr: Value) -> Self {
        Self::followed(function, ptr, DEPTH)
    }

    fn followed(function: &Function, ptr: Value, depth: u32) -> Self {
        let plain = Self { base: ptr, index: None, offset: 0 };
        let (Some(Op::PtrAdd { base, index, scale, offset }), Some(depth)) =
            (function.def(ptr), depth.checked_sub(1))
        else {
            return plain;
        };
        let inner = Self::followed(function, *base, depth);
        match index.map(|index| (index, *scale)) {
            None => Self { offset: inner.offset.wrapping_add(*offset), ..inner },
            index if inner.index.is_none() => {
                Self { base: inner.base, index, offset: inner.offset.wrapping_add(*offset) }
            }
            index => Self { base: *base, index, offset: *offset },
        }
    }

    /// How many bytes the other one lies behind this one, if both differ in that alone.
    pub(super) fn distance(&self, other: &Self) -> Option<i64> {
        (self.base == other.base && self.index == other.index).then(|| other.offset.wrapping_sub(self.offset))
    }
}
