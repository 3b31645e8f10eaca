//! The parser's own tests: what parses as what, and that bad input ends with a diagnostic. Whole
//! programs are tested through the checker.

use super::{Scopes, parse, parse_library};
use crate::ast::{ExprKind, FunctionBody, Item, ItemKind, NodeId, StmtKind, TypeKind};
use crate::pp::{MacroTable, MemoryIncludes, Options, preprocess};
use crate::token::Token;
use anymetal_diagnostics::{Sink, SourceMap};
use std::collections::HashSet;

const TYPES: &str = "namespace metal { template<typename T, int N> struct vec; }\
    typedef unsigned int uint; typedef metal::vec<float, 4> float4; using namespace metal;\n";

fn tokens(text: &str, sink: &mut Sink) -> Vec<Token> {
    let mut map = SourceMap::new();
    let main = map.add_file("test.metal", format!("{TYPES}{text}"));
    let (options, mut includes) = (Options::default(), MemoryIncludes::default());
    preprocess(main, &MacroTable::default(), &options, &mut includes, &mut map, sink).tokens
}

fn parse_text(text: &str) -> (super::ParsedUnit, Sink) {
    let mut sink = Sink::new();
    let tokens = tokens(text, &mut sink);
    let unit = parse(&tokens, Scopes::default(), &mut sink);
    (unit, sink)
}

fn messages(text: &str) -> Vec<String> {
    let of = || parse_text(text).1.into_diagnostics().into_iter().map(|d| d.message).collect();
    crate::stack::on_large_stack(of).expect("the system has a thread")
}

fn accepts(text: &str) {
    assert_eq!(messages(text), Vec::<String>::new(), "in {text}");
}

/// The statements of the last function of the text.
fn body(text: &str) -> Vec<StmtKind> {
    let (unit, sink) = parse_text(text);
    assert!(!sink.has_errors(), "{:?}", sink.diagnostics());
    let ItemKind::Function(function) = &unit.items.last().expect("an item").kind else {
        panic!("a function")
    };
    let FunctionBody::Block(block) = &function.body else { panic!("a body") };
    block.stmts.iter().map(|stmt| stmt.kind.clone()).collect()
}

#[test]
fn casts_and_parenthesised_expressions_differ_by_what_the_name_is() {
    let stmts = body("void f(int a) { (uint)-a; (a)-a; }");
    assert!(matches!(&stmts[0], StmtKind::Expr(e) if matches!(e.kind, ExprKind::Cast(..))));
    assert!(matches!(&stmts[1], StmtKind::Expr(e) if matches!(e.kind, ExprKind::Binary(..))));
}

#[test]
fn less_than_and_template_arguments_differ_by_what_the_name_is() {
    let stmts = body(
        "template<int N> int g(); void f(int a, int b) { a < b; g<3>(); vec<float, (2 > 1) ? 4 : 2> v; }",
    );
    assert!(matches!(&stmts[0], StmtKind::Expr(e) if matches!(e.kind, ExprKind::Binary(..))));
    assert!(matches!(&stmts[1], StmtKind::Expr(e) if matches!(e.kind, ExprKind::Call(..))));
    assert!(matches!(&stmts[2], StmtKind::Variables(_)));
}

#[test]
fn closing_brackets_may_touch() {
    accepts("template<typename T> struct a {}; a<a<a<int>>> x; template<typename T = a<a<int>>> void f();");
}

#[test]
fn declarations_and_expressions_in_blocks() {
    let stmts = body(
        "void f(float4 p) { float4 q(p); q * p; uint *r; thread float (&s)[4] = *(thread float(*)[4])r; }",
    );
    assert!(matches!(stmts[0], StmtKind::Variables(_)));
    assert!(matches!(stmts[1], StmtKind::Expr(_)));
    assert!(matches!(stmts[2], StmtKind::Variables(_)));
    let StmtKind::Variables(variables) = &stmts[3] else { panic!("a declaration") };
    let TypeKind::Reference { referent, .. } = &variables[0].ty.kind else { panic!("a reference") };
    assert!(matches!(referent.kind, TypeKind::Array(..)));
}

#[test]
fn a_local_may_hide_a_type() {
    accepts("struct scale {}; void f(float x) { float scale = x; float y = scale * x; if (scale < y) {} }");
}

#[test]
fn records_with_everything() {
    accepts(
        "template<typename T, int N = 4> struct tile { \
           static constexpr constant int size = N; T elements[N]; union { uint u; float f; }; \
           tile(T v) thread : u(0) { elements[0] = v; } tile<T, N>() = default; \
           template<typename U> T get(uint i) const thread { return elements[i]; } \
           T operator[](uint i) const device { return elements[i]; } operator T() thread { return elements[0]; } }; \
         template<> struct tile<int, 1> { int e; }; template<typename T> struct tile<device T*, 2>; \
         template<typename T> void f(tile<T> t) { t.template get<int>(3); t.get<int>(3); tile<T>::size; }",
    );
}

#[test]
fn the_three_spellings_of_explicit_instantiation() {
    accepts(
        "template<typename T> [[kernel]] void k(device T* x [[buffer(0)]]) {} \
         template [[host_name(\"a\")]] [[kernel]] decltype(k<float>) k<float>; \
         typedef decltype(k<int>) k_t; template [[host_name(\"b\")]] kernel k_t k<int>; \
         template [[host_name(\"c\")]] [[kernel]] void k<uint>(device uint* x [[buffer(0)]]);",
    );
}

#[test]
fn several_errors_are_reported_in_one_run() {
    let found = messages("void f() { int x = ; int y = 1 }\nstruct s { int a }\nvoid g() { return 1 + ; }");
    assert!(found.len() >= 3, "{found:?}");
}

#[test]
fn nesting_ends_with_one_diagnostic() {
    for (open, close) in [("(", ")"), ("{", "}"), ("-", ""), ("if (1) ", ";"), ("f(", ")")] {
        let start = if open.starts_with("if") || open == "{" { "" } else { "x = " };
        let text = format!("void f() {{ {start}{}1{}; }}", open.repeat(100_000), close.repeat(100_000));
        let found = messages(&text);
        assert!(found.iter().any(|m| m.contains("nested") || m.contains("levels")), "{open}: {found:?}");
    }
    // Clang takes 256 brackets.
    let expressions = [
        ("(", ")"),
        ("(int)(", ")"),
        ("f(", ")"),
        ("a[", "]"),
        ("b ? 1 : (", ")"),
        ("({ int v = ", "; v; })"),
        ("[&] { return ", "; }()"),
    ];
    for (open, close) in expressions {
        accepts(&format!("void f() {{ x = {}1{}; }}", open.repeat(256), close.repeat(256)));
    }
    let statements = [
        ("{", "}"),
        ("if (b) {", "}"),
        ("for (;;) {", "}"),
        ("switch (b) { case 1: {", "} }"),
        ("do {", "} while (b);"),
        ("auto f = [] {", "};"),
        ("struct S {", "};"),
    ];
    for (open, close) in statements {
        accepts(&format!("void f() {{ {} {} }}", open.repeat(256), close.repeat(256)));
    }
    for (open, close) in [("namespace n {", "}"), ("struct S {", "};"), ("extern \"C\" {", "}")] {
        accepts(&format!("{} {}", open.repeat(256), close.repeat(256)));
    }
    accepts(&format!("constant int x[] = {}1{};", "{".repeat(256), "}".repeat(256)));
    accepts(&format!("void f({}int{} x);", "vec<".repeat(256), ">".repeat(256)));
    let types = format!("void f(int {} x);", "*".repeat(100_000));
    assert!(!messages(&types).is_empty());
    let templates = format!("vec<{}int{} x;", "vec<".repeat(50_000), ">".repeat(50_000));
    assert!(!messages(&templates).is_empty());
}

#[test]
fn nested_tries_end_in_time() {
    for unit in ["a<", "vec<", "(a)(", "a<(", "f<g(", "decltype(a<"] {
        let text = format!("void f() {{ x = {}1; }}", unit.repeat(60));
        assert!(!messages(&text).is_empty(), "{unit}");
    }
}

#[test]
fn long_chains_end_with_a_diagnostic_and_long_lists_do_not() {
    let chain = format!("int x = 1{};", " + 1".repeat(100_000));
    assert!(messages(&chain).iter().any(|m| m.contains("levels")));
    for fold in ["(... + ", "(1 + ... + "] {
        let folds = format!("int x = {};", fold.repeat(100_000));
        assert!(messages(&folds).iter().any(|m| m.contains("nested")), "{fold}");
    }
    let list = format!("constant int x[] = {{{}}};", "-1, ".repeat(20_000));
    accepts(&list);
}

#[test]
fn rubbish_never_panics() {
    let pieces = [
        "template",
        "<",
        ">",
        ">>",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "struct",
        "operator",
        "::",
        "x",
        "uint",
        ";",
        ",",
        "kernel",
        "void",
        "*",
        "&",
        "=",
        "1",
        "[[",
        "]]",
        "device",
        "using",
        "typedef",
        "for",
        "if",
        "else",
        "case",
        ":",
        "?",
        "decltype",
        "...",
        "~",
        "enum",
        "union",
        "typename",
        "return",
        "\"s\"",
        "->",
        ".",
        "namespace",
    ];
    let mut state = 1u64;
    for _ in 0..3_000 {
        let mut text = String::new();
        for _ in 0..40 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
            text.push(' ');
        }
        parse_text(&text);
    }
}

/// The ids of functions and of the lambdas that are their last statements.
fn function_ids(items: &[Item]) -> Vec<NodeId> {
    let mut ids = Vec::new();
    for item in items {
        let ItemKind::Function(function) = &item.kind else { continue };
        ids.push(function.id);
        let FunctionBody::Block(block) = &function.body else { continue };
        if let Some(StmtKind::Expr(expr)) = block.stmts.last().map(|stmt| &stmt.kind)
            && let ExprKind::Lambda(lambda) = &expr.kind
        {
            ids.push(lambda.id);
        }
    }
    ids
}

#[test]
fn node_ids_are_unique_among_the_library_its_deferred_bodies_and_the_units_on_top() {
    let text = "void f() { [] {}; } void g() { [] {}; }";
    let mut sink = Sink::new();
    let tokens = tokens(text, &mut sink);
    let library = parse_library(tokens.clone(), Scopes::default(), &mut sink);
    let on_top = parse_library(tokens.clone(), library.scopes, &mut sink);
    let unit = parse(&tokens, on_top.scopes, &mut sink);
    assert!(!sink.has_errors(), "{:?}", sink.diagnostics());
    let ids = [library.items, on_top.items, unit.items].map(|items| function_ids(&items)).concat();
    assert_eq!(ids.len(), 12);
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 12);
}
