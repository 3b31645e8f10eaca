//! Sources that mean harm: each ends with a diagnostic, in time and within memory.

use std::fmt::Write;
use std::time::Duration;

use crate::support::Bench;

/// What the users are promised; unoptimised builds on busy machines get more time.
const LIMIT: Duration =
    if cfg!(debug_assertions) { Duration::from_secs(50) } else { Duration::from_secs(10) };
const MEMORY: u64 = 1 << 30;

#[track_caller]
fn refused(source: impl AsRef<[u8]>) -> String {
    let bench = Bench::new();
    bench.write("hostile.metal", source);
    let ran = bench.run_limited(&["compile", "hostile.metal", "--all"], LIMIT);
    let ran = ran.expect(1);
    assert!(ran.peak_bytes < MEMORY, "{} MiB", ran.peak_bytes >> 20);
    assert!(ran.stderr.contains("error"), "{}", ran.stderr);
    assert!(ran.stderr.len() < 1 << 20, "{} bytes of messages", ran.stderr.len());
    ran.stderr
}

fn kernel(body: &str) -> String {
    format!("kernel void f(device int* x [[buffer(0)]]) {{ {body} }}\n")
}

#[test]
fn binary_input_does_not_panic() {
    let mut state = 1u32;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    refused((0..200_000).map(|_| byte()).collect::<Vec<u8>>());
    refused(b"\x7fELF\x02\x01\x01\0\0\0\0");
    refused([1; 1000]);
}

#[test]
fn nesting() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
    refused(kernel(&format!("x[0] = {};", deep("(", ")"))));
    refused(kernel(&deep("{", "}")));
    refused(kernel(&deep("if (x[0]) ", ";")));
    refused(kernel(&format!("x[0] = {}1;", "-".repeat(100_001))));
    refused(kernel(&format!("x[0] = {};", deep("x[", "]"))));
    refused("(".repeat(100_000));
    refused(format!("#if {}\n#endif\n{}", "(".repeat(100_000), kernel("y;")));
}

#[test]
fn templates_without_end() {
    let recursive = "template <int N> struct A { static constant constexpr int value = A<N + 1>::value; };\n";
    refused(format!("{recursive}{}", kernel("x[0] = A<0>::value;")));
    let function = "template <typename T> int g(T* p) { T** q = nullptr; return g(q); }\n";
    refused(format!("{function}{}", kernel("int y = 0; x[0] = g(&y);")));
    let wide = "template <int N> struct B { typename B<N - 1>::type a, b; typedef B type; };\n\
                template <> struct B<0> { typedef int type; };\n";
    refused(format!("{wide}{}", kernel("B<200000> y; x[0] = sizeof(y);")));
}

#[test]
fn macros_that_explode() {
    let mut text = String::from("#define A0 x[0] += 1;\n");
    for level in 1..=40 {
        writeln!(text, "#define A{level} A{0} A{0}", level - 1).unwrap();
    }
    // Caught by the preprocessor, by the limit on tokens, by the limit on a kernel's size.
    for level in [40, 19, 17] {
        refused(format!("{text}{}", kernel(&format!("A{level}"))));
    }
    let itself = "#include \"hostile.metal\"\n".repeat(10);
    refused(format!("{itself}{}", kernel("")));
}

#[test]
fn constant_expressions_without_end() {
    let endless = "constexpr int g() { int n = 0; while (true) { n++; } return n; }\n";
    refused(format!("{endless}{}", kernel("constexpr int y = g(); x[0] = y;")));
    let array = "constant int table[1000000][1000000] = {};\n";
    refused(format!("{array}{}", kernel("x[0] = table[x[1]][x[2]];")));
}

#[test]
fn recursion_of_functions() {
    let bench = Bench::new();
    let text = "int g(int n);\nint h(int n) { return g(n); }\nint g(int n) { return n < 1 ? 0 : 1 + h(n - 1); }\n\
                int t(int n) { return n < 1 ? 1 : t(n - 1) + t(n - 2) * t(n - 3) - t(n - 4); }\n";
    for (call, said) in [("g(5)", None), ("g(5000)", Some("call themselves too deep")), ("t(3)", None)] {
        bench.write("hostile.metal", format!("{text}{}", kernel(&format!("x[0] = {call};"))));
        for device in ["cpu", "interpreter"] {
            let file = ["run", "hostile.metal", "-k", "f", "--device", device];
            let ran = bench
                .run_limited(&[&file[..], &["--threads", "1", "--arg", "0=zeros:i32:1"]].concat(), LIMIT);
            match said {
                Some(said) => drop(ran.expect(4).says(&[said, "hostile.metal:2"])),
                None => drop(ran.expect(0)),
            }
        }
    }
}
