//! Loads around each thread's place: few tests and vectors, and values and faults as always.

mod support;

use std::fmt::Write as _;

use anymetal_ir::Module;
use anymetal_llvm::CpuLevel;
use support::{Launch, agree, parsed, text};

/// How the index `x + distance` of each load is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Index {
    /// Not below 0, and below the width of a row.
    Clamped,
    /// Plus a number that the program is given, so that it may wrap.
    Wrapping,
    /// The same, widened as a signed number.
    Signed,
    /// Times that number, plus a row's start.
    Scaled,
}

/// Threads copy what they find at all distances to one output each. The buffers: source, target, width and
/// the number added. `masked`: 20 threads of each 32 only.
fn module(ty: &str, bytes: usize, distances: &[i32], index: Index, masked: bool) -> Module {
    let mut body = String::from(
        "  v3 = query.thread_position_in_grid.x : i32
  v4 = query.thread_position_in_grid.y : i32
  v5 = load v2, align 4 : i32
  v6 = ptr_add v2 + 4 : ptr.constant
  v7 = load v6, align 4 : i32
  v8 = mul v4, v5 : i32
  v9 = const 0 : i32
  v10 = const 1 : i32
  v11 = sub v5, v10 : i32
  v12 = query.thread_index_in_simdgroup : i32
  v13 = const 20 : i32
  v14 = ult v12, v13 : bool
  v15 = add v8, v3 : i32
  v16 = zext v15 : i64\n",
    );
    if masked {
        body += "  if v14 {\n";
    }
    let mut next = 17;
    let mut loaded = Vec::new();
    for distance in distances {
        let [constant, place, low, limited, scaled, sum, wide, pointer, value] =
            std::array::from_fn(|k| next + k);
        next += 9;
        let _ = writeln!(body, "  v{constant} = const {distance} : i32");
        let _ = writeln!(body, "  v{place} = add v3, v{constant} : i32");
        let _ = writeln!(body, "  v{low} = smax v{place}, v9 : i32");
        let _ = writeln!(body, "  v{limited} = smin v{low}, v11 : i32");
        let _ = writeln!(body, "  v{scaled} = mul v{place}, v7 : i32");
        let from = match index {
            Index::Clamped => (limited, 8),
            Index::Scaled => (scaled, 8),
            Index::Wrapping | Index::Signed => (place, 7),
        };
        let _ = writeln!(body, "  v{sum} = add v{}, v{} : i32", from.0, from.1);
        let widen = if index == Index::Signed { "sext" } else { "zext" };
        let _ = writeln!(body, "  v{wide} = {widen} v{sum} : i64");
        let _ = writeln!(body, "  v{pointer} = ptr_add v0 + v{wide} * {bytes} : ptr.device");
        let _ = writeln!(body, "  v{value} = load v{pointer}, align {} : {ty}", bytes.min(4));
        loaded.push(value);
    }
    for (k, value) in loaded.iter().enumerate() {
        let offset = k * 8192;
        let _ = writeln!(body, "  v{next} = ptr_add v1 + v16 * {bytes} + {offset} : ptr.device");
        let _ = writeln!(body, "  store v{next}, v{value}, align {}", bytes.min(4));
        next += 1;
    }
    if masked {
        body += "  } else {\n  }\n";
    }
    let scalar = ty.trim_end_matches("x2");
    parsed(&format!(
        "func f0 \"k\" (v0: ptr.device, v1: ptr.device, v2: ptr.constant) {{\n{body}}}
kernel \"k\" f0 {{
  arg \"a\" buffer 0 device \"T\" scalar {scalar} size 4 align 4 read
  arg \"b\" buffer 1 device \"T\" scalar {scalar} size 4 align 4 read_write
  arg \"c\" buffer 2 constant \"uint\" scalar i32 size 4 align 4 read
}}
"
    ))
}

/// For processors with AVX-512, whatever this one is: the text alone is looked at.
fn with_avx512(launch: Launch) -> Launch {
    Launch { level: Some(CpuLevel::X86_64V4), ..launch }
}

fn numbers(width: u32, added: i32) -> Vec<u8> {
    [width.to_le_bytes(), added.to_le_bytes()].concat()
}

fn elements(count: usize, bytes: usize) -> Vec<u8> {
    (0..count * bytes).map(|n| (n % 59) as u8).collect()
}

#[test]
fn a_row_around_each_thread_is_loaded_once() {
    let launch = with_avx512(Launch::new([64, 4, 1], [32, 2, 1]));
    let text = text(&module("f32", 4, &[-2, -1, 0, 1, 2], Index::Clamped, false), "k", &launch);
    // Two vectors and the four elements after them, and the single loads where that does not hold.
    assert_eq!(text.matches("load <16 x i32>").count(), 2);
    assert_eq!(text.matches("load <4 x i32>").count(), 1);
}

#[test]
fn clamped_rows_are_what_single_loads_give() {
    let around: &[i32] = &[-2, -1, 0, 1, 2];
    let cases: [(&str, usize, &[i32], bool); 8] = [
        ("f32", 4, around, false),
        ("f32", 4, around, true),
        ("i32", 4, &[0, 16, 9, 1], false),
        ("f32", 4, &[0, 40, 20], false),
        ("f16", 2, &[3, -1, 7], false),
        ("i64", 8, &[1, 1, 0], false),
        ("f32x2", 8, around, false),
        ("i8", 1, around, true),
    ];
    for (ty, bytes, distances, masked) in cases {
        let module = module(ty, bytes, distances, Index::Clamped, masked);
        for (width, height) in [(96, 2), (37, 3), (1, 3)] {
            let launch = Launch::new([width, height, 1], [32, 2, 1]);
            let count = (width * height) as usize;
            for source in [count, count - 1, 0] {
                let what = format!("{ty} {distances:?} {masked} {width}×{height} {source}");
                let buffers = [elements(source, bytes), vec![9; 5 * 8192], numbers(width, 0)];
                agree(&module, "k", &launch, &buffers, &what);
            }
        }
    }
}

#[test]
fn indices_that_wrap_fault_where_they_do() {
    for index in [Index::Wrapping, Index::Signed] {
        let module = module("f32", 4, &[-1, 0, 1, 2], index, false);
        for added in [0, 1, 2, -1, -2, -30, -33, i32::MAX, i32::MAX - 16, i32::MAX - 40, i32::MIN] {
            let launch = Launch::new([64, 1, 1], [32, 1, 1]);
            let buffers = [elements(70, 4), vec![9; 4 * 8192], numbers(64, added)];
            agree(&module, "k", &launch, &buffers, &format!("{index:?} {added}"));
        }
    }
}

#[test]
fn lanes_in_steps_are_what_single_loads_give() {
    let module = module("f32", 4, &[-1, 0, 1], Index::Scaled, false);
    let launch = Launch::new([64, 3, 1], [32, 1, 1]);
    {
        let launch = with_avx512(launch.clone());
        // Near each other, or one by one.
        let text = text(&module, "k", &launch);
        let gather = text.split("define ").find(|function| function.contains("@am.rare_gather.32(ptr %base"));
        let gather = gather.unwrap_or_default();
        assert!(gather.contains("vpermi2var") && gather.contains("@am.gather.32"), "{gather}");
    }
    for step in [0, 1, 2, 3, -1, -2] {
        let buffers = [elements(192, 4), vec![9; 3 * 8192], numbers(64, step)];
        agree(&module, "k", &launch, &buffers, &format!("{step}"));
    }
}

/// Threads of a guarded grid add up what they find in the rows around theirs, at all distances up to `reach`,
/// with weights by both distances; the border repeats. The buffers: source, target, width and height.
fn filter(ty: &str, reach: i32, weight: impl Fn(i32, i32) -> i32) -> Module {
    let (point, float) = if ty == "f32" { (".0", "f") } else { ("", "") };
    let mut body = String::from(
        "  v3 = query.thread_position_in_grid.x : i32
  v4 = query.thread_position_in_grid.y : i32
  v5 = load v2, align 4 : i32
  v6 = ptr_add v2 + 4 : ptr.constant
  v7 = load v6, align 4 : i32
  v8 = const 0 : i32
  v9 = const 1 : i32
  v10 = sub v5, v9 : i32
  v11 = sub v7, v9 : i32
  v12 = ult v3, v5 : bool
  if v12 {\n",
    );
    let _ = writeln!(body, "  v13 = const 0{point} : {ty}");
    let (mut sum, mut next) = (13, 14);
    let mut value = |body: &mut String, text: &str| {
        let _ = writeln!(body, "  v{next} = {text}");
        next += 1;
        next - 1
    };
    let column = |dx: i32| {
        let distance = value(&mut body, &format!("const {dx} : i32"));
        let place = value(&mut body, &format!("add v3, v{distance} : i32"));
        let place = value(&mut body, &format!("smax v{place}, v8 : i32"));
        value(&mut body, &format!("smin v{place}, v10 : i32"))
    };
    let columns: Vec<_> = (-reach..=reach).map(column).collect();
    for dy in -reach..=reach {
        let distance = value(&mut body, &format!("const {dy} : i32"));
        let row = value(&mut body, &format!("add v4, v{distance} : i32"));
        let row = value(&mut body, &format!("smax v{row}, v8 : i32"));
        let row = value(&mut body, &format!("smin v{row}, v11 : i32"));
        let row = value(&mut body, &format!("mul v{row}, v5 : i32"));
        for (dx, place) in (-reach..=reach).zip(&columns) {
            let index = value(&mut body, &format!("add v{row}, v{place} : i32"));
            let index = value(&mut body, &format!("zext v{index} : i64"));
            let pointer = value(&mut body, &format!("ptr_add v0 + v{index} * 4 : ptr.device"));
            let loaded = value(&mut body, &format!("load v{pointer}, align 4 : {ty}"));
            let weight = value(&mut body, &format!("const {}{point} : {ty}", weight(dy, dx)));
            let weighed = value(&mut body, &format!("{float}mul v{weight}, v{loaded} : {ty}"));
            sum = value(&mut body, &format!("{float}add v{sum}, v{weighed} : {ty}"));
        }
    }
    let row = value(&mut body, "mul v4, v5 : i32");
    let index = value(&mut body, &format!("add v{row}, v3 : i32"));
    let index = value(&mut body, &format!("zext v{index} : i64"));
    let pointer = value(&mut body, &format!("ptr_add v1 + v{index} * 4 : ptr.device"));
    parsed(&format!(
        "func f0 \"k\" (v0: ptr.device, v1: ptr.device, v2: ptr.constant) {{
{body}  store v{pointer}, v{sum}, align 4
  }} else {{
  }}
}}
kernel \"k\" f0 {{
  arg \"a\" buffer 0 device \"T\" scalar {ty} size 4 align 4 read
  arg \"b\" buffer 1 device \"T\" scalar {ty} size 4 align 4 read_write
  arg \"c\" buffer 2 constant \"uint\" scalar i32 size 4 align 4 read
}}
"
    ))
}

fn all_differ(dy: i32, dx: i32) -> i32 {
    1 + 7 * (dy + 3) + dx
}

#[test]
fn rows_are_tested_together() {
    let launch = with_avx512(Launch::new([128, 4, 1], [32, 2, 1]));
    let text = text(&filter("i32", 1, all_differ), "k", &launch);
    // Where all rows hold, nothing stands between them: their vectors are loaded in one block.
    let blocks = text.split("\nb").map(|block| block.matches("load <16 x i32>").count());
    assert_eq!(blocks.clone().max(), Some(6));
    // Once in the loop for threadgroups in the interior.
    assert_eq!(blocks.filter(|&loads| loads == 6).count(), 2);
    // Where limits hold lanes back, each half of them has its stretch of each row, and all members are in it.
    let count = |block: &str, what: &str| block.matches(what).count();
    let held = |block: &str| [count(block, "@llvm.masked.load.v32i32"), count(block, "vpermi2var.d.512(<16")];
    let held: Vec<_> = text.split("\nb").map(held).filter(|counts| counts[0] > 0).collect();
    assert!(held.contains(&[6, 18]), "{held:?}");
}

#[test]
fn filters_are_what_single_loads_give() {
    for reach in [1, 2] {
        let module = filter("i32", reach, all_differ);
        for (width, height) in [(128, 3), (97, 2), (33, 1)] {
            let launch = Launch::new([width, height, 1], [32, 2, 1]);
            let count = (width * height) as usize;
            for [source, target] in [[count, count], [count - 1, count], [count / 2, count - 1]] {
                let what = format!("{reach} {width}×{height} {source} {target}");
                let size = numbers(width, height as i32);
                let buffers = [elements(source, 4), vec![9; 4 * target], size];
                agree(&module, "k", &launch, &buffers, &what);
            }
        }
    }
}

#[test]
fn threadgroups_inside_are_what_single_loads_give() {
    let module = filter("i32", 2, all_differ);
    for (size, group) in [
        ([160, 12], [32, 2, 1]),
        ([130, 13], [32, 4, 1]),
        ([256, 5], [64, 1, 1]),
        ([192, 9], [64, 2, 1]),
        ([64, 24], [16, 8, 1]),
    ] {
        let [width, height] = size;
        let launch = Launch::new([width, height, 1], group);
        let count = (width * height) as usize;
        let row = width as usize;
        for [source, target] in [
            [count, count],
            [count - 1, count],
            [count, count / 2],
            [count - 3 * row + 7, count],
            [5 * row, count],
        ] {
            let buffers = [elements(source, 4), vec![9; 4 * target], numbers(width, height as i32)];
            agree(&module, "k", &launch, &buffers, &format!("{size:?} {group:?} {source} {target}"));
        }
    }
}

#[test]
fn image_sizes_that_differ_from_the_grid() {
    let module = filter("i32", 1, all_differ);
    let launch = Launch::new([128, 12, 1], [32, 2, 1]);
    let count = 128 * 12;
    for width in [0, 1, 100, 129, 1 << 28, (1 << 30) + 3, 1 << 31, (1 << 31) + 128, u32::MAX] {
        for height in [0, 7, 13, -1, i32::MAX, i32::MIN] {
            let buffers = [elements(count, 4), vec![9; 4 * count], numbers(width, height)];
            agree(&module, "k", &launch, &buffers, &format!("{width} {height}"));
        }
    }
}

#[test]
fn weighted_filters_are_what_single_loads_give() {
    // The numbers are small and whole: their sums are exact in any order.
    let weights: [fn(i32, i32) -> i32; 5] = [
        |dy, dx| (3 - dy.abs()) * (3 - dx.abs()),
        |_, _| 1,
        |dy, dx| dy * (3 - dx.abs()),
        |dy, dx| dx * (3 - dy.abs()),
        |dy, dx| dy * dy + dx * dx + 1,
    ];
    let elements =
        |count: usize| (0..count).flat_map(|n| ((n * n % 61) as f32).to_le_bytes()).collect::<Vec<u8>>();
    for (n, weight) in weights.into_iter().enumerate() {
        for reach in [1, 2] {
            let module = filter("f32", reach, weight);
            for (width, height) in [(128, 2), (97, 1)] {
                let launch = Launch::new([width, height, 1], [32, 2, 1]);
                let count = (width * height) as usize;
                for source in [count, count / 2] {
                    let buffers = [elements(source), vec![9; 4 * count], numbers(width, height as i32)];
                    agree(&module, "k", &launch, &buffers, &format!("{n} {reach} {width}×{height} {source}"));
                }
            }
        }
    }
}
