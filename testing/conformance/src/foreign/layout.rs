//! The scalars of an argument's element type, with their offsets.

use anymetal_ir::Scalar;
use anymetal_msl::hir::{ScalarTy, Ty, TyKind, Types};
use std::collections::BTreeSet;

/// Elements larger than this are not flattened.
const MAX_BYTES: u64 = 1 << 20;

/// A scalar of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Leaf {
    /// Bytes from the element's start.
    pub(super) offset: usize,
    /// What it is.
    pub(super) scalar: ScalarTy,
}

/// An element: its bytes and its scalars. Bytes of none are padding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// Bytes from one element to the next.
    pub(super) size: usize,
    /// In the order of their declaration; those of a union overlap.
    pub(super) leaves: Vec<Leaf>,
}

impl Layout {
    /// Of a type; an error says what cannot be made up, such as a pointer.
    pub(super) fn of(types: &Types, ty: Ty) -> Result<Self, String> {
        let size = types.layout(ty).size;
        if size > MAX_BYTES {
            return Err("large element".to_owned());
        }
        let mut leaves = Vec::new();
        collect(types, ty, 0, &mut leaves)?;
        Ok(Self { size: size.max(1) as usize, leaves })
    }

    /// Of bytes that are accessed as one type only.
    pub(super) fn of_bytes(scalars: &BTreeSet<Scalar>) -> Option<Self> {
        let only = scalars.iter().next().filter(|_| scalars.len() == 1)?;
        let scalar = ScalarTy::ALL.into_iter().find(|scalar| anymetal_ir::Scalar::from(*scalar) == *only)?;
        Some(Self { size: scalar.size() as usize, leaves: vec![Leaf { offset: 0, scalar }] })
    }

    /// Whether an element is a byte.
    pub(super) fn is_bytes(&self) -> bool {
        matches!(self.leaves[..], [Leaf { scalar: ScalarTy::I8 | ScalarTy::U8, .. }])
    }
}

fn collect(types: &Types, ty: Ty, offset: u64, leaves: &mut Vec<Leaf>) -> Result<(), String> {
    let mut row = |elem: ScalarTy, first: u64, count: u8| {
        let offset = |n: u8| (first + u64::from(n) * u64::from(elem.size())) as usize;
        leaves.extend((0..count).map(|n| Leaf { offset: offset(n), scalar: elem }));
    };
    match types.kind(ty).clone() {
        TyKind::Scalar(scalar) => row(scalar, offset, 1),
        TyKind::Enum(id) => row(types.enumeration(id).underlying, offset, 1),
        TyKind::Vector { elem, len, .. } => row(elem, offset, len),
        TyKind::Matrix { elem, cols, rows } => {
            let stride = types.column_stride(elem, rows);
            (0..cols).for_each(|column| row(elem, offset + u64::from(column) * stride, rows));
        }
        // As `device void*`: bytes.
        TyKind::Void => row(ScalarTy::U8, offset, 1),
        TyKind::Array(elem, count) => {
            let stride = types.layout(elem).size;
            (0..count).try_for_each(|n| collect(types, elem, offset + n * stride, leaves))?;
        }
        TyKind::Record(id) => {
            let fields = &types.record(id).fields;
            fields.iter().try_for_each(|field| collect(types, field.ty.ty, offset + field.offset, leaves))?;
        }
        TyKind::Pointer(_) | TyKind::Nullptr => return Err("pointer in memory".to_owned()),
        TyKind::Error | TyKind::Reference { .. } | TyKind::Function { .. } => {
            return Err("no plain data".to_owned());
        }
    }
    Ok(())
}
