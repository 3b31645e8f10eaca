//! Conversions of floats to integers: to the nearest integer there is, and zero for a NaN, on every
//! processor.

mod support;

use anymetal_llvm::CpuLevel;
use support::{Launch, agree, parsed};

/// Floats around the ends of every integer type, and what is no number.
fn floats() -> Vec<f32> {
    let mut floats =
        vec![0.0, 0.25, 0.99, 1.0, 1.5, 2.5, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY, f32::NAN];
    for bits in [7, 8, 15, 16, 24, 31, 32, 52, 63, 64] {
        let end = (1u128 << bits) as f32;
        floats.extend([end, end.next_down(), end.next_up(), end - 0.5, end + 0.5]);
    }
    floats.iter().flat_map(|&x| [x, -x]).collect()
}

fn kernel(float: &str, op: &str, integer: &str) -> String {
    let size =
        |ty: &str| ty.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse::<u32>().unwrap() / 8;
    let (from, to) = (size(float), size(integer));
    format!(
        "func f0 \"k\" (v0: ptr.device, v1: ptr.device) {{
  v2 = query.thread_position_in_grid.x : i32
  v3 = zext v2 : i64
  v4 = ptr_add v0 + v3 * {from} : ptr.device
  v5 = load v4, align {from} : {float}
  v6 = {op} v5 : {integer}
  v7 = ptr_add v1 + v3 * {to} : ptr.device
  store v7, v6, align {to}
}}
kernel \"k\" f0 {{
  arg \"a\" buffer 0 device \"float\" scalar {float} size {from} align {from} read
  arg \"b\" buffer 1 device \"int\" scalar {integer} size {to} align {to} read_write
}}
"
    )
}

#[test]
fn ends_of_the_types_are_not_passed() {
    let floats = floats();
    let wide: Vec<u8> = floats.iter().flat_map(|x| x.to_le_bytes()).collect();
    // The upper halves are `bf16`s; as `half`s they are what they are.
    let halves: Vec<u8> = floats.iter().flat_map(|x| ((x.to_bits() >> 16) as u16).to_le_bytes()).collect();
    let levels = CpuLevel::ALL.into_iter().filter(|level| level.is_available()).map(Some);
    for level in levels.chain([None]) {
        for (float, numbers) in [("f32", &wide), ("f16", &halves), ("bf16", &halves)] {
            for integer in ["i8", "i16", "i32", "i64"] {
                for op in ["ftos", "ftou"] {
                    let module = parsed(&kernel(float, op, integer));
                    let mut launch = Launch::new([floats.len() as u32, 1, 1], [32, 1, 1]);
                    launch.level = level;
                    let buffers = [numbers.clone(), vec![0; 8 * floats.len()]];
                    agree(
                        &module,
                        "k",
                        &launch,
                        &buffers,
                        &format!("{op} of {float} to {integer}, {level:?}"),
                    );
                }
            }
        }
    }
}

/// Numbers that are limited first, to what integers have room for and to what they do not.
#[test]
fn limited_numbers() {
    let floats = floats();
    let wide: Vec<u8> = floats.iter().flat_map(|x| x.to_le_bytes()).collect();
    let levels = CpuLevel::ALL.into_iter().filter(|level| level.is_available()).map(Some);
    for level in levels.chain([None]) {
        for (op, least, most) in [
            ("ftos", "-2.0", "255.0"),
            ("ftos", "-2147483648.0", "2147483520.0"),
            ("ftos", "-2147483648.0", "2147483648.0"),
            ("ftos", "-2147483904.0", "1.0"),
            ("ftou", "0.0", "4294967040.0"),
            ("ftou", "-1.0", "4294967296.0"),
        ] {
            for mode in ["safe", "relaxed", "fast"] {
                let limits = format!(
                    "v12 = const {least} : f32
  v13 = const {most} : f32
  v14 = math.fmax.{mode} v5, v12 : f32
  v15 = math.fmin.{mode} v14, v13 : f32
  v16 = math.floor.{mode} v15 : f32
  v6 = {op} v16 : i32"
                );
                let text = kernel("f32", op, "i32").replace(&format!("v6 = {op} v5 : i32"), &limits);
                let mut launch = Launch::new([floats.len() as u32, 1, 1], [32, 1, 1]);
                launch.level = level;
                let buffers = [wide.clone(), vec![0; 8 * floats.len()]];
                let what = format!("{op} between {least} and {most}, {mode}, {level:?}");
                agree(&parsed(&text), "k", &launch, &buffers, &what);
            }
        }
    }
}
