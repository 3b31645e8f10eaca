//! A small decoder with random weights: it continues a prompt, a token at a time, with the keys and
//! values of the tokens before kept; and checks that the logits are those of the whole sequence at
//! once. Prints the device time and the rates of each operation of that; into a file as well, for
//! `anymetal report`, if one is named.
//!
//! `cargo run -p anymetal-tensor-ops --example transformer -- step.json`
#![allow(clippy::print_stdout, reason = "a command-line program")]

use anymetal_tensor_ops::{AttentionOptions, DType, Generator, OpError, Ops, RopeOptions, Tensor};

const TOKENS: usize = 97;
const WIDTH: usize = 64;
const HEADS: usize = 4;
/// Keys and values have fewer heads than queries.
const KEY_HEADS: usize = 2;
const HEAD: usize = WIDTH / HEADS;
const HIDDEN: usize = 160;
const LAYERS: usize = 3;

struct Layer {
    attention_norm: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    hidden_norm: Tensor,
    gate: Tensor,
    up: Tensor,
    down: Tensor,
}

struct Decoder {
    ops: Ops,
    table: Tensor,
    layers: Vec<Layer>,
    norm: Tensor,
    /// From the width to the tokens.
    head: Tensor,
}

/// Keys and values of the tokens so far, for each layer.
#[derive(Default)]
struct Memory {
    layers: Vec<(Tensor, Tensor)>,
}

impl Memory {
    fn tokens(&self) -> usize {
        self.layers.first().map_or(0, |(keys, _)| keys.shape()[2])
    }
}

impl Decoder {
    fn new(ops: &Ops) -> Result<Decoder, OpError> {
        let generator = Generator::new(ops, 11);
        let weight = |inputs: usize, outputs: usize| {
            generator.normal(&[inputs, outputs], 0.0, (1.0 / inputs as f32).sqrt(), DType::F32)
        };
        let layer = || {
            Ok(Layer {
                attention_norm: ops.ones(&[WIDTH], DType::F32)?,
                query: weight(WIDTH, HEADS * HEAD)?,
                key: weight(WIDTH, KEY_HEADS * HEAD)?,
                value: weight(WIDTH, KEY_HEADS * HEAD)?,
                output: weight(HEADS * HEAD, WIDTH)?,
                hidden_norm: ops.ones(&[WIDTH], DType::F32)?,
                gate: weight(WIDTH, HIDDEN)?,
                up: weight(WIDTH, HIDDEN)?,
                down: weight(HIDDEN, WIDTH)?,
            })
        };
        Ok(Decoder {
            ops: ops.clone(),
            table: generator.normal(&[TOKENS, WIDTH], 0.0, 1.0, DType::F32)?,
            layers: (0..LAYERS).map(|_| layer()).collect::<Result<_, OpError>>()?,
            norm: ops.ones(&[WIDTH], DType::F32)?,
            head: weight(WIDTH, TOKENS)?,
        })
    }

    /// The logits after each of those tokens, which follow the ones in memory.
    fn forward(&self, tokens: &[u32], memory: &mut Memory) -> Result<Tensor, OpError> {
        let (ops, first) = (&self.ops, memory.tokens());
        let mut x = ops.embedding(&self.table, &ops.tensor(tokens, &[tokens.len()])?)?;
        for (index, layer) in self.layers.iter().enumerate() {
            let normal = ops.rms_norm(&x, 1, Some(&layer.attention_norm), 1e-5)?;
            let seen = self.attend(layer, index, &normal, first, memory)?;
            x = ops.add(&x, &ops.matmul(&seen, &layer.output)?)?;
            let normal = ops.rms_norm(&x, 1, Some(&layer.hidden_norm), 1e-5)?;
            let gate = ops.silu(&ops.matmul(&normal, &layer.gate)?)?;
            let hidden = ops.mul(&gate, &ops.matmul(&normal, &layer.up)?)?;
            x = ops.add(&x, &ops.matmul(&hidden, &layer.down)?)?;
        }
        ops.matmul(&ops.rms_norm(&x, 1, Some(&self.norm), 1e-5)?, &self.head)
    }

    fn attend(
        &self,
        layer: &Layer,
        index: usize,
        x: &Tensor,
        first: usize,
        memory: &mut Memory,
    ) -> Result<Tensor, OpError> {
        let (ops, count) = (&self.ops, x.shape()[0]);
        let heads = |weight: &Tensor, heads: usize| {
            ops.matmul(x, weight)?.view(&[1, count, heads, HEAD])?.transpose(1, 2)
        };
        let turned = RopeOptions { first: first as u32, ..RopeOptions::default() };
        let query = ops.rope(&heads(&layer.query, HEADS)?, &turned)?;
        let mut key = ops.rope(&heads(&layer.key, KEY_HEADS)?, &turned)?;
        let mut value = heads(&layer.value, KEY_HEADS)?;
        if let Some((keys, values)) = memory.layers.get(index) {
            (key, value) = (ops.concat(&[keys, &key], 2)?, ops.concat(&[values, &value], 2)?);
        }
        let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
        let seen = ops.attention(&query, &key, &value, &options)?;
        memory.layers.truncate(LAYERS);
        match memory.layers.get_mut(index) {
            Some(known) => *known = (key, value),
            None => memory.layers.push((key, value)),
        }
        ops.reshape(&seen.transpose(1, 2)?, &[count, HEADS * HEAD])
    }
}

pub(crate) fn main() -> Result<(), OpError> {
    let ops = Ops::new(&anymetal::Device::system_default()?)?;
    let decoder = Decoder::new(&ops)?;
    let mut tokens = vec![5u32, 17, 42, 3];
    let mut memory = Memory::default();
    let mut logits = decoder.forward(&tokens, &mut memory)?;
    for _ in 0..20 {
        let last = logits.select(0, logits.shape()[0] - 1)?;
        let next = ops.argmax(&last, 0, false)?.item::<u32>()?;
        tokens.push(next);
        logits = decoder.forward(&[next], &mut memory)?;
    }
    println!("{tokens:?}");

    let (whole, profile) = ops.profile(|_| decoder.forward(&tokens, &mut Memory::default()))?;
    let last = whole.narrow(0, tokens.len() - 1..tokens.len())?;
    let difference = ops.max(&ops.abs(&ops.sub(&last, &logits)?)?, &[], false)?.item::<f32>()?;
    println!("largest difference from the logits of the whole sequence: {difference:e}");
    print!("{profile}");
    if let Some(file) = std::env::args().nth(1).filter(|name| name.ends_with(".json")) {
        match std::fs::write(&file, profile.to_report("a decoder's step over all tokens")) {
            Ok(()) => println!("anymetal report {file} -o step.html"),
            Err(error) => println!("{file}: {error}"),
        }
    }
    assert!(difference < 1e-3, "a token at a time and all at once must agree");
    Ok(())
}
