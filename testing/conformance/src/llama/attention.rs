//! Flash attention: of many queries (`fa_TYPE.metal`), of few (`fa_vec_TYPE.metal`), and their preparation
//! (`fa_aux.metal`).
//!
//! An [`Attention`] is what goes in. Keys that do not fill the last block come from a buffer of their own,
//! which [`Attention::tail`] makes as the host does; a mask's blocks are looked through before
//! ([`Attention::blocks`]).

pub mod auxiliary;
pub mod few;
pub mod many;

use super::kargs::Kargs;
use super::tensor::{Order, Tensor};
use crate::data::{Data, Dtype};
use crate::quants::Format;

pub(super) const HEADS: usize = 4;
pub(super) const KEY_HEADS: usize = 2;
pub(super) const BATCHES: usize = 2;

/// The lowest number that the kernels begin a maximum with.
const LOWEST: f64 = -(f32::MAX as f64) / 2.0;

/// What hides keys from queries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Masked {
    /// Nothing.
    Not,
    /// Keys after a query's position, and some more; the same for all heads.
    Same,
    /// The same for all heads, added with a factor that depends on the head.
    Sloped,
    /// Most keys, others for each head.
    Sparse,
}

/// What differs between the cases of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    queries: usize,
    keys: usize,
    softcap: f32,
    sinks: bool,
    mask: Masked,
}

/// Inputs of an attention.
#[derive(Debug)]
pub(super) struct Attention {
    pub(super) variant: Variant,
    pub(super) queries: Tensor,
    pub(super) keys: Tensor,
    pub(super) values: Tensor,
    pub(super) mask: Option<Tensor>,
    pub(super) sinks: Data,
    pub(super) scale: f32,
}

/// The format and the sizes of keys and values in a kernel's name.
pub(super) fn taken_apart(name: &str) -> Option<(Format, usize, usize)> {
    let (format, sizes) = name.split_once("_dk")?;
    let (keys, values) = sizes.split_once("_dv")?;
    Some((Format::named(format)?, keys.parse().ok()?, values.parse().ok()?))
}

/// Keys of a block, which a variant's mask may hide as a whole.
const BLOCK: usize = 64;

/// A mask: hidden keys, numbers, and blocks of zeros.
fn mask_of(variant: Variant) -> Option<Tensor> {
    let Variant { queries, keys, mask, .. } = variant;
    let heads = if mask == Masked::Sparse { HEADS } else { 1 };
    let ne = [keys, queries, heads, 1];
    let noise = Tensor::between(Dtype::F16, 94, ne, Order::Contiguous, -2.0, 0.5);
    let number = |place: [usize; 4]| {
        let [key, query, head, _] = place;
        let is_hidden = match mask {
            Masked::Sparse => !(key * 7 + query * 3 + head).is_multiple_of(8),
            // The second query sees nothing, the third no key of the first block.
            _ => query == 1 || query % 8 == 2 && key < BLOCK || key >= keys - query.min(keys / 2),
        };
        match is_hidden {
            // A block for eight queries that none of them sees, and one that all see as it is.
            _ if mask == Masked::Sloped && query < 8 && key / BLOCK == 1 => f64::NEG_INFINITY,
            _ if mask == Masked::Sloped && query < 8 && key / BLOCK == 2 => 0.0,
            true => f64::NEG_INFINITY,
            false => noise.at(place),
        }
    };
    let numbers = Data::from_numbers(Dtype::F16, Tensor::places(ne).map(number));
    (mask != Masked::Not).then(|| Tensor::of_data(&numbers, ne, Order::Contiguous))
}

impl Attention {
    pub(super) fn new(format: Format, [dk, dv]: [usize; 2], variant: Variant) -> Self {
        let Variant { queries, keys, .. } = variant;
        let q = Tensor::between(Dtype::F32, 91, [dk, queries, HEADS, BATCHES], Order::Permuted, -1.0, 1.0);
        // Heads of a key adjacent, as caches have them, where the last block needs no copy.
        let order = if keys.is_multiple_of(BLOCK) { Order::Permuted } else { Order::Contiguous };
        let k = Tensor::random(format, 92, [dk, keys, KEY_HEADS, BATCHES], order);
        let v = Tensor::random(format, 93, [dv, keys, KEY_HEADS, BATCHES], order);
        // Scores of about 1, whatever the numbers of the format.
        let spread = (0..dk).map(|i| k.at([i, 0, 0, 0]).powi(2)).sum::<f64>().sqrt();
        let sinks = Data::from_numbers(Dtype::F32, [0.5, -1.0, 2.0, 0.0]);
        let scale = (2.0 / spread) as f32;
        Self { variant, queries: q, keys: k, values: v, mask: mask_of(variant), sinks, scale }
    }

    /// How much a head's mask counts.
    fn slope(&self, head: usize) -> f64 {
        if self.variant.mask == Masked::Sloped {
            f64::from(self.slopes()[0]).powi(head as i32 + 1)
        } else {
            1.0
        }
    }

    /// The bases of slopes for a largest bias of 2; [`HEADS`] is a power of two, so that the second is not
    /// used.
    fn slopes(&self) -> [f32; 2] {
        const MAX_BIAS: f32 = 2.0;
        [(-MAX_BIAS / HEADS as f32).exp2(), (-MAX_BIAS / 2.0 / HEADS as f32).exp2()]
    }

    /// The score of a key for a query.
    fn score(&self, key: usize, [query, head, batch]: [usize; 3]) -> f64 {
        let from = head / (HEADS / KEY_HEADS);
        let dk = self.queries.ne[0];
        let (q, k) = (&self.queries, &self.keys);
        let product: f64 = (0..dk).map(|i| q.at([i, query, head, batch]) * k.at([i, key, from, batch])).sum();
        let (score, cap) = (product * f64::from(self.scale), f64::from(self.variant.softcap));
        let capped = if cap == 0.0 { score } else { (score / cap).tanh() * cap };
        let added = self.mask.as_ref().map_or(0.0, |mask| mask.at([key, query, head, 0]) * self.slope(head));
        capped + added
    }

    /// What some of the keys give: the largest score, the sum of weights, and the weighted sum of values. A
    /// sink is one more key, without a value.
    fn part(&self, place: [usize; 3], keys: &[usize], sink: bool) -> (f64, f64, Vec<f64>) {
        let [_, head, batch] = place;
        let scores: Vec<f64> = keys.iter().map(|&key| self.score(key, place)).collect();
        let sink = if sink { self.sinks.number(head) } else { f64::NEG_INFINITY };
        let highest = scores.iter().copied().fold(sink.max(LOWEST), f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - highest).exp()).collect();
        let from = head / (HEADS / KEY_HEADS);
        let value = |i| {
            keys.iter()
                .zip(&weights)
                .map(|(&key, weight)| weight * self.values.at([i, key, from, batch]))
                .sum()
        };
        let sum = weights.iter().sum::<f64>() + (sink - highest).exp();
        (highest, sum, (0..self.values.ne[0]).map(value).collect())
    }

    /// Places of results, in their order.
    fn places(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let queries = self.variant.queries;
        (0..BATCHES * queries * HEADS).map(move |i| [i / HEADS % queries, i % HEADS, i / HEADS / queries])
    }

    /// The whole result.
    pub(super) fn result(&self) -> Data {
        let keys: Vec<usize> = (0..self.variant.keys).collect();
        let row = |place| {
            let (_, sum, values) = self.part(place, &keys, self.variant.sinks);
            values.into_iter().map(move |value| if sum == 0.0 { 0.0 } else { value / sum })
        };
        Data::from_numbers(Dtype::F32, self.places().flat_map(row))
    }

    /// The largest magnitude of a value.
    pub(super) fn magnitude(&self) -> f64 {
        Tensor::places(self.values.ne).map(|place| self.values.at(place).abs()).fold(0.0, f64::max)
    }

    /// Queries, weights and the running result are rounded to 16 bits, some of them per block of keys.
    pub(super) fn rounding(format: Format) -> f64 {
        8.0 * if format.name == "bf16" { Dtype::BF16.epsilon() } else { Dtype::F16.epsilon() }
    }

    /// Whether the last block of that many keys is not full.
    pub(super) fn has_tail(&self, block: usize) -> bool {
        !self.variant.keys.is_multiple_of(block)
    }

    /// The keys, values and mask of the last block, filled up.
    pub(super) fn tail(&self, block: usize) -> Vec<u8> {
        let keys = self.variant.keys;
        let (first, rest) = (keys / block * block, keys % block);
        let mut bytes = Vec::new();
        for tensor in [&self.keys, &self.values] {
            let row = tensor.nb[1];
            for [head, batch, ..] in Tensor::places([KEY_HEADS, BATCHES, 1, 1]) {
                let at = first * row + head * tensor.nb[2] + batch * tensor.nb[3];
                bytes.extend(&tensor.bytes[at..at + rest * row]);
                bytes.resize(bytes.len() + (block - rest) * row, 0);
            }
        }
        if let Some(mask) = &self.mask {
            for [_, i1, i2, i3] in Tensor::places([1, mask.ne[1], mask.ne[2], mask.ne[3]]) {
                let numbers = (first..keys).map(|key| mask.at([key, i1, i2, i3]));
                let lowest = std::iter::repeat_n(-65504.0, block - rest);
                bytes.extend(Data::from_numbers(Dtype::F16, numbers.chain(lowest)).bytes);
            }
        }
        bytes
    }

    /// The class of each block of a mask, of `queries` by `keys`: 0 all masked, 2 all zero, 1 other.
    pub(super) fn blocks(&self, queries: usize, keys: usize) -> Vec<u8> {
        let Some(mask) = &self.mask else { return vec![0; 16] };
        let [width, height, heads, batches] = mask.ne;
        let counts = [width.div_ceil(keys), self.variant.queries.div_ceil(queries), heads, batches];
        let kind = |[i0, i1, i2, i3]: [usize; 4]| {
            if (i0 + 1) * keys > width || (i1 + 1) * queries > height {
                return 1;
            }
            let places = (0..queries * keys).map(|i| [i0 * keys + i % keys, i1 * queries + i / keys, i2, i3]);
            let numbers: Vec<f64> = places.map(|place| mask.at(place)).collect();
            match numbers {
                _ if numbers.iter().all(|&x| x == f64::NEG_INFINITY) => 0,
                _ if numbers.iter().all(|&x| x == 0.0) => 2,
                _ => 1,
            }
        };
        Tensor::places(counts).map(kind).collect()
    }

    /// The parameters that both kinds of kernels have.
    pub(super) fn kargs(&self, name: &'static str) -> Kargs {
        let (k, v) = (&self.keys, &self.values);
        let Variant { queries, softcap, .. } = self.variant;
        let [ns10, ns20] = self.pitches();
        let kargs = Kargs::new(name).tensor("0", &self.queries).tensor("1", k).tensor("2", v);
        let kargs = match &self.mask {
            Some(mask) => kargs.tensor("3", mask),
            None => kargs,
        };
        let kargs =
            kargs.set("ne_12_2", KEY_HEADS).set("ne_12_3", BATCHES).set("ns10", ns10).set("ns20", ns20);
        let kargs = kargs.set("ne1", HEADS).set("ne2", queries).set("ne3", BATCHES);
        let scale = if softcap == 0.0 { self.scale } else { self.scale / softcap };
        let kargs = kargs.set("scale", scale).set("logit_softcap", softcap).set("n_head_log2", HEADS);
        let [m0, m1] = self.slopes();
        kargs.set("max_bias", if self.has_slope() { 2.0f32 } else { 0.0 }).set("m0", m0).set("m1", m1)
    }

    pub(super) fn has_slope(&self) -> bool {
        self.variant.mask == Masked::Sloped
    }

    /// From one key to the next, and from one value to the next, in elements or blocks.
    pub(super) fn pitches(&self) -> [usize; 2] {
        [&self.keys, &self.values].map(|tensor| tensor.nb[1] / tensor.nb[0])
    }
}
