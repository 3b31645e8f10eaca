//! Types by their names.

use anymetal_ir::Scalar;

/// The LLVM type of a scalar. `bfloat` is kept as its bits, so that LLVM never calls its library.
pub(crate) fn scalar_type(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "i1",
        Scalar::I8 => "i8",
        Scalar::I16 | Scalar::Bf16 => "i16",
        Scalar::I32 => "i32",
        Scalar::I64 => "i64",
        Scalar::F16 => "half",
        Scalar::F32 => "float",
    }
}

/// The vector of one `element` per lane.
pub(crate) fn lanes_type(element: &str) -> String {
    assert!(!element.starts_with('<'), "{element} is a vector already, and LLVM does not nest vectors");
    format!("<32 x {element}>")
}

/// The suffix of an intrinsic's name for a type.
pub(crate) fn mangle(ty: &str) -> String {
    if let Some((n, element)) = ty.strip_prefix('<').and_then(|t| t.strip_suffix('>')?.split_once(" x ")) {
        return format!("v{n}{}", mangle(element));
    }
    match ty {
        "half" => "f16".to_owned(),
        "float" => "f32".to_owned(),
        "double" => "f64".to_owned(),
        "ptr" => "p0".to_owned(),
        other => other.to_owned(),
    }
}
