//! Launches over layouts: which grid, which threadgroups, which macros for strides.
//!
//! Owns [`Walk`], [`HeldRows`] and [`Shaping`]. Invariant: a walk visits each position once; the macros agree
//! with its grid.

use anymetal::argument::Plain;

use crate::context::Ops;
use crate::kernels::Defines;
use crate::layout::{Layout, Operand};
use crate::tensor::Tensor;

/// Inner dimensions below this are walked together with the outer ones.
const MIN_INNER: u32 = 32;

/// Neighbours that a thread of a kernel for GPUs takes at once.
pub(crate) const LANES: u32 = 4;

/// Elements of one dimension from which on vectors and a second launch for the rest pay.
const MIN_SPLIT: u32 = 1 << 18;

/// Threadgroups along y and z that all devices have; CUDA has no more.
pub(crate) const MAX_GROUPS: usize = 65_535;

/// Threads of a walk's threadgroups.
const GROUP: u32 = 256;

/// Vectors of a row that a thread keeps in registers.
const MAX_HELD: u32 = 8;

/// Threads of a threadgroup that keeps a row in registers.
const MAX_HELD_GROUP: u32 = 1024;

/// What kernels are written for. Results are the same but for the order of sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shaping {
    /// Processors: few threads, of which each SIMD-group is a loop in vector code, and one after the other
    /// reads what lies one after the other.
    Processor,
    /// GPUs: many threads at once, of which each loads vectors and keeps its part of a row in registers.
    Gpu,
}

/// How a grid visits all positions of a layout.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Walk {
    layout: Layout,
    flat: bool,
    lanes: u32,
}

impl Walk {
    /// The walk over a shape; each operand's strides are macros `S0` to `S3` of the kernel.
    pub(crate) fn over(shape: &[usize], operands: &[Operand<'_>]) -> Walk {
        let layout = Layout::with_inner(shape, operands);
        let is_short = layout.inner < MIN_INNER && layout.outer > 1;
        let flat = is_short || layout.outer.div_ceil(GROUP) as usize > MAX_GROUPS;
        Walk { layout: if flat { Layout::rows(shape, operands) } else { layout }, flat, lanes: 1 }
    }

    /// The same walk by threads that take vectors of neighbours, and a walk over what is left over, where
    /// that pays and the operands allow it.
    pub(crate) fn in_vectors(self, operands: usize) -> Option<(Walk, Option<Walk>)> {
        let Layout { inner, outer, .. } = self.layout;
        if self.flat || inner < MIN_INNER * LANES {
            return None;
        }
        let rest = inner % LANES;
        if rest > 0 && (outer > 1 || inner < MIN_SPLIT) {
            return None;
        }
        let vectors = self.layout.part(0, inner - rest).in_vectors(LANES, operands)?;
        let rest = Walk { layout: self.layout.part(inner - rest, rest), ..self };
        let is_left = rest.layout.inner > 0;
        Some((Walk { layout: vectors, flat: false, lanes: LANES }, is_left.then_some(rest)))
    }

    /// What the kernel is instantiated with.
    pub(crate) fn defines(&self, operands: usize) -> Defines {
        let mut defines = self.layout.defines();
        if self.flat {
            defines = defines.with("FLAT", 1);
        }
        if self.lanes > 1 {
            defines = defines.with("LANES", self.lanes);
        }
        let packs = [("P0", "E0"), ("P1", "E1"), ("P2", "E2"), ("P3", "E3")];
        let stored = ["T0", "T1", "T2", "T3"];
        for (operand, name) in ["S0", "S1", "S2", "S3"].into_iter().enumerate().take(operands) {
            let stride = self.layout.inner_stride(operand);
            if self.lanes > 1 && stride == 1 {
                let ((pack, element), stored) = (packs[operand], stored[operand]);
                defines = defines.with(pack, format!("vec<{stored}, {}>", self.lanes)).with(element, "[k]");
            }
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
        let mut rows = if x >= GROUP || y == 1 { 1 } else { 8 };
        while y.div_ceil(rows) as usize > MAX_GROUPS {
            rows *= 2;
        }
        (GROUP / rows, rows)
    }
}

/// Rows that threadgroups keep in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldRows {
    /// The rows of each operand, in vectors.
    pub(crate) layout: Layout,
    /// Vectors of a row.
    pub(crate) count: u32,
    /// Threads of a threadgroup.
    pub(crate) group: u32,
    /// Vectors of a thread.
    held: u32,
}

impl HeldRows {
    /// Rows of that many neighbours, if registers hold them and operands have vectors.
    fn new(rows: Layout, operands: usize, elements: usize) -> Option<HeldRows> {
        let layout = rows.rows_in_vectors(LANES, operands)?;
        if !elements.is_multiple_of(LANES as usize) {
            return None;
        }
        let count = u32::try_from(elements).ok()? / LANES;
        let group = match count {
            ..=2048 => count.div_ceil(MAX_HELD / 2).next_power_of_two().clamp(32, 256),
            _ => count.div_ceil(MAX_HELD).next_power_of_two(),
        };
        let held = count.div_ceil(group);
        (group <= MAX_HELD_GROUP && held <= MAX_HELD).then_some(HeldRows { layout, count, group, held })
    }

    /// What the kernel is instantiated with.
    pub(crate) fn defines(&self) -> Defines {
        self.layout.defines().with("GROUP", self.group).with("HELD", self.held)
    }
}

impl Ops {
    /// Threads of a threadgroup that walks over a row: few on processors, where each SIMD-group
    /// costs a loop.
    pub(crate) fn row_threads(&self) -> u32 {
        match self.shaping() {
            Shaping::Processor => 32,
            Shaping::Gpu => 256,
        }
    }

    /// Whether kernels that take vectors may be chosen for those tensors: on GPUs, where their memory begins
    /// at a multiple of the vectors' size. A replay of a recording may bind other memory.
    pub(crate) fn takes_vectors(&self, tensors: &[&Tensor]) -> bool {
        let is_aligned = |tensor: &&Tensor| {
            let vector = u64::from(LANES) * tensor.dtype().size() as u64;
            tensor.buffer().region().offset().is_multiple_of(vector)
        };
        self.shaping() == Shaping::Gpu && self.recorder().is_none() && tensors.iter().all(is_aligned)
    }

    /// How threadgroups keep rows of those operands in registers, where kernels are written for it. Each of
    /// the tensors is read or written as vectors.
    pub(crate) fn held_rows(
        &self,
        rows: Layout,
        operands: usize,
        elements: usize,
        tensors: &[&Tensor],
    ) -> Option<HeldRows> {
        if self.takes_vectors(tensors) { HeldRows::new(rows, operands, elements) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_held_by_as_few_threads_as_have_room() {
        let of = |elements: usize| {
            let stride = [elements as isize];
            let operand = Operand { strides: &stride, offset: 0 };
            let held = HeldRows::new(Layout::rows(&[3], &[operand]), 1, elements)?;
            assert!(held.group * held.held >= held.count, "{elements} elements have room");
            Some((held.group, held.held))
        };
        assert_eq!(of(64), Some((32, 1)));
        assert_eq!(of(1024), Some((64, 4)));
        assert_eq!(of(4096), Some((256, 4)));
        assert_eq!(of(8192), Some((256, 8)));
        assert_eq!(of(32768), Some((1024, 8)));
        assert_eq!(of(32772), None, "more than registers hold");
        assert_eq!(of(1022), None, "no vectors");
    }

    #[test]
    fn no_grid_has_more_threadgroups_than_devices() {
        for (rows, inner) in [(1, 1 << 20), (100, 33), (100_000, 512), (1 << 20, 64), (1 << 25, 40)] {
            // A row for all keeps the dimensions apart.
            let (strides, row) = ([inner as isize, 1], [0, 1]);
            let operand = |strides| Operand { strides, offset: 0 };
            let walk = Walk::over(&[rows, inner], &[operand(&strides), operand(&row)]);
            let (threads, group) = (walk.threads(), walk.group());
            assert_eq!(threads.0 as usize * threads.1 as usize, rows * inner);
            assert_eq!(group.0 * group.1, GROUP);
            assert!(threads.1.div_ceil(group.1) as usize <= MAX_GROUPS, "{rows} by {inner}: {group:?}");
        }
    }

    #[test]
    fn what_is_left_of_vectors_has_a_walk_of_its_own() {
        let (strides, count) = ([1], MIN_SPLIT as usize + 3);
        let operand = Operand { strides: &strides, offset: 4 };
        let (most, rest) = Walk::over(&[count], &[operand; 2]).in_vectors(2).unwrap();
        assert_eq!(most.threads(), (MIN_SPLIT / LANES, 1));
        assert_eq!(rest.unwrap().threads(), (3, 1));
        assert!(Walk::over(&[1027], &[operand; 2]).in_vectors(2).is_none(), "too few to pay");
        assert!(Walk::over(&[1028], &[operand; 2]).in_vectors(2).unwrap().1.is_none());
    }
}
