//! Element types: their names in Python, in DLPack, in NumPy's interface and in MSL.
//!
//! Owns [`Element`] and the tables between them. Invariant: a name stands for one type everywhere.

use anymetal::reflection::{ArgumentInfo, ElementType, ScalarType};
use anymetal_tensor_ops::DType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// What kind of number an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    UInt,
    Float,
    BFloat,
    /// Two floating-point numbers of half its size.
    Complex,
    /// Bytes of a structure.
    Raw,
}

/// The type of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) kind: Kind,
    pub(crate) bytes: usize,
}

impl Element {
    pub(crate) fn new(kind: Kind, bytes: usize) -> Element {
        Element { kind, bytes }
    }

    /// Its name as NumPy and PyTorch have it.
    pub(crate) fn name(self) -> String {
        let bits = self.bytes * 8;
        match self.kind {
            Kind::Bool => "bool".to_owned(),
            Kind::Int => format!("int{bits}"),
            Kind::UInt => format!("uint{bits}"),
            Kind::Float => format!("float{bits}"),
            Kind::BFloat => format!("bfloat{bits}"),
            Kind::Complex => format!("complex{bits}"),
            Kind::Raw => format!("{} raw bytes", self.bytes),
        }
    }

    /// The type that DLPack's numbers stand for; an error says why it cannot be a kernel's.
    pub(crate) fn of_dlpack(code: u8, bits: u8, lanes: u16) -> PyResult<Element> {
        if lanes != 1 {
            return Err(PyTypeError::new_err(format!(
                "elements of {lanes} lanes have no type in Metal; add a dimension for the lanes"
            )));
        }
        let bytes = usize::from(bits) / 8;
        let kind = match code {
            0 => Kind::Int,
            1 => Kind::UInt,
            2 => Kind::Float,
            4 => Kind::BFloat,
            5 => Kind::Complex,
            6 => Kind::Bool,
            // Floating-point types of 8 bits and fewer, which MSL has no names for.
            7..=17 => Kind::Raw,
            3 => return Err(PyTypeError::new_err("elements are opaque handles, which kernels cannot use")),
            _ => return Err(PyTypeError::new_err(format!("DLPack has no type with the code {code}"))),
        };
        Element { kind, bytes }.checked().filter(|_| bits.is_multiple_of(8)).ok_or_else(|| {
            PyTypeError::new_err(format!(
                "elements of {bits} bits (DLPack's type {code}) have no type in Metal; convert the tensor"
            ))
        })
    }

    /// The type, if kernels can use elements of that kind and size.
    fn checked(self) -> Option<Element> {
        let sizes: &[usize] = match self.kind {
            Kind::Bool => &[1],
            Kind::Int | Kind::UInt => &[1, 2, 4, 8],
            Kind::Float => &[2, 4, 8],
            Kind::BFloat => &[2],
            Kind::Complex => &[4, 8, 16],
            Kind::Raw => return (self.bytes > 0).then_some(self),
        };
        sizes.contains(&self.bytes).then_some(self)
    }

    /// The code and bits of DLPack for the type of a tensor.
    pub(crate) fn dlpack_of(dtype: DType) -> (u8, u8) {
        let code = match dtype {
            DType::Bool => 6,
            DType::U8 | DType::U32 => 1,
            DType::I8 | DType::I32 | DType::I64 => 0,
            DType::F16 | DType::F32 => 2,
            DType::BF16 => 4,
        };
        (code, (dtype.size() * 8) as u8)
    }

    /// The type that a letter of NumPy's array interface stands for. Memory of Python's own (objects),
    /// dates and text are errors: a kernel would see references, counts and characters as numbers, and
    /// overwrite them.
    pub(crate) fn of_letter(letter: u8, bytes: usize) -> PyResult<Element> {
        let kind = match letter {
            b'b' => Kind::Bool,
            b'i' => Kind::Int,
            b'u' => Kind::UInt,
            b'f' => Kind::Float,
            b'c' => Kind::Complex,
            b'V' => Kind::Raw,
            _ => {
                let what = match letter {
                    b'O' => "Python objects (dtype `object`)",
                    b'M' => "dates (dtype `datetime64`); give `x.view(\"int64\")`",
                    b'm' => "durations (dtype `timedelta64`); give `x.view(\"int64\")`",
                    b'S' | b'a' | b'U' | b'T' => "text; give its bytes, `x.view(\"uint8\")`",
                    _ => "an unknown type",
                };
                return Err(PyTypeError::new_err(format!("kernels cannot use arrays of {what}")));
            }
        };
        Element { kind, bytes }.checked().ok_or_else(|| {
            PyTypeError::new_err(format!(
                "elements of type `{}{bytes}` have no type in Metal; convert the array",
                char::from(letter)
            ))
        })
    }

    /// The tensor type, if there is one.
    pub(crate) fn dtype(self) -> Option<DType> {
        Some(match (self.kind, self.bytes) {
            (Kind::Bool, 1) => DType::Bool,
            (Kind::UInt, 1) => DType::U8,
            (Kind::Int, 1) => DType::I8,
            (Kind::UInt, 4) => DType::U32,
            (Kind::Int, 4) => DType::I32,
            (Kind::Int, 8) => DType::I64,
            (Kind::Float, 2) => DType::F16,
            (Kind::BFloat, 2) => DType::BF16,
            (Kind::Float, 4) => DType::F32,
            _ => return None,
        })
    }

    pub(crate) fn of_dtype(dtype: DType) -> Element {
        let kind = match dtype {
            DType::Bool => Kind::Bool,
            DType::U8 | DType::U32 => Kind::UInt,
            DType::I8 | DType::I32 | DType::I64 => Kind::Int,
            DType::F16 | DType::F32 => Kind::Float,
            DType::BF16 => Kind::BFloat,
        };
        Element::new(kind, dtype.size())
    }

    /// Whether a kernel's argument may be given elements of this type. Numbers of one size are
    /// taken as they are, so that `uint` gets an `int32` tensor; another size is a mistake. Single
    /// bytes are raw memory.
    pub(crate) fn fits(self, argument: &ArgumentInfo) -> bool {
        let part = if self.kind == Kind::Complex { self.bytes / 2 } else { self.bytes };
        match argument.element {
            ElementType::Scalar(scalar) | ElementType::Vector(scalar, _) => {
                let size = scalar.size() as usize;
                let declared = argument.element_size as usize;
                let vector = self.kind == Kind::Raw && (declared.is_multiple_of(self.bytes));
                part == size || part == 1 || size == 1 || self.bytes == declared || vector
            }
            ElementType::Struct(_) | ElementType::Other => true,
        }
    }
}

/// The type of a tensor by its name.
pub(crate) fn dtype_named(name: &str) -> Option<DType> {
    Some(match name {
        "bool" => DType::Bool,
        "uint8" => DType::U8,
        "int8" => DType::I8,
        "uint32" => DType::U32,
        "int32" => DType::I32,
        "int64" => DType::I64,
        "float16" => DType::F16,
        "bfloat16" => DType::BF16,
        "float32" => DType::F32,
        _ => return None,
    })
}

/// The name of a tensor's type.
pub(crate) fn dtype_name(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        DType::U8 => "uint8",
        DType::I8 => "int8",
        DType::U32 => "uint32",
        DType::I32 => "int32",
        DType::I64 => "int64",
        DType::F16 => "float16",
        DType::BF16 => "bfloat16",
        DType::F32 => "float32",
    }
}

/// The scalar type that a word of `arg_casts` names.
pub(crate) fn cast_named(name: &str) -> Option<ScalarType> {
    Some(match name {
        "fp16" | "float16" | "half" => ScalarType::F16,
        "bf16" | "bfloat16" => ScalarType::BF16,
        "fp32" | "float32" | "float" => ScalarType::F32,
        "int8" => ScalarType::I8,
        "int16" => ScalarType::I16,
        "int32" | "int" => ScalarType::I32,
        "int64" => ScalarType::I64,
        "uint8" => ScalarType::U8,
        "uint16" => ScalarType::U16,
        "uint32" => ScalarType::U32,
        "uint64" => ScalarType::U64,
        "bool" => ScalarType::Bool,
        _ => return None,
    })
}
