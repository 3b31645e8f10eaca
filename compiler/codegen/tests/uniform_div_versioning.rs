//! Flat indices taken apart by division: the same as in the interpreter, whatever the divisors are, and
//! whichever threads are there.

mod support;

use std::fmt::Write as _;

use anymetal_ir::Module;
use support::{Launch, compile, execute, interpret, llvm, parsed, text};

/// How indices are divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Index {
    signed: bool,
    /// As numbers of 64 bits.
    wide: bool,
    /// In a loop over the extents.
    looped: bool,
    /// Only some threads do it, and each takes apart its own number of extents.
    masked: bool,
}

/// Element `x` of an array of numbers: its value, and instructions that load it.
fn element(array: &str, index: &str, names: [&str; 3], ty: &str, bytes: u32) -> String {
    let [wide, place, value] = names;
    format!(
        "  {wide} = zext {index} : i64
  {place} = ptr_add {array} + {wide} * {bytes} : ptr.constant
  {value} = load {place}, align {bytes} : {ty}\n"
    )
}

/// Threads write what their flat index comes to, and what is left of it: the index from `start` on, the
/// extents and strides in three arrays, the number of extents behind `start`. Values are numbered by names
/// here.
fn module(index: Index) -> Module {
    let Index { signed, wide, looped, masked } = index;
    let (divide, modulo) = if signed { ("sdiv", "srem") } else { ("udiv", "urem") };
    let (ty, bytes, extend) = match (wide, signed) {
        (false, _) => ("i32", 4, None),
        (true, false) => ("i64", 8, Some("zext")),
        (true, true) => ("i64", 8, Some("sext")),
    };
    let mut body = String::from(
        "  %tid = query.thread_position_in_grid.x : i32
  %start = load %starts, align 4 : i32
  %flat = add %tid, %start : i32
  %countplace = ptr_add %starts + 4 : ptr.constant
  %given = load %countplace, align 4 : i32
  %zero = const 0 : i32
  %one = const 1 : i32
  %three = const 3 : i32
  %own = and %tid, %three : i32
  %lane = query.thread_index_in_simdgroup : i32
  %twenty = const 20 : i32
  %few = ult %lane, %twenty : bool
  local_start l0
  local_start l1
  local_start l2
  %rest = local_addr l0 : ptr.thread
  %from = local_addr l1 : ptr.thread
  %dim = local_addr l2 : ptr.thread
  store %rest, %flat, align 4
  store %from, %zero, align 4
  store %dim, %zero, align 4\n",
    );
    let count = if masked { "%own" } else { "%given" };
    if masked {
        body += "  if %few {\n";
    }
    if looped {
        let _ = write!(
            body,
            "  loop label0 {{
  %d = load %dim, align 4 : i32
  %more = ult %d, {count} : bool
  if %more {{
  }} else {{
    break label0
  }}\n"
        );
    } else {
        body += "  %d = const 0 : i32\n";
    }
    body += "  %x = load %rest, align 4 : i32\n";
    let x = match extend {
        Some(extend) => {
            let _ = writeln!(body, "  %xw = {extend} %x : i64");
            "%xw"
        }
        None => "%x",
    };
    body += &element("%extents", "%d", ["%i", "%pe", "%n"], ty, bytes);
    let _ = writeln!(body, "  %r = {modulo} {x}, %n : {ty}");
    body += &element("%strides", "%d", ["%j", "%ps", "%s"], ty, bytes);
    let _ = writeln!(body, "  %rs = mul %r, %s : {ty}\n  %q = {divide} {x}, %n : {ty}");
    let (product, quotient) = match extend {
        Some(_) => {
            body += "  %rst = trunc %rs : i32\n  %qt = trunc %q : i32\n";
            ("%rst", "%qt")
        }
        None => ("%rs", "%q"),
    };
    let _ = write!(
        body,
        "  %f = load %from, align 4 : i32
  %sum = add %f, {product} : i32
  store %from, %sum, align 4
  store %rest, {quotient}, align 4\n"
    );
    if looped {
        body += "  } continuing {
  %dn = load %dim, align 4 : i32
  %next = add %dn, %one : i32
  store %dim, %next, align 4
  }\n";
    }
    body += "  %fl = load %from, align 4 : i32
  %mask = const 255 : i32
  %inside = and %fl, %mask : i32
  %wi = zext %inside : i64
  %si = ptr_add %source + %wi * 4 : ptr.device
  %got = load %si, align 4 : i32
  %left = load %rest, align 4 : i32
  %wt = zext %tid : i64
  %out = ptr_add %target + %wt * 12 : ptr.device
  store %out, %fl, align 4
  %out1 = ptr_add %out + 4 : ptr.device
  store %out1, %left, align 4
  %out2 = ptr_add %out + 8 : ptr.device
  store %out2, %got, align 4\n";
    if masked {
        body += "  }\n";
    }
    parsed(&format!(
        "func f0 \"f\" (v0: ptr.device, v1: ptr.device, v2: ptr.constant, v3: ptr.constant, v4: ptr.constant) {{
  local l0 \"rest\" size 4 align 4
  local l1 \"from\" size 4 align 4
  local l2 \"d\" size 4 align 4
{}}}

kernel \"k\" f0 attributes [\"thread_position_in_grid\"] {{
  arg \"source\" buffer 0 device \"int\" scalar i32 size 4 align 4 read
  arg \"target\" buffer 1 device \"int\" scalar i32 size 4 align 4 read_write
  arg \"extents\" buffer 2 constant \"int\" scalar {ty} size {bytes} align {bytes} read
  arg \"strides\" buffer 3 constant \"int\" scalar {ty} size {bytes} align {bytes} read
  arg \"starts\" buffer 4 constant \"int\" scalar i32 size 4 align 4 read
}}\n",
        numbered(&body)
    ))
}

/// Names of values become numbers, in order of their first use.
fn numbered(body: &str) -> String {
    let mut names: Vec<String> =
        ["%source", "%target", "%extents", "%strides", "%starts"].map(str::to_owned).to_vec();
    let mut text = String::new();
    let mut rest = body;
    while let Some(at) = rest.find('%') {
        text += &rest[..at];
        let name = &rest[at..];
        let end = name[1..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(name.len(), |end| end + 1);
        let (name, behind) = name.split_at(end);
        let number = names.iter().position(|known| known == name).unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
        let _ = write!(text, "v{number}");
        rest = behind;
    }
    text + rest
}

const THREADS: u32 = 208;

fn numbers(values: &[i64], wide: bool) -> Vec<u8> {
    let bytes = |value: &i64| {
        if wide { value.to_le_bytes().to_vec() } else { (*value as i32).to_le_bytes().to_vec() }
    };
    values.iter().flat_map(bytes).collect()
}

/// What is divided by what: extents, strides, and the first index.
type Case = ([i64; 3], [i64; 3], i32);

fn cases() -> Vec<Case> {
    let highest = i64::from(u32::MAX);
    let mut cases: Vec<Case> = vec![
        // Borders fall anywhere.
        ([64, 3, 5], [1, 7, 100], 0),
        ([31, 7, 2], [3, 0, 1], 0),
        ([33, 2, 9], [0, 1, 5], 0),
        ([1, 40, 2], [9, 1, 1], 0),
        ([40, 40, 40], [1, 1, 1], 17),
    ];
    for extent in [0, 1, 1 << 31, highest, -5, i64::from(i32::MAX), 1 << 32, (1 << 32) + 64] {
        cases.push(([extent, 50, 3], [1, 2, 3], 70));
    }
    // Indices wrap.
    for start in [-50, i32::MAX - 60, i32::MIN, i32::MIN + 40, -1] {
        for extent in [100, highest, 1 << 31, i64::from(i32::MAX)] {
            cases.push(([extent, 3, 4], [1, 11, 2], start));
        }
    }
    cases
}

fn buffers(index: Index, (extents, strides, start): Case, count: i32) -> Vec<Vec<u8>> {
    let source = (0..256).flat_map(|at: i32| (at * at).to_le_bytes()).collect();
    let starts = [start, count].map(i32::to_le_bytes).concat();
    let target = vec![0; THREADS as usize * 12];
    vec![source, target, numbers(&extents, index.wide), numbers(&strides, index.wide), starts]
}

/// Runs the cases in threadgroups of several sizes, which leave threads of SIMD-groups out.
fn check(index: Index) {
    let Some(llvm) = llvm() else { return };
    let module = module(index);
    for (group, checks) in [(64, true), (64, false), (104, true), (32, false)] {
        let mut launch = Launch::new([THREADS, 1, 1], [group, 1, 1]);
        launch.checks = checks;
        let artifact = compile(&llvm, &module, "k", &launch);
        for case in cases() {
            for count in 0..4 {
                let mut expected = buffers(index, case, count);
                let mut got = expected.clone();
                let clean = interpret(&module, "k", &launch, &mut expected);
                let outcome = execute(&artifact, &launch, &mut got, 1);
                let what = format!("{index:?} {case:?}, {count} extents, threadgroups of {group}");
                assert_eq!(outcome.is_ok(), clean, "{what}: {outcome:?}");
                assert_eq!(got[1], expected[1], "{what}");
            }
        }
    }
}

fn check_ways(looped: bool, masked: bool) {
    for (signed, wide) in [(false, false), (false, true), (true, false), (true, true)] {
        check(Index { signed, wide, looped, masked });
    }
}

#[test]
fn one_division() {
    check_ways(false, false);
}

#[test]
fn one_division_in_some_threads() {
    check_ways(false, true);
}

#[test]
fn a_loop_of_divisions() {
    check_ways(true, false);
}

#[test]
fn a_loop_of_divisions_in_some_threads() {
    check_ways(true, true);
}

/// Where all quotients are one, numbers are divided that are no vectors' elements.
#[test]
fn one_number_is_divided() {
    for looped in [false, true] {
        let module = module(Index { signed: false, wide: false, looped, masked: false });
        let text = text(&module, "k", &Launch::new([64, 1, 1], [64, 1, 1]));
        assert!(text.contains("= urem i32") && text.contains("= udiv i32"), "{text}");
    }
}
