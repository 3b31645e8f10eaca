//! Stores whose lanes lie side by side in another order: few stores, and faults and switched-off lanes as
//! always.

mod support;

use anymetal_ir::Module;
use support::{Launch, agree, parsed, text};

/// Even threads of a SIMD-group store side by side, odd ones 200 elements behind. `masked`: 20 threads of
/// each 32.
fn module(scalar: &str, count: usize, masked: bool) -> Module {
    let size = if scalar == "f32" { 4 } else { 2 };
    let bytes = size * count;
    let far = 200 * bytes;
    let ty = if count == 1 { scalar.to_owned() } else { format!("{scalar}x{count}") };
    let (open, close) = if masked { ("if v13 {", "} else {\n}") } else { ("", "") };
    let text = format!(
        "func f0 \"k\" (v0: ptr.device, v1: ptr.device) {{
  v2 = query.thread_index_in_simdgroup : i32
  v3 = query.simdgroup_index_in_threadgroup : i32
  v4 = const 1 : i32
  v5 = and v2, v4 : i32
  v6 = lshr v2, v4 : i32
  v7 = zext v5 : i64
  v8 = zext v6 : i64
  v9 = zext v3 : i64
  v10 = zext v2 : i64
  v11 = ptr_add v0 + v10 * {bytes} : ptr.device
  v12 = const 20 : i32
  v13 = ult v2, v12 : bool
  v14 = load v11, align {size} : {ty}
  v15 = ptr_add v1 + v9 * 640 : ptr.device
  v16 = ptr_add v15 + v7 * {far} : ptr.device
  v17 = ptr_add v16 + v8 * {bytes} : ptr.device
  {open}
  store v17, v14, align {size}
  {close}
}}
kernel \"k\" f0 {{
  arg \"a\" buffer 0 device \"T\" scalar {scalar} size {size} align {size} read_write
  arg \"b\" buffer 1 device \"T\" scalar {scalar} size {size} align {size} read_write
}}
"
    );
    parsed(&text)
}

#[test]
fn lanes_in_another_order_are_stored_together() {
    let launch = Launch::new([64, 1, 1], [64, 1, 1]);
    assert!(text(&module("f16", 1, false), "k", &launch).contains("store <16 x half>"));
    for (scalar, count) in [("f16", 1), ("f16", 4), ("f32", 1), ("f32", 2), ("bf16", 2)] {
        let values: Vec<u8> = (0..32 * 4 * 4).map(|n| (n % 89) as u8).collect();
        for masked in [false, true] {
            let module = module(scalar, count, masked);
            for bytes in [8000, 3000, 1500, 640, 20, 0] {
                let what = format!("{scalar} × {count}, masked: {masked}, {bytes} bytes");
                agree(&module, "k", &launch, &[values.clone(), vec![7; bytes]], &what);
            }
        }
    }
}
