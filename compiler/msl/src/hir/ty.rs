//! Types: interned, so that equality is equality of ids.
//!
//! Invariant: array types have unqualified element types; the qualifiers of an array's elements are
//! those of the array ([`QualTy`]). [`Types`] also owns the records and enumerations of the program.

use super::ScalarTy;
use crate::token::Name;
use anymetal_ir::{Pieces, Space};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A type without qualifiers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Ty(pub(crate) u32);

/// A record of the program's [`Types`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RecordId(pub u32);

/// An enumeration of the program's [`Types`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EnumId(pub u32);

/// The most elements that a vector has in Metal's own types; longer ones (`ext_vector_type`) are aggregates
/// in the IR.
pub const MAX_METAL_VECTOR_LEN: u8 = 4;

/// The most elements of a vector.
pub const MAX_VECTOR_LEN: u8 = 16;

/// The shapes of types.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TyKind {
    /// Poison: the result of an error. Never in a finished program.
    Error,
    /// `void`
    Void,
    /// The type of `nullptr`. Only the evaluator of constants meets it in a finished program.
    Nullptr,
    /// Arithmetic types.
    Scalar(ScalarTy),
    /// `T2`, `T3`, `T4`; packed ones align as their element and take exactly `n` elements.
    Vector {
        /// The element.
        elem: ScalarTy,
        /// 2 to 4 (packed ones in the library may be 1); of `ext_vector_type` 1 to [`MAX_VECTOR_LEN`].
        len: u8,
        /// `packed_…`
        packed: bool,
    },
    /// `elem{cols}x{rows}`: columns are vectors of `rows` elements.
    Matrix {
        /// The element.
        elem: ScalarTy,
        /// Columns.
        cols: u8,
        /// Rows.
        rows: u8,
    },
    /// A pointer; the space it points to is the pointee's.
    Pointer(QualTy),
    /// A reference. Only in function signatures during checking; finished programs use pointers.
    Reference {
        /// What it refers to.
        to: QualTy,
        /// `&&`
        rvalue: bool,
    },
    /// An array.
    Array(Ty, u64),
    /// A struct or union.
    Record(RecordId),
    /// An enumeration; in memory and values it is its underlying type.
    Enum(EnumId),
    /// A function type.
    Function {
        /// Result.
        ret: QualTy,
        /// Parameters.
        params: Arc<[QualTy]>,
        /// What follows the parameters.
        form: FunctionForm,
    },
}

/// What a function type has besides its result and parameters. Qualifiers make it the type of a method, which
/// no pointer or reference refers to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FunctionForm {
    /// `...` at the end of the parameters.
    pub is_variadic: bool,
    /// `const`
    pub is_const: bool,
    /// `volatile`
    pub is_volatile: bool,
    /// `&` is `Some(false)`, `&&` is `Some(true)`.
    pub reference: Option<bool>,
}

impl FunctionForm {
    /// Whether it has qualifiers.
    pub fn is_qualified(self) -> bool {
        Self { is_variadic: false, ..self } != Self::default()
    }
}

/// A type with qualifiers and the address space of the object it describes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct QualTy {
    /// The type.
    pub ty: Ty,
    /// `const`
    pub is_const: bool,
    /// `volatile`
    pub is_volatile: bool,
    /// Where the object lives; `Thread` also stands for "not said".
    pub space: Space,
}

impl QualTy {
    /// Without qualifiers, in thread space.
    pub const fn plain(ty: Ty) -> Self {
        Self { ty, is_const: false, is_volatile: false, space: Space::Thread }
    }

    /// Without qualifiers, in the given space.
    pub const fn in_space(ty: Ty, space: Space) -> Self {
        Self { ty, is_const: false, is_volatile: false, space }
    }

    /// The same qualifiers on another type.
    pub const fn with_ty(self, ty: Ty) -> Self {
        Self { ty, ..self }
    }

    /// With `const` added.
    pub const fn as_const(self) -> Self {
        Self { is_const: true, ..self }
    }

    /// Without any qualifier and in thread space.
    pub const fn unqualified(self) -> Self {
        Self::plain(self.ty)
    }

    /// Whether it has no qualifier and is in thread space.
    pub fn is_plain(self) -> bool {
        self == Self::plain(self.ty)
    }
}

/// Which bits of memory a bit-field is, counted from the member's offset, little endian.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BitField {
    /// The first bit.
    pub shift: u32,
    /// How many bits, at least 1 and at most 64.
    pub width: u32,
    /// How many bytes a write may touch: all of them are of bit-fields in the same sequence.
    pub bytes: u32,
}

/// Bytes that one access reads or writes, and the bits of a bit-field in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BitPiece {
    /// Bytes from the member's offset.
    pub offset: u32,
    /// 1, 2, 4 or 8 bytes.
    pub size: u32,
    /// The first of its bits that belongs to the bit-field.
    pub first: u32,
    /// How many of its bits belong to the bit-field.
    pub count: u32,
    /// Which bit of the value the first one is.
    pub value_bit: u32,
}

impl BitField {
    /// The accesses that make up the bit-field, each aligned as its size if the member at `offset` is in a
    /// record that is aligned for it.
    pub fn pieces(self, offset: u64) -> Vec<BitPiece> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < self.bytes {
            let address = offset + u64::from(at);
            let size = [8, 4, 2, 1]
                .into_iter()
                .find(|&size| size <= self.bytes - at && address.is_multiple_of(u64::from(size)))
                .unwrap_or(1);
            let (low, high) = (at * 8, (at + size) * 8);
            let (first, end) = (low.max(self.shift), high.min(self.shift + self.width));
            if first < end {
                let (count, value_bit) = (end - first, first - self.shift);
                pieces.push(BitPiece { offset: at, size, first: first - low, count, value_bit });
            }
            at += size;
        }
        pieces
    }
}

/// A data member.
#[derive(Clone, Debug)]
pub struct FieldInfo {
    /// Its name; empty for anonymous structs and unions.
    pub name: Name,
    /// Its type; for a member of reference type, the pointer that implements it.
    pub ty: QualTy,
    /// Bytes from the start of the record.
    pub offset: u64,
    /// Declared as a reference: naming the member means what its pointer points to.
    pub is_reference: bool,
    /// For a bit-field, its bits. Before the layout only the width is known.
    pub bits: Option<BitField>,
    /// The number of `[[id(n)]]`, by which argument encoders set it.
    pub id: Option<u32>,
}

/// An unnamed bit-field, which only takes room; with a width of zero it ends a unit of its type.
#[derive(Clone, Copy, Debug)]
pub struct Padding {
    /// The index of the member it stands before.
    pub before: usize,
    /// Its type.
    pub ty: Ty,
    /// Its bits.
    pub width: u32,
}

/// A struct or union with its layout.
#[derive(Clone, Debug)]
pub struct RecordInfo {
    /// The name with template arguments, as messages show it.
    pub name: String,
    /// All members are at offset 0.
    pub is_union: bool,
    /// The members, bases first.
    pub fields: Vec<FieldInfo>,
    /// `sizeof`
    pub size: u64,
    /// `alignof`
    pub align: u32,
    /// The scalars and vectors that it consists of, if they are of one size at equal distances. Stored
    /// because a record may contain others twice on each level of many.
    pub equal_members: Option<Pieces>,
    /// Whether the layout is known (it is, for every record in a finished program).
    pub is_complete: bool,
}

/// An enumeration.
#[derive(Clone, Debug)]
pub struct EnumInfo {
    /// The name as messages show it.
    pub name: String,
    /// The underlying type.
    pub underlying: ScalarTy,
    /// Whether the underlying type is written, or that of `enum class`.
    pub is_fixed: bool,
    /// The type that values of an unscoped enumeration are promoted to in arithmetic.
    pub promoted: ScalarTy,
    /// `enum class`
    pub is_scoped: bool,
}

/// The interned types, the records and enumerations.
#[derive(Clone, Debug)]
pub struct Types {
    kinds: Vec<TyKind>,
    ids: FxHashMap<TyKind, Ty>,
    /// By [`RecordId`].
    pub records: Vec<RecordInfo>,
    /// By [`EnumId`].
    pub enums: Vec<EnumInfo>,
}

impl Default for Types {
    fn default() -> Self {
        Self::new()
    }
}

impl Ty {
    /// Poison.
    pub const ERROR: Self = Self(0);

    /// `void`
    pub const VOID: Self = Self(1);

    /// The type of `nullptr`.
    pub const NULLPTR: Self = Self(2);

    /// `bool`
    pub const BOOL: Self = Self::scalar(ScalarTy::Bool);

    /// `int`
    pub const INT: Self = Self::scalar(ScalarTy::I32);

    /// `uint`
    pub const UINT: Self = Self::scalar(ScalarTy::U32);

    /// `long`
    pub const LONG: Self = Self::scalar(ScalarTy::I64);

    /// `ulong`, `size_t`
    pub const ULONG: Self = Self::scalar(ScalarTy::U64);

    /// `float`
    pub const FLOAT: Self = Self::scalar(ScalarTy::F32);

    /// A scalar type.
    pub const fn scalar(scalar: ScalarTy) -> Self {
        Self(3 + scalar as u32)
    }

    /// Whether it is poison.
    pub fn is_error(self) -> bool {
        self == Self::ERROR
    }
}

impl Types {
    /// A table with the fixed types.
    pub fn new() -> Self {
        let mut types =
            Self { kinds: Vec::new(), ids: FxHashMap::default(), records: Vec::new(), enums: Vec::new() };
        types.intern(TyKind::Error);
        types.intern(TyKind::Void);
        types.intern(TyKind::Nullptr);
        for scalar in ScalarTy::ALL {
            types.intern(TyKind::Scalar(scalar));
        }
        types
    }

    /// The id of a type.
    pub fn intern(&mut self, kind: TyKind) -> Ty {
        if let Some(&ty) = self.ids.get(&kind) {
            return ty;
        }
        let ty = Ty(self.kinds.len() as u32);
        self.kinds.push(kind.clone());
        self.ids.insert(kind, ty);
        ty
    }

    /// The shape of a type.
    pub fn kind(&self, ty: Ty) -> &TyKind {
        &self.kinds[ty.0 as usize]
    }

    /// The shapes of all types there are.
    pub fn kinds(&self) -> impl Iterator<Item = &TyKind> {
        self.kinds.iter()
    }

    /// A vector type.
    pub fn vector(&mut self, elem: ScalarTy, len: u8) -> Ty {
        self.intern(TyKind::Vector { elem, len, packed: false })
    }

    /// A scalar for a length of 1, else a vector.
    pub fn vector_or_scalar(&mut self, elem: ScalarTy, len: u8) -> Ty {
        if len == 1 { Ty::scalar(elem) } else { self.vector(elem, len) }
    }

    /// A pointer type.
    pub fn pointer(&mut self, pointee: QualTy) -> Ty {
        self.intern(TyKind::Pointer(pointee))
    }

    /// A reference type; references to references collapse.
    pub fn reference(&mut self, to: QualTy, rvalue: bool) -> Ty {
        if let TyKind::Reference { to: inner, rvalue: inner_rvalue } = *self.kind(to.ty) {
            return self.intern(TyKind::Reference { to: inner, rvalue: rvalue && inner_rvalue });
        }
        self.intern(TyKind::Reference { to, rvalue })
    }

    /// An array type.
    pub fn array(&mut self, elem: Ty, len: u64) -> Ty {
        self.intern(TyKind::Array(elem, len))
    }

    /// The scalar, when it is one (enumerations are not).
    pub fn as_scalar(&self, ty: Ty) -> Option<ScalarTy> {
        if let TyKind::Scalar(scalar) = *self.kind(ty) { Some(scalar) } else { None }
    }

    /// The scalar that represents a scalar or an enumeration.
    pub fn scalar_repr(&self, ty: Ty) -> Option<ScalarTy> {
        match *self.kind(ty) {
            TyKind::Scalar(scalar) => Some(scalar),
            TyKind::Enum(id) => Some(self.enums[id.0 as usize].underlying),
            _ => None,
        }
    }

    /// The scalar that a value is in memory: of scalars, of enumerations, and of pointers to functions, which
    /// are numbers.
    pub fn memory_scalar(&self, ty: Ty) -> Option<ScalarTy> {
        self.scalar_repr(ty).or_else(|| self.pointed_function(ty).map(|_| ScalarTy::U64))
    }

    /// Element and length of a vector, packed or not.
    pub fn as_vector(&self, ty: Ty) -> Option<(ScalarTy, u8)> {
        if let TyKind::Vector { elem, len, .. } = *self.kind(ty) { Some((elem, len)) } else { None }
    }

    /// Element, columns and rows of a matrix.
    pub fn as_matrix(&self, ty: Ty) -> Option<(ScalarTy, u8, u8)> {
        if let TyKind::Matrix { elem, cols, rows } = *self.kind(ty) { Some((elem, cols, rows)) } else { None }
    }

    /// What a pointer points to.
    pub fn pointee(&self, ty: Ty) -> Option<QualTy> {
        if let TyKind::Pointer(pointee) = *self.kind(ty) { Some(pointee) } else { None }
    }

    /// What a reference refers to.
    pub fn referent(&self, ty: Ty) -> Option<QualTy> {
        if let TyKind::Reference { to, .. } = *self.kind(ty) { Some(to) } else { None }
    }

    /// Element and length of an array.
    pub fn as_array(&self, ty: Ty) -> Option<(Ty, u64)> {
        if let TyKind::Array(elem, len) = *self.kind(ty) { Some((elem, len)) } else { None }
    }

    /// The function type that a pointer points to, or a reference refers to.
    pub fn pointed_function(&self, ty: Ty) -> Option<Ty> {
        match *self.kind(ty) {
            TyKind::Pointer(to) | TyKind::Reference { to, .. } => {
                matches!(self.kind(to.ty), TyKind::Function { .. }).then_some(to.ty)
            }
            _ => None,
        }
    }

    /// The enumeration's id.
    pub fn as_enum(&self, ty: Ty) -> Option<EnumId> {
        if let TyKind::Enum(id) = *self.kind(ty) { Some(id) } else { None }
    }

    /// The record's id.
    pub fn as_record(&self, ty: Ty) -> Option<RecordId> {
        if let TyKind::Record(id) = *self.kind(ty) { Some(id) } else { None }
    }

    /// The record.
    pub fn record(&self, id: RecordId) -> &RecordInfo {
        &self.records[id.0 as usize]
    }

    /// The enumeration.
    pub fn enumeration(&self, id: EnumId) -> &EnumInfo {
        &self.enums[id.0 as usize]
    }

    /// The element's scalar of a scalar, enumeration, vector or matrix.
    pub fn element(&self, ty: Ty) -> Option<ScalarTy> {
        match *self.kind(ty) {
            TyKind::Vector { elem, .. } | TyKind::Matrix { elem, .. } => Some(elem),
            _ => self.scalar_repr(ty),
        }
    }
}
