//! Which kernels are compiled with independent SIMD-groups: those with loops that may wait for another
//! thread. All others are compiled as before.

use anymetal_driver::{
    CacheConfig, Compiler, CompilerOptions, Source, SourceOptions, Specialisation, Target,
};

const HEADER: &str = "#include <metal_stdlib>
using namespace metal;
#define GET(p) atomic_load_explicit(p, memory_order_relaxed)
#define SET(p, v) atomic_store_explicit(p, v, memory_order_relaxed)
#define ADD(p, v) atomic_fetch_add_explicit(p, v, memory_order_relaxed)
#define CAS(p, e, v) atomic_compare_exchange_weak_explicit(p, e, v, memory_order_relaxed, memory_order_relaxed)
";

/// Bodies of `kernel void k(device atomic_uint* a, device uint* x, volatile device uint* v, constant uint& n,
/// uint i)`, with helpers before them.
struct Case {
    name: &'static str,
    helpers: &'static str,
    body: &'static str,
}

const fn case(name: &'static str, body: &'static str) -> Case {
    Case { name, helpers: "", body }
}

const WAITING: &[Case] = &[
    case("a flag", "while (GET(a) == 0) {} x[i] = 1;"),
    case("a flag, tested last", "uint s; do s = GET(a); while (s == 0); x[i] = s;"),
    case("a flag, by break", "for (;;) { if (GET(a) > n) break; x[i] += 1; }"),
    case("a flag, by return", "for (;;) { if (GET(a) > n) return; x[i] += 1; }"),
    case("by continue", "for (;;) { if (GET(a) < n) continue; break; }"),
    case("with a limit", "for (uint k = 0; k < n; k++) { if (GET(a) == k) break; }"),
    case("with a known limit", "for (uint k = 0; k < 100; k++) { if (GET(a) == 7) break; x[i] += k; }"),
    case("through a variable", "bool go = true; while (go) { if (GET(a) == 3) go = false; }"),
    case("through a member", "struct { uint a[3]; } s = {}; while (s.a[n % 3] == 0) { s.a[n % 3] = GET(a); }"),
    case("through a pointer", "uint s = 0; thread uint* p = n > 3 ? &s : nullptr; while (*p == 0) *p = GET(a);"),
    case("through two pointers", "uint s = 0, t = 0; thread uint* p = n > 3 ? &s : &t; while (s + t == 0) *p = GET(a);"),
    case("through overlapping members", "union { uint u; uchar b[4]; } s = {}; while (s.b[3] == 0) s.u = GET(a);"),
    case("through the SIMD-group", "while (!simd_any(GET(a) != 0)) {}"),
    case("by an inner loop", "bool go = true; while (go) { for (uint k = 0; k < n; k++) { if (GET(a + k)) { go = false; break; } } }"),
    case("by a switch", "for (bool go = true; go;) { switch (GET(a)) { case 0: break; case 1: go = false; break; default: return; } }"),
    case("a lock", "uint e = 0; while (!CAS(a, &e, 1u)) e = 0; x[0] += 1; SET(a, 0u);"),
    case("a lock by exchange", "while (atomic_exchange_explicit(a, 1u, memory_order_relaxed)) {} x[0]++; SET(a, 0u);"),
    case("a lock by or", "while (atomic_fetch_or_explicit(a, 4u, memory_order_relaxed) & 4) {}"),
    case("a look by addition of nothing", "while (ADD(a, 0u) == 0) {}"),
    case("a lock by addition", "while (ADD(a, 1u) != 0) { atomic_fetch_sub_explicit(a, 1u, memory_order_relaxed); }"),
    case("a flag beside a fence", "while (x[0] == 0) atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst); x[i] = 1;"),
    case("a volatile flag", "while (v[0] == 0) {} x[i] = v[1];"),
    Case {
        name: "in a function",
        helpers: "static uint look(device atomic_uint* a) { return GET(a); }
            __attribute__((noinline)) static void wait(device atomic_uint* a, uint n) { while (look(a) < n) {} }",
        body: "wait(a, n); x[i] = 1;",
    },
];

const RUNNING: &[Case] = &[
    case("no loop", "x[i] = GET(a);"),
    case("no atomics", "while (x[i] < n) x[i] = x[i] * 3 + 1;"),
    case("counted additions", "for (uint k = 0; k < n; k++) ADD(&a[x[k]], 1u);"),
    case("counted reads", "uint s = 0; for (uint k = 0; k < n; k++) s += GET(&a[k]); x[i] = s;"),
    case(
        "reads decide what is stored",
        "for (uint k = 0; k < n; k++) { if (GET(&a[k]) > 3) x[k] = 1; else x[k + 1] = 2; }",
    ),
    case("skipped iterations", "for (uint k = 0; k < n; k++) { if (GET(&a[k]) == 0) continue; x[k] += 1; }"),
    case(
        "an inner loop that skips",
        "for (uint k = 0; k < n; k++) { switch (GET(&a[k])) { case 1: x[k] = 1; break; default: x[k] = 2; } }",
    ),
    case("an update by compare-exchange", "uint e = GET(a); while (!CAS(a, &e, e * 3 + 1)) {}"),
    case("an update that reads again", "for (;;) { uint e = GET(a); if (CAS(a, &e, max(e, n) + 1)) break; }"),
    case(
        "an update of floats",
        "uint e = GET(a); while (!CAS(a, &e, as_type<uint>(as_type<float>(e) + 1.5f))) {}",
    ),
    case("a queue of work", "for (uint k = ADD(a, 1u); k < n; k = ADD(a, 1u)) x[k] += 1;"),
    case(
        "a queue in chunks",
        "uint k; while ((k = ADD(a, 32u)) < n) { for (uint j = k; j < k + 32; j++) x[j]++; }",
    ),
    case("a queue, with a histogram", "uint k; while ((k = ADD(a, 1u)) < n) ADD(&a[1 + x[k]], 1u);"),
    case(
        "a stack that shrinks",
        "while (atomic_fetch_sub_explicit(a, 1u, memory_order_relaxed) > 0) x[i]++;",
    ),
    case(
        "a fence",
        "for (uint k = 0; k < n; k++) { x[k] = x[k + 1]; atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst); }",
    ),
    case(
        "a volatile variable of the thread",
        "volatile uint s = n; while (s < 100) { s = s * 2 + 1; x[i] = GET(a); }",
    ),
    case(
        "another member",
        "struct { uint k, s[2]; } o = {}; for (; o.k < n; o.k++) o.s[1] = GET(&a[o.k]); x[i] = o.s[1];",
    ),
    case(
        "another element of an object whose address is stored",
        "struct { uint k, s; thread uint* p; } o = {}; o.p = &o.k; for (; o.k < n; o.k++) o.s = GET(a); x[i] = o.s;",
    ),
    case("volatile stores", "for (uint k = 0; k < n; k++) v[k] = k;"),
    Case {
        name: "an update in a function",
        helpers: "static float add(device atomic_uint* a, float x) {
                uint e = GET(a);
                while (!CAS(a, &e, as_type<uint>(as_type<float>(e) + x))) {}
                return as_type<float>(e);
            }",
        body: "for (uint k = 0; k < n; k++) add(&a[x[k]], float(k));",
    },
];

fn independent(case: &Case) -> bool {
    let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
    let (helpers, body) = (case.helpers, case.body);
    let text = format!(
        "{HEADER}{helpers}
kernel void k(device atomic_uint* a [[buffer(0)]], device uint* x [[buffer(1)]], volatile device uint* v [[buffer(2)]],
              constant uint& n [[buffer(3)]], uint i [[thread_position_in_grid]]) {{ {body} }}"
    );
    let source = Source::from_text("test.metal", text.as_str(), SourceOptions::default());
    let library = compiler.library(source).unwrap_or_else(|error| panic!("{}: {error:?}", case.name));
    let artifact = library.artifact("k", &Specialisation::default(), Target::CpuLlvm);
    let artifact = artifact.unwrap_or_else(|error| panic!("{}: {error:?}", case.name));
    let description = library.description("k", &Specialisation::default(), Target::CpuLlvm).unwrap();
    let compiled = artifact.kernel("k").unwrap().independent_simdgroups;
    let described = description.kernel("k").unwrap().independent_simdgroups;
    assert_eq!(described, compiled, "{}: the description", case.name);
    compiled
}

#[test]
fn loops_that_wait_are_found() {
    let missed: Vec<_> = WAITING.iter().filter(|case| !independent(case)).map(|case| case.name).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn loops_that_make_progress_by_themselves_pay_nothing() {
    let found: Vec<_> = RUNNING.iter().filter(|case| independent(case)).map(|case| case.name).collect();
    assert!(found.is_empty(), "{found:?}");
}
