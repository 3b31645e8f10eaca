//! Translations of small sources, each rule by itself.

use super::*;

fn translated(name: &str, source: &str, options: &Options) -> Translation {
    opencl_to_msl(name, source, &mut |_: &str, _: bool, _: &str| None, options)
}

fn msl(source: &str) -> String {
    let translation = translated("test.cl", source, &Options::default());
    assert!(!translation.has_errors(), "{:?}", translation.diagnostics);
    let text = translation.text;
    text.strip_prefix("#include <metal_stdlib>\nusing namespace metal;\n\n").expect("it begins so").to_owned()
}

fn refused(source: &str) -> Vec<String> {
    let translation = translated("test.cl", source, &Options::default());
    assert!(translation.has_errors());
    translation.diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect()
}

#[test]
fn parameters_of_kernels_are_bound_in_order() {
    let source = "__kernel void f(__global const float* restrict x, const int n, __local float *tmp,\n              \
                  __constant float* c) {\n    n;\n}";
    let expected = "kernel void f(device const float* x [[buffer(0)]], constant int& n [[buffer(1)]], \
                    threadgroup float *tmp [[threadgroup(0)]],\n              constant float* c [[buffer(2)]]) \
                    {\n    n;\n}";
    assert_eq!(msl(source), expected);
}

#[test]
fn values_that_change_are_copied() {
    let text = msl("kernel void f(uint n, int2 size) { n--; if (size.x == 1) return; }");
    assert!(
        text.contains("constant uint& n_ [[buffer(0)]]") && text.contains("\n    uint n = n_;"),
        "{text}"
    );
    assert!(text.contains("constant int2& size [[buffer(1)]]"), "{text}");
    let text = msl("kernel void f(int2 size) { size.x = 1; }");
    assert!(text.contains("int2 size = size_;"), "{text}");
}

#[test]
fn positions_are_passed_through_functions_and_macros() {
    let source = "#define ID get_global_id(0)\n\
                  float g(global float* x) { return x[ID]; }\n\
                  int h(void) { return get_local_id(1) + 1; }\n\
                  kernel void f(global float* x) { x[0] = g(x) + h(); }";
    let expected = "#define ID size_t(thread_position_in_grid.x)\n\
                    float g(device float* x,\n        uint3 thread_position_in_grid) { return x[ID]; }\n\
                    int h(uint3 thread_position_in_threadgroup) { return \
                    size_t(thread_position_in_threadgroup.y) + 1; }\n\
                    kernel void f(device float* x [[buffer(0)]],\n              uint3 thread_position_in_grid \
                    [[thread_position_in_grid]],\n              uint3 thread_position_in_threadgroup \
                    [[thread_position_in_threadgroup]]) { x[0] = g(x, thread_position_in_grid) + \
                    h(thread_position_in_threadgroup); }";
    assert_eq!(msl(source), expected);
}

#[test]
fn pointers_without_an_address_space_are_to_private_memory() {
    let source = "struct s { int a; uint ** volatile p; global int* q; };\n\
                  void g(float* p, const int *q, float r[4]) { float *s = p; int a = 2 * *q; }\n\
                  kernel void f(global int* x) { int v[2]; global int* y = x; g((float*)v, v, 0); }";
    let text = msl(source);
    assert!(text.contains("struct s { int a; thread uint ** volatile p; device int* q; };"), "{text}");
    assert!(text.contains("void g(thread float* p, thread const int *q, float r[4])"), "{text}");
    assert!(text.contains("{ thread float *s = p; int a = 2 * *q; }"), "{text}");
    assert!(text.contains("device int* y = x; g((thread float*)v, v, 0);"), "{text}");
}

#[test]
fn vectors_have_constructors_and_letters() {
    let source = "kernel void f(global float4* x, global float2* y) {\n    float4 a = (float4)(1, 2, 3, 4);\n    \
                  a.s01 = a.hi; x[0].odd = a.s32; y[1].lo = 1; x[1] = convert_float4(as_int4(a));\n}";
    let text = msl(source);
    assert!(text.contains("float4 a = float4(1, 2, 3, 4);"), "{text}");
    assert!(text.contains("a.xy = a.zw; x[0].yw = a.wz; y[1].x = 1;"), "{text}");
    assert!(text.contains("x[1] = float4(as_type<int4>(a));"), "{text}");
}

#[test]
fn comparisons_of_vectors_have_a_sign_in_each_component() {
    let text = msl("kernel void f(global int2* r, short2 a, int n) { r[n < 1] = (r[0] == r[1]) ? r[0] : n; \
                    short2 c = !a; r[1] = r[0] && 3 > n; }");
    assert!(text.contains("r[n < 1] = cl_choose((-int2(r[0] == r[1])) , r[0] , n);"), "{text}");
    assert!(
        text.contains("short2 c = -short2(a == 0); r[1] = -int2(((r[0] ) != 0) && (( 3 > n) != 0));"),
        "{text}"
    );
}

#[test]
fn results_have_opencls_types() {
    let text =
        msl("kernel void f(global int2* r, global uint2* u, float x) { u[0] = abs(r[0]) + 1; x = fabs(x); \
                    r[1] = isnan((float2)(x)); u[1].x = abs(r[0].y) > 0; }");
    assert!(text.contains("u[0] = uint2(abs(r[0])) + 1; x = fabs(x);"), "{text}");
    assert!(text.contains("r[1] = -int2(isnan(float2(x))); u[1].x = uint(abs(r[0].y)) > 0;"), "{text}");
}

#[test]
fn macros_are_rewritten_for_what_they_are_used_with() {
    let numbers = "#define MAX(a, b) ((a) > (b) ? (a) : (b))\n#define UNUSED(a) ((a) < 1)\n\
                   kernel void f(global int* r) { r[0] = MAX(r[0], 1); }";
    assert!(
        msl(numbers).starts_with("#define MAX(a, b) ((a) > (b) ? (a) : (b))\n#define UNUSED(a) ((a) < 1)\n")
    );
    let text = msl(
        "#define LESS(a) ((a) < limit)\nkernel void f(global int2* r, int2 limit) { r[0] = LESS(r[1]); }",
    );
    assert!(text.starts_with("#define LESS(a) (-int2((a) < limit))\n"), "{text}");
    let both =
        "#define LESS(a) ((a) < 2)\nkernel void f(global int2* r) { r[0] = LESS(r[1]) + LESS(r[1].x); }";
    assert!(msl(both).contains("#define LESS(a) (cl_less((a) , 2))\n"), "{}", msl(both));
}

#[test]
fn macros_that_paste_are_expanded() {
    let source = "#define CAT_(a, b) a##b\n#define CAT(a, b) CAT_(a, b)\n#define T float\n#define VALUE(x) (x)\n\
                  #define KERNEL(name) kernel void name\nKERNEL(CAT(f, \n))(global CAT(T, 4)* x) { x[VALUE(0)] = CAT(convert_, \
                  CAT(T, 4))(x[1]); }";
    let text = msl(source);
    let expected = "kernel void f\n(device float4* x [[buffer(0)]]) { x[VALUE(0)] = float4(x[1]); }";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn what_is_pasted_has_the_place_of_its_use() {
    let source = "#define CAT(a, b) a##b\nkernel void f() { int n = 0; CAT(get_image_channel, _order)(n); \
                  get_image_channel_order(n); }";
    let translation = translated("test.cl", source, &Options::default());
    let found = |diagnostic: &Diagnostic| &source[diagnostic.span.lo as usize..diagnostic.span.hi as usize];
    let places: Vec<&str> = translation.diagnostics.iter().map(found).collect();
    assert_eq!(places, ["CAT(get_image_channel, _order)", "get_image_channel_order"]);
}

#[test]
fn macros_with_several_definitions_or_their_own_names_remain() {
    let either = "#define N(x) x\n#if N(2) > 1\n#define CAT(a, b) a##b\n#else\n#define CAT(a, b) b##a\n#endif\n\
                  kernel void f(global int* x) { CAT(x, )[0] = 1; }";
    assert!(msl(either).contains("CAT(x, )[0] = 1;"), "{}", msl(either));
    let own = "#define g(a) g(a##1)\nvoid g(int a) {}\nkernel void f(global int* x) { int x1 = 0; g(x); }";
    assert!(msl(own).contains("g(x); }"), "{}", msl(own));
    let again = "#define CAT(a, b) a##b\nkernel void f(global int* xy) { CAT(x, y)[0] = 1; }\n#undef CAT\n\
                 #define CAT(a, b) b##a\nkernel void g(global int* xy) { CAT(y, x)[0] = 1; }";
    assert_eq!(msl(again).matches("{ xy[0] = 1; }").count(), 2, "{}", msl(again));
}

#[test]
fn pointers_to_other_types_are_converted() {
    let text = msl("typedef struct { global uint* p; } S;\nint* g(uint* p, void* q) { return p; }\n\
                    kernel void f(global int* x) { S s = { x }; int a[2]; global uint* u = x; u = x; x = x; \
                    g(a, a); int* n = (void*)0; s.p = u; }");
    assert!(text.contains("{ return cl_pointer(p); }"), "{text}");
    assert!(text.contains("S s = { cl_pointer(x )};") || text.contains("S s = { cl_pointer(x) };"), "{text}");
    assert!(text.contains("u = cl_pointer(x); u = cl_pointer(x); x = x; g(cl_pointer(a), a);"), "{text}");
    assert!(text.contains("n = nullptr; s.p = u; }"), "{text}");
}

#[test]
fn attributes_of_layout_remain() {
    let text = msl("struct __attribute__((packed)) P { char a; int b; };\n\
                    kernel void f(global int* x) { int y __attribute__((unused, aligned(16))) = 1; }");
    assert!(text.contains("struct __attribute__((packed)) P {"), "{text}");
    assert!(text.contains("int y __attribute__((aligned(16))) = 1;"), "{text}");
}

#[test]
fn types_tell_members_from_components() {
    let source = "typedef struct { uint a, seed; } P;\n#define S(x) (x).seed\n\
                  kernel void f(global P* p, global uint4* v) { p->seed = p[1].seed + S(*p) + v->s2 + (*v).s3; }";
    let text = msl(source);
    assert!(text.contains("p->seed = p[1].seed + S(*p) + v->z + (*v).w;"), "{text}");
    assert!(text.contains("#define S(x) (x).seed\n"), "{text}");
}

#[test]
fn branches_that_are_not_taken_redefine_nothing() {
    let source = "#ifdef SLOW\n#define mad(a, b, c) ((a) * (b) + (c))\n#else\n#define FAST\n#endif\n\
                  #ifndef FAST\n#define clamp(a, b, c) (a)\n#endif\n\
                  kernel void f(global float* x) { x[0] = mad(x[0], x[1], 1.0f); }";
    assert!(msl(source).contains("x[0] = fma(x[0], x[1], 1.0f);"), "{}", msl(source));
    let options = Options { macros: vec![("SLOW".to_owned(), "1".to_owned())], ..Options::default() };
    let text = translated("x.cl", source, &options).text;
    assert!(text.contains("x[0] = mad(x[0], x[1], 1.0f);"), "{text}");
}

#[test]
fn null_pointers_have_no_address_space() {
    let text = msl("#define NONE ((void*)0)\nkernel void f(global int* r) { global int* p = (void *)0; \
                    int* q = (int*)0; r[0] = p == NONE && q == (global int*)0; }");
    assert!(text.starts_with("#define NONE (nullptr)\n"), "{text}");
    assert!(text.contains("device int* p = nullptr; thread int* q = nullptr;"), "{text}");
}

#[test]
fn functions_have_metals_names() {
    let source = "kernel void f(global int* x, local int* y) {\n    barrier(CLK_LOCAL_MEM_FENCE | \
                  CLK_GLOBAL_MEM_FENCE);\n    x[0] = mul_hi(native_exp(1.0f), 2) + atomic_add(y, 1);\n}";
    let text = msl(source);
    let barrier = "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);";
    assert!(
        text.contains(barrier) && text.contains("mulhi(fast::exp(1.0f), 2) + atomic_add(y, 1)"),
        "{text}"
    );
    assert_eq!(text.matches("inline int atomic_add").count(), 2, "{text}");
}

#[test]
fn what_metal_does_not_have_is_refused() {
    assert_eq!(refused("kernel void f(double x) {}"), ["Metal has no `double`"]);
    assert_eq!(
        refused("kernel void f() { get_image_channel_order(i); }"),
        ["Metal has no `get_image_channel_order`"]
    );
    assert_eq!(refused("kernel void f() { goto end; end: ; }"), ["Metal has no `goto`"]);
    let layers = refused("kernel void f(image2d_array_t i) {}");
    assert_eq!(layers, ["images of the type `image2d_array_t` are not translated"]);
    assert_eq!(refused("void f() { const sampler_t s = g(); }"), ["a sampler's value has `g`"]);
    let parts = refused("kernel void f() { float8 x; x.s07 = 1; }");
    assert_eq!(parts, ["an assignment to the components `s07` of 8"]);
    assert_eq!(refused("kernel void f() { int2 x; x.s2 = 1; }"), ["a vector of 2 has no components `s2`"]);
    let options = Options { doubles: Doubles::Float, ..Options::default() };
    let translation = translated("x.cl", "kernel void f(global double4* x) { *x = 1.0; }", &options);
    assert!(!translation.has_errors() && translation.text.contains("device float4* x"));
    let ids: Vec<&str> = translation.diagnostics.iter().map(|diagnostic| diagnostic.id).collect();
    assert_eq!(ids, ["double-as-float"]);
    let refused = translated("x.cl", "kernel void f(image2d_array_t i) {}", &Options::default());
    assert_eq!(refused.diagnostics[0].id, "untranslatable");
}

#[test]
fn dimensions_are_counted_with_a_warning() {
    let source = "kernel void f(global uint* x) { x[0] = get_work_dim(); }";
    let translation = translated("x.cl", source, &Options::default());
    assert!(translation.text.contains("threads_per_grid.z > 1 ? 3u"), "{}", translation.text);
    let ids: Vec<&str> = translation.diagnostics.iter().map(|diagnostic| diagnostic.id).collect();
    assert_eq!(ids, ["work-dim"]);
}

#[test]
fn images_are_textures_of_the_texels_that_are_read() {
    let source = "constant sampler_t s = CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;\n\
                  int4 g(read_only image2d_t x) { return read_imagei(x, s, (int2)(1, 2)); }\n\
                  kernel void f(read_only image2d_t a, write_only image3d_t b, sampler_t t, global int* y) {\n    \
                  y[0] = g(a).x;\n    write_imageui(b, (int4)(0), (uint4)(1));\n}";
    let text = msl(source);
    let sampler = "constexpr sampler s(address::clamp_to_zero, filter::nearest, coord::pixel);";
    assert!(text.contains(sampler), "{text}");
    assert!(text.contains("int4 g(texture2d<int> x) {"), "{text}");
    assert!(text.contains("kernel void f(texture2d<int> a [[texture(0)]], "), "{text}");
    assert!(
        text.contains("texture3d<uint, access::write> b [[texture(1)]], sampler t [[sampler(0)]], "),
        "{text}"
    );
    assert!(text.contains("device int* y [[buffer(0)]]"), "{text}");
}

#[test]
fn included_files_become_part_of_the_text() {
    let source =
        "#define N 4\n#include \"square.h\"\nkernel void f(global float* x) { x[0] = square(x[N]); }\n";
    let includes = &mut |name: &str, _: bool, _: &str| {
        let text =
            "inline float square(private float x) {\n    return x * x;\n}\n#define M_2 get_global_id(0)\n";
        (name == "square.h").then(|| (name.to_owned(), text.to_owned()))
    };
    let options = Options { line_directive: true, ..Options::default() };
    let text = opencl_to_msl("f.cl", source, includes, &options).text;
    let inside = "#line 1 \"square.h\"\ninline float square(thread float x) {";
    assert!(text.contains(inside) && !text.contains("#include \"square.h\""), "{text}");
    assert!(text.contains("#line 2 \"f.cl\"\n\nkernel void f("), "{text}");
}

#[test]
fn vectors_of_8_and_16_are_structures_of_halves() {
    let source = "kernel void f(global float8* x, global float* y) {\n    float16 a = (float16)(x[0], x[1]);\n    \
                  float8 u = fma(x[0], x[1], x[2]); a.s9 = u.lo.x; y[0] = a.lo.s5 + a.hi.lo.y; a.s89abcdef = x[1] * 2;\n    \
                  vstore8(vload8(0, y), 1, y);\n}";
    let text = msl(source);
    assert!(text.contains("struct float8 {") && text.contains("struct float16 {"), "{text}");
    assert!(text.contains("float16 a = float16(x[0], x[1]);"), "{text}");
    assert!(text.contains("float8 u = fma(x[0], x[1], x[2]); a.hi.lo.y = u.lo.x; y[0] = a.lo.hi.y + a.hi.lo.y; a.hi = x[1] * 2;"), "{text}");
    assert!(text.contains("inline float8 vload8(size_t i, device const float* p)"), "{text}");
    assert!(!text.contains("sqrt("), "{text}");
}

#[test]
fn a_body_may_have_a_head_in_each_branch() {
    let source = "#ifdef IMAGES\nkernel void f(image2d_t x, global int* y) {\n#else\n\
                  kernel void f(global int* x, global int* y, int n) {\n#endif\n    \
                  const sampler_t sampler = CLK_FILTER_LINEAR;\n    y[get_global_id(0)] = 1;\n}\n";
    let text = msl(source);
    assert!(text.contains("f(texture2d<float> x [[texture(0)]], device int* y [[buffer(0)]],"), "{text}");
    assert!(text.contains("device int* y [[buffer(1)]], constant int& n [[buffer(2)]],"), "{text}");
    assert_eq!(text.matches("[[thread_position_in_grid]]) {").count(), 2, "{text}");
    assert!(text.contains("constexpr sampler sampler_(filter::linear, coord::pixel);"), "{text}");
}

#[test]
fn what_a_source_asks_the_compiler_is_defined() {
    let source =
        "#if defined(cl_khr_fp64) && __OPENCL_VERSION__ >= 110\nkernel void f(double x) {}\n#endif\n";
    let options = Options { doubles: Doubles::Float, ..Options::default() };
    let text = translated("x.cl", source, &options).text;
    assert!(text.contains("#define __OPENCL_VERSION__ 120\n#define cl_khr_fp64 1\n"), "{text}");
    assert!(!text.contains("CL_VERSION_1_2"), "{text}");
}

#[test]
fn printf_is_a_message() {
    let translation = translated("x.cl", "kernel void f(int n) { printf(\"%d\", n); }", &Options::default());
    assert!(translation.text.contains("#include <metal_logging>"), "{}", translation.text);
    assert!(translation.text.contains("os_log_default.log(\"%d\", n);"), "{}", translation.text);
}

#[test]
fn names_comments_and_layout_stay() {
    let source =
        "// The sum.\n\nkernel   void sum ( global  int*x ) // here\n{\n\tint thread = 1; /* kernel */\n}\n";
    let expected = "// The sum.\n\nkernel   void sum ( device  int*x [[buffer(0)]] ) // here\n{\n\tint thread_ = 1; /* kernel */\n}\n";
    assert_eq!(msl(source), expected);
}

#[test]
fn any_bytes_end_in_time() {
    let mut state = 7u64;
    let alphabet = [
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "*",
        ",",
        ";",
        "kernel",
        "global",
        "float4",
        "#define",
        "\n",
        ".",
        "lo",
        "x",
        "get_global_id",
        "0",
        "/*",
        "\"",
        "__attribute__",
        "typedef",
        "struct",
        "é",
        "convert_int",
    ];
    for _ in 0..3000 {
        let mut source = String::new();
        for _ in 0..30 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            source.push_str(alphabet[(state >> 33) as usize % alphabet.len()]);
            if state >> 40 & 1 == 0 {
                source.push(' ');
            }
        }
        let _ = translated("x.cl", &source, &Options::default());
    }
}
