//! Optimization remarks: how passes and code generators compiled a construct, and why not better.
//!
//! As LLVM's (`-Rpass`, `-Rpass-missed`, `-Rpass-analysis`): each has a kind, a pass, a name, a position
//! and arguments. Owns [`Remark`] and the table of names ([`RemarkId`]). Remarks are collected only on
//! request, and are not part of code.

use anymetal_ir::Loc;
use serde::{Deserialize, Serialize};

/// The kind of a remark, as in LLVM.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemarkKind {
    /// An optimization was done.
    Passed,
    /// An optimization was not done.
    Missed,
    /// A fact that explains the code.
    Analysis,
}

impl RemarkKind {
    /// The word for it: `passed`, `missed` or `analysis`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Missed => "missed",
            Self::Analysis => "analysis",
        }
    }
}

/// Declares remarks: the variant, its name, kind and pass, and the message.
macro_rules! remarks {
    ($($variant:ident = $name:literal, $kind:ident, $pass:literal, $message:literal;)*) => {
        /// Which remark.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum RemarkId {
            $(#[doc = $message] $variant,)*
        }

        impl RemarkId {
            /// All remarks.
            pub const ALL: &[RemarkId] = &[$(RemarkId::$variant),*];

            /// Its stable name: `load-gather`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Its kind.
            pub fn kind(self) -> RemarkKind {
                match self { $(Self::$variant => RemarkKind::$kind,)* }
            }

            /// The pass, or the part of the code generator, that it is about.
            pub fn pass(self) -> &'static str {
                match self { $(Self::$variant => $pass,)* }
            }

            /// The message, lower case, without a full stop.
            pub fn message(self) -> &'static str {
                match self { $(Self::$variant => $message,)* }
            }
        }
    };
}

remarks! {
    LoadUniform = "load-uniform", Passed, "memory", "uniform load: one scalar load and a broadcast";
    LoadContiguous = "load-contiguous", Passed, "memory", "contiguous load: one vector load";
    LoadRuns = "load-runs", Passed, "memory", "load of a few contiguous runs: one vector load each";
    LoadStrided = "load-strided", Passed, "memory",
        "strided load: loads the whole stretch and permutes the lanes out of it";
    LoadBundle = "load-bundle", Passed, "memory", "loads of one thread at constant distances: done together";
    LoadStencilRow = "load-stencil-row", Passed, "memory", "loads of a stencil's row: one bounds check for all";
    LoadGuarded = "load-guarded", Missed, "memory",
        "guarded load: one vector load where a run-time test finds the lanes contiguous, otherwise a gather";
    LoadGather = "load-gather", Missed, "memory", "gather: each lane loads from a separate address";
    LoadWaterfall = "load-waterfall", Missed, "memory",
        "load through pointers to several buffers: repeated for each buffer that lanes access";
    LoadPrivate = "load-private", Analysis, "memory", "load of a private array that is kept in memory";
    StoreUniform = "store-uniform", Passed, "memory", "uniform store: one scalar store of the last lane";
    StoreContiguous = "store-contiguous", Passed, "memory", "contiguous store: one vector store";
    StoreRuns = "store-runs", Passed, "memory", "store of a few contiguous runs: one vector store each";
    StoreGuarded = "store-guarded", Missed, "memory",
        "guarded store: one vector store where a run-time test finds the lanes contiguous, otherwise a scatter";
    StoreScatter = "store-scatter", Missed, "memory", "scatter: each lane stores to a separate address";
    StoreWaterfall = "store-waterfall", Missed, "memory",
        "store through pointers to several buffers: repeated for each buffer that lanes access";
    StorePrivate = "store-private", Analysis, "memory", "store to a private array that is kept in memory";
    BranchDivergent = "branch-divergent", Missed, "control-flow",
        "divergent branch: executes both arms under masks";
    LoopUniform = "loop-uniform", Passed, "control-flow", "uniform loop: all lanes leave together";
    LoopMasked = "loop-masked", Missed, "control-flow",
        "masked loop: lanes leave in different iterations, and wait for the last one";
    LoopThreadgroup = "loop-threadgroup", Analysis, "control-flow",
        "loop around a barrier: executed once for the threadgroup, around loops over its SIMD-groups";
    LoopUnrolled = "loop-unrolled", Passed, "unroll", "loop unrolled completely";
    LoopNotUnrolled = "loop-not-unrolled", Missed, "unroll", "loop not unrolled";
    GuardVersioned = "guard-versioned", Passed, "guard_versioning",
        "stencil rows checked together, with a version of the code after them without checks";
    InteriorVersioned = "interior-versioned", Passed, "interior",
        "version without bounds checks for threadgroups in the interior";
    Prefetched = "prefetched", Analysis, "prefetch", "prefetch inserted";
    CallKept = "call-kept", Missed, "inline",
        "call of a large function not inlined: called for a batch of lanes at a time";
    KernelVectorized = "kernel-vectorized", Analysis, "vectorize",
        "kernel vectorized: the threads of a SIMD-group are the lanes of vectors";
    SimdgroupsIndependent = "simdgroups-independent", Analysis, "vectorize",
        "SIMD-groups may wait for each other: each runs by itself and switches where it waits";
    ThreadgroupReshaped = "threadgroup-reshaped", Passed, "executed_group",
        "threadgroups executed in rows of whole SIMD-groups";
    EffortReduced = "effort-reduced", Missed, "compile-budget",
        "kernel past the budget of the optimizer: compiled with less effort";
}

/// A value of a remark.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RemarkValue {
    /// A number.
    Number(i64),
    /// A word or a name.
    Text(String),
}

impl std::fmt::Display for RemarkValue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
        }
    }
}

impl From<&str> for RemarkValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for RemarkValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for RemarkValue {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

/// A remark about a construct of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// Which.
    pub id: RemarkId,
    /// The position of the construct; unknown for the kernel as a whole.
    pub loc: Loc,
    /// Names and values, in the order of importance.
    pub arguments: Vec<(&'static str, RemarkValue)>,
}

impl Remark {
    /// A remark without arguments.
    pub fn new(id: RemarkId, loc: Loc) -> Self {
        Self { id, loc, arguments: Vec::new() }
    }

    /// With an argument.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<RemarkValue>) -> Self {
        self.arguments.push((name, value.into()));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_words() {
        let names: std::collections::BTreeSet<_> = RemarkId::ALL.iter().map(|id| id.name()).collect();
        assert_eq!(names.len(), RemarkId::ALL.len());
        let is_word = |name: &&str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        assert!(names.iter().all(is_word), "{names:?}");
    }
}
