//! Convolutions, pooling, resizing.

use std::io::Write;

use anymetal_tensor_ops::{ConvOptions, DType, ImageLayout, Interpolation, OpError, PoolOptions};

use crate::case::Cases;

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

pub(crate) fn write(cases: &mut Cases<impl Write>) -> Result<(), OpError> {
    for dtype in FLOATS {
        convolutions(cases, dtype)?;
        pooling(cases, dtype)?;
        resizing(cases, dtype)?;
    }
    Ok(())
}

fn options(stride: [usize; 2], padding: [usize; 2], dilation: [usize; 2], groups: usize) -> ConvOptions {
    ConvOptions { stride, padding, dilation, groups, ..ConvOptions::default() }
}

fn convolutions(cases: &mut Cases<impl Write>, dtype: DType) -> Result<(), OpError> {
    let ops = cases.ops();
    // Image, filters, options: dense ones, groups, depthwise.
    let shapes = [
        ([2, 4, 11, 13], [8, 4, 3, 3], options([1, 1], [1, 1], [1, 1], 1)),
        ([2, 4, 11, 13], [6, 4, 3, 2], options([2, 3], [2, 0], [1, 2], 1)),
        ([2, 6, 9, 10], [12, 3, 3, 3], options([1, 2], [0, 1], [2, 1], 2)),
        ([1, 5, 9, 10], [5, 1, 3, 5], options([2, 1], [1, 2], [1, 1], 5)),
        ([3, 3, 7, 7], [2, 3, 7, 7], options([1, 1], [0, 0], [1, 1], 1)),
    ];
    for (image, filters, options) in shapes {
        let (x, w) = (cases.floats(&image, dtype, -1.0, 1.0)?, cases.floats(&filters, dtype, -0.5, 0.5)?);
        let b = cases.floats(&filters[..1], dtype, -1.0, 1.0)?;
        let ConvOptions { stride: [sy, sx], padding: [py, px], dilation: [dy, dx], groups, .. } = options;
        let arguments =
            format!("stride=({sy}, {sx}), padding=({py}, {px}), dilation=({dy}, {dx}), groups={groups}");
        let expr = format!("F.conv2d(x0, x1, x2, {arguments})");
        let y = ops.conv2d(&x, &w, Some(&b), &options)?;
        cases.forward("conv2d", expr.as_str(), &[&x, &w, &b], &[&y])?;
        let g = cases.floats(y.shape(), dtype, -1.0, 1.0)?;
        let (of_x, of_w, of_b) = ops.conv2d_backward(&x, &w, &g, &options)?;
        cases.backward("conv2d", expr.as_str(), &[&x, &w, &b], &g, &[&of_x, &of_w, &of_b])?;
        // Channels last.
        let last = ConvOptions { layout: ImageLayout::Nhwc, ..options };
        let y = ops.conv2d(&ops.copy(&x.permute(&[0, 2, 3, 1])?)?, &w, Some(&b), &last)?;
        cases.forward("conv2d nhwc", format!("{expr}.permute(0, 2, 3, 1)"), &[&x, &w, &b], &[&y])?;
        // Transposed: the filters' first dimension is the input's channels.
        let z = cases.floats(&[2, filters[0], 5, 6], dtype, -1.0, 1.0)?;
        let b = cases.floats(&[filters[1] * groups], dtype, -1.0, 1.0)?;
        let more = [if sy > 1 { 1 } else { 0 }, if sx > 1 { 1 } else { 0 }];
        let expr =
            format!("F.conv_transpose2d(x0, x1, x2, {arguments}, output_padding=({}, {}))", more[0], more[1]);
        let y = ops.conv_transpose2d(&z, &w, Some(&b), &ConvOptions { output_padding: more, ..options })?;
        cases.forward("conv_transpose2d", expr, &[&z, &w, &b], &[&y])?;
    }
    let (x, w) = (cases.floats(&[3, 4, 40], dtype, -1.0, 1.0)?, cases.floats(&[8, 2, 5], dtype, -0.5, 0.5)?);
    let line = options([1, 2], [0, 3], [1, 2], 2);
    let arguments = "stride=2, padding=3, dilation=2, groups=2";
    let y = ops.conv1d(&x, &w, None, &line)?;
    cases.forward("conv1d", format!("F.conv1d(x0, x1, None, {arguments})"), &[&x, &w], &[&y])?;
    let z = cases.floats(&[3, 8, 17], dtype, -1.0, 1.0)?;
    let y = ops.conv_transpose1d(&z, &w, None, &line)?;
    cases.forward(
        "conv_transpose1d",
        format!("F.conv_transpose1d(x0, x1, None, {arguments})"),
        &[&z, &w],
        &[&y],
    )
}

fn pooling(cases: &mut Cases<impl Write>, dtype: DType) -> Result<(), OpError> {
    let ops = cases.ops();
    let x = cases.floats(&[2, 3, 11, 14], dtype, -1.0, 1.0)?;
    for ([ky, kx], [sy, sx], [py, px]) in
        [([2, 2], [2, 2], [0, 0]), ([3, 4], [2, 1], [1, 2]), ([3, 2], [1, 3], [0, 1])]
    {
        let arguments = format!("({ky}, {kx}), ({sy}, {sx}), ({py}, {px})");
        let mut options =
            PoolOptions { window: [ky, kx], stride: [sy, sx], padding: [py, px], count_padding: true };
        let (y, places) = ops.max_pool2d(&x, &options)?;
        let expr = format!("F.max_pool2d(x0, {arguments})");
        cases.forward(
            "max_pool2d",
            format!("F.max_pool2d(x0, {arguments}, return_indices=True)"),
            &[&x],
            &[&y, &places],
        )?;
        let g = cases.floats(y.shape(), dtype, -1.0, 1.0)?;
        cases.backward("max_pool2d", expr, &[&x], &g, &[&ops.max_pool2d_backward([11, 14], &places, &g)?])?;
        for (counted, text) in [(true, "True"), (false, "False")] {
            options.count_padding = counted;
            let expr = format!("F.avg_pool2d(x0, {arguments}, count_include_pad={text})");
            cases.forward("avg_pool2d", expr.as_str(), &[&x], &[&ops.avg_pool2d(&x, &options)?])?;
            cases.backward("avg_pool2d", expr, &[&x], &g, &[&ops.avg_pool2d_backward(&x, &options, &g)?])?;
        }
    }
    for out in [[1, 1], [3, 5], [11, 4]] {
        let size = format!("({}, {})", out[0], out[1]);
        let (y, places) = ops.adaptive_max_pool2d(&x, out)?;
        let expr = format!("F.adaptive_max_pool2d(x0, {size}, return_indices=True)");
        cases.forward("adaptive_max_pool2d", expr, &[&x], &[&y, &places])?;
        let expr = format!("F.adaptive_avg_pool2d(x0, {size})");
        cases.forward("adaptive_avg_pool2d", expr.as_str(), &[&x], &[&ops.adaptive_avg_pool2d(&x, out)?])?;
        let g = cases.floats(y.shape(), dtype, -1.0, 1.0)?;
        cases.backward(
            "adaptive_avg_pool2d",
            expr,
            &[&x],
            &g,
            &[&ops.adaptive_avg_pool2d_backward(&x, &g)?],
        )?;
    }
    Ok(())
}

fn resizing(cases: &mut Cases<impl Write>, dtype: DType) -> Result<(), OpError> {
    let ops = cases.ops();
    let x = cases.floats(&[2, 3, 6, 7], dtype, -1.0, 1.0)?;
    for out in [[12, 14], [3, 5], [7, 20]] {
        let size = format!("({}, {})", out[0], out[1]);
        let hows = [
            (Interpolation::Nearest, "mode='nearest'"),
            (Interpolation::Bilinear, "mode='bilinear', align_corners=False"),
            (Interpolation::BilinearCorners, "mode='bilinear', align_corners=True"),
        ];
        for (how, text) in hows {
            let y = ops.interpolate(&x, out, how)?;
            cases.forward("interpolate", format!("F.interpolate(x0, {size}, {text})"), &[&x], &[&y])?;
        }
    }
    Ok(())
}
