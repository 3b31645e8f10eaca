//! Types as written.

use super::{Enum, Expr, Path, Record};
use anymetal_diagnostics::Span;
use std::sync::Arc;

/// An address space keyword.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum AddressSpace {
    /// `device`
    Device,
    /// `constant`
    Constant,
    /// `threadgroup`
    Threadgroup,
    /// `thread`
    Thread,
}

/// Qualifiers of one level of a type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Qualifiers {
    /// `const`
    pub is_const: bool,
    /// `volatile`
    pub is_volatile: bool,
    /// `coherent` or `coherent(device)` and the like.
    pub is_coherent: bool,
    /// The address space of the object this level describes.
    pub space: Option<AddressSpace>,
}

/// Types that the language itself names (everything else is a path): the sign and size words
/// combined, so `unsigned short int` is `UShort`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the language's")]
pub enum BuiltinType {
    Void,
    Bool,
    Char,
    SChar,
    UChar,
    Short,
    UShort,
    Int,
    UInt,
    Long,
    ULong,
    Half,
    Bfloat,
    Float,
    /// `double`: parsed so that it can be refused with a good message.
    Double,
}

/// A type.
#[derive(Clone, Debug)]
pub struct Type {
    /// What it is.
    pub kind: TypeKind,
    /// Qualifiers of this level: for a pointer, of the pointer object itself.
    pub quals: Qualifiers,
    /// Where.
    pub span: Span,
}

/// The shapes of types.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// A keyword type. Vector and matrix names (`float4`, `half2x4`, `packed_float3`) and `vec<T, N>`
    /// are paths: the library's scope declares them.
    Builtin(BuiltinType),
    /// A named type, perhaps dependent. `typename` in front is dropped.
    Path(Path),
    /// `auto`
    Auto,
    /// `decltype(auto)`
    DecltypeAuto,
    /// `decltype(expr)`
    Decltype(Box<Expr>),
    /// `__typeof__(expr)`: as `decltype`, but never a reference.
    Typeof(Box<Expr>),
    /// `__underlying_type(E)`
    Underlying(Box<Type>),
    /// `typename decltype(expr)::a::b`
    DecltypePath(Box<Expr>, Path),
    /// `struct S { … }` in the place of a type; also the record of a typedef.
    Record(Arc<Record>),
    /// `enum E { … }` in the place of a type.
    Enum(Arc<Enum>),
    /// A pointer to.
    Pointer(Box<Type>),
    /// `T&` or `T&&`.
    Reference {
        /// What it refers to.
        referent: Box<Type>,
        /// `&&`
        rvalue: bool,
    },
    /// An array; `None` for `[]`.
    Array(Box<Type>, Option<Box<Expr>>),
    /// `T __attribute__((ext_vector_type(n)))`
    ExtVector(Box<Type>, Box<Expr>),
    /// A function type, in aliases, function pointers and template arguments.
    Function {
        /// The result.
        ret: Box<Type>,
        /// The parameters.
        params: Vec<Type>,
        /// `...` at the end of the parameters.
        is_variadic: bool,
        /// Qualifiers after the parameters.
        method: super::MethodQualifiers,
    },
    /// `T...` in a parameter list or argument list.
    Pack(Box<Type>),
    /// Something the parser could not make sense of; already diagnosed.
    Error,
}
