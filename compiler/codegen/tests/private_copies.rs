//! Copies between private arrays that are accessed in pieces of different sizes.

mod support;

use anymetal_ir::Module;
use support::{Launch, agree, parsed};

const THREADS: usize = 45;

/// A kernel with a local of 64 bytes, `l0`, and one of 32, `l1`. Each thread has 64 bytes at `v3`; `v4` and
/// `v5` are the locals' addresses, `v7` is 0 or 32 from the thread's number.
fn module(body: &str) -> Module {
    parsed(&format!(
        "func f0 \"k\" (v0: ptr.device) {{
  local l0 \"from\" size 64 align 8
  local l1 \"to\" size 32 align 8
  v1 = query.thread_position_in_grid.x : i32
  v2 = zext v1 : i64
  v3 = ptr_add v0 + v2 * 64 : ptr.device
  local_start l0
  local_start l1
  v4 = local_addr l0 : ptr.thread
  v5 = local_addr l1 : ptr.thread
  v6 = const 1 : i64
  v7 = and v2, v6 : i64
{body}
}}
kernel \"k\" f0 {{
  arg \"a\" buffer 0 device \"T\" scalar i64 size 8 align 8 read_write
}}
"
    ))
}

fn check(body: &str, what: &str) {
    let launch = Launch::new([THREADS as u32, 1, 1], [THREADS as u32, 1, 1]);
    let values: Vec<u8> = (0..THREADS * 64).map(|n| (n * 7 % 251) as u8).collect();
    agree(&module(body), "k", &launch, &[values], what);
}

/// Eight bytes at a time into one end of `l0`, at an offset that differs between threads or not.
fn filled(dynamic: bool) -> String {
    let mut text = String::new();
    let base = if dynamic { "ptr_add v4 + v7 * 32" } else { "ptr_add v4 + 0" };
    text += &format!("  v10 = {base} : ptr.thread\n");
    for n in 0..4 {
        let (at, loaded, to) = (11 + 3 * n, 12 + 3 * n, 13 + 3 * n);
        text += &format!(
            "  v{at} = ptr_add v3 + {} : ptr.device\n  v{loaded} = load v{at}, align 8 : i64\n  \
             v{to} = ptr_add v10 + {} : ptr.thread\n  store v{to}, v{loaded}, align 8\n",
            8 * n,
            8 * n
        );
    }
    text
}

#[test]
fn eight_bytes_go_where_four_are_read() {
    for dynamic in [false, true] {
        let body = filled(dynamic)
            + "  mem_copy v5, v10, size 24, align 8
  v30 = ptr_add v5 + 4 : ptr.thread
  v31 = load v30, align 4 : f32
  store v3, v31, align 4";
        check(&body, &format!("dynamic: {dynamic}"));
    }
}

#[test]
fn four_bytes_are_found_where_eight_are_read() {
    let body = filled(true)
        + "  v30 = ptr_add v5 + v7 * 4 : ptr.thread
  mem_zero v5, size 32, align 8
  v31 = const 77 : i32
  store v30, v31, align 4
  mem_copy v10, v5, size 32, align 8
  v32 = load v10, align 8 : i64
  store v3, v32, align 8";
    check(&body, "words into pairs");
}

#[test]
fn a_local_behind_an_encoded_pointer_is_copied() {
    let body = filled(true)
        + "  v30 = const 0 : i64
  v31 = eq v7, v30 : bool
  v32 = select v31, v4, v5 : ptr.thread
  mem_copy v5, v10, size 32, align 8
  v33 = load v32, align 8 : i64
  v34 = ptr_add v5 + v7 * 8 : ptr.thread
  v35 = load v34, align 8 : i64
  v36 = add v33, v35 : i64
  store v3, v36, align 8";
    check(&body, "encoded");
}

#[test]
fn a_length_that_is_no_multiple_of_the_alignment_is_copied() {
    let body = filled(true)
        + "  v30 = ptr_add v5 + v7 * 8 : ptr.thread
  mem_zero v5, size 32, align 8
  mem_copy v30, v10, size 20, align 8
  mem_copy v3, v5, size 28, align 8";
    check(&body, "20 bytes");
}
