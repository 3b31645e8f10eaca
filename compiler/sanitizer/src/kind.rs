//! The kinds of findings: one table with each kind's id, group, severity and default.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Undefined by the MSL specification, and known to be harmless on Apple's GPUs.
    Warning,
    /// Undefined by the MSL specification, with an effect on some device.
    Error,
    /// Defined, but often a mistake or slow. Detected only by request.
    Lint,
}

/// Kinds that are selected together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum KindGroup {
    /// Data races.
    Race,
    /// Accesses outside of an object.
    Bounds,
    /// Reads of memory that was never written.
    Uninitialised,
    /// Barriers and SIMD-group functions.
    Synchronisation,
    /// Alignment.
    Alignment,
    /// What is detected only by request.
    Lint,
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $name:ident = $id:literal, $group:ident, $severity:ident, $title:literal;)+) => {
        /// What is wrong. `id()` is stable: command line, suppression files and reports use it.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum FindingKind {
            $($(#[doc = $doc])+ $name,)+
        }

        impl FindingKind {
            /// Every kind, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The stable id, such as `race-threadgroup`.
            pub fn id(self) -> &'static str {
                match self { $(Self::$name => $id),+ }
            }

            /// The group it is selected with.
            pub fn group(self) -> KindGroup {
                match self { $(Self::$name => KindGroup::$group),+ }
            }

            /// How bad it is.
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity),+ }
            }

            /// One line that says what is wrong.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title),+ }
            }
        }
    };
}

kinds! {
    /// Two threads of one SIMD-group, no `simdgroup_barrier` or wider between the accesses. Metal promises no
    /// implicit convergence of a SIMD-group.
    RaceWithinSimdgroup = "race-simdgroup", Race, Error, "data race between threads of a SIMD-group";
    /// Two SIMD-groups of one threadgroup, no barrier that orders this memory between the accesses.
    RaceWithinThreadgroup = "race-threadgroup", Race, Error, "data race between SIMD-groups of a threadgroup";
    /// Two threadgroups of one launch, neither atomic nor ordered by fences and atomics.
    RaceBetweenThreadgroups = "race-grid", Race, Error, "data race between threadgroups";
    /// A race of two writes that store the same value.
    RaceOfEqualValues = "race-equal-values", Race, Warning, "data race of writes of the same value";
    /// Device or constant memory outside of an argument's binding.
    OutOfBounds = "out-of-bounds", Bounds, Error, "access outside of a buffer";
    /// A threadgroup variable or threadgroup memory argument.
    OutOfBoundsThreadgroup = "out-of-bounds-threadgroup", Bounds, Error, "access outside of a threadgroup array";
    /// A local variable.
    OutOfBoundsPrivate = "out-of-bounds-private", Bounds, Error, "access outside of a local array";
    /// A component of a vector that it does not have.
    VectorIndex = "vector-index", Bounds, Error, "index outside of a vector";
    /// An argument that nothing is bound to, or a pointer that points at nothing.
    NullAccess = "null-access", Bounds, Error, "access through a null pointer";
    /// Threadgroup memory that no thread of the threadgroup has written.
    UninitialisedThreadgroup =
        "uninitialised-threadgroup", Uninitialised, Error, "read of threadgroup memory that was never written";
    /// A local variable, or a part of one.
    UninitialisedPrivate = "uninitialised-private", Uninitialised, Error, "read of a variable that was never written";
    /// A buffer that was said to have undefined contents.
    UninitialisedDevice = "uninitialised-device", Uninitialised, Error, "read of device memory that was never written";
    /// Threads of one threadgroup arrive at different barriers, or some are elsewhere for good.
    DivergentBarrier = "divergent-barrier", Synchronisation, Error, "barrier that not all threads reach";
    /// Threads returned before a barrier that others wait at. Apple's GPUs count them as arrived.
    EarlyReturn = "early-return", Synchronisation, Warning, "threads returned before a barrier";
    /// A value of a lane that does not execute the SIMD-group function.
    InactiveLane = "inactive-lane", Synchronisation, Error, "SIMD-group function reads an inactive lane";
    /// A SIMD-group matrix function that not all threads of the SIMD-group execute.
    DivergentSimdgroup =
        "divergent-simdgroup", Synchronisation, Error, "SIMD-group matrix function under divergence";
    /// Texels are not coherent within a thread: `fence()` makes a write visible to its later reads.
    TextureFence =
        "texture-fence", Synchronisation, Error, "read of a texture after a write without a fence";
    /// An address that is no multiple of the type's alignment.
    Misaligned = "misaligned-access", Alignment, Error, "misaligned access";
    /// Integer division or remainder by zero.
    DivisionByZero = "division-by-zero", Lint, Lint, "integer division by zero";
    /// A shift by as many bits as the type has, or more.
    ShiftOverflow = "shift-overflow", Lint, Lint, "shift by more bits than the type has";
    /// An index computed in 32 bits that is not the mathematical one.
    IndexWrap = "index-wrap", Lint, Lint, "index that wrapped around in 32 bits";
    /// Arithmetic that makes a NaN of numbers.
    NanProduced = "nan-produced", Lint, Lint, "NaN produced";
    /// Lanes of one access that need the same bank of threadgroup memory.
    BankConflict = "bank-conflict", Lint, Lint, "bank conflict in threadgroup memory";
    /// Accesses ordered only by a barrier without memory flags (`mem_flags::mem_none`).
    BarrierWithoutFlags = "barrier-mem-none", Lint, Lint, "ordered only by a barrier without memory flags";
    /// A SIMD-group function that works on the active lanes only, while others of the SIMD-group do not take
    /// part.
    DivergentReduction =
        "divergent-simd-function", Lint, Lint, "SIMD-group function under divergence";
}

impl FindingKind {
    /// Whether it is detected without a request.
    pub fn is_default(self) -> bool {
        self.severity() != Severity::Lint
    }
}

impl KindGroup {
    /// The name on the command line: `race`, `bounds`, `uninitialised`, `synchronisation`, `alignment`,
    /// `lint`.
    pub fn id(self) -> &'static str {
        match self {
            Self::Race => "race",
            Self::Bounds => "bounds",
            Self::Uninitialised => "uninitialised",
            Self::Synchronisation => "synchronisation",
            Self::Alignment => "alignment",
            Self::Lint => "lint",
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// No kind has this id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownKind(pub String);

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<&str> = FindingKind::ALL.iter().map(|kind| kind.id()).collect();
        write!(f, "`{}` is no kind of finding; the kinds are {}", self.0, known.join(", "))
    }
}

impl std::error::Error for UnknownKind {}

impl FromStr for FindingKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|kind| kind.id() == text).ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

impl Serialize for FindingKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

impl<'de> Deserialize<'de> for FindingKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
