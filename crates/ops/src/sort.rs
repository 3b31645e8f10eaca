//! Sorting along an axis, positions of the sorted, the greatest few, distinct values.
//!
//! Owns the launches of `kernels/sort.metal`. Invariant: the order is stable in both directions,
//! and NaN is greater than all numbers.

use anymetal::Plain;

use crate::context::Ops;
use crate::counted::Path;
use crate::dtype::DType;
use crate::elementwise::Comparison;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::layout::{Layout, Operand};
use crate::shape::axis;
use crate::tensor::Tensor;

impl Ops {
    /// The elements along an axis in order.
    pub fn sort(&self, x: &Tensor, along: isize, descending: bool) -> Result<Tensor, OpError> {
        Ok(self.sort_with_positions(x, along, descending)?.0)
    }

    /// The positions of the elements along an axis in their order, as `u32`.
    pub fn argsort(&self, x: &Tensor, along: isize, descending: bool) -> Result<Tensor, OpError> {
        Ok(self.sort_with_positions(x, along, descending)?.1)
    }

    /// The greatest `count` elements along an axis, the greatest first, and their positions; the
    /// least ones if `largest` is false.
    pub fn topk(
        &self,
        x: &Tensor,
        count: usize,
        along: isize,
        largest: bool,
    ) -> Result<(Tensor, Tensor), OpError> {
        let at = axis("topk", x.shape(), along)?;
        if count > x.shape()[at] {
            let rule = format!("axis {along} has fewer than {count} elements");
            return Err(OpError::shape("topk", &[x.shape()], rule));
        }
        let (values, positions) = self.sort_with_positions(x, along, largest)?;
        Ok((values.narrow(along, 0..count)?, positions.narrow(along, 0..count)?))
    }

    /// The distinct elements in order, and how often each occurs, as `i64`. Waits for their number.
    /// NaN is distinct from NaN.
    pub fn unique(&self, x: &Tensor) -> Result<(Tensor, Tensor), OpError> {
        let flat = self.reshape(x, &[x.len()])?;
        if flat.is_empty() {
            return Ok((flat, self.zeros(&[0], DType::I64)?));
        }
        let sorted = self.contiguous(&self.sort(&flat, 0, false)?)?;
        let (left, right) = (sorted.narrow(0, 0..x.len() - 1)?, sorted.narrow(0, 1..x.len())?);
        let starts = self.cast(&self.compare(Comparison::Ne, &left, &right)?, DType::I64)?;
        let starts = self.concat(&[&self.zeros(&[1], DType::I64)?, &starts], 0)?;
        let places = self.cumsum(&starts, 0)?;
        let count = places.select(0, x.len() - 1)?.item::<i64>()? as usize + 1;
        let values = self.scatter(&self.zeros(&[count], x.dtype())?, 0, &places, &sorted)?;
        let ones = self.ones(&[x.len()], DType::I64)?;
        Ok((values, self.scatter_add(&self.zeros(&[count], DType::I64)?, 0, &places, &ones)?))
    }

    /// Both, as views with the axis where it was.
    pub fn sort_with_positions(
        &self,
        x: &Tensor,
        along: isize,
        descending: bool,
    ) -> Result<(Tensor, Tensor), OpError> {
        let at = axis("sort", x.shape(), along)?;
        let mut lines = x.shape().to_vec();
        let mut strides = x.strides().to_vec();
        let (count, step) = (lines.remove(at), strides.remove(at));
        let width = count.max(2).checked_next_power_of_two().unwrap_or(usize::MAX);
        let shape = [&lines[..], &[width]].concat();
        let (keys, places) = (self.empty(&shape, x.dtype())?, self.empty(&shape, DType::U32)?);
        let total: usize = lines.iter().product();
        if total > 0 && count > 0 {
            let operand = Operand { strides: &strides, offset: x.offset() };
            let rows = Layout::rows(&lines, &[operand, operand]);
            self.sort_lines(&keys, &places, x, rows, [count, width, total], step as i32, descending)?;
        }
        let bytes = 2 * (x.byte_len() + 4 * x.len() as u64);
        self.count("sort", Path::Own, 0, bytes);
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.insert(at, lines.len());
        let back = |sorted: Tensor| sorted.narrow(-1, 0..count)?.permute(&order);
        Ok((back(keys)?, back(places)?))
    }

    #[expect(clippy::too_many_arguments, reason = "one launch, each argument of it")]
    fn sort_lines(
        &self,
        keys: &Tensor,
        places: &Tensor,
        x: &Tensor,
        rows: Layout,
        [count, width, lines]: [usize; 3],
        step: i32,
        descending: bool,
    ) -> Result<(), OpError> {
        let mut defines = Defines::default().with("T0", x.dtype().msl()).with("C", x.dtype().msl_compute());
        if descending {
            defines = defines.with("DESCENDING", 1);
        }
        let begin = self.pipeline(Source::Sort, "sort_begin", defines.clone())?;
        let launch = self.call(&begin).arg(keys.buffer()).arg(places.buffer()).arg(x.buffer());
        let launch = launch.arg(Plain(rows)).arg(count as u32).arg(step);
        self.submit(launch.threads((width, lines)).group_size((256, 1)))?;
        let sort = self.pipeline(Source::Sort, "sort_step", defines)?;
        let mut run = 2;
        while run <= width {
            let mut apart = run / 2;
            while apart > 0 {
                let launch = self.call(&sort).arg(keys.buffer()).arg(places.buffer());
                let launch = launch.arg(count as u32).arg(apart as u32).arg(run as u32);
                self.submit(launch.threads((width / 2, lines)).group_size((256, 1)))?;
                apart /= 2;
            }
            run *= 2;
        }
        Ok(())
    }
}
