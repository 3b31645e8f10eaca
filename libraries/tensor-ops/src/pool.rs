//! Pooling of images: greatest and average, by strides and adaptive, and resizing.
//!
//! Owns [`PoolOptions`], [`Interpolation`] and the launches of `kernels/pool.metal`. Images are of
//! shape image, channel, row, column; others by [`Tensor::permute`]. Invariant: positions outside
//! of the image are never read; they count as zeros in averages if the options say so.

use anymetal::argument::Plain;
use bytemuck::{Pod, Zeroable};

use crate::checks::require_floats;
use crate::context::Ops;
use crate::conv::{four, four_strides};
use crate::counted::Path;
use crate::dtype::DType;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::tensor::Tensor;

/// How a window moves over an image; pairs are rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolOptions {
    /// Rows and columns of a window.
    pub window: [usize; 2],
    /// Steps between windows.
    pub stride: [usize; 2],
    /// Positions around the image, at most half a window.
    pub padding: [usize; 2],
    /// Whether averages count positions outside of the image.
    pub count_padding: bool,
}

impl PoolOptions {
    /// Windows beside each other.
    pub fn new(window: [usize; 2]) -> PoolOptions {
        PoolOptions { window, stride: window, padding: [0, 0], count_padding: true }
    }
}

/// How an image is resized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpolation {
    /// The element above and left of the position.
    Nearest,
    /// Between four elements; edges of both images are the same.
    Bilinear,
    /// Between four elements; centres of the corner elements of both images are the same.
    BilinearCorners,
}

/// The structure `Pool` of the kernels.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Windows {
    channels: u32,
    size: [i32; 2],
    out: [i32; 2],
    window: [i32; 2],
    stride: [i32; 2],
    padding: [i32; 2],
    count_padding: i32,
    in_strides: [i32; 4],
    in_offset: i32,
}

impl Windows {
    fn moving(operation: &'static str, x: &Tensor, options: &PoolOptions) -> Result<Windows, OpError> {
        let [_, channels, height, width] = four(operation, x)?;
        let positions = |size: usize, d: usize| {
            let (window, padding) = (options.window[d], options.padding[d]);
            let room = (size + 2 * padding).checked_sub(window)?;
            let valid = window > 0 && 2 * padding <= window;
            room.checked_div(options.stride[d]).map(|steps| steps + 1).filter(|_| valid)
        };
        let (Some(rows), Some(columns)) = (positions(height, 0), positions(width, 1)) else {
            let rule = "windows and strides must not be zero, a window must fit the padded image, and the \
                        padding at most half a window";
            return Err(OpError::shape(operation, &[x.shape()], rule));
        };
        let pair = |[y, x]: [usize; 2]| [y as i32, x as i32];
        Ok(Windows {
            channels: channels as u32,
            size: pair([height, width]),
            out: pair([rows, columns]),
            window: pair(options.window),
            stride: pair(options.stride),
            padding: pair(options.padding),
            count_padding: options.count_padding.into(),
            ..Windows::zeroed()
        })
    }

    fn adaptive(operation: &'static str, x: &Tensor, out: [usize; 2]) -> Result<Windows, OpError> {
        let [_, channels, height, width] = four(operation, x)?;
        if height == 0 || width == 0 || out.contains(&0) {
            return Err(OpError::shape(operation, &[x.shape(), &out], "no image and no result may be empty"));
        }
        Ok(Windows {
            channels: channels as u32,
            size: [height as i32, width as i32],
            out: [out[0] as i32, out[1] as i32],
            ..Windows::zeroed()
        })
    }

    fn reading(self, x: &Tensor) -> Windows {
        Windows { in_strides: four_strides(x), in_offset: x.offset() as i32, ..self }
    }

    fn out_shape(&self, x: &Tensor) -> [usize; 4] {
        [x.shape()[0], x.shape()[1], self.out[0] as usize, self.out[1] as usize]
    }
}

impl Ops {
    /// The greatest element of each window, NaN if one is, and its position in its plane, as `u32`.
    pub fn max_pool2d(&self, x: &Tensor, options: &PoolOptions) -> Result<(Tensor, Tensor), OpError> {
        let windows = Windows::moving("max_pool2d", x, options)?;
        self.max_by("max_pool2d", x, windows, Defines::default())
    }

    /// The mean of each window.
    pub fn avg_pool2d(&self, x: &Tensor, options: &PoolOptions) -> Result<Tensor, OpError> {
        let windows = Windows::moving("avg_pool2d", x, options)?;
        self.mean_by("avg_pool2d", x, windows, Defines::default())
    }

    /// The greatest elements of as many windows as the result has positions, and their positions.
    pub fn adaptive_max_pool2d(&self, x: &Tensor, out: [usize; 2]) -> Result<(Tensor, Tensor), OpError> {
        let windows = Windows::adaptive("adaptive_max_pool2d", x, out)?;
        self.max_by("adaptive_max_pool2d", x, windows, adaptive())
    }

    /// The means of as many windows as the result has positions.
    pub fn adaptive_avg_pool2d(&self, x: &Tensor, out: [usize; 2]) -> Result<Tensor, OpError> {
        let windows = Windows::adaptive("adaptive_avg_pool2d", x, out)?;
        self.mean_by("adaptive_avg_pool2d", x, windows, adaptive())
    }

    /// The gradient of the image of a pooling by greatest elements, of rows and columns as given,
    /// from the positions and the gradient of the result.
    pub fn max_pool2d_backward(
        &self,
        size: [usize; 2],
        positions: &Tensor,
        gradient: &Tensor,
    ) -> Result<Tensor, OpError> {
        let [images, channels, rows, columns] = four("max_pool2d_backward", gradient)?;
        let planes = self.zeros(&[images * channels, size[0] * size[1]], gradient.dtype())?;
        let lines = [images * channels, rows * columns];
        let (positions, gradient) = (self.reshape(positions, &lines)?, self.reshape(gradient, &lines)?);
        self.scatter_add(&planes, 1, &positions, &gradient)?.view(&[images, channels, size[0], size[1]])
    }

    /// The gradient of the image of [`Ops::avg_pool2d`] from that of the result.
    pub fn avg_pool2d_backward(
        &self,
        x: &Tensor,
        options: &PoolOptions,
        gradient: &Tensor,
    ) -> Result<Tensor, OpError> {
        let windows = Windows::moving("avg_pool2d_backward", x, options)?;
        self.mean_back("avg_pool2d_backward", x, windows, gradient, Defines::default())
    }

    /// The gradient of the image of [`Ops::adaptive_avg_pool2d`] from that of the result.
    pub fn adaptive_avg_pool2d_backward(&self, x: &Tensor, gradient: &Tensor) -> Result<Tensor, OpError> {
        let [.., rows, columns] = four("adaptive_avg_pool2d_backward", gradient)?;
        let windows = Windows::adaptive("adaptive_avg_pool2d_backward", x, [rows, columns])?;
        self.mean_back("adaptive_avg_pool2d_backward", x, windows, gradient, adaptive())
    }

    /// Images with other rows and columns.
    pub fn interpolate(&self, x: &Tensor, out: [usize; 2], how: Interpolation) -> Result<Tensor, OpError> {
        let windows = Windows::adaptive("interpolate", x, out)?;
        if how != Interpolation::Nearest {
            require_floats("interpolate", &[Some(x)])?;
        }
        let result = self.empty(&windows.out_shape(x), x.dtype())?;
        if result.is_empty() {
            return Ok(result);
        }
        let kernel = if how == Interpolation::Nearest { "nearest" } else { "bilinear" };
        let defines = types(&result, x).with("C", x.dtype().msl_compute());
        let pipeline = self.pipeline(Source::Pool, kernel, defines)?;
        let launch = self.call(&pipeline).arg(result.buffer()).arg(x.buffer());
        let mut launch = launch.arg(Plain(windows.reading(x)));
        if how != Interpolation::Nearest {
            launch = launch.arg(i32::from(how == Interpolation::BilinearCorners));
        }
        self.submit(launch.threads(grid(&result)).group_size((32, 8, 1)))?;
        let flop = if how == Interpolation::Nearest { 0 } else { 9 * result.len() as u64 };
        self.count("interpolate", Path::Own, flop, x.byte_len() + result.byte_len());
        Ok(result)
    }

    fn max_by(
        &self,
        operation: &'static str,
        x: &Tensor,
        windows: Windows,
        defines: Defines,
    ) -> Result<(Tensor, Tensor), OpError> {
        let shape = windows.out_shape(x);
        let (out, places) = (self.empty(&shape, x.dtype())?, self.empty(&shape, DType::U32)?);
        if !out.is_empty() {
            let defines = defines.and(types(&out, x)).with("C", x.dtype().msl_compute());
            let pipeline = self.pipeline(Source::Pool, "max_pool", defines)?;
            let launch = self.call(&pipeline).arg(out.buffer()).arg(places.buffer());
            let launch = launch.arg(x.buffer()).arg(Plain(windows.reading(x)));
            self.submit(launch.threads(grid(&out)).group_size((32, 8, 1)))?;
        }
        self.count_pool(operation, x, &out);
        Ok((out, places))
    }

    fn mean_by(
        &self,
        operation: &'static str,
        x: &Tensor,
        windows: Windows,
        defines: Defines,
    ) -> Result<Tensor, OpError> {
        require_floats(operation, &[Some(x)])?;
        let out = self.empty(&windows.out_shape(x), x.dtype())?;
        self.launch_mean("avg_pool", x, &out, windows, defines)?;
        self.count_pool(operation, x, &out);
        Ok(out)
    }

    fn mean_back(
        &self,
        operation: &'static str,
        x: &Tensor,
        windows: Windows,
        gradient: &Tensor,
        defines: Defines,
    ) -> Result<Tensor, OpError> {
        require_floats(operation, &[Some(x), Some(gradient)])?;
        if gradient.shape() != windows.out_shape(x) {
            let rule = "the gradient must have the shape of the result";
            return Err(OpError::shape(operation, &[x.shape(), gradient.shape()], rule));
        }
        let out = self.empty(x.shape(), x.dtype())?;
        self.launch_mean("avg_pool_back", gradient, &out, windows, defines)?;
        self.count_pool(operation, x, gradient);
        Ok(out)
    }

    fn launch_mean(
        &self,
        kernel: &'static str,
        from: &Tensor,
        out: &Tensor,
        windows: Windows,
        defines: Defines,
    ) -> Result<(), OpError> {
        if out.is_empty() {
            return Ok(());
        }
        let defines = defines.and(types(out, from)).with("C", "float");
        let pipeline = self.pipeline(Source::Pool, kernel, defines)?;
        let launch = self.call(&pipeline).arg(out.buffer()).arg(from.buffer());
        let launch = launch.arg(Plain(windows.reading(from)));
        self.submit(launch.threads(grid(out)).group_size((32, 8, 1)))
    }

    fn count_pool(&self, operation: &'static str, x: &Tensor, out: &Tensor) {
        self.count(operation, Path::Own, x.len() as u64, x.byte_len() + out.byte_len());
    }
}

fn adaptive() -> Defines {
    Defines::default().with("ADAPTIVE", 1)
}

fn types(out: &Tensor, x: &Tensor) -> Defines {
    Defines::default().with("T0", out.dtype().msl()).with("T1", x.dtype().msl())
}

/// Columns, rows, planes.
fn grid(out: &Tensor) -> (usize, usize, usize) {
    let shape = out.shape();
    (shape[3], shape[2], shape[0] * shape[1])
}
