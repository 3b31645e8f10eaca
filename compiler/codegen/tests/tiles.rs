//! Tiled matrix products through threadgroup memory: where the prefetches of the next tile are.

mod support;

use anymetal_ir::Module;
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

/// The bodies of functions whose names start so.
fn functions<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let body = |part: &'t str| part.split("\n}\n").next().unwrap_or(part);
    text.split("\ndefine ")
        .filter(|part| part.contains(name))
        .map(body)
        .filter(|body| body.lines().next().is_some_and(|header| header.contains(name)))
        .collect()
}

/// The number of read prefetches in each function of the name.
fn read_prefetches(text: &str, name: &str) -> Vec<usize> {
    prefetches(text, name, 0)
}

/// The number of prefetches for reading (0) or writing (1) in each function of the name.
fn prefetches(text: &str, name: &str, write: u8) -> Vec<usize> {
    let kind = format!(", i32 {write}, i32 ");
    let is_prefetch = |line: &&str| line.contains("call void @llvm.prefetch") && line.contains(&kind);
    functions(text, name).iter().map(|body| body.lines().filter(is_prefetch).count()).collect()
}

/// Panels prefetch the next tiles, a line every few rows; without panels, loads do.
#[test]
fn panels_prefetch_next_tile() {
    let launch = launch();
    let text = support::text(&parsed(GEMM), "gemm", &launch);
    if support::has_panels(&launch) {
        // Two tiles of 16 rows, four steps of depth at a time: eight walks, in the loop and after it. With
        // AVX2 two steps at a time: twice as many groups prefetch, so there are half as many walks.
        let walks = if support::options(&launch).features.avx512 { 8 } else { 4 };
        assert_eq!(read_prefetches(&text, "@am.panel.0("), [2 * walks]);
        assert_eq!(read_prefetches(&text, "@am.version.0("), [0]);
        // A row of the results in each iteration: two fragments, one below the other.
        assert_eq!(prefetches(&text, "@am.version.0(", 1), [2]);
    } else {
        assert!(read_prefetches(&text, "@am.version.0(")[0] >= 8);
    }
}

/// One column of fragments forms no panel: the loop prefetches the queued addresses after its products.
#[test]
fn loop_prefetches_next_tile_without_panels() {
    let mut program = GEMM.to_owned();
    for (factors, sum) in [("v59, v65", "v68"), ("v63, v65", "v72"), ("v75, v81", "v69"), ("v79, v81", "v73")]
    {
        let product = format!("matrix.multiply_accumulate.fast {factors}, {sum} :");
        assert!(program.contains(&product), "{product}");
        program = program.replace(&product, &format!("fadd {sum}, {sum} :"));
    }
    let module = parsed(&program);
    let launch = launch();
    let text = support::text(&module, "gemm", &launch);
    assert!(!text.contains("@am.panel.0("));
    // Eight lines of each operand: queued in two rounds, or prefetched where they are loaded.
    let rounds = if support::has_panels(&launch) { 2 } else { 1 };
    assert_eq!(read_prefetches(&text, "@am.version.0("), [16 * rounds]);
    check(&module);
}

/// Prefetch addresses of the last tiles are past the end of the matrices: that is no fault.
#[test]
fn prefetch_out_of_bounds_does_not_fault() {
    check(&parsed(GEMM));
}

/// Runs it with all in bounds, and with a matrix that is too short.
fn check(module: &Module) {
    let launch = launch();
    let matrix = numbers(SIDE * SIDE);
    let side = (SIDE as u32).to_le_bytes().to_vec();
    let buffers = [matrix.clone(), matrix.clone(), vec![0; 4 * SIDE * SIDE], side.clone()];
    agree(module, "gemm", &launch, &buffers, "whole matrices");
    let buffers = [matrix[..4 * SIDE * (SIDE - 9)].to_vec(), matrix, vec![0; 4 * SIDE * SIDE], side];
    agree(module, "gemm", &launch, &buffers, "a matrix that is too short");
}
