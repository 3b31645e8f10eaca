//! Loops that bring tiles to threadgroup memory and multiply them: who asks the caches for the next tile.

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

/// How often each of these functions asks for what is read.
fn asks(text: &str, name: &str) -> Vec<usize> {
    hints(text, name, 0)
}

/// The prefetches to read (0) or to write (1).
fn hints(text: &str, name: &str, write: u8) -> Vec<usize> {
    let kind = format!(", i32 {write}, i32 ");
    let is_hint = |line: &&str| line.contains("call void @llvm.prefetch") && line.contains(&kind);
    functions(text, name).iter().map(|body| body.lines().filter(is_hint).count()).collect()
}

/// Panels ask for the next tiles, a line every few rows; where there are none, loads do.
#[test]
fn products_ask_for_the_next_tile() {
    let launch = launch();
    let text = support::text(&parsed(GEMM), "gemm", &launch);
    if support::has_panels(&launch) {
        // Two tiles of 16 rows, four steps of depth at a time: eight walks, in the loop and after it. With
        // AVX2 two steps at a time: twice as many groups ask, so there are half as many walks.
        let walks = if support::options(&launch).features.avx512 { 8 } else { 4 };
        assert_eq!(asks(&text, "@am.panel.0("), [2 * walks]);
        assert_eq!(asks(&text, "@am.version.0("), [0]);
        // A row of the results in each iteration: two fragments, one below the other.
        assert_eq!(hints(&text, "@am.version.0(", 1), [2]);
    } else {
        assert!(asks(&text, "@am.version.0(")[0] >= 8);
    }
}

/// One column of fragments is no panel: after the products, the loop asks for what its loads noted.
#[test]
fn what_no_panel_asks_for_the_loop_does() {
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
    // Eight lines on each side: noted in two rounds, or asked for where they are loaded.
    let rounds = if support::has_panels(&launch) { 2 } else { 1 };
    assert_eq!(asks(&text, "@am.version.0("), [16 * rounds]);
    check(&module);
}

/// The last tiles' notes lead after the matrices, which is no access.
#[test]
fn asking_is_no_access() {
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
