//! Functions that OpenCL C has and Metal lacks. Each stands before the translation if it is called.

use std::collections::BTreeSet;

/// An atomic of OpenCL C by one of Metal, for both address spaces and signs.
const ATOMICS: &[(&str, &str, &str)] = &[
    ("atomic_add", "atomic_fetch_add_explicit", "v"),
    ("atomic_sub", "atomic_fetch_sub_explicit", "v"),
    ("atomic_and", "atomic_fetch_and_explicit", "v"),
    ("atomic_or", "atomic_fetch_or_explicit", "v"),
    ("atomic_xor", "atomic_fetch_xor_explicit", "v"),
    ("atomic_min", "atomic_fetch_min_explicit", "v"),
    ("atomic_max", "atomic_fetch_max_explicit", "v"),
    ("atomic_xchg", "atomic_exchange_explicit", "v"),
    ("atomic_inc", "atomic_fetch_add_explicit", ""),
    ("atomic_dec", "atomic_fetch_sub_explicit", ""),
];

/// The name under which the prelude has it, of functions that Metal has with another meaning.
const RENAMED: &[(&str, &str)] = &[
    ("select", "cl_select"),
    ("sincos", "cl_sincos"),
    ("fract", "cl_fract"),
    ("modf", "cl_modf"),
    ("frexp", "cl_frexp"),
];

/// The threads of a group share the elements; they are there after the next barrier, as after a wait. Each
/// thread copies the elements of its opposite, so that a use before the wait is a race that can be found.
const GROUP_COPY: &str = "\
template <typename T>
inline int async_work_group_copy(uint rank, uint3 size, threadgroup T* to, device const T* from, size_t n, int event) {
    for (size_t all = size.x * size.y * size.z, i = all - 1 - rank; i < n; i += all) {
        to[i] = from[i];
    }
    return event;
}
template <typename T>
inline int async_work_group_copy(uint rank, uint3 size, device T* to, threadgroup const T* from, size_t n, int event) {
    for (size_t all = size.x * size.y * size.z, i = all - 1 - rank; i < n; i += all) {
        to[i] = from[i];
    }
    return event;
}
";

const STRIDED_GROUP_COPY: &str = "\
template <typename T>
inline int async_work_group_strided_copy(uint rank, uint3 size, threadgroup T* to, device const T* from, size_t n,
                                         size_t stride, int event) {
    for (size_t all = size.x * size.y * size.z, i = all - 1 - rank; i < n; i += all) {
        to[i] = from[i * stride];
    }
    return event;
}
template <typename T>
inline int async_work_group_strided_copy(uint rank, uint3 size, device T* to, threadgroup const T* from, size_t n,
                                         size_t stride, int event) {
    for (size_t all = size.x * size.y * size.z, i = all - 1 - rank; i < n; i += all) {
        to[i * stride] = from[i];
    }
    return event;
}
";

/// Where a texel is: integers count texels, the middle of which a sampler reads.
const IMAGE_COORDINATES: &str = "\
inline float cl_place(int at) { return float(at) + 0.5f; }
inline float cl_place(float at) { return at; }
inline float2 cl_place(int2 at) { return float2(at) + 0.5f; }
inline float2 cl_place(float2 at) { return at; }
inline float3 cl_place(int4 at) { return float3(at.xyz) + 0.5f; }
inline float3 cl_place(float4 at) { return at.xyz; }
inline uint cl_texel(int at) { return uint(at); }
inline uint2 cl_texel(int2 at) { return uint2(at); }
inline uint3 cl_texel(int4 at) { return uint3(at.xyz); }
";

/// Reads of an image, with a sampler and without.
macro_rules! read_image {
    ($name:literal) => {
        concat!(
            "template <typename I, typename C> inline auto ",
            $name,
            "(I image, sampler s, C at) {\n    return image.sample(s, cl_place(at));\n}\n",
            "template <typename I, typename C> inline auto ",
            $name,
            "(I image, C at) {\n    return image.read(cl_texel(at));\n}\n"
        )
    };
}

macro_rules! write_image {
    ($name:literal) => {
        concat!(
            "template <typename I, typename C, typename V> inline void ",
            $name,
            "(I image, C at, V value) {\n    image.write(value, cl_texel(at));\n}\n"
        )
    };
}

macro_rules! image_size {
    ($name:literal, $value:literal) => {
        concat!("template <typename I> inline auto ", $name, "(I image) {\n    return ", $value, ";\n}\n")
    };
}

/// A relation of floats: 1 for numbers, -1 in each component of vectors.
macro_rules! relational {
    ($name:literal, $relation:literal) => {
        concat!(
            "inline int ",
            $name,
            "(float x, float y) {\n    return ",
            $relation,
            ";\n}\n",
            "template <int N> inline vec<int, N> ",
            $name,
            "(vec<float, N> x, vec<float, N> y) {\n    return -vec<int, N>(",
            $relation,
            ");\n}\n"
        )
    };
}

/// Numbers are chosen by whether the last argument is zero, components by its sign.
const SELECT: &str = "\
template <typename T, typename C> inline T cl_select(T a, T b, C c) {
    return c ? b : a;
}
template <typename T, typename C, int N> inline vec<T, N> cl_select(vec<T, N> a, vec<T, N> b, vec<C, N> c) {
    return metal::select(a, b, (c >> C(8 * sizeof(C) - 1)) != C(0));
}
template <typename T, int N> inline vec<T, N> cl_select(vec<T, N> a, vec<T, N> b, vec<bool, N> c) {
    return metal::select(a, b, c);
}
";

/// A pointer that converts to whichever pointer is wanted, as in C.
const POINTER: &str = "\
template <typename P> struct cl_pointer_value {
    P p;
    template <typename T> operator T() const {
        return (T)p;
    }
    template <typename T> bool operator==(T q) const {
        return (T)p == q;
    }
    template <typename T> bool operator!=(T q) const {
        return (T)p != q;
    }
    template <typename T> bool operator<(T q) const {
        return (T)p < q;
    }
    template <typename T> bool operator>(T q) const {
        return (T)p > q;
    }
    template <typename T> bool operator<=(T q) const {
        return (T)p <= q;
    }
    template <typename T> bool operator>=(T q) const {
        return (T)p >= q;
    }
};
template <typename P> inline cl_pointer_value<P> cl_pointer(P p) {
    return {p};
}
";

/// `?:` of vectors: by the sign of each component.
const CHOOSE: &str = "\
template <typename C, typename T, int N> inline vec<T, N> cl_choose(vec<C, N> c, vec<T, N> a, vec<T, N> b) {
    return metal::select(b, a, (c >> C(8 * sizeof(C) - 1)) != C(0));
}
template <typename C, typename T, int N, typename S> inline vec<T, N> cl_choose(vec<C, N> c, vec<T, N> a, S b) {
    return cl_choose(c, a, vec<T, N>(b));
}
template <typename C, typename T, int N, typename S> inline vec<T, N> cl_choose(vec<C, N> c, S a, vec<T, N> b) {
    return cl_choose(c, vec<T, N>(a), b);
}
template <typename C, int N> inline vec<float, N> cl_choose(vec<C, N> c, float a, float b) {
    return cl_choose(c, vec<float, N>(a), vec<float, N>(b));
}
template <typename C, int N> inline vec<int, N> cl_choose(vec<C, N> c, int a, int b) {
    return cl_choose(c, vec<int, N>(a), vec<int, N>(b));
}
";

/// What macros need that are used with numbers and vectors.
const FLAGS: &str = "\
template <typename T> inline bool cl_true(T x) {
    return bool(x);
}
template <typename T, int N> inline vec<bool, N> cl_true(vec<T, N> x) {
    return x != T(0);
}
inline int cl_flags(bool x) {
    return x;
}
template <int N> inline vec<int, N> cl_flags(vec<bool, N> x) {
    return -vec<int, N>(x);
}
template <typename T> inline bool cl_test(T x) {
    return bool(x);
}
template <typename T, int N> inline vec<bool, N> cl_test(vec<T, N> x) {
    return (x >> T(8 * sizeof(T) - 1)) != T(0);
}
";

const ANY: &str = "\
template <typename T> inline int cl_any(T x) {
    return x < T(0);
}
template <typename T, int N> inline int cl_any(vec<T, N> x) {
    return metal::any(x < T(0));
}
template <typename T> inline int cl_all(T x) {
    return x < T(0);
}
template <typename T, int N> inline int cl_all(vec<T, N> x) {
    return metal::all(x < T(0));
}
";

/// Comparisons in macros that are used with numbers and vectors.
const COMPARISONS: &[(&str, &str)] = &[
    ("cl_less", "<"),
    ("cl_greater", ">"),
    ("cl_less_equal", "<="),
    ("cl_greater_equal", ">="),
    ("cl_equal", "=="),
    ("cl_not_equal", "!="),
];

/// The integers whose bits `upsample` puts together, and those that it gives.
pub(super) const UPSAMPLED: [(&str, &str, &str); 6] = [
    ("char", "uchar", "short"),
    ("uchar", "uchar", "ushort"),
    ("short", "ushort", "int"),
    ("ushort", "ushort", "uint"),
    ("int", "uint", "long"),
    ("uint", "uint", "ulong"),
];

/// Other functions, with their text.
const TEXTS: &[(&str, &str)] = &[
    ("image_coordinates", IMAGE_COORDINATES),
    ("read_imagef", read_image!("read_imagef")),
    ("read_imagei", read_image!("read_imagei")),
    ("read_imageui", read_image!("read_imageui")),
    ("write_imagef", write_image!("write_imagef")),
    ("write_imagei", write_image!("write_imagei")),
    ("write_imageui", write_image!("write_imageui")),
    ("get_image_width", image_size!("get_image_width", "int(image.get_width())")),
    ("get_image_height", image_size!("get_image_height", "int(image.get_height())")),
    ("get_image_depth", image_size!("get_image_depth", "int(image.get_depth())")),
    ("get_image_dim", image_size!("get_image_dim", "int2(image.get_width(), image.get_height())")),
    (
        "convert_sat",
        "template <typename T, typename S> inline T convert_sat(S x) {\n    return T(clamp(x, S(numeric_limits<T>::min()), S(numeric_limits<T>::max())));\n}\n",
    ),
    ("pown", "template <typename T, typename N> inline T pown(T x, N n) {\n    return pow(x, T(n));\n}\n"),
    (
        "rootn",
        "template <typename T, typename N> inline T rootn(T x, N n) {\n    return pow(x, T(1) / T(n));\n}\n",
    ),
    ("cbrt", "inline float cbrt(float x) {\n    return copysign(powr(fabs(x), 1.0f / 3.0f), x);\n}\n"),
    ("hypot", "template <typename T> inline T hypot(T x, T y) {\n    return sqrt(x * x + y * y);\n}\n"),
    (
        "log1p",
        "inline float log1p(float x) {\n    float u = 1.0f + x;\n    return u == 1.0f ? x : log(u) * x / (u - 1.0f);\n}\n",
    ),
    (
        "expm1",
        "inline float expm1(float x) {\n    float u = exp(x);\n    if (u == 1.0f) {\n        return x;\n    }\n    float v = u - 1.0f;\n    return v == -1.0f || isinf(u) ? v : v * x / log(u);\n}\n",
    ),
    ("degrees", "template <typename T> inline T degrees(T x) {\n    return x * T(57.29577951308232f);\n}\n"),
    (
        "radians",
        "template <typename T> inline T radians(T x) {\n    return x * T(0.017453292519943295f);\n}\n",
    ),
    ("native_recip", "template <typename T> inline T native_recip(T x) {\n    return T(1) / x;\n}\n"),
    ("half_recip", "template <typename T> inline T half_recip(T x) {\n    return T(1) / x;\n}\n"),
    ("native_divide", "template <typename T> inline T native_divide(T x, T y) {\n    return x / y;\n}\n"),
    ("half_divide", "template <typename T> inline T half_divide(T x, T y) {\n    return x / y;\n}\n"),
    ("mul24", "template <typename T> inline T mul24(T x, T y) {\n    return x * y;\n}\n"),
    ("mad24", "template <typename T> inline T mad24(T x, T y, T z) {\n    return x * y + z;\n}\n"),
    (
        "bitselect",
        "template <typename T> inline T bitselect(T a, T b, T c) {\n    return (a & ~c) | (b & c);\n}\n",
    ),
    ("cl_pointer", POINTER),
    ("select", SELECT),
    ("cl_choose", CHOOSE),
    ("cl_flags", FLAGS),
    ("cl_any", ANY),
    ("isequal", relational!("isequal", "x == y")),
    ("isnotequal", relational!("isnotequal", "x != y")),
    ("isgreater", relational!("isgreater", "x > y")),
    ("isgreaterequal", relational!("isgreaterequal", "x >= y")),
    ("isless", relational!("isless", "x < y")),
    ("islessequal", relational!("islessequal", "x <= y")),
    ("islessgreater", relational!("islessgreater", "(x < y) || (x > y)")),
    ("async_work_group_copy", GROUP_COPY),
    ("async_work_group_strided_copy", STRIDED_GROUP_COPY),
    ("event_t", "using event_t = int;\n"),
    (
        "wait_group_events",
        "template <typename E> inline void wait_group_events(int n, E events) {\n    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);\n}\n",
    ),
    (
        "sincos",
        "template <typename T> inline T cl_sincos(T x, thread T* c) {\n    *c = cos(x);\n    return sin(x);\n}\n",
    ),
    (
        "fract",
        "template <typename T> inline T cl_fract(T x, thread T* whole) {\n    *whole = floor(x);\n    return min(x - *whole, T(0x1.fffffep-1f));\n}\n",
    ),
    (
        "modf",
        "template <typename T> inline T cl_modf(T x, thread T* whole) {\n    *whole = trunc(x);\n    return copysign(isinf(x) ? T(0) : x - *whole, x);\n}\n",
    ),
    (
        "frexp",
        "inline float cl_frexp(float x, thread int* e) {\n    int exponent;\n    float mantissa = metal::frexp(x, exponent);\n    *e = exponent;\n    return mantissa;\n}\n",
    ),
    (
        "vload2",
        "template <typename P> inline auto vload2(size_t i, P p) {\n    return vec<remove_cv_t<remove_reference_t<decltype(p[0])>>, 2>(p[2 * i], p[2 * i + 1]);\n}\n",
    ),
    (
        "vload3",
        "template <typename P> inline auto vload3(size_t i, P p) {\n    return vec<remove_cv_t<remove_reference_t<decltype(p[0])>>, 3>(p[3 * i], p[3 * i + 1], p[3 * i + 2]);\n}\n",
    ),
    (
        "vload4",
        "template <typename P> inline auto vload4(size_t i, P p) {\n    return vec<remove_cv_t<remove_reference_t<decltype(p[0])>>, 4>(p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3]);\n}\n",
    ),
    (
        "vstore2",
        "template <typename T, typename P> inline void vstore2(T v, size_t i, P p) {\n    p[2 * i] = v.x;\n    p[2 * i + 1] = v.y;\n}\n",
    ),
    (
        "vstore3",
        "template <typename T, typename P> inline void vstore3(T v, size_t i, P p) {\n    p[3 * i] = v.x;\n    p[3 * i + 1] = v.y;\n    p[3 * i + 2] = v.z;\n}\n",
    ),
    (
        "vstore4",
        "template <typename T, typename P> inline void vstore4(T v, size_t i, P p) {\n    p[4 * i] = v.x;\n    p[4 * i + 1] = v.y;\n    p[4 * i + 2] = v.z;\n    p[4 * i + 3] = v.w;\n}\n",
    ),
    (
        "vload_half2",
        "template <typename P> inline float2 vload_half2(size_t i, P p) {\n    return float2(p[2 * i], p[2 * i + 1]);\n}\n",
    ),
    (
        "vload_half4",
        "template <typename P> inline float4 vload_half4(size_t i, P p) {\n    return float4(p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3]);\n}\n",
    ),
    (
        "vstore_half2",
        "template <typename P> inline void vstore_half2(float2 v, size_t i, P p) {\n    p[2 * i] = half(v.x);\n    p[2 * i + 1] = half(v.y);\n}\n",
    ),
    (
        "vstore_half4",
        "template <typename P> inline void vstore_half4(float4 v, size_t i, P p) {\n    p[4 * i] = half(v.x);\n    p[4 * i + 1] = half(v.y);\n    p[4 * i + 2] = half(v.z);\n    p[4 * i + 3] = half(v.w);\n}\n",
    ),
    (
        "vload_half",
        "template <typename P> inline float vload_half(size_t i, P p) {\n    return float(p[i]);\n}\n",
    ),
    (
        "vstore_half",
        "template <typename P> inline void vstore_half(float v, size_t i, P p) {\n    p[i] = half(v);\n}\n",
    ),
];

/// The prelude's function for a call; older names of atomics count as the newer ones.
pub(super) fn find(word: &str) -> Option<&'static str> {
    let newer = word.strip_prefix("atom_").map(|rest| format!("atomic_{rest}"));
    let word = newer.as_deref().unwrap_or(word);
    let atomics = ATOMICS.iter().map(|(name, ..)| *name).chain(["atomic_cmpxchg", "upsample"]);
    atomics.chain(TEXTS.iter().map(|(name, _)| *name)).find(|name| *name == word)
}

/// Another name for calls, if it has one.
pub(super) fn renamed(name: &'static str) -> Option<&'static str> {
    match RENAMED.iter().find(|(known, _)| *known == name) {
        Some((_, renamed)) => Some(renamed),
        // `atom_add` is called by its newer name.
        None if name.starts_with("atomic_") => Some(name),
        None => None,
    }
}

/// The text of these functions.
pub(super) fn text(names: &BTreeSet<&'static str>) -> String {
    let mut out = String::new();
    for name in names {
        if let Some((_, msl, value)) = ATOMICS.iter().find(|(known, ..)| known == name) {
            for (space, ty) in spaces_and_types() {
                let parameter = if value.is_empty() { String::new() } else { format!(", {ty} v") };
                let value = if value.is_empty() { "1" } else { value };
                out.push_str(&format!(
                    "inline {ty} {name}(volatile {space} {ty}* p{parameter}) {{\n    return \
                     {msl}((volatile {space} atomic_{ty}*)p, {value}, memory_order_relaxed);\n}}\n"
                ));
            }
            if *name == "atomic_xchg" {
                for space in ["device", "threadgroup"] {
                    out.push_str(&format!(
                        "inline float atomic_xchg(volatile {space} float* p, float v) {{\n    return \
                         as_type<float>(atomic_exchange_explicit((volatile {space} atomic_uint*)p, \
                         as_type<uint>(v), memory_order_relaxed));\n}}\n"
                    ));
                }
            }
        } else if *name == "atomic_cmpxchg" {
            for (space, ty) in spaces_and_types() {
                out.push_str(&format!(
                    "inline {ty} atomic_cmpxchg(volatile {space} {ty}* p, {ty} expected, {ty} v) {{\n    \
                     {ty} old = expected;\n    while (!atomic_compare_exchange_weak_explicit((volatile {space} \
                     atomic_{ty}*)p, &old, v,\n                                                  \
                     memory_order_relaxed, memory_order_relaxed) &&\n           old == expected) {{\n    }}\n    \
                     return old;\n}}\n"
                ));
            }
        } else if *name == "upsample" {
            upsample(&mut out);
        } else if *name == "cl_compare" {
            compare(&mut out);
        } else if let Some((_, text)) = TEXTS.iter().find(|(known, _)| known == name) {
            out.push_str(text);
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn upsample(out: &mut String) {
    for (high, low, result) in UPSAMPLED {
        let bits = match low {
            "uchar" => 8,
            "ushort" => 16,
            _ => 32,
        };
        out.push_str(&format!(
            "inline {result} upsample({high} a, {low} b) {{\n    return {result}(({result}(a) << {bits}) | {result}(b));\n}}\n\
             template <int N> inline vec<{result}, N> upsample(vec<{high}, N> a, vec<{low}, N> b) {{\n    \
             return (vec<{result}, N>(a) << {bits}) | vec<{result}, N>(b);\n}}\n"
        ));
    }
}

fn compare(out: &mut String) {
    out.push_str("template <typename T> struct cl_flag {\n    using type = int;\n};\n");
    for (of, flag) in [
        ("char", "char"),
        ("uchar", "char"),
        ("short", "short"),
        ("ushort", "short"),
        ("half", "short"),
        ("long", "long"),
        ("ulong", "long"),
    ] {
        out.push_str(&format!("template <> struct cl_flag<{of}> {{\n    using type = {flag};\n}};\n"));
    }
    for (name, operator) in COMPARISONS {
        out.push_str(&format!(
            "template <typename A, typename B> inline int {name}(A a, B b) {{\n    return a {operator} b;\n}}\n\
             template <typename T, int N> inline vec<typename cl_flag<T>::type, N> {name}(vec<T, N> a, vec<T, N> b) {{\n    \
             return -vec<typename cl_flag<T>::type, N>(a {operator} b);\n}}\n\
             template <typename T, int N, typename S> inline vec<typename cl_flag<T>::type, N> {name}(vec<T, N> a, S b) {{\n    \
             return {name}(a, vec<T, N>(b));\n}}\n\
             template <typename T, int N, typename S> inline vec<typename cl_flag<T>::type, N> {name}(S a, vec<T, N> b) {{\n    \
             return {name}(vec<T, N>(a), b);\n}}\n"
        ));
    }
}

fn spaces_and_types() -> [(&'static str, &'static str); 4] {
    [("device", "int"), ("device", "uint"), ("threadgroup", "int"), ("threadgroup", "uint")]
}
