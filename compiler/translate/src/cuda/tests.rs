//! Translations of small sources, each rule by itself.

use super::*;
use crate::opencl::Doubles;

fn translation(source: &str, options: &Options) -> Translation {
    cuda_to_msl("test.cu", source, &mut |_, _, _| None, &[], options)
}

fn msl(source: &str) -> String {
    let translation = translation(source, &Options::default());
    assert!(!translation.has_errors(), "{:?}", translation.diagnostics);
    let start = "using namespace metal;\n\n";
    let at = translation.text.find(start).expect("it begins so") + start.len();
    translation.text[at..].to_owned()
}

fn refused(source: &str) -> Vec<String> {
    let translation = translation(source, &Options::default());
    assert!(translation.has_errors(), "{}", translation.text);
    translation.diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect()
}

fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

#[test]
fn kernels_keep_names_comments_and_layout() {
    let source = "#include <cstdio>\n// The sum.\n__global__ void add(const float* __restrict__ x, float *y, int n) {\n  \
                  int i = threadIdx.x; // here\n  if (i < n)\n    y[i] += x[i];\n}\n\nint main() { printf(\"x\"); }\n";
    let expected = "// The sum.\nkernel void add(device const float* x [[buffer(0)]], device float *y [[buffer(1)]], \
                    constant int& n [[buffer(2)]],\n                uint3 threadIdx \
                    [[thread_position_in_threadgroup]]) {\n  int i = threadIdx.x; // here\n  if (i < n)\n    y[i] += \
                    x[i];\n}\n";
    assert_eq!(msl(source), expected);
}

#[test]
fn host_code_is_dropped_and_what_kernels_name_stays() {
    let source = "#include <vector>\n#define N 4\n#define CHECK(x) if (x) exit(1)\nstruct Host { std::vector<int> v; };\n\
                  struct Pair { int a, b; };\nstatic const int two = 2;\nvoid fill(Host& h) { h.v.push_back(1); }\n\
                  __device__ int pick(Pair p) { return p.a * N + two; }\n\
                  __global__ void k(int* x, Pair p) { *x = pick(p); }\n\
                  int main() { Host h; fill(h); CHECK(1); k<<<1, 1>>>(0, Pair()); }\n";
    let text = msl(source);
    contains(
        &text,
        &["#define N 4", "struct Pair { int a, b; };", "constant const int two = 2;", "int pick(Pair p)"],
    );
    assert!(!text.contains("Host") && !text.contains("CHECK") && !text.contains("main"), "{text}");
}

#[test]
fn lambdas_that_reach_a_kernel_are_refused_by_name() {
    let kernel =
        "template <typename F> __global__ void each(int n, F f) { if (threadIdx.x < n) f(threadIdx.x); }\n";
    let direct = "int main() { each<<<1, 32>>>(4, [=] __device__ (int i) { x[i] *= a; }); }\n";
    assert_eq!(refused(&format!("{kernel}{direct}")), ["a lambda is an argument of the kernel `each`"]);
    let through = "template <typename F> void launch(int n, F f) { each<int, F><<<n / 32, 32>>>(n, f); }\n\
                   template <typename F> void outer(F g) { launch(64, g); }\n\
                   int main() { auto twice = [=] __host__ __device__ (int i) { x[i] *= 2; }; outer<int>(twice); }\n";
    assert_eq!(
        refused(&format!("{kernel}{through}")),
        ["the lambda `twice` is an argument of the kernel `each`"]
    );
    // Those that no launch gets are the host's own.
    let other = "__global__ void k(int* x) { x[0] = 1; }\n\
                 template <typename F> void apply(F f) { f(1); apply(f); }\n\
                 int main() { auto one = [=] __device__ (int i) { return i; }; apply(one); k<<<1, 1>>>(x); }\n";
    assert!(msl(other).contains("kernel void k"));
}

#[test]
fn textures_and_surfaces_over_arrays_are_refused() {
    let source = "__global__ void k(float* y, cudaTextureObject_t t, cudaSurfaceObject_t s) {\n\
                  y[0] = tex2D<float>(t, 1, 2); y[1] = tex2DLod<float>(t, 1, 2, 0); y[2] = texCubemapLayered<float>(t, 1, 2, 3, 4);\n\
                  y[3] = tex2Dgather<float4>(t, 1, 2).x; y[4] = tex1DLayeredGrad<float>(t, 1, 2, 3, 4);\n\
                  surf3Dwrite(1.0f, s, 0, 0, 0); surf2DLayeredread(y, s, 0, 0, 0); }\n";
    let names = [
        "tex2D",
        "tex2DLod",
        "texCubemapLayered",
        "tex2Dgather",
        "tex1DLayeredGrad",
        "surf3Dwrite",
        "surf2DLayeredread",
    ];
    assert_eq!(refused(source), names.map(|name| format!("Metal has no `{name}`")));
    assert!(msl("__device__ float tex2Dx(float x) { return x; }\n__global__ void k(float* y) { y[0] = tex2Dx(1); }").contains("tex2Dx(1)"));
}

#[test]
fn names_of_libraries_are_refused_unless_the_source_has_them() {
    let source = "#include <thrust/complex.h>\n__global__ void k(float* x) { thrust::complex<float> c(x[0], 1); x[0] = thrust::abs(c);\n\
                  cuda::std::array<int, 2> a; nvcuda::wmma::fill_fragment(a, 0); }\n";
    let names = ["thrust::complex", "thrust::abs", "cuda::std::array", "nvcuda::wmma::fill_fragment"];
    assert_eq!(refused(source), names.map(|name| format!("`{name}` is of a library that is not translated")));
    let own = "namespace thrust { __device__ int one() { return 1; } }\n__global__ void k(int* x) { x[0] = thrust::one(); }\n";
    assert!(msl(own).contains("thrust::one()"));
}

#[test]
fn atomics_of_wide_integers_are_minima_and_maxima_without_a_result() {
    let source = "typedef unsigned long long ull;\nusing wide = ull;\nstruct S { int n; wide count; };\n__device__ uint64_t total;\n\
                  __global__ void k(ull* x, S* s, int* n, float* f) {\n\
                  atomicMax(x + 1, 5ULL); if (n[0]) atomicMin(&s[1].count, 2ULL); atomicMax((unsigned long long*)f, 1ULL);\n\
                  atomicAdd(&s->n, 1); atomicAdd(n, 1); atomicAdd((int*)x, 1); atomicAdd(f, 1.0f); }\n";
    contains(
        &msl(source),
        &[
            "atomic_max_explicit((volatile device atomic_ulong*)",
            "atomic_min_explicit((volatile device atomic_ulong*)",
        ],
    );
    let each = |statement: &str| {
        let found = refused(&source.replace("atomicMax(x + 1, 5ULL)", statement));
        assert_eq!(found.len(), 1, "{statement}: {found:?}");
        found.into_iter().next().unwrap_or_default()
    };
    let missing = |name: &str| format!("Metal has no `{name}` of 64-bit integers");
    assert_eq!(each("atomicAdd(x, 1ULL)"), missing("atomicAdd"));
    assert_eq!(each("x[0] = atomicAdd_system(&x[1], 1ULL)"), missing("atomicAdd_system"));
    assert_eq!(each("atomicCAS(&s[1].count, 1ULL, 2ULL)"), missing("atomicCAS"));
    assert_eq!(each("atomicExch(&total, 1)"), missing("atomicExch"));
    assert_eq!(each("atomicAdd(reinterpret_cast<wide*>(n), 1)"), missing("atomicAdd"));
    assert_eq!(each("atomicMax((long long*)x, 1LL)"), missing("atomicMax"));
    assert_eq!(
        each("x[0] = atomicMax(x, 1ULL)"),
        "Metal's `atomicMax` of 64-bit integers does not return the old value"
    );
}

#[test]
fn comments_with_blank_lines_stay_whole() {
    let source = "int host();\n/* Terms.\n\n   More terms. */\n__global__ void k(int* x) { *x = 1; }\n";
    let expected = "/* Terms.\n\n   More terms. */\nkernel void k(";
    assert!(msl(source).contains(expected), "{}", msl(source));
}

#[test]
fn macros_of_the_command_line_stand_before_the_source() {
    let source = "__global__ void k(REAL* x) { x[threadIdx.x] = SCALE; }\n";
    let macros =
        [("REAL", "double"), ("SCALE", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let options = Options { doubles: Doubles::Float, macros: macros.into(), ..Options::default() };
    let text = translation(source, &options).text;
    contains(&text, &["#define REAL float\n", "#define SCALE 2\n", "device REAL* x"]);
}

#[test]
fn memory_of_a_type_that_a_function_declares_stays_there() {
    let source = "__device__ int f(int v) {\n  using Cell = int;\n  __shared__ Cell cell;\n  __shared__ int other;\n  \
                  cell = v; other = v;\n  return cell + other;\n}\n__global__ void k(int* x) { *x = f(1); }\n";
    let text = msl(source);
    contains(&text, &["threadgroup Cell cell;", "threadgroup int f_other;"]);
}

#[test]
fn a_cast_of_a_string_is_in_constant_memory() {
    let source = "__global__ void k(unsigned char* x) {\n  const unsigned char* text = (unsigned char*)\"abc\";\n  \
                  *x = text[1];\n}\n";
    contains(&msl(source), &["constant const unsigned char* text = (constant unsigned char*)\"abc\""]);
}

#[test]
fn functions_are_copied_for_each_combination_of_address_spaces() {
    let source = "__device__ float first(const float* p) { return p[0]; }\n\
                  __global__ void k(float* x) {\n  __shared__ float s[4];\n  float own[2];\n  float* q = s + 1;\n  \
                  x[0] = first(x) + first(q) + first(own) + first(&x[1]);\n}\n";
    let text = msl(source);
    contains(&text, &["first(device const float* p)", "first(threadgroup const float* p)"]);
    contains(&text, &["first(thread const float* p)", "threadgroup float* q = s + 1;"]);
    assert_eq!(text.matches("float first(").count(), 3, "{text}");
}

#[test]
fn pointers_get_the_space_of_what_they_are_given() {
    let source = "__device__ int* advance(int* p, int n) { return p + n; }\n\
                  __global__ void k(int* x, int** rows, bool b) {\n  int* p = b ? x : nullptr;\n  int* q;\n  \
                  q = advance(p, 2);\n  float4* v = reinterpret_cast<float4*>(q);\n  int* r = rows[1];\n  int& e = x[3];\n  \
                  auto a = (char*)&e;\n}\n";
    let parts = [
        "device int* advance(device int* p, int n)",
        "device int* device* rows [[buffer(1)]]",
        "device int* p = b",
        "device int* q;",
        "device float4* v = reinterpret_cast<device float4*>(q)",
        "device int* r = rows[1]",
        "device int& e = x[3]",
        "auto a = (device char*)&e",
    ];
    contains(&msl(source), &parts);
}

#[test]
fn what_has_no_address_space_is_named() {
    let source =
        "__global__ void k(float* x) { __shared__ float s[2]; float* p = x; p = s; float* q = unknown(); }";
    let pointer = "the pointer `p` refers to memory of more than one address space";
    assert_eq!(refused(&source.replace(" float* q = unknown();", "")), [pointer]);
    assert_eq!(
        refused("__global__ void k() { const char* p; *p; }"),
        ["what memory the pointer `p` refers to is not seen"]
    );
}

#[test]
fn methods_are_copied_for_objects_in_device_memory() {
    let source = "struct Cell { int n; __device__ void set(int v) { n = v; } void host() {} };\n\
                  __global__ void k(Cell* cells) { Cell own; own.set(1); cells[0].set(2); }\n";
    let text = msl(source);
    contains(&text, &["void set(int v) { n = v; }", "void set(int v) device { n = v; }"]);
    assert!(!text.contains("host"), "{text}");
}

#[test]
fn the_position_in_the_grid_is_metals() {
    let source = "#define ID (blockDim.x*blockIdx.x+threadIdx.x)\n\
                  __global__ void k(int* x, int n) { int y = threadIdx.y + (blockIdx.y * blockDim.y); x[ID] = y; }\n\
                  __global__ void l(int* x) { x[1] = 2 * blockIdx.x * blockDim.x + threadIdx.x; \
                  x[0] = blockIdx.x * blockDim.y + threadIdx.x; x[2] = blockIdx.x * blockDim.x + threadIdx.x * 2; }\n";
    let text = msl(source);
    contains(&text, &["#define ID (thread_position_in_grid.x)", "int y = thread_position_in_grid.y;"]);
    contains(
        &text,
        &["2 * blockIdx.x * blockDim.x + threadIdx.x;", "blockIdx.x * blockDim.y + threadIdx.x;"],
    );
    contains(&text, &["blockIdx.x * blockDim.x + threadIdx.x * 2;"]);
    assert_eq!(
        text.matches("uint3 thread_position_in_grid [[thread_position_in_grid]]").count(),
        1,
        "{text}"
    );
}

#[test]
fn positions_and_shared_memory_are_passed_on() {
    let source = "__device__ int sum(int v) { __shared__ int s[32]; s[threadIdx.x] = v; return s[0]; }\n\
                  __global__ void k(int* x) { extern __shared__ float d[]; x[blockIdx.x] = sum(1) + d[0]; }\n";
    let parts = [
        "int sum(uint3 threadIdx, threadgroup int (&sum_s)[32], int v)",
        "sum_s[threadIdx.x] = v; return sum_s[0];",
        "uint3 blockIdx [[threadgroup_position_in_grid]]",
        "threadgroup float* d [[threadgroup(0)]]",
        "threadgroup int sum_s[32];",
        "sum(threadIdx, sum_s, 1)",
    ];
    contains(&msl(source), &parts);
}

#[test]
fn shared_memory_that_depends_on_a_template_stays_with_a_warning() {
    let source = "template <typename T> __device__ T first(T v) { __shared__ T s[4]; s[0] = v; return s[0]; }\n\
                  __global__ void k(int* x) { x[0] = first(x[1]); }\n";
    contains(&msl(source), &["T first(T v) { threadgroup T s[4];"]);
    let ids =
        translation(source, &Options::default()).diagnostics.into_iter().map(|diagnostic| diagnostic.id);
    assert_eq!(ids.collect::<Vec<_>>(), ["shared-in-function"]);
}

#[test]
fn variables_of_the_host_become_buffers() {
    let source = "__constant__ float table[16];\n__constant__ int fixed[2] = {1, 2};\n__device__ int count;\n\
                  __global__ void k(float* x) { x[0] = table[1] + fixed[0]; atomicAdd(&count, 1); }\n";
    let text = msl(source);
    contains(&text, &["constant float (&table)[16] [[buffer(1)]]", "device int& count [[buffer(2)]]"]);
    contains(&text, &["constant int fixed[2] = {1, 2};"]);
}

#[test]
fn templates_are_instantiated_by_launches_and_by_request() {
    let source = "template <typename T, int N> __global__ void k(T* x) { x[N] = 0; }\n\
                  template <typename T> void run(T* x) { k<T, 2><<<1, 1>>>(x); }\n\
                  int main() { const int size = 8; run<double>(0); k<unsigned char, size><<<1, 1>>>(0); }\n";
    let options = Options { doubles: Doubles::Float, ..Options::default() };
    let given = ["k<half, 1>".to_owned(), "k<unsigned char,8>".to_owned()];
    let translation = cuda_to_msl("t.cu", source, &mut |_, _, _| None, &given, &options);
    let parts = [
        "template [[host_name(\"k<double, 2>\")]] kernel decltype(k<float, 2>) k<float, 2>;",
        "template [[host_name(\"k<half, 1>\")]] kernel",
        "template [[host_name(\"k<unsigned char,8>\")]] kernel",
    ];
    contains(&translation.text, &parts);
    assert_eq!(translation.text.matches("host_name").count(), 3, "{}", translation.text);
}

#[test]
fn deduced_template_arguments_are_those_of_the_hosts_variables() {
    let source = "template <typename T> __global__ void k(const T* x, int n) { }\n\
                  int main() { unsigned int *data; k<<<1, 1>>>(data, 3); }\n";
    contains(&msl(source), &["k<unsigned int>"]);
}

#[test]
fn launches_are_noted() {
    let source = "#define SIZE 1024\n__global__ void k(float* x, unsigned n) { }\nint main() {\n  const int block = 64;\n  \
                  float* data; int m = read();\n  dim3 grid((SIZE + block - 1) / block, 2);\n  \
                  k<<<grid, block, block * sizeof(float), stream>>>(data, 1 << 4);\n  k<<<m, dim3(8, 8)>>>(data, m);\n}\n";
    let launches = translation(source, &Options::default()).launches;
    let text = |text: &str| Amount::Text(text.to_owned());
    assert_eq!(launches[0].groups, [Amount::Integer(16), Amount::Integer(2)]);
    assert_eq!((launches[0].group.clone(), launches[0].line), (vec![Amount::Integer(64)], 7));
    assert_eq!(
        (launches[0].shared.clone(), launches[0].stream.as_deref()),
        (Some(Amount::Integer(256)), Some("stream"))
    );
    assert_eq!(launches[0].arguments[1], Argument::Value(Amount::Integer(16), "u32"));
    assert_eq!((launches[1].groups.clone(), launches[1].group.len()), (vec![text("m")], 2));
    let toml = launches_toml(&launches, "k.metal");
    contains(
        &toml,
        &["source = \"k.metal\"", "groups = [16, 2]", "groups = [\"<m>\"]", "args = [\"data\", \"u32:16\"]"],
    );
}

#[test]
fn values_of_launches_are_those_of_c() {
    let noted = |parameter: &str, argument: &str| {
        let source = format!(
            "#define SCALE 2.5f\n__global__ void k({parameter} a) {{ }}\n\
             int main() {{ const float half = 1 / 2.0f; int m = read(); k<<<1, 1>>>({argument}); }}\n"
        );
        let toml = launches_toml(&translation(&source, &Options::default()).launches, "k.metal");
        let args = toml.lines().find_map(|line| line.strip_prefix("args = [\"")).unwrap();
        args.trim_end_matches("\"]").to_owned()
    };
    assert_eq!(noted("float", "2.0f"), "f32:2.0");
    assert_eq!(noted("float", "SCALE"), "f32:2.5");
    assert_eq!(noted("float", "-.5f"), "f32:-0.5");
    assert_eq!(noted("float", "-.5f * SCALE"), "f32:-1.25");
    assert_eq!(noted("float", "half"), "f32:0.5");
    assert_eq!(noted("float", "1e-3"), "f32:0.001");
    assert_eq!(noted("float", "(float)3 / 2"), "f32:1.5");
    assert_eq!(noted("float", "static_cast<float>(7) / float(2)"), "f32:3.5");
    assert_eq!(noted("float", "3"), "f32:3");
    assert_eq!(noted("int", "7 / 2 - 5"), "i32:-2");
    assert_eq!(noted("int", "2.9"), "i32:2");
    assert_eq!(noted("int", "(int)2.9f + 010 + 0x10 + 0b11"), "i32:29");
    assert_eq!(noted("unsigned", "1u << 20"), "u32:1048576");
    assert_eq!(noted("bool", "true"), "bool:1");
    assert_eq!(noted("float", "1.0f / 0"), "f32:<1.0f / 0>", "infinity has no spelling");
    assert_eq!(noted("float", "2.0f * m"), "f32:<2.0f * m>", "the host computes it");
    assert_eq!(noted("float", "1.0f << 2"), "f32:<1.0f << 2>", "not C");
}

#[test]
fn vectors_of_three_are_packed() {
    let source = "struct P { float3 v; longlong4 w; ulonglong4* p; };\n\
                  template <typename T> __global__ void copy(T* x) { x[0] = x[1]; }\n\
                  template <typename T> __device__ void store(T* p, T v) { *p = v; }\n\
                  __device__ void move(float3& v) { v.x = 1; }\n\
                  __global__ void k(float3* x, P* p) { float3 own = make_float3(0, 1, 2); move(own); store(x, own + own); x[0] = own; \
                  p->v = x[1]; move(x[2]); }\n\
                  int main() { copy<float3><<<1, 1>>>(x); }\n";
    let parts = [
        "struct P { packed_float3 v; alignas(16) packed_long4 w; device packed_ulong4* p; };",
        "template [[host_name(\"copy<float3>\")]] kernel decltype(copy<packed_float3>) copy<packed_float3>;",
        "store(device T* p, enable_if_t<true, T> v)",
        "move(thread packed_float3& v)",
        "move(device packed_float3& v)",
        "device packed_float3* x [[buffer(0)]]",
        "packed_float3 own = packed_float3(0, 1, 2);",
    ];
    contains(&msl(source), &parts);
}

#[test]
fn packs_of_kernels_are_expanded_for_their_instantiations() {
    let source = "template <typename... T> __device__ int count(T... x) { return sizeof...(x); }\n\
                  template <typename F, typename... Args> __global__ void k(F f, int* r, const Args... args) {\n  \
                  f(r, args...);\n  r[0] = count((args + 1)...) + (args + ...) + (... * args) + sizeof...(Args);\n}\n\
                  struct Store { __device__ void operator()(int* r, int a, float b) const { r[a] = b; } };\n";
    let translated = |source: &str, kernel: &str| {
        let none = &mut |_: &str, _: bool, _: &str| None;
        let translation = cuda_to_msl("k.cu", source, none, &[kernel.to_owned()], &Options::default());
        assert!(!translation.has_errors(), "{}", translation.render_text(false));
        translation.text
    };
    let parts = [
        "template <typename F, typename Args0, typename Args1>",
        "constant Args0& args0 [[buffer(2)]], constant Args1& args1 [[buffer(3)]]",
        "(r, args0, args1);",
        "count((args0 + 1), (args1 + 1)) + ((args0) + (args1)) + ((args0) * (args1)) + size_t(2)",
        "int count(T... x) { return sizeof...(x); }",
        "[[host_name(\"k<Store, int, float>\")]]",
    ];
    contains(&translated(source, "k<Store, int, float>"), &parts);
    let source = "template <typename F, typename... Args> __global__ void k(F f, int* r, Args... args) { f(r, args...); }\n\
                  struct Store { __device__ void operator()(int* r) const { r[0] = 1; } };\n";
    contains(&translated(source, "k<Store>"), &["template <typename F>", "f(r);"]);
}

#[test]
fn data_of_a_typedef_lives_where_its_structure_does() {
    let source = "typedef struct { unsigned v[10]; } element;\n__device__ void f(unsigned* r) { r[0] = 1; }\n\
                  __global__ void k(unsigned* x) { element e; f(e.v); x[0] = e.v[0]; }\n";
    let text = msl(source);
    assert!(text.contains("void f(thread unsigned* r)"), "{text}");
}

#[test]
fn a_variable_built_by_an_expression_is_no_function() {
    let source = "constexpr int n(4);\nconstexpr int m(n * 2), half((n + 1) / 2);\n\
                  __global__ void k(int* x) { x[0] = m + half; }\n";
    let text = msl(source);
    assert!(text.contains("constant constexpr int m(n * 2), half"), "{text}");
}

#[test]
fn a_forwarding_reference_has_no_address_space() {
    let source = "struct larger { template <typename T> __device__ T operator()(T&& a, const T& b) const { return a; } };\n\
                  __global__ void k(float* x) { x[0] = larger()(1.0f, 2.0f); }\n";
    let text = msl(source);
    assert!(text.contains("operator()(T&& a, thread const T& b)"), "{text}");
}

#[test]
fn included_files_are_taken_once_and_named_in_messages() {
    let mut includes = |name: &str, _: bool, _: &str| {
        let text = "#pragma once\n__device__ int two() { return 2; }\n__device__ double bad;\n";
        (name == "two.cuh").then(|| ("two.cuh".to_owned(), text.to_owned()))
    };
    let source = "#include \"two.cuh\"\n#include \"two.cuh\"\n#include <cuda.h>\n__global__ void k(int* x) { *x = two() + bad; }\n";
    let options = Options { line_directive: true, ..Options::default() };
    let translation = cuda_to_msl("main.cu", source, &mut includes, &[], &options);
    assert_eq!(translation.text.matches("int two()").count(), 1);
    contains(&translation.text, &["#line 2 \"two.cuh\"", "#line 4 \"main.cu\""]);
    let message = translation.render_text(false);
    contains(&message, &["two.cuh:3:12", "Metal has no `double`"]);
}

#[test]
fn what_metal_does_not_have_is_refused() {
    assert_eq!(refused("__global__ void k(long* x) { *x = clock(); }"), ["Metal has no `clock`"]);
    assert_eq!(refused("__global__ void k() { asm(\"nop;\"); }"), ["Metal has no `asm`"]);
    assert_eq!(refused("__global__ void k() { k<<<1, 1>>>(); }"), ["a kernel launches kernels"]);
    assert_eq!(refused("__global__ void k(double x) { }"), ["Metal has no `double`"]);
}

#[test]
fn conditionals_may_open_blocks_in_each_branch() {
    let source = "#ifdef A\n__global__ void k(int* x, int a) {\n#else\n__global__ void k(int* x) {\n  int a = 1;\n#endif\n  \
                  x[0] = a;\n}\nvoid host() {\n#ifdef B\n  if (1) {\n#else\n  if (0) {\n#endif\n  }\n}\n\
                  __global__ void l(int* x) { *x = 2; }\n";
    let text = msl(source);
    contains(&text, &["kernel void l(device int* x [[buffer(0)]])", "#ifdef A", "#endif"]);
    assert!(!text.contains("host"), "{text}");
}

/// Sources of which parts are shuffled and cut below.
const SOURCES: &[&str] = &[
    include_str!("../../../../tests/cuda/warps.cu"),
    include_str!("../../../../tests/cuda/matmul.cu"),
    include_str!("../../../../tests/cuda/race.cu"),
    "#if A\ntemplate <class T> struct S { T* p; static const int n = 3; __device__ T operator()(T& x) const { return *p; } };\n\
     #else\n#endif\nnamespace a { __global__ void k(float3* x, S<float> s) { k<<<1, 2>>>(x); for (;;) x[s.n] = {}; } }\n",
];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }
}

#[test]
fn cut_and_shuffled_sources_end_in_time() {
    let mut random = Random(3);
    for round in 0..600 {
        let source = SOURCES[round % SOURCES.len()];
        let text = Text::new(source);
        let mut tokens: Vec<&str> = (0..text.len()).map(|token| text.at(token)).collect();
        for _ in 0..random.below(12) {
            let (one, other) = (random.below(tokens.len()), random.below(tokens.len()));
            match random.below(3) {
                0 => tokens.swap(one, other),
                1 => tokens[one] = tokens[other],
                _ => drop(tokens.remove(one)),
            }
        }
        tokens.truncate(1 + random.below(tokens.len()));
        let space = if round % 3 == 0 { "\n" } else { " " };
        let _ = translation(&tokens.join(space), &Options::default());
        let cut = (0..=source.len()).rev().filter(|&at| source.is_char_boundary(at)).nth(random.below(200));
        let _ =
            translation(&source[..cut.unwrap_or(0)], &Options { line_directive: true, ..Options::default() });
    }
}

#[test]
fn large_and_deep_sources_end_in_time() {
    let deep =
        format!("__global__ void k(int* x) {{ int y = {}x{}; }}", "(".repeat(20_000), ")".repeat(20_000));
    let _ = translation(&deep, &Options::default());
    let chain = format!(
        "struct S {{ __device__ S& f() {{ return *this; }} }};\n__global__ void k(S* s) {{ s{}; }}",
        "->f()".repeat(5000)
    );
    let _ = translation(&chain.replace("f()->", "f()."), &Options::default());
    let _ = translation(&"struct S {".repeat(20_000), &Options::default());
    let open = "template<".repeat(2000) + &"f(".repeat(2000) + &"#if 1\n{\n".repeat(2000);
    let _ = translation(&open, &Options::default());
    let chain: String =
        (0..300).map(|i| format!("__device__ int* f{}(int* p) {{ return f{i}(p); }}\n", i + 1)).collect();
    let kernel = "__device__ int* f0(int* p) { return p; }\n__global__ void k(int* x) { __shared__ int s[2]; *f300(x) = *f300(s); }";
    let _ = translation(&(chain + kernel), &Options::default());
}
