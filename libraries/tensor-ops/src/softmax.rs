//! Softmax and its logarithm along one axis.
//!
//! Owns the launches of `kernels/softmax.metal` and their gradients. Invariant: the greatest
//! element of a line is subtracted first, so that nothing overflows; a line with NaN, or of
//! negative infinities only, is NaN.

use anymetal::argument::Plain;

use crate::context::Ops;
use crate::counted::Path;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::launch::Walk;
use crate::layout::{Layout, Operand};
use crate::shape::axis;
use crate::tensor::Tensor;

/// Rows shorter than this have one thread.
const MIN_ROW: usize = 64;

/// Floating-point operations for each element: a comparison, two exponentials, a sum, a product.
const FLOP: u64 = 5;

impl Ops {
    /// Exponentials over their sum, along an axis.
    pub fn softmax(&self, x: &Tensor, along: isize) -> Result<Tensor, OpError> {
        self.normalised_exponentials("softmax", x, along, Defines::default())
    }

    /// The logarithm of [`Ops::softmax`].
    pub fn log_softmax(&self, x: &Tensor, along: isize) -> Result<Tensor, OpError> {
        self.normalised_exponentials("log_softmax", x, along, Defines::default().with("LOG", 1))
    }

    fn normalised_exponentials(
        &self,
        name: &'static str,
        x: &Tensor,
        along: isize,
        defines: Defines,
    ) -> Result<Tensor, OpError> {
        let at = axis(name, x.shape(), along)?;
        let out = self.empty(x.shape(), x.dtype().to_float())?;
        if out.is_empty() {
            return Ok(out);
        }
        let count = x.shape()[at];
        let lines = |tensor: &Tensor| {
            let (mut shape, mut strides) = (tensor.shape().to_vec(), tensor.strides().to_vec());
            shape.remove(at);
            let step = strides.remove(at);
            (shape, strides, step)
        };
        let ((shape, from, in_step), (_, to, out_step)) = (lines(x), lines(&out));
        let operands = [Operand { strides: &to, offset: 0 }, Operand { strides: &from, offset: x.offset() }];
        let defines = defines.with("T0", out.dtype().msl()).with("T1", x.dtype().msl());
        if in_step == 1 && out_step == 1 && count >= MIN_ROW {
            let rows = Layout::rows(&shape, &operands);
            let (kernel, defines, rows, count, group) = match self.held_rows(rows, 2, count, &[&out, x]) {
                Some(held) => {
                    ("softmax_held", defines.and(held.defines()), held.layout, held.count, held.group)
                }
                None => {
                    let group = self.row_threads();
                    let defines = defines.and(rows.defines()).with("GROUP", group);
                    ("softmax_rows", defines, rows, count as u32, group)
                }
            };
            let pipeline = self.pipeline(Source::Softmax, kernel, defines)?;
            let launch = self.call(&pipeline).arg(out.buffer()).arg(x.buffer());
            let launch = launch.arg(Plain(rows)).arg(count);
            self.submit(launch.groups(rows.outer).group_size(group))?;
        } else {
            let walk = Walk::over(&shape, &operands);
            let pipeline = self.pipeline(Source::Softmax, "softmax_columns", defines.and(walk.defines(2)))?;
            let launch = self.call(&pipeline).arg(out.buffer()).arg(x.buffer());
            let launch =
                launch.arg(walk.argument()).arg(count as u32).arg(out_step as i32).arg(in_step as i32);
            self.submit(launch.threads(walk.threads()).group_size(walk.group()))?;
        }
        self.count(name, Path::Own, FLOP * x.len() as u64, x.byte_len() + out.byte_len());
        Ok(out)
    }

    /// The gradient of the input of [`Ops::softmax`], from its output and the output's gradient.
    pub fn softmax_backward(&self, y: &Tensor, gradient: &Tensor, along: isize) -> Result<Tensor, OpError> {
        self.check_gradient("softmax_backward", y, gradient)?;
        let sum = self.sum(&self.mul(y, gradient)?, &[along], true)?;
        self.mul(y, &self.sub(gradient, &sum)?)
    }

    /// The gradient of the input of [`Ops::log_softmax`], from its output and the output's
    /// gradient.
    pub fn log_softmax_backward(
        &self,
        y: &Tensor,
        gradient: &Tensor,
        along: isize,
    ) -> Result<Tensor, OpError> {
        self.check_gradient("log_softmax_backward", y, gradient)?;
        let sum = self.sum(gradient, &[along], true)?;
        self.sub(gradient, &self.mul(&self.exp(y)?, &sum)?)
    }
}
