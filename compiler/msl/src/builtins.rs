//! The functions beneath the Metal library: `__am_*` names, known to sema, written out by lowering.
//!
//! The library itself is MSL header text; whatever that text cannot express it calls by one of these
//! names. To add one: add a row to [`table`](self::table) with its argument rules, result rule and
//! meaning. Invariant: names are unique (a test checks it); [`BuiltinId`] is the row's position.
//!
//! Start with [`find`] and [`Builtin`].

mod table;

use anymetal_ir::{AtomicOp, BarrierScope, FpMode, MathFn, Query, SimdOp};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// A row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BuiltinId(pub u16);

impl BuiltinId {
    /// The row.
    pub fn get(self) -> &'static Builtin {
        &table::TABLE[usize::from(self.0)]
    }
}

/// One builtin.
#[derive(Debug)]
pub struct Builtin {
    /// `__am_…`
    pub name: &'static str,
    /// One rule per argument.
    pub args: &'static [ArgRule],
    /// The result.
    pub ret: RetRule,
    /// What it means.
    pub op: BuiltinOp,
}

/// What an argument must be, and what it is converted to. "T" is the type of the first argument that
/// has one of the first four rules, after conversion to a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArgRule {
    /// T, a scalar or vector of any arithmetic type; later ones are converted to T.
    Arith,
    /// T, which must be float.
    Float,
    /// T, which must be integer (not `bool`).
    Int,
    /// T, which must be `bool` or a vector of it.
    Bool,
    /// Any value of any type, taken as it is.
    Any,
    /// Converted to the element of T.
    Elem,
    /// Converted to `int`, or a vector of it as long as T.
    IntLike,
    /// Converted to `bool`, or a vector of it as long as T.
    BoolLike,
    /// Converted to this type.
    I32,
    /// Converted to `uint`.
    U32,
    /// Converted to `ulong`.
    U64,
    /// Converted to `bool`.
    Flag,
    /// A pointer in any space; it says what [`ArgRule::Pointee`] is.
    Pointer,
    /// Converted to the (unqualified) type the first pointer argument points to.
    Pointee,
}

/// The result's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RetRule {
    /// None.
    Void,
    /// The (converted) type of the n-th argument.
    Arg(usize),
    /// The element of the first argument's type.
    Elem,
    /// `bool`, or a vector of it as long as the first argument.
    BoolLike,
    /// `int`, or a vector of it as long as the first argument.
    IntLike,
    /// `bool`
    Bool,
    /// `uint`
    U32,
    /// `ulong`
    U64,
    /// The type the first pointer argument points to, unqualified.
    Pointee,
    /// `device uint*`
    DeviceWords,
    /// `device uchar*`
    DeviceBytes,
    /// `constant uchar*`
    ConstantBytes,
    /// The explicit template argument: `__am_as_type<T>(x)`.
    Explicit,
}

/// Operations chosen among the IR's by the element type of the first argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ArithFn {
    Min,
    Max,
    Abs,
    MulHi,
    AddSat,
    SubSat,
    PopCount,
    Clz,
    Ctz,
    ReverseBits,
}

/// What a builtin means to lowering and to the evaluator of constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BuiltinOp {
    /// A library function; the mode overrides the one in force (`precise::`, `fast::`).
    Math(MathFn, Option<FpMode>),
    /// By the element's type.
    Arith(ArithFn),
    /// Same bits, the result's type.
    Bitcast,
    /// Arguments a, b, cond: `cond ? b : a`, elementwise when cond is a vector.
    Select,
    /// Whether any element of a `bool` vector is true (a scalar: itself).
    AnyOf,
    /// Whether all are.
    AllOf,
    /// SIMD-group operation; the arguments are the IR operation's.
    Simd(SimdOp),
    /// A fact about the thread.
    Query(Query),
    /// A barrier.
    Barrier(BarrierScope),
    /// `atomic_thread_fence`
    Fence,
    /// Atomic read through a pointer.
    AtomicLoad,
    /// Atomic write: pointer, value.
    AtomicStore,
    /// Read-modify-write: pointer, operand. `UMin`/`UMax`/`Add` stand for the signed and float ones too:
    /// the pointee's type decides.
    AtomicRmw(AtomicOp),
    /// Pointer, expected, desired; gives the old value.
    AtomicCas,
    /// Pointer to element (0, 0), elements per row (`ulong`); gives the two elements of this lane. The
    /// memory's element type is the pointee.
    MatrixLoad {
        /// Reads the transpose.
        transpose: bool,
    },
    /// Pointer, elements per row, fragment.
    MatrixStore {
        /// Writes the transpose.
        transpose: bool,
    },
    /// Fragments A, B, C; gives A × B + C.
    MatrixMultiplyAccumulate,
    /// The number of a [`LogSite`](anymetal_abi::logging::LogSite), then its arguments as they are in
    /// the record: calls of a log's methods become this. No program calls it by name.
    LogMessage,
    /// The memory of the indirect command buffer with that handle.
    CommandMemory,
    /// The address of a pointer into a buffer argument; 0 of any other.
    ResourceAddress,
    /// The description of the texture that a number stands for.
    TextureInfo,
    /// Its texels.
    TextureTexels,
    /// Its format, or 0 if the compiler does not know it.
    TextureFormat,
}

/// The builtin of that name.
pub fn find(name: &str) -> Option<BuiltinId> {
    static INDEX: OnceLock<FxHashMap<&'static str, u16>> = OnceLock::new();
    let index = INDEX.get_or_init(|| table::TABLE.iter().map(|b| b.name).zip(0..).collect());
    index.get(name).copied().map(BuiltinId)
}

/// All names, for suggestions.
pub fn names() -> impl Iterator<Item = &'static str> {
    table::TABLE.iter().map(|b| b.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for (n, row) in table::TABLE.iter().enumerate() {
            assert!(row.name.starts_with("__am_"), "{}", row.name);
            assert_eq!(find(row.name), Some(BuiltinId(n as u16)), "{} occurs twice", row.name);
        }
        assert_eq!(find("__am_no_such_thing"), None);
    }
}
