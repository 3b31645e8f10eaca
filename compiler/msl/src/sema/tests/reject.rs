//! Programs that must be refused, and how.

use super::{check, reject};

#[test]
fn names() {
    reject("void f() { int a = undefined_thing; }", &["unknown-name"]);
    reject("void f(float4 v) { v.q = 1; }", &["bad-swizzle"]);
    reject("using namespace nowhere;", &["unknown-namespace"]);
    reject("void f() { using namespace mpp::raytracing; }", &["unknown-namespace"]);
    reject("struct S { int count; }; int f(S s) { return s.cuont; }", &["unknown-member"]);
    reject("void f() { int x; int x; }", &["redefinition"]);
    let (_, text) = check("struct S { int count; }; int f(S s) { return s.cuont; }");
    assert!(text.contains("did you mean `count`"), "{text}");
}

#[test]
fn conversions() {
    reject("void f(device float* p) { device int* q = p; }", &["no-conversion"]);
    reject("void f(device float* p) { threadgroup float* q = (threadgroup float*)p; }", &["bad-cast"]);
    reject("void f(float4 a, float3 b) { float4 c = a + b; }", &["invalid-operands"]);
    reject("struct S { int x; }; void f(S s) { int x = s; }", &["no-conversion"]);
    reject("void f(float2 v) { if (v) {} }", &["vector-condition"]);
}

#[test]
fn enumerations_are_no_numbers() {
    let scoped = "enum class E { a, b };";
    reject(&format!("{scoped} int f(E e) {{ return -e; }}"), &["invalid-operands"]);
    reject(&format!("{scoped} int f(E e) {{ return e + 1; }}"), &["invalid-operands"]);
    reject(&format!("{scoped} int f(E e) {{ return e; }}"), &["no-conversion"]);
    reject("enum E { a }; void f(E e) { e++; }", &["invalid-operands"]);
    reject("enum E { a }; void f(E e) { e += 1; }", &["no-conversion"]);
    reject("void f(bool b) { b--; }", &["invalid-operands"]);
}

#[test]
fn assignments() {
    reject("void f() { const int x = 1; x = 2; }", &["not-assignable"]);
    reject("void f(constant int* p) { p[0] = 2; }", &["not-assignable"]);
    reject("void f(float4 v) { v.xx = float2(1); }", &["not-assignable"]);
    reject("void f() { 3 = 4; }", &["not-assignable"]);
    // `+=` is not made of `+`.
    let sum = "struct S { int x[2]; S operator+(S other) const { return other; } S operator+=(S other) { return other; } };";
    reject(&format!("{sum} void f(device S* p, S s) {{ *p += s; }}"), &["invalid-operands"]);
    reject(&format!("{sum} void f(S s) {{ s -= s; }}"), &["invalid-operands"]);
}

#[test]
fn calls() {
    reject("void g(int); void f() { g(1, 2); }", &["no-matching-function"]);
    reject("void g(int, float) {} void g(float, int) {} void f() { g(1, 1); }", &["ambiguous-call"]);
    reject("template <typename T> T g(); void f() { g(); }", &["no-matching-function"]);
    reject("void g(thread float& x) {} void f(device float* p) { g(*p); }", &["no-matching-function"]);
}

#[test]
fn templates_report_where_they_come_from() {
    let source = "template <typename T> struct A { typename T::none x; };
                  template <typename T> void g(T t) { A<T> a; }
                  void f() { g(1); }
                  kernel void k() { g(2.0f); }";
    let (ids, text) = check(source);
    assert!(ids.contains(&"not-a-class"), "{text}");
    assert!(text.contains("in instantiation of function template `g<float>` requested here"), "{text}");
    assert!(text.contains("in instantiation of `A<float>` requested here"), "{text}");
}

#[test]
fn constants() {
    reject("void f(int n) { int a[n]; }", &["not-constant"]);
    reject("static_assert(1 == 2, \"no\");", &["static-assert"]);
    reject(
        "constexpr int f() { int x = 0; while (true) x++; return x; } static_assert(f());",
        &["not-constant"],
    );
    reject("constexpr int f(int n) { return f(n + 1); } static_assert(f(0));", &["not-constant"]);
    reject("constant int a = b; constant int b = a;", &["unknown-name"]);
    reject("constexpr int f(int d) { return 1 / d; } static_assert(f(0));", &["not-constant"]);
}

#[test]
fn kernels() {
    reject("kernel int k() { return 1; }", &["kernel-result"]);
    reject("kernel void k(int x) {}", &["kernel-parameter"]);
    reject("kernel void k(thread int* x) {}", &["kernel-parameter"]);
    reject("kernel void k(float x [[thread_position_in_grid]]) {}", &["kernel-parameter"]);
    reject("kernel void k(uint2 x [[thread_index_in_threadgroup]]) {}", &["kernel-parameter"]);
    reject("kernel void k(device int* x [[buffer(77)]]) {}", &["attribute-argument"]);
    reject(
        "kernel void k(device int* x [[buffer(1)]], device int* y [[buffer(1)]]) {}",
        &["duplicate-index"],
    );
}

#[test]
fn unsupported_language() {
    reject("void f() { double x; }", &["no-double"]);
    reject("void f() { break; }", &["stray-break"]);
    reject("void f(int x, ...) {}", &["variadic-function"]);
}

#[test]
fn runaway_templates_stop() {
    let (ids, text) = check(
        "template <int N> struct D { static constexpr constant int v = D<N + 1>::v; };
                             static_assert(D<0>::v == 0);",
    );
    assert!(ids.contains(&"instantiation-limit") || ids.contains(&"too-deep"), "{text}");
    let (ids, text) = check("template <int N> void f() { f<N + 1>(); } kernel void k() { f<0>(); }");
    assert!(ids.contains(&"instantiation-limit"), "{text}");
    // Nested lists are tried for each overload; that must not multiply.
    let (open, close) = ("{".repeat(60), "}".repeat(60));
    check(&format!(
        "struct S {{ int x; }}; void g(S) {{}} void g(S, int) {{}} void f() {{ g({open}1{close}); }}"
    ));
    reject("struct S { S s; };", &["incomplete-type"]);
    reject("using A = B; using B = A;", &["recursive-alias", "unknown-name"]);
}

#[test]
fn nested_pack_expansions_end() {
    let mut fold = "(xs + ...)".to_owned();
    let mut call = "g(xs...)".to_owned();
    for _ in 0..30 {
        fold = format!("((xs * {fold}) + ...)");
        call = format!("g((xs * {call})...)");
    }
    let g = "template <typename... Ts> int g(Ts... xs) { return (xs + ...); }";
    for expansion in [fold, call] {
        let text = format!("{g} template <typename... Ts> auto f(Ts... xs) {{ return {expansion}; }}");
        reject(&format!("{text} int top() {{ return f(1, 2, 3, 4); }}"), &["instantiation-limit"]);
    }
}
