//! Values known at compile time.

use super::GlobalId;

/// A constant. What it means depends on the type it goes with.
///
/// Invariant: scalar bits are zero-extended from the scalar's width, as [`anymetal_ir::eval`] wants
/// them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ConstValue {
    /// A scalar or enumeration.
    Scalar(u64),
    /// The elements of a vector.
    Vector(Vec<u64>),
    /// A record, array or matrix as it stands in memory.
    Bytes(Vec<u8>),
    /// The address of a byte of a constant with static storage.
    Address(GlobalId, i64),
    /// The null pointer.
    Null,
}

impl ConstValue {
    /// The bits of a scalar.
    pub fn as_scalar(&self) -> Option<u64> {
        if let Self::Scalar(bits) = *self { Some(bits) } else { None }
    }
}
