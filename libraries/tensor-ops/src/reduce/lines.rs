//! Along one axis: positions of extremes, running sums, products and extremes.
//!
//! Invariant: of equal extremes the first one counts, and NaN comes before all numbers.

use anymetal::argument::Plain;

use super::{Divided, MIN_ROW, Reduction};
use crate::context::Ops;
use crate::counted::Path;
use crate::dtype::DType;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::launch::{LANES, Walk};
use crate::layout::{Layout, Operand};
use crate::shape::{axis, contiguous_strides};
use crate::tensor::Tensor;

impl Ops {
    /// The position of the first greatest element along an axis, NaN before all, as `u32`.
    pub fn argmax(&self, x: &Tensor, along: isize, keep: bool) -> Result<Tensor, OpError> {
        self.position("argmax", "before_max", x, along, keep)
    }

    /// The position of the first least element along an axis, NaN before all, as `u32`.
    pub fn argmin(&self, x: &Tensor, along: isize, keep: bool) -> Result<Tensor, OpError> {
        self.position("argmin", "before_min", x, along, keep)
    }

    fn position(
        &self,
        name: &'static str,
        before: &'static str,
        x: &Tensor,
        along: isize,
        keep: bool,
    ) -> Result<Tensor, OpError> {
        let divided = Divided::new(x, &[axis(name, x.shape(), along)?], keep);
        if divided.gone[0] == 0 {
            return Err(OpError::shape(name, &[x.shape()], "no elements have no extreme"));
        }
        let out = self.empty(&divided.shape, DType::U32)?;
        if out.is_empty() {
            return Ok(out);
        }
        let (count, step) = (divided.gone[0] as u32, divided.gone_strides[0] as i32);
        let defines = Defines::default().with("T1", x.dtype().msl()).with("A", x.dtype().msl_compute());
        let defines = defines.with("W", x.dtype().msl_wrapping()).with("BEFORE", before).with("T0", "uint");
        let from = divided.kept_operand(x.offset());
        if step == 1 && count >= MIN_ROW {
            let (rows, group) = (Layout::rows(&divided.kept, &[from, from]), self.row_threads());
            let (rows, count, packs) = self.rows_in_vectors(rows, count, x);
            let defines = defines.and(rows.defines()).and(packs).with("GROUP", group);
            let pipeline = self.pipeline(Source::Reduce, "position_rows", defines)?;
            let launch = self.call(&pipeline).arg(out.buffer()).arg(x.buffer());
            let launch = launch.arg(Plain(rows)).arg(count);
            self.submit(launch.groups(rows.outer).group_size(group))?;
        } else {
            let strides = contiguous_strides(&divided.kept);
            let walk = Walk::over(&divided.kept, &[Operand { strides: &strides, offset: 0 }, from]);
            let pipeline = self.pipeline(Source::Reduce, "position_columns", defines.and(walk.defines(2)))?;
            let launch = self.call(&pipeline).arg(out.buffer()).arg(x.buffer());
            let launch = launch.arg(walk.argument()).arg(count).arg(step);
            self.submit(launch.threads(walk.threads()).group_size(walk.group()))?;
        }
        self.count(name, Path::Own, x.len() as u64, x.byte_len() + out.byte_len());
        Ok(out)
    }

    /// The sums of all elements up to each along an axis.
    pub fn cumsum(&self, x: &Tensor, along: isize) -> Result<Tensor, OpError> {
        self.scan("cumsum", Reduction::Sum, x, along)
    }

    /// The products of all elements up to each along an axis.
    pub fn cumprod(&self, x: &Tensor, along: isize) -> Result<Tensor, OpError> {
        self.scan("cumprod", Reduction::Prod, x, along)
    }

    /// The greatest of all elements up to each along an axis, NaN once one is.
    pub fn cummax(&self, x: &Tensor, along: isize) -> Result<Tensor, OpError> {
        self.scan("cummax", Reduction::Max, x, along)
    }

    /// The least of all elements up to each along an axis, NaN once one is.
    pub fn cummin(&self, x: &Tensor, along: isize) -> Result<Tensor, OpError> {
        self.scan("cummin", Reduction::Min, x, along)
    }

    fn scan(
        &self,
        name: &'static str,
        reduction: Reduction,
        x: &Tensor,
        along: isize,
    ) -> Result<Tensor, OpError> {
        let at = axis(name, x.shape(), along)?;
        let out = self.empty(x.shape(), reduction.out(x.dtype()))?;
        if out.is_empty() {
            return Ok(out);
        }
        let (from, to) = (Divided::new(x, &[at], false), Divided::new(&out, &[at], false));
        let neighbours = (from.gone_strides[0], to.gone_strides[0]) == (1, 1);
        // SIMD-groups have prefix sums of 32-bit types only.
        let summed = matches!(reduction, Reduction::Sum | Reduction::Prod);
        if summed && neighbours && x.dtype().is_float() && from.gone[0] as u32 >= MIN_ROW {
            self.scan_rows(reduction, x, &out, (&from, &to))?;
            self.count(name, Path::Own, x.len() as u64, x.byte_len() + out.byte_len());
            return Ok(out);
        }
        let defines = reduction.defines(x.dtype(), reduction.accumulator(x.dtype()), out.dtype());
        self.scan_columns(name, defines, x, &out, (&from, &to))?;
        Ok(out)
    }

    /// The logarithm of the sum of the exponentials of all elements up to each along an axis, without
    /// overflow between.
    pub fn logcumsumexp(&self, x: &Tensor, along: isize) -> Result<Tensor, OpError> {
        let at = axis("logcumsumexp", x.shape(), along)?;
        let out = self.empty(x.shape(), x.dtype().to_float())?;
        if out.is_empty() {
            return Ok(out);
        }
        let (from, to) = (Divided::new(x, &[at], false), Divided::new(&out, &[at], false));
        // Its neutral element is that of the greatest.
        let defines = Reduction::Max.defines(x.dtype(), DType::F32, out.dtype());
        let defines = defines.with("COMBINE", "combine_logaddexp");
        self.scan_columns("logcumsumexp", defines, x, &out, (&from, &to))?;
        Ok(out)
    }

    /// A thread for each line.
    fn scan_columns(
        &self,
        name: &'static str,
        defines: Defines,
        x: &Tensor,
        out: &Tensor,
        (from, to): (&Divided, &Divided),
    ) -> Result<(), OpError> {
        let walk = Walk::over(&from.kept, &[to.kept_operand(0), from.kept_operand(x.offset())]);
        let pipeline = self.pipeline(Source::Reduce, "scan_columns", walk.defines(2).and(defines))?;
        let launch = self.call(&pipeline).arg(out.buffer()).arg(x.buffer());
        let launch = launch.arg(walk.argument()).arg(from.gone[0] as u32);
        let launch = launch.arg(to.gone_strides[0] as i32).arg(from.gone_strides[0] as i32);
        self.submit(launch.threads(walk.threads()).group_size(walk.group()))?;
        self.count(name, Path::Own, x.len() as u64, x.byte_len() + out.byte_len());
        Ok(())
    }

    /// A SIMD-group for each row, or a threadgroup that takes vectors.
    fn scan_rows(
        &self,
        reduction: Reduction,
        x: &Tensor,
        out: &Tensor,
        (from, to): (&Divided, &Divided),
    ) -> Result<(), OpError> {
        let scan = match reduction {
            Reduction::Prod => "simd_prefix_inclusive_product",
            _ => "simd_prefix_inclusive_sum",
        };
        let rows = Layout::rows(&from.kept, &[to.kept_operand(0), from.kept_operand(x.offset())]);
        let defines = reduction.defines(x.dtype(), DType::F32, out.dtype()).with("SCAN", scan);
        let count = from.gone[0] as u32;
        let vectors = match self.takes_vectors(&[x, out]) && count.is_multiple_of(LANES) {
            true => rows.rows_in_vectors(LANES, 2),
            false => None,
        };
        let (kernel, defines, rows, count, group) = match vectors {
            Some(rows) => {
                let (count, group) = (count / LANES, (count / LANES).next_power_of_two().clamp(32, 256));
                ("scan_rows_group", defines.and(rows.defines()).with("GROUP", group), rows, count, group)
            }
            None => ("scan_rows", defines.and(rows.defines()), rows, count, 32),
        };
        let pipeline = self.pipeline(Source::Reduce, kernel, defines)?;
        let launch = self.call(&pipeline).arg(out.buffer()).arg(x.buffer());
        self.submit(launch.arg(Plain(rows)).arg(count).groups(rows.outer).group_size(group))
    }
}
