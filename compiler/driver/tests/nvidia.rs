//! Artifacts for NVIDIA GPUs: made without a GPU, kept like those of CPUs.

use std::sync::Arc;

use anymetal_driver::hal::artifact::{Artifact, ArtifactCode, ArtifactTarget};
use anymetal_driver::hal::encoding;
use anymetal_driver::{
    CacheConfig, CompileError, Compiler, CompilerOptions, ConstantKey, ConstantValue, Library, Source,
    SourceOptions, Specialisation, Target,
};

const KERNELS: &str = "#include <metal_stdlib>
using namespace metal;
kernel void reverse(device const float* x [[buffer(0)]], device float* y [[buffer(3)]],
                    uint i [[thread_position_in_grid]], uint local [[thread_position_in_threadgroup]]) {
    threadgroup float rows[64];
    rows[local % 64] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = rows[63 - local % 64];
}
[[max_total_threads_per_threadgroup(128)]]
kernel void huge(device float* x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup float rows[16384];
    rows[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = rows[i + 1];
}
";
const SM_80: Target = Target::Nvidia { sm: 80 };

fn library(cache: CacheConfig) -> Library {
    let compiler = Compiler::new(&CompilerOptions::with_cache(cache));
    compiler.library(Source::from_text("test.metal", KERNELS, SourceOptions::default())).unwrap()
}

fn in_memory() -> Library {
    library(CacheConfig::memory_only())
}

fn ptx(artifact: &Artifact) -> &str {
    match &artifact.code {
        ArtifactCode::Ptx(text) => text,
        other => panic!("{}", other.kind()),
    }
}

#[test]
fn an_artifact_has_ptx_and_what_a_launch_needs() {
    let specialisation = Specialisation {
        group_size: Some([64, 1, 1]),
        whole_threadgroups_only: true,
        ..Specialisation::default()
    };
    let artifact = in_memory().artifact("reverse", &specialisation, SM_80).unwrap();
    assert_eq!(artifact.target, ArtifactTarget::Nvidia { sm: 80 });
    let kernel = artifact.kernel("reverse").unwrap();
    assert!(ptx(&artifact).contains(&format!(".visible .entry {}(", kernel.symbol)), "{}", ptx(&artifact));
    assert!(ptx(&artifact).contains(".target sm_80"));
    assert_eq!(kernel.threadgroup_static_bytes, 256);
    assert_eq!(kernel.specialised_group, Some([64, 1, 1]));
    assert!(kernel.whole_threadgroups_only);
    assert_eq!(kernel.buffer_slots(), 2);
    let load = artifact.fault_sites.first().unwrap();
    assert_eq!((load.argument, load.argument_name.as_str(), load.line), (Some(0), "x", 6));
    let decoded = encoding::decode(&encoding::encode(&artifact).unwrap()).unwrap();
    assert_eq!(ptx(&decoded), ptx(&artifact));
    assert_eq!(decoded.kernels, artifact.kernels);
    assert_eq!(decoded.fault_sites, artifact.fault_sites);
}

#[test]
fn code_without_checks_has_no_fault_sites_that_it_could_record() {
    let of = |checks| {
        let specialisation = Specialisation { checks, ..Specialisation::default() };
        in_memory().artifact("reverse", &specialisation, SM_80).unwrap()
    };
    assert!(ptx(&of(true)).contains("atom."), "the fault record is claimed");
    assert!(!ptx(&of(false)).contains("atom."), "{}", ptx(&of(false)));
}

#[test]
fn each_architecture_and_the_processor_have_artifacts_of_their_own() {
    let library = in_memory();
    let of = |target| library.artifact("reverse", &Specialisation::default(), target).unwrap();
    let [first, again, other, cpu] = [SM_80, SM_80, Target::Nvidia { sm: 90 }, Target::CpuLlvm].map(of);
    assert!(Arc::ptr_eq(&first, &again));
    assert_ne!(first.fingerprint, other.fingerprint);
    assert_ne!(first.fingerprint, cpu.fingerprint);
    assert!(ptx(&other).contains(".target sm_90"));
    assert!(matches!(cpu.code, ArtifactCode::Object(_)));
}

#[test]
fn a_description_tells_what_the_artifact_tells() {
    let library = in_memory();
    let specialisation = Specialisation::default();
    let description = library.description("reverse", &specialisation, SM_80).unwrap();
    assert!(description.code.is_empty());
    let artifact = library.artifact("reverse", &specialisation, SM_80).unwrap();
    assert_eq!(description.target, artifact.target);
    assert_eq!(description.kernels, artifact.kernels);
}

#[test]
fn the_disk_keeps_ptx() {
    let folder = std::env::temp_dir().join(format!("anymetal-nvidia-{}", std::process::id()));
    let cache = || CacheConfig { folder: Some(folder.clone()), ..CacheConfig::memory_only() };
    let specialisation = Specialisation::default();
    let first = library(cache()).artifact("reverse", &specialisation, SM_80).unwrap();
    let compiler = Compiler::new(&CompilerOptions::with_cache(cache()));
    let source = Source::from_text("test.metal", KERNELS, SourceOptions::default());
    let again = compiler.library(source).unwrap().artifact("reverse", &specialisation, SM_80).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(compiler.stage_counts().generated, 0);
    assert_eq!(ptx(&again), ptx(&first));
    assert_eq!(again.fingerprint, first.fingerprint);
}

#[test]
fn what_no_card_can_run_is_refused() {
    let library = in_memory();
    let refused = |kernel, target| library.artifact(kernel, &Specialisation::default(), target).unwrap_err();
    assert!(matches!(refused("huge", SM_80), CompileError::TooLarge { .. }));
    assert!(matches!(refused("reverse", Target::Nvidia { sm: 30 }), CompileError::Unsupported { .. }));
    let described = library.description("huge", &Specialisation::default(), SM_80).unwrap_err();
    assert!(matches!(described, CompileError::TooLarge { .. }));
}

#[test]
fn attributes_of_stage_in_data_are_loads_of_their_formats() {
    use anymetal_driver::hal::stage_input::{AttributeFormat, BufferLayout, IndexType, StageInputDescriptor};
    let source = "struct In { float4 color [[attribute(0)]]; uint2 at [[attribute(1)]]; };
        kernel void store(In in [[stage_in]], device float4* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
            y[i] = in.color + float4(float2(in.at), 0, 0);
        }";
    let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
    let library =
        compiler.library(Source::from_text("test.metal", source, SourceOptions::default())).unwrap();
    let described = StageInputDescriptor::new()
        .attribute(0, AttributeFormat::UChar4Normalized, 0, 2)
        .attribute(1, AttributeFormat::UShort2, 0, 5)
        .layout(2, BufferLayout::along_x(4).indexed())
        .layout(5, BufferLayout::along_y(4))
        .indices(9, IndexType::U16);
    let values = described.constants(&library.reflect("store").unwrap()).unwrap().into_iter();
    let constants = values.map(|(index, value)| (ConstantKey::Index(index), ConstantValue::from(value)));
    let specialisation = Specialisation { constants: constants.collect(), ..Specialisation::default() };
    let artifact = library.artifact("store", &specialisation, SM_80).unwrap();
    let kernel = artifact.kernel("store").unwrap();
    let buffers: Vec<u32> =
        kernel.arguments.iter().filter(|argument| argument.enabled).map(|argument| argument.index).collect();
    assert_eq!(buffers.iter().filter(|index| **index < 31).collect::<Vec<_>>(), [&0, &2, &5, &9]);
    let text = ptx(&artifact);
    // LLVM's versions name the types of loads differently, and some loads bypass.
    let loads = |bits: &str| {
        let is_it = |line: &&str| line.contains("ld.global") && line.contains(bits);
        text.lines().filter(is_it).count()
    };
    // In each version of the kernel.
    let (bytes, halves) = (loads("8 \t"), loads("16 \t"));
    assert!(bytes > 0 && bytes % 4 == 0 && halves == bytes / 4 * 3, "{bytes} and {halves}: {text}");
}
