//! Tiled matrix products through threadgroup memory.

mod support;

use support::{Launch, agree, parsed};

const GEMM: &str = include_str!("tiles/gemm.ir");
/// Side of the matrices, and of the tiles.
const SIDE: usize = 48;
const TILE: usize = 16;

fn launch() -> Launch {
    let tiles = (SIDE / TILE) as u32;
    Launch::new([32 * tiles, tiles, 1], [32, 1, 1])
}

fn numbers(count: usize) -> Vec<u8> {
    (0..count).flat_map(|n| ((n * 7 % 13) as f32 - 6.0).to_le_bytes()).collect()
}

/// With all in bounds, and with a matrix that is too short.
#[test]
fn tiled_products_agree() {
    let module = parsed(GEMM);
    let launch = launch();
    let matrix = numbers(SIDE * SIDE);
    let side = (SIDE as u32).to_le_bytes().to_vec();
    let buffers = [matrix.clone(), matrix.clone(), vec![0; 4 * SIDE * SIDE], side.clone()];
    agree(&module, "gemm", &launch, &buffers, "whole matrices");
    let buffers = [matrix[..4 * SIDE * (SIDE - 9)].to_vec(), matrix, vec![0; 4 * SIDE * SIDE], side];
    agree(&module, "gemm", &launch, &buffers, "a matrix that is too short");
}
