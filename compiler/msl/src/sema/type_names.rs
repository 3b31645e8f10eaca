//! Type names the language has without a library: `float4`, `packed_half3`, `half2x4`, `uint`, `size_t`.

use crate::hir::{ScalarTy, Ty, TyKind, Types};

/// The names that a slip of the pen is compared with.
pub(super) const COMMON: &[&str] = &[
    "bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "bfloat", "float",
    "void", "size_t", "float2", "float3", "float4", "half2", "half3", "half4", "int2", "int3", "int4",
    "uint2", "uint3", "uint4",
];

/// A scalar's name.
fn scalar(name: &str) -> Option<ScalarTy> {
    Some(match name {
        "bool" => ScalarTy::Bool,
        "char" | "int8_t" => ScalarTy::I8,
        "uchar" | "uint8_t" => ScalarTy::U8,
        "short" | "int16_t" => ScalarTy::I16,
        "ushort" | "uint16_t" => ScalarTy::U16,
        "int" | "int32_t" => ScalarTy::I32,
        "uint" | "uint32_t" => ScalarTy::U32,
        "long" | "int64_t" | "ptrdiff_t" | "intptr_t" => ScalarTy::I64,
        "ulong" | "uint64_t" | "size_t" | "uintptr_t" => ScalarTy::U64,
        "half" | "float16_t" => ScalarTy::F16,
        "bfloat" | "bfloat16_t" => ScalarTy::BF16,
        "float" | "float32_t" => ScalarTy::F32,
        _ => return None,
    })
}

/// The scalars whose names build vector and matrix names.
fn short_scalar(name: &str) -> Option<ScalarTy> {
    if name.ends_with("_t") { None } else { scalar(name) }
}

fn small(text: &str) -> Option<u8> {
    match text {
        "2" => Some(2),
        "3" => Some(3),
        "4" => Some(4),
        _ => None,
    }
}

/// The type of that name, if the language has it.
pub(super) fn builtin_type(types: &mut Types, name: &str) -> Option<Ty> {
    if name == "nullptr_t" {
        return Some(Ty::NULLPTR);
    }
    if let Some(scalar) = scalar(name) {
        // `bfloat16_t` and the like are often defined by programs; theirs are the same types.
        return (!name.starts_with("float16")
            && !name.starts_with("bfloat16")
            && !name.starts_with("float32"))
        .then_some(Ty::scalar(scalar));
    }
    let (packed, rest) = match name.strip_prefix("packed_") {
        Some(rest) => (true, rest),
        None => (false, name),
    };
    let (head, last) = rest.split_at_checked(rest.len().checked_sub(1)?)?;
    let last = small(last)?;
    if let Some(elem) = short_scalar(head) {
        return Some(types.intern(TyKind::Vector { elem, len: last, packed }));
    }
    let (head, cols) =
        head.strip_suffix('x').and_then(|head| head.split_at_checked(head.len().checked_sub(1)?))?;
    let elem = short_scalar(head).filter(|elem| elem.is_float() && !packed)?;
    Some(types.intern(TyKind::Matrix { elem, cols: small(cols)?, rows: last }))
}
