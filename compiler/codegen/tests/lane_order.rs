//! Kernels that take x as the row: lanes lie along y where the threads of a SIMD-group do not matter.

mod support;

use anymetal_ir::Module;
use support::{Launch, agree, compile, execute, llvm, parsed, text};

const ARGUMENTS: &str = "kernel \"k\" f0 {
  arg \"from\" buffer 0 device \"float\" scalar f32 size 4 align 4 read
  arg \"to\" buffer 1 device \"float\" scalar f32 size 4 align 4 read_write
  arg \"width\" buffer 2 constant \"uint\" scalar i32 size 4 align 4 read reference
}
";

/// Rows of `width` are copied; v9 and v10 are where from and to.
fn copy(more: &str) -> Module {
    parsed(&format!(
        "func f0 \"k\" (v0: ptr.device, v1: ptr.device, v2: ptr.constant) {{
  v3 = query.thread_position_in_grid.x : i32
  v4 = query.thread_position_in_grid.y : i32
  v5 = load v2, align 4 : i32
  v20 = zext v3 : i64
  v21 = zext v4 : i64
  v22 = zext v5 : i64
  v6 = mul v20, v22 : i64
  v8 = add v6, v21 : i64
  v9 = ptr_add v0 + v8 * 4 : ptr.device
  v10 = ptr_add v1 + v8 * 4 : ptr.device
  v11 = load v9, align 4 : f32
{more}
  store v10, v11, align 4
}}
{ARGUMENTS}"
    ))
}

/// Numbers, room for a copy, and how long a row is.
fn rows(count: u32, width: u32) -> [Vec<u8>; 3] {
    let bytes = |count: u32| (0..count).flat_map(|at| (at as f32).to_le_bytes()).collect::<Vec<u8>>();
    [bytes(count * width), vec![0; 4 * (count * width) as usize], width.to_le_bytes().to_vec()]
}

#[test]
fn every_thread_runs_once() {
    let module = copy("");
    for (threads, group) in [
        ([64, 96, 1], [32, 32, 1]),
        ([16, 128, 1], [8, 64, 1]),
        ([64, 8, 1], [64, 8, 1]),
        ([12, 64, 2], [4, 16, 2]),
        ([33, 70, 1], [16, 32, 1]),
        ([9, 31, 1], [4, 64, 1]),
    ] {
        for checks in [true, false] {
            let mut launch = Launch::new(threads, group);
            launch.checks = checks;
            agree(&module, "k", &launch, &rows(threads[0], threads[1]), &format!("{threads:?} by {group:?}"));
        }
    }
}

#[test]
fn lanes_side_by_side_are_vectors() {
    let launch = Launch::new([64, 64, 1], [32, 32, 1]);
    let has_gathers = |more: &str| text(&copy(more), "k", &launch).contains("gather");
    assert!(!has_gathers(""));
    assert!(has_gathers("  v12 = query.thread_index_in_simdgroup : i32"), "it asks which threads share one");
}

/// Threads wait for each other and read what a neighbour along x left.
#[test]
fn threadgroups_exchange_values() {
    let module = parsed(&format!(
        "threadgroup tg0 \"shared\" size 4096 align 4

func f0 \"k\" (v0: ptr.device, v1: ptr.device, v2: ptr.constant) {{
  v3 = query.thread_position_in_threadgroup.x : i32
  v4 = query.thread_position_in_threadgroup.y : i32
  v5 = query.thread_position_in_grid.x : i32
  v6 = query.thread_position_in_grid.y : i32
  v7 = load v2, align 4 : i32
  v8 = mul v5, v7 : i32
  v9 = add v8, v6 : i32
  v10 = zext v9 : i64
  v11 = ptr_add v0 + v10 * 4 : ptr.device
  v12 = load v11, align 4 : f32
  v13 = threadgroup_addr tg0 : ptr.threadgroup
  v14 = const 32 : i32
  v15 = mul v3, v14 : i32
  v16 = add v15, v4 : i32
  v17 = zext v16 : i64
  v18 = ptr_add v13 + v17 * 4 : ptr.threadgroup
  store v18, v12, align 4
  barrier.threadgroup
  v19 = const 1 : i32
  v20 = xor v3, v19 : i32
  v21 = mul v20, v14 : i32
  v22 = add v21, v4 : i32
  v23 = zext v22 : i64
  v24 = ptr_add v13 + v23 * 4 : ptr.threadgroup
  v25 = load v24, align 4 : f32
  v26 = ptr_add v1 + v10 * 4 : ptr.device
  store v26, v25, align 4
}}
{ARGUMENTS}"
    ));
    agree(&module, "k", &Launch::new([32, 64, 1], [16, 32, 1]), &rows(32, 64), "exchange");
}

#[test]
fn faults_name_the_thread() {
    let Some(llvm) = llvm() else { return };
    let module = copy("");
    let launch = Launch::new([16, 64, 1], [16, 64, 1]);
    let artifact = compile(&llvm, &module, "k", &launch);
    let mut buffers = rows(16, 64);
    // The last place of the row of x = 15 is missing.
    buffers[0].truncate(4 * (16 * 64 - 1));
    let error = execute(&artifact, &launch, &mut buffers, 1).expect_err("it reads out of bounds");
    assert!(format!("{error:?}").contains("[15, 63, 0]"), "{error:?}");
}
