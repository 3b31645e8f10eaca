//! Which kernels are proved and which refused, from source; names, arguments and caches of fused ones.

use super::{FusedArgument, Fusion, FusionPart};
use crate::{CacheConfig, Compiler, CompilerOptions, Library, Source, SourceOptions, Specialisation, Target};

const PARAMETERS: &str = "(device float* x [[buffer(0)]], device float* y [[buffer(1)]],
    constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
    uint local [[thread_position_in_threadgroup]], uint group [[threadgroup_position_in_grid]],
    uint size [[threads_per_threadgroup]])";

fn library(compiler: &Compiler, first: &str, second: &str) -> Library {
    let text = format!(
        "#include <metal_stdlib>\nusing namespace metal;
         kernel void first{PARAMETERS} {{ {first} }}\nkernel void second{PARAMETERS} {{ {second} }}"
    );
    compiler.library(Source::from_text("test.metal", text, SourceOptions::default())).unwrap()
}

/// Does something with the fusion of two kernels; the first's `y` is the second's `x`.
fn fused<T>(first: &str, second: &str, with: impl FnOnce(&Fusion<'_>) -> T) -> T {
    let compiler = Compiler::new(&CompilerOptions { cache: CacheConfig::memory_only() });
    let library = library(&compiler, first, second);
    let specialisation = Specialisation::default();
    let kernels = ["first", "second"].map(|name| library.reflect_specialised(name, &specialisation).unwrap());
    let places: [&[(u32, u32)]; 2] = [&[(0, 0), (1, 1), (2, 2)], &[(0, 1), (1, 3), (2, 4)]];
    let parts = kernels.iter().zip(places).map(|(kernel, places)| FusionPart {
        library: &library,
        kernel,
        specialisation: &specialisation,
        places,
    });
    with(&Fusion::new(parts.collect(), Some([64, 1, 1])).unwrap())
}

fn refusal(first: &str, second: &str) -> Option<String> {
    fused(first, second, |fusion| fusion.refusal().unwrap())
}

const MAP: &str = "y[i] = 2 * x[i];";

#[test]
fn elementwise_kernels_are_proved() {
    for second in [
        MAP,
        "y[i] = x[i]; x[i] = 1;",
        "if (i >= n) return; y[i] = x[i] * x[i];",
        // Other elements of other bytes are its own business.
        "if (i + 1 < n) y[i] = y[i + 1] + x[i];",
        // Another type of the same size; what threads of a SIMD-group tell each other is no memory.
        "((device uint*)y)[i] = ((device uint*)x)[i] ^ lane;",
        "y[i] = simd_sum(x[i]) + simd_shuffle_xor(x[i], 1);",
        "x[i] = exp(x[i]); for (uint k = 0; k < n; k++) x[i] += k;",
        "switch (n) { case 1: y[i] = x[i]; break; default: x[i] = 1; }",
    ] {
        assert_eq!(refusal(MAP, second), None, "{second}");
        assert_eq!(refusal("if (i >= n) return; y[i] = x[i];", second), None, "{second}");
    }
    // A thread of the second may read several bytes, if the first wrote as many for it.
    let (wide, narrow) =
        ("((device float4*)y)[i] = x[i];", "device float4& v = ((device float4*)x)[i]; y[i] = v.z;");
    assert_eq!(refusal(wide, narrow), None);
}

#[test]
fn everything_else_is_refused() {
    let cases = [
        ("y[i] = x[i + 1];", "at another thread's position"),
        ("y[i] = i > 0 ? x[i - 1] : 0;", "at another thread's position"),
        ("y[i] = x[n - 1 - i];", "at another thread's position"),
        ("y[i] = x[2 * i];", "at another thread's position"),
        ("y[i] = x[uint(y[i])];", "at another thread's position"),
        ("y[i] = x[0];", "at another thread's position"),
        ("y[i] = x[group * size + local];", "at another thread's position"),
        ("y[i] = ((device float2*)x)[i].x;", "overlap"),
        ("y[i] = ((device half*)x)[i];", "overlap"),
        ("y[i] = x[(ulong)i + 1];", "overlap"),
        (
            "atomic_fetch_add_explicit((device atomic_uint*)y, 1, memory_order_relaxed); y[i] = x[i];",
            "atomics",
        ),
        ("y[i] = x[i]; threadgroup_barrier(mem_flags::mem_device);", "barriers"),
        ("y[i] = x[i]; simdgroup_barrier(mem_flags::mem_none);", "barriers"),
        ("threadgroup float t[64]; t[local] = x[i]; y[i] = t[local];", "threadgroup memory"),
        ("volatile device float* v = x; y[i] = v[i];", "volatile"),
        ("device float* p = n > 3 ? x : y; p[i] = 1;", "more than accessed"),
    ];
    for (second, reason) in cases {
        let refused = refusal(MAP, second).unwrap_or_else(|| panic!("not refused: {second}"));
        assert!(refused.contains(reason), "{second}: {refused}");
        assert!(refused.contains("second"), "{refused}");
        let artifact = fused(MAP, second, |fusion| fusion.artifact(Target::Interpreter).map(drop));
        assert!(artifact.unwrap_err().to_string().contains(reason));
    }
    let stencil = refusal("y[i] = x[i]; y[i ^ 1] = 0;", MAP).unwrap();
    assert_eq!(stencil, "a thread of first may access y at another thread's position (line 6)");
}

#[test]
fn a_fused_kernel_tells_its_arguments() {
    fused(MAP, "if (i < n) y[i] = x[i];", |fusion| {
        let artifact = fusion.artifact(Target::Interpreter).unwrap();
        let kernel = artifact.kernel("first + second").unwrap();
        let of = |index, part, of_part| FusedArgument { index, part, of_part };
        let expected = [of(0, 0, 0), of(1, 0, 1), of(2, 0, 2), of(3, 1, 1), of(4, 1, 2)];
        assert_eq!(fusion.arguments(), expected);
        let names: Vec<&str> = kernel.arguments.iter().map(|argument| argument.name.as_str()).collect();
        assert_eq!(names, ["x", "y", "n", "y", "n"]);
        assert!(std::sync::Arc::ptr_eq(&artifact, &fusion.artifact(Target::Interpreter).unwrap()));
    });
}

#[test]
fn the_disk_remembers_what_was_proved_and_what_was_refused() {
    let folder = tempfile::tempdir().unwrap();
    for second in [MAP, "y[i] = x[0];"] {
        let verdicts = [0, 1].map(|_| {
            let cache = CacheConfig { folder: Some(folder.path().to_owned()), ..CacheConfig::memory_only() };
            let compiler = Compiler::new(&CompilerOptions { cache });
            let library = library(&compiler, MAP, second);
            let specialisation = Specialisation::default();
            let kernel = library.reflect_specialised("second", &specialisation).unwrap();
            let part = |places| FusionPart {
                library: &library,
                kernel: &kernel,
                specialisation: &specialisation,
                places,
            };
            let fusion = Fusion::new(vec![part(&[(0, 0), (1, 1)]), part(&[(0, 1), (1, 2)])], None).unwrap();
            let on_disk = library.from_disk(&fusion.name(), &fusion.key("proof")).is_some();
            (fusion.refusal().unwrap(), on_disk)
        });
        assert_eq!([verdicts[0].1, verdicts[1].1], [false, true]);
        assert_eq!(verdicts[0].0, verdicts[1].0);
        assert_eq!(verdicts[0].0.is_some(), second != MAP);
    }
}
