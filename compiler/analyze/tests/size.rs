//! The size that is chosen without running, and its reasons.

use anymetal_analyze::{FAMILIES, Options, Pattern, SizeChoice, SizeRequest, analyze, choose_size};
use anymetal_ir::Module;
use anymetal_msl::pp::MemoryIncludes;
use anymetal_msl::{CompileOptions, Library};

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void line(device float* y, uint i [[thread_position_in_grid]]) { y[i] *= 2; }
kernel void plane(device float* y, constant uint& w, uint2 i [[thread_position_in_grid]]) { y[i.y * w + i.x] = 1; }
kernel void columns(device float* y, constant uint& h, uint2 i [[thread_position_in_grid]]) { y[i.x * 1024 + i.y] = 1; }
kernel void tile(device float* y, uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup float a[256];
    a[t] = y[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = a[255 - t];
}
";

fn module(kernel: &str) -> Module {
    let options = CompileOptions::default();
    let (library, diagnostics) =
        Library::parse("size.metal", SOURCE.as_bytes(), &options, &mut MemoryIncludes::default());
    let library = library.unwrap_or_else(|| panic!("{}", diagnostics.render_text(false)));
    let mut module = library.module(kernel).unwrap_or_else(|errors| panic!("{}", errors.render_text(false)));
    anymetal_opt::inline(&mut module).expect("it can be inlined");
    anymetal_opt::optimise(&mut module);
    module
}

fn choose(kernel: &str, request: &SizeRequest<'_>) -> SizeChoice {
    choose_size(&module(kernel), kernel, request).unwrap()
}

#[test]
fn threadgroups_that_are_too_large_have_no_positions() {
    let pattern = |group| {
        let options = Options { group: Some(group), threadgroup_memory: 0 };
        analyze(&module("line"), "line", &options).expect("the kernel exists").accesses[0].pattern
    };
    assert_eq!(pattern([1024, 1, 1]), Pattern::Contiguous);
    assert_eq!(pattern([u32::MAX, 2, 1]), Pattern::Gathered);
}

fn request() -> SizeRequest<'static> {
    SizeRequest { required: None, limit: 1024, grid: None, family: &FAMILIES[4], threadgroup_memory: 0 }
}

#[test]
fn a_line_has_256_threads() {
    let choice = choose("line", &request());
    assert_eq!(choice.size, [256, 1, 1]);
    let rules: Vec<&str> = choice.steps.iter().map(|step| step.rule).collect();
    assert_eq!(rules, ["limits", "memory access", "occupancy", "threads"]);
    assert_eq!(choice.steps[0].left, 6);
}

#[test]
fn rows_follow_the_contiguous_axis() {
    let plane = choose("plane", &request()).size;
    assert!(plane[0] >= 32 && plane.iter().product::<u32>() == 256, "{plane:?}");
    let columns = choose("columns", &request()).size;
    assert!(columns[1] > columns[0], "{columns:?}: y is the fast index");
}

#[test]
fn limits_attributes_and_grids_count() {
    assert_eq!(choose("line", &SizeRequest { limit: 100, ..request() }).size, [64, 1, 1]);
    assert_eq!(choose("line", &SizeRequest { limit: 8, ..request() }).size, [8, 1, 1]);
    let demanded = choose("line", &SizeRequest { required: Some([7, 1, 1]), ..request() });
    assert_eq!((demanded.size, demanded.steps.len()), ([7, 1, 1], 1));
    assert_eq!(choose("line", &SizeRequest { grid: Some([40, 1, 1]), ..request() }).size, [64, 1, 1]);
    assert_eq!(choose("line", &SizeRequest { grid: Some([0, 1, 1]), ..request() }).size, [256, 1, 1]);
}

#[test]
fn threadgroup_memory_is_warned_of() {
    let choice = choose("tile", &request());
    assert_eq!(choice.steps.last().unwrap().rule, "note");
}

#[test]
fn a_vendor_without_published_limits_leaves_the_choice_to_the_rest() {
    let choice = choose("line", &SizeRequest { family: &FAMILIES[0], ..request() });
    assert_eq!(choice.size, [256, 1, 1]);
    assert!(choice.steps.iter().any(|step| step.reason.contains("publishes no limits")));
}
