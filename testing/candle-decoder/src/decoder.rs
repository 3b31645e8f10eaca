//! The model and greedy generation.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::llama::{Cache, Config, Llama};

use crate::weights::Weights;

/// A Llama of 6 layers with grouped queries, 24 million weights.
fn config() -> Config {
    Config {
        hidden_size: 512,
        intermediate_size: 1376,
        vocab_size: 4096,
        num_hidden_layers: 6,
        num_attention_heads: 8,
        num_key_value_heads: 4,
        use_flash_attn: false,
        rms_norm_eps: 1e-5,
        rope_theta: 10_000.0,
        bos_token_id: Some(1),
        eos_token_id: None,
        rope_scaling: None,
        max_position_embeddings: 2048,
        tie_word_embeddings: false,
    }
}

/// A model on a device.
pub struct Decoder {
    model: Llama,
    config: Config,
    device: Device,
}

impl Decoder {
    /// The model; its weights are the same on every device.
    pub fn new(device: &Device) -> Result<Self> {
        let config = config();
        let weights = VarBuilder::from_backend(Box::new(Weights), DType::F32, device.clone());
        Ok(Self { model: Llama::load(weights, &config)?, config, device: device.clone() })
    }

    /// Reads a prompt.
    pub fn start(&self, prompt: &[u32]) -> Result<Generation<'_>> {
        let cache = Cache::new(true, DType::F32, &self.config, &self.device)?;
        let mut generation = Generation { decoder: self, cache, position: 0, next: 0 };
        generation.read(prompt)?;
        Ok(generation)
    }

    /// The first tokens after a prompt.
    pub fn generate(&self, prompt: &[u32], count: usize) -> Result<Vec<u32>> {
        let mut generation = self.start(prompt)?;
        (0..count).map(|_| generation.next_token()).collect()
    }
}

/// A text in the making.
pub struct Generation<'a> {
    decoder: &'a Decoder,
    cache: Cache,
    position: usize,
    next: u32,
}

impl Generation<'_> {
    /// The likeliest next token, which the text goes on with.
    pub fn next_token(&mut self) -> Result<u32> {
        let token = self.next;
        self.read(&[token])?;
        Ok(token)
    }

    fn read(&mut self, tokens: &[u32]) -> Result<()> {
        let input = Tensor::new(tokens, &self.decoder.device)?.unsqueeze(0)?;
        let logits = self.decoder.model.forward(&input, self.position, &mut self.cache)?;
        self.position += tokens.len();
        self.next = logits.squeeze(0)?.argmax(0)?.to_scalar::<u32>()?;
        Ok(())
    }
}
