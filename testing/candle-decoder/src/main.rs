//! A decoder of `candle-transformers` with random weights, on candle's CPU and on its Metal device.
//!
//! Both generate tokens greedily from the same weights and prompt. Prints tokens per second of each;
//! fails if a token differs.
//!
//! ```text
//! cargo anymetal run --release -- [TOKENS]
//! ```
#![forbid(unsafe_code)]

mod decoder;
mod weights;

use std::process::ExitCode;
use std::time::Instant;

use candle_core::{Device, Result};

use decoder::Decoder;

/// Tokens that are generated if the command line does not say.
const TOKENS: usize = 48;
/// What generation starts from.
const PROMPT: [u32; 8] = [1, 17, 290, 1041, 5, 733, 64, 2000];

fn main() -> Result<ExitCode> {
    let Some(count) = count() else {
        eprintln!("usage: candle-decoder [TOKENS], at least 1");
        return Ok(ExitCode::from(2));
    };
    let expected = measured("cpu", &Device::Cpu, count)?;
    let found = measured("metal", &Device::new_metal(0)?, count)?;
    match expected.iter().zip(&found).position(|(expected, found)| expected != found) {
        None => {
            println!("the same {count} tokens");
            Ok(ExitCode::SUCCESS)
        }
        Some(at) => {
            println!("token {at} differs: {} on the CPU, {} on Metal", expected[at], found[at]);
            Ok(ExitCode::FAILURE)
        }
    }
}

/// How many tokens are asked for; nothing if that is no number of tokens.
fn count() -> Option<usize> {
    let Some(count) = std::env::args().nth(1) else { return Some(TOKENS) };
    count.parse().ok().filter(|&count| count > 0)
}

/// The tokens of one device. The prompt and the first tokens, for which kernels are compiled, are not
/// in its time.
fn measured(name: &str, device: &Device, count: usize) -> Result<Vec<u32>> {
    let decoder = Decoder::new(device)?;
    let start = Instant::now();
    decoder.generate(&PROMPT, 2)?;
    let first = start.elapsed();
    let mut generation = decoder.start(&PROMPT)?;
    let start = Instant::now();
    let tokens = (0..count).map(|_| generation.next_token()).collect::<Result<Vec<u32>>>()?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{name}: {:.1} tokens/s ({count} tokens in {seconds:.2} s, the first two in {:.2} s)",
        count as f64 / seconds,
        first.as_secs_f64()
    );
    Ok(tokens)
}
