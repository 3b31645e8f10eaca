//! `steel_attention_TYPE_bqBQ_bkBK_bdBD_wmWM_wnWN_maskTYPE`: many queries, tile by tile.
//!
//! With a causal mask the kernel's last tile of queries reads keys after the last one, up to its own number
//! of rows, and masks what it got.

use super::super::{guarded, untouched};
use super::{Inputs, Rows, softmax};
use crate::case::{Arg, Binding, Case, Constant, Faults, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};

#[derive(Clone, Copy, Debug)]
struct Kind {
    dtype: Dtype,
    mask: Dtype,
    bq: usize,
    bk: usize,
    size: usize,
    wm: usize,
}

/// What differs between the cases of a kernel.
#[derive(Clone, Copy, Debug)]
struct Variant {
    batches: usize,
    queries: usize,
    keys: usize,
    masked: bool,
    causal: bool,
}

const HEADS: usize = 2;
const QUERIES_PER_KEY: usize = 2;

/// The cases of a kernel.
pub(super) fn cases(kernel: &str) -> Option<Vec<Case>> {
    let kind = Kind::named(kernel)?;
    let variant = |batches, queries, keys, masked, causal| Variant { batches, queries, keys, masked, causal };
    let variants = [
        variant(1, kind.bq, 2 * kind.bk, false, false),
        variant(2, kind.bq + 5, 2 * kind.bk + 13, false, false),
        variant(1, 3, 5, false, true),
        variant(1, kind.bq + 1, kind.bq + kind.bk + 3, false, true),
        variant(1, kind.bq - 1, kind.bk + 7, true, false),
    ];
    Some(variants.iter().map(|&variant| case(kernel, kind, variant)).collect())
}

fn mlx_type(name: &str) -> Option<Dtype> {
    Some(match name {
        "float16" => Dtype::F16,
        "bfloat16" => Dtype::BF16,
        "float32" => Dtype::F32,
        "bool" => Dtype::BOOL,
        _ => return None,
    })
}

impl Kind {
    fn named(kernel: &str) -> Option<Self> {
        let mut parts = kernel.strip_prefix("steel_attention_")?.split('_').filter(|part| !part.is_empty());
        let dtype = mlx_type(parts.next()?)?;
        let mut number = |name: &str| parts.next()?.strip_prefix(name)?.parse::<usize>().ok();
        let [bq, bk, size, wm] = [number("bq")?, number("bk")?, number("bd")?, number("wm")?];
        number("wn")?;
        let mask = mlx_type(parts.next()?.strip_prefix("mask")?)?;
        Some(Self { dtype, mask, bq, bk, size, wm })
    }
}

fn case(kernel: &str, kind: Kind, variant: Variant) -> Case {
    let Kind { dtype, size, .. } = kind;
    let Variant { batches, queries, keys, .. } = variant;
    let key_heads = HEADS / QUERIES_PER_KEY;
    let q = Rows::new(dtype, 31, batches * HEADS, queries, size);
    let k = Rows::new(dtype, 32, batches * key_heads, keys, size);
    let v = Rows::new(dtype, 33, batches * key_heads, keys, size);
    let mask = mask(kind, queries, keys);
    let scale = 1.0 / (size as f32).sqrt();
    let mut expected = Data::new(dtype);
    for (head, query) in (0..batches * HEADS).flat_map(|head| (0..queries).map(move |query| (head, query))) {
        let from = head / QUERIES_PER_KEY;
        let score = |key: usize| {
            let product: f64 = (0..size).map(|i| q.at(head, query, i) * k.at(from, key, i)).sum();
            let score = product * f64::from(scale);
            match kind.mask {
                _ if variant.causal && key > query + keys - queries => f64::NEG_INFINITY,
                _ if !variant.masked => score,
                Dtype::BOOL if mask.bits(query * keys + key) == 0 => f64::NEG_INFINITY,
                Dtype::BOOL => score,
                _ => score + mask.number(query * keys + key),
            }
        };
        let scores: Vec<f64> = (0..keys).map(score).collect();
        let (_, weights, sum) = softmax(&scores, f64::NEG_INFINITY);
        for i in 0..size {
            let total: f64 = (0..keys).map(|key| weights[key] * v.at(from, key, i)).sum();
            expected.push_number(total / sum);
        }
    }
    let launch = launch(kernel, kind, variant, scale, [&q, &k, &v], &expected);
    let launch = match variant.masked {
        true => launch.scalar(longs(&[0, 0, keys])).data(&mask),
        false => launch,
    };
    // Scaled queries are rounded to the type, and scores are about 1.
    let tolerance = Tolerance::Near { relative: dtype.epsilon(), absolute: 2e-5 + 2.0 * dtype.epsilon() };
    let name = format!("{variant:?}");
    let case = Case::near(name, launch, 3, guarded(expected), tolerance, tolerance).through_library(true);
    Case { faults: if variant.causal { Faults::Harmless } else { Faults::Never }, ..case }
}

/// One mask for all heads: numbers to add, or which keys a query sees; each sees one.
fn mask(kind: Kind, queries: usize, keys: usize) -> Data {
    match kind.mask {
        Dtype::BOOL => {
            let is_on = |i: usize| i.is_multiple_of(keys) || i % 7 != 3;
            Data::from_integers(Dtype::BOOL, (0..queries * keys).map(|i| i128::from(is_on(i))))
        }
        dtype => Inputs::new(34).numbers(dtype, queries * keys, -2.0, 2.0),
    }
}

fn longs(values: &[usize]) -> Vec<u8> {
    values.iter().flat_map(|&value| (value as i64).to_le_bytes()).collect()
}

fn launch(
    kernel: &str,
    kind: Kind,
    variant: Variant,
    scale: f32,
    [q, k, v]: [&Rows; 3],
    expected: &Data,
) -> Launch {
    let Kind { bq, bk, size, .. } = kind;
    let Variant { batches, queries, keys, .. } = variant;
    let key_heads = HEADS / QUERIES_PER_KEY;
    let mut params = Vec::new();
    let ints = |params: &mut Vec<u8>, values: &[usize]| {
        values.iter().for_each(|&value| params.extend((value as i32).to_le_bytes()));
    };
    ints(&mut params, &[batches, HEADS, size, queries, keys, QUERIES_PER_KEY]);
    params.extend(scale.to_le_bytes());
    params.extend(1.0f32.to_le_bytes());
    let (nq, nk) = (queries.div_ceil(bq), keys.div_ceil(bk));
    ints(
        &mut params,
        &[nq, nk, queries / bq, keys / bk, queries % bq, keys % bk, keys.wrapping_sub(queries)],
    );
    params.resize(params.len().next_multiple_of(8), 0);
    for (heads, rows) in [(HEADS, queries), (key_heads, keys), (key_heads, keys), (HEADS, queries)] {
        params.extend(longs(&[heads * rows * size, rows * size, size]));
    }
    let grid = Grid::Groups([nq as u32, HEADS as u32, batches as u32]);
    let launch = Launch::new(kernel, grid, [32, kind.wm as u32, 1]);
    let launch = launch.data(&q.data).data(&k.data).data(&v.data).data(&untouched(expected)).scalar(params);
    let constants =
        [(200, queries % bq == 0), (201, keys % bk == 0), (300, variant.masked), (301, variant.causal)];
    let set = |launch: Launch, (index, value)| launch.constant(index, Constant::Bool(value));
    let mut launch = constants.into_iter().fold(launch, set);
    if !variant.masked {
        let unbound = |index| Arg { index, binding: Binding::Unbound };
        launch.args.extend([unbound(5), unbound(6)]);
    }
    launch
}
