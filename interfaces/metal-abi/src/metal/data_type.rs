//! `MTLDataType`: scalars and vectors, as numbers.

use anymetal::argument::Scalar;
use anymetal::reflection::{ElementType, ScalarType};
use anymetal::{bf16, f16};

/// The number of a scalar type; its vectors of 2, 3 and 4 follow it.
const NUMBERS: &[(ScalarType, usize)] = &[
    (ScalarType::F32, 3),
    (ScalarType::F16, 16),
    (ScalarType::I32, 29),
    (ScalarType::U32, 33),
    (ScalarType::I16, 37),
    (ScalarType::U16, 41),
    (ScalarType::I8, 45),
    (ScalarType::U8, 49),
    (ScalarType::Bool, 53),
    (ScalarType::I64, 81),
    (ScalarType::U64, 85),
    (ScalarType::BF16, 121),
];
/// `MTLDataTypeNone` and `MTLDataTypeStruct`.
const NONE: usize = 0;
const STRUCT: usize = 1;

/// The number of an element's type.
pub(crate) fn number_of(element: &ElementType) -> usize {
    let scalar =
        |scalar: ScalarType| NUMBERS.iter().find(|(known, _)| *known == scalar).map(|(_, number)| *number);
    match element {
        ElementType::Scalar(of) => scalar(*of).unwrap_or(NONE),
        ElementType::Vector(of, lanes) => scalar(*of).map_or(NONE, |first| first + usize::from(*lanes) - 1),
        ElementType::Struct(_) => STRUCT,
        ElementType::Other => NONE,
    }
}

/// The number of the type that a texture's values have, by its name in MSL.
pub(crate) fn number_of_component(name: &str) -> usize {
    let scalar = match name {
        "float" => ScalarType::F32,
        "half" => ScalarType::F16,
        "int" => ScalarType::I32,
        "uint" => ScalarType::U32,
        "short" => ScalarType::I16,
        "ushort" => ScalarType::U16,
        _ => return NONE,
    };
    number_of(&ElementType::Scalar(scalar))
}

/// The scalar type and the number of components of a scalar's or vector's number.
pub(crate) fn vector_of(number: usize) -> Option<(ScalarType, u8)> {
    let last = NUMBERS.iter().filter(|(_, first)| *first <= number).max_by_key(|(_, first)| *first)?;
    let lanes = number - last.1 + 1;
    u8::try_from(lanes).ok().filter(|lanes| *lanes <= 4).map(|lanes| (last.0, lanes))
}

/// The bytes of a scalar or vector: a vector of three takes the room of four.
pub(crate) fn vector_size((scalar, lanes): (ScalarType, u8)) -> usize {
    scalar.size() as usize * usize::from(lanes).next_power_of_two()
}

/// The first matrices of `float` and of `half`; those of 2, 3 and 4 columns with 2, 3 and 4 rows each follow.
const MATRICES: [(ScalarType, usize); 2] = [(ScalarType::F32, 7), (ScalarType::F16, 20)];

/// The bytes and the alignment that a scalar, a vector or a matrix has in a structure.
pub(crate) fn size_and_align(number: usize) -> Option<(usize, usize)> {
    if let Some(vector) = vector_of(number) {
        return Some((vector_size(vector), vector_size(vector)));
    }
    let of = |(scalar, first): &(ScalarType, usize)| {
        let at = number.checked_sub(*first).filter(|at| *at < 9)?;
        Some((*scalar, at / 3 + 2, at % 3 + 2))
    };
    let (scalar, columns, rows) = MATRICES.iter().find_map(of)?;
    let column = vector_size((scalar, rows as u8));
    Some((columns * column, column))
}

/// The value of that type in bytes, which are as many as it has.
pub(crate) fn read(bytes: &[u8], scalar: ScalarType) -> Scalar {
    fn exactly<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.try_into().expect("a value has the bytes of its type")
    }
    match scalar {
        ScalarType::Bool => Scalar::Bool(exactly::<1>(bytes) != [0]),
        ScalarType::I8 => i8::from_ne_bytes(exactly(bytes)).into(),
        ScalarType::U8 => u8::from_ne_bytes(exactly(bytes)).into(),
        ScalarType::I16 => i16::from_ne_bytes(exactly(bytes)).into(),
        ScalarType::U16 => u16::from_ne_bytes(exactly(bytes)).into(),
        ScalarType::I32 => i32::from_ne_bytes(exactly(bytes)).into(),
        ScalarType::U32 => u32::from_ne_bytes(exactly(bytes)).into(),
        ScalarType::I64 => i64::from_ne_bytes(exactly(bytes)).into(),
        ScalarType::U64 => u64::from_ne_bytes(exactly(bytes)).into(),
        ScalarType::F16 => f16::from_ne_bytes(exactly(bytes)).into(),
        ScalarType::BF16 => bf16::from_ne_bytes(exactly(bytes)).into(),
        ScalarType::F32 => f32::from_ne_bytes(exactly(bytes)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_vectors_follow_those_of_their_scalars() {
        assert_eq!(vector_of(3), Some((ScalarType::F32, 1)));
        assert_eq!(vector_of(5), Some((ScalarType::F32, 3)));
        assert_eq!(vector_of(42), Some((ScalarType::U16, 2)));
        // A structure, a matrix, a texture.
        assert_eq!([1, 7, 58].map(vector_of), [None; 3]);
        assert_eq!(vector_size((ScalarType::U16, 3)), 8);
    }

    #[test]
    fn matrices_are_columns_with_the_alignment_of_vectors() {
        // float2x2, float3x4, float4x3, half2x3, half4x4.
        let matrices = [7, 12, 14, 21, 28].map(size_and_align);
        assert_eq!(matrices, [Some((16, 8)), Some((48, 16)), Some((64, 16)), Some((16, 8)), Some((32, 8))]);
        assert_eq!([5, 16, 53].map(size_and_align), [Some((16, 16)), Some((2, 2)), Some((1, 1))]);
        // A structure, an array, a texture.
        assert_eq!([1, 2, 58].map(size_and_align), [None; 3]);
    }
}
