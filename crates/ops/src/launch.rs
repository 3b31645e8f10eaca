//! Launches over layouts: which grid, which threadgroups, which macros for strides.
//!
//! Owns [`Walk`]. Invariant: a walk visits each position once; the macros agree with its grid.

use anymetal::Plain;

use crate::kernels::Defines;
use crate::layout::{Layout, Operand};

/// Inner dimensions below this are walked together with the outer ones.
const MIN_INNER: u32 = 32;

/// How a grid visits all positions of a layout.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Walk {
    layout: Layout,
    flat: bool,
}

impl Walk {
    /// The walk over a shape; each operand's strides are macros `S0` to `S3` of the kernel.
    pub(crate) fn over(shape: &[usize], operands: &[Operand<'_>]) -> Walk {
        let layout = Layout::with_inner(shape, operands);
        let flat = layout.inner < MIN_INNER && layout.outer > 1;
        Walk { layout: if flat { Layout::rows(shape, operands) } else { layout }, flat }
    }

    /// What the kernel is instantiated with.
    pub(crate) fn defines(&self, operands: usize) -> Defines {
        let mut defines = Defines::default();
        if self.flat {
            defines = defines.with("FLAT", 1);
        }
        for (operand, name) in ["S0", "S1", "S2", "S3"].into_iter().enumerate().take(operands) {
            let stride = self.layout.inner_stride(operand);
            let known = self.flat || matches!(stride, 0 | 1);
            let text = if known { stride.to_string() } else { format!("l.inner_strides[{operand}]") };
            defines = defines.with(name, text);
        }
        defines
    }

    /// The layout as an argument.
    pub(crate) fn argument(&self) -> Plain<Layout> {
        Plain(self.layout)
    }

    /// Threads along x and y.
    pub(crate) fn threads(&self) -> (u32, u32) {
        if self.flat { (self.layout.outer, 1) } else { (self.layout.inner, self.layout.outer) }
    }

    /// Threads per threadgroup along x and y.
    pub(crate) fn group(&self) -> (u32, u32) {
        let (x, y) = self.threads();
        if x >= 256 || y == 1 { (256, 1) } else { (32, 8) }
    }
}
