//! `unary.metal` and `binbcast.metal`: functions of one tensor; sums, differences, products and quotients of
//! a tensor and smaller ones, which repeat.

use super::kargs::Kargs;
use super::tensor::{Order, Tensor};
use crate::candle::unary::erf;
use crate::candle::{guarded, untouched};
use crate::case::{Case, Constant, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

const SCALE: f32 = 1.25;
const BIAS: f32 = -0.5;
const SLOPE: f32 = 0.125;
const VALUE: f32 = 3.5;
const BOUNDS: [f32; 2] = [-1.5, 2.0];

/// A function: its number in function constant 1200, its bounds, how exact it is, what it computes.
type Function = (i64, [f64; 2], f64, fn(f64) -> f64);

/// In units of a float's epsilon, relative and absolute.
const FUNCTIONS: &[Function] = &[
    (10, [-9.0, 9.0], 2.0, |x| f64::from(SCALE) * x + f64::from(BIAS)),
    (11, [-9.0, 9.0], 0.0, |_| VALUE as f64),
    (12, [-9.0, 9.0], 0.0, |x| x.clamp(BOUNDS[0] as f64, BOUNDS[1] as f64)),
    (13, [-9.0, 9.0], 1.0, |x| x * x),
    (14, [0.1, 90.0], 1.0, f64::sqrt),
    (15, [-9.0, 9.0], 8.0, f64::sin),
    (16, [-9.0, 9.0], 8.0, f64::cos),
    (17, [0.1, 90.0], 8.0, f64::ln),
    (18, [-9.0, 9.0], 1.0, |x| if x > 0.0 { x } else { x * SLOPE as f64 }),
    (100, [-9.0, 9.0], 8.0, f64::tanh),
    (101, [-9.0, 9.0], 0.0, |x| x.max(0.0)),
    (102, [-9.0, 9.0], 16.0, |x| 1.0 / (1.0 + (-x).exp())),
    (103, [-4.0, 4.0], 64.0, |x| {
        let inner = (2.0 / std::f64::consts::PI).sqrt() * x * (1.0 + 0.044715 * x * x);
        0.5 * x * (1.0 + inner.tanh())
    }),
    (104, [-4.0, 4.0], 64.0, |x| 0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2))),
    (105, [-4.0, 4.0], 64.0, |x| x / (1.0 + (-1.702 * x).exp())),
    (106, [-9.0, 9.0], 32.0, |x| x / (1.0 + (-x).exp())),
    (107, [-5.0, 5.0], 16.0, |x| if x > 0.0 { x } else { x.exp_m1() }),
    (108, [-9.0, 9.0], 0.0, |x| -x),
    (109, [-9.0, 9.0], 0.0, f64::abs),
    (110, [-9.0, 9.0], 0.0, |x| if x == 0.0 { 0.0 } else { x.signum() }),
    (111, [-9.0, 9.0], 0.0, |x| if x > 0.0 { 1.0 } else { 0.0 }),
    (112, [-5.0, 5.0], 4.0, |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
    (113, [-5.0, 5.0], 4.0, |x| (x / 6.0 + 0.5).clamp(0.0, 1.0)),
    (114, [-5.0, 5.0], 16.0, f64::exp),
    (115, [-9.0, 30.0], 32.0, |x| x.exp().ln_1p()),
    (116, [-5.0, 5.0], 32.0, f64::exp_m1),
    (117, [-9.0, 9.0], 0.0, f64::floor),
    (118, [-9.0, 9.0], 0.0, f64::ceil),
    (119, [-9.0, 9.0], 0.0, f64::round),
    (120, [-9.0, 9.0], 0.0, f64::trunc),
    (121, [-5.0, 5.0], 32.0, |x| {
        let above = if x > 0.0 { f64::from(SCALE) * x * x } else { (x.exp_m1() - x) * f64::from(SLOPE) };
        above + f64::from(BIAS) * x
    }),
];

/// The element type of a kernel's name, and whether it works on fours.
fn element(name: &str) -> Option<(Dtype, bool)> {
    let (name, four) = name.strip_suffix("_4").map_or((name, false), |name| (name, true));
    Some((Dtype::named(name.split('_').next()?)?, four))
}

/// The cases of a kernel of `unary.metal`.
pub fn unary_cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let (dtype, four) = element(kernel.strip_prefix("kernel_unary_")?)?;
    let mut cases = Vec::new();
    for function in FUNCTIONS {
        // Contiguous ones in one long row, others row by row.
        for contiguous in [true, false] {
            let columns = if four { 132 } else { 131 };
            cases.push(unary(kernel, dtype, four, function, [columns, 3, 2, 1], contiguous));
        }
    }
    Some(cases)
}

fn unary(
    kernel: &str,
    dtype: Dtype,
    four: bool,
    function: &Function,
    ne: [usize; 4],
    contiguous: bool,
) -> Case {
    let &(number, [low, high], epsilons, compute) = function;
    let order = if contiguous { Order::Contiguous } else { Order::Padded };
    let input = Tensor::between(dtype, number as u64, ne, order, low, high);
    let expected = Data::from_numbers(dtype, Tensor::places(ne).map(|place| compute(input.at(place))));
    let out = Tensor::shape(ne, dtype.size());
    let work = if four { ne[0] / 4 } else { ne[0] };
    let kargs = Kargs::new("unary").tensor("0", &input).tensor("", &out).set("ne00", work).set("ne0", work);
    let kargs = kargs.set("scale", SCALE).set("bias", BIAS).set("slope", SLOPE).set("val", VALUE);
    let kargs = kargs.set("min", BOUNDS[0]).set("max", BOUNDS[1]);
    let (grid, threads) = match contiguous {
        true => ([work * ne[1] * ne[2] * ne[3], 1, 1], 1),
        false => {
            let threads = work.min(256);
            ([work.div_ceil(threads) * ne[1], ne[2], ne[3]], threads)
        }
    };
    let launch = Launch::new(kernel, Grid::Groups(grid.map(|n| n as u32)), [threads as u32, 1, 1]);
    let launch = launch.scalar(kargs.bytes()).scalar(&input.bytes).data(&untouched(&expected));
    let launch = launch.constant(1200, Constant::Integer(number)).constant(1201, Constant::Bool(contiguous));
    let single = f64::from(f32::EPSILON) * epsilons;
    let rounded = if dtype == Dtype::F32 || epsilons == 0.0 { 0.0 } else { 1.01 * dtype.epsilon() };
    let tolerance = match epsilons {
        0.0 => Tolerance::Exact,
        _ => Tolerance::Near { relative: single + rounded, absolute: single },
    };
    let name = format!("function {number}, {ne:?}, {order:?}");
    Case::near(name, launch, 2, guarded(expected), tolerance, tolerance).through_library(epsilons > 1.0)
}

/// What differs between the cases of a kernel.
#[derive(Clone, Copy, Debug)]
struct Binary {
    operation: i64,
    /// How many second operands follow each other.
    fused: usize,
    /// The second operand is one row, and the first one contiguous.
    row: bool,
    /// The second operand repeats within a row, too.
    columns: bool,
    order: Order,
}

/// The cases of a kernel of `binbcast.metal`.
pub fn binary_cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let (dtype, four) = element(kernel.strip_prefix("kernel_bin_fuse_")?)?;
    let mut cases = Vec::new();
    for operation in 0..4 {
        for (fused, row, columns, order) in [
            (1, false, false, Order::Padded),
            (1, false, true, Order::Contiguous),
            (1, true, false, Order::Contiguous),
            (3, false, false, Order::Permuted),
            (2, true, true, Order::Contiguous),
        ] {
            cases.push(binary(kernel, dtype, four, Binary { operation, fused, row, columns, order }));
        }
    }
    Some(cases)
}

fn binary(kernel: &str, dtype: Dtype, four: bool, kind: Binary) -> Case {
    let Binary { operation, fused, row, columns, order } = kind;
    let width = if four { 132 } else { 131 };
    let ne = [width, 5, 3, 2];
    let left = Tensor::between(dtype, 61, ne, order, 0.5, 4.0);
    let small = if columns { if four { 44 } else { 1 } } else { width };
    let small = if row { [small, 1, 1, 1] } else { [small, 5, 1, 2] };
    let rights: Vec<Tensor> = (0..fused)
        .map(|i| Tensor::between(dtype, 62 + i as u64, small, Order::Contiguous, 0.5, 2.0))
        .collect();
    let mut expected = Data::new(dtype);
    for place in Tensor::places(ne) {
        let apply = |x: f64, right: &Tensor| {
            let y = right.at(place);
            dtype.round(match operation {
                0 => x + y,
                1 => x - y,
                2 => x * y,
                _ => x / y,
            })
        };
        expected.push_number(rights.iter().fold(left.at(place), apply));
    }
    let out = Tensor::shape(ne, dtype.size());
    let unit = if four { 4 } else { 1 };
    let mut kargs = Kargs::new("bin").tensor("0", &left).tensor("1", &rights[0]).tensor("", &out);
    kargs = kargs.set("ne00", ne[0] / unit).set("ne0", ne[0] / unit).set("ne10", small[0] / unit);
    let mut memory = Vec::new();
    for (i, right) in rights.iter().enumerate() {
        kargs = kargs.set(&format!("o1[{i}]"), memory.len());
        memory.extend(&right.bytes);
        memory.resize(memory.len().next_multiple_of(64), 0);
    }
    let (grid, threads) = match row {
        true => ([ne[0] / unit, ne[1] * ne[2] * ne[3], 1], 1),
        false => ([ne[1], ne[2], ne[3]], 64),
    };
    let launch = Launch::new(kernel, Grid::Groups(grid.map(|n| n as u32)), [threads, 1, 1]);
    let launch = launch.scalar(kargs.bytes()).scalar(&left.bytes).scalar(&memory).data(&untouched(&expected));
    let launch =
        launch.constant(1300, Constant::Integer(operation)).constant(1301, Constant::Integer(fused as i64));
    let launch = launch.constant(1302, Constant::Bool(row)).constant(1303, Constant::Bool(columns));
    let tolerance = match operation {
        3 => Tolerance::Ulps(3.0 * fused as f64),
        // Fast math may add the operands in another order; they are below 4.
        0 | 1 if fused > 1 => Tolerance::rounding(dtype, 0.0, 12.0),
        _ if fused > 1 => Tolerance::Ulps(4.0),
        _ => Tolerance::Exact,
    };
    Case::near(format!("{kind:?}"), launch, 3, guarded(expected), tolerance, tolerance)
}
