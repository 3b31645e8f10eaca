//! How many elements an elementwise operation works on.

use anymetal_ir::Scalar;

use crate::llvm_text::{Opd, lanes_type, scalar_type};

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
    /// The LLVM type of one `element` or of 32.
    pub(crate) fn of(self, element: &str) -> String {
        match self {
            Self::One => element.to_owned(),
            Self::All => lanes_type(element),
            Self::Few(n) => format!("<{n} x {element}>"),
        }
    }

    /// The LLVM type of a scalar at this width.
    pub(crate) fn ty(self, scalar: Scalar) -> String {
        self.of(scalar_type(scalar))
    }

    /// A constant in every lane.
    pub(crate) fn constant(self, element: &str, value: &Opd) -> Opd {
        debug_assert!(value.fits(element), "{value} is not a constant of type {element}");
        match self {
            Self::One => value.clone(),
            _ if *value == Opd::Int(0) || value.is_text("false") => Opd::text("zeroinitializer"),
            _ => Opd::text(format!("splat ({element} {value})")),
        }
    }

    /// How many.
    pub(crate) fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::All => crate::llvm_text::LANES,
            Self::Few(n) => n,
        }
    }

    /// An integer constant in every lane.
    pub(crate) fn int(self, element: &str, value: i64) -> Opd {
        self.constant(element, &Opd::Int(crate::llvm_text::wrap_int(element, value)))
    }
}
