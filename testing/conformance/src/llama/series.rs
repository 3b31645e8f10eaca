//! `misc.metal`: series of numbers, embeddings of time steps, the snake activation, Walsh-Hadamard
//! transforms, and steps of optimisers.

use super::kargs::Kargs;
use super::launch::{MAX_THREADS, dispatch, ends_with, output, per_element};
use super::tensor::{Order, Tensor};
use crate::candle::guarded;
use crate::case::Case;
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

const F32: Dtype = Dtype::F32;

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let name = kernel.strip_prefix("kernel_")?;
    Some(match name {
        "arange_f32" => [1, 33, 1500].map(|count| range(kernel, count)).into(),
        "memset_i64" => vec![fill(kernel)],
        "timestep_embedding_f32" => [1, 2, 33, 320].map(|size| time_steps(kernel, size)).into(),
        "opt_step_adamw_f32" => [1, 33, 1500].map(|count| adamw(kernel, count)).into(),
        "opt_step_sgd_f32" => [1, 33, 1500].map(|count| sgd(kernel, count)).into(),
        _ if name.starts_with("snake_") => {
            let dtype = Dtype::named(name.strip_prefix("snake_")?)?;
            [[1, 1], [33, 7], [300, 3]].map(|size| snake(kernel, dtype, size)).into()
        }
        _ if name.starts_with("fwht_") => {
            let (dtype, size) = name.strip_prefix("fwht_")?.split_once('_')?;
            let (dtype, size) = (Dtype::named(dtype)?, size.parse().ok()?);
            [1, 5].map(|rows| walsh_hadamard(kernel, dtype, size, rows)).into()
        }
        _ => return None,
    })
}

fn range(kernel: &str, count: usize) -> Case {
    const START: f32 = -3.25;
    const STEP: f32 = 0.375;
    let numbers = (0..count).map(|i| f64::from(START) + f64::from(STEP) * i as f64);
    let expected = Data::from_numbers(F32, numbers);
    let kargs = Kargs::new("arange").set("ne0", count).set("start", START).set("step", STEP);
    let launch = dispatch(kernel, [1, 1, 1], [count.min(MAX_THREADS), 1, 1], &kargs);
    ends_with(format!("{count} numbers"), launch, expected, Tolerance::Exact)
}

fn fill(kernel: &str) -> Case {
    const VALUE: i64 = -0x0123_4567_89ab_cdef;
    let expected = Data::from_integers(Dtype::I64, [i128::from(VALUE)]);
    let launch = dispatch(kernel, [1, 1, 1], [1, 1, 1], &Kargs::new("memset").set("val", VALUE));
    ends_with("one number", launch, expected, Tolerance::Exact)
}

fn time_steps(kernel: &str, size: usize) -> Case {
    const LONGEST: usize = 10_000;
    let steps = Data::from_numbers(F32, [0.0, 1.0, 2.5, 77.0]);
    let half = size / 2;
    let number = |[i0, step, ..]: [usize; 4]| {
        let frequency = (-(LONGEST as f64).ln() * (i0 % half.max(1)) as f64 / half as f64).exp();
        let angle = steps.number(step) * frequency;
        match i0 / half.max(1) {
            _ if i0 >= 2 * half => 0.0,
            0 => angle.cos(),
            _ => angle.sin(),
        }
    };
    let expected = Data::from_numbers(F32, Tensor::places([size, steps.len(), 1, 1]).map(number));
    let kargs =
        Kargs::new("timestep_embedding").set("nb1", 4 * size).set("dim", size).set("max_period", LONGEST);
    let threads = half.clamp(1, MAX_THREADS);
    let launch = dispatch(kernel, [steps.len(), 1, 1], [threads, 1, 1], &kargs).data(&steps);
    // The frequency comes from an exponential function, which is off by a few units; the angle is below 80.
    let tolerance = Tolerance::Near { relative: 0.0, absolute: 1e-4 };
    ends_with(format!("{size} numbers"), launch, expected, tolerance).through_library(true)
}

fn snake(kernel: &str, dtype: Dtype, [steps, channels]: [usize; 2]) -> Case {
    let ne = [steps, channels, 1, 1];
    let input = Tensor::between(dtype, 331, ne, Order::Contiguous, -3.0, 3.0);
    let of_channel = |seed| Tensor::between(F32, seed, [1, channels, 1, 1], Order::Contiguous, 0.5, 2.0);
    let (frequencies, factors) = (of_channel(332), of_channel(333));
    let numbers = Tensor::places(ne).map(|place| {
        let x = input.at(place);
        x + (frequencies.at(place) * x).sin().powi(2) * factors.at(place)
    });
    let expected = Data::from_numbers(dtype, numbers);
    let kargs = Kargs::new("snake").set("T", steps).set("C", channels);
    let groups = (steps * channels).div_ceil(256);
    let launch = dispatch(kernel, [groups, 1, 1], [256, 1, 1], &kargs).scalar(&input.bytes);
    let launch = launch.scalar(&frequencies.bytes).scalar(&factors.bytes);
    let tolerance = Tolerance::Near { relative: 1.01 * dtype.epsilon(), absolute: 4e-6 };
    ends_with(format!("{steps} steps of {channels}"), launch, expected, tolerance).through_library(true)
}

fn walsh_hadamard(kernel: &str, dtype: Dtype, size: usize, rows: usize) -> Case {
    const WIDE: usize = 512;
    let ne = [size, rows, 1, 1];
    let input = Tensor::between(dtype, 334, ne, Order::Contiguous, -1.0, 1.0);
    let mut expected = Data::new(F32);
    for row in 0..rows {
        let mut numbers: Vec<f64> = (0..size).map(|i| input.at([i, row, 0, 0])).collect();
        for bit in (0..size.ilog2()).map(|bit| 1 << bit) {
            for i in (0..size).filter(|i| i & bit == 0) {
                let (x, y) = (numbers[i], numbers[i | bit]);
                (numbers[i], numbers[i | bit]) = (x + y, x - y);
            }
        }
        numbers.iter().for_each(|number| expected.push_number(number / (size as f64).sqrt()));
    }
    let (groups, threads) = if size < WIDE { (rows.div_ceil(2), 64) } else { (rows, 256) };
    let kargs = Kargs::new("fwht").set("nrows", rows);
    let launch = dispatch(kernel, [groups, 1, 1], [threads, 1, 1], &kargs).scalar(&input.bytes);
    ends_with(format!("{rows} rows"), launch, expected, Tolerance::rounding(F32, 4.0, 16.0))
}

/// Numbers for each parameter.
fn parameters(seed: u64, count: usize, low: f64, high: f64) -> Data {
    Tensor::between(F32, seed, [count, 1, 1, 1], Order::Contiguous, low, high).data(F32)
}

fn adamw(kernel: &str, count: usize) -> Case {
    const SETTINGS: [f32; 7] = [0.125, 0.9, 0.99, 1e-3, 0.25, 1.5, 1.25];
    let [rate, beta1, beta2, epsilon, decay, correct1, correct2] = SETTINGS.map(f64::from);
    let (values, slopes) = (parameters(335, count, -2.0, 2.0), parameters(336, count, -1.0, 1.0));
    let (means, squares) = (parameters(337, count, -1.0, 1.0), parameters(338, count, 0.1, 1.0));
    let [mut new_values, mut new_means, mut new_squares] = [(); 3].map(|()| Data::new(F32));
    for i in 0..count {
        let slope = slopes.number(i);
        let mean = means.number(i) * beta1 + slope * (1.0 - beta1);
        let square = squares.number(i) * beta2 + slope * slope * (1.0 - beta2);
        let step = rate * mean * correct1 / ((square * correct2).sqrt() + epsilon);
        new_values.push_number(values.number(i) * (1.0 - rate * decay) - step);
        new_means.push_number(mean);
        new_squares.push_number(square);
    }
    let launch = per_element(kernel, count, &Kargs::new("opt_step_adamw").set("np", count));
    let launch = launch.data(&guarded(values)).data(&slopes).data(&guarded(means)).data(&guarded(squares));
    let launch = launch.data(&Data::from_numbers(F32, SETTINGS.map(f64::from)));
    let near = Tolerance::rounding(F32, 4.0, 4.0);
    let case = Case::exact(format!("{count} parameters"), launch, 1, Data::new(F32));
    let outputs = [(1, new_values), (3, new_means), (4, new_squares)];
    Case { expected: outputs.map(|(index, data)| output(index, data, near)).into(), ..case }
}

fn sgd(kernel: &str, count: usize) -> Case {
    let [rate, decay] = [0.125, 0.3f32].map(f64::from);
    let (values, slopes) = (parameters(339, count, -2.0, 2.0), parameters(340, count, -1.0, 1.0));
    let numbers = (0..count).map(|i| values.number(i) * (1.0 - rate * decay) - rate * slopes.number(i));
    let expected = Data::from_numbers(F32, numbers);
    let launch = per_element(kernel, count, &Kargs::new("opt_step_sgd").set("np", count));
    let launch = launch.data(&guarded(values)).data(&slopes).data(&Data::from_numbers(F32, [rate, decay]));
    let case = Case::exact(format!("{count} parameters"), launch, 1, Data::new(F32));
    Case { expected: vec![output(1, expected, Tolerance::rounding(F32, 4.0, 4.0))], ..case }
}
