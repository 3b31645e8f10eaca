//! Copies: contiguous forms, reshapes that need one, joins, padding.
//!
//! Owns the operations here. Invariant: a copy is one launch for each source.

use anymetal::argument::Plain;

use crate::context::Ops;
use crate::counted::Path;
use crate::elementwise::{MapCall, MapFunction};
use crate::error::OpError;
use crate::index::bits;
use crate::kernels::{Defines, Source};
use crate::layout::{Layout, Operand};
use crate::shape::{axis, checked_count};
use crate::tensor::Tensor;

/// Rows and columns of a tile of a transposing copy.
const TILE: usize = 32;

impl Ops {
    /// The tensor itself if it is contiguous, else a contiguous copy.
    pub fn contiguous(&self, x: &Tensor) -> Result<Tensor, OpError> {
        if x.is_contiguous() { Ok(x.clone()) } else { self.copy(x) }
    }

    /// A contiguous copy.
    pub fn copy(&self, x: &Tensor) -> Result<Tensor, OpError> {
        let out = self.empty(x.shape(), x.dtype())?;
        self.copy_into(x, &out)?;
        Ok(out)
    }

    /// Copies into a view of the same shape and type.
    pub(crate) fn copy_into(&self, x: &Tensor, out: &Tensor) -> Result<(), OpError> {
        // As integers of the same size, so that NaN keeps its bits.
        let function = MapFunction::copy(bits(x.dtype()));
        match Transposed::of(x, out) {
            Some(transposed) => self.copy_tiles(function.defines(), x, out, &transposed),
            None => {
                let bytes = x.byte_len() + out.byte_len();
                self.run_map(MapCall { operation: "copy", function, out, inputs: &[x], flop: 0, bytes })
            }
        }
    }

    fn copy_tiles(
        &self,
        defines: Defines,
        x: &Tensor,
        out: &Tensor,
        transposed: &Transposed,
    ) -> Result<(), OpError> {
        let Transposed { rows, columns, row_step, column_step, .. } = *transposed;
        let operand = |strides, tensor: &Tensor| Operand { strides, offset: tensor.offset() };
        let layout = Layout::rows(
            &transposed.shape,
            &[operand(&transposed.out_strides, out), operand(&transposed.strides, x)],
        );
        let pipeline = self.pipeline(Source::Elementwise, "copy_tiles", defines.with("TILE", TILE))?;
        let launch = self.call(&pipeline).arg(out.buffer()).arg(x.buffer()).arg(Plain(layout));
        let launch = launch.arg([columns as u32, rows as u32]).arg([row_step as i32, column_step as i32]);
        let tiles = (columns.div_ceil(TILE), rows.div_ceil(TILE), layout.outer as usize);
        self.submit(launch.groups(tiles).group_size((TILE, 8, 1)))?;
        self.count("copy", Path::Own, 0, x.byte_len() + out.byte_len());
        Ok(())
    }

    /// Another shape with as many elements; a view if the strides allow it, else a copy.
    pub fn reshape(&self, x: &Tensor, shape: &[usize]) -> Result<Tensor, OpError> {
        x.check_same_count("reshape", shape)?;
        match x.strides_of_view(shape) {
            Some(strides) => Ok(x.seen_as(shape.to_vec(), strides, x.offset())),
            None => self.copy(x)?.view(shape),
        }
    }

    /// The tensors one after the other along an axis. They have the same type, and the same extents
    /// elsewhere.
    pub fn concat(&self, tensors: &[&Tensor], axis: isize) -> Result<Tensor, OpError> {
        let Some((first, rest)) = tensors.split_first() else {
            return Err(OpError::argument("concat", "no tensor was given"));
        };
        let at = crate::shape::axis("concat", first.shape(), axis)?;
        for other in rest {
            check_joinable(first, other, at)?;
        }
        let mut shape = first.shape().to_vec();
        shape[at] = tensors.iter().map(|tensor| tensor.shape()[at]).sum();
        let out = self.empty(&shape, first.dtype())?;
        let mut from = 0;
        for tensor in tensors {
            let to = from + tensor.shape()[at];
            self.copy_into(tensor, &out.narrow(at as isize, from..to)?)?;
            from = to;
        }
        Ok(out)
    }

    /// The tensors, of one shape and type, along a new axis.
    pub fn stack(&self, tensors: &[&Tensor], axis: isize) -> Result<Tensor, OpError> {
        let raised = tensors.iter().map(|tensor| tensor.unsqueeze(axis)).collect::<Result<Vec<_>, _>>()?;
        self.concat(&raised.iter().collect::<Vec<_>>(), axis)
    }

    /// As many elements of `value` before and after each dimension as the pairs say.
    pub fn pad(&self, x: &Tensor, pads: &[(usize, usize)], value: f64) -> Result<Tensor, OpError> {
        if pads.len() != x.rank() {
            let rule = format!("{} pairs were given, one is needed for each dimension", pads.len());
            return Err(OpError::shape("pad", &[x.shape()], rule));
        }
        let padded = |(&extent, &(before, after)): (&usize, &(usize, usize))| {
            extent.checked_add(before).and_then(|sum| sum.checked_add(after))
        };
        let shape = x.shape().iter().zip(pads).map(padded).collect::<Option<Vec<usize>>>();
        let shape = shape.ok_or_else(|| OpError::argument("pad", "an extent would exceed every integer"))?;
        checked_count("pad", &shape)?;
        let out = self.filled("pad", &shape, value, x.dtype())?;
        let mut inside = out.clone();
        for (dimension, (&(before, _), &extent)) in pads.iter().zip(x.shape()).enumerate() {
            inside = inside.narrow(dimension as isize, before..before + extent)?;
        }
        self.copy_into(x, &inside)?;
        Ok(out)
    }

    /// The elements of an axis shifted by so many places; those that fall off come in at the other
    /// end.
    pub fn roll(&self, x: &Tensor, shift: isize, along: isize) -> Result<Tensor, OpError> {
        let extent = x.shape()[axis("roll", x.shape(), along)?];
        if extent == 0 {
            return Ok(x.clone());
        }
        let cut = extent - shift.rem_euclid(extent as isize) as usize;
        self.concat(&[&x.narrow(along, cut..extent)?, &x.narrow(along, 0..cut)?], along)
    }
}

/// A copy whose source has its neighbours along another dimension than the output: both of these
/// dimensions, which become the columns and rows of matrices, and the others.
struct Transposed {
    rows: usize,
    columns: usize,
    /// Between rows of the output.
    row_step: isize,
    /// Between columns of the source.
    column_step: isize,
    shape: Vec<usize>,
    out_strides: Vec<isize>,
    strides: Vec<isize>,
}

impl Transposed {
    fn of(x: &Tensor, out: &Tensor) -> Option<Transposed> {
        let column = x.rank().checked_sub(1)?;
        let row =
            (0..column).find(|&dimension| x.strides()[dimension] == 1 && x.shape()[dimension] >= TILE)?;
        let fits = x.shape()[column] >= TILE && x.strides()[column] != 1 && out.strides()[column] == 1;
        fits.then_some(())?;
        let others = (0..column).filter(|&dimension| dimension != row);
        let of = |strides: &[isize]| others.clone().map(|dimension| strides[dimension]).collect();
        Some(Transposed {
            rows: x.shape()[row],
            columns: x.shape()[column],
            row_step: out.strides()[row],
            column_step: x.strides()[column],
            out_strides: of(out.strides()),
            strides: of(x.strides()),
            shape: others.map(|dimension| x.shape()[dimension]).collect(),
        })
    }
}

fn check_joinable(first: &Tensor, other: &Tensor, at: usize) -> Result<(), OpError> {
    let shapes = [first.shape(), other.shape()];
    if first.dtype() != other.dtype() {
        return Err(OpError::dtype("concat", &[first.dtype(), other.dtype()], "the types must be the same"));
    }
    let differs = |dimension: usize| dimension != at && shapes[0][dimension] != shapes[1][dimension];
    if first.rank() != other.rank() || (0..first.rank()).any(differs) {
        let rule = format!("all extents but that of axis {at} must be the same");
        return Err(OpError::shape("concat", &shapes, rule));
    }
    Ok(())
}
