//! `Library::check`: errors of kernels before one of them is compiled, each once.

use anymetal_driver::{CacheConfig, CompileError, Compiler, CompilerOptions, Library, Source, SourceOptions};

fn library(text: &str) -> Library {
    let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
    compiler.library(Source::from_text("test.metal", text, SourceOptions::default())).unwrap()
}

fn ids(text: &str) -> Vec<&'static str> {
    match library(text).check() {
        Ok(()) => Vec::new(),
        Err(CompileError::Source(found)) => found.list.iter().map(|diagnostic| diagnostic.id).collect(),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn errors_of_kernels_and_of_what_they_reach_are_found_once() {
    let wrong = "template <typename T> T wrong(T x) { return x + y; }
        kernel void right(device int* x) { x[0] = 1; }
        kernel void k(device int* x) { x[0] = wrong(1); }
        kernel void l(device int* x) { x[0] = wrong(2); }";
    assert_eq!(ids(wrong), ["unknown-name"]);
    let library = library("kernel void k(device int* x) { x[0] = 1; }");
    assert!(library.check().is_ok() && library.check().is_ok());
}

#[test]
fn kernels_that_call_functions_of_other_libraries_are_right() {
    let table = "#include <metal_stdlib>
        using namespace metal;
        [[visible]] int other(int x);
        kernel void k(device int* x, visible_function_table<int(int)> ops [[buffer(1)]]) {
            x[0] = ops[0](x[0]) + other(x[1]);
        }";
    assert_eq!(ids(table), [""; 0]);
}
