//! `conv.metal`: convolutions along one, two and three dimensions, of each channel by itself, transposed, and
//! the matrices that they are made of.

use super::kargs::Kargs;
use super::launch::{dispatch, ends_with};
use super::tensor::{Order, Tensor};
use crate::case::{Case, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

const F32: Dtype = Dtype::F32;

/// One dimension of a convolution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Axis {
    input: usize,
    size: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
}

const fn axis([input, size, stride, padding, dilation]: [usize; 5]) -> Axis {
    Axis { input, size, stride, padding, dilation }
}

impl Axis {
    fn outputs(self) -> usize {
        (self.input + 2 * self.padding - self.dilation * (self.size - 1) - 1) / self.stride + 1
    }

    /// Where an input is that an output and an element of the filter meet.
    fn place(self, output: usize, element: usize) -> Option<usize> {
        let place = (output * self.stride + element * self.dilation).checked_sub(self.padding)?;
        (place < self.input).then_some(place)
    }
}

/// Of a point, where nothing happens.
const POINT: Axis = axis([1, 1, 1, 0, 1]);

const PLANES: [[Axis; 2]; 4] = [
    [axis([9, 3, 1, 1, 1]), axis([7, 3, 1, 1, 1])],
    [axis([17, 4, 2, 3, 2]), axis([8, 2, 3, 0, 1])],
    [axis([5, 5, 1, 4, 1]), axis([11, 3, 2, 2, 3])],
    [axis([300, 7, 3, 0, 1]), POINT],
];

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let name = kernel.strip_prefix("kernel_")?;
    // Filters come first, images are of type `float`; the others have one type.
    let name = if name.starts_with("conv") { name.strip_suffix("_f32")? } else { name };
    let (kind, dtype) = name.rsplit_once('_')?;
    let dtype = Dtype::named(dtype)?;
    Some(match kind {
        "im2col" => PLANES.map(|plane| columns(kernel, dtype, plane, false)).into(),
        "im2col_ext" => PLANES.map(|plane| columns(kernel, dtype, plane, true)).into(),
        "col2im_1d" => [[5, 3, 4, 2, 0], [100, 2, 7, 3, 2], [1, 1, 3, 4, 1]]
            .map(|size| overlapped(kernel, dtype, size))
            .into(),
        "conv_2d" => PLANES
            .into_iter()
            .zip(ORDERS)
            .map(|(plane, order)| plane_of(kernel, dtype, plane, order))
            .collect(),
        "conv_2d_dw" | "conv_2d_dw_tiled" => {
            let tiled = kind.ends_with("tiled");
            PLANES
                .into_iter()
                .zip(ORDERS)
                .map(|(plane, order)| by_channel(kernel, dtype, plane, order, tiled))
                .collect()
        }
        "conv_3d" => [
            [axis([6, 3, 1, 1, 1]), axis([5, 2, 2, 0, 1]), axis([4, 3, 1, 2, 1])],
            [axis([9, 2, 1, 0, 3]), axis([3, 3, 1, 1, 1]), axis([7, 2, 3, 1, 2])],
        ]
        .map(|space| space_of(kernel, dtype, space))
        .into(),
        "conv_transpose_1d" => [[7, 4, 3, 5, 2], [33, 3, 1, 2, 5], [1, 1, 2, 9, 3]]
            .map(|size| spread_row(kernel, dtype, size))
            .into(),
        "conv_transpose_2d" => [([5, 4], [3, 3], 2), ([6, 7], [2, 5], 1), ([3, 3], [1, 2], 3)]
            .map(|(image, filter, stride)| spread(kernel, dtype, image, filter, stride))
            .into(),
        _ => return None,
    })
}

const ORDERS: [Order; 4] = [Order::Contiguous, Order::Padded, Order::Permuted, Order::Transposed];

fn filter(dtype: Dtype, ne: [usize; 4]) -> Tensor {
    Tensor::between(dtype, 371, ne, Order::Contiguous, -1.0, 1.0)
}

fn image(ne: [usize; 4], order: Order) -> Tensor {
    Tensor::between(F32, 372, ne, order, -1.0, 1.0)
}

/// Sums of products of numbers below 1.
fn near() -> Tolerance {
    Tolerance::Near { relative: 1e-6, absolute: 2e-5 }
}

/// Sets `sD`, `pD` and `dD`.
fn axes(kargs: Kargs, axes: &[Axis]) -> Kargs {
    axes.iter().enumerate().fold(kargs, |kargs, (d, axis)| {
        let kargs = kargs.set(&format!("s{d}"), axis.stride).set(&format!("p{d}"), axis.padding);
        kargs.set(&format!("d{d}"), axis.dilation)
    })
}

/// Sets what fields are named after: inputs, filters and outputs across and down.
fn extents(kargs: Kargs, [across, down]: [Axis; 2]) -> Kargs {
    let kargs =
        kargs.set("IW", across.input).set("IH", down.input).set("KW", across.size).set("KH", down.size);
    axes(kargs.set("OW", across.outputs()).set("OH", down.outputs()), &[across, down])
}

/// Every element that a filter meets, as a row.
fn columns(kernel: &str, dtype: Dtype, plane: [Axis; 2], large: bool) -> Case {
    let ([across, down], channels, images) = (plane, 3, 5);
    let input = image([across.input, down.input, channels, images], Order::Contiguous);
    let (elements, outputs) = (across.size * down.size, [across.outputs(), down.outputs()]);
    let row = elements * channels;
    let number = |[i0, x, y, image]: [usize; 4]| {
        let from = [across.place(x, i0 % across.size), down.place(y, i0 / across.size % down.size)];
        let [Some(x), Some(y)] = from else { return 0.0 };
        input.at([x, y, i0 / elements, image])
    };
    let expected =
        Data::from_numbers(dtype, Tensor::places([row, outputs[0], outputs[1], images]).map(number));
    let kargs =
        Kargs::new("im2col").set("ofs0", input.nb[3] / 4).set("ofs1", input.nb[2] / 4).set("N", images);
    let kargs = axes(kargs.set("IW", across.input).set("IH", down.input).set("CHW", row), &plane);
    let kargs = kargs.set("KW", across.size).set("KH", down.size).set("KHW", elements);
    // Filters of more elements than a threadgroup has threads take the other kernel; a pipeline may have few.
    let launch = match large {
        false => {
            let together = (64 / elements).clamp(1, images);
            dispatch(kernel, [channels, outputs[1], outputs[0]], [together, down.size, across.size], &kargs)
        }
        true => {
            let together = 2;
            dispatch(
                kernel,
                [images.div_ceil(together) * row, outputs[1], outputs[0]],
                [together, 1, 1],
                &kargs,
            )
        }
    };
    ends_with(format!("{plane:?}"), launch.scalar(&input.bytes), expected, Tolerance::Exact)
}

/// Overlapping pieces added up: the second half of a transposed convolution.
fn overlapped(kernel: &str, dtype: Dtype, [steps, channels, size, stride, cut]: [usize; 5]) -> Case {
    let pieces = Tensor::between(dtype, 373, [size * channels, steps, 1, 1], Order::Contiguous, -1.0, 1.0);
    let outputs = (steps - 1) * stride + size - 2 * cut;
    let number = |[output, channel, ..]: [usize; 4]| {
        let met = (0..steps).filter_map(|step| Some((step, (output + cut).checked_sub(step * stride)?)));
        let met = met.filter(|&(_, element)| element < size);
        met.map(|(step, element)| pieces.at([channel * size + element, step, 0, 0])).sum::<f64>()
    };
    let expected = Data::from_numbers(dtype, Tensor::places([outputs, channels, 1, 1]).map(number));
    let kargs =
        Kargs::new("col2im_1d").set("T_in", steps).set("T_out", outputs).set("OC", channels).set("K", size);
    let kargs = kargs.set("K_OC", size * channels).set("s0", stride).set("p0", cut);
    let launch = dispatch(kernel, [(outputs * channels).div_ceil(256), 1, 1], [256, 1, 1], &kargs);
    let tolerance = Tolerance::rounding(dtype, 1.01, 1e-6 / dtype.epsilon());
    ends_with(
        format!("{steps} steps, filter {size}, stride {stride}"),
        launch.scalar(&pieces.bytes),
        expected,
        tolerance,
    )
}

/// The sum over a filter: where elements of the input are, times the filter's.
fn sum_over(
    [across, down]: [Axis; 2],
    [x, y]: [usize; 2],
    product: impl Fn([usize; 2], [usize; 2]) -> f64,
) -> f64 {
    let elements = (0..down.size).flat_map(|b| (0..across.size).map(move |a| [a, b]));
    let met = elements.filter_map(|[a, b]| Some(([across.place(x, a)?, down.place(y, b)?], [a, b])));
    met.map(|(place, element)| product(place, element)).sum()
}

fn plane_of(kernel: &str, dtype: Dtype, plane: [Axis; 2], order: Order) -> Case {
    let [ins, outs, images] = [3, 4, 2];
    let weights = filter(dtype, [plane[0].size, plane[1].size, ins, outs]);
    let input = image([plane[0].input, plane[1].input, ins, images], order);
    let ne = [plane[0].outputs(), plane[1].outputs(), outs, images];
    let number = |[x, y, out, image]: [usize; 4]| {
        let of = |channel| {
            sum_over(plane, [x, y], |[i, j], [a, b]| {
                input.at([i, j, channel, image]) * weights.at([a, b, channel, out])
            })
        };
        (0..ins).map(of).sum::<f64>()
    };
    let expected = Data::from_numbers(F32, Tensor::places(ne).map(number));
    let kargs =
        Kargs::new("conv_2d").tensor("0", &weights).tensor("1", &input).tensor("", &Tensor::shape(ne, 4));
    let kargs = extents(kargs, plane).set("IC", ins).set("OC", outs).set("N", images);
    let launch = dispatch(kernel, [expected.len().div_ceil(256), 1, 1], [256, 1, 1], &kargs);
    bound(format!("{plane:?}, {order:?}"), launch, &weights, &input, expected)
}

fn bound(name: String, launch: Launch, weights: &Tensor, input: &Tensor, expected: Data) -> Case {
    ends_with(name, launch.scalar(&weights.bytes).scalar(&input.bytes), expected, near())
}

fn by_channel(kernel: &str, dtype: Dtype, plane: [Axis; 2], order: Order, tiled: bool) -> Case {
    let [channels, images] = [35, 2];
    let order = if tiled { Order::Channels } else { order };
    let weights = filter(dtype, [plane[0].size, plane[1].size, 1, channels]);
    let input = image([plane[0].input, plane[1].input, channels, images], order);
    let ne = [plane[0].outputs(), plane[1].outputs(), channels, images];
    let number = |[x, y, channel, image]: [usize; 4]| {
        sum_over(plane, [x, y], |[i, j], [a, b]| {
            input.at([i, j, channel, image]) * weights.at([a, b, 0, channel])
        })
    };
    let expected = Data::from_numbers(F32, Tensor::places(ne).map(number));
    let kargs =
        Kargs::new("conv_2d_dw").tensor("0", &weights).tensor("1", &input).tensor("", &Tensor::shape(ne, 4));
    let kargs = extents(kargs, plane).set("C", channels).set("N", images).set("nb02", weights.nb[3]);
    let groups = match tiled {
        true => [channels.div_ceil(256), ne[1], ne[0] * images],
        false => [ne[0].div_ceil(256), ne[1], channels * images],
    };
    let launch = dispatch(kernel, groups, [256, 1, 1], &kargs);
    bound(format!("{plane:?}, {order:?}"), launch, &weights, &input, expected)
}

fn space_of(kernel: &str, dtype: Dtype, space: [Axis; 3]) -> Case {
    let [ins, outs, images] = [2, 3, 2];
    let [across, down, deep] = space;
    let weights = filter(dtype, [across.size, down.size, deep.size, ins * outs]);
    let input = image([across.input, down.input, deep.input, ins * images], Order::Padded);
    let ne = [across.outputs(), down.outputs(), deep.outputs(), outs * images];
    let number = |[x, y, z, both]: [usize; 4]| {
        let (out, image) = (both % outs, both / outs);
        let of = |channel: usize, element: usize, k: usize| {
            sum_over([across, down], [x, y], |[i, j], [a, b]| {
                input.at([i, j, k, image * ins + channel]) * weights.at([a, b, element, out * ins + channel])
            })
        };
        let elements = (0..deep.size).filter_map(|element| Some((element, deep.place(z, element)?)));
        elements
            .flat_map(|(element, k)| (0..ins).map(move |channel| (channel, element, k)))
            .map(|(channel, element, k)| of(channel, element, k))
            .sum::<f64>()
    };
    let expected = Data::from_numbers(F32, Tensor::places(ne).map(number));
    let kargs =
        Kargs::new("conv_3d").tensor("0", &weights).tensor("1", &input).tensor("", &Tensor::shape(ne, 4));
    let kargs = axes(extents(kargs, [across, down]), &space).set("ID", deep.input).set("KD", deep.size);
    let kargs = kargs.set("OD", deep.outputs()).set("IC", ins).set("N", images).set("OC", outs);
    let launch = dispatch(kernel, [(ne[0] * ne[1] * ne[2]).div_ceil(32), outs, images], [32, 1, 1], &kargs);
    bound(format!("{space:?}"), launch, &weights, &input, expected)
}

/// What inputs add to an output: of each, the element of the filter that meets it.
fn met(
    output: usize,
    inputs: usize,
    size: usize,
    stride: usize,
) -> impl Iterator<Item = (usize, usize)> + Clone {
    let meets = move |input| Some((input, output.checked_sub(input * stride)?));
    (0..inputs).filter_map(meets).filter(move |&(_, element)| element < size)
}

fn spread_row(kernel: &str, dtype: Dtype, [inputs, ins, outs, size, stride]: [usize; 5]) -> Case {
    let weights = filter(dtype, [size, outs, ins, 1]);
    let input = image([inputs, ins, 1, 1], Order::Contiguous);
    let ne = [(inputs - 1) * stride + size, outs, 1, 1];
    let number = |[output, out, ..]: [usize; 4]| {
        let of = |channel: usize| {
            let products = met(output, inputs, size, stride)
                .map(|(i, element)| input.at([i, channel, 0, 0]) * weights.at([element, out, channel, 0]));
            products.sum::<f64>()
        };
        (0..ins).map(of).sum::<f64>()
    };
    let expected = Data::from_numbers(F32, Tensor::places(ne).map(number));
    let kargs = Kargs::new("conv_transpose_1d").tensor("", &Tensor::shape(ne, 4));
    let kargs = kargs.set("IC", ins).set("IL", inputs).set("K", size).set("s0", stride);
    let launch = dispatch(kernel, [ne[0], outs, 1], [1, 1, 1], &kargs);
    bound(format!("{inputs} inputs, filter {size}, stride {stride}"), launch, &weights, &input, expected)
}

fn spread(kernel: &str, dtype: Dtype, size: [usize; 2], elements: [usize; 2], stride: usize) -> Case {
    let [ins, outs, images] = [3, 2, 2];
    let weights = filter(dtype, [elements[0], elements[1], outs, ins]);
    let input = image([size[0], size[1], ins, images], Order::Contiguous);
    let [width, height] = [0, 1].map(|d| (size[d] - 1) * stride + elements[d]);
    let number = |[x, y, out, image]: [usize; 4]| {
        let rows = met(y, size[1], elements[1], stride);
        let both =
            rows.flat_map(|(j, b)| met(x, size[0], elements[0], stride).map(move |(i, a)| [i, j, a, b]));
        let product = |[i, j, a, b]: [usize; 4]| {
            (0..ins)
                .map(|channel| input.at([i, j, channel, image]) * weights.at([a, b, out, channel]))
                .sum::<f64>()
        };
        both.map(product).sum::<f64>()
    };
    let ne = [width, height, outs, images];
    let expected = Data::from_numbers(F32, Tensor::places(ne).map(number));
    let kargs =
        Kargs::new("conv_transpose_2d").tensor("", &Tensor::shape(ne, 4)).set("IC", ins).set("OC", outs);
    let kargs = kargs
        .set("IW", size[0])
        .set("IH", size[1])
        .set("KW", elements[0])
        .set("KH", elements[1])
        .set("s0", stride);
    let launch = dispatch(kernel, [width, height, outs * images], [elements[0], elements[1], 1], &kargs);
    let case =
        bound(format!("{size:?}, filter {elements:?}, stride {stride}"), launch, &weights, &input, expected);
    let memory = (elements[0] * elements[1] * 4).next_multiple_of(16) as u64;
    Case { launch: case.launch.clone().threadgroup(0, memory), ..case }
}
