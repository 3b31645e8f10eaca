//! Items of four elements are taken apart and put together right, whatever their elements and the processor.

mod support;

use anymetal_ir::Module;
use anymetal_llvm::CpuLevel;
use support::{Launch, agree, parsed};

/// Each thread loads an item, and stores its elements in the reverse order. Eight threads' items are
/// contiguous, and as many bytes are between these and the next ones'.
fn reversed(scalar: &str, size: usize, gap: usize) -> Module {
    let (item, row) = (4 * size, 32 * size + gap);
    parsed(&format!(
        "file 0 \"transpose.metal\"
func f0 \"k\" (v0: ptr.device, v1: ptr.device) {{
  v2 = query.thread_position_in_threadgroup.x : i32
  v3 = const 3 : i32
  v4 = lshr v2, v3 : i32
  v5 = const 7 : i32
  v6 = and v2, v5 : i32
  v7 = zext v4 : i64
  v8 = zext v6 : i64
  v9 = ptr_add v0 + v7 * {row} : ptr.device
  v10 = ptr_add v9 + v8 * {item} : ptr.device
  v11 = load v10, align {size} : {scalar}x4 @0:1:1
  v12 = extract v11, 0 : {scalar}
  v13 = extract v11, 1 : {scalar}
  v14 = extract v11, 2 : {scalar}
  v15 = extract v11, 3 : {scalar}
  v16 = compose v15, v14, v13, v12 : {scalar}x4
  v17 = ptr_add v1 + v7 * {row} : ptr.device
  v18 = ptr_add v17 + v8 * {item} : ptr.device
  store v18, v16, align {size} @0:2:1
}}
kernel \"k\" f0 {{
  arg \"from\" buffer 0 device \"T\" scalar {scalar} size {size} align {size} read
  arg \"to\" buffer 1 device \"T\" scalar {scalar} size {size} align {size} read_write
}}
"
    ))
}

#[test]
fn items_are_reversed_at_all_levels() {
    const THREADS: usize = 64;
    for level in CpuLevel::ALL.into_iter().filter(|level| level.is_available()) {
        for (scalar, size) in
            [("i8", 1), ("i16", 2), ("f16", 2), ("bf16", 2), ("i32", 4), ("f32", 4), ("i64", 8)]
        {
            // All lanes side by side, and rows of eight.
            for gap in [0, 4 * size] {
                let bytes = THREADS / 8 * (32 * size + gap);
                let from: Vec<u8> = (0..bytes).map(|n| (n * 37 % 113) as u8).collect();
                let launch = Launch::new([THREADS as u32, 1, 1], [THREADS as u32, 1, 1]);
                let launch = Launch { level: Some(level), specialise: true, ..launch };
                // The last threads are out of bounds in one or the other.
                for missing in [[0, 0], [5 * size, 0], [0, 41 * size]] {
                    let buffers = [from[..bytes - missing[0]].to_vec(), vec![7; bytes - missing[1]]];
                    let what = format!("{scalar} at {level}, {gap} bytes between rows, {missing:?} missing");
                    agree(&reversed(scalar, size, gap), "k", &launch, &buffers, &what);
                }
            }
        }
    }
}
