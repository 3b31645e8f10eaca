//! How many elements an elementwise operation works on.

use anymetal_ir::Scalar;

use crate::llvm::{LANES, Opd, Type, scalar_type, wrap_int};

/// One value per SIMD-group, or one per lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Width {
    /// A scalar.
    One,
    /// A vector of 32.
    All,
    /// A vector of `n`.
    Few(usize),
}

impl Width {
    /// The LLVM type of one `element` or of a vector.
    pub(crate) fn of(self, element: Type) -> Type {
        match self {
            Self::One => element,
            Self::All => element.lanes(),
            Self::Few(n) => element.vector(n),
        }
    }

    /// The LLVM type of a scalar at this width.
    pub(crate) fn ty(self, scalar: Scalar) -> Type {
        self.of(scalar_type(scalar))
    }

    /// A constant in every lane.
    pub(crate) fn constant(self, value: &Opd) -> Opd {
        match self {
            Self::One => value.clone(),
            Self::All | Self::Few(_) => value.splat(self.count()),
        }
    }

    /// How many.
    pub(crate) fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::All => LANES,
            Self::Few(n) => n,
        }
    }

    /// An integer constant in every lane.
    pub(crate) fn int(self, element: Type, value: i64) -> Opd {
        self.constant(&Opd::int(element, wrap_int(element, value)))
    }
}
