//! Weights from a tensor's name: random, and the same on every device.

use candle_core::{DType, Device, Error, Result, Shape, Tensor};
use candle_nn::Init;
use candle_nn::var_builder::SimpleBackend;

/// Gives every tensor that is asked for.
pub struct Weights;

impl SimpleBackend for Weights {
    fn get(&self, shape: Shape, name: &str, _init: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        let dims = shape.dims();
        let count = shape.elem_count();
        let values: Vec<f32> = match dims {
            // Norms multiply by their weights.
            [_] => vec![1.0; count],
            [.., inputs] => uniform(name, count, (3.0 / *inputs as f32).sqrt()),
            [] => vec![0.0; count],
        };
        Tensor::from_vec(values, shape, device)?.to_dtype(dtype)
    }

    fn get_unchecked(&self, name: &str, _dtype: DType, _device: &Device) -> Result<Tensor> {
        Err(Error::Msg(format!("{name}: a tensor without a shape")))
    }

    fn contains_tensor(&self, _name: &str) -> bool {
        true
    }
}

/// Numbers from `-limit` to `limit` by a generator (SplitMix64) that starts from the name.
fn uniform(name: &str, count: usize, limit: f32) -> Vec<f32> {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let mut state = name.bytes().fold(0xcbf2_9ce4_8422_2325, hash);
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) >> 40
    };
    (0..count).map(|_| (next() as f32 / (1 << 23) as f32 - 1.0) * limit).collect()
}
