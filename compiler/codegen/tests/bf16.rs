//! Arithmetic on `bf16`: computed as `float` and rounded once, whatever the numbers. NaNs are told by a 1.

mod support;

use support::{Launch, agree, parsed};

/// Numbers where rounding, overflow or NaNs are special: zeros, the smallest and largest, ones around which
/// ties are, infinities, NaNs quiet and signalling with few and with all bits.
const SPECIAL: [u16; 26] = [
    0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x0080, 0x00FF, 0x3F7F, 0x3F80, 0x3F81, 0xBF82, 0x3FFF, 0x4000,
    0x40A3, 0x437F, 0x7F00, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0xFFC0, 0x7F81, 0x7FFF, 0xFFFF, 0xFFA5,
];

#[test]
fn arithmetic_rounds_as_the_interpreter_does() {
    let pairs = || SPECIAL.iter().flat_map(|&a| SPECIAL.iter().map(move |&b| (a, b)));
    let left: Vec<u8> = pairs().flat_map(|(a, _)| a.to_le_bytes()).collect();
    let right: Vec<u8> = pairs().flat_map(|(_, b)| b.to_le_bytes()).collect();
    let count = left.len() / 2;
    for fast in ["", ".fast"] {
        for op in ["fadd", "fsub", "fmul", "fdiv"] {
            let module = parsed(&format!(
                "func f0 \"k\" (v0: ptr.device, v1: ptr.device, v2: ptr.device) {{
  v3 = query.thread_position_in_grid.x : i32
  v4 = zext v3 : i64
  v5 = ptr_add v0 + v4 * 2 : ptr.device
  v6 = ptr_add v1 + v4 * 2 : ptr.device
  v7 = ptr_add v2 + v4 * 2 : ptr.device
  v8 = load v5, align 2 : bf16
  v9 = load v6, align 2 : bf16
  v10 = {op}{fast} v8, v9 : bf16
  v11 = fne v10, v10 : bool
  v12 = const 1.0 : bf16
  v13 = select v11, v12, v10 : bf16
  store v7, v13, align 2
}}
kernel \"k\" f0 {{
  arg \"a\" buffer 0 device \"bfloat\" scalar bf16 size 2 align 2 read
  arg \"b\" buffer 1 device \"bfloat\" scalar bf16 size 2 align 2 read
  arg \"c\" buffer 2 device \"bfloat\" scalar bf16 size 2 align 2 read_write
}}
"
            ));
            let launch = Launch::new([count as u32, 1, 1], [32, 1, 1]);
            let buffers = [left.clone(), right.clone(), vec![0; 2 * count]];
            agree(&module, "k", &launch, &buffers, &format!("{op}{fast}"));
        }
    }
}
