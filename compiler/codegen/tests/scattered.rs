//! Accesses through indices that only the run shows: lanes side by side, apart, out of bounds, off with any
//! index at all. Results and the first fault are the interpreter's.

mod support;

use std::sync::Arc;

use anymetal_hal::artifact::Artifact;
use anymetal_hal::error::DeviceError;
use anymetal_ir::Module;
use anymetal_llvm::CpuLevel;
use support::{Launch, parsed};

fn module(body: &str) -> Module {
    let text = format!(
        "file 0 \"scattered.metal\"
func f0 \"k\" (v0: ptr.device, v1: ptr.device, v2: ptr.device) {{\n{body}\n}}
kernel \"k\" f0 {{
  arg \"places\" buffer 0 device \"uint\" scalar i32 size 4 align 4 read
  arg \"from\" buffer 1 device \"uint\" scalar i32 size 4 align 4 read_write
  arg \"to\" buffer 2 device \"uint\" scalar i32 size 4 align 4 read_write
}}
"
    );
    parsed(&text)
}

/// Loads from a place, stores to the place in the other buffer, then adds to what was loaded, in the threads
/// whose place satisfies a condition.
fn moves(cast: &str, scalar: &str, size: u32, condition: &str) -> Module {
    module(&format!(
        "  v3 = query.thread_position_in_threadgroup.x : i32
  v4 = zext v3 : i64
  v5 = ptr_add v0 + v4 * 4 : ptr.device
  v6 = load v5, align 4 : i32 @0:1:1
  v7 = const 1000 : i32
  v8 = const 5 : i32
  v9 = {condition} : bool
  if v9 {{
    v10 = {cast} v6 : i64
    v11 = ptr_add v1 + v10 * {size} + 4 : ptr.device
    v12 = load v11, align 1 : {scalar} @0:2:1
    v13 = ptr_add v2 + v10 * {size} : ptr.device
    store v13, v12, align 1 @0:3:1
    v14 = add v12, v12 : {scalar}
    store v11, v14, align 1 @0:4:1
  }}"
    ))
}

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// A kernel compiled in all four ways, and in two for a lower level.
struct Compiled {
    module: Module,
    ways: Vec<(Launch, Arc<Artifact>)>,
}

impl Compiled {
    /// Nothing without an LLVM.
    fn new(module: Module) -> Self {
        let mut ways = Vec::new();
        if let Some(llvm) = support::llvm() {
            // Processors with AVX2 alone go ways of their own.
            let avx2 = Some(CpuLevel::X86_64V3).filter(|level| level.is_available());
            let here = [(true, true), (true, false), (false, true), (false, false)].map(|way| (way, None));
            let lower = [(true, true), (false, false)].map(|way| (way, avx2));
            for ((specialise, checks), level) in
                here.into_iter().chain(lower.into_iter().filter(|(_, level)| level.is_some()))
            {
                let launch = Launch { specialise, checks, level, ..Launch::new([32, 1, 1], [32, 1, 1]) };
                let artifact = support::compile(&llvm, &module, "k", &launch);
                ways.push((launch, artifact));
            }
        }
        Self { module, ways }
    }

    /// As the interpreter, the first fault too. Without checks only what has none.
    fn check(&self, places: &[u32], lengths: [usize; 2], what: &str) {
        let data = |length: usize| (0..length).map(|n| n as u8).collect::<Vec<u8>>();
        let buffers = [words(places.iter().copied()), data(lengths[0]), data(lengths[1])];
        let mut expected = buffers.to_vec();
        let report =
            support::interpreted(&self.module, "k", &Launch::new([32, 1, 1], [32, 1, 1]), &mut expected);
        let first = report.faults.first().map(|fault| (fault.loc.line, fault.offset, fault.bound));
        for (launch, artifact) in self.ways.iter().filter(|(launch, _)| launch.checks || first.is_none()) {
            let mut got = buffers.to_vec();
            let fault = match support::execute(artifact, launch, &mut got, 1) {
                Ok(_) => None,
                Err(DeviceError::OutOfBounds(fault)) => {
                    Some((fault.line, fault.byte_offset, fault.bound_len))
                }
                Err(error) => panic!("{what}: {error:?}"),
            };
            assert_eq!(fault, first, "{what}");
            assert_eq!(got, expected, "{what}");
        }
    }
}

/// The places of 32 threads.
fn places(f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(f).collect()
}

fn cases() -> Vec<(&'static str, Vec<u32>)> {
    vec![
        ("side by side", places(|n| n + 7)),
        ("from the start", places(|n| n)),
        ("up to the end", places(|n| n + 31)),
        ("one beyond the end", places(|n| n + 32)),
        ("all beyond the end", places(|n| n + 900)),
        ("backwards", places(|n| 40 - n)),
        ("the same", places(|_| 9)),
        ("with gaps", places(|n| n * 2)),
        ("with gaps beyond the end", places(|n| n * 3)),
        ("one elsewhere", places(|n| if n == 17 { 3 } else { n })),
        ("the first elsewhere", places(|n| if n == 0 { 60 } else { n })),
        ("one beyond the end among others", places(|n| if n == 17 { 70 } else { n })),
        ("around the largest", places(|n| n.wrapping_sub(16))),
        ("around the largest signed", places(|n| (n + 0x7fff_fff0).wrapping_sub(16))),
        ("the largest but one", places(|n| n.wrapping_sub(33))),
        ("negative", places(|n| n.wrapping_sub(64))),
        ("four times too large", places(|n| n + 0x4000_0000)),
        ("some off", places(|n| if n % 3 == 0 { 2000 } else { n })),
        ("some off, the last beyond the end", places(|n| if n % 3 == 0 { 2000 } else { n + 33 })),
        ("the first off", places(|n| if n < 4 { 0xffff_fff0 } else { n })),
        ("the last off", places(|n| if n > 20 { 0x8000_0000 } else { n + 40 })),
        ("all off", places(|_| 4096)),
        ("one on", places(|n| if n == 5 { 11 } else { 5000 })),
        ("one on beyond the end", places(|n| if n == 5 { 63 } else { 5000 })),
    ]
}

/// How far buffers of 63 elements with 4 bytes before or without reach.
const LENGTHS: [[usize; 2]; 6] = [[256, 252], [256, 100], [100, 256], [0, 256], [256, 0], [255, 251]];

#[test]
fn lanes_side_by_side_and_apart() {
    for cast in ["zext", "sext"] {
        // Always, and where the place is below a number.
        for condition in ["ne v8, v7", "ult v6, v7"] {
            let module = Compiled::new(moves(cast, "i32", 4, condition));
            for (what, places) in cases() {
                for lengths in LENGTHS {
                    module.check(&places, lengths, &format!("{what}, {cast}, {condition}, {lengths:?}"));
                }
            }
        }
    }
}

#[test]
fn scattered_accesses_of_overlapping_elements() {
    // Elements wider than the stride of the index, and elements whose size differs from the stride.
    for (scalar, size) in [("i32", 1), ("i32", 2), ("i16", 2), ("i64", 8), ("i16", 4), ("i64", 4)] {
        let module = Compiled::new(moves("zext", scalar, size, "ult v6, v7"));
        for (what, places) in cases() {
            // Stores of several lanes to one address have no defined order.
            let apart = |a: u32, b: u32| a == b || a.abs_diff(b) * size >= scalar_bytes(scalar);
            let on: Vec<u32> = places.iter().copied().filter(|&place| place < 1000).collect();
            if on.iter().all(|&a| on.iter().all(|&b| apart(a, b))) {
                module.check(&places, [600, 500], &format!("{what}, {scalar}, {size}"));
            }
        }
    }
}

/// Rows that begin where a buffer says, before it as well, at indices without a sign.
#[test]
fn rows_begin_anywhere() {
    let module = Compiled::new(module(
        "  v3 = query.thread_position_in_threadgroup.x : i32
  v4 = zext v3 : i64
  v5 = ptr_add v0 + v4 * 4 : ptr.device
  v6 = load v5, align 4 : i32 @0:1:1
  v7 = ptr_add v0 + 128 : ptr.device
  v8 = load v7, align 4 : i32 @0:1:1
  v9 = sext v8 : i64
  v10 = const 1000 : i32
  v11 = ult v6, v10 : bool
  if v11 {
    v12 = zext v6 : i64
    v13 = ptr_add v1 + v9 * 4 : ptr.device
    v14 = ptr_add v13 + v12 * 4 : ptr.device
    v15 = load v14, align 1 : i32 @0:2:1
    v16 = ptr_add v2 + v9 * 4 + 4 : ptr.device
    v17 = ptr_add v16 + v12 * 4 : ptr.device
    store v17, v15, align 1 @0:3:1
  }",
    ));
    for (what, mut places) in cases() {
        places.push(0);
        for row in [0, 1, 20, -1, -9, 400, i32::MIN, i32::MAX] {
            places[32] = row as u32;
            for lengths in LENGTHS {
                module.check(&places, lengths, &format!("{what}, from {row}, {lengths:?}"));
            }
        }
    }
}

/// Positions that were computed as floats, near their neighbours' or not.
#[test]
fn positions_of_floats() {
    let near = [
        ("two of three", places(|n| n * 2 / 3)),
        ("each twice, from the middle", places(|n| n / 2 + 21)),
        ("each eight times", places(|n| n / 8 + 3)),
        (
            "eight elements at most",
            places(|n| n / 8 * 20 + [0, 7, 1, 6, 2, 5, 3, 4][n as usize % 8] - n / 24 * 17),
        ),
        ("one element too far", places(|n| n / 8 * 8 + n % 8 * 8 / 7)),
        ("the first of a group not the least", places(|n| if n == 16 { 18 } else { n })),
        ("eight up to the end", places(|n| if n < 24 { n } else { n + 31 })),
        ("eight up to one beyond the end", places(|n| if n < 24 { n } else { 56 + (n - 24) / 2 })),
        ("some off, the others near", places(|n| if n % 5 == 2 { 3000 } else { n / 2 })),
        ("the firsts off", places(|n| if n % 8 == 0 { 3000 } else { n })),
    ];
    for (scalar, size) in [("i8", 1), ("i16", 2), ("i32", 4), ("i64", 8)] {
        for condition in ["ne v8, v7", "ult v6, v7"] {
            let module = Compiled::new(module(&format!(
                "  v3 = query.thread_position_in_threadgroup.x : i32
  v4 = zext v3 : i64
  v5 = ptr_add v0 + v4 * 4 : ptr.device
  v6 = load v5, align 4 : i32 @0:1:1
  v7 = const 1000 : i32
  v8 = const 5 : i32
  v9 = {condition} : bool
  if v9 {{
    v10 = utof.safe v6 : f32
    v11 = ftou.safe v10 : i32
    v12 = zext v11 : i64
    v13 = ptr_add v1 + v12 * {size} : ptr.device
    v14 = load v13, align 1 : {scalar} @0:2:1
    v15 = ptr_add v2 + v4 * {size} : ptr.device
    store v15, v14, align 1 @0:3:1
  }}"
            )));
            for (what, places) in cases().into_iter().chain(near.clone()) {
                for length in [63 * size, 64 * size, 40 * size + 1, 0] {
                    let what = format!("{what}, {scalar}, {condition}, {length}");
                    module.check(&places, [length, 32 * size], &what);
                }
            }
        }
    }
}

fn scalar_bytes(scalar: &str) -> u32 {
    scalar.strip_prefix('i').and_then(|bits| bits.parse().ok()).map_or(4, |bits: u32| bits / 8)
}

/// A pointer that was tested for a load is not tested for a store; one that was tested for some threads is
/// for others, and in another round of a loop.
#[test]
fn tests_hold_for_the_threads_and_the_round_that_they_were_made_for() {
    let module = Compiled::new(module(
        "  local l0 \"i\" size 4 align 4
  v3 = query.thread_position_in_threadgroup.x : i32
  v4 = zext v3 : i64
  v5 = ptr_add v0 + v4 * 4 : ptr.device
  v6 = load v5, align 4 : i32 @0:1:1
  v7 = const 40 : i32
  v8 = const 16 : i32
  v9 = zext v6 : i64
  v10 = ptr_add v1 + v9 * 4 : ptr.device
  v11 = ult v6, v7 : bool
  if v11 {
    v12 = load v10, align 4 : i32 @0:2:1
    store v10, v3, align 4 @0:3:1
  }
  v13 = ult v3, v8 : bool
  if v13 {
    store v10, v3, align 4 @0:4:1
  }
  v14 = local_addr l0 : ptr.thread
  v15 = const 0 : i32
  store v14, v15, align 4
  loop label0 {
    v16 = load v14, align 4 : i32
    v17 = const 3 : i32
    v18 = ult v16, v17 : bool
    if v18 {
    } else {
      break label0
    }
    v19 = mul v16, v8 : i32
    v20 = add v19, v6 : i32
    v21 = zext v20 : i64
    v22 = ptr_add v2 + v21 * 4 : ptr.device
    v23 = load v22, align 4 : i32 @0:5:1
    v24 = add v23, v3 : i32
    store v22, v24, align 4 @0:6:1
  } continuing {
    v25 = load v14, align 4 : i32
    v26 = const 1 : i32
    v27 = add v25, v26 : i32
    store v14, v27, align 4
  }",
    ));
    for (what, places) in cases() {
        // Two threads' sums of one element have no order.
        let mut sorted = places.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() == places.len() {
            for lengths in [[256, 400], [160, 400], [256, 130], [0, 0]] {
                module.check(&places, lengths, what);
            }
        }
    }
}

/// Threads walk over a row from `places[0]` on, to before (or at) `places[1]`; loads, and stores of another
/// width.
fn row(stay: &str) -> Compiled {
    Compiled::new(module(&format!(
        "  local l0 \"i\" size 4 align 4
  v3 = query.thread_position_in_threadgroup.x : i32
  v4 = load v0, align 4 : i32
  v5 = sext v4 : i64
  v6 = ptr_add v1 + v5 * 4 : ptr.device
  v7 = ptr_add v0 + 4 : ptr.device
  v8 = load v7, align 4 : i32
  v9 = local_addr l0 : ptr.thread
  v10 = const 32 : i32
  store v9, v3, align 4
  loop label0 {{
    v11 = load v9, align 4 : i32
    {stay}
    v13 = zext v11 : i64
    v14 = ptr_add v6 + v13 * 4 : ptr.device
    v15 = load v14, align 4 : i32 @0:1:1
    v16 = ptr_add v2 + v13 * 8 + 4 : ptr.device
    v17 = trunc v15 : i16
    store v16, v17, align 2 @0:2:1
    v18 = ptr_add v2 + v13 * 8 : ptr.device
    v19 = load v18, align 4 : i32 @0:3:1
    v20 = add v19, v15 : i32
    store v18, v20, align 4 @0:4:1
  }} continuing {{
    v21 = load v9, align 4 : i32
    v22 = add v21, v10 : i32
    store v9, v22, align 4
  }}"
    )))
}

#[test]
fn bounds_of_all_rounds() {
    let below = ["ult v11, v8", "ugt v8, v11", "ule v11, v8", "uge v8, v11"];
    let above = ["uge v11, v8", "ugt v11, v8"];
    let stays = below.map(|test| format!("v12 = {test} : bool\n if v12 {{ }} else {{ break label0 }}"));
    let leaves = above.map(|test| format!("v12 = {test} : bool\n if v12 {{ break label0 }} else {{ }}"));
    for stay in stays.iter().chain(&leaves) {
        let row = row(stay);
        for (start, limit) in
            [(0, 0), (0, 1), (0, 32), (0, 63), (0, 64), (0, 100), (5, 95), (5, 96), (99, 1), (100, 0)]
                .into_iter()
                .chain([(101, 1), (-1, 64), (-32, 64), (-64, 100), (i32::MIN, 64), (i32::MAX, 40)])
        {
            for lengths in [[400, 800], [400, 799], [399, 800], [256, 512], [4, 800], [0, 800], [400, 0]] {
                let mut places = places(|_| 0);
                places[..2].copy_from_slice(&[start as u32, limit]);
                row.check(&places, lengths, &format!("{stay}: {start}, {limit}, {lengths:?}"));
            }
        }
    }
}

/// Loads the element whose index is a quotient, in the threads that satisfy a condition.
fn quotients(cast: &str, scalar: &str, size: u32, condition: &str) -> Module {
    module(&format!(
        "  v3 = query.thread_position_in_threadgroup.x : i32
  v4 = zext v3 : i64
  v5 = ptr_add v0 + v4 * 4 : ptr.device
  v6 = load v5, align 4 : i32 @0:1:1
  v7 = load v0, align 4 : i32 @0:1:1
  v8 = const 1000 : i32
  v9 = {condition} : bool
  if v9 {{
    v10 = udiv v6, v7 : i32
    v11 = {cast} v10 : i64
    v12 = ptr_add v1 + v11 * {size} : ptr.device
    v13 = load v12, align 1 : {scalar} @0:2:1
    v14 = ptr_add v2 + v4 * {size} : ptr.device
    store v14, v13, align 1 @0:3:1
  }}"
    ))
}

#[test]
fn loads_indexed_by_a_quotient() {
    let cases = [
        ("all in one place", places(|lane| 100 + lane)),
        ("two places", places(|lane| 48 + lane)),
        ("all but the first", places(|lane| if lane == 0 { 7 } else { 80 + lane / 8 })),
        ("apart", places(|lane| 3 + lane * 9)),
        ("beyond the end", places(|lane| if lane == 0 { 1 } else { 640 + lane })),
        ("one place beyond the end", places(|lane| if lane == 0 { 1 } else { 4000 })),
        ("off lanes far away", places(|lane| if lane % 3 == 0 { 100 + lane } else { 4_000_000_000 - lane })),
    ];
    for (scalar, size) in [("i32", 4), ("i8", 1), ("i64", 8)] {
        for cast in ["zext", "sext"] {
            // All lanes, those with small numbers, none.
            for condition in ["uge v8, v7", "ult v6, v8", "ult v8, v7"] {
                let compiled = Compiled::new(quotients(cast, scalar, size, condition));
                for (name, places) in &cases {
                    let what = format!("{name}: {scalar} by {cast} where {condition}");
                    compiled.check(places, [64 * size as usize, 32 * size as usize], &what);
                }
            }
        }
    }
}

/// Loads a column of rows of `step` bytes, in the threads before a limit: from `places[0]`, to before
/// `places[1]`.
fn column(scalar: &str, size: u32, step: u32) -> Module {
    module(&format!(
        "  v3 = query.thread_position_in_threadgroup.x : i32
  v4 = zext v3 : i64
  v5 = load v0, align 4 : i32 @0:1:1
  v6 = sext v5 : i64
  v7 = ptr_add v0 + 4 : ptr.device
  v8 = load v7, align 4 : i32 @0:1:1
  v9 = ult v3, v8 : bool
  if v9 {{
    v10 = ptr_add v1 + v6 * 1 : ptr.device
    v11 = ptr_add v10 + v4 * {step} : ptr.device
    v12 = load v11, align 1 : {scalar} @0:2:1
    v13 = ptr_add v2 + v4 * {size} : ptr.device
    store v13, v12, align 1 @0:3:1
  }}"
    ))
}

#[test]
fn columns_of_rows_far_apart() {
    for (scalar, size, step) in [("i32", 4, 132), ("i8", 1, 77), ("i16", 2, 258), ("i64", 8, 1000)] {
        let compiled = Compiled::new(column(scalar, size, step));
        let last = 31 * step + size;
        for (start, limit) in
            [(0, 32), (0, 31), (0, 0), (3, 32), (3, 20), (-1, 32), (-1, 0), (i32::MAX, 32), (i32::MIN, 1)]
        {
            let mut places = places(|_| 0);
            places[..2].copy_from_slice(&[start as u32, limit]);
            for from in [last, last + 3, last - 1, last - step, 20 * step, size, 0] {
                let what = format!("{scalar} from {start}, {limit} rows of {step} bytes in {from}");
                compiled.check(&places, [from as usize, 32 * size as usize], &what);
            }
        }
    }
}
