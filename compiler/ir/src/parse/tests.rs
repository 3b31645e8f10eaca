//! Text to module and back.

use super::parse_module;
use crate::{print_module, verify};

const SAMPLE: &str = r#"file 0 "dir\\a \"b\".metal"
function_constant fc0 "wide" index 3 : i32 signed
global g0 "table" align 4 bytes "00010aff"
threadgroup tg0 "shared" size 128 align 16
whole_buffers

func f0 "helper" (v0: f32, v1: i32) -> f32 {
  if v1_is_no_value {
}
"#;

const GOOD: &str = r#"file 0 "dir\\a \"b\u{a}.metal"
function_constant fc0 "wide" index 3 : i32 signed
global g0 "table" align 4 bytes "00010aff"
threadgroup tg0 "shared" size 128 align 16
whole_buffers

func f0 "helper" (v0: f32, v1: i32) -> f32 {
  v2 = const 0 : i32
  v3 = sgt v1, v2 : bool @0:3:4
  if v3 {
    return v0
  }
  v9 = fmul.safe v0, v0 : f32
  return v9
}

func f1 "k" (v0: ptr.device, v1: ptr.threadgroup) {
  local l0 "acc" size 16 align 16
  local_start l0
  v2 = local_addr l0 : ptr.thread
  mem_zero v2, size 16, align 16
  prefetch v2, size 4
  prefetch_stream v2, size 12
  prefetch_l2 v2, size 8
  prefetch_write v2, size 16
  prefetch_write_l2 v2, size 20
  v3 = query.thread_position_in_grid.x : i32
  v4 = zext v3 : i64
  v5 = ptr_add v0 + v4 * 16 + -8 : ptr.device @0:1:2
  v6 = load v5, align 8, volatile : f32x4
  v7 = const 1e-45 : f32
  v8 = call f0(v7, v3) : f32
  v9 = const 0x7fc00000 : f32
  v10 = const null : ptr.device
  v11 = const -0.0 : f16
  v12 = const true : bool
  v13 = shuffle v6, v6, [0, 7] : f32x2
  v14 = insert v13, 1, v8 : f32x2
  v15 = simd.sum.relaxed v14 : f32x2
  v16 = simd.active_mask.fast : i64
  loop label0 {
    switch label1 v3 case -1, 2 {
      break label1
    } case 5 {
      continue label0
    } default {
    }
    scope label2 {
      break label2
    }
  } continuing {
    if v12 @0:7:7 {
    } else {
      break label0
    }
  }
  barrier.threadgroup
  v17 = ptr_add v1 + 4 : ptr.threadgroup
  v18 = atomic.add v17, v3 : i32
  atomic_store v17, v3
  v19 = function_constant fc0 : i32
  v20 = math.fma.safe v8, v8, v8 : f32
  mem_copy v0, v2, size 16, align 4
  store v0, v16, align 8
}

kernel "k" f1 max_threads 256 required_threads 8 4 2 attributes ["thread_position_in_grid", "x"] {
  arg "out" buffer 0 device "float4" vector f32 4 signed size 16 align 16 read_write
  arg "tmp" threadgroup_memory 1 threadgroup "S" aggregate size 8 align 8 write reference disabled
  log error "sub" "cat" "x \"%d\""
  stage_input "color" 3 vector f16 4 signed
}
"#;

#[test]
fn printed_text_parses_to_the_same_text() {
    let module = parse_module(GOOD).unwrap();
    assert_eq!(print_module(&module), GOOD);
    if let Err(errors) = verify(&module) {
        panic!("{}", errors[0]);
    }
}

#[test]
fn errors_have_a_position() {
    let error = parse_module(SAMPLE).unwrap_err();
    assert_eq!((error.line, error.column), (8, 6));
    assert_eq!(error.message, "expected a value, found `v1_is_no_value`");
}

#[test]
fn damaged_text_is_an_error_or_a_module() {
    // Every prefix, and every byte replaced by one that means something elsewhere.
    for end in 0..GOOD.len() {
        let _ = parse_module(&GOOD[..end]);
        for replacement in ["{", "}", "v", "9", "\"", ".", ":"] {
            let _ = parse_module(&format!("{}{replacement}{}", &GOOD[..end], &GOOD[end + 1..]));
        }
    }
}

#[test]
fn deep_nesting_is_an_error() {
    let mut text = String::from("func f0 \"f\" () {\n  v0 = const true : bool\n");
    for _ in 0..100_000 {
        text.push_str("if v0 {\n");
    }
    assert!(parse_module(&text).unwrap_err().message.contains("nest"));
}

#[test]
fn numbers_do_not_allocate() {
    assert!(parse_module("func f0 \"f\" (v4294967295: i32) {}").is_err());
    assert!(parse_module("func f0 \"f\" () { break label4294967295 }").is_err());
}
