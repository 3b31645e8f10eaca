//! `random.metal`: `rand_uniform_TYPE` and `rand_normal_TYPE`.
//!
//! The generator is recomputed here, in integers and exactly rounded floats. The kernel's first thread
//! replaces the seed while others may still read it, so only launches of one SIMD-group have one right
//! answer; longer ones are judged by their mean and spread in [`statistics`].

use super::{guarded, linear, untouched};
use crate::case::{Case, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::execute::{ExecError, Executor, Source};
use crate::suite::Level;

const SEED: u64 = 299_792_458;

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let (normal, dtype) = taken_apart(kernel)?;
    Some([1, 2, 31, 32, 33, 63, 64].iter().map(|&count| case(kernel, normal, dtype, count)).collect())
}

fn taken_apart(kernel: &str) -> Option<(bool, Dtype)> {
    let (distribution, dtype) = kernel.strip_prefix("rand_")?.split_once('_')?;
    let normal = match distribution {
        "normal" => true,
        "uniform" => false,
        _ => return None,
    };
    Some((normal, Dtype::named(dtype)?))
}

/// The bounds of the uniform distribution; the mean and the standard deviation of the normal one.
fn parameters(normal: bool) -> (f32, f32) {
    if normal { (2.0, 0.5) } else { (-3.0, 5.0) }
}

fn case(kernel: &str, normal: bool, dtype: Dtype, count: usize) -> Case {
    let mut numbers = vec![0.0; count];
    let half = count.div_ceil(2);
    let off = 1 - count % 2;
    for thread in 0..half {
        let (first, second) = if normal { normal_pair(thread) } else { uniform_pair(thread) };
        numbers[thread] = first;
        // The second number goes to the mirrored place; an odd count's first thread has none.
        let mirrored = count - off - thread;
        if !(thread == 0 && off == 0) && mirrored < count {
            numbers[mirrored] = second;
        }
    }
    let expected = Data::from_numbers(dtype, numbers);
    let launch = launch(kernel, normal, half, count, &untouched(&expected));
    let tolerance =
        Tolerance::Near { relative: 2.0 * dtype.epsilon(), absolute: 16.0 * f64::from(f32::EPSILON) };
    Case::near(format!("{count} elements"), launch, 4, guarded(expected), tolerance, tolerance)
        .through_library(normal)
}

fn launch(kernel: &str, normal: bool, threads: usize, count: usize, out: &Data) -> Launch {
    let (grid, group) = linear(threads);
    let (first, second) = parameters(normal);
    let launch = Launch::new(kernel, grid, group).size(count);
    let launch = launch.scalar(first.to_le_bytes()).scalar(second.to_le_bytes());
    // The seed's high word comes first.
    let seed = [(SEED >> 32) as u32, SEED as u32];
    launch.scalar(seed.map(u32::to_le_bytes).concat()).data(out)
}

/// The kernel's generator: a combined Tausworthe and linear congruential one, its state a float.
struct Generator {
    state: f32,
}

const MASKS: [u32; 3] = [429_496_729, 4_294_967_288, 429_496_280];
const SHIFTS: [[u32; 3]; 3] = [[13, 19, 12], [2, 25, 4], [3, 11, 17]];
const PHI: [u64; 4] =
    [0x9e37_79b9_7f4a_7c15, 0xf39c_c060_5ced_c834, 0x1082_276b_f3a2_7251, 0xf86c_6a11_d0c1_8e95];

fn tausworthe(z: u32, [a, b, c]: [u32; 3], mask: u32) -> u32 {
    let low = ((z << a) ^ z) >> b;
    ((z & mask) << c) ^ low
}

fn congruential(z: u32) -> u32 {
    z.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
}

/// One step from a word: all four parts combined.
fn mixed(z: u32) -> u32 {
    let parts = (0..3).map(|i| tausworthe(z, SHIFTS[i], MASKS[i]));
    parts.fold(congruential(z), |all, part| all ^ part)
}

fn to_unit(word: u32) -> f32 {
    word as f32 * 2.328_306_4e-10_f32
}

impl Generator {
    fn new(thread: usize) -> Self {
        let seeds = [SEED, thread as u64, 1, 1];
        let seed: Vec<u32> = seeds
            .iter()
            .zip(PHI)
            .map(|(seed, phi)| seed.wrapping_mul(phi).wrapping_mul(1_099_087_573) as u32)
            .collect();
        let first = [4_294_967_294, 4_294_967_288, 4_294_967_280];
        let parts = (0..3).map(|i| tausworthe(seed[i], SHIFTS[i], first[i]));
        let mut word = parts.fold(congruential(seed[0]), |all, part| all ^ part) ^ seed[1];
        word = mixed(word) ^ seed[2];
        word = mixed(word) ^ seed[3];
        Self { state: to_unit(mixed(word)) }
    }

    fn next(&mut self) -> f32 {
        let now = self.state;
        self.state = to_unit(mixed((now * 4_294_967_296.0) as u32));
        now
    }
}

fn uniform_pair(thread: usize) -> (f64, f64) {
    let mut generator = Generator::new(thread);
    let (low, high) = parameters(false);
    let first = generator.next();
    if thread == 0 {
        // The first thread draws once more, for the seed.
        let _ = generator.next();
    }
    let second = generator.next();
    let scale = |number: f32| f64::from(number) * f64::from(high - low) + f64::from(low);
    (scale(first), scale(second))
}

fn normal_pair(thread: usize) -> (f64, f64) {
    let mut generator = Generator::new(thread);
    let (mean, deviation) = parameters(true);
    let (first, second) = (generator.next(), generator.next());
    let angle = f64::from(2.0 * std::f32::consts::PI * second);
    let size = f64::from(deviation) * (-2.0 * f64::from(first).ln()).sqrt();
    (size * angle.cos() + f64::from(mean), size * angle.sin() + f64::from(mean))
}

/// Checks the mean and the spread of a long run of every kernel; the messages of those that are off.
pub fn statistics(source: &Source, executor: &dyn Executor) -> Result<Vec<String>, ExecError> {
    const COUNT: usize = 100_001;
    let opened = executor.open(source)?;
    let mut messages = Vec::new();
    for kernel in opened.kernels() {
        let Some((normal, dtype)) = taken_apart(&kernel) else { continue };
        let launch = launch(&kernel, normal, COUNT.div_ceil(2), COUNT, &Data::zeros(dtype, COUNT));
        let mut buffers = opened.prepare(&kernel, &[])?.run(&launch)?;
        let data = Data { dtype, bytes: buffers.swap_remove(4) };
        let numbers = || (0..COUNT).map(|i| data.number(i));
        let mean = numbers().sum::<f64>() / COUNT as f64;
        let variance = numbers().map(|number| (number - mean).powi(2)).sum::<f64>() / COUNT as f64;
        let (first, second) = parameters(normal);
        let (wanted_mean, wanted_deviation) = match normal {
            true => (f64::from(first), f64::from(second)),
            false => (f64::from(first + second) / 2.0, f64::from(second - first) / 12f64.sqrt()),
        };
        let off = (mean - wanted_mean).abs() > 0.02 * wanted_deviation
            || (variance.sqrt() - wanted_deviation).abs() > 0.02 * wanted_deviation;
        if off {
            messages.push(format!(
                "{kernel}: mean {mean:.4} (should be {wanted_mean}), deviation {:.4} (should be {wanted_deviation:.4})",
                variance.sqrt()
            ));
        }
    }
    Ok(messages)
}
