//! Access by tensors of indices: gather, select, embedding, scatter.
//!
//! Owns the launches of `kernels/index.metal`. Invariant: an index below zero or beyond the axis is
//! never followed; [`OpError::IndexOutOfRange`] comes from the next wait, which [`Tensor::to_vec`]
//! includes. Where an index is repeated, results are those of the order of the elements, on every
//! device.

use crate::context::Ops;
use crate::counted::Path;
use crate::dtype::DType;
use crate::error::OpError;
use crate::kernels::Source;
use crate::launch::Walk;
use crate::layout::Operand;
use crate::shape::axis;
use crate::tensor::Tensor;

/// How [`Ops::scatter_reduce`] joins an element with what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScatterReduction {
    /// The sum; integers wrap.
    Sum,
    /// The product; integers wrap.
    Prod,
    /// The least; NaN if one is.
    Min,
    /// The greatest; NaN if one is.
    Max,
}

impl ScatterReduction {
    /// All of them.
    pub const ALL: [ScatterReduction; 4] =
        [ScatterReduction::Sum, ScatterReduction::Prod, ScatterReduction::Min, ScatterReduction::Max];

    fn function(self) -> &'static str {
        match self {
            ScatterReduction::Sum => "combine_add",
            ScatterReduction::Prod => "combine_mul",
            ScatterReduction::Min => "combine_min",
            ScatterReduction::Max => "combine_max",
        }
    }

    /// The MSL type in which elements are joined.
    fn joined_in(self, dtype: DType) -> &'static str {
        match self {
            ScatterReduction::Sum | ScatterReduction::Prod => dtype.msl_wrapping(),
            ScatterReduction::Min | ScatterReduction::Max => dtype.msl_compute(),
        }
    }
}

/// What a gather reads: for each dimension of the result the strides of indices and source.
struct Gathered<'a> {
    operation: &'static str,
    shape: Vec<usize>,
    indices: &'a Tensor,
    index_strides: Vec<isize>,
    source: &'a Tensor,
    source_strides: Vec<isize>,
    /// The indexed axis of the source.
    axis: usize,
}

impl Ops {
    /// The element of `x` at each index along an axis; the other positions are the index's own.
    /// Extents of the indices elsewhere are at most those of `x`.
    pub fn gather(&self, x: &Tensor, along: isize, indices: &Tensor) -> Result<Tensor, OpError> {
        let at = check_aligned("gather", x, indices, along)?;
        let mut source_strides = x.strides().to_vec();
        source_strides[at] = 0;
        let indices = self.contiguous(indices)?;
        self.gather_by(Gathered {
            operation: "gather",
            shape: indices.shape().to_vec(),
            index_strides: indices.strides().to_vec(),
            indices: &indices,
            source: x,
            source_strides,
            axis: at,
        })
    }

    /// The positions of an axis that the indices name: the axis becomes the dimensions of the
    /// indices.
    pub fn index_select(&self, x: &Tensor, along: isize, indices: &Tensor) -> Result<Tensor, OpError> {
        self.select_by("index_select", x, along, indices)
    }

    /// Rows of a table: [`Ops::index_select`] along the first axis.
    pub fn embedding(&self, table: &Tensor, indices: &Tensor) -> Result<Tensor, OpError> {
        self.select_by("embedding", table, 0, indices)
    }

    fn select_by(
        &self,
        operation: &'static str,
        x: &Tensor,
        along: isize,
        indices: &Tensor,
    ) -> Result<Tensor, OpError> {
        let at = axis(operation, x.shape(), along)?;
        check_indices(operation, indices)?;
        let indices = self.contiguous(indices)?;
        let (before, after) = (&x.shape()[..at], &x.shape()[at + 1..]);
        let zeros = vec![0; indices.rank()];
        let (outer, inner) = (&x.strides()[..at], &x.strides()[at + 1..]);
        self.gather_by(Gathered {
            operation,
            shape: [before, indices.shape(), after].concat(),
            index_strides: [&vec![0; before.len()][..], indices.strides(), &vec![0; after.len()]].concat(),
            indices: &indices,
            source: x,
            source_strides: [outer, &zeros[..], inner].concat(),
            axis: at,
        })
    }

    fn gather_by(&self, gathered: Gathered<'_>) -> Result<Tensor, OpError> {
        let Gathered { operation, shape, indices, index_strides, source, source_strides, axis } = gathered;
        let out = self.empty(&shape, source.dtype())?;
        if out.is_empty() {
            return Ok(out);
        }
        let length = source.shape()[axis];
        let found = self.device().buffer_zeroed::<u32>(4)?;
        let operands = [
            Operand::from(&out),
            Operand { strides: &index_strides, offset: indices.offset() },
            Operand { strides: &source_strides, offset: source.offset() },
        ];
        let walk = Walk::over(&shape, &operands);
        let defines = walk.defines(3).with("GATHER", 1).with("T0", bits(source.dtype()));
        let defines = defines.with("T1", indices.dtype().msl());
        let pipeline = self.pipeline(Source::Index, "gather", defines)?;
        let launch = self.call(&pipeline).arg(out.buffer()).arg(indices.buffer());
        let launch = launch.arg(source.buffer()).arg(&found).arg(walk.argument());
        let launch = launch.arg(length as i32).arg(source.strides()[axis] as i32);
        self.submit(launch.threads(walk.threads()).group_size(walk.group()))?;
        self.check_indices(operation, length, found);
        self.count(operation, Path::Own, 0, 2 * out.byte_len() + indices.byte_len());
        Ok(out)
    }

    /// `x` with the elements of `source` put where the indices along an axis say; of several for
    /// one place the last one counts.
    pub fn scatter(
        &self,
        x: &Tensor,
        along: isize,
        indices: &Tensor,
        source: &Tensor,
    ) -> Result<Tensor, OpError> {
        check_aligned("scatter", x, indices, along)?;
        self.scatter_by("scatter", x, along, indices, source, None)
    }

    /// As [`Ops::scatter`], but the elements are added.
    pub fn scatter_add(
        &self,
        x: &Tensor,
        along: isize,
        indices: &Tensor,
        source: &Tensor,
    ) -> Result<Tensor, OpError> {
        check_aligned("scatter_add", x, indices, along)?;
        self.scatter_by("scatter_add", x, along, indices, source, Some(ScatterReduction::Sum))
    }

    /// As [`Ops::scatter`], but each element is joined with what is there, in the order of the elements.
    pub fn scatter_reduce(
        &self,
        reduction: ScatterReduction,
        x: &Tensor,
        along: isize,
        indices: &Tensor,
        source: &Tensor,
    ) -> Result<Tensor, OpError> {
        check_aligned("scatter_reduce", x, indices, along)?;
        self.scatter_by("scatter_reduce", x, along, indices, source, Some(reduction))
    }

    /// `x` with each position of `source` along an axis added where the index of that position
    /// says.
    pub fn index_add(
        &self,
        x: &Tensor,
        along: isize,
        indices: &Tensor,
        source: &Tensor,
    ) -> Result<Tensor, OpError> {
        let at = axis("index_add", x.shape(), along)?;
        check_indices("index_add", indices)?;
        let mut expected = x.shape().to_vec();
        expected[at] = indices.len();
        if indices.rank() != 1 || source.shape() != expected {
            let rule = "the indices have one dimension, and the source as many positions along the axis";
            let shapes = [x.shape(), indices.shape(), source.shape()];
            return Err(OpError::shape("index_add", &shapes, rule));
        }
        let mut aligned = vec![1; x.rank()];
        aligned[at] = indices.len();
        let indices = self.reshape(indices, &aligned)?.broadcast_to(&expected)?;
        self.scatter_by("index_add", x, along, &indices, source, Some(ScatterReduction::Sum))
    }

    /// The gradient of the table of [`Ops::embedding`] with that many rows.
    pub fn embedding_backward(
        &self,
        rows: usize,
        indices: &Tensor,
        gradient: &Tensor,
    ) -> Result<Tensor, OpError> {
        let rank = indices.rank();
        if !gradient.shape().starts_with(indices.shape()) || gradient.rank() <= rank {
            let rule = "the gradient has the indices' dimensions and those of a row";
            return Err(OpError::shape("embedding_backward", &[indices.shape(), gradient.shape()], rule));
        }
        let row = &gradient.shape()[rank..];
        let flat = self.reshape(gradient, &[&[indices.len()], row].concat())?;
        let table = self.zeros(&[&[rows], row].concat(), gradient.dtype())?;
        self.index_add(&table, 0, &self.reshape(indices, &[indices.len()])?, &flat)
    }

    fn scatter_by(
        &self,
        operation: &'static str,
        x: &Tensor,
        along: isize,
        indices: &Tensor,
        source: &Tensor,
        reduction: Option<ScatterReduction>,
    ) -> Result<Tensor, OpError> {
        let at = axis(operation, x.shape(), along)?;
        if source.shape() != indices.shape() {
            let rule = "source and indices must have the same shape";
            return Err(OpError::shape(operation, &[x.shape(), indices.shape(), source.shape()], rule));
        }
        if source.dtype() != x.dtype() || (reduction.is_some() && x.dtype() == DType::Bool) {
            let rule = "source and target must have the same type, to be joined one of numbers";
            return Err(OpError::dtype(operation, &[x.dtype(), indices.dtype(), source.dtype()], rule));
        }
        let out = self.copy(x)?;
        if source.is_empty() {
            return Ok(out);
        }
        let line = |tensor: &Tensor| {
            let (mut shape, mut strides) = (tensor.shape().to_vec(), tensor.strides().to_vec());
            shape.remove(at);
            (shape, strides.remove(at) as i32, strides)
        };
        let ((_, to, out_strides), (shape, named, index_strides)) = (line(&out), line(indices));
        let (_, from, source_strides) = line(source);
        let operands = [
            Operand { strides: &out_strides, offset: 0 },
            Operand { strides: &index_strides, offset: indices.offset() },
            Operand { strides: &source_strides, offset: source.offset() },
        ];
        let walk = Walk::over(&shape, &operands);
        let dtype = x.dtype();
        let stored = if reduction.is_some() { dtype.msl() } else { bits(dtype) };
        let mut defines = walk.defines(3).with("T0", stored).with("T2", stored);
        defines = defines.with("T1", indices.dtype().msl());
        if let Some(reduction) = reduction {
            defines = defines.with("COMBINE", reduction.function()).with("W", reduction.joined_in(dtype));
        }
        let (length, found) = (x.shape()[at], self.device().buffer_zeroed::<u32>(4)?);
        let pipeline = self.pipeline(Source::Index, "scatter", defines)?;
        let launch = self.call(&pipeline).arg(out.buffer()).arg(indices.buffer());
        let launch = launch.arg(source.buffer()).arg(&found).arg(walk.argument()).arg(length as i32);
        let launch = launch.arg(indices.shape()[at] as i32).arg([to, named, from, 0]);
        self.submit(launch.threads(walk.threads()).group_size(walk.group()))?;
        self.check_indices(operation, length, found);
        let bytes = 2 * source.byte_len() + indices.byte_len();
        self.count(operation, Path::Own, if reduction.is_some() { source.len() as u64 } else { 0 }, bytes);
        Ok(out)
    }
}

/// The MSL type as which elements are moved unchanged.
pub(crate) fn bits(dtype: DType) -> &'static str {
    match dtype.size() {
        1 => "uchar",
        2 => "ushort",
        4 => "uint",
        _ => "ulong",
    }
}

fn check_indices(operation: &'static str, indices: &Tensor) -> Result<(), OpError> {
    if indices.dtype().is_integer() {
        return Ok(());
    }
    Err(OpError::dtype(operation, &[indices.dtype()], "indices are of integer types"))
}

/// Whether indices have the dimensions of a tensor and, but for the axis, at most its extents.
fn check_aligned(
    operation: &'static str,
    x: &Tensor,
    indices: &Tensor,
    along: isize,
) -> Result<usize, OpError> {
    let at = axis(operation, x.shape(), along)?;
    check_indices(operation, indices)?;
    let fits = |dimension: usize| dimension == at || indices.shape()[dimension] <= x.shape()[dimension];
    if indices.rank() == x.rank() && (0..x.rank()).all(fits) {
        return Ok(at);
    }
    let rule = format!("the indices must have as many dimensions, none longer but that of axis {at}");
    Err(OpError::shape(operation, &[x.shape(), indices.shape()], rule))
}
