//! Convolutions of one and two dimensions, transposed ones, and their gradients.
//!
//! Owns the launches of `kernels/conv.metal`; options and windows are in [`window`]. Invariant:
//! sums are in `f32`. Filters of several output channels are products of matrices with the unfolded
//! image, those of three by three elements with transformed tiles of it ([`winograd`]); the others, as
//! those of depthwise convolutions, have a thread for each result.

mod window;
mod winograd;

use anymetal::argument::Plain;

use crate::checks::require_floats;
use crate::context::Ops;
use crate::counted::Path;
use crate::dtype::DType;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::launch::MAX_GROUPS;
use crate::matmul::MatmulOptions;
use crate::tensor::Tensor;
use window::Window;
pub use window::{ConvOptions, ImageLayout};
pub(crate) use window::{four, four_strides};

/// Output channels of a group from which on products of matrices pay.
const MIN_FILTERS: usize = 4;

/// Rows of an unfolded image that a thread writes.
const UNFOLDED_ROWS: usize = 16;

/// Elements of unfolded images at one time.
const MAX_UNFOLDED: usize = 1 << 24;

impl Ops {
    /// The convolution (cross-correlation, as in all frameworks) of images by filters of shape
    /// output channels, input channels of a group, rows, columns; plus a bias for each output
    /// channel.
    pub fn conv2d(
        &self,
        x: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: &ConvOptions,
    ) -> Result<Tensor, OpError> {
        let image = self.as_nchw("conv2d", x, options)?;
        let shape = four("conv2d", &image)?;
        let window = Window::new("conv2d", shape, weight, options)?;
        require_floats("conv2d", &[Some(x), Some(weight), bias])?;
        check_bias("conv2d", bias, weight.shape()[0])?;
        let (out, path) = match weight.shape()[0] / options.groups >= MIN_FILTERS {
            true if self.winograd_applies(&image, weight, &window) => {
                self.conv_by_winograd(&image, weight, bias, &window)?
            }
            true => self.conv_by_matmul(&image, weight, bias, &window)?,
            false => {
                let out = self.empty(&window.out_shape(shape[0]), x.dtype().promote(weight.dtype()))?;
                let window = window.with_input(&image).with_weight(weight, bias);
                self.launch_conv("conv", &out, &image, weight, bias, window)?;
                (out, Path::Own)
            }
        };
        self.count_conv("conv2d", path, out.len() * window.taps(), &[x, weight, &out]);
        self.from_nchw(out, options)
    }

    /// As [`Ops::conv2d`] of one dimension: the shapes have no rows.
    pub fn conv1d(
        &self,
        x: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: &ConvOptions,
    ) -> Result<Tensor, OpError> {
        let (x, weight) =
            (with_row("conv1d", x, options)?, with_row("conv1d", weight, &ConvOptions::default())?);
        let y = self.conv2d(&x, &weight, bias, &without_rows(options))?;
        y.squeeze(row_axis(options))
    }

    /// The transposed convolution: the gradient of [`Ops::conv2d`] with that weight, whose shape is
    /// input channels, output channels of a group, rows, columns.
    pub fn conv_transpose2d(
        &self,
        x: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: &ConvOptions,
    ) -> Result<Tensor, OpError> {
        let name = "conv_transpose2d";
        let image = self.as_nchw(name, x, options)?;
        let ([images, channels, height, width], [filters, depth, rows, columns]) =
            (four(name, &image)?, four(name, weight)?);
        if channels != filters {
            let rule = "the weight must have a filter for each input channel";
            return Err(OpError::shape(name, &[x.shape(), weight.shape()], rule));
        }
        require_floats(name, &[Some(x), Some(weight), bias])?;
        check_bias(name, bias, depth * options.groups)?;
        let size = |of: usize, taps: usize, d: usize| {
            let full = (of.max(1) - 1) * options.stride[d] + options.dilation[d] * (taps.max(1) - 1) + 1;
            (full + options.output_padding[d]).checked_sub(2 * options.padding[d])
        };
        let (Some(out_height), Some(out_width)) = (size(height, rows, 0), size(width, columns, 1)) else {
            return Err(OpError::shape(name, &[x.shape(), weight.shape()], "the padding exceeds the result"));
        };
        let target = [images, depth * options.groups, out_height, out_width];
        let mut window = Window::new(name, target, weight, options)?;
        // With padding of the output the convolution back has more positions than there are.
        (window.out_height, window.out_width) = (height as u32, width as u32);
        let out = self.empty(&target, x.dtype().promote(weight.dtype()))?;
        let window = window.with_input(&image).with_weight(weight, bias);
        self.launch_conv("conv_transposed", &out, &image, weight, bias, window)?;
        self.count_conv(name, Path::Own, x.len() * window.taps(), &[x, weight, &out]);
        self.from_nchw(out, options)
    }

    /// As [`Ops::conv_transpose2d`] of one dimension.
    pub fn conv_transpose1d(
        &self,
        x: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: &ConvOptions,
    ) -> Result<Tensor, OpError> {
        let name = "conv_transpose1d";
        let (x, weight) = (with_row(name, x, options)?, with_row(name, weight, &ConvOptions::default())?);
        let y = self.conv_transpose2d(&x, &weight, bias, &without_rows(options))?;
        y.squeeze(row_axis(options))
    }

    /// The gradients of input, weight and bias of [`Ops::conv2d`] from that of the result.
    pub fn conv2d_backward(
        &self,
        x: &Tensor,
        weight: &Tensor,
        gradient: &Tensor,
        options: &ConvOptions,
    ) -> Result<(Tensor, Tensor, Tensor), OpError> {
        let name = "conv2d_backward";
        let (image, of_out) = (self.as_nchw(name, x, options)?, self.as_nchw(name, gradient, options)?);
        let shape = four(name, &image)?;
        let window = Window::new(name, shape, weight, options)?;
        require_floats(name, &[Some(x), Some(weight), Some(gradient)])?;
        if of_out.shape() != window.out_shape(shape[0]) {
            let rule = "the gradient must have the shape of the result";
            return Err(OpError::shape(name, &[x.shape(), weight.shape(), gradient.shape()], rule));
        }
        let of_x = self.empty(&shape, x.dtype())?;
        let back = window.with_input(&of_out).with_weight(weight, None);
        self.launch_conv("conv_transposed", &of_x, &of_out, weight, None, back)?;
        let of_weight = self.weight_gradient(&image, weight, &of_out, &window)?;
        let of_bias = self.sum(&of_out, &[0, 2, 3], false)?;
        self.count_conv(name, Path::Own, 2 * gradient.len() * window.taps(), &[x, weight, gradient]);
        Ok((self.from_nchw(of_x, options)?, of_weight, of_bias))
    }

    /// Each group's filters times its unfolded channels, some images at a time.
    fn conv_by_matmul(
        &self,
        image: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
        window: &Window,
    ) -> Result<(Tensor, Path), OpError> {
        let (images, groups) = (image.shape()[0], window.groups as usize);
        let filters = window.out_channels as usize / groups;
        let weight = self.reshape(weight, &[groups, filters, window.taps()])?;
        let bias = bias.map(|bias| bias.view(&[groups, filters, 1])).transpose()?;
        let options = MatmulOptions { bias: bias.as_ref(), ..MatmulOptions::default() };
        let (mut parts, mut taken) = (Vec::new(), Path::Own);
        for (from, to) in pieces(images, window) {
            let unfolded = self.unfold(&image.narrow(0, from..to)?, window)?;
            let (product, path) = self.matrices_uncounted(&weight, &unfolded, &options)?;
            taken = path;
            parts.push(product.view(&window.out_shape(to - from))?);
        }
        let out = match &parts[..] {
            [] => self.empty(&window.out_shape(0), image.dtype().promote(weight.dtype()))?,
            [one] => one.clone(),
            parts => self.concat(&parts.iter().collect::<Vec<_>>(), 0)?,
        };
        Ok((out, taken))
    }

    fn weight_gradient(
        &self,
        image: &Tensor,
        weight: &Tensor,
        of_out: &Tensor,
        window: &Window,
    ) -> Result<Tensor, OpError> {
        let groups = window.groups as usize;
        let filters = window.out_channels as usize / groups;
        let positions = (window.out_height * window.out_width) as usize;
        let options = MatmulOptions { out: Some(DType::F32), ..MatmulOptions::default() };
        let mut sum = self.zeros(&[groups, filters, window.taps()], DType::F32)?;
        for (from, to) in pieces(image.shape()[0], window) {
            let unfolded = self.unfold(&image.narrow(0, from..to)?, window)?.t()?;
            let part =
                self.reshape(&of_out.narrow(0, from..to)?, &[to - from, groups, filters, positions])?;
            let (product, _) = self.matrices_uncounted(&part, &unfolded, &options)?;
            sum = self.add(&sum, &self.sum(&product, &[0], false)?)?;
        }
        self.cast(&sum, weight.dtype())?.view(weight.shape())
    }

    /// Images as matrices: images, groups, elements of a filter, positions of the result.
    fn unfold(&self, image: &Tensor, window: &Window) -> Result<Tensor, OpError> {
        let (images, groups) = (image.shape()[0], window.groups as usize);
        let positions = (window.out_height * window.out_width) as usize;
        if window.is_pointwise() {
            return self.reshape(image, &[images, groups, window.taps(), positions]);
        }
        let out = self.empty(&[images, groups, window.taps(), positions], image.dtype())?;
        if out.is_empty() {
            return Ok(out);
        }
        let defines = Defines::default().with("UNFOLD", 1).with("ROWS", UNFOLDED_ROWS);
        let defines = defines.with("T0", image.dtype().msl()).with("T1", image.dtype().msl());
        let pipeline = self.pipeline(Source::Conv, "unfold", defines)?;
        let launch = self.call(&pipeline).arg(out.buffer()).arg(image.buffer());
        let launch = launch.arg(Plain(window.with_input(image)));
        let planes = images * groups * window.taps();
        let grid = (window.out_width as usize, (window.out_height as usize).div_ceil(UNFOLDED_ROWS), planes);
        self.submit(launch.threads(grid).group_size((64, 1, 1)))?;
        Ok(out)
    }

    fn launch_conv(
        &self,
        kernel: &'static str,
        out: &Tensor,
        x: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
        window: Window,
    ) -> Result<(), OpError> {
        if out.is_empty() {
            return Ok(());
        }
        let fourth = bias.unwrap_or(weight);
        let types = [("T0", out), ("T1", x), ("T2", weight), ("T3", fourth)];
        let mut defines = Defines::default();
        for (name, tensor) in types {
            defines = defines.with(name, tensor.dtype().msl());
        }
        if bias.is_some() {
            defines = defines.with("BIAS", 1);
        }
        let pipeline = self.pipeline(Source::Conv, kernel, defines)?;
        let launch = self.call(&pipeline).arg(out.buffer()).arg(x.buffer()).arg(weight.buffer());
        let launch = launch.arg(fourth.buffer()).arg(Plain(window));
        let [images, channels, height, width] = four(kernel, out)?;
        self.submit(launch.threads((width, height, images * channels)).group_size((32, 8, 1)))
    }

    fn count_conv(&self, operation: &'static str, path: Path, products: usize, tensors: &[&Tensor]) {
        let bytes = tensors.iter().map(|tensor| tensor.byte_len()).sum();
        self.count(operation, path, 2 * products as u64, bytes);
    }

    fn as_nchw(&self, operation: &'static str, x: &Tensor, options: &ConvOptions) -> Result<Tensor, OpError> {
        four(operation, x)?;
        match options.layout {
            ImageLayout::Nchw => Ok(x.clone()),
            ImageLayout::Nhwc => x.permute(&[0, 3, 1, 2]),
        }
    }

    #[expect(clippy::wrong_self_convention, reason = "the context is no image")]
    fn from_nchw(&self, y: Tensor, options: &ConvOptions) -> Result<Tensor, OpError> {
        match options.layout {
            ImageLayout::Nchw => Ok(y),
            ImageLayout::Nhwc => y.permute(&[0, 2, 3, 1]),
        }
    }
}

/// Ranges of images whose unfolded forms are of bounded size.
fn pieces(images: usize, window: &Window) -> Vec<(usize, usize)> {
    let one = window.taps() * (window.groups * window.out_height * window.out_width) as usize;
    let planes = window.taps() * window.groups as usize;
    let step = (MAX_UNFOLDED / one.max(1)).min(MAX_GROUPS / planes.max(1)).max(1);
    (0..images).step_by(step).map(|from| (from, images.min(from + step))).collect()
}

/// Where the dimension of rows is.
fn row_axis(options: &ConvOptions) -> isize {
    match options.layout {
        ImageLayout::Nchw => 2,
        ImageLayout::Nhwc => 1,
    }
}

fn with_row(operation: &'static str, x: &Tensor, options: &ConvOptions) -> Result<Tensor, OpError> {
    if x.rank() != 3 {
        return Err(OpError::shape(operation, &[x.shape()], "three dimensions are needed"));
    }
    x.unsqueeze(row_axis(options))
}

fn without_rows(options: &ConvOptions) -> ConvOptions {
    let ConvOptions { stride, padding, dilation, output_padding, .. } = *options;
    ConvOptions {
        stride: [1, stride[1]],
        padding: [0, padding[1]],
        dilation: [1, dilation[1]],
        output_padding: [0, output_padding[1]],
        ..*options
    }
}

fn check_bias(operation: &'static str, bias: Option<&Tensor>, channels: usize) -> Result<(), OpError> {
    match bias {
        Some(bias) if bias.shape() != [channels] => {
            let rule = format!("the bias must have one element for each of the {channels} channels");
            Err(OpError::shape(operation, &[bias.shape()], rule))
        }
        Some(_) | None => Ok(()),
    }
}
