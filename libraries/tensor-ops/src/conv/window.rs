//! How a filter moves over an image.
//!
//! Owns [`ConvOptions`], [`ImageLayout`] and [`Window`], the structure of the kernels. Invariant: a
//! window's extents are checked against image and weight when it is made.

use bytemuck::{Pod, Zeroable};

use crate::error::OpError;
use crate::tensor::Tensor;

/// The order of an image's dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImageLayout {
    /// Image, channel, row, column.
    #[default]
    Nchw,
    /// Image, row, column, channel.
    Nhwc,
}

/// How a filter moves over an image. Pairs are rows and columns; of one dimension only the second
/// counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvOptions {
    /// Steps between positions.
    pub stride: [usize; 2],
    /// Zeros around the image.
    pub padding: [usize; 2],
    /// Steps between the elements of the filter.
    pub dilation: [usize; 2],
    /// Groups of channels that do not mix.
    pub groups: usize,
    /// Of input and output.
    pub layout: ImageLayout,
    /// Of transposed convolutions: rows and columns more at the end.
    pub output_padding: [usize; 2],
}

impl Default for ConvOptions {
    fn default() -> Self {
        ConvOptions {
            stride: [1, 1],
            padding: [0, 0],
            dilation: [1, 1],
            groups: 1,
            layout: ImageLayout::Nchw,
            output_padding: [0, 0],
        }
    }
}

/// The structure `Window` of the kernels.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Window {
    pub(super) channels: u32,
    pub(super) height: u32,
    pub(super) width: u32,
    pub(super) out_channels: u32,
    pub(super) out_height: u32,
    pub(super) out_width: u32,
    pub(super) kernel: [u32; 2],
    pub(super) stride: [i32; 2],
    pub(super) padding: [i32; 2],
    pub(super) dilation: [i32; 2],
    pub(super) groups: u32,
    pub(super) in_strides: [i32; 4],
    pub(super) weight_strides: [i32; 4],
    pub(super) in_offset: i32,
    pub(super) weight_offset: i32,
    pub(super) bias_stride: i32,
    pub(super) bias_offset: i32,
}

impl Window {
    /// For a convolution of an image of that shape by that weight, without strides.
    pub(super) fn new(
        operation: &'static str,
        image: [usize; 4],
        weight: &Tensor,
        options: &ConvOptions,
    ) -> Result<Window, OpError> {
        let [_, channels, height, width] = image;
        let [filters, depth, rows, columns] = four(operation, weight)?;
        let groups = options.groups;
        let shapes = [&image[..], weight.shape()];
        if groups == 0 || filters % groups.max(1) != 0 || channels != depth * groups {
            let rule = format!(
                "channels and filters must divide into {groups} groups, a filter having one's channels"
            );
            return Err(OpError::shape(operation, &shapes, rule));
        }
        let out_height = extent(height, rows, 0, options);
        let out_width = extent(width, columns, 1, options);
        let (Some(out_height), Some(out_width)) = (out_height, out_width) else {
            let rule = "strides and dilations must not be zero, and the filter must fit the padded image";
            return Err(OpError::shape(operation, &shapes, rule));
        };
        let signed = |[y, x]: [usize; 2]| [y as i32, x as i32];
        Ok(Window {
            channels: channels as u32,
            height: height as u32,
            width: width as u32,
            out_channels: filters as u32,
            out_height: out_height as u32,
            out_width: out_width as u32,
            kernel: [rows as u32, columns as u32],
            stride: signed(options.stride),
            padding: signed(options.padding),
            dilation: signed(options.dilation),
            groups: groups as u32,
            ..Window::zeroed()
        })
    }

    pub(super) fn with_input(mut self, x: &Tensor) -> Window {
        self.in_strides = four_strides(x);
        self.in_offset = x.offset() as i32;
        self
    }

    pub(super) fn with_weight(mut self, weight: &Tensor, bias: Option<&Tensor>) -> Window {
        self.weight_strides = four_strides(weight);
        self.weight_offset = weight.offset() as i32;
        if let Some(bias) = bias {
            self.bias_stride = bias.strides()[0] as i32;
            self.bias_offset = bias.offset() as i32;
        }
        self
    }

    pub(super) fn out_shape(&self, images: usize) -> [usize; 4] {
        [images, self.out_channels as usize, self.out_height as usize, self.out_width as usize]
    }

    /// Whether the unfolded image is the image: filters of one element at every position.
    pub(super) fn is_pointwise(&self) -> bool {
        (self.kernel, self.stride, self.padding) == ([1, 1], [1, 1], [0, 0])
    }

    /// Elements of a filter.
    pub(super) fn taps(&self) -> usize {
        (self.channels / self.groups * self.kernel[0] * self.kernel[1]) as usize
    }
}

/// Positions of a filter along a dimension; `None` if it has none.
fn extent(of: usize, taps: usize, dimension: usize, options: &ConvOptions) -> Option<usize> {
    let reach = options.dilation[dimension].checked_mul(taps.checked_sub(1)?)? + 1;
    let room = (of + 2 * options.padding[dimension]).checked_sub(reach)?;
    let valid = options.dilation[dimension] > 0;
    room.checked_div(options.stride[dimension]).map(|steps| steps + 1).filter(|_| valid)
}

pub(crate) fn four(operation: &'static str, x: &Tensor) -> Result<[usize; 4], OpError> {
    x.shape().try_into().map_err(|_| OpError::shape(operation, &[x.shape()], "four dimensions are needed"))
}

pub(crate) fn four_strides(x: &Tensor) -> [i32; 4] {
    let mut strides = [0; 4];
    for (to, &stride) in strides.iter_mut().zip(x.strides()) {
        *to = stride as i32;
    }
    strides
}
