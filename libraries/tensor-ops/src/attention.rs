//! Attention, and rotary positions.
//!
//! Owns [`AttentionOptions`], [`RopeOptions`] and the launch of `kernels/attention.metal`.
//! Invariant: scores and their softmax are in `f32`; a query that may see no key has a row of NaN.

use crate::context::Ops;
use crate::counted::Path;
use crate::dtype::DType;
use crate::elementwise::Comparison;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::matmul::MatmulOptions;
use crate::tensor::Tensor;

/// What queries see of the keys.
#[derive(Debug, Clone, Copy, Default)]
pub struct AttentionOptions<'a> {
    /// Query `i` of `n` sees the keys up to the one that is as far from the last key as `i` is from
    /// `n`.
    pub causal: bool,
    /// Broadcasts to batch, heads, queries, keys: of `bool` what is seen, else added to the scores.
    pub mask: Option<&'a Tensor>,
    /// Factor of the scores; `None`: one over the root of the width.
    pub scale: Option<f32>,
}

/// Which pairs of elements [`Ops::rope`] turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RopeOptions {
    /// The position of the first row.
    pub first: u32,
    /// The base of the frequencies, usually 10000.
    pub base: f32,
    /// Whether a pair is an element of each half; else two neighbours.
    pub halves: bool,
    /// Whether it turns back: the gradient.
    pub inverse: bool,
}

impl Default for RopeOptions {
    fn default() -> Self {
        RopeOptions { first: 0, base: 10000.0, halves: true, inverse: false }
    }
}

impl Ops {
    /// `softmax(q kᵀ scale + mask) v` of tensors of shape batch, heads, rows, width. Keys and
    /// values may have fewer heads, each for as many consecutive heads of the queries.
    pub fn attention(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        options: &AttentionOptions<'_>,
    ) -> Result<Tensor, OpError> {
        let [batch, heads, rows, _] = check_attention(q, k, v)?;
        let weights = self.attention_weights(q, k, options)?;
        let out = MatmulOptions { out: Some(q.dtype()), ..MatmulOptions::default() };
        let result = self.matmul_with(&weights, &v.unsqueeze(2)?, &out)?;
        self.reshape(&result, &[batch, heads, rows, v.shape()[3]])
    }

    /// The gradients of queries, keys and values of [`Ops::attention`] from that of the result. The weights
    /// are computed again. A mask has none here.
    pub fn attention_backward(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        gradient: &Tensor,
        options: &AttentionOptions<'_>,
    ) -> Result<(Tensor, Tensor, Tensor), OpError> {
        let [batch, heads, rows, width] = check_attention(q, k, v)?;
        let v_width = v.shape()[3];
        if gradient.shape() != [batch, heads, rows, v_width] || !gradient.dtype().is_float() {
            let rule = "the gradient must be of a floating-point type and have the shape of the result";
            return Err(OpError::shape(
                "attention_backward",
                &[q.shape(), v.shape(), gradient.shape()],
                rule,
            ));
        }
        let key_heads = k.shape()[1];
        let grouped = [batch, key_heads, heads / key_heads.max(1)];
        let full = |x: &Tensor, width: usize| {
            self.reshape(&self.cast(x, DType::F32)?, &[&grouped[..], &[rows, width]].concat())
        };
        let weights = self.attention_weights(q, k, options)?;
        let (gradient, scale) = (full(gradient, v_width)?, score_scale(options, width));
        let (wide_k, wide_v) =
            (self.cast(k, DType::F32)?.unsqueeze(2)?, self.cast(v, DType::F32)?.unsqueeze(2)?);
        let of_weights = self.matmul(&gradient, &wide_v.t()?)?;
        let of_scores = self.affine(&self.softmax_backward(&weights, &of_weights, -1)?, scale, 0.0)?;
        let of_q = self.reshape(&self.matmul(&of_scores, &wide_k)?, q.shape())?;
        // Heads of queries that share keys and values add up.
        let of_k = self.sum(&self.matmul(&of_scores.t()?, &full(q, width)?)?, &[2], false)?;
        let of_v = self.sum(&self.matmul(&weights.t()?, &gradient)?, &[2], false)?;
        Ok((self.cast(&of_q, q.dtype())?, self.cast(&of_k, k.dtype())?, self.cast(&of_v, v.dtype())?))
    }

    /// The weights of the values in `f32`, of shape batch, heads of the keys, heads of the queries for each,
    /// queries, keys.
    fn attention_weights(
        &self,
        q: &Tensor,
        k: &Tensor,
        options: &AttentionOptions<'_>,
    ) -> Result<Tensor, OpError> {
        let (&[batch, heads, rows, width], &[_, key_heads, keys, _]) = (q.shape(), k.shape()) else {
            return Err(OpError::shape("attention", &[q.shape(), k.shape()], "four dimensions are needed"));
        };
        let grouped = [batch, key_heads, heads / key_heads.max(1)];
        let full = |x: &Tensor, last: [usize; 2]| self.reshape(x, &[&grouped[..], &last].concat());
        let scaled = self.affine(&self.cast(q, DType::F32)?, score_scale(options, width), 0.0)?;
        let wide = MatmulOptions { out: Some(DType::F32), ..MatmulOptions::default() };
        let k = k.unsqueeze(2)?;
        let mut scores = self.matmul_with(&full(&scaled, [rows, width])?, &k.t()?, &wide)?;
        if let Some(mask) = options.mask {
            let mask = mask.broadcast_to(&[batch, heads, rows, keys])?;
            scores = self.masked(&scores, &full(&mask, [rows, keys])?)?;
        }
        if options.causal {
            scores = self.masked(&scores, &self.causal_mask(rows, keys)?)?;
        }
        self.softmax(&scores, -1)
    }

    /// Elements of the last dimension turned in pairs by an angle that grows with the position,
    /// which is the dimension before.
    pub fn rope(&self, x: &Tensor, options: &RopeOptions) -> Result<Tensor, OpError> {
        let [before @ .., rows, width] = x.shape() else {
            return Err(OpError::shape("rope", &[x.shape()], "two dimensions are needed"));
        };
        if !x.dtype().is_float() {
            return Err(OpError::dtype("rope", &[x.dtype()], "a floating-point type is needed"));
        }
        if !width.is_multiple_of(2) {
            return Err(OpError::shape("rope", &[x.shape()], "the last dimension must be of pairs"));
        }
        let (x, out) = (self.contiguous(x)?, self.empty(x.shape(), x.dtype())?);
        if out.is_empty() {
            return Ok(out);
        }
        let mut defines = Defines::default().with("T0", x.dtype().msl());
        if options.halves {
            defines = defines.with("HALVES", 1);
        }
        let pipeline = self.pipeline(Source::Attention, "rope", defines)?;
        let sign = if options.inverse { -1.0f32 } else { 1.0 };
        let launch = self.call(&pipeline).arg(out.buffer()).arg(&x.part()?);
        let launch = launch.arg(options.first).arg(options.base).arg(sign).arg(*width as u32);
        let outer: usize = before.iter().product();
        self.submit(launch.threads((width / 2, *rows, outer)).group_size((32, 8, 1)))?;
        self.count("rope", Path::Own, 3 * x.len() as u64, 2 * x.byte_len());
        Ok(out)
    }

    fn masked(&self, scores: &Tensor, mask: &Tensor) -> Result<Tensor, OpError> {
        match mask.dtype() {
            DType::Bool => self.where_(mask, scores, &self.scalar(f32::NEG_INFINITY)?),
            _ => self.cast(&self.add(scores, mask)?, DType::F32),
        }
    }

    /// Whether a row sees a key.
    fn causal_mask(&self, rows: usize, keys: usize) -> Result<Tensor, OpError> {
        let last = self.arange(rows, keys as f64 - rows as f64, 1.0, DType::I32)?.view(&[rows, 1])?;
        self.compare(Comparison::Le, &self.arange(keys, 0.0, 1.0, DType::I32)?, &last)
    }
}

fn score_scale(options: &AttentionOptions<'_>, width: usize) -> f32 {
    options.scale.unwrap_or(1.0 / (width as f32).sqrt())
}

fn check_attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<[usize; 4], OpError> {
    let shapes = [q.shape(), k.shape(), v.shape()];
    let refuse = |rule: &str| Err(OpError::shape("attention", &shapes, rule));
    let (&[batch, heads, rows, width], &[k_batch, k_heads, keys, k_width], &[v_batch, v_heads, v_keys, _]) =
        (q.shape(), k.shape(), v.shape())
    else {
        return refuse("all are of shape batch, heads, rows, width");
    };
    if (batch, batch, width, keys, k_heads) != (k_batch, v_batch, k_width, v_keys, v_heads) {
        return refuse(
            "batches, widths of queries and keys, and numbers of keys and values must be the same",
        );
    }
    if k_heads == 0 || !heads.is_multiple_of(k_heads) {
        return refuse("heads of the queries must be a multiple of those of the keys");
    }
    let types = [q.dtype(), k.dtype(), v.dtype()];
    if !types.iter().all(|dtype| dtype.is_float()) {
        return Err(OpError::dtype("attention", &types, "floating-point types are needed"));
    }
    Ok([batch, heads, rows, width])
}
