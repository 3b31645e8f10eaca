//! Which kernels are proved and which refused, from source; names, arguments and caches of fused ones.

use super::{FusedArgument, Fusion, FusionPart};
use crate::artifacts::{Subject, from_disk};
use crate::prepared::Prepared;
use crate::{
    CacheConfig, Compiler, CompilerOptions, Library, PassOptions, Source, SourceOptions, Specialisation,
    Target,
};

const PARAMETERS: &str = "(device float* x [[buffer(0)]], device float* y [[buffer(1)]],
    constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
    uint local [[thread_position_in_threadgroup]], uint group [[threadgroup_position_in_grid]],
    uint size [[threads_per_threadgroup]])";

/// The same over a plane.
const PLANE: &str =
    "(device float* x [[buffer(0)]], device float* y [[buffer(1)]], constant uint& n [[buffer(2)]],
    uint2 p [[thread_position_in_grid]], uint2 grid [[threads_per_grid]],
    uint2 local [[thread_position_in_threadgroup]], uint2 group [[threadgroup_position_in_grid]],
    uint2 size [[threads_per_threadgroup]], uint2 full [[dispatch_threads_per_threadgroup]])";

fn library(compiler: &Compiler, parameters: &str, first: &str, second: &str) -> Library {
    let text = format!(
        "#include <metal_stdlib>\nusing namespace metal;
         kernel void first{parameters} {{ {first} }}\nkernel void second{parameters} {{ {second} }}"
    );
    compiler.library(Source::from_text("test.metal", text, SourceOptions::default())).unwrap()
}

/// How both kernels are launched.
#[derive(Clone, Copy)]
struct Launch {
    parameters: &'static str,
    group_size: [u32; 3],
    threads: Option<[u32; 3]>,
    /// What `n` is, if it is bound to bytes.
    n: Option<u32>,
}

const LINE: Launch = Launch { parameters: PARAMETERS, group_size: [64, 1, 1], threads: None, n: None };

impl Launch {
    /// Does something with the fusion of two kernels; the first's `y` is the second's `x`.
    fn fused<T>(&self, first: &str, second: &str, with: impl FnOnce(&Fusion<'_>) -> T) -> T {
        let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
        let library = library(&compiler, self.parameters, first, second);
        let specialisation = Specialisation::default();
        let kernels =
            ["first", "second"].map(|name| library.reflect_specialised(name, &specialisation).unwrap());
        let places: [&[(u32, u32)]; 2] = [&[(0, 0), (1, 1), (2, 2)], &[(0, 1), (1, 3), (2, 4)]];
        let n = self.n.map(u32::to_le_bytes);
        let bytes: Vec<(u32, &[u8])> = n.iter().map(|n| (2, n.as_slice())).collect();
        let parts = kernels.iter().zip(places).map(|(kernel, places)| FusionPart {
            library: &library,
            kernel,
            specialisation: &specialisation,
            places,
            bytes: &bytes,
        });
        with(&Fusion::new(parts.collect(), Some(self.group_size), self.threads).unwrap())
    }

    fn refusal(&self, first: &str, second: &str) -> Option<String> {
        self.fused(first, second, |fusion| {
            let refusal = fusion.refusal().unwrap();
            let artifact = fusion.artifact(Target::Interpreter);
            assert_eq!(artifact.is_err(), refusal.is_some(), "{artifact:?} {refusal:?}");
            refusal
        })
    }
}

fn fused<T>(first: &str, second: &str, with: impl FnOnce(&Fusion<'_>) -> T) -> T {
    LINE.fused(first, second, with)
}

fn refusal(first: &str, second: &str) -> Option<String> {
    fused(first, second, |fusion| fusion.refusal().unwrap())
}

const MAP: &str = "y[i] = 2 * x[i];";

#[test]
fn a_bisection_limit_counts_on_from_part_to_part() {
    let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
    let library = library(&compiler, PARAMETERS, MAP, MAP);
    let limited = |limit| Specialisation {
        passes: PassOptions::new().bisect_limit(limit),
        ..Specialisation::default()
    };
    let left = |prepared: &Prepared| prepared.passes.bisect_limit.unwrap();
    const LIMIT: u64 = 1_000_000;
    let executions =
        ["first", "second"].map(|name| LIMIT - left(&library.prepared(name, &limited(LIMIT)).unwrap()));
    assert!(executions[0] > 0 && executions[1] > 0, "{executions:?}");
    let after = |limit, with: fn(&Fusion<'_>) -> u64| {
        let specialisation = limited(limit);
        let kernels = ["first", "second"].map(|name| library.reflect(name).unwrap());
        let parts = kernels.iter().map(|kernel| FusionPart {
            library: &library,
            kernel,
            specialisation: &specialisation,
            places: &[(0, 0), (1, 1)],
            bytes: &[],
        });
        let fusion = Fusion::new(parts.collect(), Some([64, 1, 1]), None).unwrap();
        with(&fusion)
    };
    let after_parts = |limit| after(limit, |fusion| fusion.prepared_parts().unwrap().1.bisect_limit.unwrap());
    let left_of_parts = after_parts(LIMIT);
    assert_eq!(left_of_parts, LIMIT - executions[0] - executions[1]);
    let left_of_fused =
        after(LIMIT, |fusion| Subject::prepared(fusion).unwrap().passes.bisect_limit.unwrap());
    assert!(left_of_fused < left_of_parts, "the fused kernel is simplified");
    // The first part uses up the limit.
    assert_eq!(after_parts(executions[0]), 0);
}

#[test]
fn elementwise_kernels_are_proved() {
    for second in [
        MAP,
        "y[i] = x[i]; x[i] = 1;",
        "if (i >= n) return; y[i] = x[i] * x[i];",
        // Other elements of other bytes are its own business.
        "if (i + 1 < n) y[i] = y[i + 1] + x[i];",
        // Another type of the same size; SIMD-group operations are not memory accesses.
        "((device uint*)y)[i] = ((device uint*)x)[i] ^ lane;",
        "y[i] = simd_sum(x[i]) + simd_shuffle_xor(x[i], 1);",
        "x[i] = exp(x[i]); for (uint k = 0; k < n; k++) x[i] += k;",
        "switch (n) { case 1: y[i] = x[i]; break; default: x[i] = 1; }",
    ] {
        assert_eq!(refusal(MAP, second), None, "{second}");
        assert_eq!(refusal("if (i >= n) return; y[i] = x[i];", second), None, "{second}");
    }
    // A thread of the second may read several bytes, if the first wrote the same ones.
    let (wide, narrow) =
        ("((device float4*)y)[i] = x[i];", "device float4& v = ((device float4*)x)[i]; y[i] = v.z;");
    assert_eq!(refusal(wide, narrow), None);
}

#[test]
fn everything_else_is_refused() {
    let cases = [
        ("y[i] = x[i + 1];", "overlap"),
        ("y[i] = i > 0 ? x[i - 1] : 0;", "overlap"),
        ("y[i] = x[n - 1 - i];", "overlap"),
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

/// Twice, so that what the first writes the second reads.
fn both(launch: Launch, body: &str) -> Option<String> {
    launch.refusal(body, body)
}

#[test]
fn indices_of_other_forms_are_proved_for_the_launch_at_hand() {
    let line = |threads, n| Launch { threads: Some([threads, 1, 1]), n, ..LINE };
    let proved = [
        (line(1003, None), "y[2 * i] = x[2 * i + 1];"),
        (line(1003, None), "y[i * 2] = x[i << 1];"),
        (line(1024, None), "y[group * size + local] = x[i];"),
        (line(1003, None), "y[group * 64 + local] = x[i];"),
        (line(1003, None), "y[1002 - i] = x[1002 - i];"),
        (line(1003, Some(5)), "y[n + i] = x[i + n];"),
        (line(1003, Some(5)), "int at = int(i) - int(n); if (at >= 0) y[at] = x[at];"),
        (LINE, "y[i + 3] = x[i + 3];"),
    ];
    for (launch, body) in proved {
        assert_eq!(both(launch, body), None, "{body}");
    }
    let refused = [
        (LINE, "y[2 * i] = x[2 * i];"),
        (line(u32::MAX, None), "y[2 * i] = x[2 * i];"),
        (line(1003, None), "y[group * size + local] = x[i];"),
        (line(1003, None), "y[group * 32 + local] = x[group * 32 + local];"),
        // What it is bound to is not known to be the same for both.
        (line(1003, None), "y[n + i] = x[n + i];"),
        (line(1003, Some(1)), "y[n + i] = x[i];"),
        (line(1003, None), "y[2 * i] = x[i];"),
    ];
    for (launch, body) in refused {
        assert!(both(launch, body).is_some(), "{body}");
    }
}

#[test]
fn rows_of_a_plane_are_proved_where_they_do_not_overlap() {
    let plane = |n| Launch { parameters: PLANE, group_size: [8, 4, 1], threads: Some([59, 17, 1]), n };
    let proved = [
        (plane(None), "uint i = p.y * grid.x + p.x; y[i] = x[i];"),
        (plane(Some(59)), "uint i = p.y * n + p.x; y[i] = x[i];"),
        (plane(Some(64)), "if (p.x >= 59 || p.y >= 17) return; y[p.y * n + p.x] = x[n * p.y + p.x];"),
        (plane(None), "y[p.x * 17 + p.y] = x[p.x * grid.y + p.y];"),
        (plane(None), "uint2 q = group * full + local; y[q.y * 59 + q.x] = x[p.y * 59 + p.x];"),
        (plane(None), "int2 q = int2(p); y[q.y * 59 + q.x] = x[p.y * 59 + p.x];"),
    ];
    for (launch, body) in proved {
        assert_eq!(both(launch, body), None, "{body}");
    }
    let refused = [
        (plane(None), "uint i = p.y * n + p.x; y[i] = x[i];"),
        (plane(Some(58)), "uint i = p.y * n + p.x; y[i] = x[i];"),
        // The threads past the width leave before, which is not looked at.
        (plane(Some(58)), "if (p.x >= n) return; uint i = p.y * n + p.x; y[i] = x[i];"),
        (plane(Some(59)), "y[p.y * n + p.x] = x[p.x * 17 + p.y];"),
        (plane(None), "y[p.x] = x[p.x];"),
        (plane(None), "y[p.y] = x[p.y];"),
        (plane(None), "uint2 q = group * size + local; y[q.y * 59 + q.x] = x[p.y * 59 + p.x];"),
    ];
    for (launch, body) in refused {
        assert!(both(launch, body).is_some(), "{body}");
    }
    let any = Launch { threads: None, ..plane(None) };
    assert!(both(any, "uint i = p.y * grid.x + p.x; y[i] = x[i];").is_some(), "the grid is not known");
    let wide = Launch { threads: Some([1 << 16, (1 << 16) + 1, 1]), ..plane(None) };
    assert!(both(wide, "uint i = p.y * grid.x + p.x; y[i] = x[i];").is_some(), "it comes round");
}

/// A verdict for one grid is none for another, and neither is its code.
#[test]
fn proofs_for_different_grids_are_cached_separately() {
    let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
    let body = "uint i = p.y * n + p.x; y[i] = x[i];";
    let library = library(&compiler, PLANE, body, body);
    let specialisation = Specialisation::default();
    let kernel = library.reflect_specialised("first", &specialisation).unwrap();
    let is_proved = |width: u32, [first, second]: [&[u32]; 2]| {
        let bytes = [first, second].map(|all| all.iter().map(|n| (2, n.to_le_bytes())).collect::<Vec<_>>());
        let bytes = bytes.each_ref().map(|all| {
            let all = all.iter().map(|(index, bytes)| (*index, bytes.as_slice()));
            all.collect::<Vec<(u32, &[u8])>>()
        });
        let part = |places, bytes| FusionPart {
            library: &library,
            kernel: &kernel,
            specialisation: &specialisation,
            places,
            bytes,
        };
        let parts = vec![
            part(&[(0, 0), (1, 1), (2, 2)], &bytes[0][..]),
            part(&[(0, 1), (1, 3), (2, 4)], &bytes[1][..]),
        ];
        let fusion = Fusion::new(parts, Some([8, 4, 1]), Some([width, 17, 1])).unwrap();
        let proved = fusion.refusal().unwrap().is_none();
        assert_eq!(fusion.artifact(Target::Interpreter).is_ok(), proved);
        proved
    };
    for _ in 0..2 {
        assert!(is_proved(59, [&[59], &[59]]) && is_proved(30, [&[59], &[59]]));
        assert!(!is_proved(60, [&[59], &[59]]) && !is_proved(59, [&[60], &[59]]));
        assert!(!is_proved(59, [&[59], &[]]) && !is_proved(59, [&[], &[59]]));
    }
}

#[test]
fn a_fused_kernel_describes_its_arguments() {
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
fn the_disk_cache_keeps_proofs_and_refusals() {
    let folder = tempfile::tempdir().unwrap();
    for second in [MAP, "y[i] = x[0];"] {
        let verdicts = [0, 1].map(|_| {
            let cache = CacheConfig { folder: Some(folder.path().to_owned()), ..CacheConfig::memory_only() };
            let compiler = Compiler::new(&CompilerOptions::with_cache(cache));
            let library = library(&compiler, PARAMETERS, MAP, second);
            let specialisation = Specialisation::default();
            let kernel = library.reflect_specialised("second", &specialisation).unwrap();
            let part = |places| FusionPart {
                library: &library,
                kernel: &kernel,
                specialisation: &specialisation,
                places,
                bytes: &[],
            };
            let fusion =
                Fusion::new(vec![part(&[(0, 0), (1, 1)]), part(&[(0, 1), (1, 2)])], None, None).unwrap();
            let on_disk = from_disk(library.shared(), &fusion.name(), &fusion.key("proof")).is_some();
            (fusion.refusal().unwrap(), on_disk)
        });
        assert_eq!([verdicts[0].1, verdicts[1].1], [false, true]);
        assert_eq!(verdicts[0].0, verdicts[1].0);
        assert_eq!(verdicts[0].0.is_some(), second != MAP);
    }
}
