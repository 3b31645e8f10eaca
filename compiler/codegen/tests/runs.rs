//! Runs of threadgroups: each threadgroup of a grid is executed once, at its own position and with its own
//! size, however runs begin and end.

mod support;

use anymetal_ir::Module;
use support::{Launch, agree, compile, execute, llvm, parsed};

/// Each thread leaves its threadgroup's position and size, and the first of a threadgroup counts it.
fn census() -> Module {
    let mut text = "func f0 \"k\" (v0: ptr.device, v1: ptr.device) {
  v2 = query.thread_position_in_grid.x : i32
  v3 = query.thread_position_in_grid.y : i32
  v4 = query.thread_position_in_grid.z : i32
  v5 = query.threads_per_grid.x : i32
  v6 = query.threads_per_grid.y : i32
  v7 = mul v4, v6 : i32
  v8 = add v7, v3 : i32
  v9 = mul v8, v5 : i32
  v10 = add v9, v2 : i32
  v11 = zext v10 : i64
  v12 = ptr_add v0 + v11 * 4 : ptr.device
  v13 = load v12, align 4 : i32
  v14 = const 17 : i32
"
    .to_owned();
    let mut sum = 13;
    let mut next = 20;
    for query in ["threadgroup_position_in_grid", "threads_per_threadgroup"] {
        for axis in ["x", "y", "z"] {
            text += &format!(
                "  v{next} = query.{query}.{axis} : i32
  v{} = mul v{sum}, v14 : i32
  v{} = add v{}, v{next} : i32
",
                next + 1,
                next + 2,
                next + 1
            );
            sum = next + 2;
            next += 3;
        }
    }
    parsed(&format!(
        "{text}  store v12, v{sum}, align 4
}}
kernel \"k\" f0 {{
  arg \"out\" buffer 0 device \"uint\" scalar i32 size 4 align 4 read_write
  arg \"unused\" buffer 1 device \"uint\" scalar i32 size 4 align 4 read_write
}}
"
    ))
}

#[test]
fn threadgroups_of_a_run_have_their_positions() {
    let module = census();
    for (threads, group) in [
        ([1, 1, 1], [1, 1, 1]),
        ([320, 1, 1], [32, 1, 1]),
        ([321, 1, 1], [32, 1, 1]),
        ([31, 1, 1], [32, 1, 1]),
        ([64, 6, 3], [16, 2, 1]),
        ([65, 6, 3], [16, 2, 1]),
        ([64, 7, 3], [16, 2, 1]),
        ([64, 6, 5], [16, 2, 2]),
        ([67, 7, 5], [16, 2, 2]),
        ([3, 200, 2], [8, 1, 1]),
        ([16, 200, 2], [8, 4, 1]),
    ] {
        let count = threads.iter().product::<u32>() as usize;
        for specialise in [true, false] {
            let mut launch = Launch::new(threads, group);
            launch.specialise = specialise;
            let buffers = [vec![0; 4 * count], vec![0; 4]];
            agree(&module, "k", &launch, &buffers, &format!("{threads:?} by {group:?}, {specialise}"));
        }
    }
}

/// A run goes on after a threadgroup that reaches out of bounds, and its first such threadgroup is named.
#[test]
fn a_run_continues_after_a_fault() {
    let Some(llvm) = llvm() else { return };
    let module = census();
    let launch = Launch::new([64, 64, 1], [32, 2, 1]);
    let artifact = compile(&llvm, &module, "k", &launch);
    // The last seven rows are missing but for ten threads.
    let kept = 64 * 57 + 10;
    let mut buffers = [vec![0; 4 * kept], vec![0; 4]];
    let error = execute(&artifact, &launch, &mut buffers, 1).expect_err("it writes out of bounds");
    assert!(format!("{error:?}").contains("group: [0, 28, 0], thread: [10, 1, 0]"), "{error:?}");
    let last = u32::from_le_bytes(buffers[0][4 * (kept - 1)..].try_into().expect("four bytes"));
    assert_ne!(last, 0, "the last thread that fits wrote");
}

/// What was never written does not come from the threadgroup before, so that results do not depend on how a
/// grid is split into runs.
#[test]
fn locals_do_not_keep_values_of_the_previous_threadgroup() {
    let Some(llvm) = llvm() else { return };
    let module = parsed(
        "func f0 \"k\" (v0: ptr.device, v1: ptr.device) {
  local l0 \"count\" size 4 align 4
  v2 = query.threadgroup_position_in_grid.x : i32
  v3 = query.thread_position_in_grid.x : i32
  v4 = local_addr l0 : ptr.thread
  v6 = const 1 : i32
  v7 = and v2, v6 : i32
  v8 = eq v7, v6 : bool
  if v8 {
    store v4, v2, align 4
    barrier.threadgroup
  }
  v9 = load v4, align 4 : i32
  v10 = zext v3 : i64
  v11 = ptr_add v0 + v10 * 4 : ptr.device
  store v11, v9, align 4
}
kernel \"k\" f0 {
  arg \"out\" buffer 0 device \"uint\" scalar i32 size 4 align 4 read_write
  arg \"unused\" buffer 1 device \"uint\" scalar i32 size 4 align 4 read_write
}
",
    );
    let launch = Launch::new([640, 1, 1], [64, 1, 1]);
    let artifact = compile(&llvm, &module, "k", &launch);
    let mut buffers = [vec![0; 2560], vec![0; 4]];
    execute(&artifact, &launch, &mut buffers, 1).expect("it runs");
    for (thread, bytes) in (0_u32..).zip(buffers[0].as_chunks().0) {
        let group = thread / 64;
        let expected = if group % 2 == 1 { group } else { 0 };
        assert_eq!(*bytes, expected.to_le_bytes(), "thread {thread}");
    }
}
