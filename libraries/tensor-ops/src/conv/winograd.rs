//! Convolutions of three by three filters with fewer products: Winograd's minimal filtering.
//!
//! Owns the launches of the kernels `winograd_…`, and when they are taken. Invariant: everything between
//! input and result is in `f32`, so that the result differs from the sum over the window by a few roundings.

use anymetal::argument::Plain;

use super::window::Window;
use crate::context::Ops;
use crate::counted::Path;
use crate::dtype::DType;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::launch::{MAX_GROUPS, Shaping};
use crate::matmul::MatmulOptions;
use crate::tensor::Tensor;

/// Elements of a tile, of filters and images alike.
const ELEMENTS: usize = 16;

/// Elements of transformed images and products at one time.
const MAX_ELEMENTS: usize = 1 << 26;

/// Channels and filters from which on the products are most of the work.
const MIN_CHANNELS: u32 = 16;

/// Rows and columns of a result from which on tiles at its edge are few.
const MIN_EXTENT: u32 = 8;

impl Ops {
    /// Whether a convolution is made so: one that has three by three neighbouring elements at every
    /// position, in `f32`, on GPUs. On processors the transforms and products over few channels take what is
    /// saved: for 8 images of 32 channels, 56 by 56, and 64 filters 22 ms of processor time, of which the
    /// products are 15; the products with the unfolded images alone take 16.
    pub(super) fn winograd_applies(&self, image: &Tensor, weight: &Tensor, window: &Window) -> bool {
        self.shaping() == Shaping::Gpu
            && (window.kernel, window.stride, window.dilation, window.groups) == ([3, 3], [1, 1], [1, 1], 1)
            && [image, weight].iter().all(|tensor| tensor.dtype() == DType::F32)
            && window.channels.min(window.out_channels) >= MIN_CHANNELS
            && window.out_height.min(window.out_width) >= MIN_EXTENT
    }

    /// A convolution for which [`Ops::winograd_applies`] holds, some images at a time.
    pub(super) fn conv_by_winograd(
        &self,
        image: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
        window: &Window,
    ) -> Result<(Tensor, Path), OpError> {
        let (images, window) = (image.shape()[0], window.with_weight(weight, bias));
        let (channels, filters) = (window.channels as usize, window.out_channels as usize);
        let [down, across] = [window.out_height, window.out_width].map(|extent| extent.div_ceil(2) as usize);
        let of_filters = self.empty(&[ELEMENTS, filters, channels], DType::F32)?;
        let out = self.empty(&window.out_shape(images), DType::F32)?;
        let mut taken = Path::Own;
        if out.is_empty() {
            return Ok((out, taken));
        }
        let bias_type = bias.unwrap_or(weight).dtype().msl();
        let defines = Defines::default().with("WINOGRAD", 1).with("T0", "float").with("T1", "float");
        let defines = defines.with("T2", "float").with("T3", bias_type);
        let pipeline = |name, defines| self.pipeline(Source::Conv, name, defines);
        let transform = pipeline("winograd_filters", defines.clone())?;
        let launch = self.call(&transform).arg(of_filters.buffer()).arg(weight.buffer()).arg(Plain(window));
        self.submit(launch.threads((channels, filters)).group_size((32, 8)))?;
        let transform = pipeline("winograd_tiles", defines.clone())?;
        let back = match bias {
            Some(_) => pipeline("winograd_results", defines.with("BIAS", 1))?,
            None => pipeline("winograd_results", defines)?,
        };
        let step = MAX_ELEMENTS / (ELEMENTS * (channels + filters) * down * across);
        let step = step.min(MAX_GROUPS / channels.max(filters)).max(1);
        for first in (0..images).step_by(step) {
            let some = step.min(images - first);
            let seen = image.narrow(0, first..first + some)?;
            let columns = some * down * across;
            let tiles = [across, down, first, columns].map(|value| value as i32);
            let of_tiles = self.empty(&[ELEMENTS, channels, columns], DType::F32)?;
            let launch = self.call(&transform).arg(of_tiles.buffer()).arg(seen.buffer());
            let launch = launch.arg(Plain(window.with_input(&seen))).arg(tiles);
            self.submit(launch.threads((across, down, some * channels)).group_size((32, 8, 1)))?;
            let (product, path) =
                self.matrices_uncounted(&of_filters, &of_tiles, &MatmulOptions::default())?;
            taken = path;
            let launch = self.call(&back).arg(out.buffer()).arg(product.buffer());
            let launch = launch.arg(bias.unwrap_or(weight).buffer()).arg(Plain(window)).arg(tiles);
            self.submit(launch.threads((across, down, some * filters)).group_size((32, 8, 1)))?;
        }
        Ok((out, taken))
    }
}
