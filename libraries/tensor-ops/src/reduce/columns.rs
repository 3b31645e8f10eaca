//! Reductions whose elements are not neighbours: a thread for each result, or for a part of its line.
//!
//! Invariant: parts of a line are reduced in their order; on GPUs a line has as many as fill the device.

use anymetal::argument::Plain;

use super::{Divided, Reduction, packs};
use crate::context::Ops;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::launch::{LANES, Shaping, Walk};
use crate::layout::{Layout, Operand};
use crate::shape::contiguous_strides;
use crate::tensor::Tensor;

/// Parts of a line that the threads of a threadgroup take.
const PARTS: u32 = 8;

/// Columns of a threadgroup.
const COLUMNS: u32 = 32;

/// Elements of a line that a thread takes at least if there are several threadgroups for it.
const MIN_PART: u32 = 16;

/// Elements of a line from which on several threads pay.
const MIN_LINE: u32 = 2 * PARTS;

/// Threads that fill a GPU; more parts than that take only time.
const MAX_THREADS: u32 = 1 << 18;

impl Ops {
    /// The lines that a layout says, one for each position that stays.
    pub(super) fn reduce_columns(
        &self,
        reduction: Reduction,
        x: &Tensor,
        divided: &Divided,
        lines: Layout,
        out: &Tensor,
        scale: f32,
    ) -> Result<(), OpError> {
        if self.shaping() == Shaping::Gpu && lines.outer.saturating_mul(lines.inner) >= MIN_LINE {
            return self.reduce_columns_in_parts(reduction, x, divided, out, scale);
        }
        let strides = contiguous_strides(&divided.kept);
        let to = Operand { strides: &strides, offset: 0 };
        let walk = Walk::over(&divided.kept, &[to, divided.kept_operand(x.offset())]);
        let accumulator = reduction.accumulator(x.dtype());
        let defines = walk.defines(2).and(reduction.defines(x.dtype(), accumulator, out.dtype()));
        let defines = defines.with("LINE_RANK", lines.rank()).and(scaled(reduction));
        let pipeline = self.pipeline(Source::Reduce, "reduce_columns", defines)?;
        let launch = self.call(&pipeline).arg(out.buffer()).arg(x.buffer());
        let launch = launch.arg(walk.argument()).arg(Plain(lines)).arg(scale);
        self.submit(launch.threads(walk.threads()).group_size(walk.group()))
    }

    /// Parts of lines by themselves; then the parts of each line, if there are several.
    fn reduce_columns_in_parts(
        &self,
        reduction: Reduction,
        x: &Tensor,
        divided: &Divided,
        out: &Tensor,
        scale: f32,
    ) -> Result<(), OpError> {
        let kept = divided.kept_operand(x.offset());
        let operand = Operand { strides: &divided.gone_strides, offset: 0 };
        let lines = Layout::rows(&divided.gone, &[operand]);
        let (columns, lines, vectors) = match self.columns_in_vectors(x, divided) {
            Some((columns, lines)) => (columns, lines, packs()),
            None => (Layout::rows(&divided.kept, &[kept, kept]), lines, Defines::default()),
        };
        let groups = columns.outer.div_ceil(COLUMNS);
        let fill = MAX_THREADS.div_ceil(groups.saturating_mul(COLUMNS * PARTS));
        let parts = lines.outer.div_ceil(PARTS * MIN_PART).min(fill);
        let accumulator = reduction.accumulator(x.dtype());
        let chunk = lines.outer.div_ceil(parts);
        let launch = |to: &Tensor, scale: f32, scaled: Defines| {
            let defines = reduction.defines(x.dtype(), accumulator, to.dtype()).and(columns.defines());
            let defines = defines.with("PARTS", PARTS).with("LINE_RANK", lines.rank());
            let defines = defines.with("S0", 1).and(vectors.clone()).and(scaled);
            let pipeline = self.pipeline(Source::Reduce, "reduce_columns_parts", defines)?;
            let launch = self.call(&pipeline).arg(to.buffer()).arg(x.buffer());
            let launch = launch.arg(Plain(columns)).arg(Plain(lines)).arg(scale).arg(chunk);
            self.submit(launch.groups((groups, parts)).group_size((COLUMNS, PARTS)))
        };
        if parts == 1 {
            return launch(out, scale, scaled(reduction));
        }
        let partial = self.empty(&[parts as usize, divided.kept.iter().product()], accumulator)?;
        launch(&partial, 1.0, Defines::default())?;
        let divided = Divided::new(&partial, &[0], false);
        self.reduce_columns(reduction, &partial, &divided, divided.gone_layout(), out, scale)
    }

    /// Columns and lines with vectors of neighbouring columns for elements, where kernels take them.
    fn columns_in_vectors(&self, x: &Tensor, divided: &Divided) -> Option<(Layout, Layout)> {
        if !self.takes_vectors(&[x]) {
            return None;
        }
        let (kept, lanes) = (divided.kept_operand(x.offset()), LANES as usize);
        let (Some(1), Some(last)) = (divided.kept_strides.last(), divided.kept.last()) else { return None };
        let mut shape = divided.kept.clone();
        let extent = shape.last_mut().filter(|_| last.is_multiple_of(lanes))?;
        *extent /= lanes;
        // The innermost dimension's vectors are as far from each other as its elements were, after the
        // division.
        let mut strides = kept.strides.to_vec();
        if let Some(stride) = strides.last_mut() {
            *stride = lanes as isize;
        }
        let columns = Operand { strides: &strides, offset: kept.offset };
        let columns = Layout::rows(&shape, &[columns, columns]).rows_in_vectors(LANES, 2)?;
        let lines = Operand { strides: &divided.gone_strides, offset: 0 };
        let lines = Layout::rows(&divided.gone, &[lines]).rows_in_vectors(LANES, 1)?;
        Some((columns, lines))
    }
}

fn scaled(reduction: Reduction) -> Defines {
    match reduction {
        Reduction::Mean => Defines::default().with("SCALED", 1),
        _ => Defines::default(),
    }
}
