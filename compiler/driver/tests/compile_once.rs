//! No stage runs twice: descriptions generate no code and tell what the artifacts tell, and the module that
//! a description prepared is the one that the compiles start from. The compiler counts the stages that ran.

use anymetal_driver::hal::artifact::KernelInfo;
use anymetal_driver::{
    CacheConfig, CompileError, Compiler, CompilerOptions, ConstantKey, ConstantValue, Emit, Library, Source,
    SourceOptions, Specialisation, Target,
};

/// What a kernel may have that the code generator decides on: threadgroup memory with gaps, an array in
/// scratch memory that is live across a barrier, a constant, the size of its threadgroups.
const KERNELS: &str = "#include <metal_stdlib>
using namespace metal;
constant bool twice [[function_constant(0)]];
constant uint unused [[function_constant(1)]];
kernel void plain(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2; }
kernel void shared(device float* x [[buffer(0)]], device float* y [[buffer(1), function_constant(twice)]],
                   uint i [[thread_position_in_grid]], uint local [[thread_position_in_threadgroup]]) {
    threadgroup char flag;
    threadgroup float rows[64];
    if (local == 0) { flag = 1; }
    rows[local % 64] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = rows[(local + flag) % 64];
    if (twice) { y[i] = x[i]; }
}
kernel void arrays(device float* x [[buffer(0)]], constant uint& n [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
    float kept[512];
    for (uint j = 0; j < 512; j++) { kept[j] = x[i + j]; }
    threadgroup_barrier(mem_flags::mem_device);
    x[i] = kept[n % 512] + kept[(n + 7) % 512];
}
kernel void sized(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]],
                  uint size [[threads_per_threadgroup]]) {
    for (uint j = size; j > 0; j /= 2) { x[i] += x[i + j]; }
}
";

fn compiler() -> Compiler {
    Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()))
}

fn library(compiler: &Compiler, text: &str) -> Library {
    compiler.library(Source::from_text("test.metal", text, SourceOptions::default())).unwrap()
}

fn for_size(size: Option<[u32; 3]>, whole_threadgroups_only: bool) -> Specialisation {
    let constants = vec![(ConstantKey::Index(0), ConstantValue::from(true))];
    Specialisation {
        constants,
        ignore_unknown_constants: true,
        group_size: size,
        whole_threadgroups_only,
        ..Specialisation::default()
    }
}

/// How often the stages ran since the last call.
fn stages(compiler: &Compiler, before: &mut [u64; 2]) -> [u64; 2] {
    let now = compiler.stage_counts();
    let now = [now.prepared, now.generated];
    let since = [now[0] - before[0], now[1] - before[1]];
    *before = now;
    since
}

#[test]
fn a_description_generates_no_code_and_leaves_its_module_to_the_compiles() {
    let compiler = compiler();
    let library = library(&compiler, KERNELS);
    let seen = &mut [0; 2];
    let compile = |kernel, specialisation: &Specialisation| {
        library.artifact(kernel, specialisation, Target::CpuLlvm).unwrap();
    };
    // One whose module depends on the size of whole threadgroups, and one whose does not.
    for (kernel, by_size) in [("plain", 0), ("sized", 1)] {
        library.description(kernel, &for_size(None, false), Target::CpuLlvm).unwrap();
        assert_eq!(stages(&compiler, seen), [1, 0], "{kernel}: described");
        compile(kernel, &for_size(Some([64, 1, 1]), true));
        assert_eq!(stages(&compiler, seen), [by_size, 1], "{kernel}: whole threadgroups");
        compile(kernel, &for_size(Some([64, 1, 1]), false));
        assert_eq!(stages(&compiler, seen), [0, 1], "{kernel}: with an edge");
        compile(kernel, &for_size(None, false));
        assert_eq!(stages(&compiler, seen), [0, 1], "{kernel}: any size");
        compile(kernel, &for_size(None, false));
        assert_eq!(stages(&compiler, seen), [0, 0], "{kernel}: again");
    }
}

/// The artifact's description, without what only code that runs needs.
fn compiled(library: &Library, kernel: &str, specialisation: &Specialisation) -> (KernelInfo, u64) {
    let artifact = library.artifact(kernel, specialisation, Target::CpuLlvm).unwrap();
    let mut info = artifact.kernel(kernel).unwrap().clone();
    let scratch = info.scratch_bytes + info.scratch_bytes_per_simdgroup;
    (info.scratch_bytes, info.scratch_bytes_per_simdgroup) = (0, 0);
    (info, scratch)
}

#[test]
fn a_description_tells_what_the_artifact_tells() {
    let compiler = compiler();
    let library = library(&compiler, KERNELS);
    let mut scratch = 0;
    for kernel in ["plain", "shared", "arrays", "sized"] {
        for specialisation in
            [for_size(None, false), for_size(Some([8, 8, 1]), false), for_size(Some([64, 1, 1]), true)]
        {
            let described = library.description(kernel, &specialisation, Target::CpuLlvm).unwrap();
            let (expected, bytes) = compiled(&library, kernel, &specialisation);
            assert_eq!(described.kernel(kernel), Some(&expected), "{kernel} {specialisation:?}");
            scratch += bytes;
        }
    }
    assert_ne!(scratch, 0, "none of the kernels has scratch memory");
}

#[test]
fn a_description_has_the_errors_of_the_compile() {
    let text = "#include <metal_stdlib>
using namespace metal;
constant uint n [[function_constant(0)]];
kernel void constants(device float* x [[buffer(0)]]) { x[0] = n; }
kernel void threadgroup_memory(device float* x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup float all[300000];
    all[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = all[i ^ 1];
}
kernel void private_memory(device float* x [[buffer(0)]], constant uint& k [[buffer(1)]]) {
    float all[100000];
    for (uint i = 0; i < 100000; i++) { all[i] = x[i]; }
    x[0] = all[k];
}
kernel void sizes(device float* x [[buffer(0)]]) { x[0] = 1; }";
    let compiler = compiler();
    let library = library(&compiler, text);
    let any = Specialisation::default();
    let too_many = Specialisation { group_size: Some([64, 64, 1]), ..Specialisation::default() };
    for (kernel, specialisation) in
        [("constants", &any), ("threadgroup_memory", &any), ("private_memory", &any), ("sizes", &too_many)]
    {
        let described = library.description(kernel, specialisation, Target::CpuLlvm).unwrap_err();
        let compiled = library.artifact(kernel, specialisation, Target::CpuLlvm).unwrap_err();
        assert_eq!(described.to_string(), compiled.to_string());
        assert_eq!(std::mem::discriminant(&described), std::mem::discriminant(&compiled), "{kernel}");
        assert!(!matches!(described, CompileError::Internal { .. }), "{kernel}: {described}");
    }
}

/// The text of code generated from a kept module is that of one made for it alone.
#[test]
fn a_kept_module_gives_the_same_code() {
    for kernel in ["plain", "shared", "arrays", "sized"] {
        for specialisation in [for_size(Some([64, 1, 1]), true), for_size(Some([64, 1, 1]), false)] {
            let emit = |library: &Library| library.emit(kernel, &specialisation, Emit::Llvm).unwrap();
            let (alone, after) = (compiler(), compiler());
            let library = library(&after, KERNELS);
            let any =
                Specialisation { group_size: None, whole_threadgroups_only: false, ..specialisation.clone() };
            library.description(kernel, &any, Target::CpuLlvm).unwrap();
            assert_eq!(emit(&library), emit(&self::library(&alone, KERNELS)), "{kernel} {specialisation:?}");
        }
    }
}
