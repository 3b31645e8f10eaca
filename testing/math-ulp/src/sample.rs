//! Arguments to try: special values, neighbours of powers of two, integers, halves and of the arguments at
//! which results overflow or vanish, every exponent with random mantissas, and the places where functions are
//! hard.

use anymetal_ir::MathFn;

use crate::reference::{Expected, expected};

/// A small generator (SplitMix64), so that runs repeat.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// With a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 32 random bits.
    pub fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 32) as u32
    }

    /// Uniform between the two.
    pub fn between(&mut self, low: f64, high: f64) -> f32 {
        (low + (high - low) * (f64::from(self.word()) / 4_294_967_296.0)) as f32
    }
}

/// Values with a meaning of their own; each is tried with both signs.
pub const SPECIAL: &[f32] = &[
    0.0,
    f32::from_bits(1),
    f32::from_bits(2),
    f32::from_bits(0x007F_FFFF),
    f32::MIN_POSITIVE,
    f32::from_bits(0x0080_0001),
    1e-30,
    1e-10,
    0.25,
    0.5,
    0.499_999_97,
    0.500_000_06,
    0.999_999_94,
    1.0,
    1.000_000_1,
    1.5,
    2.0,
    2.5,
    3.0,
    3.5,
    4.0,
    10.0,
    33.0,
    126.5,
    127.0,
    128.0,
    149.0,
    150.0,
    8_388_607.5,
    8_388_608.0,
    8_388_609.0,
    16_777_215.0,
    16_777_216.0,
    1e10,
    2e20,
    1e38,
    f32::MAX,
    f32::INFINITY,
    f32::NAN,
];

/// Neighbourhoods of these are searched, with both signs: thresholds of our own and of results.
const EDGES: &[f32] = &[
    0.5,
    0.625,
    1.0,
    2.0,
    0.25,
    0.007_812_5,
    0.666_666_7,
    1.333_333_4,
    9.02,
    9.1,
    10.0,
    87.336_54,
    88.722_84,
    89.0,
    89.416,
    103.972,
    104.0,
    126.0,
    128.0,
    149.0,
    150.0,
    38.531_84,
    37.93,
    44.85,
    45.15,
    1e5,
    1e6,
    4.0e6,
    8.4e6,
    std::f32::consts::PI,
    std::f32::consts::LN_2,
];

/// Magnitudes of results: the ends of the normal and of the denormal numbers of each float type.
fn ends_of_results() -> Vec<f64> {
    [-150, -149, -134, -133, -126, -25, -24, -14, 16, 128].into_iter().map(|n| 2_f64.powi(n)).collect()
}

/// Neighbours of the arguments at which a function's magnitude passes an end of a type's numbers.
pub fn crossings(value: impl Fn(f32) -> f64) -> Vec<f32> {
    let mut found = Vec::new();
    for sign in [0, 1 << 31] {
        let at = |bits: u32| value(f32::from_bits(sign | bits)).abs();
        for exponent in 0..255_u32 {
            let (from, to) = (exponent << 23, ((exponent + 1) << 23).min(f32::MAX.to_bits()));
            for end in ends_of_results() {
                let is_below = at(from) < end;
                if is_below == (at(to) < end) {
                    continue;
                }
                let (mut low, mut high) = (from, to);
                while high - low > 1 {
                    let middle = low + (high - low) / 2;
                    *if (at(middle) < end) == is_below { &mut low } else { &mut high } = middle;
                }
                let near = (low.saturating_sub(8)..=high + 8).filter(|&bits| bits <= f32::MAX.to_bits());
                found.extend(near.map(|bits| f32::from_bits(sign | bits)));
            }
        }
    }
    found
}

/// Both signs of powers of two with their neighbours, of halves, and of integers.
fn landmarks() -> Vec<f32> {
    let powers = (1..255_u32).flat_map(|exponent| (exponent << 23) - 2..=(exponent << 23) + 2);
    let halves = (0..=600).map(|n| n as f32 * 0.5);
    let all = powers.map(f32::from_bits).chain(halves);
    all.flat_map(|x| [x, -x]).collect()
}

/// The value of the reference, for functions whose result is a float.
fn reference(function: MathFn, x: f32, y: f32) -> f64 {
    match expected(function, [x, y, 0.0], 0) {
        Expected::Number(number) => number,
        Expected::Word(_) => f64::NAN,
    }
}

/// Arguments for a function of one argument: about `count`.
pub fn unary(function: MathFn, count: usize) -> Vec<f32> {
    let mut random = Random::new(1);
    let mut values: Vec<f32> = SPECIAL.iter().flat_map(|&x| [x, -x]).collect();
    values.extend(landmarks());
    values.extend(crossings(|x| reference(function, x, 0.0)));
    for &edge in EDGES {
        for step in -64_i32..=64 {
            let value = f32::from_bits(edge.to_bits().wrapping_add_signed(step));
            values.extend([value, -value]);
        }
    }
    // Every exponent, both signs.
    let per_exponent = (count / 4 / 256).max(4);
    for exponent in 0..=255_u32 {
        for _ in 0..per_exponent {
            values.push(f32::from_bits((random.word() & 0x807F_FFFF) | (exponent << 23)));
        }
    }
    // Near multiples of π/2, and of 1/4 for the functions of multiples of π.
    for _ in 0..count / 4 {
        let range = 10_f64.powf(f64::from(random.between(0.0, 7.0)));
        let unit = match function {
            MathFn::SinPi | MathFn::CosPi | MathFn::TanPi => 0.25,
            _ => std::f64::consts::FRAC_PI_2,
        };
        let multiple = (f64::from(random.between(-range, range))).round() * unit;
        let value = multiple as f32;
        let step = (random.word() % 9) as i32 - 4;
        values.push(f32::from_bits(value.to_bits().wrapping_add_signed(step)));
    }
    let (low, high) = usual_range(function);
    while values.len() < count {
        values.push(random.between(low, high));
    }
    values
}

/// Where the function does something.
pub fn usual_range(function: MathFn) -> (f64, f64) {
    match function {
        MathFn::Exp | MathFn::Sinh | MathFn::Cosh => (-90.0, 90.0),
        MathFn::Exp2 => (-130.0, 130.0),
        MathFn::Exp10 => (-39.0, 39.0),
        MathFn::Asin | MathFn::Acos | MathFn::Atanh => (-1.0, 1.0),
        MathFn::Log | MathFn::Log2 | MathFn::Log10 | MathFn::Rsqrt | MathFn::Sqrt => (0.0, 4.0),
        MathFn::Acosh => (1.0, 10.0),
        _ => (-10.0, 10.0),
    }
}

/// Pairs of arguments: all pairs of special values, and random ones.
pub fn binary(function: MathFn, count: usize) -> Vec<(f32, f32)> {
    let mut random = Random::new(2);
    let special: Vec<f32> = SPECIAL.iter().flat_map(|&x| [x, -x]).collect();
    let mut pairs: Vec<(f32, f32)> =
        special.iter().flat_map(|&x| special.iter().map(move |&y| (x, y))).collect();
    if function != MathFn::Ldexp {
        for &fixed in special.iter().filter(|fixed| fixed.is_finite()) {
            pairs.extend(crossings(|x| reference(function, x, fixed)).into_iter().map(|x| (x, fixed)));
            pairs.extend(crossings(|y| reference(function, fixed, y)).into_iter().map(|y| (fixed, y)));
        }
    }
    while pairs.len() < count {
        let choice = random.word() % 4;
        pairs.push(match function {
            MathFn::Pow | MathFn::Powr => power_pair(&mut random, choice),
            _ if choice == 0 => (f32::from_bits(random.word()), f32::from_bits(random.word())),
            _ if choice == 1 => (random.between(-10.0, 10.0), random.between(-10.0, 10.0)),
            _ => near_pair(&mut random),
        });
    }
    pairs
}

/// Bases and exponents whose power is a float.
fn power_pair(random: &mut Random, choice: u32) -> (f32, f32) {
    match choice {
        0 => (random.between(0.01, 100.0), random.between(-8.0, 8.0)),
        1 => {
            // Near one, with large exponents.
            let base = 1.0 + random.between(-0.3, 0.4) * random.between(0.0, 1.0).powi(4);
            let bound = 150.0 / f64::from(base.log2().abs()).max(1e-7);
            (base, random.between(-bound, bound))
        }
        2 => {
            let base = f32::from_bits(random.word() & 0x7FFF_FFFF);
            let bound = 150.0 / f64::from(base.log2().abs()).max(1e-3);
            (base, random.between(-bound, bound))
        }
        _ => (random.between(-20.0, 20.0), random.between(-30.0, 30.0).round()),
    }
}

/// Numbers of nearby exponents.
fn near_pair(random: &mut Random) -> (f32, f32) {
    let x = f32::from_bits(random.word());
    let exponent = (x.to_bits() >> 23) & 0xFF;
    let other = (exponent as i32 + (random.word() % 25) as i32 - 12).clamp(0, 254) as u32;
    (x, f32::from_bits((random.word() & 0x807F_FFFF) | (other << 23)))
}

/// Arguments of any float function as words, padded to whole vectors.
pub fn arguments(function: MathFn, count: usize) -> [Vec<u32>; 3] {
    let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<u32>>();
    let mut random = Random::new(4);
    let mut words = match function.arity() {
        1 => {
            let first = bits(unary(function, count));
            [first.clone(), first.clone(), first]
        }
        arity => {
            let (first, second): (Vec<f32>, Vec<f32>) = binary(function, count).into_iter().unzip();
            let mut second = bits(second);
            if function == MathFn::Ldexp {
                second.iter_mut().for_each(|n| *n = ((random.word() % 700) as i32 - 350).cast_unsigned());
            }
            let third =
                if arity == 3 { third_arguments(&mut random, &first, &second) } else { second.clone() };
            [bits(first), second, third]
        }
    };
    for column in &mut words {
        let padded = column.len().next_multiple_of(32);
        column.resize(padded, 0x3F00_0000);
    }
    words
}

/// Addends that matter beside the product.
fn third_arguments(random: &mut Random, first: &[f32], second: &[u32]) -> Vec<u32> {
    let near = |(x, y): (&f32, &u32)| {
        let product = x * f32::from_bits(*y);
        if random.word().is_multiple_of(2) {
            (-product * random.between(0.9, 1.1)).to_bits()
        } else {
            random.word()
        }
    };
    first.iter().zip(second).map(near).collect()
}

/// Every `stride`-th word, in pieces.
pub fn strided_words(stride: u32) -> impl Iterator<Item = [Vec<u32>; 3]> {
    const PIECE: u64 = 1 << 20;
    let stride = u64::from(stride.max(1));
    let total = (1_u64 << 32).div_ceil(stride);
    (0..total.div_ceil(PIECE)).map(move |piece| {
        // Past the end, the words begin again.
        let words: Vec<u32> = (piece * PIECE..(piece + 1) * PIECE).map(|i| (i * stride) as u32).collect();
        [words.clone(), words.clone(), words]
    })
}
