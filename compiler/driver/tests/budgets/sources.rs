//! Kernels of any size, of the kinds whose compile took minutes or gigabytes.

use std::fmt::Write as _;

/// A kernel `k` around a body of `count` lines.
fn kernel(parameters: &str, count: usize, line: impl Fn(usize) -> String) -> String {
    let mut text = String::from("#include <metal_stdlib>\nusing namespace metal;\n");
    let _ = writeln!(text, "kernel void k({parameters}, uint t [[thread_position_in_grid]]) {{");
    for index in 0..count {
        let _ = writeln!(text, "{}", line(index));
    }
    text + "}\n"
}

const UINTS: &str = "device uint* y [[buffer(0)]]";

pub(crate) fn cases(count: usize) -> String {
    kernel(UINTS, count + 2, |index| match index {
        0 => "uint x = y[t], r = 0; switch (x) {".to_owned(),
        last if last == count + 1 => "default: r = 1; } y[t] = r;".to_owned(),
        index => format!("case {}: r = x * {index}u + r; break;", index * 7),
    })
}

pub(crate) fn ifs(count: usize) -> String {
    kernel(UINTS, count, |index| format!("if (y[t] % {}u == 1) y[t + {index}] = {index};", index + 2))
}

pub(crate) fn locals(count: usize) -> String {
    let sum: String = (0..count).map(|index| format!("s = s * 3 + v{index};")).collect();
    kernel(UINTS, count + 1, |index| match index {
        last if last == count => format!("uint s = 0; {sum} y[t] = s;"),
        index => format!("uint v{index} = y[t + {index}];"),
    })
}

pub(crate) fn loops(count: usize) -> String {
    kernel(UINTS, count, |index| format!("for (uint i = 0; i < y[t] % {}u; i++) y[t] += i;", index + 3))
}

pub(crate) fn math(count: usize) -> String {
    let parameters = "device float* y [[buffer(0)]]";
    kernel(parameters, count, |index| format!("y[t] = pow(sin(y[t]), 1.5f) + {index}.25f;"))
}

pub(crate) fn samples(count: usize) -> String {
    let parameters = "texture2d<float> im [[texture(0)]], device float4* y [[buffer(0)]]";
    kernel(parameters, count, |index| {
        format!("y[t] += im.sample(sampler(filter::linear, address::repeat), y[t].xy * {index}.5f);")
    })
}

/// Accesses through a pointer that leads to one of two private arrays, differently in each lane.
pub(crate) fn private_accesses(count: usize) -> String {
    kernel(UINTS, count + 2, |index| match index {
        0 => "uint a[4] = {5, 6, 7, 8}, b[6] = {1, 2, 3, 4, 5, 6}, acc = y[t];
              thread uint* p = acc % 2 == 1 ? a : b;"
            .to_owned(),
        last if last == count + 1 => "y[t] = acc;".to_owned(),
        _ => "acc = acc * 3 + p[acc & 3]; p[(acc >> 3) & 3] = acc;".to_owned(),
    })
}

/// The names that [`source`] takes.
pub(crate) const KINDS: [&str; 7] =
    ["cases", "ifs", "locals", "loops", "math", "samples", "private-accesses"];

/// A kernel of a kind.
pub(crate) fn source(kind: &str, count: usize) -> Option<String> {
    Some(match kind {
        "cases" => cases(count),
        "ifs" => ifs(count),
        "locals" => locals(count),
        "loops" => loops(count),
        "math" => math(count),
        "samples" => samples(count),
        "private-accesses" => private_accesses(count),
        _ => return None,
    })
}
