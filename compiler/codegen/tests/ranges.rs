//! Accesses to threadgroup variables whose bounds follow from the threadgroup's size: they need no test,
//! and those that lie one byte further keep theirs.

mod support;

use anymetal_ir::Module;
use support::{Launch, agree, parsed, text};

fn module(variable: u32, body: &str) -> Module {
    let text = format!(
        "threadgroup tg0 \"tile\" size {variable} align 4\n
func f0 \"k\" (v0: ptr.device, v1: ptr.device) {{\n{body}\n}}
kernel \"k\" f0 {{
  arg \"a\" buffer 0 device \"T\" scalar f32 size 4 align 4 read_write
  arg \"b\" buffer 1 device \"U\" scalar f32 size 4 align 4 read_write
}}
"
    );
    parsed(&text)
}

/// Each SIMD-group multiplies matrices that begin 256 bytes apart, rows 32 bytes apart.
fn products(variable: u32) -> Module {
    module(
        variable,
        "  v2 = query.simdgroup_index_in_threadgroup : i32
  v3 = query.thread_index_in_threadgroup : i32
  v4 = zext v3 : i64
  v5 = ptr_add v0 + v4 * 8 : ptr.device
  v6 = load v5, align 4 : f32x2
  v7 = threadgroup_addr tg0 : ptr.threadgroup
  v8 = const 64 : i32
  v9 = mul v2, v8 : i32
  v10 = zext v9 : i64
  v11 = ptr_add v7 + v10 * 4 : ptr.threadgroup
  v12 = const 8 : i64
  matrix.store v11, v12, v6
  barrier.threadgroup
  v13 = matrix.load v11, v12 : f32x2
  v14 = matrix.load_transposed v11, v12 : f32x2
  v15 = matrix.multiply_accumulate v13, v14, v6 : f32x2
  v16 = ptr_add v1 + v10 * 4 : ptr.device
  matrix.store v16, v12, v15",
    )
}

/// Every thread stores an element, and loads the last thread's and its neighbour's.
fn elements(variable: u32) -> Module {
    module(
        variable,
        "  v2 = query.thread_position_in_threadgroup.x : i32
  v3 = query.thread_position_in_threadgroup.y : i32
  v4 = const 16 : i32
  v5 = mul v3, v4 : i32
  v6 = add v5, v2 : i32
  v7 = zext v6 : i64
  v8 = ptr_add v0 + v7 * 4 : ptr.device
  v9 = load v8, align 4 : f32
  v10 = threadgroup_addr tg0 : ptr.threadgroup
  v11 = ptr_add v10 + v7 * 4 : ptr.threadgroup
  store v11, v9, align 4
  barrier.threadgroup
  v12 = const 255 : i32
  v13 = xor v6, v12 : i32
  v14 = zext v13 : i64
  v15 = ptr_add v10 + v14 * 4 : ptr.threadgroup
  v16 = load v15, align 4 : f32
  v17 = ptr_add v10 + v7 * 4 : ptr.threadgroup
  v18 = load v17, align 4 : f32
  v19 = fadd v16, v18 : f32
  v20 = ptr_add v1 + v7 * 4 : ptr.device
  store v20, v19, align 4",
    )
}

fn numbers(count: usize) -> Vec<u8> {
    (0..count).flat_map(|n| ((n * 7 % 13) as f32 - 6.0).to_le_bytes()).collect()
}

/// Runs it with all buffers long enough.
fn check(module: &Module, launch: &Launch, what: &str) {
    agree(module, "k", launch, &[numbers(256), vec![0; 1024]], what);
}

#[test]
fn matrices_in_bounds_by_the_size_are_not_tested() {
    let launch = Launch::new([128, 1, 1], [128, 1, 1]);
    let any_size = Launch { specialise: false, ..launch.clone() };
    let has_slow_loads =
        |variable, launch: &Launch| text(&products(variable), "k", launch).contains("@am.rows.load.32");
    assert!(!has_slow_loads(1024, &launch));
    assert!(has_slow_loads(1020, &launch));
    assert!(has_slow_loads(1024, &any_size));
    // A last SIMD-group counts, even one of a single thread.
    assert!(has_slow_loads(1024, &Launch::new([129, 1, 1], [129, 1, 1])));
    for variable in [1024, 1020] {
        check(&products(variable), &launch, "products");
    }
}

#[test]
fn elements_in_bounds_by_the_size_are_not_tested() {
    let launch = Launch::new([16, 16, 1], [16, 16, 1]);
    // Slow paths know the variable's length; those of the device's buffers have none that is constant.
    let reports = |variable: u32, launch: &Launch| {
        let text = text(&elements(variable), "k", launch);
        let length = format!(" i64 {variable},");
        text.lines().filter(|line| line.contains("call void @am.") && line.contains(&length)).count()
    };
    assert_eq!(reports(1024, &launch), 0);
    assert!(reports(1020, &launch) > 0);
    assert!(reports(1024, &Launch { specialise: false, ..launch.clone() }) > 0);
    for variable in [1024, 1020, 4] {
        check(&elements(variable), &launch, "elements");
    }
}
