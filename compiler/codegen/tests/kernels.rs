//! Hand-written kernels for what random ones do not contain: the CPU's code and the interpreter must
//! agree.

mod support;

use anymetal_hal::error::DeviceError;
use anymetal_ir::Module;
use support::{Launch, agree, parsed};

fn words(count: usize, f: impl Fn(usize) -> u32) -> Vec<u8> {
    (0..count).flat_map(|n| f(n).to_le_bytes()).collect()
}

fn floats(count: usize) -> Vec<u8> {
    words(count, |n| ((n % 13) as f32 - 6.0).to_bits())
}

/// All four ways to compile a launch.
fn every_way(module: &Module, launch: &Launch, buffers: &[Vec<u8>], what: &str) {
    for (specialise, checks) in [(true, true), (true, false), (false, true), (false, false)] {
        let launch = Launch { specialise, checks, ..launch.clone() };
        agree(module, "k", &launch, buffers, &format!("{what}, specialise {specialise}, checks {checks}"));
    }
}

const ARGUMENTS: &str = r#"
kernel "k" f0 {
  arg "a" buffer 0 device "float" scalar f32 size 4 align 4 read_write
  arg "b" buffer 1 device "float" scalar f32 size 4 align 4 read_write
}
"#;

/// Threads that return before a barrier, the others go on.
#[test]
fn early_returns_before_barriers() {
    let text = r#"
threadgroup tg0 "shared" size 512 align 16
func f0 "k" (v0: ptr.device, v1: ptr.device) {
  local l0 "sum" size 4 align 4
  local l1 "i" size 4 align 4
  v2 = query.thread_position_in_threadgroup.x : i32
  v3 = query.thread_position_in_grid.x : i32
  v8 = threadgroup_addr tg0 : ptr.threadgroup
  v9 = zext v2 : i64
  v10 = ptr_add v8 + v9 * 4 : ptr.threadgroup
  v11 = zext v3 : i64
  v12 = ptr_add v0 + v11 * 4 : ptr.device
  v13 = load v12, align 4 : i32
  store v10, v13, align 4
  v4 = const 77 : i32
  v5 = urem v3, v4 : i32
  v6 = const 70 : i32
  v7 = ugt v5, v6 : bool
  if v7 {
    return
  }
  v14 = local_addr l0 : ptr.thread
  v15 = local_addr l1 : ptr.thread
  v16 = const 0 : i32
  store v14, v16, align 4
  store v15, v16, align 4
  loop label0 {
    v17 = load v15, align 4 : i32
    v18 = const 3 : i32
    v19 = uge v17, v18 : bool
    if v19 {
      break label0
    }
    barrier.threadgroup
    v20 = const 5 : i32
    v21 = mul v17, v20 : i32
    v22 = zext v21 : i64
    v23 = ptr_add v8 + v22 * 4 : ptr.threadgroup
    v24 = load v23, align 4 : i32
    v25 = load v14, align 4 : i32
    v26 = mul v25, v18 : i32
    v27 = add v26, v24 : i32
    v28 = add v27, v13 : i32
    store v14, v28, align 4
    barrier.threadgroup
    v29 = const 2 : i32
    v30 = urem v2, v29 : i32
    v31 = eq v30, v16 : bool
    if v31 {
      v32 = load v14, align 4 : i32
      store v10, v32, align 4
    }
    barrier.threadgroup
  } continuing {
    v33 = load v15, align 4 : i32
    v34 = const 1 : i32
    v35 = add v33, v34 : i32
    store v15, v35, align 4
  }
  v36 = load v14, align 4 : i32
  v37 = ptr_add v1 + v11 * 4 : ptr.device
  store v37, v36, align 4
}
"#;
    let module = parsed(&format!("{text}{ARGUMENTS}"));
    let data = words(320, |n| (n as u32).wrapping_mul(2_654_435_761));
    for (threads, group) in [(320, 64), (300, 100), (128, 128)] {
        let launch = Launch::new([threads, 1, 1], [group, 1, 1]);
        every_way(&module, &launch, &[data.clone(), vec![0; 1280]], "early returns");
    }
}

/// Matrices: load, multiply, store, transposed and not, through threadgroup memory and past the end.
#[test]
fn matrices() {
    let text = r#"
threadgroup tg0 "tile" size 256 align 16
func f0 "k" (v0: ptr.device, v1: ptr.device) {
  v2 = const 8 : i64
  v3 = matrix.load v0, v2 : f32x2
  v4 = ptr_add v0 + 256 : ptr.device
  v5 = matrix.load_transposed v4, v2 : f32x2
  v6 = matrix.multiply_accumulate v3, v5, v5 : f32x2
  v7 = threadgroup_addr tg0 : ptr.threadgroup
  matrix.store v7, v2, v6
  barrier.threadgroup
  v8 = matrix.load v7, v2 : f32x2
  v9 = const 12 : i64
  matrix.store_transposed v1, v9, v8
  v10 = query.thread_index_in_threadgroup : i32
  v11 = zext v10 : i64
  v12 = ptr_add v1 + v11 * 4 + 512 : ptr.device
  v13 = extract v6, 1 : f32
  store v12, v13, align 4
}
"#;
    let module = parsed(&format!("{text}{ARGUMENTS}"));
    let launch = Launch::new([32, 1, 1], [32, 1, 1]);
    every_way(&module, &launch, &[floats(128), vec![0; 1024]], "matrices");
    // The second matrix is cut off.
    agree(&module, "k", &launch, &[floats(100), vec![0; 1024]], "matrices out of bounds");
}

/// Private arrays with indices of their own in each lane, and pointers chosen at run time.
#[test]
fn private_arrays_and_chosen_pointers() {
    let text = r#"
func f0 "k" (v0: ptr.device, v1: ptr.device) {
  local l0 "bins" size 64 align 4
  local l1 "other" size 64 align 4
  v2 = query.thread_position_in_grid.x : i32
  v3 = zext v2 : i64
  v4 = local_addr l0 : ptr.thread
  v5 = local_addr l1 : ptr.thread
  mem_zero v4, size 64, align 4
  mem_zero v5, size 64, align 4
  v6 = const 7 : i32
  v7 = mul v2, v6 : i32
  v8 = const 15 : i32
  v9 = and v7, v8 : i32
  v10 = zext v9 : i64
  v11 = ptr_add v4 + v10 * 4 : ptr.thread
  store v11, v7, align 4
  v12 = const 1 : i32
  v13 = and v2, v12 : i32
  v14 = const 0 : i32
  v15 = eq v13, v14 : bool
  v16 = select v15, v4, v5 : ptr.thread
  v17 = ptr_add v16 + v10 * 4 : ptr.thread
  v18 = load v17, align 4 : i32
  v19 = const 100 : i32
  v20 = add v18, v19 : i32
  store v17, v20, align 4
  v21 = load v11, align 4 : i32
  v22 = ptr_add v5 + v10 * 4 : ptr.thread
  v23 = load v22, align 4 : i32
  v24 = const 3 : i32
  v25 = mul v23, v24 : i32
  v26 = add v21, v25 : i32
  v27 = select v15, v0, v1 : ptr.device
  v28 = ptr_add v27 + v3 * 4 : ptr.device
  v29 = load v28, align 4 : i32
  v30 = add v26, v29 : i32
  store v28, v30, align 4
}
"#;
    let module = parsed(&format!("{text}{ARGUMENTS}"));
    let launch = Launch::new([90, 1, 1], [64, 1, 1]);
    let buffers = [words(90, |n| n as u32 * 3), words(90, |n| n as u32 * 5)];
    every_way(&module, &launch, &buffers, "private arrays");
}

/// A kernel in which each thread sums the as many pairs of words that its row has, apart from each other.
fn sums_of_pairs(pairs: usize) -> Module {
    let mut text = String::from(
        r#"func f0 "k" (v0: ptr.device, v1: ptr.device) {
  v2 = query.thread_position_in_grid.x : i32
  v3 = zext v2 : i64
  v4 = ptr_add v0 + v3 * 1028 : ptr.device
  v5 = const 0 : i32
"#,
    );
    let mut sum = 5;
    for word in (0..pairs).flat_map(|pair| [3 * pair, 3 * pair + 1]) {
        let [index, place, value, next] = [sum + 1, sum + 2, sum + 3, sum + 4];
        text += &format!(
            "  v{index} = const {word} : i64\n  v{place} = ptr_add v4 + v{index} * 4 : ptr.device\n"
        );
        text +=
            &format!("  v{value} = load v{place}, align 4 : i32\n  v{next} = add v{sum}, v{value} : i32\n");
        sum = next;
    }
    let place = sum + 1;
    text += &format!(
        "  v{place} = ptr_add v1 + v3 * 4 : ptr.device\n  store v{place}, v{sum}, align 4\n}}\n{ARGUMENTS}"
    );
    parsed(&text)
}

/// Loads lane by lane: LLVM takes time with the square of how many stand in a row, so long rows are divided.
#[test]
fn long_rows_of_loads_are_divided() {
    const DIVISION: &str = "asm sideeffect";
    let launch = Launch { checks: false, ..Launch::new([64, 1, 1], [64, 1, 1]) };
    let divisions = |pairs| support::text(&sums_of_pairs(pairs), "k", &launch).matches(DIVISION).count();
    assert_eq!(divisions(3), 0);
    assert!(divisions(64) >= 15, "{} divisions", divisions(64));
    let buffers = [words(64 * 257, |n| n as u32 * 7), words(64, |_| 0)];
    every_way(&sums_of_pairs(64), &launch, &buffers, "pairs");
}

/// Faults in a loop that begins without masks: the device names the same access as the interpreter.
#[test]
fn faults_in_loops_name_the_access() {
    let text = r#"
file 0 "loops.metal"
func f0 "k" (v0: ptr.device, v1: ptr.device) {
  local l0 "i" size 4 align 4
  v2 = query.thread_position_in_threadgroup.x : i32
  v3 = local_addr l0 : ptr.thread
  v4 = const 200 : i32
  v5 = const 32 : i32
  store v3, v2, align 4
  loop label0 {
    v6 = load v3, align 4 : i32
    v7 = ult v6, v4 : bool
    if v7 {
    } else {
      break label0
    }
    v8 = zext v6 : i64
    v9 = ptr_add v0 + v8 * 4 : ptr.device
    v10 = load v9, align 4 : i32 @0:11:5
    v11 = ptr_add v1 + v8 * 4 : ptr.device
    store v11, v10, align 4 @0:12:5
  } continuing {
    v12 = load v3, align 4 : i32
    v13 = add v12, v5 : i32
    store v3, v13, align 4
  }
}
"#;
    let Some(llvm) = support::llvm() else { return };
    let module = parsed(&format!("{text}{ARGUMENTS}"));
    let launch = Launch::new([32, 1, 1], [32, 1, 1]);
    // Out of bounds from the first, a middle and the last round on; the load, the store or both.
    for (a, b) in [(0, 200), (65, 200), (96, 200), (199, 200), (200, 3), (200, 64), (200, 197), (70, 70)] {
        let buffers = [words(a, |n| n as u32 + 1), vec![0; 4 * b]];
        let mut expected = buffers.to_vec();
        let report = support::interpreted(&module, "k", &launch, &mut expected);
        let first = report.faults.first().expect("a fault");
        let artifact = support::compile(&llvm, &module, "k", &launch);
        let mut got = buffers.to_vec();
        let outcome = support::execute(&artifact, &launch, &mut got, 1);
        let Err(DeviceError::OutOfBounds(fault)) = outcome else { panic!("{a} {b}: {outcome:?}") };
        assert_eq!(got, expected, "{a} {b}");
        assert_eq!(
            (fault.kernel.as_str(), fault.line, fault.byte_offset, fault.bound_len),
            ("k", first.loc.line, first.offset, first.bound),
            "{a} {b}"
        );
        assert_eq!(fault.argument, Some(u32::from(fault.line == 12)), "{a} {b}");
    }
}
