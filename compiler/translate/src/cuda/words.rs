//! Words of CUDA C++ that MSL spells otherwise, and those that it does not have.

use std::borrow::Cow;

use crate::metal_names;
use crate::token::Text;

/// Words with the words that MSL has instead; an empty one goes away.
const WORDS: &[(&str, &str)] = &[
    ("__host__", ""),
    ("__device__", ""),
    ("__forceinline__", "inline"),
    ("__inline__", "inline"),
    ("__inline", "inline"),
    ("__noinline__", ""),
    ("__grid_constant__", ""),
    ("__restrict__", ""),
    ("__restrict", ""),
    ("restrict", ""),
    ("register", ""),
    ("NULL", "nullptr"),
    ("std", "metal"),
    ("cudaTextureObject_t", "ulong"),
    ("aligned_storage", "aligned_storage"),
    ("aligned_storage_t", "aligned_storage_t"),
    ("__half", "half"),
    ("__half2", "half2"),
    ("__nv_bfloat16", "bfloat"),
    ("nv_bfloat16", "bfloat"),
    ("__nv_bfloat162", "bfloat2"),
    ("dim3", "packed_uint3"),
    ("cuFloatComplex", "float2"),
    ("cuComplex", "float2"),
    ("cuDoubleComplex", "float2"),
    ("DBL_MAX", "FLT_MAX"),
    ("DBL_MIN", "FLT_MIN"),
    ("DBL_EPSILON", "FLT_EPSILON"),
    ("M_PI", "M_PI_F"),
    ("M_E", "M_E_F"),
    ("M_SQRT2", "M_SQRT2_F"),
    ("M_SQRT1_2", "M_SQRT1_2_F"),
    ("M_LN2", "M_LN2_F"),
    ("M_LN10", "M_LN10_F"),
    ("M_LOG2E", "M_LOG2E_F"),
    ("M_LOG10E", "M_LOG10E_F"),
    ("M_PI_2", "M_PI_2_F"),
    ("M_PI_4", "M_PI_4_F"),
    ("M_1_PI", "M_1_PI_F"),
    ("M_2_PI", "M_2_PI_F"),
    ("M_2_SQRTPI", "M_2_SQRTPI_F"),
    ("CUDART_PI_F", "M_PI_F"),
    ("CUDART_PI", "M_PI_F"),
    ("CUDART_INF_F", "INFINITY"),
    ("CUDART_INF", "INFINITY"),
    ("CUDART_NAN_F", "NAN"),
    ("HUGE_VALF", "INFINITY"),
    ("HUGE_VAL", "INFINITY"),
    ("LLONG_MAX", "LONG_MAX"),
    ("LLONG_MIN", "LONG_MIN"),
    ("ULLONG_MAX", "ULONG_MAX"),
];

/// Functions that go by another name.
const CALLS: &[(&str, &str)] = &[
    ("__expf", "fast::exp"),
    ("__exp10f", "fast::exp10"),
    ("__logf", "fast::log"),
    ("__log2f", "fast::log2"),
    ("__log10f", "fast::log10"),
    ("__sinf", "fast::sin"),
    ("__cosf", "fast::cos"),
    ("__tanf", "fast::tan"),
    ("__powf", "fast::powr"),
    ("__popc", "popcount"),
    ("__popcll", "popcount"),
    ("__clz", "clz"),
    ("__clzll", "clz"),
    ("__brev", "reverse_bits"),
    ("__brevll", "reverse_bits"),
    ("__umulhi", "mulhi"),
    ("__mulhi", "mulhi"),
    ("__umul64hi", "mulhi"),
    ("__mul64hi", "mulhi"),
    ("__float_as_int", "as_type<int>"),
    ("__float_as_uint", "as_type<uint>"),
    ("__int_as_float", "as_type<float>"),
    ("__uint_as_float", "as_type<float>"),
    ("__half_as_ushort", "as_type<ushort>"),
    ("__ushort_as_half", "as_type<half>"),
    ("__float2half", "half"),
    ("__float2half_rn", "half"),
    ("__half2float", "float"),
    ("__float2bfloat16", "bfloat"),
    ("__bfloat162float", "float"),
    ("__floats2half2_rn", "half2"),
    ("__int2float_rn", "float"),
    ("__uint2float_rn", "float"),
    ("__float2int_rz", "int"),
    ("__float2uint_rz", "uint"),
    ("__double2float_rn", "float"),
    ("__double2int_rz", "int"),
    ("__saturatef", "saturate"),
    ("printf", "os_log_default.log"),
    ("umin", "min"),
    ("umax", "max"),
    ("__habs", "fabs"),
    ("fdivide", "fast::divide"),
];

/// Words that Metal lacks, and what to do.
const REFUSED: &[(&str, &str)] = &[
    ("clock", "Metal has no clock in kernels: time on the host"),
    ("clock64", "Metal has no clock in kernels: time on the host"),
    ("asm", "write what it does in MSL"),
    ("__asm__", "write what it does in MSL"),
    ("goto", "use a loop or a condition"),
    ("malloc", "allocate on the host"),
    ("free", "allocate on the host"),
    ("new", "allocate on the host"),
    ("delete", "allocate on the host"),
    ("__nanosleep", "leave it away"),
    ("tex1Dfetch", "name the texture where it is read, or the type of a texture object"),
    ("curand_init", "write a generator of random numbers, as a counter-based one"),
    ("curand", "write a generator of random numbers, as a counter-based one"),
    ("curand_uniform", "write a generator of random numbers, as a counter-based one"),
    ("curand_normal", "write a generator of random numbers, as a counter-based one"),
];

/// Libraries of templates, and what to do without them.
const LIBRARIES: &[(&str, &str)] = &[
    ("thrust", "write it without thrust: `float2` for a complex number, a structure for a tuple, a loop"),
    ("nvcuda", "use `simdgroup_matrix` of `<metal_simdgroup_matrix>` in MSL"),
    ("cuda", "use CUDA's own atomics and barriers, such as `atomicAdd` and `__syncthreads`"),
];

/// What the names of the functions begin with that access textures and surfaces over arrays.
const DIMENSIONS: [&str; 4] = ["1D", "2D", "3D", "Cubemap"];

/// Names that are free in CUDA and taken in MSL.
const TAKEN: &[&str] = &[
    "thread",
    "threadgroup",
    "device",
    "constant",
    "kernel",
    "vertex",
    "fragment",
    "metal",
    "vec",
    "array",
    "sampler",
    "texture2d",
    "tensor",
    "ray_data",
    "object_data",
    "half",
    "uint",
    "bfloat",
    "access",
    "matrix",
    "depth2d",
    "simd",
    "fast",
    "precise",
];

const SCALARS: &[&str] = &[
    "bool",
    "char",
    "uchar",
    "short",
    "ushort",
    "int",
    "uint",
    "long",
    "ulong",
    "half",
    "float",
    "double",
    "bfloat",
    "longlong",
    "ulonglong",
];

/// The scalar and the width of a vector type.
pub(super) fn vector(word: &str) -> Option<(&str, u32)> {
    let digits = word.trim_start_matches(|c: char| !c.is_ascii_digit());
    let scalar = &word[..word.len() - digits.len()];
    let width: u32 = digits.parse().ok()?;
    (SCALARS.contains(&scalar) && matches!(width, 1..=4)).then_some((scalar, width))
}

pub(super) fn is_builtin_type(word: &str) -> bool {
    SCALARS.contains(&word)
        || vector(word).is_some()
        || matches!(
            word,
            "void" | "unsigned" | "signed" | "size_t" | "ptrdiff_t" | "intptr_t" | "uintptr_t" | "ssize_t"
        )
        || (word.ends_with("_t") && (word.starts_with("int") || word.starts_with("uint")))
}

/// The type of MSL with the size of a vector type of CUDA, in memory and as a value.
///
/// Vectors of three take three times the size of their scalar, and those of four 64-bit integers are aligned
/// to 16 bytes. Vectors of one are structures of the prelude.
pub(super) fn vector_type(word: &str) -> Option<String> {
    let (scalar, width) = vector(word)?;
    let scalar = scalar.replace("longlong", "long").replace("double", "float");
    Some(match width {
        3 => format!("packed_{scalar}3"),
        4 if is_wide(&scalar) => format!("packed_{scalar}4"),
        _ => format!("{scalar}{width}"),
    })
}

/// Whether members of a type need [`WIDE_ALIGNMENT`]: Metal would align them to 8 or 32 bytes.
pub(super) fn needs_alignment(word: &str) -> bool {
    vector(word).is_some_and(|(scalar, width)| width == 4 && is_wide(&scalar.replace("longlong", "long")))
}

/// The alignment of vectors of four 64-bit integers in CUDA's memory.
pub(super) const WIDE_ALIGNMENT: &str = "alignas(16) ";

fn is_wide(scalar: &str) -> bool {
    matches!(scalar, "long" | "ulong")
}

fn lookup(table: &'static [(&str, &'static str)], word: &str) -> Option<&'static str> {
    table.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
}

/// The spelling of a word in MSL; empty for words that are removed.
pub(super) fn word(word: &str) -> Option<Cow<'static, str>> {
    lookup(WORDS, word).map(Cow::Borrowed).or_else(|| vector_type(word).map(Cow::Owned))
}

pub(super) fn call(word: &str) -> Option<&'static str> {
    lookup(CALLS, word)
}

pub(super) fn refused(word: &str) -> Option<&'static str> {
    lookup(REFUSED, word).or_else(|| access(word))
}

/// What to do without a function that accesses textures or surfaces over arrays: `tex2DLayeredLod`,
/// `surf3Dread`.
fn access(word: &str) -> Option<&'static str> {
    let of = |prefix: &str| {
        let rest = word.strip_prefix(prefix)?;
        let rest = DIMENSIONS.iter().find_map(|dimensions| rest.strip_prefix(dimensions))?;
        Some(rest.strip_prefix("Layered").unwrap_or(rest))
    };
    if of("tex").is_some_and(|rest| matches!(rest, "" | "Lod" | "Grad" | "gather")) {
        return Some("textures over arrays are not translated: read a buffer");
    }
    let is_surface = of("surf").is_some_and(|rest| matches!(rest, "read" | "write"));
    is_surface.then_some("surfaces are not translated: use a buffer")
}

/// What to do without a library of templates.
pub(super) fn library(namespace: &str) -> Option<&'static str> {
    lookup(LIBRARIES, namespace)
}

pub(super) fn is_taken(word: &str) -> bool {
    TAKEN.contains(&word)
}

pub(super) fn is_taken_function(word: &str) -> bool {
    metal_names::FUNCTIONS.contains(&word)
}

/// The parentheses of a call of the word at a token, behind template arguments if it has any.
pub(super) fn call_parens(text: &Text<'_>, token: usize) -> Option<(usize, usize)> {
    let open = match text.at(token + 1) {
        "(" => token + 1,
        "<" => super::declarator::template_arguments(text, token + 1)? + 1,
        _ => return None,
    };
    (text.at(open) == "(").then_some(())?;
    Some((open, text.closing(open)?))
}
