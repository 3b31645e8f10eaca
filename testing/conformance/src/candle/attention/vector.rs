//! `sdpa_vector_TYPE_SIZE`: one query per head, in one pass; `2pass_1` and `2pass_2`: in 32 blocks of keys,
//! which are then combined.

use super::super::{guarded, untouched};
use super::{Rows, int, softmax};
use crate::case::{Case, Constant, Expected, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};

const BLOCKS: usize = 32;
/// Keys of a block, one after another.
const BLOCK: usize = 8;
const HEADS: usize = 4;
const QUERIES_PER_KEY: usize = 2;

#[derive(Clone, Copy, Debug)]
struct Kind {
    dtype: Dtype,
    /// Elements of a head.
    size: usize,
    /// How many of them the kernel uses: 32 threads have equally many.
    used: usize,
}

/// What differs between the cases of a kernel.
#[derive(Clone, Copy, Debug)]
struct Variant {
    keys: usize,
    softcap: f32,
    masked: bool,
}

const VARIANTS: &[Variant] = &[
    Variant { keys: 1, softcap: 1.0, masked: false },
    Variant { keys: 33, softcap: 1.0, masked: false },
    Variant { keys: 70, softcap: 5.0, masked: false },
    Variant { keys: 300, softcap: 1.0, masked: true },
];

/// The cases of a kernel, without the start of its name.
pub(super) fn cases(kernel: &str, name: &str) -> Option<Vec<Case>> {
    let (pass, name) = match (name.strip_prefix("2pass_1_"), name.strip_prefix("2pass_2_")) {
        (Some(name), _) => (1, name),
        (_, Some(name)) => (2, name),
        _ => (0, name),
    };
    let (dtype, size) = name.rsplit_once('_')?;
    let dtype = match dtype {
        "float" => Dtype::F32,
        "float16_t" => Dtype::F16,
        "bfloat16_t" => Dtype::BF16,
        _ => return None,
    };
    let size: usize = size.parse().ok()?;
    let kind = Kind { dtype, size, used: size / 32 * 32 };
    Some(match pass {
        2 => vec![second_pass(kernel, kind)],
        _ => VARIANTS.iter().map(|&variant| attention(kernel, kind, variant, pass == 1)).collect(),
    })
}

impl Kind {
    /// Float sums of a few hundred terms, exponentials; the output's type.
    fn tolerance(self) -> Tolerance {
        Tolerance::Near { relative: self.dtype.epsilon(), absolute: 4e-5 }
    }
}

struct Problem {
    queries: Rows,
    keys: Rows,
    values: Rows,
    mask: Data,
    scale: f32,
}

impl Problem {
    fn new(kind: Kind, variant: Variant) -> Self {
        let Kind { dtype, size, .. } = kind;
        let key_heads = HEADS / QUERIES_PER_KEY;
        let mask = (0..HEADS * variant.keys).map(|i| i128::from(i % 5 != 2));
        Self {
            queries: Rows::new(dtype, 11, HEADS, 1, size),
            keys: Rows::new(dtype, 12, key_heads, variant.keys, size),
            values: Rows::new(dtype, 13, key_heads, variant.keys, size),
            mask: Data::from_integers(Dtype::BOOL, mask),
            scale: 1.0 / (size as f32).sqrt() / if variant.softcap == 1.0 { 1.0 } else { variant.softcap },
        }
    }

    /// The scores of a head's keys; `None` for masked ones.
    fn scores(&self, kind: Kind, variant: Variant, head: usize) -> Vec<Option<f64>> {
        let score = |key: usize| {
            let terms = (0..kind.used)
                .map(|i| self.queries.at(head, 0, i) * self.keys.at(head / QUERIES_PER_KEY, key, i));
            let score = f64::from(self.scale) * terms.sum::<f64>();
            if variant.softcap == 1.0 { score } else { score.tanh() * f64::from(variant.softcap) }
        };
        let is_on = |key: usize| !variant.masked || self.mask.bits(head * variant.keys + key) != 0;
        (0..variant.keys).map(|key| is_on(key).then(|| score(key))).collect()
    }

    /// The sum of values under weights.
    fn mixed(&self, head: usize, weights: impl Iterator<Item = (usize, f64)> + Clone, i: usize) -> f64 {
        weights.map(|(key, weight)| weight * self.values.at(head / QUERIES_PER_KEY, key, i)).sum()
    }
}

fn put(data: &mut Data, at: usize, number: f64) {
    let (size, bytes) = (data.dtype.size(), Data::from_numbers(data.dtype, [number]).bytes);
    data.bytes[at * size..(at + 1) * size].copy_from_slice(&bytes);
}

fn attention(kernel: &str, kind: Kind, variant: Variant, first_pass: bool) -> Case {
    let problem = Problem::new(kind, variant);
    let Kind { dtype, size, used } = kind;
    let blocks = if first_pass { BLOCKS } else { 1 };
    let out_type = if first_pass { Dtype::F32 } else { dtype };
    // Elements that the kernel leaves alone are zero before and after.
    let mut out = Data::zeros(out_type, HEADS * blocks * size);
    let (mut sums, mut highest) = (Data::new(Dtype::F32), Data::new(Dtype::F32));
    for head in 0..HEADS {
        let scores = problem.scores(kind, variant, head);
        for block in 0..blocks {
            let keys = (0..variant.keys).filter(|key| !first_pass || key / BLOCK % BLOCKS == block);
            let on: Vec<(usize, f64)> = keys.filter_map(|key| Some((key, scores[key]?))).collect();
            let (high, weights, sum) = softmax(&on.iter().map(|(_, score)| *score).collect::<Vec<_>>(), -1e9);
            sums.push_number(sum);
            highest.push_number(high);
            let weights: Vec<(usize, f64)> = on.iter().map(|(key, _)| *key).zip(weights).collect();
            for i in 0..used {
                let total = problem.mixed(head, weights.iter().copied(), i);
                let at = (head * blocks + block) * size + i;
                put(&mut out, at, if first_pass { total } else { total / sum });
            }
        }
    }
    let threads = if first_pass { 256 } else { 1024 };
    let launch = Launch::new(kernel, Grid::Groups([1, HEADS as u32, blocks as u32]), [threads, 1, 1]);
    let launch = launch.data(&problem.queries.data).data(&problem.keys.data).data(&problem.values.data);
    let launch = launch.data(&Data::zeros(out_type, out.len()));
    let launch = match first_pass {
        true => launch.data(&untouched(&sums)).data(&untouched(&highest)),
        false => launch,
    };
    let launch = int(int(launch, QUERIES_PER_KEY), variant.keys);
    let launch = launch.size(variant.keys * size).size(variant.keys * size);
    let launch = launch.scalar(problem.scale.to_le_bytes()).scalar(variant.softcap.to_le_bytes());
    let launch = match variant.masked {
        true => int(int(launch.data(&problem.mask), 1), variant.keys),
        false => launch,
    };
    let launch = launch.constant(20, Constant::Bool(variant.masked));
    let tolerance = kind.tolerance();
    let case = Case::near(format!("{variant:?}"), launch, 3, out, tolerance, tolerance);
    let mut expected = case.expected.clone();
    if first_pass {
        let near = Tolerance::Near { relative: 1e-5, absolute: 2e-5 };
        let also = |index, data| Expected { index, data: guarded(data), tolerance: near, agreement: near };
        expected.extend([also(4, sums), also(5, highest)]);
    }
    Case { expected, ..case }.through_library(true)
}

/// Puts the blocks' results together.
fn second_pass(kernel: &str, kind: Kind) -> Case {
    let Kind { dtype, size, used } = kind;
    let partial = Rows::new(Dtype::F32, 21, HEADS, BLOCKS, size);
    let sums = super::Inputs::new(22).numbers(Dtype::F32, HEADS * BLOCKS, 0.5, 8.0);
    let highest = super::Inputs::new(23).numbers(Dtype::F32, HEADS * BLOCKS, -3.0, 3.0);
    let mut out = Data::zeros(dtype, HEADS * size);
    for head in 0..HEADS {
        let scores: Vec<f64> = (0..BLOCKS).map(|block| highest.number(head * BLOCKS + block)).collect();
        let (_, factors, _) = softmax(&scores, f64::NEG_INFINITY);
        let sum: f64 = (0..BLOCKS).map(|block| factors[block] * sums.number(head * BLOCKS + block)).sum();
        for i in 0..used {
            let total: f64 = (0..BLOCKS).map(|block| factors[block] * partial.at(head, block, i)).sum();
            put(&mut out, head * size + i, total / sum);
        }
    }
    let launch = Launch::new(kernel, Grid::Groups([1, HEADS as u32, 1]), [1024, 1, 1]);
    let launch =
        launch.data(&partial.data).data(&sums).data(&highest).data(&Data::zeros(dtype, HEADS * size));
    let tolerance = kind.tolerance();
    Case::near("32 blocks", launch, 3, out, tolerance, tolerance).through_library(true)
}
