//! Short sources that stand for exponentially much: each ends with code or with a diagnostic.
//!
//! The numbers are such that work for each of what a source stands for would not end.

use anymetal_driver::{Budget, CompileError, Emit, Source, SourceOptions, Specialisation};

use crate::compiler;

/// A kernel around a body, after declarations.
fn kernel(declarations: &str, body: &str) -> String {
    format!(
        "#include <metal_stdlib>\nusing namespace metal;\n{declarations}\n\
         kernel void k(device uint* y [[buffer(0)]], uint t [[thread_position_in_grid]]) {{\n{body}\n}}\n"
    )
}

/// Declarations of levels from 1 to `levels`, each made of the one before.
fn levels(levels: usize, level: impl Fn(usize, usize) -> String) -> String {
    (1..=levels).map(|n| level(n, n - 1) + "\n").collect()
}

/// The outcome: `code`, the id of the first diagnostic of the source, or that of another error.
fn outcome(source: &str) -> String {
    let compile = || {
        let source = Source::from_text("bomb.metal", source, SourceOptions::default());
        compiler(Budget::default()).library(source)?.emit("k", &Specialisation::default(), Emit::PreparedIr)
    };
    match compile() {
        Ok(_) => "code".to_owned(),
        Err(CompileError::Source(diagnostics)) => diagnostics.list[0].id.to_owned(),
        Err(other) => other.id().to_owned(),
    }
}

#[track_caller]
fn ends(source: &str, expected: &str) {
    assert_eq!(outcome(source), expected, "{source}");
}

#[test]
fn records_that_contain_others_twice() {
    let records = |trivial: &str| {
        format!("struct S0 {{ uint x{trivial}; }};\n")
            + &levels(24, |n, before| format!("struct S{n} {{ S{before} a, b; }};"))
    };
    for trivial in ["", " = 1"] {
        let copied = "S24 s; S24 u = s; y[t] = ((thread uint*)&u)[t];";
        ends(&kernel(&records(trivial), copied), "code");
        ends(&kernel(&records(trivial), "y[t] = sizeof(S24);"), "code");
    }
    // Two kinds alternate, so that no two members of one record have one type.
    let alternating = "struct A0 { uint x; }; struct B0 { uint x; };\n".to_owned()
        + &levels(24, |n, before| {
            format!(
                "struct A{n} {{ A{before} a; B{before} b; }}; struct B{n} {{ B{before} a; A{before} b; }};"
            )
        });
    let copied = "A24 s; A24 u = s; y[t] = ((thread uint*)&u)[t];";
    ends(&kernel(&alternating, copied), "code");
}

#[test]
fn closures_that_capture_closures() {
    let nested = levels(60, |n, before| format!("auto f{n} = [=](uint x) {{ return f{before}(x) + 1; }};"));
    let first = "auto f0 = [=](uint x) { return x + y[x & 7]; };\n";
    ends(&kernel("", &format!("{first}{nested}y[t] = f60(t);")), "code");
}

#[test]
fn calls_that_call_twice() {
    let functions = "uint f0(uint x, device uint* y) { return y[x & 7] * 3u; }\n".to_owned()
        + &levels(60, |n, before| {
            format!("uint f{n}(uint x, device uint* y) {{ return f{before}(x, y) + f{before}(x + 1, y); }}")
        });
    ends(&kernel(&functions, "y[t] = f60(t, y);"), "code");
    let lambdas = levels(30, |n, before| {
        format!("auto f{n} = [=](uint x) {{ return f{before}(x) ^ f{before}(x * 3); }};")
    });
    let first = "auto f0 = [=](uint x) { return x + y[x & 7]; };\n";
    ends(&kernel("", &format!("{first}{lambdas}y[t] = f30(t);")), "kernel-too-large");
}

#[test]
fn templates_that_name_two_others() {
    let lazily =
        "template <int N, int M> struct F { enum { v = F<N - 1, M * 2>::v + F<N - 1, M * 2 + 1>::v }; };
                  template <int M> struct F<0, M> { enum { v = 1 }; };";
    ends(&kernel(lazily, "y[t] = F<40, 0>::v;"), "instantiation-limit");
    let members = "template <int N, int M> struct F { F<N - 1, M * 2> a; F<N - 1, M * 2 + 1> b; };
                   template <int M> struct F<0, M> { uint x; };";
    ends(&kernel(members, "y[t] = sizeof(F<25, 0>);"), "instantiation-limit");
    let endless = "template <class T> struct W { T x; };
                   template <class T> uint f(T x) { return f(W<T>{x}); }";
    ends(&kernel(endless, "y[t] = f(t);"), "instantiation-limit");
}

#[test]
fn arrays_of_objects_with_constructors() {
    let record = "struct S { uint x; S() : x(1) {} };";
    for array in ["S a[70000];", &format!("S a{};", "[2]".repeat(20)), "S a[70000] = {};"] {
        ends(&kernel(record, array), "array-length");
    }
    // The work for each element does not grow with their number.
    ends(&kernel(record, "S a[30000]; y[t] = a[t & 7].x;"), "code");
}

#[test]
fn macros_that_expand_to_two_others() {
    let macros =
        "#define M0 +1\n".to_owned() + &levels(60, |n, before| format!("#define M{n} M{before} M{before}"));
    ends(&kernel(&macros, "y[t] = 0 M60;"), "too-many-tokens");
}

#[test]
fn constant_expressions_without_an_end() {
    let fibonacci = "constexpr uint f(uint n) { return n < 2 ? n : f(n - 1) + f(n - 2); }
                     constant constexpr uint c = f(60);";
    ends(&kernel(fibonacci, "y[t] = c;"), "not-constant");
    let counted =
        "constexpr uint f() { uint s = 0; for (uint i = 0; i < 4000000000u; i++) s += i; return s; }
                   constant constexpr uint c = f();";
    ends(&kernel(counted, "y[t] = c;"), "not-constant");
    for empty in [
        "for (;;) {}",
        "while (true) {}",
        "do {} while (true);",
        "for (;;) { switch (1) { default: continue; } }",
    ] {
        let source = format!("constexpr uint f() {{ {empty} return 1; }} constant constexpr uint c = f();");
        ends(&kernel(&source, "y[t] = c;"), "not-constant");
    }
}

#[test]
fn classes_with_exponentially_many_paths_to_their_bases() {
    let classes = "struct A0 { uint x; }; struct C0 { uint z; };\n".to_owned()
        + &levels(24, |n, before| {
            let head = format!("A{before}, C{before} {{ using A{before}::x; using C{before}::z; }}");
            format!("struct A{n} : {head}; struct C{n} : {head};")
        });
    ends(&kernel(&classes, "A24 a; y[t] = a.nothing;"), "unknown-member");
}

#[test]
fn copies_of_records_that_contain_others_twice() {
    let records = "struct S0 { uint x; S0(uint a = 0) : x(a) {} S0(const thread S0& o) : x(o.x + 1) {} \
                   thread S0& operator=(const thread S0& o) { x = o.x; return *this; } };\n"
        .to_owned()
        + &levels(12, |n, before| format!("struct S{n} {{ S{before} a, b; }};"));
    let copied = "S12 s; S12 u = s; s = u; y[t] = ((thread uint*)&s)[t & 3];";
    ends(&kernel(&records, copied), "code");
}

#[test]
fn switches_of_many_labels() {
    let ranges: String =
        (0..4_000).map(|n| format!("case {} ... {}: y[t] = {n}; break;\n", 3 * n, 3 * n + 1)).collect();
    ends(&kernel("", &format!("switch (t) {{ {ranges} }}")), "code");
    let labels: String = (0..100_000).map(|n| format!("case {n}:\n")).collect();
    ends(&kernel("", &format!("switch (t) {{ {labels} y[t] = 1; }}")), "code");
}

#[test]
fn many_lambdas() {
    let lambdas: String = (0..4_000).map(|n| format!("y[t] += [=]() {{ return t + {n}; }}();\n")).collect();
    ends(&kernel("", &lambdas), "code");
}

#[test]
fn namespaces_that_nominate_one_another() {
    let namespaces: String = (0..60).map(|n| format!("namespace n{n} {{}}\n")).collect();
    let pairs = (0..60).flat_map(|n| (0..60).filter(move |m| *m != n).map(move |m| (n, m)));
    let directives: String =
        pairs.map(|(n, m)| format!("namespace n{n} {{ using namespace n{m}; }}\n")).collect();
    let source = kernel(&(namespaces + &directives), "y[t] = n5::missing;");
    ends(&source, "unknown-member");
}

#[test]
fn using_declarations_with_exponentially_many_paths() {
    let classes =
        "struct A0 { uint f(int) const { return 1; } }; struct C0 { uint f(float) const { return 2; } };\n"
            .to_owned()
            + &levels(24, |n, before| {
                let using = format!("using A{before}::f; using C{before}::f;");
                format!(
                    "struct A{n} : A{before}, C{before} {{ {using} }}; struct C{n} : A{before}, C{before} {{ {using} }};"
                )
            });
    ends(&kernel(&classes, "A24 a; y[t] = sizeof(a.f(1));"), "ambiguous-base");
}

#[test]
fn long_chains_of_calls() {
    let chain = |length: usize| {
        let functions: String =
            (1..length).map(|n| format!("uint f{n}(uint x) {{ return f{}(x) + {n}; }}\n", n - 1)).collect();
        kernel(
            &format!("uint f0(uint x) {{ return x; }}\n{functions}"),
            &format!("y[t] = f{}(t);", length - 1),
        )
    };
    ends(&chain(400), "code");
    ends(&chain(20_000), "kernel-too-large");
}

#[test]
fn namespaces_that_all_name_one_another() {
    let declared: String =
        (0..300).map(|n| format!("namespace n{n} {{ constant uint x{n} = {n}; }}\n")).collect();
    let web: String = (0..300)
        .map(|n| {
            let directives: String = (0..300).map(|other| format!("using namespace n{other}; ")).collect();
            format!("namespace n{n} {{ {directives}}}\n")
        })
        .collect();
    ends(&kernel(&format!("{declared}{web}"), "y[t] = n0::x299;"), "directive-limit");
}

#[test]
fn many_calls_of_many_overloads() {
    let types: String = (0..1500).map(|n| format!("struct S{n} {{ uint x; }};\n")).collect();
    let overloads: String = (0..1500).map(|n| format!("uint f(S{n} s) {{ return s.x; }}\n")).collect();
    let calls: String = (0..1500).map(|n| format!("y[t] += f(S{n}{{{n}}});\n")).collect();
    ends(&kernel(&(types + &overloads), &calls), "overload-limit");
}

/// A body of `depth` constructs within one another.
fn nest(depth: usize, open: impl Fn(usize) -> String, inner: &str, close: &str) -> String {
    let opened: String = (0..depth).map(open).collect();
    format!("{opened}{inner}{}", close.repeat(depth))
}

#[test]
fn constructs_nest_as_deep_as_clang_takes_them() {
    let calls = "uint f(uint x) { return x + 1; }";
    let bodies = |depth: usize| {
        [
            nest(depth, |_| "{".to_owned(), "y[t] = 1;", "}"),
            nest(depth, |n| format!("if (y[t] != {n}) {{"), "y[t] = 1;", "}"),
            nest(depth, |n| format!("if (y[t] == {n}) {{ y[t] = 2; }} else {{"), "y[t] = 1;", "}"),
            nest(depth, |n| format!("for (uint i{n} = 0; i{n} < y[{n}]; i{n}++) {{"), "y[t] += 1;", "}"),
            nest(depth, |n| format!("switch (y[t + {n}]) {{ case {n}: "), "y[t] = 1;", "}"),
            format!("y[t] = {};", nest(depth, |_| "(".to_owned(), "t", ")")),
            format!("y[t] = {};", nest(depth, |_| "(uint)(".to_owned(), "t", ")")),
            format!("y[t] = {};", nest(depth, |_| "f(".to_owned(), "t", ")")),
            format!("y[t] = {};", nest(depth, |_| "y[".to_owned(), "t", "]")),
            format!("y[t] = {};", nest(depth, |n| format!("y[{n}] ? {n} : ("), "t", ")")),
            format!("y[t] = {};", nest(depth, |_| "({ uint v = ".to_owned(), "t", "; v; })")),
            format!("y[t] = {};", nest(depth, |_| "[&] { return ".to_owned(), "t", "; }()")),
        ]
    };
    for body in bodies(250) {
        ends(&kernel(calls, &body), "code");
    }
    // Deeper than that, there is code or a diagnostic, and no bug.
    for body in bodies(600).into_iter().chain(bodies(1300)) {
        let outcome = outcome(&kernel(calls, &body));
        assert!(matches!(&*outcome, "code" | "too-deep" | "kernel-too-large"), "{outcome}: {body}");
    }
    let records = nest(250, |n| format!("struct S{n} {{"), "uint x;", "};");
    ends(&kernel(&records, "S0 s; y[t] = sizeof(s);"), "code");
    let namespaces = nest(250, |n| format!("namespace n{n} {{"), "constant uint x = 3;", "}");
    let path: String = (0..250).map(|n| format!("n{n}::")).collect();
    ends(&kernel(&namespaces, &format!("y[t] = {path}x;")), "code");
}
