//! Stores to threadgroup memory of which some lanes are off: these leave what is there, whichever form stores
//! take.

mod support;

use anymetal_ir::Module;
use anymetal_llvm::CpuLevel;
use support::{Launch, agree, options_for, parsed};

/// Each thread stores to its own place, then on a condition to `place`, and hands out what its own place
/// holds then.
fn module(ty: &str, size: usize, place: &str, condition: &str, room: usize) -> Module {
    let scalar = ty.split('x').next().unwrap_or(ty);
    parsed(&format!(
        "threadgroup tg0 \"t\" size {bytes} align 16
func f0 \"k\" (v0: ptr.device, v1: ptr.device) {{
  v2 = query.thread_index_in_threadgroup : i32
  v3 = const 1 : i32
  v4 = const 13 : i32
  v5 = const 45 : i32
  v6 = zext v2 : i64
  v7 = ptr_add v0 + v6 * {size} : ptr.device
  v8 = load v7, align 2 : {ty}
  v9 = ptr_add v0 + v6 * 2 : ptr.device
  v10 = load v9, align 2 : i16
  v11 = zext v10 : i32
  v12 = threadgroup_addr tg0 : ptr.threadgroup
  v13 = {place} : i32
  v14 = zext v13 : i64
  v15 = ptr_add v12 + v14 * {size} : ptr.threadgroup
  v16 = ptr_add v12 + v6 * {size} : ptr.threadgroup
  store v16, v8, align 2
  barrier.threadgroup
  v17 = {condition} : bool
  if v17 {{
    v18 = ptr_add v0 + v6 * {size} + 64 : ptr.device
    v19 = load v18, align 2 : {ty}
    store v15, v19, align 2
  }}
  barrier.threadgroup
  v20 = ptr_add v1 + v6 * {size} : ptr.device
  v21 = load v16, align 2 : {ty}
  store v20, v21, align 2
}}
kernel \"k\" f0 {{
  arg \"a\" buffer 0 device \"T\" scalar {scalar} size {size} align 2 read
  arg \"b\" buffer 1 device \"T\" scalar {scalar} size {size} align 2 read_write
}}
",
        bytes = room * size
    ))
}

#[test]
fn lanes_that_are_off_leave_threadgroup_memory_as_it_is() {
    let ways = [(64, true, true), (50, true, false), (64, false, true)];
    for (ty, size) in [("i32", 4), ("f16", 2), ("f32x4", 16)] {
        for place in ["or v2, v2", "xor v2, v3", "and v11, v5"] {
            for condition in ["ult v2, v4", "ult v2, v5", "ugt v2, v4", "ult v11, v5"] {
                for (room, checks, specialise) in ways {
                    let module = module(ty, size, place, condition, room);
                    check(&module, ty, size, (checks, specialise));
                }
            }
        }
    }
}

/// At every level that this processor has.
fn check(module: &Module, ty: &str, size: usize, (checks, specialise): (bool, bool)) {
    let values: Vec<u8> = (0..64 * size.max(2) + 64).map(|n| (n * 7 % 61) as u8).collect();
    for level in CpuLevel::ALL.into_iter().filter(|level| level.is_available()) {
        let launch = Launch::new([64, 1, 1], [64, 1, 1]);
        let launch = Launch { level: Some(level), specialise, checks, ..launch };
        let buffers = [values.clone(), vec![7; 64 * size]];
        agree(module, "k", &launch, &buffers, &format!("{ty} at {level}, checked: {checks}"));
    }
}

#[test]
fn a_known_number_of_lanes_is_stored_without_a_mask() {
    let module = module("i32", 4, "or v2, v2", "ult v2, v4", 64);
    for level in CpuLevel::ALL {
        let launch = Launch::new([64, 1, 1], [64, 1, 1]);
        let code = anymetal_codegen::cpu::generate(&module, "k", &options_for(&launch, level.vector()));
        let text = code.expect("code").llvm_ir;
        assert!(text.contains("store <8 x i32>") && text.contains("store <4 x i32>"), "{text}");
        assert!(!text.contains("masked.store"), "{text}");
    }
}
