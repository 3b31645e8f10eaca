//! Modules for sanitizers: nothing hides an error, nothing looks like one, and positions know where they come
//! from.

use anymetal_ir::{Function, Loc, Module, Op, Type, print_module, verify};
use anymetal_msl::pp::MemoryIncludes;
use anymetal_msl::{CompileOptions, Library};
use anymetal_opt::inline;

const HEADER: &str = "#include <metal_stdlib>\nusing namespace metal;\n";

fn library(source: &str) -> Library {
    let (library, diagnostics) = Library::parse(
        "a.metal",
        format!("{HEADER}{source}").as_bytes(),
        &CompileOptions::default(),
        &mut MemoryIncludes::default(),
    );
    assert!(diagnostics.list.is_empty(), "{}", diagnostics.render_text(false));
    library.expect("a program without errors parses")
}

/// Kernel `k` for a sanitizer; the source's first line is the file's third.
fn module(source: &str) -> Module {
    let module = library(source).module_for_sanitizer("k");
    let module = module.unwrap_or_else(|diagnostics| panic!("{}", diagnostics.render_text(false)));
    verify(&module).unwrap_or_else(|errors| panic!("{}", errors[0]));
    module
}

/// Kernel `k` with that body for a sanitizer.
fn body(body: &str) -> Function {
    let source = format!(
        "kernel void k(device float* o [[buffer(0)]], uint t [[thread_position_in_grid]]) {{ {body} }}"
    );
    let mut module = module(&source);
    inline(&mut module).unwrap();
    module.functions.swap_remove(0)
}

fn count(function: &Function, wanted: impl Fn(&Op) -> bool) -> usize {
    function.insts.iter().filter(|data| wanted(&data.op)).count()
}

/// The name of the variable at the start of a pointer, if it is one of the function's own.
fn variable(function: &Function, mut ptr: anymetal_ir::Value) -> Option<&str> {
    loop {
        match function.def(ptr)? {
            Op::PtrAdd { base, .. } => ptr = *base,
            Op::LocalAddr(local) => return Some(&function.locals[local.index()].name),
            _ => return None,
        }
    }
}

#[test]
fn components_are_accessed_by_their_own_bytes() {
    let function = body(
        "float4 v; v.x = 1; v.y = v.x; v.zw = v.yx; v.x += 2; v.xy *= 3.0f; v[t] = 2; v[1] = v[t];
        v.wz.x = v.yx.y; o[t] = v.x;",
    );
    let mut accesses = 0;
    for data in &function.insts {
        let (ptr, ty) = match data.op {
            Op::Load { ptr, .. } => (ptr, data.result.map(|value| function.ty(value))),
            Op::Store { ptr, value, .. } => (ptr, Some(function.ty(value))),
            _ => continue,
        };
        if variable(&function, ptr) == Some("v") {
            accesses += 1;
            assert_eq!(ty, Some(Type::F32));
        }
    }
    assert!(accesses > 15, "{accesses}");
}

#[test]
fn only_the_side_that_is_taken_is_evaluated() {
    let function = body("float x; bool b = t > 1; o[t] = b ? x : 0.0f; o[t] = b && x > 1.0f ? 1 : 2;");
    assert_eq!(count(&function, |op| matches!(op, Op::If { .. })), 2);
    assert_eq!(count(&function, |op| matches!(op, Op::Select(..))), 1, "constants need no branch");
}

#[test]
fn indices_outside_of_vectors_are_seen() {
    let shown = |text| count(&body(text), |op| matches!(op, Op::ExtractDynamic(..)));
    assert_eq!(shown("float4 v = 0; v[t] = 1; o[t] = v[t + 1];"), 2);
    assert_eq!(shown("float4 v = 0; v[3] = 1; o[t] = v[1];"), 0, "constants inside are no question");
    assert_eq!(shown("float4 v = 0; o[t] = (v + v)[t];"), 1);
    assert_eq!(shown("float4 v = 0; o[t] = v.xyz[t]; v.xy[t] = 1;"), 2);
}

#[test]
fn variables_with_bit_fields_begin_as_zeros() {
    let with = "struct S { uint a : 3; uint b : 5; }; struct T { int x; S s[2]; };
        kernel void k(device uint* o [[buffer(0)]]) { T v; v.s[0].a = 1; o[0] = v.s[0].a; }";
    let zeroed = |source: &str| {
        let module = module(source);
        module.functions.iter().map(|f| count(f, |op| matches!(op, Op::MemZero { .. }))).sum::<usize>()
    };
    assert_eq!(zeroed(with), 1);
    assert_eq!(zeroed(&with.replace(" : 3", "").replace(" : 5", "")), 0);
}

#[test]
fn modules_for_executors_have_no_origins() {
    let source =
        "#define TWICE(x) ((x) + (x))\nkernel void k(device float* o [[buffer(0)]]) { o[0] = TWICE(o[1]); }";
    let module = library(source).module("k").unwrap();
    for function in &module.functions {
        assert!(function.origins.is_empty());
        assert!(function.insts.iter().all(|data| data.loc.origin == 0));
    }
}

#[test]
fn the_text_form_has_no_origins() {
    let module = module("kernel void k(device float* o [[buffer(0)]]) { o[0] = 1; }");
    assert!(module.functions.iter().any(|function| !function.origins.is_empty()));
    let parsed = anymetal_ir::parse_module(&print_module(&module)).unwrap();
    assert_eq!(print_module(&parsed), print_module(&module));
    assert!(parsed.functions.iter().all(|function| function.origins.is_empty()));
}

/// The way outwards from the only store of device memory: functions, macros and calls.
fn way(source: &str) -> Vec<String> {
    let mut module = module(source);
    inline(&mut module).unwrap();
    let function = &module.functions[module.kernel("k").unwrap().function.index()];
    let is_store = |op: &Op| match op {
        Op::Store { ptr, .. } => function.ty(*ptr) == Type::Ptr(anymetal_ir::Space::Device),
        _ => false,
    };
    let stores: Vec<Loc> =
        function.insts.iter().filter(|data| is_store(&data.op)).map(|data| data.loc).collect();
    let &[store] = &stores[..] else { panic!("{} stores", stores.len()) };
    let at = |loc: Loc| format!("{}:{}", loc.line, loc.column);
    let (mut way, mut next) = (Vec::new(), Some(store));
    while let Some(loc) = next {
        let origin = function.origin(loc).expect("every position of the program has an origin");
        way.push(format!("{} in {}", at(loc), origin.function));
        for used in &*origin.macros {
            way.push(format!("{} {} used at {}", used.name, at(used.text), at(used.used_at)));
        }
        next = origin.inlined_at;
    }
    way
}

#[test]
fn positions_lead_outwards_through_templates_and_calls() {
    let source = "template <typename T, int N> void put(device T* o) {
  o[N] = T(1);
}
template <typename T> void both(device T* o) {
  put<T, 4>(o);
}
kernel void k(device float* o [[buffer(0)]]) {
  both(o);
}";
    assert_eq!(way(source), ["4:3 in put<float, 4>", "7:3 in both<float>", "10:3 in k"]);
}

#[test]
fn positions_lead_outwards_through_macros() {
    let source = "#define STORE(p, v) *(p) = (v)
#define FIRST(p) STORE((p) + 1, 2)
kernel void k(device float* o [[buffer(0)]]) {
  FIRST(o);
}";
    assert_eq!(way(source), ["6:3 in k", "STORE 3:21 used at 4:18", "FIRST 4:18 used at 6:3"]);
}

#[test]
fn the_same_function_called_twice_has_two_ways() {
    let source = "void put(device float* o, float v) { if (v > 1) { o[0] = v; return; } o[1] = v; }
kernel void k(device float* o [[buffer(0)]]) {
  put(o, 1);
  put(o, 2);
}";
    let mut module = module(source);
    inline(&mut module).unwrap();
    let function = &module.functions[module.kernel("k").unwrap().function.index()];
    let mut calls: Vec<(u32, u32)> = function
        .insts
        .iter()
        .filter(|data| matches!(data.op, Op::Store { .. }) && data.loc.line == 3)
        .map(|data| (data.loc.column, function.origin(data.loc).unwrap().inlined_at.unwrap().line))
        .collect();
    calls.sort_unstable();
    calls.dedup();
    let lines = |column| calls.iter().filter(|call| call.0 == column).map(|call| call.1).collect::<Vec<_>>();
    assert_eq!(lines(51), [5, 6], "{calls:?}");
    assert_eq!(lines(71), [5, 6], "{calls:?}");
}
