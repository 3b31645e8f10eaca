//! Kernels with messages for each target, and that kernels without logging are what they were.

use anymetal_driver::hal::artifact::{Artifact, ArtifactCode, ArtifactTarget};
use anymetal_driver::hal::encoding;
use anymetal_driver::{
    CacheConfig, CompileError, Compiler, CompilerOptions, Library, Source, SourceOptions, Specialisation,
    Target,
};

const SM_80: Target = Target::Nvidia { sm: 80 };

const MESSAGES: &str = "#include <metal_stdlib>
#include <metal_logging>
using namespace metal;
constant os_log own(\"sub\", \"cat\");
kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = float(i);
    if (i % 3 == 1) own.log_error(\"%u: %v2hlf\", i, float2(x[i], 1));
}
";

const SILENT: &str = "#include <metal_stdlib>
#include <metal_logging>
using namespace metal;

kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = float(i);
}
";

fn library(text: &str, logging: bool) -> Library {
    let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
    let options = SourceOptions { logging, ..SourceOptions::default() };
    compiler.library(Source::from_text("test.metal", text, options)).unwrap()
}

fn artifact(text: &str, logging: bool, target: Target) -> std::sync::Arc<Artifact> {
    library(text, logging).artifact("k", &Specialisation::default(), target).unwrap()
}

fn ptx(artifact: &Artifact) -> &str {
    match &artifact.code {
        ArtifactCode::Ptx(text) => text,
        other => panic!("{}", other.kind()),
    }
}

#[test]
fn messages_become_ptx_with_their_formats_in_the_description() {
    let artifact = artifact(MESSAGES, true, SM_80);
    assert_eq!(artifact.target, ArtifactTarget::Nvidia { sm: 80 });
    let kernel = artifact.kernel("k").unwrap();
    let sites: Vec<_> = kernel.logs.iter().map(|site| (&*site.subsystem, &*site.format)).collect();
    assert_eq!(sites, [("sub", "%u: %v2hlf")]);
    assert_eq!((kernel.arguments.len(), kernel.buffer_slots()), (3, 3));
    assert!(ptx(&artifact).contains("atom."), "{}", ptx(&artifact));
    let decoded = encoding::decode(&encoding::encode(&artifact).unwrap()).unwrap();
    assert_eq!(decoded.kernels, artifact.kernels);
}

#[test]
fn without_logging_the_code_is_that_of_a_kernel_without_messages() {
    let (off, silent) = (artifact(MESSAGES, false, SM_80), artifact(SILENT, true, SM_80));
    assert_eq!(ptx(&off), ptx(&silent));
    for artifact in [&off, &silent] {
        assert_eq!((artifact.kernels[0].arguments.len(), artifact.kernels[0].logs.len()), (1, 0));
    }
}

#[test]
fn apple_gpus_refuse_a_kernel_with_messages() {
    let of = |logging| library(MESSAGES, logging).artifact("k", &Specialisation::default(), Target::Metal);
    assert!(of(false).is_ok());
    let error = of(true).unwrap_err();
    assert!(matches!(&error, CompileError::Unsupported { kernel, .. } if kernel == "k"), "{error}");
}
