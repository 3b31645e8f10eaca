//! Sorting along an axis, positions of the sorted, the greatest few, distinct values.
//!
//! Owns the launches of `kernels/sort.metal`. Invariant: the order is stable in both directions,
//! and NaN is greater than all numbers.

use anymetal::argument::Plain;

use crate::call::Call;
use crate::context::Ops;
use crate::counted::Path;
use crate::dtype::DType;
use crate::elementwise::Comparison;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::layout::{Layout, Operand};
use crate::shape::axis;
use crate::tensor::Tensor;

/// Pairs that a threadgroup sorts in its memory, of which each takes 8 bytes.
const MIN_TILE: usize = 512;
const MAX_TILE: usize = 4096;

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
        let lines = Lines::new(x, at, descending);
        let is_empty = lines.rows.outer == 0 || lines.count == 0;
        // Wider keys have no place beside them in 64 bits.
        let (keys, places) = match x.dtype().size() {
            8 => self.sort_wide(x, &lines, is_empty)?,
            _ => {
                let shape = [&lines.shape[..], &[lines.count]].concat();
                let made = (self.empty(&shape, x.dtype())?, self.empty(&shape, DType::U32)?);
                if !is_empty {
                    self.sort_pairs(x, &lines, &made)?;
                }
                made
            }
        };
        let bytes = 2 * (x.byte_len() + 4 * x.len() as u64);
        self.count("sort", Path::Own, 0, bytes);
        let mut order: Vec<usize> = (0..lines.shape.len()).collect();
        order.insert(at, lines.shape.len());
        let back = |sorted: Tensor| sorted.narrow(-1, 0..lines.count)?.permute(&order);
        Ok((back(keys)?, back(places)?))
    }

    /// Lines of keys of up to 32 bits: within tiles by threadgroups, further apart by passes over all.
    fn sort_pairs(&self, x: &Tensor, lines: &Lines, out: &(Tensor, Tensor)) -> Result<(), OpError> {
        let tile = lines.width.clamp(MIN_TILE, MAX_TILE);
        let group = (tile / 4) as u32;
        let shared = lines.defines.clone().and(lines.rows.defines());
        let defines = shared.clone().with("TILE", tile).with("GROUP", group);
        let total = (lines.rows.outer as usize * lines.width).next_multiple_of(tile);
        let tiles = (total / tile) as u32;
        if lines.width <= tile {
            let pipeline = self.pipeline(Source::Sort, "sort_tiles", defines.with("FINAL", 1))?;
            let call = lines.given_to(self.call(&pipeline).arg(out.0.buffer()).arg(out.1.buffer()), x);
            return self.submit(call.groups(tiles).group_size(group));
        }
        let pairs = self.empty(&[total], DType::I64)?;
        let begin = self.pipeline(Source::Sort, "sort_tiles", defines.clone())?;
        let call = lines.given_to(self.call(&begin).arg(pairs.buffer()), x);
        self.submit(call.groups(tiles).group_size(group))?;
        let mut run = 2 * tile;
        while run <= lines.width {
            // The last run is in order forward, whatever its place.
            let mark = if run < lines.width { run as u32 } else { 0 };
            let mut apart = run / 2;
            while apart >= tile {
                let twice = apart / 2 >= tile;
                let defines = match twice {
                    true => defines.clone().with("TWICE", 1),
                    false => defines.clone(),
                };
                let pipeline = self.pipeline(Source::Sort, "sort_far", defines)?;
                let call = self.call(&pipeline).arg(pairs.buffer()).arg(apart as u32).arg(mark);
                let (threads, divisor) = if twice { (total / 4, 4) } else { (total / 2, 2) };
                self.submit(call.threads(threads as u32).group_size(256))?;
                apart /= divisor;
            }
            let is_last = run == lines.width;
            let pipeline = match is_last {
                true => self.pipeline(Source::Sort, "sort_merge", defines.clone().with("FINAL", 1))?,
                false => self.pipeline(Source::Sort, "sort_merge", defines.clone())?,
            };
            let mut call = self.call(&pipeline);
            if is_last {
                call = call.arg(out.0.buffer()).arg(out.1.buffer());
            }
            let call = lines.given_to(call.arg(pairs.buffer()), x).arg(mark);
            self.submit(call.groups(tiles).group_size(group))?;
            run *= 2;
        }
        Ok(())
    }

    /// Lines of wider keys, filled up to a power of two: each step is a pass over all.
    fn sort_wide(&self, x: &Tensor, lines: &Lines, is_empty: bool) -> Result<(Tensor, Tensor), OpError> {
        let shape = [&lines.shape[..], &[lines.width]].concat();
        let (keys, places) = (self.empty(&shape, x.dtype())?, self.empty(&shape, DType::U32)?);
        if is_empty {
            return Ok((keys, places));
        }
        let defines = lines.defines.clone().and(lines.rows.defines());
        let (count, rows) = (lines.count as u32, lines.rows.outer as usize);
        let begin = self.pipeline(Source::Sort, "sort_begin", defines.clone())?;
        let launch = self.call(&begin).arg(keys.buffer()).arg(places.buffer()).arg(x.buffer());
        let launch = launch.arg(Plain(lines.rows)).arg(count).arg(lines.step);
        self.submit(launch.threads((lines.width, rows)).group_size((256, 1)))?;
        let sort = self.pipeline(Source::Sort, "sort_step", defines)?;
        let mut run = 2;
        while run <= lines.width {
            let mut apart = run / 2;
            while apart > 0 {
                let launch = self.call(&sort).arg(keys.buffer()).arg(places.buffer());
                let launch = launch.arg(count).arg(apart as u32).arg(run as u32);
                self.submit(launch.threads((lines.width / 2, rows)).group_size((256, 1)))?;
                apart /= 2;
            }
            run *= 2;
        }
        Ok((keys, places))
    }
}

/// What is sorted: lines along an axis.
struct Lines {
    /// The extents without the axis.
    shape: Vec<usize>,
    rows: Layout,
    /// Elements of a line, and how far from each other they are.
    count: usize,
    step: i32,
    /// The power of two that a line is filled up to.
    width: usize,
    /// Types and order.
    defines: Defines,
}

impl Lines {
    fn new(x: &Tensor, at: usize, descending: bool) -> Lines {
        let (mut shape, mut strides) = (x.shape().to_vec(), x.strides().to_vec());
        let (count, step) = (shape.remove(at), strides.remove(at) as i32);
        let width = count.max(2).checked_next_power_of_two().unwrap_or(usize::MAX);
        let operand = Operand { strides: &strides, offset: x.offset() };
        let rows = Layout::rows(&shape, &[operand, operand]);
        let defines = Defines::default().with("T0", x.dtype().msl()).with("C", x.dtype().msl_compute());
        let defines = if descending { defines.with("DESCENDING", 1) } else { defines };
        Lines { shape, rows, count, step, width, defines }
    }

    /// A call with the tensor, where its lines are, how long they are and what they are filled up to.
    fn given_to<'a>(&self, call: Call<'a>, x: &Tensor) -> Call<'a> {
        let call = call.arg(x.buffer()).arg(Plain(self.rows)).arg(self.count as u32);
        call.arg(self.step).arg(self.width.trailing_zeros())
    }
}
