//! Reductions over any axes; along one axis also positions of extremes and running sums.
//!
//! Owns [`Reduction`] and the launches of `kernels/reduce.metal`. Invariant: floating-point sums
//! are kept in `f32`, sums of other types in `i64`, which wraps. Reduced axes whose elements are
//! neighbours have a threadgroup for each row, or several for long ones; others have a thread for
//! each result.

mod columns;
mod lines;

use anymetal::argument::Plain;

use crate::context::Ops;
use crate::counted::Path;
use crate::dtype::DType;
use crate::elementwise::UnaryOp;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::launch::{LANES, MAX_GROUPS};
use crate::layout::{Layout, Operand};
use crate::shape::axes;
use crate::tensor::Tensor;

/// Rows shorter than this have one thread.
const MIN_ROW: u32 = 64;

/// Elements that a threadgroup takes where rows are few.
const CHUNK: u32 = 32768;

/// Rows from which on there is a threadgroup for each, however long they are.
const MANY_ROWS: u32 = 64;

/// A reduction: an associative function and its neutral element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The sum; 0 of no elements.
    Sum,
    /// The sum over the count, of floating-point results; NaN of no elements.
    Mean,
    /// The product; 1 of no elements.
    Prod,
    /// The least element, NaN if one is; no elements are an error.
    Min,
    /// The greatest element, NaN if one is; no elements are an error.
    Max,
    /// Whether one is not zero.
    Any,
    /// Whether none is zero.
    All,
}

impl Reduction {
    /// All of them.
    pub const ALL: [Reduction; 7] = [
        Reduction::Sum,
        Reduction::Mean,
        Reduction::Prod,
        Reduction::Min,
        Reduction::Max,
        Reduction::Any,
        Reduction::All,
    ];

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Mean => "mean",
            Reduction::Prod => "prod",
            Reduction::Min => "min",
            Reduction::Max => "max",
            Reduction::Any => "any",
            Reduction::All => "all",
        }
    }

    /// The result's type.
    fn out(self, dtype: DType) -> DType {
        match self {
            Reduction::Sum | Reduction::Prod => dtype.of_sums(),
            Reduction::Mean => dtype.to_float(),
            Reduction::Min | Reduction::Max => dtype,
            Reduction::Any | Reduction::All => DType::Bool,
        }
    }

    /// The accumulator's type, as one of tensors.
    fn accumulator(self, dtype: DType) -> DType {
        match self {
            Reduction::Any | Reduction::All => DType::U32,
            Reduction::Mean => DType::F32,
            Reduction::Sum | Reduction::Prod | Reduction::Min | Reduction::Max if dtype.is_float() => {
                DType::F32
            }
            Reduction::Sum | Reduction::Prod => DType::I64,
            Reduction::Min | Reduction::Max => dtype,
        }
    }

    fn combine(self) -> &'static str {
        match self {
            Reduction::Sum | Reduction::Mean => "combine_sum",
            Reduction::Prod => "combine_product",
            Reduction::Min => "combine_min",
            Reduction::Max => "combine_max",
            Reduction::Any => "combine_or",
            Reduction::All => "combine_and",
        }
    }

    fn neutral(self, accumulator: DType) -> &'static str {
        match (self, accumulator) {
            (Reduction::Sum | Reduction::Mean | Reduction::Any, _) => "A(0)",
            (Reduction::Prod | Reduction::All, _) => "A(1)",
            (Reduction::Min, DType::F32) => "INFINITY",
            (Reduction::Max, DType::F32) => "-INFINITY",
            (Reduction::Min, DType::I8) => "A(127)",
            (Reduction::Max, DType::I8) => "A(-128)",
            (Reduction::Min, DType::I32) => "A(2147483647)",
            (Reduction::Max, DType::I32) => "A(-2147483647 - 1)",
            (Reduction::Min, DType::I64) => "A(9223372036854775807L)",
            (Reduction::Max, DType::I64) => "A(-9223372036854775807L - 1L)",
            (Reduction::Min, DType::Bool) => "A(1)",
            (Reduction::Min, _) => "A(~A(0))",
            (Reduction::Max, _) => "A(0)",
        }
    }

    /// Types and functions of the kernels, from the type that is read to the one that is written.
    fn defines(self, from: DType, accumulator: DType, to: DType) -> Defines {
        let wrapping = accumulator.msl_wrapping();
        let defines = Defines::default().with("T0", to.msl()).with("T1", from.msl()).with("W", wrapping);
        let defines = defines.with("A", accumulator.msl_compute()).with("COMBINE", self.combine());
        let mut defines = defines.with("INIT", self.neutral(accumulator));
        if accumulator.size() == 4 {
            defines = defines.with("SHUFFLE", 1);
        }
        match self {
            Reduction::Any | Reduction::All => defines.with("TRUTH", 1),
            _ => defines,
        }
    }
}

/// A tensor with its dimensions told apart: those that stay and those that go.
struct Divided {
    kept: Vec<usize>,
    kept_strides: Vec<isize>,
    gone: Vec<usize>,
    gone_strides: Vec<isize>,
    /// The result's shape.
    shape: Vec<usize>,
}

impl Divided {
    fn new(x: &Tensor, gone: &[usize], keep: bool) -> Divided {
        let mut divided = Divided {
            kept: Vec::new(),
            kept_strides: Vec::new(),
            gone: Vec::new(),
            gone_strides: Vec::new(),
            shape: Vec::new(),
        };
        for (dimension, (&extent, &stride)) in x.shape().iter().zip(x.strides()).enumerate() {
            if gone.contains(&dimension) {
                divided.gone.push(extent);
                divided.gone_strides.push(stride);
                divided.shape.extend(keep.then_some(1));
            } else {
                divided.kept.push(extent);
                divided.kept_strides.push(stride);
                divided.shape.push(extent);
            }
        }
        divided
    }

    fn kept_operand(&self, offset: usize) -> Operand<'_> {
        Operand { strides: &self.kept_strides, offset }
    }

    /// The dimensions that go, from the start of each line.
    fn gone_layout(&self) -> Layout {
        Layout::with_inner(&self.gone, &[Operand { strides: &self.gone_strides, offset: 0 }])
    }
}

impl Ops {
    /// A reduction over those axes, over all if none is named; with `keep` they stay with one
    /// element.
    pub fn reduce(
        &self,
        reduction: Reduction,
        x: &Tensor,
        over: &[isize],
        keep: bool,
    ) -> Result<Tensor, OpError> {
        let name = reduction.name();
        let gone = axes(name, x.shape(), over)?;
        let divided = Divided::new(x, &gone, keep);
        let count: usize = divided.gone.iter().product();
        if count == 0 && matches!(reduction, Reduction::Min | Reduction::Max) {
            return Err(OpError::shape(name, &[x.shape()], "no elements have no extreme"));
        }
        let out = self.empty(&divided.shape, reduction.out(x.dtype()))?;
        if out.is_empty() {
            return Ok(out);
        }
        self.reduce_into(reduction, x, &gone, &out, 1.0 / count as f32)?;
        self.count(name, Path::Own, x.len() as u64, x.byte_len() + out.byte_len());
        Ok(out)
    }

    /// Into a tensor of as many elements as stay. Means are sums times the scale.
    fn reduce_into(
        &self,
        reduction: Reduction,
        x: &Tensor,
        gone: &[usize],
        out: &Tensor,
        scale: f32,
    ) -> Result<(), OpError> {
        let divided = Divided::new(x, gone, true);
        let lines = divided.gone_layout();
        let is_row = lines.inner_stride(0) == 1 || lines.inner == 1;
        if !is_row || lines.inner < MIN_ROW {
            return self.reduce_columns(reduction, x, &divided, lines, out, scale);
        }
        if lines.outer == 1 {
            return self.reduce_rows(reduction, x, &divided, lines.inner, out, scale);
        }
        // Rows of neighbours first; then there is one element left of each.
        let inner = trailing_row(x, gone);
        let rows = Divided::new(x, &inner, true);
        let partial = self.empty(&rows.shape, reduction.accumulator(x.dtype()))?;
        self.reduce_rows(reduction, x, &rows, lines.inner, &partial, 1.0)?;
        self.reduce_into(reduction, &partial, gone, out, scale)
    }

    /// Rows of neighbours; few long ones in parts, whose results are reduced again.
    fn reduce_rows(
        &self,
        reduction: Reduction,
        x: &Tensor,
        divided: &Divided,
        count: u32,
        out: &Tensor,
        scale: f32,
    ) -> Result<(), OpError> {
        let rows = Layout::rows(
            &divided.kept,
            &[divided.kept_operand(x.offset()), divided.kept_operand(x.offset())],
        );
        let parts = if rows.outer < MANY_ROWS { count.div_ceil(CHUNK).min(MAX_GROUPS as u32) } else { 1 };
        let accumulator = reduction.accumulator(x.dtype());
        if parts == 1 {
            let defines = reduction.defines(x.dtype(), accumulator, out.dtype());
            return self.launch_rows(reduction, defines, x, rows, [count, 1], out, scale);
        }
        let partial = self.empty(&[rows.outer as usize, parts as usize], accumulator)?;
        let defines = reduction.defines(x.dtype(), accumulator, accumulator);
        self.launch_rows(reduction, defines, x, rows, [count, parts], &partial, 1.0)?;
        let strides = [parts as isize];
        let operand = Operand { strides: &strides, offset: 0 };
        let rows = Layout::rows(&[rows.outer as usize], &[operand, operand]);
        let defines = reduction.defines(accumulator, accumulator, out.dtype());
        self.launch_rows(reduction, defines, &partial, rows, [parts, 1], out, scale)
    }

    /// Rows of the tensor's neighbours and how many these are, both in vectors where kernels take them, and
    /// what the kernel is then instantiated with.
    fn rows_in_vectors(&self, rows: Layout, count: u32, x: &Tensor) -> (Layout, u32, Defines) {
        let takes = self.takes_vectors(&[x]) && count.is_multiple_of(LANES);
        match takes.then(|| rows.rows_in_vectors(LANES, 2)).flatten() {
            Some(vectors) => (vectors, count / LANES, packs()),
            None => (rows, count, Defines::default()),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one launch, each argument of it")]
    fn launch_rows(
        &self,
        reduction: Reduction,
        defines: Defines,
        x: &Tensor,
        rows: Layout,
        [count, parts]: [u32; 2],
        out: &Tensor,
        scale: f32,
    ) -> Result<(), OpError> {
        let group = self.row_threads();
        let (rows, count, packs) = self.rows_in_vectors(rows, count, x);
        let chunk = count.div_ceil(parts);
        let mut defines = defines.and(rows.defines()).and(packs).with("GROUP", group);
        if reduction == Reduction::Mean {
            defines = defines.with("SCALED", 1);
        }
        let pipeline = self.pipeline(Source::Reduce, "reduce_rows", defines)?;
        let launch = self.call(&pipeline).arg(out.buffer()).arg(x.buffer());
        let launch = launch.arg(Plain(rows)).arg(count).arg(chunk).arg(scale);
        self.submit(launch.groups((rows.outer, parts)).group_size(group))
    }

    /// The sum over those axes; over all if none is named.
    pub fn sum(&self, x: &Tensor, over: &[isize], keep: bool) -> Result<Tensor, OpError> {
        self.reduce(Reduction::Sum, x, over, keep)
    }

    /// The mean over those axes.
    pub fn mean(&self, x: &Tensor, over: &[isize], keep: bool) -> Result<Tensor, OpError> {
        self.reduce(Reduction::Mean, x, over, keep)
    }

    /// The product over those axes.
    pub fn prod(&self, x: &Tensor, over: &[isize], keep: bool) -> Result<Tensor, OpError> {
        self.reduce(Reduction::Prod, x, over, keep)
    }

    /// The least element over those axes.
    pub fn min(&self, x: &Tensor, over: &[isize], keep: bool) -> Result<Tensor, OpError> {
        self.reduce(Reduction::Min, x, over, keep)
    }

    /// The greatest element over those axes.
    pub fn max(&self, x: &Tensor, over: &[isize], keep: bool) -> Result<Tensor, OpError> {
        self.reduce(Reduction::Max, x, over, keep)
    }

    /// Whether one is not zero, over those axes.
    pub fn any(&self, x: &Tensor, over: &[isize], keep: bool) -> Result<Tensor, OpError> {
        self.reduce(Reduction::Any, x, over, keep)
    }

    /// Whether none is zero, over those axes.
    pub fn all(&self, x: &Tensor, over: &[isize], keep: bool) -> Result<Tensor, OpError> {
        self.reduce(Reduction::All, x, over, keep)
    }

    /// The variance over those axes: the mean of the squared differences from the mean, over the
    /// count less `correction` (1 for samples). In `f32`, rounded once.
    pub fn var(&self, x: &Tensor, over: &[isize], correction: usize, keep: bool) -> Result<Tensor, OpError> {
        let gone = axes("var", x.shape(), over)?;
        let count: usize = gone.iter().map(|&dimension| x.shape()[dimension]).product();
        let wide = self.cast(x, DType::F32)?;
        let difference = self.sub(&wide, &self.mean(&wide, over, true)?)?;
        let sum = self.sum(&self.square(&difference)?, over, keep)?;
        let factor = 1.0 / count.saturating_sub(correction) as f32;
        self.cast(&self.affine(&sum, factor, 0.0)?, x.dtype().to_float())
    }

    /// The square root of [`Ops::var`].
    pub fn std(&self, x: &Tensor, over: &[isize], correction: usize, keep: bool) -> Result<Tensor, OpError> {
        self.sqrt(&self.var(x, over, correction, keep)?)
    }

    /// The logarithm of the sum of exponentials over those axes, without overflow between.
    pub fn logsumexp(&self, x: &Tensor, over: &[isize], keep: bool) -> Result<Tensor, OpError> {
        let gone = axes("logsumexp", x.shape(), over)?;
        let wide = self.cast(x, DType::F32)?;
        let greatest = self.max(&wide, over, true)?;
        // Infinite ones would give the difference of infinities.
        let zero = self.scalar(0.0f32)?;
        let shift = self.where_(&self.isfinite(&greatest)?, &greatest, &zero)?;
        let sum = self.sum(&self.unary(UnaryOp::Exp, &self.sub(&wide, &shift)?)?, over, true)?;
        let result = self.cast(&self.add(&self.log(&sum)?, &shift)?, x.dtype().to_float())?;
        if keep { Ok(result) } else { result.view(&Divided::new(x, &gone, false).shape) }
    }
}

/// Those of the axes, the innermost first, whose elements are one row of neighbours.
fn trailing_row(x: &Tensor, axes: &[usize]) -> Vec<usize> {
    let mut row = Vec::new();
    let mut next = 1;
    for axis in (0..x.rank()).rev().filter(|axis| axes.contains(axis) && x.shape()[*axis] != 1) {
        if x.strides()[axis] != next {
            break;
        }
        next *= x.shape()[axis] as isize;
        row.push(axis);
    }
    row
}

/// What kernels are instantiated with that load vectors.
fn packs() -> Defines {
    Defines::default().with("LANES", LANES).with("PACK", format!("vec<T1, {LANES}>"))
}
