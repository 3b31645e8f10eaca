//! Artifacts for Apple GPUs: one text, options, constants and a reflection; no LLVM.

use anymetal_driver::hal::artifact::{Artifact, ArtifactCode, ArtifactTarget, ScalarType};
use anymetal_driver::hal::encoding::{decode, encode};
use anymetal_driver::hal::metal_source::{MathMode, MetalConstant, MetalSource};
use anymetal_driver::{
    CacheConfig, CompileError, Compiler, CompilerOptions, ConstantKey, ConstantValue, Definition, Library,
    Source, SourceOptions, Specialisation, Target,
};
use std::sync::Arc;

const MAIN: &str = "#include <metal_stdlib>
#include \"scale.h\"
using namespace metal;
constant bool negate [[function_constant(4)]];
constant short shift [[function_constant(7)]];
kernel void first(device float* x [[buffer(0)]], constant Scale& by [[buffer(1)]],
                  threadgroup float* rows [[threadgroup(0)]], uint i [[thread_position_in_grid]]) {
    rows[i] = x[i];
    x[i] = (negate ? -1 : 1) * rows[i] * by.factor * WIDTH + shift;
}
[[host_name(\"other\")]] kernel void second(device uint* y [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    y[i] = i;
}
";

fn library(folder: &std::path::Path, compiler: &Compiler) -> Library {
    std::fs::write(folder.join("scale.h"), "#pragma once\nstruct Scale { float factor; uint count; };\n")
        .unwrap();
    let options = SourceOptions {
        definitions: vec![Definition::Define("WIDTH=2".to_owned())],
        language_version: 310,
        math_mode: anymetal_driver::MathMode::Relaxed,
        ..SourceOptions::default()
    };
    compiler.library(Source::from_file(&folder.join("main.metal"), MAIN.into(), options)).unwrap()
}

fn source(artifact: &Artifact) -> &Arc<MetalSource> {
    assert_eq!(artifact.target, ArtifactTarget::Metal);
    let ArtifactCode::Source(source) = &artifact.code else { panic!("{:?}", artifact.code) };
    source
}

fn specialisation() -> Specialisation {
    let constants = vec![
        (ConstantKey::Name("negate".to_owned()), ConstantValue::from(true)),
        (ConstantKey::Index(7), ConstantValue::from(-2)),
    ];
    Specialisation { constants, ..Specialisation::default() }
}

#[test]
fn an_artifact_has_the_whole_source_its_options_and_a_reflection() {
    let folder = tempfile::tempdir().unwrap();
    let cache = CacheConfig { folder: Some(folder.path().join("cache")), ..CacheConfig::memory_only() };
    let compiler = Compiler::new(&CompilerOptions::with_cache(cache));
    let library = library(folder.path(), &compiler);
    let first = library.artifact("first", &specialisation(), Target::Metal).unwrap();
    let known = source(&first);
    assert!(
        known.text.starts_with("#define WIDTH 2\n") && known.text.contains("struct Scale"),
        "{}",
        known.text
    );
    assert!(known.text.contains("#include <metal_stdlib>") && !known.text.contains("scale.h\"\nusing"));
    assert_eq!((known.options.math_mode, known.options.language_version), (MathMode::Relaxed, 310));
    let constants = [
        MetalConstant { index: 4, scalar: ScalarType::Bool, bits: vec![1] },
        MetalConstant { index: 7, scalar: ScalarType::I16, bits: vec![0xfffe] },
    ];
    assert_eq!(known.options.constants, constants);
    let kernel = first.kernel("first").unwrap();
    let names: Vec<&str> = kernel.arguments.iter().map(|argument| argument.name.as_str()).collect();
    assert_eq!(names, ["x", "by", "rows"]);
    assert_eq!((kernel.arguments[1].min_bytes, kernel.arguments[1].is_reference), (8, true));
    let second = library.artifact("other", &Specialisation::default(), Target::Metal).unwrap();
    assert!(Arc::ptr_eq(&source(&second).text, &known.text), "a library's kernels share its text");
    let decoded = decode(&encode(&first).unwrap()).unwrap();
    assert_eq!(source(&decoded), known);
    // The text stands for the files: it compiles without them, to the same artifact.
    let alone = compiler.library(Source::from_text("alone", &*known.text, SourceOptions::default())).unwrap();
    let again = alone.artifact("first", &specialisation(), Target::Metal).unwrap();
    assert_eq!(again.kernels, first.kernels);
}

#[test]
fn a_description_tells_the_reflection_and_mistakes_are_the_front_ends() {
    let folder = tempfile::tempdir().unwrap();
    let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
    let library = library(folder.path(), &compiler);
    let described = library.description("first", &specialisation(), Target::Metal).unwrap();
    assert!(described.code.is_empty());
    let artifact = library.artifact("first", &specialisation(), Target::Metal).unwrap();
    assert_eq!(described.kernels, artifact.kernels);
    let missing = library.artifact("first", &Specialisation::default(), Target::Metal).unwrap_err();
    assert!(matches!(missing, CompileError::MissingConstants { .. }), "{missing}");
    assert_eq!(compiler.stage_counts().generated, 0);
}

#[test]
fn headers_that_metal_lacks_are_refused_with_the_way_out() {
    let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
    let text = "#include <anymetal_groups>
kernel void meet(device uint* x) { anymetal::this_grid().sync(); x[0] = 1; }";
    let source = Source::from_text("meet.metal", text, SourceOptions::default());
    let library = compiler.library(source).unwrap();
    let refused = library.artifact("meet", &Specialisation::default(), Target::Metal).unwrap_err();
    let CompileError::Unsupported { kernel, reason } = refused else { panic!("{refused}") };
    assert_eq!(kernel, "meet");
    assert!(reason.contains("<anymetal_groups>") && reason.contains("split the kernel"), "{reason}");
    let reflected = library.reflect("meet").unwrap();
    assert!(reflected.grid_barriers, "through the calls of a module that is not inlined");
}
